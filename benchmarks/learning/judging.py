"""What a group that teaches says of a group that judges, and what was measured of that."""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

from assignors import Topic
from assignors.state import GroupState, MemberIdentity
from benchmarks.learning.cells import KINDS, Kind
from benchmarks.rebalances.measure import Reading, outages, without_joining
from benchmarks.rebalances.predicting import ASSIGNORS, COSTS, TOPIC, disturbances, event_of
from benchmarks.rebalances.scenarios import RECORDS_PER_SECOND, SESSION_MS
from copartition.deploys.pace import Pace, full_names
from copartition.deploys.scenario import parse_happening, scenario_of
from copartition.deploys.stops import stops_of
from copartition.kit.evidence import Missing
from copartition.simulate_scenarios.learned import learn_costs
from copartition.simulation import Consumer, Load, Scenario, simulate
from copartition.simulation.inputs.durations import Uniform
from copartition.simulation.inputs.file import with_settings

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

Run = dict[str, Any]

NEAR = 0.2
"""How far a prediction may be from the measurement, as a share of it."""
DRAWS = 15
"""Predictions of each run, of which the median counts: what clients draw, and their batches, are unknown."""
TOLD = {
    "session.timeout.ms": f"{SESSION_MS}",
    "group.consumer.session.timeout.ms": f"{SESSION_MS}",
    "network_ms": f"{COSTS.network_ms}",
    "first_fetch_ms": f"{COSTS.first_fetch_ms}",
}
"""The settings of all groups, and the costs that are this machine's and not the application's."""


class Figures(NamedTuple):
    """What becomes of a deploy.

    Attributes:
        partition_seconds: the time for which no member read a partition, summed over partitions, in seconds.
        longest: the longest time for which no member read a partition, in seconds.
        peak_lag: the most records that waited at one time.
    """

    partition_seconds: float
    longest: float
    peak_lag: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """A deploy as it was measured and as it was predicted.

    Attributes:
        kind: of the group.
        learned: what its other group taught, `revoke_ms`; None if nothing could be learned.
        said: the sentence on that.
        measured: the figures of the deploy.
        predicted: the same, by what was learned, or by the costs as they are where nothing was.
        blank: the same if no cost is known.
        asked: the least and the most partition-seconds of the deploy by the command; None if it has no such
            deploy.
    """

    kind: Kind
    learned: float | None
    said: str
    measured: Figures
    predicted: Figures
    blank: Figures
    asked: tuple[float, float] | None

    def holds(self, near: float = 0) -> bool:
        """Return whether what was measured is in the command's range, or beside it by a share of its end."""
        assert self.asked is not None
        least, most = self.asked
        return least * (1 - near) <= self.measured.partition_seconds <= most * (1 + near)


def misses(measured: Figures, predicted: Figures) -> list[str]:
    """Return the figures of which the prediction is too far from what was measured."""
    return [
        name
        for name, was, said in zip(Figures._fields, measured, predicted, strict=True)
        if abs(said - was) > NEAR * was
    ]


def judge(kind: Kind, run: Run, record: Path) -> Verdict:
    """Return what the record of a group teaches about the deploy of another group, and what that did.

    Args:
        kind: of both groups.
        run: the deploy that judges.
        record: the record of the group that teaches.
    """
    pace, (said, *_) = learn_costs(record, Pace(changes=TOLD))
    typed = kind.protocol == "kip848"
    if typed:
        pace = replace(
            pace, changes={**pace.changes, "revoke_ms": f"{kind.revoke_ms}", "poll_ms": f"{kind.batch_ms}"}
        )
    return Verdict(
        kind,
        None if typed else float(pace.changes.get("revoke_ms", 0)),
        said,
        measured_figures(run),
        predicted_figures(run, pace.changes),
        predicted_figures(run, TOLD),
        # A surge of the command starts the next member as soon as the one before has closed, which was not
        # done here.
        None if kind.deploy("judges").kind == "surge" else by_command(kind, pace),
    )


