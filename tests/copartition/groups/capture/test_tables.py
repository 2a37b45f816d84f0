"""Several tables of one group, several groups in one file, and what tables say besides who has what."""

from pathlib import Path

import pytest

from assignors.state import UNKNOWN_LAG
from copartition.assignment_diff import diff
from copartition.groups import parse_capture
from copartition.groups.capture import parse_captures
from partitioning.errors import SourceError

CAPTURES = Path(__file__).parents[1] / "captures"


def captured(name):
    return (CAPTURES / f"{name}.txt").read_text()


def tables(release):
    """The offsets, members and state of the group billing, as the tools of that release print them."""
    _, *others = captured(f"tables-{release}").split("\nGROUP ")
    return [f"\nGROUP {table.rstrip()}\n" for table in others]


def lag_of(state):
    rows = zip(state.topic.tolist(), state.partition.tolist(), state.lag.tolist(), strict=True)
    return {f"{state.topics[topic]}-{partition}": lag for topic, partition, lag in rows}


RELEASES = ["3.7.2", "3.9.1", "4.4.0"]
ORDERS = [(0, 1, 2), (2, 1, 0), (1, 0, 2), (1, 2, 0)]


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("order", ORDERS)
def test_tables_of_one_group_complete_each_other_in_any_order(release, order):
    parts = tables(release)
    state, target = parse_capture("".join(parts[number] for number in order))
    assert target is None
    assert {member.client_id: member.instance_id for member in state.members} == {
        "worker-0": None,
        "worker-1": None,
        "worker-2": None,
        "slow worker": None,
        "worker-4": "pod-4",
    }
    assert state.members_complete
    assert (state.status, state.strategy, state.name) == ("Stable", "range", "billing")
    assert lag_of(state)["orders-3"] == lag_of(state)["legacy-0"] == 0
    assert diff(state, parse_capture(parts[0])[0]).summary.moved == 0


def test_members_without_topics_get_them_from_the_offsets():
    offsets, members, _ = tables("3.9.1")
    state, _ = parse_capture(members + offsets)
    assert state.topics == ("clicks", "orders", "legacy")
    assert (state.member >= 0).sum() == 6


def test_members_without_verbose_get_what_they_have_from_the_offsets():
    offsets, _, _ = tables("4.4.0")
    ids = {member.client_id: member.id for member in parse_capture(offsets)[0].members}
    short = captured("members-short-4.4.0")
    for member in parse_capture(captured("members-4.4.0"))[0].members:
        short = short.replace(member.id, ids.get(member.client_id, member.id))
    state, _ = parse_capture(offsets + short)
    assert len(state.members) == 5
    assert state.members_complete


@pytest.mark.parametrize("counted", ["4", "5", "6"])
def test_the_state_tells_whether_all_members_are_seen(counted):
    offsets, _, state = tables("4.4.0")
    head, rest = state.rstrip().rsplit("5", 1)
    read, _ = parse_capture(offsets + f"{head}{counted}{rest}\n")
    assert read.members_complete is (counted == "4")
    assert read.unlisted == int(counted) - 4


def test_a_count_of_members_that_may_be_cut_is_no_count():
    offsets, _, state = tables("4.4.0")
    read, _ = parse_capture(offsets + state.rstrip().rsplit("5", 1)[0] + "4")
    assert not read.members_complete


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (("(2)", "(3)"), "different partitions of member 'worker-0-"),
        (("(1), (1)", "(1), (2)"), "different partitions of member 'slow worker-"),
        (("worker-0-", "worker-9-"), "different partitions of member 'worker-0-"),
        (("Stable          5", "Stable          6"), "has 6 members, but 5 are listed"),
    ],
)
def test_tables_of_different_moments_are_refused(change, fault):
    offsets, members, state = tables("3.9.1")
    with pytest.raises(SourceError, match=f"{fault}.*not captured at the same time"):
        parse_capture(offsets + members.replace(*change) + state.replace(*change))


def test_a_second_table_of_one_kind_is_a_capture_of_another_time():
    offsets, members, _ = tables("4.4.0")
    later = offsets.replace(" 0               0               0", " 0               9               9")
    assert later != offsets
    with pytest.raises(SourceError, match=r"2 captures of the group 'billing'.*add #0 .*, #-1 for the last"):
        parse_capture(f"{offsets}\n{members}\n{later}")
    (first, _), (last, _) = parse_captures(f"{offsets}\n{members}\n{later}")
    assert (len(first.members), len(last.members)) == (5, 4)
    assert int(last.lag.max()) == 9


