"""How long a rebalance of the classic protocol takes, without running one."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from copartition.simulation.group.clients import PROFILES
from copartition.simulation.inputs.scenario import QUIET_MS
from copartition.simulation.inputs.settings import Settings

_DRAWS = (64, 4_096)
_NUMBERS = 2**17
"""A barrier is drawn so often: as many numbers as this for all members together, within those bounds."""


class Barrier(NamedTuple):
    """A rebalance that begins at any moment, in mean milliseconds since what it is for."""

    noticed_ms: float  # when the group has missed a member that fell silent
    heard_ms: float  # when a member has heard of the rebalance
    passed_ms: float  # when all have


def mean_barrier(
    members: int,
    settings: Settings,
    *,
    silent: Sequence[float] = (),
    announced: bool = True,
    settled_ms: float = QUIET_MS,
    client: str = "java",
) -> Barrier:
    """What a group goes through on average until all its members have heard of a rebalance.

    Each hears at its next heartbeat. Heartbeats were in step when the group last rebalanced, and have drifted
    apart since, by how late those of each member are. A barrier also waits for members that are silent, until
    their sessions are over. Drawn, always the same, for many moments spread over a heartbeat interval.

    `silent` has of each member that fell silent how long ago it may have committed: 0 where it did last of
    all, else `auto.commit.interval.ms`; infinite where it has nothing to commit. `announced`: the rebalance
    begins at once, not when the first silent member is missed. `settled_ms`: how long ago the last one was
    answered. `client`: see `Consumer.client`.
    """
    fewest, most = _DRAWS
    draws = max(fewest, min(most, _NUMBERS // max(1, members + len(silent))))
    random = np.random.default_rng(0)
    interval_ms = settings.heartbeat_interval_ms
    every_ms = interval_ms + random.uniform(*PROFILES[client].late_ms, (draws, members + len(silent)))
    since_ms = settled_ms + (np.arange(draws)[:, None] + 0.5) / draws * interval_ms
    beats_ms, gone_ms = every_ms[:, :members], every_ms[:, members:]
    committed_ms = (1 - random.random(gone_ms.shape)) * np.array(silent)
    missed_ms = settings.session_timeout_ms - np.minimum(since_ms % gone_ms, committed_ms)
    begins_ms = np.zeros((draws, 1)) if announced or not silent else missed_ms.min(axis=1, keepdims=True)
    heard_ms = begins_ms + beats_ms - (since_ms + begins_ms) % beats_ms
    passed_ms = np.concatenate([begins_ms, heard_ms, missed_ms], axis=1).max(axis=1, keepdims=True)
    passed_ms = np.minimum(passed_ms, begins_ms + settings.max_poll_interval_ms)
    return Barrier(
        float(missed_ms.mean()) if silent else 0.0,
        float(heard_ms.mean()) if members else 0.0,
        float(passed_ms.mean()),
    )
