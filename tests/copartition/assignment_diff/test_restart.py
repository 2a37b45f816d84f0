"""A rolling restart."""

from dataclasses import replace

import pytest

from assignors import Group, Member, Topic, get_assignor
from assignors.state import GroupState, MemberIdentity
from copartition.assignment_diff import WhatIf, diff, plan
from partitioning.errors import SourceError
from tests.copartition.assignment_diff.states import group, lists

ROLLING = WhatIf(deploy="rolling")


def members(*names, static=False):
    return [MemberIdentity(f"{name}-0123", name if static else None, name, topics=("t",)) for name in names]


def owned(identities, *lists_):
    return {
        identity.id: [("t", p) for p in list_] for identity, list_ in zip(identities, lists_, strict=True)
    }


def test_nobody_sees_static_members_restart():
    identities = members("a", "b", static=True)
    state = group(identities, owned(identities, [0, 2], [1, 3]), {"t": 4})
    planned = plan(state, "roundrobin", ROLLING)
    assert diff(state, planned, match="member-id").same
    assert (planned.warnings, planned.assumed) == ((), ())


def test_range_ends_where_it_began_and_tells_what_moved_on_the_way():
    identities = members("a", "b")
    state = group(identities, owned(identities, [0, 1], [2, 3]), {"t": 4})
    planned = plan(state, "range", ROLLING)
    assert diff(state, planned, match="member-id").same
    [way] = planned.warnings
    assert way == (
        "each member is gone before it is back; on the way partitions are handed over 8 times in 4 "
        "rebalances, 2 at most in one"
    )
    assert planned.explainer is None


def consumption_of(assignor, identities, *lists_):
    state = group(identities, owned(identities, *lists_), {"t": 4})
    [stops] = diff(state, plan(state, assignor, ROLLING), match="member-id").stops
    return stops


def test_a_restart_under_range_stops_everything_in_every_rebalance():
    stops = consumption_of("range", members("a", "b", "c"), [0, 1], [2], [3])
    assert stops.protocol == "eager"
    assert (stops.rebalances.least, stops.stopped_at_once.least, stops.all_stopped.least) == (6, 4, 6)
    assert stops.longest_pause_ms.least > 0
    assert stops.partition_seconds.least > 0


def test_a_cooperative_restart_stops_less_and_never_everything():
    stops = consumption_of("cooperative-sticky", members("a", "b"), [0, 1], [2, 3])
    eager = consumption_of("sticky", members("a", "b"), [0, 1], [2, 3])
    assert (stops.protocol, stops.stopped_at_once.most, stops.all_stopped.most) == ("cooperative", 2, 0)
    assert stops.rebalances.least > eager.rebalances.most == 4
    assert stops.stopped_at_once.most < eager.stopped_at_once.least == 4


def test_what_a_static_member_has_waits_while_it_is_down():
    stops = consumption_of("range", members("a", "b", static=True), [0, 1], [2, 3])
    assert (stops.rebalances.most, stops.static_restarts, stops.stopped_at_once.most) == (0, 2, 2)
    assert (stops.all_stopped.most, stops.partition_seconds.most) == (0, 4 * 10.0)


def test_a_surge_hands_over_what_it_needs_and_never_stops_what_nobody_reads():
    identities = members("a", "b")
    state = group(identities, owned(identities, [0, 1], [2, 3]), {"t": 4})
    surge = plan(state, "cooperative-sticky", WhatIf(deploy="surge"))
    rolling = plan(state, "cooperative-sticky", ROLLING)
    assert surge.warnings[0].startswith(
        "each member joins before the one that it replaces leaves; on the way"
    )
    assert (surge.deploy, rolling.deploy) == ("surge", "rolling")
    (while_surging,), (while_rolling,) = (
        diff(state, planned, match="member-id").stops for planned in (surge, rolling)
    )
    assert while_surging.partition_seconds != while_rolling.partition_seconds


def test_another_strategy_costs_rolling_bounces_under_the_own_one():
    identities = members("a", "b", "c")
    state = group(identities, owned(identities, [0, 1], [2], [3]), {"t": 4})
    planned = plan(replace(state, strategy="range", protocol="classic"), "cooperative-sticky")
    [stops] = diff(replace(state, strategy="range"), planned, match="member-id").stops
    assert (stops.happens, stops.protocol, stops.protocol_after) == (
        "2 rolling bounces to cooperative-sticky",
        "eager",
        "cooperative",
    )
    assert stops.rebalances.least >= 12


def test_a_plan_that_changes_nothing_stops_nothing():
    state = group(members("a", "b"), owned(members("a", "b"), [0, 1], [2, 3]), {"t": 4})
    assert diff(state, plan(state, "range"), match="member-id").stops == ()


def test_sticky_ends_where_one_restart_after_the_other_ends():
    identities = members("a", "b", "c")
    topics = [Topic("t", 7)]
    leader = get_assignor("sticky")
    round_ = Group(topics, [Member(identity.id, ("t",)) for identity in identities])
    answer = leader.assign(round_)
    state = replace(GroupState.of(answer), members=tuple(identities))
    for identity in identities:
        round_ = round_.next(answer, leave=[identity.id])
        answer = leader.assign(round_)
        round_ = round_.next(answer, join=[Member(f"{identity.client_id}-?", ("t",))])
        answer = leader.assign(round_)
    real = {name: sorted(f"t-{p}" for _, p in answer[f"{name}-?"]) for name in "abc"}
    planned = plan(state, "sticky", ROLLING)
    assert lists(planned) == real
    [assumed] = planned.assumed
    assert assumed.startswith("the new member ids of a, b, c are not known, and 'sticky' depends on them")


def test_a_member_alone_comes_back_to_everything():
    identities = members("a")
    planned = plan(group(identities, owned(identities, [0, 1]), {"t": 2}), "cooperative-sticky", ROLLING)
    assert lists(planned) == {"a": ["t-0", "t-1"]}


def test_ids_after_the_restart_are_assumed_where_they_decide():
    identities = [MemberIdentity(f"w-{n}", None, "w", topics=("t",)) for n in range(3)]
    [assumed] = plan(group(identities, {}, {"t": 4}), "range", ROLLING).assumed
    assert assumed.startswith("the new member ids of w, w, w are not known")


def test_who_joins_is_not_restarted():
    identities = members("a", static=True)
    state = group(identities, owned(identities, [0, 1]), {"t": 2})
    planned = plan(state, "range", WhatIf(add_members=1, deploy="rolling"))
    assert planned.warnings == ()


def test_more_than_can_be_gone_through_is_refused():
    identities = members(*(f"m{n}" for n in range(300)))
    with pytest.raises(SourceError, match="300 members without an instance id and 60000 partitions are too"):
        plan(group(identities, {}, {"t": 60_000}), "range", ROLLING)
