"""Read both sides of a diff from names on the command line; a plan is made from the other side."""

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
"""The word for weights that the group itself tells: the records that wait in each partition."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Both sides of a diff.

    Attributes:
        before: the first.
        after: the second.
        planned: True if one was made from the other, so that equal member ids are equal members.
        kept: the side to keep as a snapshot: the plan, else the live group, else the later one.
        weights: weight of each partition, the lag as numbers; None if nothing gives weights.
        alone: True if both sides are one state, since the source holds no other.
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

    One of the names may be `plan:ASSIGNOR`, which is made from the other side. Without `after` the one source
    may hold both sides: a scenario, a record, two captures of a group, or a KIP-848 group on its way to a
    target; else its one state stands alone.

    Args:
        before: a name as `read_source` takes it, or `plan:ASSIGNOR`.
        after: the same for the other side, or None.
        config: librdkafka settings for `live:GROUP`.
        what_if: changes of the planned group; subscriptions in it count for every source.
        group: which group of a file that holds several.
        weights: of partitions. "lag" is the records that wait: on the side that is not planned, else on the
            later one if it shows them.
        settings: settings of the assignor of the plan.

    Raises:
        SourceError: see `read_source`; also a `what_if` that changes a plan, without a plan.
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
        # A record or scenario is compared with its own end; a target counts only for a single state.
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
            # A coordinator that has a target computes the next one from it, even if members do not own all
            # of it yet.
            start = state if source.target is None else as_complete(source.target)
        except SourceError as error:
            raise SourceError(f"{source_label(name)}: {error}") from error
        # The lag is that of the source: a target has none.
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
    """Return weights as numbers by (topic, partition); "lag" is replaced by the lags of `state`.

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
    """Return the group with the subscriptions that the user states for its members, or unchanged if none."""
    members_of = subscribed_members(state, what_if)
    members = (
        member._replace(topics=members_of.get(number, member.topics))
        for number, member in enumerate(state.members)
    )
    return replace(state, members=tuple(members)) if members_of else state


def _as_it_is(name: str, source: Source) -> GroupState:
    """Return the group as it is now, with an assumption added if it is on its way to another target.

    Without that sentence a report could say that nothing changes while a rebalance is under way.

    Args:
        name: the source's name on the command line, for the sentence.
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
