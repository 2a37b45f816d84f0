"""Compare a record of a group with simulations: the owners after each event, and the time without an owner.

Steps are numbered from 0 on. Names that end with `_ms` are milliseconds; all other times are seconds since
1970. "The model" is the simulation.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from statistics import median
from typing import NamedTuple

from assignors.files import read_text
from assignors.group import Topic
from assignors.partition_list import PartitionList
from assignors.registry import check_for_consumers, get_assignor
from assignors.state import GroupState
from copartition.groups.snapshot import RecordStep, read_record
from copartition.simulate_scenarios.episodes import (
    DurationBounds,
    Episode,
    NamedStep,
    episodes,
    recorded_bounds,
    see,
    state_owners,
)
from copartition.simulation import (
    Scenario,
    Settings,
    simulate,
)
from copartition.simulation.inputs.file import with_settings
from copartition.watch.changes import ChangeKind, GroupChange
from partitioning.errors import SourceError

SEEDS = 20
"""Number of runs of each episode; there are several, because a record does not show when heartbeats came."""


class Differing(NamedTuple):
    """Holds partitions whose recorded owner differs from that of the model; None means no owner."""

    recorded: str | None
    model: str | None
    partitions: PartitionList


class TimeRange(NamedTuple):
    """Holds a length of time in ms in the model: the shortest, the median and the longest of its runs."""

    least: float
    middle: float
    most: float


@dataclass(frozen=True, slots=True, eq=False)
class EpisodeComparison:
    """Holds an episode compared with the model.

    Attributes:
        first: number of the step at its beginning.
        last: number of the step at its end.
        causes: the changes that made the group rebalance; empty if the record shows none.
        partitions: number of partitions of the group at the end.
        differing: the partitions whose owner differs from that of the model.
        recorded: bounds of the longest time for which a moved partition had no owner; None if none moved.
        predicted: the same time in the model's runs; None if the record shows no cause.
    """

    first: int
    last: int
    causes: tuple[GroupChange, ...]
    partitions: int
    differing: tuple[Differing, ...]
    recorded: DurationBounds | None
    predicted: TimeRange | None

    @property
    def in_time(self) -> bool | None:
        """True if the model's range overlaps the recorded bounds; None if one of the two is not known."""
        if self.recorded is None or self.predicted is None:
            return None
        ends = float("inf") if self.recorded.most is None else self.recorded.most
        return self.recorded.least <= self.predicted.most and self.predicted.least <= ends


@dataclass(frozen=True, slots=True, eq=False)
class Replay:
    """Holds a record compared with the model.

    Attributes:
        group: name of the group; None if the record does not show it.
        assignor: the strategy of the model.
        runs: number of runs of the model for each episode.
        steps: number of steps of the record.
        seconds: the time from the record's first to its last step, in seconds.
        compared: the episodes, in the order of time.
        assumed: the assumptions about facts that the record does not show, as sentences.
        warnings: sentences on parts of the record that are missing, or were left out.
    """

    group: str | None
    assignor: str
    runs: int
    steps: int
    seconds: float
    compared: tuple[EpisodeComparison, ...]
    assumed: tuple[str, ...]
    warnings: tuple[str, ...]

    @property
    def agrees(self) -> bool:
        """True if everything that can be compared agrees with the model."""
        return not any(change.differing or change.in_time is False for change in self.compared)


def replay_record(
    path: str | PathLike[str],
    assignor: str | None = None,
    changes: Mapping[str, str] | None = None,
    seeds: Sequence[int] = range(SEEDS),
) -> Replay:
    """Compare a record with the model, episode by episode, each from the state that was recorded before it.

    Args:
        path: the record.
        assignor: the assignor that the group is assumed to use; None for the assignor in the record.
        changes: settings and costs of the model, see `with_settings`.
        seeds: the seeds; each episode is simulated once with each of them.

    Raises:
        SourceError: the file is no complete record, shows no settled group, or names no assignor.
        ScenarioError: a setting does not exist, or is impossible.
        AssignorError: the strategy cannot assign this group.
    """
    changes = changes or {}
    steps = read_record(path)
    _check_whole(path, steps)
    named_steps = see(steps)
    settled = [number for number, step in enumerate(named_steps) if step.settled]
    if not settled:
        raise SourceError(
            f"{path}: no step shows a stable group in which every partition has an owner, so the owners "
            "are unknown; a record must begin before the rebalance"
        )
    strategy = _strategy(path, steps, assignor)
    assumed: dict[str, None] = {}
    compared = []
    for episode in episodes(named_steps):
        # In a group without members nothing can be assigned, so the recorded state itself is compared.
        planned = episode.plan_members(strategy) if episode.steps[-1].names else episode.steps[-1].step.state
        assumed |= dict.fromkeys(planned.assumed)
        compared.append(_compare(episode, planned, strategy, changes, seeds))
    settings = with_settings(Scenario((Topic("any", 1),), ()), changes).settings
    # A strategy without rebalance protocols is a strategy of the broker (KIP-848).
    from_looks = _assumptions(compared, settings, len(seeds), consumer=not get_assignor(strategy).protocols)
    return Replay(
        steps[settled[0]].state.name,
        strategy,
        len(seeds),
        len(steps),
        steps[-1].at - steps[0].at,
        tuple(compared),
        (*from_looks, *assumed),
        tuple(_warnings(path, settled, named_steps)),
    )


