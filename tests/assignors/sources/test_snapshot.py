"""Our own file of a group."""

import json
from pathlib import Path

import numpy as np
import pytest

from assignors.assignment import Assignment
from assignors.diff import GroupState, MemberIdentity, diff
from assignors.errors import SourceError
from assignors.sources import parse_capture, parse_snapshot, snapshot_bytes

CAPTURES = Path(__file__).parent / "captures"


@pytest.mark.parametrize("name", ["members-4.3.1", "offsets-4.3.1", "empty-4.3.1"])
def test_a_group_comes_back_as_it_was_kept(name):
    state, _ = parse_capture((CAPTURES / f"{name}.txt").read_text())
    back, _ = parse_snapshot(snapshot_bytes(state))
    assert back.members == state.members
    assert back.name == state.name
    assert diff(state, back).same
    assert len(back.partition) == len(state.partition)


def test_partitions_without_an_owner_come_back_where_the_counts_are_known():
    state = GroupState.of(Assignment.of({"a": [("t", 0), ("t", 3)]}))
    back, _ = parse_snapshot(snapshot_bytes(state))
    assert back.complete
    assert diff(state, back).same
    assert np.count_nonzero(back.member < 0) == 2


def test_lag_comes_back():
    zero = np.zeros(2, np.int32)
    state = GroupState(
        (MemberIdentity("a"),), ("t",), zero, zero, np.array([4, 7], np.int32), np.array([9, -1])
    )
    assert parse_snapshot(snapshot_bytes(state))[0].lag.tolist() == [9, -1]


def test_the_same_group_gives_the_same_bytes_whatever_the_order_of_its_rows():
    state, _ = parse_capture((CAPTURES / "members-4.3.1.txt").read_text())
    turned = GroupState(
        state.members,
        state.topics,
        state.member[::-1],
        state.topic[::-1],
        state.partition[::-1],
        name=state.name,
    )
    assert snapshot_bytes(turned) == snapshot_bytes(state)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"kind": "other"}, "Invalid value 'other' - at `\\$.kind`"),
        ({"format_version": "2.0"}, "format 2.0; this release reads 1.1"),
        ({"members": [{}]}, "missing required field `id` - at `\\$.members\\[0\\]`"),
        ({"members": [{"id": "a", "partitions": {"t": [-1]}}]}, "`\\$.members\\[0\\].partitions"),
        ({"members": [{"id": "a", "partitions": {"t": [3]}}], "topics": {"t": 3}}, "t-3 does not exist"),
    ],
)
def test_a_fault_is_said_with_its_path(change, fault):
    good = {"kind": "group-snapshot", "format_version": "1.0", "members": []}
    with pytest.raises(SourceError, match=fault):
        parse_snapshot(json.dumps(good | change))


def test_keys_of_a_newer_minor_version_are_ignored():
    text = '{"kind": "group-snapshot", "format_version": "1.7", "members": [], "epoch": 3}'
    assert parse_snapshot(text)[0].members == ()
