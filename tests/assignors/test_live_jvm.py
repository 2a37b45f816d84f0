"""Assignors and consumer groups answer as a JVM that is asked now, on groups nobody has seen before.

`COPARTITION_LIVE_SAMPLE` sets how many scenarios (500 in CI), `COPARTITION_LIVE_SEED` repeats a sample.
"""

from __future__ import annotations

import os
import secrets
import sys
from itertools import chain

import pytest

from tests.support.agreement import first_difference
from tests.support.heartbeats import differences
from tests.support.oracle import Oracle
from tests.support.tasks import (
    application_difference,
    classic_sticky_difference,
    connect_difference,
    share_difference,
    streams_difference,
)
from tests.support.tiers import examples
from tools.oracle.assignors.heartbeats import FAMILIES, heartbeats
from tools.oracle.assignors.live import live_scenarios
from tools.oracle.assignors.regenerate import answered
from tools.oracle.assignors.share import share_scenarios
from tools.oracle.assignors.streams import streams_answers
from tools.oracle.tasks.regenerate import CONNECT, KINDS, connect_answers
from tools.oracle.tasks.streams import application_answers, classic_sticky_answers, scattered_answers

pytestmark = [pytest.mark.jvm, pytest.mark.sampled]


@pytest.fixture
def sample(capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """How many scenarios, and the seed of them."""
    count = int(os.environ.get("COPARTITION_LIVE_SAMPLE", examples(500)))
    seed = os.environ.get("COPARTITION_LIVE_SEED") or secrets.token_hex(4)
    with capsys.disabled():
        sys.stdout.write(f"\n{count} scenarios, COPARTITION_LIVE_SEED={seed}\n")
    return count, seed


def test_a_fresh_sample_agrees_with_the_jvm(sample: tuple[int, str]) -> None:
    count, seed = sample
    for assignor, scenario in live_scenarios(count, seed):
        difference = first_difference(assignor, scenario)
        assert difference is None, f"COPARTITION_LIVE_SEED={seed}: {difference}"


def test_a_fresh_sample_of_connect_and_streams_leaders_agrees_with_the_jvm(
    sample: tuple[int, str],
) -> None:
    count, seed = sample
    with Oracle(main=("tasks", "TaskOracle")) as oracle:
        for assignor in CONNECT:
            for life in connect_answers(oracle, assignor, seed, max(1, count // 20)):  # some ten rounds each
                difference = connect_difference(assignor, life)
                assert difference is None, f"COPARTITION_LIVE_SEED={seed}: {difference}"
        lives = application_answers(oracle, seed, max(1, count // 5))  # some five steps each
        of_kinds = [
            application_answers(oracle, f"{seed}/{kind}", max(1, count // 20), kind) for kind in KINDS
        ]
        scattered = scattered_answers(oracle, (f"{seed}/{number}" for number in range(count // 10)))
        for life in chain(lives, *of_kinds, scattered):
            difference = application_difference(life)
            assert difference is None, f"COPARTITION_LIVE_SEED={seed}: {difference}"
        lives = classic_sticky_answers(oracle, seed, max(1, count // 4))  # some four steps each
        of_kinds = [
            classic_sticky_answers(oracle, f"{seed}/{kind}", max(1, count // 20), kind) for kind in KINDS
        ]
        for life in chain(lives, *of_kinds):
            difference = classic_sticky_difference(life)
            assert difference is None, f"COPARTITION_LIVE_SEED={seed}: {difference}"


def test_a_fresh_sample_of_share_and_streams_groups_agrees_with_the_jvm(sample: tuple[int, str]) -> None:
    count, seed = sample
    with Oracle() as oracle:
        for scenario in share_scenarios(seed, max(1, count // 4)):  # some four steps each
            difference = share_difference(answered(oracle, scenario))
            assert difference is None, f"COPARTITION_LIVE_SEED={seed}: {difference}"
        for life in streams_answers(oracle, seed, max(1, count // 5)):
            difference = streams_difference(life)
            assert difference is None, f"COPARTITION_LIVE_SEED={seed}: {difference}"


@pytest.mark.parametrize("family", FAMILIES)
def test_a_fresh_sample_of_consumer_groups_agrees_with_the_jvm(family: str, sample: tuple[int, str]) -> None:
    count, seed = sample
    with Oracle() as oracle:
        for case in heartbeats(family, seed, count // len(FAMILIES)):
            told = oracle.ask("coordinate", settings=case["settings"], steps=case["steps"])["steps"]
            difference = next(differences({**case, "told": told}), None)
            assert difference is None, f"COPARTITION_LIVE_SEED={seed}: {difference}"