def _check_whole(path: str | PathLike[str], steps: Sequence[RecordStep]) -> None:
    """Raise `SourceError` if the times of a record show that lines are missing or out of order.

    Without this check, events that never happened would be compared with the model if a record lacks its
    beginning, or if a file has two records.
    """
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


def _strategy(path: str | PathLike[str], steps: Sequence[RecordStep], assignor: str | None) -> str:
    """Return the strategy to replay with: `assignor` if it is given, else the only one in the record.

    Raises:
        SourceError: the record names none or several, or the strategy is not one of consumers.
        AssignorError: there is no such strategy.
    """
    strategies = {step.state.strategy for step in steps if step.state.strategy is not None}
    if assignor is None and len(strategies) != 1:
        what = (
            f"tells of {' and '.join(sorted(strategies))}"
            if strategies
            else "does not tell the group's assignor"
        )
        raise SourceError(f"{path}: the record {what}; name the one to replay it with, `assignor` range")
    strategy = assignor or strategies.pop()
    check_for_consumers([strategy], SourceError)
    get_assignor(strategy)
    return strategy


def _warnings(path: str | PathLike[str], settled: Sequence[int], steps: Sequence[NamedStep]) -> list[str]:
    """Return sentences on the parts of the record that are missing, or were left out."""
    warnings = []
    if not read_text(path).endswith("\n"):
        warnings.append("the last line is cut, and left out")
    if settled[0]:
        warnings.append(f"not replayed up to #{settled[0]}: who had what before is not known")
    if settled[-1] != len(steps) - 1:
        warnings.append(f"not replayed from #{settled[-1]} on: the record ends before the group settled")
    return warnings


def _compare(
    episode: Episode, planned: GroupState, strategy: str, changes: Mapping[str, str], seeds: Sequence[int]
) -> EpisodeComparison:
    """Compare an episode with the model: owners with `plan_members`, times with one run for each seed.

    Args:
        episode: the episode.
        planned: the assignment that the strategy makes.
        strategy: the strategy of the runs.
        changes: settings and costs of the model.
        seeds: the seed of each run.
    """
    after = episode.steps[-1]
    name_of = dict(zip((member.id for member in after.step.state.members), after.names, strict=True))
    model = state_owners(planned, [name_of[member.id] for member in planned.members])
    recorded = after.owners
    apart: dict[tuple[str | None, str | None], list[tuple[str, int]]] = {}
    for partition in sorted(recorded):
        pair = (recorded[partition], model.get(partition))
        if pair[0] != pair[1]:
            apart.setdefault(pair, []).append(partition)
    predicted = None
    # Without a cause there is nothing to simulate, so only the owners are compared.
    if episode.causes:
        scenarios = (with_settings(episode.scenario(strategy, seed), changes) for seed in seeds)
        runs = [episode.unnamed_ms(simulate(scenario)) for scenario in scenarios]
        predicted = TimeRange(min(runs), median(runs), max(runs))
    return EpisodeComparison(
        episode.first,
        episode.last,
        episode.causes,
        len(recorded),
        tuple(Differing(*pair, PartitionList.of(some)) for pair, some in apart.items()),
        recorded_bounds(episode),
        predicted,
    )


def _assumptions(
    compared: Sequence[EpisodeComparison], settings: Settings, runs: int, *, consumer: bool
) -> list[str]:
    """Return the assumptions about facts that no record shows, for the kinds of causes that occurred.

    Args:
        compared: the episodes.
        settings: settings of the model.
        runs: the number of runs of each episode.
        consumer: True for the protocol of KIP-848, whose timeouts the broker decides.
    """
    kinds = {cause.kind for change in compared for cause in change.causes}
    prefix, beat, session = "", settings.heartbeat_interval_ms, settings.session_timeout_ms
    if consumer:  # in a group of the consumer protocol the broker decides (KIP-848)
        prefix, beat = "group.consumer.", settings.group_consumer_heartbeat_interval_ms
        session = settings.group_consumer_session_timeout_ms
    timing = f"{prefix}heartbeat.interval.ms={beat:g}, {prefix}session.timeout.ms={session:g} (--set)"
    assumed = [
        f"clients are Java's, {timing}",
        f"events came at any time between two looks, which is drawn for each of {runs} runs",
        "before the record the group was quiet for about an hour",
    ]
    if ChangeKind.LEFT in kinds:
        assumed.append(
            "members that left have closed; if one was killed, nobody read its partitions for up to "
            f"{session / 1000:g} s before, while the coordinator named it"
        )
    if ChangeKind.RESTARTED in kinds:
        assumed.append(
            "members with a new id were away for half of the time between two looks; those that are static "
            f"or were killed may have been away for up to {session / 1000:g} s, while the coordinator named "
            "them"
        )
    if ChangeKind.GREW in kinds:
        assumed.append(
            "a topic grew when a look showed it; the model's leader sees it within metadata.max.age.ms"
        )
    return assumed
