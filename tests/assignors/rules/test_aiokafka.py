"""aiokafka's own assignors, held to the installed package: lists, order and failures."""

from __future__ import annotations

import pytest

from assignors import Group, Member, Topic, get_assignor
from assignors.group import StickyUserData
from assignors.partition_list import PartitionList
from tests.assignors.rules.python_clients import (
    BOTH_UNDONE,
    NOTHING_TO_LOSE,
    SEEDS,
    THEIRS,
    moves_that_differ,
    rebalances_that_differ,
)
from tests.support.agreement import assert_agree

NAMES = [name for name in THEIRS if name.startswith("aiokafka")]


@pytest.mark.sampled
@pytest.mark.parametrize("name", NAMES)
def test_it_answers_as_the_package_does(name: str) -> None:
    assert_agree(rebalances_that_differ(name, (*NOTHING_TO_LOSE, *SEEDS)), "package")


@pytest.mark.sampled
def test_what_moves_to_balance_a_group_moves_as_in_the_package() -> None:
    assert_agree(moves_that_differ("aiokafka-sticky", (BOTH_UNDONE, *SEEDS)), "package")


def test_what_a_group_remembers_has_no_generation() -> None:
    """Of two that claim a partition the first one has it, in whatever generation the other one had it."""
    late, now = (StickyUserData(PartitionList.of([("t", 0)]), generation) for generation in (1, 2))
    members = [Member(name, ["t"], user_data=data) for name, data in (("late", late), ("now", now))]
    groups = Group([Topic("t", 1)], members), Group([Topic("t", 1)], members[::-1])
    owners = {
        name: [next(filter(answer.get, answer)) for answer in map(get_assignor(name).assign, groups)]
        for name in ("aiokafka-sticky", "kafka-python-sticky")
    }
    assert owners == {"aiokafka-sticky": ["late", "now"], "kafka-python-sticky": ["now", "now"]}
