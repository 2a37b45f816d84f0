"""What `watch --record` would have written of a simulated group: a step for each look that shows news."""

import numpy as np

from copartition.groups.snapshot import Step, record_line
from copartition.simulation import Phase
from copartition.simulation.inputs.scenario import BROKER_SIDE
from tests.copartition.watch.groups import group


def record_of(result, interval_s=1.0):
    """Return the lines of a record of a run with one topic, "t", looked at every `interval_s` seconds.

    As a coordinator tells it: a partition has an owner until the group has noticed that it has none, and
    again as soon as the next owner is told. A classic group that rebalances tells only its members.
    """
    scenario, timeline = result.scenario, result.timeline
    classic = scenario.assignor not in BROKER_SIDE
    present = [consumer.name for consumer in scenario.consumers]
    log = [entry for entry in result.log if entry.what in {"join", "leave", "session-expired"}]
    lines, before, since = [], None, None
    for at in np.arange(0.3, result.summary.duration_ms / 1_000, interval_s).tolist():
        while log and log[0].at_ms <= 1_000 * at:
            entry = log.pop(0)
            gone = entry.what != "join"
            present = [name for name in present if name != entry.subject] + ([] if gone else [entry.subject])
        hidden = classic and any(
            rebalance.started_ms <= 1_000 * at < rebalance.completed_ms for rebalance in result.rebalances
        )
        owned = {name: [] if hidden else _owned(timeline, name, 1_000 * at) for name in present}
        state = group("PreparingRebalance" if hidden else "Stable", scenario.assignor, **owned)
        if (hidden, owned) != before:
            lines.append(record_line(Step(at, since, state)))
        before, since = (hidden, owned), at
    return "".join(lines)


def _owned(timeline, name, at_ms):
    """The partitions of which the coordinator names this owner."""
    number = timeline.consumers.index(name) if name in timeline.consumers else -2
    owned = []
    for partition in range(int(timeline.first[-1])):
        rows = np.flatnonzero(timeline.partition == partition)
        row = rows[np.searchsorted(timeline.start[rows], at_ms, "right") - 1]
        phase = timeline.phase[row]
        if phase == Phase.HANDOVER and row < rows[-1]:
            row += 1  # its next reader has been told
        elif phase == Phase.UNNOTICED and row > rows[0]:
            row -= 1  # its last reader is not missed
        if phase not in {Phase.PAUSED, Phase.COMPUTING} and timeline.consumer[row] == number:
            owned.append(partition)
    return owned
