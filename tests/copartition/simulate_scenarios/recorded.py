"""What `watch --record` would have written of a simulated group: a step for each look that shows news."""

from itertools import pairwise

import numpy as np

from copartition.groups.snapshot import RecordStep, record_line
from copartition.simulation import Phase
from copartition.simulation.inputs.scenario import BROKER_SIDE
from tests.copartition.watch.groups import group


def record_of(result, interval_s=1.0):
    """Return the lines of a record of a run with one topic, "t", looked at every `interval_s` seconds.

    As a coordinator tells it: a partition has an owner until the group has noticed that it has none, and
    again as soon as the next owner is told. A member that closes is in the group until its revoke callback is
    done. A classic group that rebalances tells only its members.
    """
    scenario = result.scenario
    classic = scenario.assignor not in BROKER_SIDE
    partitions = int(result.timeline.first[-1])
    present = [consumer.name for consumer in scenario.consumers]
    closing_ms = {"leave": scenario.costs.revoke_ms}
    log = sorted(
        (entry.at_ms + closing_ms.get(entry.what, 0), entry.what, entry.subject)
        for entry in result.log
        if entry.what in {"join", "leave", "session-expired"}
    )
    lines, before, since = [], None, None
    for at in np.arange(0.3, result.summary.duration_ms / 1_000, interval_s).tolist():
        while log and log[0][0] <= 1_000 * at:
            _, what, whom = log.pop(0)
            present = [name for name in present if name != whom] + ([whom] if what == "join" else [])
        hidden = classic and any(
            rebalance.started_ms <= 1_000 * at < rebalance.completed_ms for rebalance in result.rebalances
        )
        shown = {} if hidden else _owned(result, 1_000 * at)
        owned = {name: shown.get(name, []) for name in present}
        state = group(
            "PreparingRebalance" if hidden else "Stable", scenario.assignor, count=partitions, **owned
        )
        if (hidden, owned) != before:
            lines.append(record_line(RecordStep(at, since, state)))
        before, since = (hidden, owned), at
    return "".join(lines)


def _owned(result, at_ms):
    """The partitions of each consumer, as the coordinator names their owners."""
    timeline = result.timeline
    owned = {name: [] for name in timeline.consumers}
    for partition, (first, last) in enumerate(pairwise(_rows_of_partitions(timeline))):
        row = first + int(np.searchsorted(timeline.start[first:last], at_ms, "right")) - 1
        phase = timeline.phase[row]
        if phase == Phase.HANDOVER and row < last - 1:
            row += 1  # its next reader has been told
        elif phase == Phase.UNNOTICED and row > first:
            row -= 1  # its last reader is not missed
        elif phase == Phase.PAUSED and _closing(result, row, at_ms):
            row -= 1  # its last reader has not yet said that it leaves
            phase = timeline.phase[row]
        if timeline.consumer[row] >= 0 and phase not in {Phase.PAUSED, Phase.COMPUTING}:
            owned[timeline.consumers[timeline.consumer[row]]].append(partition)
    return owned


def _rows_of_partitions(timeline):
    """The first row of each partition in the timeline, and one behind the last row of all."""
    return np.searchsorted(timeline.partition, np.arange(int(timeline.first[-1]) + 1)).tolist()


def _closing(result, row, at_ms):
    """Whether a partition stands still because its reader closes, and has not told the coordinator yet."""
    timeline = result.timeline
    left = timeline.causes[timeline.cause[row]].endswith(" left")
    return left and at_ms < timeline.start[row] + result.scenario.costs.revoke_ms
