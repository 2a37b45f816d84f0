"""Captured text of kafka-consumer-groups; the files are what real tools printed (see captures/make.py)."""

from pathlib import Path

import pytest

from assignors.state import UNKNOWN_LAG
from copartition.assignment_diff import diff
from copartition.groups import parse_capture
from partitioning.errors import SourceError

CAPTURES = Path(__file__).parents[1] / "captures"

TABLE = "{:15} {:15} {:10} {:15} {:15} {:15} {:15} {:15} {}"
HEADER = TABLE.format(
    "GROUP",
    "TOPIC",
    "PARTITION",
    "CURRENT-OFFSET",
    "LOG-END-OFFSET",
    "LAG",
    "CONSUMER-ID",
    "HOST",
    "CLIENT-ID",
)
MEMBER_TABLE = "{:15} {:15} {:15} {:15} {:15} {}"
MEMBERS = MEMBER_TABLE.format("GROUP", "CONSUMER-ID", "HOST", "CLIENT-ID", "#PARTITIONS", "ASSIGNMENT")
OF_4 = MEMBERS.replace("ASSIGNMENT", "CURRENT-ASSIGNMENT")


def captured(name):
    return (CAPTURES / f"{name}.txt").read_text()


def owners(state):
    """Client id of the owner of each partition."""
    names = [*(member.client_id for member in state.members), None]
    rows = zip(state.topic.tolist(), state.partition.tolist(), state.member.tolist(), strict=True)
    return {(state.topics[topic], partition): names[member] for topic, partition, member in rows}


def row(topic="t", partition="0", consumer="c-1", host="/h", client="c", lag="1"):
    return TABLE.format("g", topic, partition, "5", "6", lag, consumer, host, client)


def member_row(assignment, count, consumer="c-1"):
    return MEMBER_TABLE.format("g", consumer, "/h", "c", count, assignment)


# What the group of captures/make.py had: range over five members, "worker-2" idle, "legacy" only committed.
BILLING = {
    ("orders", 0): "worker-4",
    ("orders", 1): "slow worker",
    ("orders", 2): "worker-0",
    ("orders", 3): "worker-1",
    ("clicks", 0): "worker-4",
    ("clicks", 1): "slow worker",
}


@pytest.mark.parametrize("name", ["offsets-3.7.2", "offsets-3.9.1", "offsets-4.4.0", "offsets-verbose-4.4.0"])
def test_offsets_of_every_release_show_owners_and_lag(name):
    state, target = parse_capture(captured(name))
    assert target is None
    assert owners(state) == BILLING | {("legacy", 0): None}
    assert state.name == "billing"
    known = {
        (state.topics[t], p): lag for t, p, lag in zip(state.topic, state.partition, state.lag, strict=True)
    }
    assert known["orders", 3] == known["legacy", 0] == 0
    assert known["orders", 0] == UNKNOWN_LAG


@pytest.mark.parametrize("name", ["members-3.7.2", "members-4.4.0"])
def test_members_with_topics_show_owners_idle_members_and_instance_ids(name):
    state, target = parse_capture(captured(name))
    assert target is None
    assert owners(state) == BILLING
    assert {member.client_id: member.instance_id for member in state.members} == {
        "worker-0": None,
        "worker-1": None,
        "worker-2": None,
        "slow worker": None,
        "worker-4": "pod-4",
    }
    assert {member.host for member in state.members} == {"127.0.0.1"}


@pytest.mark.parametrize(("name", "known"), [("offsets-4.4.0", False), ("members-4.4.0", True)])
def test_only_a_table_of_members_shows_all_of_them(name, known):
    assert parse_capture(captured(name))[0].members_complete is known


def test_both_kinds_of_output_agree():
    one, other = (parse_capture(captured(name))[0] for name in ("members-3.7.2", "members-4.4.0"))
    assert diff(one, other).same


def test_members_without_topics_are_refused_with_advice():
    with pytest.raises(
        SourceError, match=r"does not name its topics \(Kafka 3\.8 and 3\.9.*--describe without"
    ):
        parse_capture(captured("members-3.9.1"))


def test_a_group_on_its_way_to_its_target_holds_both():
    current, target = parse_capture(captured("reconciling-4.4.0"))
    assert set(owners(current).values()) == {"first"}
    assert sorted(owners(target).values()) == ["first"] * 3 + ["second"] * 3
    assert current.status == "rebalancing"


def test_an_empty_group_has_partitions_but_no_owner_and_says_so():
    state, _ = parse_capture(captured("empty-4.4.0"))
    assert (state.members, state.status) == ((), "Empty")
    assert owners(state) == {("legacy", 0): None, ("orders", 3): None}
    assert state.warnings == (
        "no partition has an owner: the group had no active members or was rebalancing",
    )


@pytest.mark.parametrize("name", ["unknown-3.9.1", "unknown-4.4.0"])
def test_a_group_that_does_not_exist_is_named(name):
    with pytest.raises(SourceError, match="group 'no-such-group' does not exist"):
        parse_capture(captured(name))


def test_members_without_verbose_are_refused():
    with pytest.raises(SourceError, match="add --verbose"):
        parse_capture(captured("members-short-4.4.0"))


def test_an_idle_member_in_the_offsets_survives():
    state, _ = parse_capture("\n".join([HEADER, row(), row("-", "-", "c-2", "/h", "idle", "-")]))
    assert [member.client_id for member in state.members] == ["c", "idle"]
    assert len(state.partition) == 1


