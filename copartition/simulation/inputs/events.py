"""Define the events of a scenario: the things that may happen to a group, and their times.

Every event begins at a time in milliseconds, or as soon as a condition holds. Classes from `Join` to
`DuplicateInstance` are single events of the simulated cluster. Classes from `Restart` on are things that
people and machines do; `copartition.simulation.agenda` takes these events apart into single ones.
"""

import sys
from dataclasses import dataclass
from typing import Annotated, Final, Literal, TypeAlias, get_args

from copartition.simulation.inputs.durations import Between, Duration, Interval, Milliseconds
from partitioning.topic_partition import MAX_PARTITIONS

Amount = Annotated[int, Between(0, MAX_PARTITIONS, "whole number")]
Count = Annotated[int, Between(1, MAX_PARTITIONS, "whole number")]
Number = Annotated[float, Between(0, sys.float_info.max)]
Positive = Annotated[float, Between(sys.float_info.min, sys.float_info.max)]


SimulatedClient: TypeAlias = Literal["java", "librdkafka", "kafka-python", "aiokafka", "connect"]
"""The clients whose behaviour is known. A file may also name a tool that is built on one of them."""


@dataclass(frozen=True, slots=True)
class Consumer:
    """A consumer process; it may have several member ids, one after another.

    Attributes:
        name: the consumer's name, unique in the scenario. It is also its client id, and its
            `group.instance.id` if it is a static member.
        static: whether the consumer is a static member (KIP-345).
        topics: the names of the topics that it subscribes to; None means all topics of the scenario.
        pattern: a regular expression of topic names, instead of `topics`. It also matches topics that are
            created later.
        rack: the consumer's `client.rack`.
        client: the client whose behaviour the consumer has: "java", "librdkafka", "kafka-python", "aiokafka",
            or "connect" for a worker of Kafka Connect, whose tasks are shown as partitions.
        assignors: its strategies, the preferred one first, as in `partition.assignment.strategy`; None means
            that of the scenario. With a broker-side strategy such as "uniform" it speaks the consumer
            protocol (KIP-848).
        beat_ms: the time of its first heartbeat after time 0; None means that `Scenario.settled_ms` decides.
        member_id: the id that the coordinator gives to it when it joins first; None means an id that is made
            from its name. Ids decide who leads a classic group after its leader has left: if all ids are
            known, the member that comes first in the coordinator's `HashMap` of ids. Otherwise it is the
            member that joined first or, in Connect, a worker that the seed chooses. At time 0 the first
            consumer leads.
        capacity: records a second that it can process; None means `Load.capacity`.
        close: what the consumer does about its membership when it closes, as `CloseOptions` of the Java
            client (KIP-1092, 4.1): "leave-group", "remain-in-group", or "default". By default a dynamic
            member leaves and a static one remains. See `leaves`.
    """

    name: str
    static: bool = False
    topics: tuple[str, ...] | None = None
    pattern: str | None = None
    rack: str | None = None
    client: SimulatedClient = "java"
    assignors: tuple[str, ...] | None = None
    beat_ms: Milliseconds | None = None
    member_id: str | None = None
    capacity: Positive | None = None
    close: Literal["default", "leave-group", "remain-in-group"] = "default"

    def leaves(self, *, classic: bool) -> bool:
        """Return whether the consumer, when it closes, tells the coordinator that it leaves the group.

        Under the consumer protocol a dynamic member of the client 4.4.0 leaves even if it was told to remain:
        four of four such members sent a heartbeat with epoch -1 (`benchmarks/rebalances.md`).

        Args:
            classic: True if the consumer speaks the classic protocol.
        """
        remains = self.close == "remain-in-group" and classic
        return self.close == "leave-group" or not (self.static or remains)


REFUSED: Final = "commit-refused"
"""The condition of an event that happens whenever a commit of its consumer is refused."""
ANYONE = "*"
"""The name of the consumer in such an event, if it is for any consumer whose commit is refused."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition that an event waits for: a figure of the group beyond a limit, compared once a second.

    Attributes:
        figure: "lag": records behind, summed over all partitions; "partition_lag": records behind in the
            partition that is furthest behind; "unread": partitions that no consumer reads; "members": members
            of the group; or "commit-refused" (`REFUSED`), which has no limit: the event happens each time a
            commit of its consumer is refused, before the consumer joins again.
        above: the limit that the figure must be above; None if `below` is given.
        below: the limit that the figure must be below; None if `above` is given.
        for_ms: how long the figure must have been beyond the limit.
    """

    figure: Literal["lag", "partition_lag", "unread", "members", "commit-refused"]
    above: Number | None = None
    below: Number | None = None
    for_ms: Milliseconds = 0


