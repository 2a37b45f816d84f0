"""Keep the state that all parts of a simulation share: time, processes, partitions, history.

The main loop (`copartition.simulation.run`) notifies an engine of what happens to processes and topics. The
engine, a group coordinator with its members, decides who reads what and writes it to the ledger.
"""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from assignors.interface import RebalanceProtocol
from assignors.registry import get_assignor
from copartition.simulation.group.memberships import Memberships
from copartition.simulation.inputs.events import Consumer
from copartition.simulation.inputs.scenario import Scenario
from copartition.simulation.ledger import Ledger, Partitions
from copartition.simulation.outcome.history import History, HistoryStep, Rebalance
from copartition.simulation.outcome.result import LogEntry


class Engine(Protocol):
    """A group coordinator and its members.

    Consumers are given by their number in `World.consumers`. Times are milliseconds and never go back.

    There are two engines, `ClassicProtocol` and `ConsumerProtocol`. The main loop holds one at a time, and
    replaces it when the group is upgraded or downgraded. Both write to the same `World`.
    """

    def begin(self) -> None:
        """Make the consumers at time 0 a stable group."""

    @property
    def members(self) -> int:
        """The number of members in the coordinator's group, including dead ones whose sessions still run."""

    def start(self, consumer: int, now_ms: float) -> None:
        """Start a process, which asks to join."""

    def stop(self, consumer: int, now_ms: float, *, cleanly: bool) -> None:
        """End a process; it closes if `cleanly`, else it just ends."""

    def slow_poll(self, consumer: int, now_ms: float, until_ms: float) -> None:
        """Keep an application from calling `poll` until `until_ms`; its heartbeats go on."""

    def stall(self, consumer: int, now_ms: float, until_ms: float) -> None:
        """Let a process stand still until `until_ms`."""

    def duplicate(self, consumer: int, now_ms: float) -> None:
        """Start a second process with the consumer's `group.instance.id`, and accept or refuse it."""

    def failover(self, now_ms: float, until_ms: float) -> None:
        """Let the coordinator answer no member until `until_ms`."""

    def on_growth(self, topic: int, *, created: bool) -> None:
        """Handle that a topic has more partitions, or was created; `World.partitions` has them already."""

    def on_racks(self, topic: int) -> None:
        """Handle that a topic's replicas are in other racks; `World.partitions` has them already."""

    def next_ms(self) -> float:
        """Return the time of the next step that the group makes by itself; infinite if there is none."""

    def advance(self) -> None:
        """Make the step whose time `next_ms` returned; `World.now_ms` is that time."""

    def settle(self, now_ms: float) -> None:
        """Write to the ledger everything up to now; without this call some stops are written later."""


