"""Read one side of a diff, or both, from the names on the command line."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from assignors.files import read_text
from assignors.state import GroupState, MemberIdentity
from assignors.weighted.weights import GivenWeights
from copartition.assignment_diff.compare import diff
from copartition.assignment_diff.planned_members import WhatIf, subscribed_members
from copartition.assignment_diff.planner import as_complete, plan
from copartition.groups.capture import check_head, is_status, parse_capture
from copartition.groups.live import read_live
from copartition.groups.snapshot import SUFFIX, parse_snapshot, read_record
from copartition.simulation import Consumer, Scenario, SimulationResult, simulate
from partitioning.errors import SourceError
from partitioning.kit.limits import parse_number
from partitioning.topic_partition import MAX_PARTITIONS


def step_state(result: SimulationResult, step: int) -> GroupState:
    """Return the group after a rebalance of the run; step 0 is the first assignment, -1 the last.

    Raises:
        SourceError: the run has no such step.
    """
    steps = result.steps
    name = result.scenario.name
    if not -len(steps) <= step < len(steps):
        raise SourceError(f"{name}#{step}: the run has {len(steps)} steps, 0 to {len(steps) - 1}")
    rebalance = steps[step]
    assigned = GroupState.of(rebalance.assignment)
    members = []
    for member in assigned.members:
        consumer = rebalance.consumers[member.id]
        # A static consumer of a scenario has its name as instance id.
        instance_id = consumer.name if consumer.static else None
        topics = _read_by(consumer, result.scenario, assigned)
        members.append(MemberIdentity(member.id, instance_id, consumer.name, topics=topics))
    return replace(assigned, members=tuple(members), name=name, status=f"generation {rebalance.generation}")


def _read_by(consumer: Consumer, scenario: Scenario, now: GroupState) -> tuple[str, ...]:
    """Return the topics that a simulated consumer reads.

    For a pattern those are the topics that exist now and match it, as Kafka resolves patterns against the
    metadata of the moment.
    """
    if consumer.pattern is not None:
        return tuple(name for name in now.topics if re.fullmatch(consumer.pattern, name))
    if consumer.topics is not None:
        return consumer.topics
    return tuple(topic.name for topic in scenario.topics)


LAG = "lag"
"""The word for weights that the group itself tells: the records that wait in each partition."""

_SCENARIOS = {".yaml", ".yml", ".toml"}


@dataclass(frozen=True, slots=True)
class Source:
    """A group that was read, with everything that its source tells beyond one state.

    Attributes:
        state: the group.
        target: the state that the group is on its way to, if it has targets (KIP-848).
        last: the last step, if the source is a whole scenario or a whole record.
        live: True if it was read from a cluster.
    """

    state: GroupState
    target: GroupState | None = None
    last: GroupState | None = None
    live: bool = False


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


def read_source(name: str, config: Mapping[str, str] | None = None, *, group: str | None = None) -> Source:
    """Return the group that a source names.

    Args:
        name: a path (a snapshot, a capture, or a scenario or record, which stand for their first step), "-"
            for standard input, `live:GROUP`, `scenario.yaml#STEP`, or `record.ndjson#STEP`.
        config: librdkafka settings for `live:GROUP`.
        group: which group of a file that holds several.

    Raises:
        SourceError: it cannot be read; the message names the source and what to do.
        ScenarioError: it is a scenario that cannot be run.
    """
    kind, colon, rest = name.partition(":")
    if colon and kind == "live":
        return Source(*read_live(rest, config or {}), live=True)
    if colon and kind == "plan":
        raise SourceError(f"{name} plans from the other side; name a group for that side")
    path, hash_, step = name.rpartition("#")
    # "#" may be part of any file's name, so it begins a step only after a suffix that has steps.
    if hash_ and Path(path).suffix.lower() in {*_SCENARIOS, ".json"}:
        number = _step_number(path, step)
        return Source(step_state(simulate(Scenario.from_file(path)), number))
    if hash_ and Path(path).suffix.lower() == SUFFIX:
        return _record_step(path, step)
    if Path(name).suffix.lower() == SUFFIX:
        steps = read_record(name)
        return Source(steps[0].state, steps[0].target, last=steps[-1].state)
    return _file(name, group)


def read_pair(
    before: str,
    after: str | None = None,
    *,
    config: Mapping[str, str] | None = None,
    what_if: WhatIf | None = None,
    group: str | None = None,
    weights: GivenWeights | None = None,
) -> Pair:
    """Return both sides of a diff.

    One of the names may be `plan:ASSIGNOR`, which is made from the other side. Without `after` the one source
    may hold both sides: a scenario, a record, or a KIP-848 group on its way to a target; else its one state
    stands alone.

    Args:
        before: a name as `read_source` takes it, or `plan:ASSIGNOR`.
        after: the same for the other side, or None.
        config: librdkafka settings for `live:GROUP`.
        what_if: changes of the planned group; subscriptions in it count for every source.
        group: which group of a file that holds several.
        weights: of partitions. "lag" is the records that wait: on the side that is not planned, else on the
            later one if it shows them.

    Raises:
        SourceError: see `read_source`; also a `what_if` that changes a plan, without a plan.
        ScenarioError: a scenario cannot be run.
    """
    planning = [name for name in (before, after) if name is not None and name.startswith("plan:")]
    what_if = what_if or WhatIf()
    if replace(what_if, subscribe={}) and not planning:
        raise SourceError("--add-members, --grow and the like change a plan; add plan:ASSIGNOR")
    if after is None:
        only = read_source(before, config, group=group)
        # A record or scenario is compared with its own end; a target counts only for a single state.
        later = only.target if only.last is None and _on_its_way(only) else only.last
        if later is None:
            state = _subscribed(as_complete(only.state), what_if)
            weigh = given_weights(weights, state)
            return Pair(state, state, planned=True, kept=only, weights=weigh, alone=True)
        sides = _subscribed(only.state, what_if), _subscribed(later, what_if)
        return Pair(*sides, planned=False, kept=only, weights=given_weights(weights, later))
    if planning:
        name = before if after == planning[-1] else after
        source = read_source(name, config, group=group)
        try:
            state = as_complete(source.state)
            # A coordinator that has a target makes the next one of that, whatever the members have got of it.
            start = state if source.target is None else as_complete(source.target)
        except SourceError as error:
            raise SourceError(f"{_source_label(name)}: {error}") from error
        # The lag is that of the source: a target has none.
        weigh = given_weights(weights, source.state)
        planned = plan(start, planning[-1].removeprefix("plan:"), what_if, weights=weigh)
        sides = (state, planned) if after == planning[-1] else (planned, state)
        return Pair(*sides, planned=True, kept=Source(planned), weights=weigh)
    old, new = read_source(before, config, group=group), read_source(after, config, group=group)
    return Pair(
        _subscribed(_as_it_is(before, old), what_if),
        _subscribed(_as_it_is(after, new), what_if),
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
        raise SourceError("--weights lag: the source shows no lag; capture --describe with its offsets")
    # A commit beyond the end gives a lag below 0; nothing waits there, and weights are never negative.
    return {place: max(lag, 0) for place, lag in lags.items()}


def _subscribed(state: GroupState, what_if: WhatIf) -> GroupState:
    """Return the group with the subscriptions that the user states for its members; else the group itself."""
    members_of = subscribed_members(state, what_if)
    members = (
        member._replace(topics=members_of.get(number, member.topics))
        for number, member in enumerate(state.members)
    )
    return replace(state, members=tuple(members)) if members_of else state


def _as_it_is(name: str, source: Source) -> GroupState:
    """Return the group as it is now; if it is about to change, the state says so among its assumptions.

    Without that sentence a report would say that nothing changes while a rebalance is under way.
    """
    differing = _on_its_way(source)
    if not differing:
        return source.state
    warning = f"{_source_label(name)} is on its way to a target that differs in {differing:,} partitions"
    return replace(source.state, assumed=(*source.state.assumed, f"{warning}; taken as it is now"))


def _on_its_way(source: Source) -> int:
    """Return the number of partitions in which the group's target differs from its present owners."""
    if source.target is None:
        return 0
    return int(np.count_nonzero(diff(source.state, source.target, match="member-id").action))