When = Milliseconds | Condition
"""The time of an event in milliseconds, or the condition that starts it."""


@dataclass(frozen=True, slots=True)
class Join:
    """A consumer starts. It is a new one, or one that has stopped before."""

    at_ms: When
    consumer: Consumer


@dataclass(frozen=True, slots=True)
class Leave:
    """A consumer closes cleanly. `Consumer.leaves` says whether it also leaves the group."""

    at_ms: When
    consumer: str


@dataclass(frozen=True, slots=True)
class Crash:
    """A consumer's process ends without closing; the coordinator notices when its session ends."""

    at_ms: When
    consumer: str


@dataclass(frozen=True, slots=True)
class Grow:
    """A topic gets more partitions."""

    at_ms: When
    topic: str
    partitions: Count


@dataclass(frozen=True, slots=True)
class Create:
    """A topic is created. Consumers that subscribe to its name or to a matching pattern will read it."""

    at_ms: When
    topic: str
    partitions: Count


@dataclass(frozen=True, slots=True)
class Reassign:
    """The replicas of a topic's partitions move to other racks; nothing else changes.

    A coordinator of the consumer protocol notices it, because racks are part of its hash of a topic's
    metadata (KIP-1101, 4.1). In a classic group the leader notices it, if it has a rack of its own (KIP-881).

    Attributes:
        at_ms: when the replicas have moved.
        topic: the topic's name.
        racks: the racks of the replicas, one list for each partition. If the topic has another number of
            partitions by then, the racks of its replicas count as unknown.
    """

    at_ms: When
    topic: str
    racks: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class SlowPoll:
    """A batch keeps a consumer from calling `poll` for `for_ms`; its heartbeats go on."""

    at_ms: When
    consumer: str
    for_ms: Duration


@dataclass(frozen=True, slots=True)
class Stall:
    """A consumer's process stands still for `for_ms`, heartbeats too: SIGSTOP, a full garbage collection."""

    at_ms: When
    consumer: str
    for_ms: Duration


@dataclass(frozen=True, slots=True)
class SlowNetwork:
    """A consumer's network is slow for `for_ms`: each of its requests takes `network_ms`, answer included."""

    at_ms: When
    consumer: str
    for_ms: Duration
    network_ms: Milliseconds


@dataclass(frozen=True, slots=True)
class Failover:
    """The coordinator's broker goes down; `down_ms` later another broker has loaded the group."""

    at_ms: When
    down_ms: Duration


@dataclass(frozen=True, slots=True)
class DuplicateInstance:
    """A second process starts with the `group.instance.id` of a static consumer, and fences the first."""

    at_ms: When
    consumer: str


@dataclass(frozen=True, slots=True)
class Restart:
    """A consumer closes cleanly and starts again `down_ms` later.

    Attributes:
        at_ms: when the consumer closes.
        consumer: the name of the consumer.
        down_ms: the time from its close to its start.
        assignors: its strategies after the restart; None keeps its present ones.
    """

    at_ms: When
    consumer: str
    down_ms: Duration
    assignors: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RollingRestart:
    """Every running consumer is restarted, one after the other at fixed times, as by a script.

    Attributes:
        at_ms: when the first consumer closes.
        every_ms: the time from one close to the next, whether the last consumer runs again or not.
        down_ms: the time from the close of a consumer to its start.
        assignors: the strategies of each consumer after its restart; None keeps its present ones.
    """

    at_ms: When = 0
    every_ms: Milliseconds
    down_ms: Duration
    assignors: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class StatefulSetRoll:
    """Every running consumer is restarted under its own name, from the last to the first, one at a time.

    Attributes:
        at_ms: when the first consumer closes.
        down_ms: the time from the close of a consumer to its start.
        ready_ms: the time from the start of a consumer to the close of the next one.
        assignors: the strategies of each consumer after its restart; None keeps its present ones.
    """

    at_ms: When
    down_ms: Duration
    ready_ms: Duration = 0
    assignors: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Deployment:
    """Every running consumer is replaced by one with a new name, as a Kubernetes Deployment rolls.

    The consumer that replaces `worker-3` is `worker-3-r2`, and the one after it `worker-3-r3`; all else about
    it stays the same. The oldest consumers are replaced first.

    Attributes:
        at_ms: when the deployment begins.
        surge: how many consumers more than their present number may exist, `maxSurge`.
        unavailable: how many consumers fewer than their present number may be available, `maxUnavailable`.
        start_ms: the time from the creation of a pod to the start of its consumer.
        ready_ms: the time from the start of a consumer until it counts as available.
        assignors: the strategies of the new consumers; None keeps the present ones.
    """

    at_ms: When
    surge: Amount = 1
    unavailable: Amount = 0
    start_ms: Duration = 0
    ready_ms: Duration = 0
    assignors: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class ScaleTo:
    """The group is scaled to `consumers` consumers: new ones start after `start_ms`, or the youngest close.

    A new consumer is like the youngest one and has the first free number: `worker-40` after `worker-39`, or
    `worker-38` if that was taken away before.
    """

    at_ms: When
    consumers: Amount
    start_ms: Duration = 0


