"""Read the two sides of a diff, which are named on the command line, and compute a side that is a plan."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from assignors.state import GroupState
from assignors.weighted.weights import GivenWeights
from copartition.assignment_diff.compare import diff
from copartition.assignment_diff.planner import plan
from copartition.groups.planned_members import WhatIf, as_complete, subscribed_members
from copartition.groups.source import Source, read_source, source_label
from partitioning.errors import SourceError

LAG = "lag"
"""The value of `weights` by which the weight of each partition is its lag, as the group's source shows it."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Both sides of a diff.

    Attributes:
        before: the group before the change.
        after: the group after the change.
        planned: True if one side was computed from the other, so that members with the same id are the same
            member.
        kept: the source to save as a snapshot: the plan; without a plan the live group; else the side after.
        weights: the weights of partitions, with the lag in place of "lag"; None if the user gave none.
        alone: True if both sides are the same state, because the source holds only one.
    """

    before: GroupState
    after: GroupState
    planned: bool
    kept: Source
    weights: GivenWeights | None = None
    alone: bool = False


def read_pair(
    before: str,
    after: str | None = None,
    *,
    config: Mapping[str, str] | None = None,
    what_if: WhatIf | None = None,
    group: str | None = None,
    weights: GivenWeights | None = None,
    settings: Mapping[str, object] | None = None,
) -> Pair:
    """Return both sides of a diff.

    One of the names may be `plan:ASSIGNOR`: that side is computed from the other one. If `after` is None,
    both sides are read from `before`: the first and the last state of a scenario, a record or several
    captures of a group; or the present owners and the target of a KIP-848 group that is on its way to a
    target. A source with a single state is returned as both sides.

    Args:
        before: a name that `read_source` takes, or `plan:ASSIGNOR`.
        after: the same for the side after, or None.
        config: librdkafka settings for `live:GROUP`.
        what_if: the change to the group of a plan. Its `subscribe` also applies to sides that are not a plan.
        group: the name of the group to read, for a file that holds several groups.
        weights: the weights of partitions. "lag" stands for the lag of each partition, which is read from the
            side that is not a plan. Without a plan it is read from the side after, or from the side before if
            the side after shows no lag.
        settings: settings of the plan's assignor.

    Raises:
        SourceError: see `read_source`. Also, `settings` or changes in `what_if` need a plan, and no side is
            one; or "lag" is asked for, and the source shows no lag.
        ScenarioError: a scenario cannot be run.
    """
    planning = [name for name in (before, after) if name is not None and name.startswith("plan:")]
    what_if = what_if or WhatIf()
    if replace(what_if, subscribe={}) and not planning:
        raise SourceError("`add_members`, `partitions` and the like change a plan; add plan:ASSIGNOR")
    if settings and not planning:
        raise SourceError("`settings` are of the assignor of a plan; add plan:ASSIGNOR")
    if after is None:
        only = read_source(before, config, group=group, several=True)
        # If the source has several states, its last one is the side after. A target is the side after only if
        # the source has a single state.
        later = only.target if only.last is None and _on_its_way(only) else only.last
        if later is None:
            state = _with_subscriptions(as_complete(only.state), what_if)
            weigh = given_weights(weights, state)
            return Pair(state, state, planned=True, kept=only, weights=weigh, alone=True)
        sides = _with_subscriptions(only.state, what_if), _with_subscriptions(later, what_if)
        return Pair(*sides, planned=False, kept=only, weights=given_weights(weights, later))
    if planning:
        name = before if after == planning[-1] else after
        source = read_source(name, config, group=group)
        try:
            state = as_complete(source.state)
            # A coordinator that has a target assignment computes the next one from this target, even if
            # members do not own all of its partitions yet.
            start = state if source.target is None else as_complete(source.target)
        except SourceError as error:
            raise SourceError(f"{source_label(name)}: {error}") from error
        # The lag is read from the present state of the group, because a target has none.
        weigh = given_weights(weights, source.state)
        assignor = planning[-1].removeprefix("plan:")
        planned = plan(start, assignor, what_if, weights=weigh, settings=settings)
        sides = (state, planned) if after == planning[-1] else (planned, state)
        return Pair(*sides, planned=True, kept=Source(planned), weights=weigh)
    old, new = read_source(before, config, group=group), read_source(after, config, group=group)
    return Pair(
        _with_subscriptions(_as_it_is(before, old), what_if),
        _with_subscriptions(_as_it_is(after, new), what_if),
        planned=False,
        kept=old if old.live and not new.live else new,
        weights=given_weights(weights, old.state if new.state.lag is None else new.state),
    )


def given_weights(weights: GivenWeights | None, state: GroupState) -> GivenWeights | None:
    """Return the weights, with "lag" replaced by the lag of each (topic, partition) of `state`.

    Other weights are returned as they are.

    Raises:
        SourceError: the weights are "lag", and the source shows no lag.
    """
    if weights != LAG:
        return weights
    lags = state.lag_by_place
    if not lags:
        raise SourceError("`weights` lag: the source shows no lag; capture --describe with its offsets")
    # A commit beyond the end gives a lag below 0; nothing waits there, and weights are never negative.
    return {place: max(lag, 0) for place, lag in lags.items()}


def _with_subscriptions(state: GroupState, what_if: WhatIf) -> GroupState:
    """Return the group with the subscriptions that the user states for its members; unchanged without any."""
    members_of = subscribed_members(state, what_if)
    members = (
        member._replace(topics=members_of.get(number, member.topics))
        for number, member in enumerate(state.members)
    )
    return replace(state, members=tuple(members)) if members_of else state


def _as_it_is(name: str, source: Source) -> GroupState:
    """Return the group as it is now, with an assumption added if it is on its way to another target.

    Without this assumption a report could say that nothing changes while a rebalance is under way.

    Args:
        name: the source's name on the command line, which the assumption mentions.
        source: the group, with its target if it has one.
    """
    differing = _on_its_way(source)
    if not differing:
        return source.state
    warning = f"{source_label(name)} is on its way to a target that differs in {differing:,} partitions"
    return replace(source.state, assumed=(*source.state.assumed, f"{warning}; taken as it is now"))


def _on_its_way(source: Source) -> int:
    """Return the number of partitions in which the group's target differs from its present owners."""
    if source.target is None:
        return 0
    return int(np.count_nonzero(diff(source.state, source.target, match="member-id").action))