def test_two_owners_of_a_partition_survive_as_a_conflict():
    state, _ = parse_capture("\n".join([HEADER, row(), row(consumer="c-2", client="d")]))
    assert diff(state, state).summary.conflicts == 1


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "no output of kafka-consumer-groups"),
        ("hello world\n", "no output of kafka-consumer-groups"),
        (f"{HEADER}\n{' '.join(row().split())}", "line 2: the row does not line up with the header"),
        (f"{HEADER}\n{row(partition='x')}", "line 2: PARTITION is 'x', not a number"),
        (f"{HEADER}\n{row(topic='-')}", "line 2: TOPIC is missing"),
        (
            f"{HEADER}\n{row()}\n{row().replace('g ', 'h ', 1)}",
            "holds 2 groups \\(g, h\\); name one with `group`",
        ),
        (f"{HEADER}\n{row()}\n{MEMBERS}", "line 3: the file ends within a header"),
        (f"{HEADER}\n{row()}\n{HEADER}\n{row(lag='9')}", "2 captures of the group 'g', taken at different"),
        (f"{MEMBERS}\n{member_row('t(0,1', '2')}", "line 2: cannot read the assignment 't\\(0,1'"),
        (f"{MEMBERS}\n{member_row('t(0,1)', '3')}", "line 2: c-1 has 3 partitions but 2 are listed"),
        (f"{MEMBERS}\n{member_row('t(0)', '1', consumer='-')}", "line 2: CONSUMER-ID is missing"),
        (f"{MEMBERS}\n{member_row('t(0)', '1')}\n{member_row('t(1)', '1')}", "line 3: a second member 'c-1'"),
        (f"{OF_4}\n{member_row('t:0,', '1')}", "line 2: cannot read the assignment 't:0,'"),
        (f"{OF_4}\n{member_row('t:0;', '1')}", "line 2: cannot read the assignment 't:0;'"),
        (f"{OF_4}\n{member_row('t:0,0', '2')}", "line 2: CURRENT-ASSIGNMENT lists a partition of t twice"),
        (
            f"{OF_4}\n{member_row('t:4294967301', '1')}",
            "line 2: CURRENT-ASSIGNMENT is '4294967301', not a number",
        ),
        (f"{HEADER}\n{row(partition='4294967301')}", "line 2: PARTITION is '4294967301', not a number"),
        (f"{HEADER}\n{row(partition='2147483648')}", "line 2: PARTITION is '2147483648', not a number"),
        (f"{HEADER}\n{row(partition='-1')}", "line 2: PARTITION is '-1', not a number"),
        (f"{HEADER}\n{row(partition='-')}", "line 2: PARTITION is missing"),
        (f"{HEADER}\n{row(topic='a' * 16)}", "line 2: the row does not line up with the header at TOPIC"),
        (f"{HEADER}\n{row(topic='t' + chr(31))}", "line 2: TOPIC is 't.x1f', which no topic can be called"),
        (f"{HEADER}\n{row(topic='a b')}", "line 2: the row does not line up with the header at TOPIC"),
        (f"{HEADER}\n{row(topic='a/b')}", "line 2: TOPIC is 'a/b', which no topic can be called"),
        (f"{HEADER}\n{row(host='-')}", "line 2: member 'c-1' has no HOST: the row is cut off"),
        (f"{HEADER}\n{row(host='')}\n", "line 2: the row ends before HOST: it is cut off"),
        (f"{HEADER}\n{row(lag='')}\n", "line 2: the row ends before LAG: it is cut off"),
        (f"{HEADER}\n{row()}\n{row(host='/i')}", "line 3: member 'c-1' has HOST '/i', in line 2 '/h'"),
        (f"{HEADER}\n{row()}\n{row().replace('g ', '- ', 1)}", "line 3: GROUP is missing"),
    ],
)
def test_what_cannot_be_read_is_named_by_line(text, fault):
    with pytest.raises(SourceError, match=fault):
        parse_capture(text)


def test_blanks_after_the_last_column_make_no_other_client():
    state, _ = parse_capture("\n".join([HEADER, row(), row(partition="1") + "  ", ""]))
    assert [member.client_id for member in state.members] == ["c"]


def test_old_captures_have_no_group_column():
    lines = [line[16:] for line in (HEADER, row())]
    state, _ = parse_capture("\n".join(lines))
    assert state.name is None
    assert owners(state) == {("t", 0): "c"}
    state, _ = parse_capture("\n".join(lines), "billing")
    assert state.assumed == ("the capture names no group; taken for 'billing'",)


def test_members_of_the_classic_protocol_are_known_in_a_converted_group():
    current, _ = parse_capture(captured("tables-mixed-4.4.0"))
    assert {member.client_id: member.protocol for member in current.members} == {
        "new": "consumer",
        "old-0": "classic",
        "old-1": "classic",
    }


@pytest.mark.parametrize(
    ("name", "protocol"), [("reconciling-4.4.0", "consumer"), ("members-4.4.0", None), ("tables-3.9.1", None)]
)
def test_without_classic_members_the_tool_prints_no_column_of_them(name, protocol):
    current, _ = parse_capture(captured(name))
    assert {member.protocol for member in current.members} == {protocol}
