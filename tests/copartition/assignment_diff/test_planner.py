"""What an assignor would answer for a group."""

from pathlib import Path

import pytest

from assignors import Reason, register_assignor
from assignors.assignment import Assignment
from assignors.state import GroupState, MemberIdentity
from copartition.assignment_diff import WhatIf, diff, plan
from copartition.groups import parse_capture
from partitioning.errors import SourceError, UnknownStrategyError
from tests.copartition.assignment_diff import states
from tests.support.recording import MuteAssignor, strangers

__all__ = ["strangers"]

CAPTURES = Path(__file__).parents[1] / "groups" / "captures"
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
    state, _ = parse_capture((CAPTURES / "members-4.4.0.txt").read_text())
    for name in ("pod-4", "worker-4"):
        assert {
            m.name for m in planned("range", state, remove_members=(name,)).members if m.after_id is None
        } == {"pod-4"}


def test_a_topic_that_only_old_commits_name_is_not_handed_out():
    state, _ = parse_capture((CAPTURES / "offsets-4.4.0.txt").read_text())
    result = plan(state, "range")
    assert ("legacy" in result.topics) <= (
        "legacy" not in {result.topics[t] for t in result.topic[result.member >= 0]}
    )
    assert "subscriptions are unknown; taken for everybody's: clicks, orders" in result.assumed


@pytest.mark.parametrize(
    ("what_if", "fault"),
    [
        ({"remove_members": ("x",)}, "`remove_members` x: the group has no such"),
        ({"partitions": {"pay": 3}}, "`partitions` pay=3: the group reads orders"),
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


def as_range(**more):
    """Two members that have what "range" gives."""
    return states.group("ab", {"a": [("t", 0), ("t", 1)], "b": [("t", 2), ("t", 3)]}, {"t": 4}, **more)


ODD = {"a": [("t", 0), ("t", 2)], "b": [("t", 1), ("t", 3)]}


def test_current_is_the_strategy_that_the_group_uses():
    assert plan(as_range(strategy="roundrobin"), "current").strategy == "roundrobin"


@pytest.mark.parametrize(("protocol", "default"), [(None, "range"), ("consumer", "uniform")])
def test_current_is_the_default_if_no_source_tells(protocol, default):
    planned = plan(as_range(protocol=protocol), "current")
    assert planned.strategy == default
    assert any(f"taken for {default!r}, the default" in text for text in planned.assumed)


@pytest.mark.parametrize("assignor", ["range", "sticky"])
def test_a_group_that_its_own_strategy_would_change_is_said(assignor):
    state = states.group("ab", ODD, {"t": 4}, strategy="range", status="Stable")
    said = plan(state, assignor).warnings[-1]
    assert said.startswith(
        "asked again with nothing changed, 'range' would move 2 partitions: another client"
    )


@pytest.mark.parametrize(
    "state",
    [
        as_range(strategy="range"),
        states.group("ab", ODD, {"t": 4}),
        states.group("ab", ODD, {"t": 4}, strategy="sticky"),
        states.group("ab", ODD, {"t": 4}, strategy="range", status="PreparingRebalance"),
        states.group("ab", {}, {"t": 4}, strategy="range"),
    ],
)
def test_nothing_is_said_where_the_strategy_agrees_or_nobody_knows(state):
    assert plan(state, state.strategy or "range").warnings == ()


def test_a_told_subscription_counts_for_the_groups_own_decision_where_it_was_unknown():
    unknown = [MemberIdentity("a"), MemberIdentity("b")]
    owned = {"a": [("t", 0), ("t", 1)], "b": [("u", 0), ("u", 1)]}
    state = states.group(unknown, owned, {"t": 2, "u": 2}, strategy="range")
    told = WhatIf(subscribe={"a": ("t",), "b": ("u",)})
    assert plan(state, "range", told).warnings == ()
    with pytest.raises(SourceError, match="what they have does not fit one list for all: 'range' would have"):
        plan(state, "range")


@pytest.mark.parametrize(
    ("clients", "strategy", "assumed"),
    [
        (("java",), "sticky", None),
        (("librdkafka",), "cooperative-sticky", None),
        (("librdkafka",), "sticky", "a Java client leads: librdkafka has no 'sticky'"),
        (("aiokafka",), "sticky", None),
        (("kafka-python",), "cooperative-sticky", None),
        (("kafka-python",), "sticky", "the clients are kafka-python's; aiokafka's look the same"),
        (("kafka-python",), "range", None),
        (("aiokafka", "java"), "sticky", "aiokafka decides as Java's 'sticky' does"),
        (("java", "librdkafka"), "cooperative-sticky", "a Java client leads: java or librdkafka may"),
        ((), "cooperative-sticky", "a Java client leads: the source does not tell which client does"),
    ],
)
def test_a_plan_decides_as_the_client_that_leads(clients, strategy, assumed):
    planned = plan(as_range(strategy=strategy, clients=clients), strategy)
    assert [text.startswith(assumed or "") for text in planned.assumed] == [True] * bool(assumed)


def test_another_strategy_than_the_groups_is_said():
    planned = plan(as_range(strategy="range"), "sticky")
    assert planned.warnings == ()
    assert planned.assumed[-1].startswith("the group uses 'range'; all members go over to 'sticky' at once")


def test_an_own_strategy_that_is_not_known_here_is_said():
    assert plan(as_range(strategy="theirs"), "range").warnings[-1] == (
        "nothing is known here of the group's own assignor, 'theirs'"
    )


@pytest.mark.parametrize(
    ("protocol", "assignor", "said"),
    [
        ("classic", "broker-range", ("members keep their ids; to go over to the consumer protocol they",)),
        ("consumer", "range", ("members keep their ids; to go over to the classic protocol they",)),
        ("classic", "range", ()),
        ("consumer", "broker-range", ()),
    ],
)
def test_a_change_of_protocol_is_assumed_to_keep_ids(protocol, assignor, said):
    assumed = plan(as_range(protocol=protocol), assignor).assumed
    assert len(assumed) == len(said)
    assert all(map(str.startswith, assumed, said))


def test_a_plan_knows_its_strategy_and_protocol():
    made = plan(as_range(), "uniform")
    assert (made.strategy, made.protocol, made.status) == ("uniform", "consumer", "planned")


@pytest.mark.parametrize(
    ("assignor", "told"), [("weighted", True), ("cooperative-weighted", True), ("optimal", False)]
)
def test_a_plan_says_that_it_has_no_weights(assignor, told):
    assert any("weighs the same" in text for text in planned(assignor).assumed) is told


@pytest.mark.parametrize("assignor", ["weighted", "cooperative-weighted"])
def test_a_plan_goes_by_its_weights(assignor):
    weights = {"orders": [100] * 6 + [1] * 114}
    made = plan(SIX, assignor, weights=weights)
    heavy = [made.assignment.owner_of(("orders", partition)) for partition in range(6)]
    assert len(set(heavy)) == 6
    assert not any("weighs the same" in text for text in made.assumed)
    assert made.explainer.explain(("orders", 1)).owner == heavy[1]


@pytest.mark.parametrize(("assignor", "told"), [("mute", True), ("range", False)])
def test_a_plan_says_that_a_plug_in_does_not_get_the_weights(strangers, assignor, told):
    made = plan(SIX, assignor, weights={"orders": 1})
    assert any("the weights do not reach mute" in text for text in made.assumed) is told
