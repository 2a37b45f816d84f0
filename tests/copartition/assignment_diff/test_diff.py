"""What a diff says about every partition, and in numbers."""

import uuid
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assignors.assignment import Assignment
from assignors.state import UNKNOWN_LAG, GroupState, MemberIdentity
from copartition.assignment_diff import Action, Change, Conflict, diff
from copartition.kit.evidence import Missing
from partitioning.topic_partition import TopicPartition


def lists(**given):
    """One topic "t": a="0 1" is a member with partitions 0 and 1."""
    return {
        name: [TopicPartition("t", int(number)) for number in text.split()] for name, text in given.items()
    }


def whole(**given):
    """The same where every partition up to the highest is known."""
    return Assignment.of(lists(**given))


def state(rows, *, members, complete=False, lag=None):
    member, partition = np.array(rows, np.int32).reshape(-1, 2).T
    return GroupState(
        tuple(map(MemberIdentity, members)),
        ("t",),
        member,
        np.zeros(len(member), np.int32),
        partition,
        None if lag is None else np.array(lag, np.int64),
        complete=complete,
    )


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (lists(a="0"), lists(a="0"), (Action.KEEP, "a", "a")),
        (lists(a="0", b=""), lists(a="", b="0"), (Action.MOVE, "a", "b")),
        (lists(a=""), lists(a="0"), (Action.ASSIGN, None, "a")),
        (lists(a="0"), lists(a=""), (Action.UNASSIGN, "a", None)),
        (state([(-1, 0)], members="a", complete=True), lists(a="0"), (Action.ASSIGN, None, "a")),
        (state([], members="a", complete=True), lists(a="0"), (Action.ADDED, None, "a")),
        (lists(a="0"), state([], members="a", complete=True), (Action.REMOVED, "a", None)),
        (state([(0, 0), (1, 0)], members="ab"), lists(a="0", b=""), (Action.CONFLICT, "a", "a")),
        (lists(a="", b="0"), state([(0, 0), (1, 0)], members="ab"), (Action.CONFLICT, "b", "a")),
        (state([(-1, 0)], members="a"), state([(-1, 0)], members="a"), (Action.KEEP, None, None)),
    ],
)
def test_every_action_has_its_case(before, after, expected):
    assert list(diff(before, after, match="member-id").changes(every=True)) == [
        Change("t", 0, *expected, None)
    ]


def test_an_assignment_knows_the_partitions_nobody_has():
    found = diff(whole(a="0 2"), whole(a="0 1 2"))
    assert list(found.changes()) == [Change("t", 1, Action.ASSIGN, None, "a", None)]


def test_the_same_owner_in_two_rows_is_no_conflict():
    assert diff(state([(0, 0), (0, 0)], members="a"), lists(a="0")).same


def test_a_conflict_names_its_owners():
    found = diff(state([(0, 3), (1, 3)], members="ab"), lists(a="3", b=""))
    assert found.conflicts == (Conflict("t", 3, ("a", "b"), ("a",)),)
    assert found.summary.conflicts == 1


def test_rows_are_sorted_by_topic_and_partition():
    before = {"a": [TopicPartition("z", 1), TopicPartition("b", 10), TopicPartition("b", 9)]}
    places = [(change.topic, change.partition) for change in diff(before, {"a": []}).changes()]
    assert places == [("b", 9), ("b", 10), ("z", 1)]


def test_flows_collect_partitions_by_pair_of_members_and_nobody_comes_last():
    found = diff(lists(a="0 1 2 5", b="3 4"), lists(a="3", b="0 1 2"), match="member-id")
    flows = [
        (flow.source, flow.target, [partition.partition for partition in flow.partitions])
        for flow in found.flows
    ]
    assert flows == [("a", "b", [0, 1, 2]), ("a", None, [5]), ("b", "a", [3]), ("b", None, [4])]


def test_members_come_in_natural_order_with_their_counts():
    found = diff(lists(w10="0 1", w9="2"), lists(w10="0", w9="1 2"), match="member-id")
    assert [(m.name, m.before, m.after, m.kept) for m in found.members] == [("w9", 1, 2, 1), ("w10", 2, 1, 1)]


