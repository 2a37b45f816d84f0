"""Define the settings of a scenario: timeouts, what takes time on a client, and the load of records."""

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from copartition.simulation.inputs.durations import Between, Duration, Interval, Milliseconds
from copartition.simulation.inputs.events import Count, Number
from copartition.simulation.inputs.kinds import check_values
from partitioning.errors import ScenarioError

QUIET_MS = 3_600_000.0
"""How long a group has been quiet if a scenario does not say: an hour, in milliseconds."""


def kafka_name(name: str) -> str:
    """Return Kafka's name of a setting.

    >>> kafka_name("session_timeout_ms")
    'session.timeout.ms'
    """
    return name.replace("_", ".")


@dataclass(frozen=True, slots=True)
class Settings:
    """The timeouts that decide how long a rebalance takes; defaults are those of the Java client and broker.

    Attributes:
        session_timeout_ms: `session.timeout.ms`; how long the coordinator waits for a heartbeat before it
            removes a member.
        heartbeat_interval_ms: `heartbeat.interval.ms`; the time between a member's heartbeats. A member
            learns of a rebalance at its next heartbeat.
        max_poll_interval_ms: `max.poll.interval.ms`; how long a rebalance waits for a member to join, and how
            long an application may stay away from `poll` before its client leaves the group.
        metadata_max_age_ms: `metadata.max.age.ms`; the longest time until the group's leader notices new
            partitions.
        auto_commit_interval_ms: `auto.commit.interval.ms`; the time between two commits of offsets.
        group_initial_rebalance_delay_ms: `group.initial.rebalance.delay.ms` of the broker (KIP-134).
        group_consumer_session_timeout_ms: `group.consumer.session.timeout.ms` of the broker (KIP-848).
        group_consumer_heartbeat_interval_ms: `group.consumer.heartbeat.interval.ms` of the broker (KIP-848).
        group_consumer_assignment_interval_ms: `group.consumer.assignment.interval.ms` of the broker; the
            shortest time between two target assignments of a group (KIP-848).
        scheduled_rebalance_max_delay_ms: `scheduled.rebalance.max.delay.ms` of Connect (KIP-415); how long
            the tasks of a lost worker wait for its return before other workers get them.
        transaction_timeout_ms: `transaction.timeout.ms`; how long a dead producer's transaction stays open.
    """

    session_timeout_ms: Interval = 45_000
    heartbeat_interval_ms: Interval = 3_000
    max_poll_interval_ms: Interval = 300_000
    metadata_max_age_ms: Interval = 300_000
    auto_commit_interval_ms: Interval = 5_000
    group_initial_rebalance_delay_ms: Milliseconds = 3_000
    group_consumer_session_timeout_ms: Interval = 45_000
    group_consumer_heartbeat_interval_ms: Interval = 5_000
    group_consumer_assignment_interval_ms: Milliseconds = 1_000
    scheduled_rebalance_max_delay_ms: Milliseconds = 300_000
    transaction_timeout_ms: Interval = 60_000

    def __post_init__(self) -> None:
        check_values(self, "$.settings", kafka_name)
        for beat, limit in (
            ("heartbeat_interval_ms", "session_timeout_ms"),
            ("heartbeat_interval_ms", "max_poll_interval_ms"),
            ("group_consumer_heartbeat_interval_ms", "group_consumer_session_timeout_ms"),
        ):
            if getattr(self, beat) >= getattr(self, limit):
                raise ScenarioError(
                    f"{kafka_name(beat)} is {getattr(self, beat)} and {kafka_name(limit)} is "
                    f"{getattr(self, limit)}; heartbeats must be more frequent than that",
                    path=f"$.settings.{kafka_name(beat)}",
                )