def _file(name: str, group: str | None) -> Source:
    """Return the group of a file, or of standard input for "-".

    The kind of the file shows in its content; only a scenario is known by the suffix of its name.
    """
    try:
        text = read_text(None if name == "-" else name, check_head=check_head)
    except FileNotFoundError:
        raise SourceError(
            f"{name}: no such file; a source is a file, '-', live:GROUP, plan:ASSIGNOR, scenario.yaml#STEP "
            "or record.ndjson#STEP"
        ) from None
    except OSError as error:
        raise SourceError(f"{name}: {error.strerror}") from error
    except SourceError as error:
        raise SourceError(f"{_source_label(name)}: {error}") from error
    # A snapshot may have any suffix, even .json, which scenarios have, too. Its tag tells the two apart.
    snapshot = '"group-snapshot"' in text
    if Path(name).suffix.lower() in {*_SCENARIOS, ".json"} and not (snapshot or is_status(text)):
        result = simulate(Scenario.from_file(name))
        return Source(step_state(result, 0), last=step_state(result, -1))
    try:
        if snapshot or (text.lstrip().startswith("{") and not is_status(text)):
            return _one_group(Source(*parse_snapshot(text)), group)
        return Source(*parse_capture(text, group))
    except SourceError as error:
        raise SourceError(f"{_source_label(name)}: {error}") from error


def _one_group(source: Source, group: str | None) -> Source:
    """Return the source if its group is the one that the user asked for, or if it has no name."""
    name = source.state.name
    # A snapshot without a name may be of any group.
    if group is not None and name not in {None, group}:
        raise SourceError(f"the snapshot holds the group {name!r}, not {group!r}")
    return source


def _source_label(name: str) -> str:
    """Return the name of a source as an error says it."""
    return "standard input" if name == "-" else name


def _record_step(path: str, step: str) -> Source:
    """Return a step of a record; 0 is the first step, -1 the last."""
    number = _step_number(path, step)
    steps = read_record(path)
    if not -len(steps) <= number < len(steps):
        raise SourceError(f"{path}#{step}: the record has {len(steps)} steps, 0 to {len(steps) - 1}")
    return Source(steps[number].state, steps[number].target)


def _step_number(path: str, step: str) -> int:
    """Return the number of a step, which is below 0 if it counts from the end.

    Raises:
        SourceError: the text after "#" is not a number.
    """
    number = parse_number(step.removeprefix("-"), MAX_PARTITIONS)
    if number is None:
        raise SourceError(f"{path}#{step}: a step is a number, 0 the first and -1 the last")
    return -number if step.startswith("-") else number