@dataclass(frozen=True, slots=True)
class Autoscaler:
    """A horizontal autoscaler starts, such as KEDA's; it wants ceil(lag / `lag_per_consumer`) consumers.

    KEDA wants no more consumers than there are partitions. Apart from that, this does what Kubernetes does by
    default. It changes nothing if the lag is within a tenth of what the present consumers can handle. At one
    look it adds at most as many consumers as there are, or four if that is more. It adds and removes
    consumers as `ScaleTo` does.

    Attributes:
        at_ms: when the autoscaler looks at the lag for the first time.
        lag_per_consumer: the lag that one consumer is meant to have, `lagThreshold`.
        polling_ms: the time between two looks at the lag.
        cooldown_ms: how long the wanted number must have been lower before consumers are removed.
        fewest: the lowest number of consumers, `minReplicaCount`.
        most: the highest number of consumers, `maxReplicaCount`.
        start_ms: the time from a decision to the start of a new consumer.
    """

    at_ms: When
    lag_per_consumer: Positive
    polling_ms: Interval = 30_000
    cooldown_ms: Milliseconds = 300_000
    fewest: Amount = 1
    most: Count = 100
    start_ms: Duration = 0


@dataclass(frozen=True, slots=True)
class CrashLoop:
    """A consumer crashes again and again; by Kubernetes' back-off each restart takes longer than the last.

    Attributes:
        at_ms: when the consumer crashes for the first time.
        consumer: the name of the consumer.
        times: the number of crashes.
        up_ms: how long it runs after a restart before it crashes again.
        backoff_ms: how long it is away after the first crash; the time doubles with each further crash.
        most_ms: the longest time that it is away after a crash.
    """

    at_ms: When
    consumer: str
    times: Count = 5
    up_ms: Duration = 10_000
    backoff_ms: Milliseconds = 10_000
    most_ms: Milliseconds = 300_000


Primitive = (
    Join
    | Leave
    | Crash
    | Grow
    | Create
    | Reassign
    | SlowPoll
    | Stall
    | SlowNetwork
    | Failover
    | DuplicateInstance
)
"""The single events of the simulated cluster."""

ByName = Leave | Crash | SlowPoll | Stall | SlowNetwork | DuplicateInstance | Restart | CrashLoop
"""The events of one consumer that runs."""

Lasting = SlowPoll | Stall | SlowNetwork
"""Events that last for `for_ms`; the agenda draws a length if `for_ms` is a distribution."""

Rollout = RollingRestart | StatefulSetRoll | Deployment | ScaleTo
"""The events that change the whole group once; each waits until the one before has ended."""

GroupWide = Rollout | Autoscaler
"""The events that concern all consumers that run when the event begins."""

Event = Primitive | ByName | GroupWide
"""Every event that a scenario may have."""

EVENTS: dict[str, type[Event]] = {
    "join": Join,
    "leave": Leave,
    "crash": Crash,
    "grow": Grow,
    "create": Create,
    "reassign": Reassign,
    "slow-poll": SlowPoll,
    "stall": Stall,
    "slow-network": SlowNetwork,
    "failover": Failover,
    "duplicate-instance": DuplicateInstance,
    "restart": Restart,
    "rolling-restart": RollingRestart,
    "statefulset-roll": StatefulSetRoll,
    "deployment": Deployment,
    "scale-to": ScaleTo,
    "autoscaler": Autoscaler,
    "crash-loop": CrashLoop,
}
"""Every event by its name in files and messages."""

EVENT_NAMES: dict[type[Event], str] = {kind: name for name, kind in EVENTS.items()}

PRIMITIVE_NAMES = frozenset(EVENT_NAMES[kind] for kind in get_args(Primitive))
"""The names of the single events of the simulated cluster, as in the event log."""
