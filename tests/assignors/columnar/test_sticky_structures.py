"""What members of a sticky group claim, as columns: what is read, left out, and left to the rule."""

from __future__ import annotations

import pytest

from assignors import Member, Topic
from assignors.columnar.numbering import Numbering, OddGroup, Subscriptions
from assignors.columnar.sticky_structures import Claims, read_claims, recall_owned, recall_user_data
from assignors.group import StickyUserData
from assignors.partition_list import PartitionList


def claims_of(*members: Member, highest: int = -1) -> Claims:
    """The claims of cooperative members in a cluster with the topics t and u, of four partitions each."""
    numbering = Numbering.of(members, Subscriptions.of(members), [Topic("t", 4), Topic("u", 4)])
    return read_claims(numbering, recall_owned(members), highest)


def test_a_claim_is_a_row_with_member_topic_number_and_id() -> None:
    claims = claims_of(
        Member("a", ["t"], owned=[("t", 3)]), Member("b", ["u"], owned=[("u", 0), ("t", 1), ("gone", 9)])
    )
    rows = zip(claims.member, claims.topic, claims.number, claims.id, strict=True)
    assert [tuple(map(int, row)) for row in rows] == [(0, 0, 3, 3), (1, 1, 0, 4), (1, 0, 1, 1)]


@pytest.mark.parametrize("number", [-1, 4])
def test_a_claim_of_what_does_not_exist_is_left_to_the_rule(number: int) -> None:
    with pytest.raises(OddGroup):
        claims_of(Member("a", ["t"], owned=[("u", number)]))


def test_two_claims_of_a_partition_are_left_to_the_rule() -> None:
    with pytest.raises(OddGroup):
        claims_of(Member("a", ["t"], owned=[("t", 0)]), Member("b", ["t"], owned=[("t", 0)]))


@pytest.mark.parametrize(
    ("field", "user_data", "generation"),
    [(5, 3, 5), (0, 3, 0), (None, 3, 3), (-1, 3, 3), (None, None, -1)],
    ids=["the field", "0 is one", "no field", "a negative field", "neither"],
)
def test_the_generation_is_in_the_field_or_else_in_user_data(
    field: int | None, user_data: int | None, generation: int
) -> None:
    data = None if user_data is None else user_data.to_bytes(4, "big")
    claims = claims_of(Member("a", ["t"], generation=field, user_data=data))
    assert claims.generation == [generation]


@pytest.mark.parametrize(("seen", "highest"), [(-1, 4), (9, 9)])
def test_the_highest_generation_is_the_leaders_or_that_of_a_member(seen: int, highest: int) -> None:
    members = (Member("a", ["t"], generation=4), Member("b", ["t"], generation=2))
    assert claims_of(*members, highest=seen).highest == highest


def test_an_eager_member_remembers_what_its_user_data_says() -> None:
    data = StickyUserData(PartitionList.of([("t", 1), ("u", 0)]), 6)
    memory = recall_user_data([Member("a", ["t"], user_data=bytes(data)), Member("b", ["t"])])
    assert (memory.sizes.tolist(), memory.generation) == ([2, 0], [6, -1])
