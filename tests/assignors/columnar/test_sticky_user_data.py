"""What members of a "sticky" group remember, decoded and as bytes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assignors import Group, Member, PartitionList, StickyUserData, Topic, decode_sticky_user_data
from assignors.columnar.numbering import Numbering, Subscriptions
from assignors.columnar.sticky import recall_as_it_arrives
from assignors.strategies import StickyAssignor
from partitioning.kit.columns import bounds


def recalled(*members: Member):
    numbering = Numbering.of(members, Subscriptions.of(members), [Topic("t", 4), Topic("u", 4)])
    memory = recall_as_it_arrives(numbering)
    lists = PartitionList.parts(memory.partitions, bounds(memory.sizes).tolist())
    return [(list(partitions), since) for partitions, since in zip(lists, memory.generation, strict=True)]


@pytest.mark.parametrize("data", [None, b""])
def test_a_member_without_user_data_remembers_nothing(data):
    assert recalled(Member("m", ["t"], user_data=data)) == [([], -1)]


def test_user_data_that_cannot_be_read_counts_as_generation_minus_one():
    assert recalled(Member("m", ["t"], user_data=b"\x00\x00\x00\x09junk")) == [([], -1)]


def test_owned_partitions_and_their_generation_are_not_looked_at():
    member = Member("m", ["t"], owned=[("t", 0)], generation=4)
    assert recalled(member) == [([], -1)]


@settings(deadline=None)
@given(
    rows=st.lists(st.tuples(st.integers(0, 40), st.integers(0, 9)), max_size=60, unique=True),
    generation=st.integers(0, 9),
)
def test_decoded_user_data_counts_as_the_same_bytes(rows, generation):
    """Where order matters: with unequal subscriptions."""
    remembered = StickyUserData(
        PartitionList.of([(f"topic{topic}", number) for topic, number in rows]), generation
    )
    other = Member("other", ["u"])
    decoded = recalled(Member("m", ["t"], user_data=remembered), other)
    assert decoded == recalled(Member("m", ["t"], user_data=bytes(remembered)), other)


def test_bytes_are_written_from_the_assignment_as_it_travels():
    """Grouped by topic first: the table of the HashMap doubles on a call after the thirteenth topic only."""
    thirteen = [(f"topic{number}", 0) for number in range(13)]
    remembered = StickyUserData(PartitionList.of([*thirteen, ("topic0", 1)]), 1)
    grouped = StickyUserData(PartitionList.of([thirteen[0], ("topic0", 1), *thirteen[1:]]), 1)
    assert bytes(remembered) == bytes(grouped)
    assert decode_sticky_user_data(bytes(remembered))[1] == 1


def test_a_chain_decides_the_same_with_bytes():
    group = Group(
        [Topic("t", 5), Topic("u", 7), Topic("v", 3)],
        [Member("a", ["t", "u"]), Member("b", ["u", "v"]), Member("c", ["t", "v"])],
    )
    decoded = group.next(StickyAssignor().assign(group), join=[Member("d", ["t", "u", "v"])])
    encoded = Group(
        decoded.topics,
        [
            Member(
                member.id,
                member.topics,
                user_data=None if member.user_data is None else bytes(member.user_data),
                generation=member.generation,
            )
            for member in decoded.members
        ],
    )
    assert StickyAssignor().assign(encoded) == StickyAssignor().assign(decoded)
