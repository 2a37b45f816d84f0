"""Timeouts, what takes time on a client, and the work there is to do."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Literal

from assignors.errors import ScenarioError

if TYPE_CHECKING:
    from assignors.simulation.inputs.durations import Duration

LATEST_MS = 2**53
"""The latest time and the longest timeout: a float tells no milliseconds apart beyond it."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The timeouts that decide how long a rebalance takes; defaults are those of the Java client and broker.

    Attributes:
        session_timeout_ms: `session.timeout.ms`; how long the coordinator waits for a silent member.
        heartbeat_interval_ms: `heartbeat.interval.ms`; members learn of a rebalance at their next heartbeat.
        max_poll_interval_ms: `max.poll.interval.ms`; how long the join barrier waits for a member, and how
            long an application may stay away from `poll` before its client leaves the group.
        metadata_max_age_ms: `metadata.max.age.ms`; how late the leader may notice new partitions.
        auto_commit_interval_ms: `auto.commit.interval.ms`; how often offsets are committed.
        group_initial_rebalance_delay_ms: `group.initial.rebalance.delay.ms` of the broker (KIP-134).
        group_consumer_session_timeout_ms: `group.consumer.session.timeout.ms` of the broker (KIP-848).
        group_consumer_heartbeat_interval_ms: `group.consumer.heartbeat.interval.ms` of the broker (KIP-848).
        group_consumer_assignment_interval_ms: `group.consumer.assignment.interval.ms` of the broker; the
            least time between two target assignments of a group (KIP-848).
        scheduled_rebalance_max_delay_ms: `scheduled.rebalance.max.delay.ms` of Connect (KIP-415); how long
            the tasks of a lost worker are kept for its return.
        transaction_timeout_ms: `transaction.timeout.ms`; how long a dead producer's transaction stays open.
    """

    session_timeout_ms: float = 45_000
    heartbeat_interval_ms: float = 3_000
    max_poll_interval_ms: float = 300_000
    metadata_max_age_ms: float = 300_000
    auto_commit_interval_ms: float = 5_000
    group_initial_rebalance_delay_ms: float = 3_000
    group_consumer_session_timeout_ms: float = 45_000
    group_consumer_heartbeat_interval_ms: float = 5_000
    group_consumer_assignment_interval_ms: float = 1_000
    scheduled_rebalance_max_delay_ms: float = 300_000
    transaction_timeout_ms: float = 60_000

    def __post_init__(self) -> None:
        for setting in fields(self):
            value = getattr(self, setting.name)
            lowest = 0 if setting.name.endswith(("delay_ms", "assignment_interval_ms")) else 1
            if not lowest <= value <= LATEST_MS:
                name = setting.name.replace("_", ".")
                raise ScenarioError(
                    f"{name} is {value}; give a number of milliseconds from {lowest} to {LATEST_MS}"
                )
        for limit in ("session_timeout_ms", "max_poll_interval_ms"):
            if self.heartbeat_interval_ms >= getattr(self, limit):
                raise ScenarioError(
                    f"heartbeat.interval.ms is {self.heartbeat_interval_ms} and {limit.replace('_', '.')} is "
                    f"{getattr(self, limit)}; heartbeats must be more frequent than that"
                )


@dataclass(frozen=True, slots=True)
class Costs:
    """What takes time besides waiting; nothing does unless the scenario says so.

    Attributes:
        poll_ms: how long the application works between two calls of `poll`. A client that serves a rebalance
            inside `poll` rejoins when the batch in its hands is done.
        revoke_ms: the application's callback when partitions are revoked.
        assign_ms: the application's callback when partitions are assigned.
        partition_ms: opening one assigned partition, one after another: a Connect task, a state store.
        first_fetch_ms: from the assign callback to the first record.
        assignor_ms: the leader's or the coordinator's assignor; "measured" takes the time ours needs, which
            makes runs differ.
        network_ms: a request and its answer.
    """

    poll_ms: Duration = 0
    revoke_ms: Duration = 0
    assign_ms: Duration = 0
    partition_ms: float = 0
    first_fetch_ms: Duration = 0
    assignor_ms: float | Literal["measured"] = 0
    network_ms: float = 0


@dataclass(frozen=True, slots=True)
class Load:
    """The records of a scenario, as a flow: how many come, how many a consumer can take, when it commits.

    Attributes:
        rate: records a second that come to each partition; one for all, or one for each topic.
        capacity: records a second a consumer can process; infinite by default.
        batch: records of one `poll`, `max.poll.records`.
        commit: whether offsets are committed "after" their records are processed (what is not committed is
            read twice) or "before" (what is not processed is lost).
        commit_on_revoke: whether a consumer that is asked to give a partition up commits first.
        transactions: whether offsets are committed in the transaction of what was made from the records
            (read-process-write): what is not committed is aborted and made again, and nothing is read twice
            by those who read committed.
    """

    rate: float | Mapping[str, float]
    capacity: float = math.inf
    batch: int = 500
    commit: Literal["after", "before"] = "after"
    commit_on_revoke: bool = True
    transactions: bool = False

    def rate_of(self, topic: str) -> float:
        """Records a second that come to each partition of the topic."""
        return self.rate.get(topic, 0.0) if isinstance(self.rate, Mapping) else self.rate