def by_command(kind: Kind, pace: Pace) -> tuple[float, float]:
    """Return the least and the most partition-seconds that `simulate GROUP --deploy` says of the judges."""
    deploy = kind.deploy("judges")
    share = deploy.partitions // deploy.members
    names = [f"c{number}" for number in range(deploy.members)]
    owned = {
        name: [(TOPIC, share * place + part) for part in range(share)] for place, name in enumerate(names)
    }
    state = replace(
        GroupState.of(owned),
        members=tuple(MemberIdentity(name, None, name, topics=(TOPIC,)) for name in names),
        complete=True,
        name="g",
        status="Stable",
        strategy=ASSIGNORS[kind.protocol],
        protocol="consumer" if kind.protocol == "kip848" else "classic",
        clients=(kind.client.name,),
    )
    away = Uniform(1000 * deploy.apart_s - 40, 1000 * deploy.apart_s + 60)
    pace = replace(pace, down_ms=away, every_ms=1000 * deploy.every_s)
    stops = stops_of(scenario_of(state, parse_happening(state, deploy.kind), pace), deploy.kind)
    assert not isinstance(stops, Missing), stops
    return stops.partition_seconds.least, stops.partition_seconds.most


def measured_figures(run: Run) -> Figures:
    """What was measured; of kafka-python, what its members did not read while they rejoined counts, too."""
    read = [Reading(int(partition), *row) for partition, rows in run["reading"].items() for row in rows]
    if run["client"] == "kafka-python":
        read = without_joining(read, run["requests"], run["ends"])
    partitions = KINDS[run["kind"]].deploy(run["role"]).partitions
    unread = outages(read, dict.fromkeys(range(partitions), 0.0), run["ends"])
    return Figures(unread.partition_seconds, unread.longest, run["peak_lag"])


def predicted_figures(run: Run, changes: Mapping[str, str]) -> Figures:
    """What the simulator says of a run, told when its processes were told to start and to close.

    Args:
        run: the run.
        changes: settings and costs.
    """
    said = [_figures(*scenario_of_run(run, changes, draw)) for draw in range(DRAWS)]
    return Figures(*map(median, zip(*said, strict=True)))


def scenario_of_run(run: Run, changes: Mapping[str, str], draw: int) -> tuple[Scenario, float]:
    """A run as a scenario, and the time in it at which the deploy begins, in milliseconds.

    The group forms as it did, by when each process first spoke to the coordinator.

    Args:
        run: the run.
        changes: settings and costs.
        draw: the seed; it decides what clients draw, and how far batches are when a rebalance comes.
    """
    kind = KINDS[run["kind"]]
    done = disturbances(run)
    begins = max(0.0, -done[0][0])
    consumers = {name: Consumer(name, client=kind.client.name) for _, _, name, _ in done}
    scenario = Scenario(
        topics=(Topic(TOPIC, kind.deploy(run["role"]).partitions),),
        consumers=(),
        events=tuple(
            event_of(1000 * (begins + at), what, consumers[name], seconds) for at, what, name, seconds in done
        ),
        assignor=ASSIGNORS[kind.protocol],
        seed=draw,
        load=Load(RECORDS_PER_SECOND),
        until_ms=1000 * (begins + run["ends"]),
    )
    return with_settings(scenario, full_names(changes)), 1000 * begins


def _figures(scenario: Scenario, begins_ms: float) -> Figures:
    """What becomes of a scenario from the begin of its deploy on."""
    result = simulate(scenario)
    _, start, end = result.timeline.pauses()
    lengths = (end - start.clip(begins_ms)).clip(0) / 1000
    assert result.records is not None
    lag = result.records.lag[result.records.lag_ms >= begins_ms]
    return Figures(float(lengths.sum()), float(lengths.max(initial=0)), float(lag.max(initial=0)))
