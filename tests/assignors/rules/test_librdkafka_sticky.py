"""librdkafka's "cooperative-sticky" answers as real leaders did, list order and crashes included."""

from __future__ import annotations

import pytest

from assignors import Group, Member, Topic, get_assignor
from partitioning.errors import AssignorError
from partitioning.topic_partition import TopicPartition
from tests.support.agreement import describe
from tests.support.golden import golden_files, golden_lines, group_of, lists_of

NAME = "librdkafka-cooperative-sticky"


@pytest.mark.sampled
@pytest.mark.parametrize("family", golden_files(NAME))
def test_family(family: str) -> None:
    for scenario in golden_lines(family, every=10):
        for step in scenario["steps"]:
            group = group_of(step)
            if "error" in step:
                with pytest.raises(AssignorError, match="librdkafka"):
                    get_assignor(NAME).assign(group)
                continue
            answer, expected = get_assignor(NAME).assign(group), lists_of(step)
            assert {name: list(given) for name, given in answer.items()} == expected, describe(step)
            assert set(answer.transferring) == _held_back(group, expected), describe(step)


def _held_back(group: Group, lists: dict[str, list[TopicPartition]]) -> set[TopicPartition]:
    """What is read and was given to nobody: a SyncGroup does not say who waits for it."""
    read = {topic for member in group.members for topic in member.topics}
    every = {
        TopicPartition(topic.name, number)
        for topic in group.topics
        if topic.name in read
        for number in range(topic.partitions)
    }
    return every.difference(*lists.values())


def test_some_answers_are_crashes_and_some_hold_partitions_back() -> None:
    """So that the families above can find a mistake there."""
    steps = [step for line in golden_lines(f"{NAME}/unequal_racks") for step in line["steps"]]
    assert any("error" in step for step in steps)
    answers = [get_assignor(NAME).assign(group_of(step)) for step in steps if "error" not in step]
    assert any(answer.transferring for answer in answers)


def test_what_moves_goes_to_the_new_member_once_it_is_given_up() -> None:
    topics, names = [Topic("orders", 6)], ["a", "b"]
    assignor = get_assignor(NAME)
    group = Group(topics, [Member(name, ["orders"]) for name in names])
    group = group.next(assignor.assign(group), join=[Member("c", ["orders"])])
    first = assignor.assign(group)
    second = assignor.assign(group.next(first))
    assert sorted(first.transferring.values()) == ["c", "c"]
    assert not first["c"]
    assert set(second["c"]) == set(first.transferring)
    assert not second.transferring


def test_a_topic_that_is_gone_stays_with_its_owner() -> None:
    """Java's would give it up; librdkafka's leader hands back what it knows nothing of."""
    group = Group([Topic("orders", 2)], [Member("a", ["orders", "gone"], owned=[("gone", 0)], generation=1)])
    assert ("gone", 0) in list(get_assignor(NAME).assign(group)["a"])
