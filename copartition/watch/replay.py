"""A record of a group beside the model: who had what after each event, and how long nobody had it."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from assignors.files import read_text
from assignors.group import Topic
from assignors.partition_list import PartitionList
from assignors.registry import check_for_consumers, get_assignor
from copartition.groups.record import read_record
from copartition.simulation import Scenario, simulate
from copartition.simulation.inputs.file import with_settings
from copartition.watch.changes import Kind
from copartition.watch.episodes import episodes, owners_of, see
from partitioning.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import PathLike

    from assignors.state import GroupState
    from copartition.groups.record import Step
    from copartition.simulation import Settings
    from copartition.watch.changes import Change
    from copartition.watch.episodes import Episode, Seen

SEEDS = 20
"""Runs of each event: where in their interval heartbeats fall is not in a record."""


class Differing(NamedTuple):
    """Partitions that another member has than the model says; None stands for nobody."""

    recorded: str | None
    model: str | None
    partitions: PartitionList


class Bounds(NamedTuple):
    """A time in milliseconds, as far as looks tell; `most` is None where it began before the record."""

    least: float
    most: float | None


class Spread(NamedTuple):
    """A time in milliseconds by the model: the shortest, the median and the longest of its runs."""

    least: float
    middle: float
    most: float


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """What happened from one settled state to the next, and what the model says of it.

    Attributes:
        first: number of the step before.
        last: number of the step after.
        causes: who came and went, and what grew; empty where the record does not show it.
        partitions: how many the group has after.
        differing: partitions that others have than the model says.
        recorded: the longest time that the coordinator named no owner of a partition that moved; None where
            none did, or where its beginning is not known.
        predicted: the same by the model; None where the record shows no cause.
    """

    first: int
    last: int
    causes: tuple[Change, ...]
    partitions: int
    differing: tuple[Differing, ...]
    recorded: Bounds | None
    predicted: Spread | None

    @property
    def in_time(self) -> bool | None:
        """Whether a run of the model is within what looks tell; None where there is nothing to compare."""
        if self.recorded is None or self.predicted is None:
            return None
        ends = float("inf") if self.recorded.most is None else self.recorded.most
        return self.recorded.least <= self.predicted.most and self.predicted.least <= ends


@dataclass(frozen=True, slots=True, eq=False)
class Replay:
    """A record beside the model.

    Attributes:
        group: its name, where the record tells.
        assignor: the one that the model ran.
        runs: how many the model had of each event.
        steps: how many the record has.
        seconds: from its first step to its last.
        compared: each event, in the order of time.
        assumed: what the record does not tell, and was taken for granted.
        warnings: what of the record is missing, or was left out.
    """

    group: str | None
    assignor: str
    runs: int
    steps: int
    seconds: float
    compared: tuple[Compared, ...]
    assumed: tuple[str, ...]
    warnings: tuple[str, ...]

    @property
    def agrees(self) -> bool:
        """Whether all that can be compared is as the model says."""
        return not any(each.differing or each.in_time is False for each in self.compared)


def replay_record(
    path: str | PathLike[str],
    assignor: str | None = None,
    changes: Mapping[str, str] | None = None,
    seeds: Sequence[int] = range(SEEDS),
) -> Replay:
    """Put a record beside the model, event by event, each from the state that was recorded before it.

    Args:
        path: the record.
        assignor: what the group is taken to use; None: what the record says.
        changes: settings and costs of the model, see `with_settings`.
        seeds: one for each run of an event.

    Raises:
        SourceError: the file is no whole record, shows no settled group, or tells no assignor.
        ScenarioError: a setting that does not exist, or cannot be.
        UnknownStrategyError: no strategy of that name.
        AssignorError: the strategy cannot assign this group.
    """
    changes = changes or {}
    steps = read_record(path)
    _check_whole(path, steps)
    seen = see(steps)
    settled = [number for number, each in enumerate(seen) if each.settled]
    if not settled:
        raise SourceError(
            f"{path}: no step shows a stable group in which every partition has an owner, so who had what is "
            "not known; a record must begin before the rebalance"
        )
    strategy = _strategy(path, steps, assignor)
    assumed: dict[str, None] = {}
    compared = []
    for episode in episodes(seen):
        planned = episode.planned(strategy) if episode.seen[-1].names else episode.seen[-1].step.state
        assumed |= dict.fromkeys(planned.assumed)
        compared.append(_compare(episode, planned, strategy, changes, seeds))
    settings = with_settings(Scenario((Topic("any", 1),), ()), changes).settings
    told = _assumed(compared, settings, len(seeds), consumer=not get_assignor(strategy).protocols)
    return Replay(
        steps[settled[0]].state.name,
        strategy,
        len(seeds),
        len(steps),
        steps[-1].at - steps[0].at,
        tuple(compared),
        (*told, *assumed),
        tuple(_warnings(path, settled, seen)),
    )


def _check_whole(path: str | PathLike[str], steps: Sequence[Step]) -> None:
    """Raise where lines are missing or in another order, as far as their times tell."""
    if steps[0].since is not None:
        raise SourceError(f"{path}: line 1 has a time `since`, so the record's beginning is missing")
    for number, step in enumerate(steps[1:], 2):
        before = steps[number - 2]
        if step.since is None:
            raise SourceError(f"{path}: another record begins in line {number}; give each a file of its own")
        if step.at < before.at or (before.since is not None and step.since < before.since):
            raise SourceError(
                f"{path}: line {number} is earlier than the line above; its lines are out of order, or of "
                "several records"
            )


def _strategy(path: str | PathLike[str], steps: Sequence[Step], given: str | None) -> str:
    told = {step.state.strategy for step in steps if step.state.strategy is not None}
    if given is None and len(told) != 1:
        what = f"tells of {' and '.join(sorted(told))}" if told else "does not tell the group's assignor"
        raise SourceError(f"{path}: the record {what}; name the one to replay it with, --assignor range")
    strategy = given or told.pop()
    check_for_consumers([strategy], SourceError)
    get_assignor(strategy)
    return strategy


def _warnings(path: str | PathLike[str], settled: Sequence[int], seen: Sequence[Seen]) -> list[str]:
    found = []
    if not read_text(path).endswith("\n"):
        found.append("the last line is cut, and left out")
    if settled[0]:
        found.append(f"not replayed up to #{settled[0]}: who had what before is not known")
    if settled[-1] != len(seen) - 1:
        found.append(f"not replayed from #{settled[-1]} on: the record ends before the group settled")
    return found


def _compare(
    episode: Episode, planned: GroupState, strategy: str, changes: Mapping[str, str], seeds: Sequence[int]
) -> Compared:
    after = episode.seen[-1]
    name_of = dict(zip((member.id for member in after.step.state.members), after.names, strict=True))
    model = owners_of(planned, [name_of[member.id] for member in planned.members])
    recorded = after.owners
    apart: dict[tuple[str | None, str | None], list[tuple[str, int]]] = {}
    for partition in sorted(recorded):
        pair = (recorded[partition], model.get(partition))
        if pair[0] != pair[1]:
            apart.setdefault(pair, []).append(partition)
    predicted = None
    if episode.causes:
        scenarios = (with_settings(episode.scenario(strategy, seed), changes) for seed in seeds)
        runs = [episode.unnamed_ms(simulate(scenario)) for scenario in scenarios]
        predicted = Spread(min(runs), median(runs), max(runs))
    return Compared(
        episode.first,
        episode.last,
        episode.causes,
        len(recorded),
        tuple(Differing(*pair, PartitionList.of(some)) for pair, some in apart.items()),
        _bounds(episode),
        predicted,
    )


def _bounds(episode: Episode) -> Bounds | None:
    """The longest time without an owner; of new partitions nobody knows since when they are there."""
    moved = [
        each
        for each in episode.changes
        if each.kind is Kind.MOVED and each.source is not None and each.target is not None
    ]
    if not moved:
        return None
    most = [1000 * each.most_s for each in moved if each.most_s is not None]
    return Bounds(
        1000 * max(each.least_s or 0 for each in moved), max(most) if len(most) == len(moved) else None
    )


def _assumed(compared: Sequence[Compared], settings: Settings, runs: int, *, consumer: bool) -> list[str]:
    """What no record tells."""
    kinds = {cause.kind for each in compared for cause in each.causes}
    prefix, beat, session = "", settings.heartbeat_interval_ms, settings.session_timeout_ms
    if consumer:  # the broker decides (KIP-848)
        prefix, beat = "group.consumer.", settings.group_consumer_heartbeat_interval_ms
        session = settings.group_consumer_session_timeout_ms
    timing = f"{prefix}heartbeat.interval.ms={beat:g}, {prefix}session.timeout.ms={session:g} (--set)"
    found = [
        f"clients are Java's, {timing}",
        f"events came at any time between two looks, which is drawn for each of {runs} runs",
        "before the record the group was quiet for about an hour",
    ]
    if Kind.LEFT in kinds:
        found.append(
            "members that left have closed; if one was killed, nobody read its partitions for up to "
            f"{session / 1000:g} s before, while the coordinator named it"
        )
    if Kind.RESTARTED in kinds:
        found.append("members with a new id were away for half of the time between two looks")
    if Kind.GREW in kinds:
        found.append(
            "a topic grew when a look showed it; the model's leader sees it within metadata.max.age.ms"
        )
    return found
