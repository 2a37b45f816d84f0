"""kafka-python's own assignors, held to the installed package: lists, order and failures."""

from __future__ import annotations

from importlib.metadata import version

import pytest
from kafka.coordinator.assignors.sticky.sticky_assignor import StickyAssignorUserData

from assignors import Member
from assignors.rules.kafka_python import recall
from partitioning.topic_partition import TopicPartition
from tests.assignors.rules.python_clients import (
    BOTH_UNDONE,
    NOTHING_TO_LOSE,
    SEEDS,
    STICKY,
    THEIRS,
    moves_that_differ,
    rebalances_that_differ,
)
from tests.support.agreement import assert_agree

NAMES = [name for name in THEIRS if name.startswith("kafka-python")]


@pytest.mark.sampled
@pytest.mark.parametrize("name", NAMES)
def test_it_answers_as_the_package_does(name: str) -> None:
    assert_agree(rebalances_that_differ(name, (*NOTHING_TO_LOSE, *SEEDS)), "package")


@pytest.mark.sampled
@pytest.mark.parametrize("name", [name for name in NAMES if name in STICKY])
def test_what_moves_to_balance_a_group_moves_as_in_the_package(name: str) -> None:
    # 3.0.0, the lowest version tested, does not yet undo both; none of the first 60 groups needs that.
    undoes_one = version("kafka-python") == "3.0.0"
    assert_agree(moves_that_differ(name, range(60) if undoes_one else (BOTH_UNDONE, *SEEDS)), "package")


@pytest.mark.parametrize("has_generation", [True, False])
def test_what_a_member_remembers_is_read_from_the_bytes_that_the_package_sends(has_generation: bool) -> None:
    """Version 0 of these bytes ends before the generation."""
    sent = StickyAssignorUserData([("t", [0, 2])], 7).encode()
    data = sent if has_generation else bytes(2) + sent[2:-4]
    read = StickyAssignorUserData.decode(data)
    member = recall(Member("a", ["t"], user_data=data))
    assert [(topic.topic, topic.partitions) for topic in read.previous_assignment] == [("t", [0, 2])]
    assert [*member.owned] == [TopicPartition("t", 0), TopicPartition("t", 2)]
    assert member.generation == read.generation == (7 if has_generation else -1)