class World:
    """A scenario at a moment in time.

    Consumers have a number in `consumers`, in the order of their first start; a restart keeps the number. The
    main loop sets `now_ms`, which never goes back. Only engines draw from `random`, events do not, so that
    the same event lasts equally long under every assignor.
    """

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        # Names of the topics that exist at the start; a consumer that names no topics subscribes to these.
        self.topics = tuple(topic.name for topic in scenario.topics)
        self.now_ms = 0.0  # the present time
        # Engines and clients draw from this; events draw from a stream of their own.
        self.random = np.random.Generator(np.random.Philox(key=scenario.seed))
        # Every consumer that ever ran, by number; a restart may change its strategies.
        self.consumers: list[Consumer] = []
        self.varied = False  # whether a consumer has strategies of its own
        # The rebalance protocols of each strategy looked up so far; a look-up makes an assignor.
        self._protocols: dict[str, frozenset[RebalanceProtocol]] = {}
        # Distinct subscription -> one consumer that has it.
        self.subscriptions: dict[tuple[tuple[str, ...] | None, str | None], Consumer] = {}
        # `_number` has the number of each consumer by name. `_running` has the numbers of running consumers,
        # in the order of their starts: it is a dictionary used as an ordered set, and a restart puts a
        # consumer at its end.
        self._number: dict[str, int] = {}
        self._running: dict[int, None] = {}
        # Number of a consumer whose network is slow -> (the end of the slow time, `network_ms` until then).
        self._slow: dict[int, tuple[float, float]] = {}
        self.memberships = Memberships()  # every membership there ever was
        self.log: list[LogEntry] = []
        self.member_pause_ms = 0.0  # pauses of running consumers by the protocol, summed
        self.partitions = Partitions(scenario)  # the topics, and which partitions exist
        self.ledger = Ledger(scenario, self.partitions, self.memberships)  # all that happens to partitions
        self.history = History(self.partitions, self.memberships)
        for consumer in scenario.consumers:
            self.start_process(consumer)

    def start_process(self, consumer: Consumer) -> int:
        """Record that a process of this consumer runs from now on; return the consumer's number.

        A consumer that ran before keeps its number, and from now on has the configuration given here. Its
        subscription stays in `subscriptions` after it has gone.
        """
        number = self._number.setdefault(consumer.name, len(self.consumers))
        self.consumers[number : number + 1] = [consumer]
        self.varied |= consumer.assignors is not None
        if consumer.capacity is not None and self.ledger.flow is not None:
            self.ledger.flow.readers.consumers.has_capacity(number, consumer.capacity)
        self.subscriptions[consumer.topics, consumer.pattern] = consumer
        self._running[number] = None
        return number

    def commits_ms(self, consumer: int) -> float:
        """Return the time at which a consumer that exists at time 0 first commits, in milliseconds.

        The commit before it, one interval earlier, is recorded in the flow of records. The time is drawn
        evenly from one interval, since nothing ties a client's commits to time 0. Consumers that start later
        begin their intervals when they start or are assigned.
        """
        interval_ms = self.scenario.settings.auto_commit_interval_ms
        first_ms = float(self.random.uniform(0, interval_ms))
        if self.ledger.flow is not None:
            self.ledger.flow.readers.consumers.has_committed(consumer, first_ms - interval_ms)
        return first_ms

    def slow_network(self, consumer: int, until_ms: float, network_ms: float) -> None:
        """Let each request of a consumer take `network_ms` with its answer, until `until_ms`.

        A second call replaces the first, even if it ends earlier.
        """
        self._slow[consumer] = until_ms, network_ms

    def network_ms(self, consumer: int, at_ms: float) -> float:
        """Return how many milliseconds a request that a consumer sends at `at_ms` takes, with its answer."""
        normal_ms = self.scenario.costs.network_ms
        if consumer not in self._slow:
            return normal_ms
        until_ms, slow_ms = self._slow[consumer]
        # No request overtakes another one. A request that is on its way when the slow time ends arrives at
        # that time.
        return max(min(slow_ms, until_ms + normal_ms - at_ms), normal_ms)

    def network_each(
        self, members: NDArray[np.int32], at_ms: float | NDArray[np.float64]
    ) -> float | NDArray[np.float64]:
        """Return `network_ms` of the consumer of each of these members; one number if it is equal for all.

        `at_ms` is one time for all members or one for each, shape (len(members),). A result that is no single
        number has that shape, too. Most runs have no slow network; then nothing is computed for single
        members.
        """
        if not self._slow:
            return self.scenario.costs.network_ms
        times = zip(members.tolist(), np.broadcast_to(at_ms, members.shape).tolist(), strict=True)
        return np.array([self.network_ms(int(self.memberships.consumer[member]), at) for member, at in times])

    def end_process(self, consumer: int) -> None:
        """Record that a consumer's process is gone; nothing happens if it was gone already."""
        self._running.pop(consumer, None)

    def refuse(self, consumer: int, reason: str) -> None:
        """Let a consumer's process end, because the coordinator does not let it join.

        The refusal is written to the log as something that the group did, with the reason by Kafka's name or
        in words.
        """
        self.note("refused", self.consumers[consumer].name, reason=reason)
        self.end_process(consumer)

    def protocols(self, strategy: str) -> frozenset[RebalanceProtocol]:
        """Return the rebalance protocols of a strategy; none if it is the broker's (KIP-848)."""
        if strategy not in self._protocols:
            self._protocols[strategy] = get_assignor(strategy).protocols
        return self._protocols[strategy]

    def number_of(self, name: str) -> int:
        """Return the number of a consumer that has run."""
        return self._number[name]

    def is_running(self, name: str) -> bool:
        """Return whether a process of the consumer with this name runs."""
        return self._number.get(name) in self._running

    def note(self, what: str, subject: str | None = None, **detail: Any) -> None:
        """Write a line to the event log, at the present time.

        `detail` must hold JSON types only, because the log is written as lines of JSON and compared byte by
        byte.
        """
        self.log.append(LogEntry(self.now_ms, what, subject, detail))

    def note_rebalance(
        self, generation: int, started_ms: float, causes: tuple[str, ...], moved: int, step: HistoryStep
    ) -> Rebalance:
        """Write a new generation, or an epoch with its target, to log and history; return its rebalance.

        Args:
            generation: the number of the generation or of the epoch.
            started_ms: the time of its first cause.
            causes: its causes in words, in the order of time.
            moved: how many partitions go from one consumer to another.
            step: the assignment.
        """
        self.note(
            "generation", number=generation, members=len(step.members), moved=moved, causes=list(causes)
        )
        # The history stores only differences. The rebalance has the number of its step, by which it finds its
        # assignment there.
        number = self.history.record(step)
        return Rebalance(generation, started_ms, self.now_ms, causes, moved, self.history, number)

    @property
    def running(self) -> Sequence[Consumer]:
        """The consumers whose processes run, in the order in which they started."""
        return [self.consumers[number] for number in self._running]
