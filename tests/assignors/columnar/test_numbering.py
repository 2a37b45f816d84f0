"""Members, topics, partitions and racks as integers, in the orders that the rules have from Kafka."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assignors import Group, Member, Topic
from assignors.columnar.numbering import (
    Numbering,
    OddGroup,
    Racks,
    Subscriptions,
    member_order,
    members_by_hash,
)
from assignors.rules.group_spec import members_by_id, sorted_members
from assignors.rules.sticky_structures import RackInfo
from partitioning import TopicPartition
from tests.support.invented_groups import PLAIN, TRAPS, Inventor

groups = st.builds(
    lambda seed, names: Inventor(Random(seed), names, 8).new_group(),
    st.integers(0, 10**6),
    st.sampled_from([PLAIN, TRAPS]),
)


def numbering_of(group: Group) -> Numbering:
    return Numbering.of(group.members, Subscriptions.of(group.members), group.topics)


@given(groups)
def test_members_are_in_the_orders_of_the_rules(group: Group) -> None:
    ids = [member.id for member in group.members]
    assert [ids[row] for row in member_order(group.members)] == [
        member.id for member in sorted_members(group)
    ]
    assert [ids[row] for row in members_by_hash(ids)] == list(members_by_id(group))


@given(groups)
def test_racks_are_near_and_far_as_the_rule_says(group: Group) -> None:
    numbering, rule = numbering_of(group), RackInfo(group.topics, group.members)
    racks = Racks.of({topic.name: topic for topic in group.topics}, numbering)
    assert (racks is None) == (not rule.partition_racks)
    if racks is None:
        return
    ids = np.arange(numbering.total)
    partitions = [
        TopicPartition(numbering.topics[topic], int(number))
        for topic, number in zip(numbering.topic_of, numbering.number_of, strict=True)
    ]
    for row, member in enumerate(group.members):
        far = racks.mismatch(np.full(len(ids), row), ids).tolist()
        assert far == [rule.racks_mismatch(member.id, partition) for partition in partitions]
    in_order = [partitions[place] for place in racks.by_choice(ids)]
    assert in_order == rule.sort_partitions_by_rack_consumers(partitions)


@pytest.mark.parametrize(("lists", "equal"), [((["t", "u"], ["u", "t"]), True), ((["t"], ["t", "u"]), False)])
def test_subscriptions_are_equal_in_any_order(lists: tuple[list[str], ...], equal: bool) -> None:
    members = [Member(f"m{number}", topics) for number, topics in enumerate(lists)]
    assert Subscriptions.of(members).are_equal is equal


def test_a_topic_named_twice_is_left_to_the_rule() -> None:
    with pytest.raises(OddGroup):
        Subscriptions.of([Member("m", ["t", "u", "t"])])


def test_partitions_are_numbered_topic_after_topic() -> None:
    numbering = numbering_of(Group([Topic("t", 2), Topic("u", 3)], [Member("m", ["u"])]))
    assert numbering.total == 5
    assert numbering.topic_of.tolist() == [0, 0, 1, 1, 1]
    assert numbering.number_of.tolist() == [0, 1, 0, 1, 2]
    assert numbering.subscribed.tolist() == [[False, True]]
