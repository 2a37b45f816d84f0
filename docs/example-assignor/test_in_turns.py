"""In turns keeps the rules of every assignor."""

from copartition_in_turns import InTurnsAssignor

from assignors.testing import check_assignor


def test_in_turns_is_an_assignor() -> None:
    check_assignor(InTurnsAssignor)
