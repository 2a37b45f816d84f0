"""Targets as columns: in the order of the coordinator's maps, as the rule has them, and what is no target."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from assignors import Group, Member, Topic
from assignors.columnar.numbering import BrokerNumbering, OddGroup, Subscriptions, members_by_hash
from assignors.columnar.uniform_structures import OldTargets, Slots, recall_targets
from assignors.group import CarriedMembers
from assignors.rules.group_spec import GroupSpec
from partitioning.topic_partition import TopicPartition

TOPICS = [Topic("t", 80), Topic("u", 80), Topic("v", 80), Topic("wide", 2000)]
SPARSE = [*range(0, 80, 16), *range(1, 80, 13)]
"""Numbers of which many share a place in a small HashSet, so that its order is not that of numbers."""
CROWDED = [("wide", number) for number in range(1920, -1, -128)]
"""So many in one place that the order of the set depends on the order in which they were added."""


def targets_of(members: list[Member]) -> tuple[OldTargets, BrokerNumbering, list[int]]:
    """The targets of members, their numbering and the order in which the coordinator visits the members."""
    carried = CarriedMembers.of(members)
    joined = members_by_hash(carried.column("id"))
    recorded, sizes = recall_targets(carried, joined)
    subscriptions = Subscriptions.of(carried, joined.tolist())
    numbering = BrokerNumbering.of_cluster(TOPICS, carried, subscriptions, set(recorded.names))
    return OldTargets.of(recorded, sizes, numbering), numbering, joined.tolist()


@given(
    owned=st.lists(st.tuples(st.sampled_from("tuv"), st.sampled_from(SPARSE)), max_size=25, unique=True),
    split=st.integers(0, 25),
)
@example(owned=CROWDED, split=len(CROWDED))
def test_targets_are_in_the_order_of_the_rules_maps(owned: list[tuple[str, int]], split: int) -> None:
    members = [Member("a", ["t"], owned=owned[:split]), Member("b", ["t"], owned=owned[split:])]
    targets, numbering, visited = targets_of(members)
    found: dict[str, list[TopicPartition]] = {member.id: [] for member in members}
    slots = targets.slots
    for member, topic, start, size in zip(slots.member, slots.topic, slots.starts, slots.sizes, strict=True):
        numbers = slots.partition[start : start + size].tolist()
        name = members[visited[member]].id
        found[name] += [TopicPartition(numbering.topics[topic], number) for number in numbers]
    spec = GroupSpec(Group(TOPICS, members))
    assert found == spec.partition_lists(spec.member_assignment)
    assert targets.assigned.sum() == len(owned)


@pytest.mark.parametrize(
    "owned", [([("t", 80)], []), ([("t", -1)], []), ([("t", 0)], [("t", 0)])], ids=["past", "before", "twice"]
)
def test_what_no_broker_made_is_left_to_the_rule(owned: tuple[list[tuple[str, int]], ...]) -> None:
    with pytest.raises(OddGroup):
        targets_of([Member(name, ["t"], owned=mine) for name, mine in zip("ab", owned, strict=True)])


def test_partitions_of_a_topic_that_is_gone_are_still_in_a_target() -> None:
    targets, numbering, _ = targets_of([Member("a", ["t"], owned=[("gone", 5), ("t", 1)])])
    assert sorted(targets.slots.partition.tolist()) == [1, 5]
    assert not targets.assigned[numbering.starts[-2] :].any()


def test_slots_of_one_member_and_topic_become_one_where_the_first_was() -> None:
    member, topic = np.array([0, 0, 0, 1]), np.array([1, 0, 1, 1])
    rows = np.array([7, 8, 3, 9, 5], np.int32)
    merged = Slots.of(member, topic, np.array([2, 1, 1, 1]), rows).merge_repeated()
    assert (merged.member.tolist(), merged.topic.tolist()) == ([0, 0, 1], [1, 0, 1])
    assert merged.sizes.tolist() == [3, 1, 1]
    assert merged.partition.tolist() == [7, 8, 9, 3, 5]
