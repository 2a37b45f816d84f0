"""librdkafka's "cooperative-sticky" answers as real leaders did, list order and crashes included."""

from __future__ import annotations

from typing import Any

import pytest

from assignors import Group, Member, Topic, get_assignor
from partitioning.errors import AssignorError
from partitioning.topic_partition import TopicPartition
from tests.support.agreement import Difference, answer_of, assert_agree, differing, told_of
from tests.support.golden import Json, golden_files, golden_lines, group_of, lists_of

JAVA = "cooperative-sticky"
NAME = "librdkafka-cooperative-sticky"


@pytest.mark.sampled
def test_it_answers_as_real_leaders_did() -> None:
    # In one of these groups a move depends on an earlier move of the same topic.
    groups = (group for family in golden_files(NAME) for group in golden_lines(family, every=19))
    assert_agree(map(difference, groups), judge="librdkafka")


def difference(recorded: Json) -> Difference | None:
    """Where our answer first differs from a real leader's; None if it never does."""
    for number, step in enumerate(recorded["steps"]):
        group = group_of(step)
        ours = answer_of(get_assignor(NAME), group)
        if "error" in step:
            theirs: dict[str, Any] = {"throws": "None"}  # a crash is no exception of Java's
        else:
            lists = lists_of(step)
            waiting = {f"{partition} waits for" for partition in _held_back(group, lists)}
            theirs = {**lists, **{name: ours.get(name, "somebody") for name in waiting}}
        if answers := differing(theirs, ours):
            return Difference(f"{NAME}, {recorded['name']}", number, told_of(step), answers)
    return None


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
    answers = (get_assignor(NAME).assign(group_of(step)) for step in steps if "error" not in step)
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


@pytest.mark.parametrize(
    ("name", "rack", "rests"), [(NAME, "r2", False), (NAME, None, True), (JAVA, "r2", True)]
)
def test_racks_without_replicas_keep_a_group_rebalancing(name: str, rack: str | None, rests: bool) -> None:
    """Real clients of librdkafka 2.16.0 did so once a second, until they were stopped."""
    topics = [Topic("orders", 6, [["r1"]] * 4 + [["r2"]] * 2)]
    assignor = get_assignor(name)
    group = Group(topics, [Member(member, ["orders"], rack=rack) for member in ("a", "b", "c")])
    waiting = []
    for _ in range(20):
        answer = assignor.assign(group)
        waiting.append(len(answer.transferring))
        group = group.next(answer)
    assert (not any(waiting)) is rests
    assert rests or all(waiting[1:])


def test_a_topic_that_is_gone_stays_with_its_owner() -> None:
    """Java's would give it up; librdkafka's leader hands back what it knows nothing of."""
    group = Group([Topic("orders", 2)], [Member("a", ["orders", "gone"], owned=[("gone", 0)], generation=1)])
    assert ("gone", 0) in list(get_assignor(NAME).assign(group)["a"])


@pytest.mark.parametrize("number", [4, 2**31 - 2, 2**31 - 1])
@pytest.mark.parametrize("generation", [1, None])
def test_so_does_a_partition_that_the_topic_does_not_have(generation: int | None, number: int) -> None:
    members = [
        Member("a", ["t"], owned=[("t", number)], generation=generation),
        Member("b", ["t"], owned=[("t", 0)], generation=1),
    ]
    assignment = get_assignor(NAME).assign(Group([Topic("t", 4)], members))
    assert ("t", number) in list(assignment["a"])
    assert sorted(partition for lists in assignment.values() for _, partition in lists) == [
        0,
        1,
        2,
        3,
        number,
    ]


def with_a_stale_claim(partitions: int) -> Group:
    """One member has all, another nothing, and a third claims one from an earlier generation.

    The third does not subscribe to the topic and comes last, so that librdkafka takes it for the consumer.
    """
    owned = [("t", number) for number in range(partitions)]
    members = [
        Member("all", ["t"], owned=owned, generation=7),
        Member("none", ["t"], generation=7),
        Member("stale", ["gone"], owned=owned[:1]),
    ]
    return Group([Topic("t", partitions)], members)


@pytest.mark.parametrize("name", [NAME, "kafka-python-cooperative-sticky"])
def test_a_stale_claim_crashes_a_leader_where_something_has_to_move(name: str) -> None:
    with pytest.raises(AssignorError, match="'stale' takes no part in balancing, but t-0"):
        get_assignor(name).assign(with_a_stale_claim(4))


@pytest.mark.parametrize("name", [NAME, "kafka-python-cooperative-sticky"])
def test_it_does_no_harm_where_nothing_has_to_move(name: str) -> None:
    assignment = get_assignor(name).assign(with_a_stale_claim(1))
    assert list(assignment["stale"]) == list(assignment["none"]) == []


def test_half_of_a_surrogate_pair_in_a_name_is_compared_as_bytes() -> None:
    members = [Member(name, ["\ud800", "t"]) for name in ("\ud800", "a")]
    assignment = get_assignor(NAME).assign(Group([Topic("\ud800", 1), Topic("t", 1)], members))
    assert sorted(map(len, assignment.values())) == [1, 1]
