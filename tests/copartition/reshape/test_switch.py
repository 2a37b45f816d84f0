"""What the switch decides from what a cluster shows."""

from dataclasses import replace

import pytest

from copartition.reshape.switch import EndLook, GroupSwitch, next_sentence, switch_exit_code, why_not_still

LOOK = EndLook({0: (0, 10), 1: (2, 7)}, {0: 10, 1: 7})
GROUP = GroupSwitch("billing", 0, {0: 10, 1: 7}, {}, {0: 4, 1: 5, 2: 8}, 3, 0)


def test_writers_stand_still_if_no_end_moves_and_no_transaction_is_open() -> None:
    assert why_not_still(LOOK, LOOK) is None


@pytest.mark.parametrize(
    ("second", "why"),
    [
        (EndLook({0: (0, 11), 1: (2, 9)}, {0: 11, 1: 9}), "3 records came to partitions 0 and 1"),
        (EndLook({0: (0, 10), 1: (2, 7), 2: (0, 4)}, {0: 10, 1: 7, 2: 4}), "4 records came to partition 2"),
        (EndLook({0: (0, 10), 1: (2, 7)}, {0: 10, 1: 5}), "open in partition 1, with 2 offsets behind it"),
    ],
)
def test_what_shows_that_writers_write(second: EndLook, why: str) -> None:
    assert why in (why_not_still(LOOK, second) or "")


@pytest.mark.parametrize(
    ("changes", "action", "exit_code"),
    [
        ({}, "write", 1),
        ({"members": 2}, "stop members", 1),
        ({"now": {0: 4, 1: 5, 2: 8}}, "written", 0),
        ({"now": {0: 9, 1: 5, 2: 8}, "members": 2}, "written", 0),
        ({"now": {0: 4, 1: 4, 2: 8}}, "other commits", 1),
        ({"now": {0: 4}}, "other commits", 1),
    ],
)
def test_what_is_to_be_done_with_a_group(changes, action: str, exit_code: int) -> None:
    group = replace(GROUP, **changes)
    assert group.action == action
    assert switch_exit_code([group]) == exit_code


def test_the_next_thing_to_do_is_said() -> None:
    assert next_sentence(GROUP, execute=False) == "write its positions with --execute"
    assert next_sentence(GROUP, execute=True) == "start its members on the new topic"
    assert next_sentence(replace(GROUP, members=2), execute=True).startswith("stop its 2 members")
    moved = replace(GROUP, now=GROUP.positions)
    assert next_sentence(moved, execute=False) == "start its members on the new topic"
    assert next_sentence(replace(moved, members=2), execute=False).startswith("nothing")
