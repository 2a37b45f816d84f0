"""The round-robin assignor: what it promises, and what it does without members."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assignors.group import Group, Member, Topic
from assignors.strategies import RoundRobinAssignor
from partitioning.errors import AssignorError
from tests.support.agreement import assert_rule_agrees
from tests.support.tiers import examples

NAMES = ["t0", "t1", "t2"]
counts = st.lists(st.integers(1, 9), min_size=len(NAMES), max_size=len(NAMES))
subscriptions = st.lists(st.lists(st.sampled_from(NAMES), unique=True, min_size=1), min_size=1, max_size=6)


@pytest.mark.sampled
def test_the_rule_answers_as_the_jvm() -> None:
    assert_rule_agrees("roundrobin")


def group_of(counts, subscriptions):
    topics = [Topic(name, count) for name, count in zip(NAMES, counts, strict=True)]
    return Group(topics, [Member(f"m{number}", topics) for number, topics in enumerate(subscriptions)])


@settings(max_examples=examples(60), deadline=None)
@given(counts, subscriptions)
def test_partitions_go_once_round_the_circle_to_the_next_subscriber(counts, subscriptions):
    group = group_of(counts, subscriptions)
    assignment = RoundRobinAssignor().assign(group)
    seat = 0
    subscribed = sorted({topic for topics in subscriptions for topic in topics})
    for topic in subscribed:
        for number in range(counts[NAMES.index(topic)]):
            while topic not in subscriptions[seat]:
                seat = (seat + 1) % len(subscriptions)
            assert assignment.owner_of((topic, number)) == f"m{seat}"
            seat = (seat + 1) % len(subscriptions)


@settings(max_examples=examples(30), deadline=None)
@given(counts, st.integers(1, 6))
def test_equal_subscriptions_get_even_sizes(counts, members):
    assignment = RoundRobinAssignor().assign(group_of(counts, [NAMES] * members))
    sizes = [len(partitions) for partitions in assignment.values()]
    assert max(sizes) - min(sizes) <= 1


def test_lists_are_sorted_by_topic_and_number():
    assignment = RoundRobinAssignor().assign(group_of([3, 2, 12], [["t2", "t0"]]))
    assert list(assignment["m0"]) == sorted(assignment["m0"])


def test_static_members_come_first():
    group = Group([Topic("t", 2)], [Member("a", ["t"]), Member("b", ["t"], instance_id="i")])
    assert RoundRobinAssignor().assign(group) == {"b": [("t", 0)], "a": [("t", 1)]}


def test_a_group_without_members_stands_for_the_jvms_exception():
    with pytest.raises(AssignorError, match="no members") as caught:
        RoundRobinAssignor().assign(Group([Topic("t", 1)], []))
    assert caught.value.jvm_exception == "IllegalArgumentException"
