"""A group state is built row by row."""

import pytest

from assignors.state import MemberIdentity
from copartition.groups.rows import Rows
from partitioning.errors import SourceError


def test_rows_that_follow_change_no_state_that_was_returned():
    rows = Rows()
    rows.member(MemberIdentity("a"))
    rows.partition("orders", 0, "a", 5)
    before = rows.state()
    rows.partition("orders", 1, None)
    assert (before.member.tolist(), before.lag.tolist()) == ([0], [5])
    assert rows.state().member.tolist() == [0, -1]


def test_two_members_cannot_have_one_id():
    rows = Rows()
    rows.member(MemberIdentity("a"))
    with pytest.raises(SourceError, match="two members have the id 'a'"):
        rows.member(MemberIdentity("a"))
