"""What assignors are told of a group: orders, racks, subscriptions and targets."""

from __future__ import annotations

import pytest

from assignors.group import Group, Member, Topic
from assignors.rules.group_spec import (
    GroupSpec,
    partitions_per_topic,
    sorted_members,
    use_rack_aware_assignment,
)

LATER_IN_UTF16 = "\uff5e"
EARLIER_IN_UTF16 = "\U0001f600"  # its first unit is a surrogate; by code point it is the greater one


def test_static_members_come_first_and_text_compares_by_utf16_unit() -> None:
    members = [
        Member("b", []),
        Member(LATER_IN_UTF16, []),
        Member(EARLIER_IN_UTF16, []),
        Member("z", [], instance_id="2"),
        Member("y", [], instance_id="10"),
    ]
    served = [member.id for member in sorted_members(Group([], members))]
    assert served == ["y", "z", "b", EARLIER_IN_UTF16, LATER_IN_UTF16]


def test_a_topic_counts_if_it_has_partitions_and_a_subscriber() -> None:
    topics = [Topic("t", 2), Topic("empty", 0), Topic("unread", 1)]
    assert dict(partitions_per_topic(Group(topics, [Member("m", ["t", "empty", "gone"])]))) == {"t": 2}


@pytest.mark.parametrize(
    ("partitions", "decide"),
    [
        ([{"a"}, {"b"}], True),
        ([{"b"}, {"c"}], False),
        ([{"a", "b"}, {"a", "b"}], False),
        ([{"a", "b"}, {"a"}], True),
    ],
    ids=["some replica is near", "no replica is near", "all racks have every partition", "not all have"],
)
def test_racks_decide_if_a_replica_is_near_and_not_every_partition_is_everywhere(
    partitions: list[set[str]], decide: bool
) -> None:
    assert use_rack_aware_assignment(["a"], map(frozenset, partitions)) is decide


def test_a_subscription_counts_topics_that_do_not_exist() -> None:
    spec = GroupSpec(Group([Topic("t", 1)], [Member("m", ["t", "gone"])]))
    assert (len(spec.subscribed_topic_ids["m"]), len(list(spec.subscribed_topic_ids["m"]))) == (2, 1)


@pytest.mark.parametrize(
    ("subscriptions", "homogeneous"),
    [([["t", "u"], ["u", "t"]], True), ([["t"], ["t", "gone"]], False), ([["t"], []], False)],
)
def test_a_group_is_homogeneous_if_all_members_name_the_same_topics(
    subscriptions: list[list[str]], homogeneous: bool
) -> None:
    members = [Member(f"m{number}", topics) for number, topics in enumerate(subscriptions)]
    assert GroupSpec(Group([Topic("t", 1), Topic("u", 1)], members)).is_homogeneous is homogeneous


@pytest.mark.parametrize(("partition", "exists"), [(-1, False), (0, True), (1, True), (2, False)])
def test_what_does_not_exist_is_said_with_its_member(partition: int, exists: bool) -> None:
    spec = GroupSpec(Group([Topic("t", 2)], [Member("m", ["t"])]))
    (topic,) = spec.subscribed_topic_ids["m"]
    said = spec.beyond_count("m", topic, partition)
    text = f"t-{partition}, which member 'm' owns, does not exist (the topic has 2 partitions)"
    assert said == (None if exists else text)