def test_a_table_that_is_pasted_twice_is_one():
    offsets, _, _ = tables("4.4.0")
    assert len(parse_captures(f"{offsets}\n{offsets}")) == 1


def test_the_target_has_what_the_offsets_know_beyond_it():
    current, target = parse_capture(captured("tables-reconciling-4.4.0"))
    assert (current.status, current.strategy, current.protocol) == ("Reconciling", "uniform", "consumer")
    assert [member.client_id for member in target.members] == ["second", "first"]
    assert target.members_complete
    content = captured("tables-reconciling-4.4.0").replace("clicks:0,1;orders:3 ", "orders:3            ")
    _, smaller = parse_capture(content)
    owners = zip(smaller.topic.tolist(), smaller.partition.tolist(), smaller.member.tolist(), strict=True)
    assert {(smaller.topics[topic], partition) for topic, partition, member in owners if member < 0} == {
        ("clicks", 0),
        ("clicks", 1),
    }


def test_the_target_has_the_lag_of_the_offsets():
    content = captured("tables-reconciling-4.4.0")
    row = next(line for line in content.splitlines() if "orders          3 " in line)
    changed = row.replace("-               0               -  ", "2               9               7  ", 1)
    assert changed != row
    _, target = parse_capture(content.replace(row, changed))
    assert lag_of(target)["orders-3"] == 7
    assert lag_of(target)["orders-0"] == UNKNOWN_LAG


@pytest.mark.parametrize("release", RELEASES)
def test_one_group_of_several_is_picked_by_name(release):
    state, _ = parse_capture(captured(f"groups-{release}"), "billing")
    assert (state.name, len(state.members), len(state.partition)) == ("billing", 4, 7)
    empty, _ = parse_capture(captured(f"groups-{release}"), "empty")
    assert (empty.name, empty.status, empty.members, empty.members_complete) == ("empty", "Empty", (), True)


def test_of_several_groups_one_must_be_named():
    with pytest.raises(SourceError, match=r"3 groups \(ahead, billing, empty\); name one with `group`"):
        parse_capture(captured("groups-4.4.0"))
    with pytest.raises(SourceError, match="no group 'other' but: ahead, billing, empty"):
        parse_capture(captured("groups-4.4.0"), "other")


def test_members_of_an_empty_group_are_none_though_its_table_has_no_row():
    state, _ = parse_capture(captured("member-groups-4.4.0"), "empty")
    assert (state.name, state.members, state.members_complete) == ("empty", (), True)


def test_headers_of_groups_named_on_the_other_stream_do_not_count():
    content = captured("member-groups-4.4.0")
    kept = "\n".join(line for line in content.split("\n") if not line.startswith("Consumer group"))
    assert kept.count("GROUP ") == 3
    state, _ = parse_capture(kept)
    assert (state.name, len(state.members)) == ("billing", 5)


@pytest.mark.parametrize("lag", [-7, -1])
def test_a_lag_below_zero_is_kept_and_noted(lag):
    """Only rpk prints -1 for an error."""
    content = captured("ahead-4.4.0")
    assert content.count(" -7 ") == 1
    state, _ = parse_capture(content.replace(" -7 ", f" {lag} "))
    assert lag_of(state) == {"clicks-0": 0, "clicks-1": lag}
    assert f"clicks-1 has a lag of {lag}: the group committed an offset beyond the end of the partition" in (
        state.warnings
    )


@pytest.mark.parametrize(
    ("name", "protocol"),
    [("members-4.4.0", "classic"), ("reconciling-4.4.0", "consumer"), ("offsets-4.4.0", None)],
)
def test_the_protocol_is_told_where_the_text_tells_it(name, protocol):
    assert parse_capture(captured(name))[0].protocol == protocol


def test_owners_in_a_group_that_is_said_to_be_empty_are_refused():
    content = "\nConsumer group 'billing' has no active members.\n" + captured("offsets-4.4.0")
    with pytest.raises(SourceError, match="by its state the group has 0 members, but 4 are listed"):
        parse_capture(content)


def test_a_state_alone_is_no_group():
    with pytest.raises(SourceError, match="shows only the state of the group"):
        parse_capture(captured("state-4.4.0"))


def test_names_of_groups_that_look_like_notices_are_rows():
    content = captured("offsets-4.4.0").replace("billing        ", "org.acme.bills ")
    state, _ = parse_capture(content)
    assert (state.name, len(state.partition)) == ("org.acme.bills", 7)