def test_the_numbers_of_two_members_that_join_six():
    before = {f"w{m}": [TopicPartition("t", p) for p in range(20 * m, 20 * m + 20)] for m in range(6)}
    after = {name: mine[:15] for name, mine in before.items()}
    moved = [partition for mine in before.values() for partition in mine[15:]]
    after |= {"w6": moved[:15], "w7": moved[15:]}
    numbers = diff(before, after).summary
    assert (numbers.members_before, numbers.members_after, numbers.members_joined) == (6, 8, 2)
    assert (numbers.moved, numbers.kept, numbers.moved_pct, numbers.stickiness) == (30, 90, 25.0, 0.75)
    assert (numbers.needed_moves, numbers.avoidable_moves) == (30, 0)
    assert (numbers.spread_before, numbers.spread_after) == (0, 0)


def test_idle_members_and_unowned_partitions_are_counted():
    numbers = diff(whole(a="0 1", b="2 3"), state([(0, 0), (-1, 1), (0, 2), (0, 3)], members="ab")).summary
    assert (numbers.idle_before, numbers.idle_after) == (0, 1)
    assert (numbers.unassigned, numbers.unowned) == (1, 1)


def test_lag_comes_from_the_later_side_that_knows_it():
    before = state([(0, 0), (0, 1)], members="ab", lag=[5, 7])
    after = state([(1, 0), (0, 1)], members="ab", lag=[9, UNKNOWN_LAG])
    assert [change.lag for change in diff(before, after).changes(every=True)] == [9, None]
    assert diff(before, after).summary.lag_moved == 9
    assert diff(before, lists(a="1", b="0"), match="member-id").summary.lag_moved == 5
    assert diff(lists(a="0"), lists(a="0")).summary.lag_moved is None


def test_lag_below_zero_is_kept_and_is_nothing_that_waits():
    before = state([(0, 0), (0, 1), (0, 2)], members="ab", lag=[-5, -1, 7])
    found = diff(before, lists(a="", b="0 1 2"), match="member-id")
    assert [change.lag for change in found.changes()] == [-5, -1, 7]
    assert (found.summary.lag_moved, found.summary.lag_moved_exact) == (7, True)


@pytest.mark.parametrize(
    ("lag", "moved", "exact"), [([UNKNOWN_LAG, 4], 4, False), ([UNKNOWN_LAG, UNKNOWN_LAG], None, False)]
)
def test_lag_moved_is_a_bound_where_some_is_unknown(lag, moved, exact):
    before = state([(0, 0), (0, 1), (1, 2)], members="ab", lag=[*lag, 9])
    numbers = diff(before, lists(a="", b="0 1 2"), match="member-id").summary
    assert (numbers.lag_moved, numbers.lag_moved_exact) == (moved, exact)


def test_a_topic_that_a_group_without_members_no_longer_names_is_not_gone():
    empty = replace(GroupState.of(whole()), complete=True)
    there, back = diff(whole(a="0 1"), empty).summary, diff(empty, whole(a="0 1")).summary
    assert (there.unassigned, there.removed) == (2, 0)
    assert (back.assigned, back.added) == (2, 0)


@pytest.mark.parametrize(("names", "assumed"), [("gh", 1), ("gg", 0), (("g", None), 0)])
def test_two_groups_are_taken_for_one_and_that_is_said(names, assumed):
    found = diff(*(replace(GroupState.of(whole(a="0")), name=name) for name in names))
    assert [*found.assumed] == ["'g' before and 'h' after are taken for one group"] * assumed


@pytest.mark.parametrize(("ids", "made_anew"), [((1, 2), 1), ((1, 1), 0), ((1, None), 0), ((None, 2), 0)])
def test_a_topic_that_was_made_anew_is_told(ids, made_anew):
    known = [None if number is None else uuid.UUID(int=number) for number in ids]
    found = diff(*(replace(GroupState.of(whole(a="0")), topic_ids=(topic_id,)) for topic_id in known))
    said = "t deleted and made anew in between; partitions are compared by number"
    assert [*found.assumed] == [said] * made_anew


def test_two_empty_groups_are_the_same():
    found = diff({}, {})
    assert found.same
    assert found.flows == ()
    assert found.summary.partitions == 0


def test_an_idle_member_that_joins_is_a_difference():
    assert not diff(lists(a="0"), lists(a="0", b="")).same


HIDDEN = {"members_complete": False}


