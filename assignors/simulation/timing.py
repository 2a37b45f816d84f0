"""How long a rebalance takes, without running one."""

from __future__ import annotations

from assignors.simulation.group.clients import PROFILES
from assignors.simulation.inputs.scenario import QUIET_MS


def expected_barrier_ms(
    members: int,
    heartbeat_interval_ms: float = 3_000,
    *,
    settled_ms: float = QUIET_MS,
    client: str = "java",
) -> float:
    """The mean time until the last of these members has heard of a rebalance that begins at any moment.

    Each hears at its next heartbeat. Heartbeats were in step when the group last rebalanced, and have drifted
    apart since, by how late those of each member are; they lie within an arc of the interval, which in the
    end is all of it. In step the wait is half an interval, in the end n / (n + 1) of one for n members.

    Args:
        members: how many.
        heartbeat_interval_ms: `heartbeat.interval.ms`.
        settled_ms: how long ago the last rebalance was answered.
        client: whose members they are, see `Consumer.client`.
    """
    least_ms, most_ms = PROFILES[client].late_ms
    beats = settled_ms / heartbeat_interval_ms
    arc = min(beats * (most_ms - least_ms) / heartbeat_interval_ms, 1)
    # With gaps g between neighbours on a circle of 1 the mean is 1 - sum(g^2) / 2; the mean of that for n
    # points anywhere within an arc is:
    return heartbeat_interval_ms * (1 / 2 + (members - 1) / (members + 1) * (arc - arc**2 / 2))
