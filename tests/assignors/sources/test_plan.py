"""What an assignor would make of a group."""

from pathlib import Path

import pytest

from assignors import Reason, register_assignor
from assignors.assignment import Assignment
from assignors.diff import GroupState, diff
from assignors.errors import SourceError
from assignors.sources import WhatIf, parse_capture, plan
from partitioning.errors import UnknownStrategyError
from tests.support.recording import MuteAssignor, strangers

__all__ = ["strangers"]

CAPTURES = Path(__file__).parent / "captures"
SIX = GroupState.of(Assignment.of({f"w{m}": [("orders", 20 * m + p) for p in range(20)] for m in range(6)}))


def planned(assignor, state=SIX, **what_if):
    return diff(state, plan(state, assignor, WhatIf(**what_if)), match="member-id")


@pytest.mark.parametrize("assignor", ["sticky", "cooperative-sticky"])
def test_sticky_strategies_move_no_more_than_needed_follow_ups_included(assignor):
    numbers = planned(assignor, add_members=2).summary
    assert (numbers.moved, numbers.avoidable_moves, numbers.unowned, numbers.spread_after) == (30, 0, 0, 0)


def test_a_balanced_group_stays_as_it_is():
    assert planned("cooperative-sticky").same


def test_range_moves_more():
    assert planned("range", add_members=2).summary.avoidable_moves > 0


def test_what_a_member_leaves_goes_to_the_others():
    found = planned("sticky", remove_members=("w3",))
    assert {(flow.source, len(flow.partitions)) for flow in found.flows} == {("w3", 4)}


def test_a_topic_that_grows_adds_partitions():
    numbers = planned("sticky", partitions={"orders": 132}).summary
    assert (numbers.added, numbers.moved, numbers.spread_after) == (12, 0, 0)


def test_a_member_can_be_named_by_instance_id_or_client_id():
    state, _ = parse_capture((CAPTURES / "members-4.3.1.txt").read_text())
    for name in ("pod-4", "worker-4"):
        assert {
            m.name for m in planned("range", state, remove_members=(name,)).members if m.after_id is None
        } == {"pod-4"}


def test_a_topic_that_only_old_commits_name_is_not_handed_out():
    state, _ = parse_capture((CAPTURES / "offsets-4.3.1.txt").read_text())
    result = plan(state, "range")
    assert ("legacy" in result.topics) <= (
        "legacy" not in {result.topics[t] for t in result.topic[result.member >= 0]}
    )
    assert "subscriptions are unknown; taken for everybody's: clicks, orders" in result.assumed


@pytest.mark.parametrize(
    ("what_if", "fault"),
    [
        ({"remove_members": ("x",)}, "--remove-member x: the group has no such"),
        ({"partitions": {"pay": 3}}, "--partitions pay=3: the group reads orders"),
        ({"partitions": {"orders": 3}}, "it has 120 already"),
        ({"remove_members": tuple(f"w{m}" for m in range(6))}, "has no members; add some"),
    ],
)
def test_a_what_if_that_cannot_be_is_refused(what_if, fault):
    with pytest.raises(SourceError, match=fault):
        planned("sticky", **what_if)


@pytest.mark.usefixtures("strangers")
@pytest.mark.parametrize(
    ("assignor", "reasons"),
    [
        ("even", {Reason.OVER_QUOTA}),
        # What waited in the first round comes for free in the second; that is not what set it in motion.
        ("even-in-rounds", {Reason.OVER_QUOTA}),
        ("mute", {Reason.NOT_TOLD}),
    ],
)
def test_a_plan_knows_why_it_moves_what_it_moves(assignor, reasons):
    found = planned(assignor, add_members=2)
    assert found.summary.moved == 30
    assert {change.reason for change in found.changes()} == reasons


@pytest.mark.usefixtures("strangers")
def test_a_plan_tells_the_story_of_its_rounds():
    made = plan(SIX, "even-in-rounds", WhatIf(add_members=2))
    assert str(made.explainer.explain(("orders", 19))) == (
        "orders-19 goes to 'new-0', which had too few; 'w0' gave it up, over its share "
        "('new-0' has 15 of a share of 15)"
    )


def test_a_plan_that_nobody_asks_does_not_record(strangers):
    class Slow(MuteAssignor):
        def assign_recorded(self, group, record):
            raise AssertionError

    register_assignor("slow", Slow)
    found = planned("slow", add_members=2)
    assert found.summary.moved == 30
    with pytest.raises(AssertionError):
        next(found.changes())


def test_an_unknown_assignor_is_refused_with_close_names():
    with pytest.raises(UnknownStrategyError, match="cooperative-sticky"):
        planned("coperative-sticky")
