"""Assignors and consumer groups answer as a JVM that is asked now, on groups nobody has seen before.

`COPARTITION_LIVE_SAMPLE` sets how many scenarios (500 in CI), `COPARTITION_LIVE_SEED` repeats a sample.
"""

from __future__ import annotations

import os
import secrets
import sys
from itertools import chain, starmap

import pytest

from tests.support.agreement import assert_agree, first_difference
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
from tools.oracle.assignors.regenerate import answer_scenario
from tools.oracle.assignors.share import share_scenarios
from tools.oracle.assignors.streams import streams_answers
from tools.oracle.tasks.regenerate import CONNECT, KINDS, connect_answers
from tools.oracle.tasks.streams import application_answers, classic_sticky_answers, scattered_answers

pytestmark = [pytest.mark.jvm, pytest.mark.slow]


@pytest.fixture
def sample(capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """How many scenarios, and the seed of them."""
    count = int(os.environ.get("COPARTITION_LIVE_SAMPLE", examples(500)))
    seed = os.environ.get("COPARTITION_LIVE_SEED") or secrets.token_hex(4)
    with capsys.disabled():
        sys.stdout.write(f"\n{count} scenarios, COPARTITION_LIVE_SEED={seed}\n")
    return count, seed


def judge(seed: str) -> str:
    """Who judges, for the text of a failure, which has to say how to repeat the sample."""
    return f"JVM (COPARTITION_LIVE_SEED={seed})"


def test_a_fresh_sample_agrees_with_the_jvm(sample: tuple[int, str]) -> None:
    count, seed = sample
    assert_agree(starmap(first_difference, live_scenarios(count, seed)), judge(seed))


@pytest.mark.parametrize("assignor", CONNECT)
def test_a_fresh_sample_of_connect_leaders_agrees_with_the_jvm(
    assignor: str, sample: tuple[int, str]
) -> None:
    count, seed = sample
    with Oracle(main=("tasks", "TaskOracle")) as oracle:
        lives = connect_answers(oracle, assignor, seed, max(1, count // 20))  # some ten rounds each
        assert_agree((connect_difference(assignor, life) for life in lives), judge(seed))


def test_a_fresh_sample_of_streams_leaders_agrees_with_the_jvm(sample: tuple[int, str]) -> None:
    count, seed = sample
    with Oracle(main=("tasks", "TaskOracle")) as oracle:
        lives = application_answers(oracle, seed, max(1, count // 5))  # some five steps each
        of_kinds = [
            application_answers(oracle, f"{seed}/{kind}", max(1, count // 20), kind) for kind in KINDS
        ]
        scattered = scattered_answers(oracle, (f"{seed}/{number}" for number in range(count // 10)))
        assert_agree(map(application_difference, chain(lives, *of_kinds, scattered)), judge(seed))
        lives = classic_sticky_answers(oracle, seed, max(1, count // 4))  # some four steps each
        of_kinds = [
            classic_sticky_answers(oracle, f"{seed}/{kind}", max(1, count // 20), kind) for kind in KINDS
        ]
        assert_agree(map(classic_sticky_difference, chain(lives, *of_kinds)), judge(seed))


def test_a_fresh_sample_of_share_and_streams_groups_agrees_with_the_jvm(sample: tuple[int, str]) -> None:
    count, seed = sample
    with Oracle() as oracle:
        shares = share_scenarios(seed, max(1, count // 4))  # some four steps each
        assert_agree(
            (share_difference(answer_scenario(oracle, scenario)) for scenario in shares), judge(seed)
        )
        assert_agree(map(streams_difference, streams_answers(oracle, seed, max(1, count // 5))), judge(seed))


@pytest.mark.parametrize("family", FAMILIES)
def test_a_fresh_sample_of_consumer_groups_agrees_with_the_jvm(family: str, sample: tuple[int, str]) -> None:
    count, seed = sample
    with Oracle() as oracle:
        for case in heartbeats(family, seed, count // len(FAMILIES)):
            told = oracle.ask("coordinate", settings=case["settings"], steps=case["steps"])["steps"]
            difference = next(differences({**case, "told": told}), None)
            assert difference is None, f"COPARTITION_LIVE_SEED={seed}: {difference}"
