"""The oracle and our side make the same group of a workload and the same digest of an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from assignors import get_assignor
from tests.support.golden import ASSIGNORS
from tests.support.oracle import Oracle
from tests.support.workloads import Workload, digest

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.jvm

WORKLOADS = [
    Workload(40, 5, 8),
    Workload(40, 5, 8, "join"),
    Workload(40, 5, 8, "leave"),
    Workload(40, 5, 8, "full", "unequal"),
    Workload(40, 5, 8, "join", "unequal"),
    Workload(42, 5, 12, "leave", "unequal"),
    Workload(30, 5, 6, "join", racks=3),
    Workload(30, 5, 6, "leave", "unequal", racks=4),
    Workload(100, 20, 50, "leave"),
]
CLAIMS = [
    Workload(40, 5, 8, "leave", claims=(("member1", "topic7", 25),)),
    Workload(40, 5, 8, "join", "unequal", claims=(("member1", "topic0", 3), ("member2", "topic0", 5))),
]


@pytest.fixture(scope="module")
def oracle() -> Iterator[Oracle]:
    with Oracle() as started:
        yield started


@pytest.mark.parametrize("assignor", ASSIGNORS)
@pytest.mark.parametrize("workload", WORKLOADS, ids=str)
def test_digests_agree(oracle: Oracle, assignor: str, workload: Workload) -> None:
    assert_digests_agree(oracle, assignor, workload)


@pytest.mark.parametrize("assignor", ["sticky", "cooperative-sticky"])
@pytest.mark.parametrize("workload", CLAIMS, ids=str)
def test_digests_of_odd_groups_agree(oracle: Oracle, assignor: str, workload: Workload) -> None:
    assert_digests_agree(oracle, assignor, workload)


def assert_digests_agree(oracle: Oracle, assignor: str, workload: Workload) -> None:
    told = oracle.ask("time", assignor=assignor, **workload.request)
    group = workload.group(get_assignor(assignor))
    assert digest(group, get_assignor(assignor).assign(group)) == told["digest"]