@dataclass(frozen=True, slots=True)
class Costs:
    """The times that steps of a rebalance take on clients and on the network; by default 0.

    Attributes:
        poll_ms: how long the application works between two calls of `poll`. A client that rejoins inside
            `poll` rejoins only when it has finished its present batch. A Java member that reads other
            partitions, too, gets the first record of a new partition three batches after the assign callback;
            in a KIP-848 group, five batches.
        revoke_ms: the time that the application's callback takes when partitions are revoked. The callback
            runs inside `poll`, so meanwhile the member does not read the partitions that it keeps, either.
        assign_ms: the time that the application's callback takes when partitions are assigned. It runs inside
            `poll`, too.
        partition_ms: the time to open one assigned partition, such as a Connect task or a state store.
            Partitions are opened one after another.
        first_fetch_ms: the time from the assign callback to the first record.
        assignor_ms: the time that the assignor takes, on the leader or the coordinator. "measured" means the
            time that the assignor of this package takes, which makes runs differ.
        network_ms: the time of a request with its answer.
    """

    poll_ms: Duration = 0
    revoke_ms: Duration = 0
    assign_ms: Duration = 0
    partition_ms: Milliseconds = 0
    first_fetch_ms: Duration = 0
    assignor_ms: Milliseconds | Literal["measured"] = 0
    network_ms: Milliseconds = 0

    def __post_init__(self) -> None:
        check_values(self, "$.costs")


@dataclass(frozen=True, slots=True)
class Load:
    """The records of a scenario as a flow: how many arrive, how many consumers process, and when they commit.

    Attributes:
        rate: records a second that are written to each partition: one number for all partitions, one number
            for each topic, or for a topic a list with one number for each partition.
        capacity: records a second that a consumer can process if it has no capacity of its own; infinite by
            default.
        zipf: how unevenly the records of a topic are spread if `rate` is one number. The share of partition p
            is proportional to 1 / (p + 1) ** zipf, so partition 0 gets the most, and `rate` is the mean over
            the partitions that the topic has first. 0: all partitions get the same.
        batch: the most records that one `poll` returns, `max.poll.records`.
        commit: "after": offsets are committed after their records are processed, so uncommitted records are
            read twice. "before": offsets are committed before, so records that were not processed yet are
            lost.
        commit_on_revoke: whether a consumer commits before it gives up a partition.
        transactions: whether offsets are committed in the transaction of the output that is made from the
            records (read-process-write). Uncommitted output is aborted and made again, and readers with
            `read_committed` see nothing twice.
        waiting: records that wait at time 0 in each partition that exists then: one number for all
            partitions, one number for each topic, or for a topic a list with one number for each partition.
        auto_offset_reset: `auto.offset.reset`: where the first reader of a new partition begins. Under
            "latest", the default of Kafka's clients, records that were written before are skipped and count
            as lost.
    """

    rate: Number | Mapping[str, Number | tuple[Number, ...]]
    capacity: Annotated[float, Between(sys.float_info.min, math.inf)] = math.inf
    batch: Count = 500
    commit: Literal["after", "before"] = "after"
    commit_on_revoke: bool = True
    transactions: bool = False
    zipf: Number = 0
    waiting: Number | Mapping[str, Number | tuple[Number, ...]] = 0
    auto_offset_reset: Literal["earliest", "latest"] = "earliest"

    def __post_init__(self) -> None:
        check_values(self, "$.load")

    def rates_of(self, topic: str, partitions: int, first: int) -> NDArray[np.float64]:
        """Return the records a second of each of `partitions` partitions; `first` exist at the start.

        >>> Load(rate=100, zipf=1).rates_of("orders", 3, 2).round(1).tolist()
        [133.3, 66.7, 44.4]
        """
        rate = self.rate.get(topic, 0.0) if isinstance(self.rate, Mapping) else self.rate
        if isinstance(rate, tuple):
            return np.array(rate, np.float64)
        shares = np.arange(1.0, partitions + 1) ** -float(self.zipf)
        rates: NDArray[np.float64] = shares * rate * (first / shares[:first].sum())
        return rates

    def waiting_of(self, topic: str, partitions: int, first: int) -> NDArray[np.float64]:
        """Return the backlog of each partition at time 0; only the first `first` exist then, others get 0.

        >>> Load(rate=0, waiting=50).waiting_of("orders", 3, 2).tolist()
        [50.0, 50.0, 0.0]
        """
        waiting = np.zeros(partitions)
        waiting[:first] = self.waiting.get(topic, 0.0) if isinstance(self.waiting, Mapping) else self.waiting
        return waiting