@pytest.mark.parametrize(
    ("before", "after", "presence", "counts"),
    [
        ({}, {}, ["joined", "left"], (2, 2, 1, 1)),
        (HIDDEN, {}, ["not known before", "left"], (None, 2, None, 1)),
        ({}, HIDDEN, ["joined", "not known after"], (2, None, 1, None)),
        (HIDDEN, HIDDEN, ["not known before", "not known after"], (None, None, None, None)),
    ],
)
def test_who_was_not_seen_is_not_taken_to_have_been_away(before, after, presence, counts):
    sides = (
        replace(GroupState.of(whole(a="0", gone="1")), **before),
        replace(GroupState.of(whole(a="0", came="1")), **after),
    )
    found = diff(*sides, match="member-id")
    assert [member.presence for member in found.members[1:]] == presence
    numbers = found.summary
    assert (
        numbers.members_before,
        numbers.members_after,
        numbers.members_joined,
        numbers.members_left,
    ) == counts


def test_numbers_that_idle_members_enter_into_are_unknown_where_those_are_not_shown():
    hidden = replace(GroupState.of(whole(a="0", b="1 2")), members_complete=False)
    there = diff(hidden, whole(a="0", b="1 2")).summary
    back = diff(whole(a="0", b="1 2"), hidden).summary
    assert (there.idle_before, there.spread_before, there.idle_after, there.spread_after) == (
        None,
        None,
        0,
        1,
    )
    assert (back.idle_before, back.spread_before, back.idle_after, back.spread_after) == (0, 1, None, None)
    assert (there.members_joined, back.members_left) == (0, 0)


def test_an_idle_member_that_was_not_shown_before_is_no_difference_and_an_assumption():
    hidden = replace(GroupState.of(whole(a="0")), members_complete=False)
    found = diff(hidden, whole(a="0", b=""))
    assert found.same
    assert found.assumed == ("not all members before are known; b taken to be there without partitions",)
    assert diff(whole(a="0", b=""), hidden).assumed == (
        "not all members after are known; b taken to be there without partitions",
    )


def test_an_assumption_names_five_members_and_counts_the_others():
    hidden = replace(GroupState.of(whole(a="0")), members_complete=False)
    (assumed,) = diff(hidden, whole(a="0", **{f"b{number}": "" for number in range(7)})).assumed
    assert "b0, b1, b2, b3, b4 and 2 more" in assumed


@pytest.mark.heavy
def test_a_large_group_is_compared():
    """100,000 partitions, of which each tenth moves, and 2,000 members that are matched by their hosts."""
    hosts = [(f"10.0.{number // 250}.{number % 250}") for number in range(2_000)]
    owner = np.arange(100_000, dtype=np.int32) % 2_000
    after = np.where(np.arange(100_000) % 10 == 0, owner[::-1], owner)
    sides = [
        GroupState(
            tuple(MemberIdentity(f"{side}-{host}", client_id="app", host=host) for host in hosts),
            ("t",),
            owners,
            np.zeros(100_000, np.int32),
            np.arange(100_000, dtype=np.int32),
            complete=True,
        )
        for side, owners in (("old", owner), ("new", after))
    ]
    numbers = diff(*sides).summary
    assert (numbers.moved, numbers.needed_moves) == (10_000, 0)


def test_swapping_two_owners_moves_everything_though_nothing_had_to():
    numbers = diff(lists(a="0 1", b="2 3"), lists(a="2 3", b="0 1"), match="member-id").summary
    assert (numbers.moved, numbers.needed_moves, numbers.avoidable_moves) == (4, 0, 4)


SIDES = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=9)


def as_lists(owners):
    given_out = {f"m{member}": [] for member in range(4)}
    for partition, owner in enumerate(owners):
        given_out[f"m{owner}"].append(TopicPartition("t", partition))
    return given_out


@given(SIDES)
def test_every_partition_is_counted_once(rows):
    numbers = diff(*(as_lists(side) for side in zip(*rows, strict=True)), match="member-id").summary
    assert numbers.kept + numbers.moved == numbers.partitions == len(rows)
    assert numbers.moved == sum(one != other for one, other in rows)


@given(SIDES)
def test_the_reverse_diff_has_the_same_moves_the_other_way(rows):
    before, after = (as_lists(side) for side in zip(*rows, strict=True))
    there, back = diff(before, after, match="member-id"), diff(after, before, match="member-id")
    assert (there.action == back.action).all()
    assert (there.source == back.target).all()


def test_owners_that_changed_for_no_known_reason_leave_unknown_what_stops():
    change = diff(state([0, 0, 1, 1], members="ab"), state([0, 1, 1, 0], members="ab"))
    assert isinstance(change.stops, Missing)
    assert "no source shows why" in change.stops.what
