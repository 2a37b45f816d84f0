"""Our own file of a group."""

import json
import uuid
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from assignors.assignment import Assignment
from assignors.state import UNKNOWN_LAG, GroupState, MemberIdentity
from copartition.assignment_diff import diff
from copartition.groups import parse_capture, parse_snapshot, snapshot_bytes
from partitioning.errors import SourceError

CAPTURES = Path(__file__).parent / "captures"


@pytest.mark.parametrize("name", ["members-4.4.0", "offsets-4.4.0", "empty-4.4.0"])
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
        (MemberIdentity("a"),), ("t",), zero, zero, np.array([4, 7], np.int32), np.array([9, UNKNOWN_LAG])
    )
    assert parse_snapshot(snapshot_bytes(state))[0].lag.tolist() == [9, UNKNOWN_LAG]


def test_a_count_of_members_that_are_not_listed_comes_back():
    state = replace(GroupState.of({"a": [("t", 0)]}), members_complete=False, unlisted=2)
    back, _ = parse_snapshot(snapshot_bytes(state))
    assert (back.members_complete, back.unlisted) == (False, 2)


def test_the_same_group_gives_the_same_bytes_whatever_the_order_of_its_rows():
    state, _ = parse_capture((CAPTURES / "members-4.4.0.txt").read_text())
    turned = replace(
        state, member=state.member[::-1], topic=state.topic[::-1], partition=state.partition[::-1]
    )
    assert snapshot_bytes(turned) == snapshot_bytes(state)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"kind": "other"}, "Invalid value 'other' - at `\\$.kind`"),
        ({"format_version": "2.0"}, "format 2.0; this release reads 1.5"),
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


def full():
    """A group of which everything is known."""
    members = (
        MemberIdentity("m-1", "i-1", "c-1", "h", ("t", "u"), "r1"),
        MemberIdentity("m-2", topics=("t",)),
    )
    return GroupState(
        members,
        ("t", "u"),
        np.array([0, 0, 1, -1], np.int32),
        np.array([0, 1, 0, 0], np.int32),
        np.array([2, 0, 0, 1], np.int32),
        np.array([-1, 5, UNKNOWN_LAG, 7]),
        complete=True,
        members_complete=False,
        name="g",
        status="Reconciling",
        strategy="uniform",
        protocol="consumer",
        topic_ids=(uuid.UUID(int=5), None),
        racks=((("r1", "r2"), (), ("r1",)), None),
        warnings=("on its way",),
        assumed=("something",),
    )


def rows(state):
    """The rows as they stand, nobody's last."""
    columns = zip(state.member.tolist(), state.topic.tolist(), state.partition.tolist(), strict=True)
    found = [(member, state.topics[topic], partition) for member, topic, partition in columns]
    return [row for row in found if row[0] >= 0] + sorted(row for row in found if row[0] < 0)


@pytest.mark.parametrize(
    "field",
    [
        *("members", "complete", "members_complete", "name", "status", "strategy", "protocol", "warnings"),
        *("assumed", "topics", "topic_ids", "racks"),
    ],
)
def test_what_is_known_of_a_group_comes_back(field):
    state = full()
    back, target = parse_snapshot(snapshot_bytes(state))
    assert getattr(back, field) == getattr(state, field)
    assert (rows(back), target) == (rows(state), None)


def test_lags_below_zero_come_back():
    back, _ = parse_snapshot(snapshot_bytes(full()))
    lags = dict(
        zip(zip(back.topic.tolist(), back.partition.tolist(), strict=True), back.lag.tolist(), strict=True)
    )
    assert lags == {(0, 2): -1, (1, 0): 5, (0, 0): UNKNOWN_LAG, (0, 1): 7}


@pytest.mark.parametrize("complete", [True, False])
def test_both_states_of_a_group_on_its_way_come_back(complete):
    state = replace(full(), complete=complete)
    target = replace(state, member=np.array([-1, 0, 1, 1], np.int32))
    back, later = parse_snapshot(snapshot_bytes(state, target))
    assert (rows(back), rows(later)) == (rows(state), rows(target))
    assert (back.complete, later.complete) == (complete, complete)
    assert later.strategy == "uniform"


def test_a_capture_of_a_group_on_its_way_is_kept_with_its_target():
    state, target = parse_capture((CAPTURES / "reconciling-4.4.0.txt").read_text())
    back, later = parse_snapshot(snapshot_bytes(state, target))
    assert diff(state, back).same
    assert diff(target, later).same
    assert not diff(back, later, match="member-id").same


def test_a_snapshot_of_the_first_format_is_read():
    text = b"""{"kind":"group-snapshot","format_version":"1.0","members":[
{"id":"m-1","instance_id":"i","client_id":"c","host":"h","topics":["t"],"partitions":{"t":[0,3]}}
],"group":"g","state":"Stable","topics":{"t":5},"lag":{"t":{"0":12}}}"""
    state, target = parse_snapshot(text)
    assert state.members == (MemberIdentity("m-1", "i", "c", "h", ("t",)),)
    assert (len(state.partition), state.strategy, state.assumed, target) == (5, None, (), None)


def test_two_members_with_one_id_are_refused():
    text = '{"kind": "group-snapshot", "format_version": "1.1", "members": [{"id": "a"}, {"id": "a"}]}'
    with pytest.raises(SourceError, match=r"two members have the id 'a'.* at `\$.members\[1\].id`"):
        parse_snapshot(text)
