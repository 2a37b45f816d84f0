"""Run a scenario: choose the kind of group, make the events in order, and upgrade or downgrade the group.

The main loop takes steps from two sources. The agenda has what people and machines do to the group; the
engine has what the group does by itself. The loop always takes the earlier step of the two. If both are due
at one time, the engine's step comes first. Times are milliseconds of the run.
"""

import gc
import math
from collections.abc import Iterable, Iterator, Sequence
from os import PathLike

from copartition.simulation.agenda import Agenda
from copartition.simulation.group.classic_protocol import ClassicProtocol
from copartition.simulation.group.consumer_protocol import ConsumerProtocol
from copartition.simulation.group.leader import Decisions, speaks_consumer_protocol
from copartition.simulation.group.memberships import Handover, RebalanceReason
from copartition.simulation.group.world import Engine, World
from copartition.simulation.inputs.events import (
    EVENT_NAMES,
    Consumer,
    Crash,
    Create,
    DuplicateInstance,
    Failover,
    Grow,
    Join,
    Leave,
    Primitive,
    Reassign,
    SlowNetwork,
    SlowPoll,
    Stall,
)
from copartition.simulation.inputs.scenario import Scenario
from copartition.simulation.outcome.result import LogEntry, SimulationResult
from copartition.simulation.outcome.summary import sum_up
from copartition.simulation.outcome.timeline import Phase
from copartition.simulation.records.flow import RecordFlow
from partitioning.errors import ScenarioError

STEPS = 1_000
STEPS_EACH = 10
"""A group must come to rest within `STEPS` steps and `STEPS_EACH` more for each consumer and each event.

A step is one call of `Engine.advance`: a barrier that opens, a session that ends, a growth that is noticed.
Steps are counted from the last event of the scenario. If a group takes more steps, it is assumed to move
forever, and the run is refused.
"""
MOST_STEPS = 2**20
"""The most steps after an event in a run that `until_ms` ends, even if its group never comes to rest."""
MINUTE_MS = 60_000
"""For each such time without an event, a run that `until_ms` ends may take the allowed steps once more.

Without this limit on the pace, a group that rebalances every few milliseconds for hours would take many
minutes to simulate.
"""


class Run:
    """A scenario under way: its world, its agenda, and the engine of its present kind of group.

    `to_end` is the main loop. It sets `world.now_ms`, which never goes back. The agenda sees the group
    through the properties and methods of this class, which bring the ledger and the records up to the present
    when they are read.
    """

    def __init__(self, scenario: Scenario, decisions: Decisions) -> None:
        """Make a group that is stable at time 0.

        If one consumer speaks the consumer protocol, the group is a consumer group. Without consumers, the
        scenario's assignor decides which kind of group it is.

        `decisions` may be shared with runs of the same scenario under other seeds. Their assignors are then
        not called again for a question that was answered before.
        """
        world = self.world = World(scenario)
        self._decisions = decisions
        if consumers := scenario.consumers:
            modern = any(speaks_consumer_protocol(consumer, world) for consumer in consumers)
        else:
            # Without consumers no member has chosen a protocol yet. A strategy that only the broker has does
            # not belong to the classic protocol, so a scenario that names it means a consumer group.
            modern = not world.protocols(scenario.assignor)
        self.engine: Engine = (
            ConsumerProtocol(world, decisions, self._downgrade)
            if modern
            else ClassicProtocol(world, decisions, self._upgrade)
        )
        self.engine.begin()
        self.agenda = Agenda(scenario)

    def to_end(self) -> SimulationResult:
        """Make all steps, those of the scenario's events and those of the group by itself; return the result.

        If an event and a step of the group are due at the same time, the group's step is made first: the
        group decided on that step before it knew of the event. `steps` counts the group's own steps since the
        last event, so the run is refused only if the group keeps moving by itself.

        Raises:
            ScenarioError: the group does not come to rest.
        """
        world, agenda, scenario = self.world, self.agenda, self.world.scenario
        until_ms = math.inf if scenario.until_ms is None else scenario.until_ms
        steps, last_event_ms = 0, 0.0
        while True:
            # Events that wait for a refused commit come first: they may end a process before it does anything
            # else.
            for event in agenda.reactions(self):
                self.happen(event)
            event_ms, own_ms = agenda.next_ms(), self.engine.next_ms()
            now_ms = min(event_ms, own_ms)
            # The run ends if nothing is left to happen before its end. A run without `until_ms` lasts until
            # the last partition has caught up, so that its figures include the recovery.
            if now_ms == math.inf or now_ms > until_ms:
                world.now_ms = self.at_rest_ms() if scenario.until_ms is None else until_ms
                self.settle()
                return sum_up(world, agenda.unmet)
            world.now_ms = now_ms
            if own_ms <= event_ms:
                if steps >= self._most_steps(now_ms - last_event_ms):
                    raise _never_at_rest(world, steps)
                self.engine.advance()
                steps += 1
                continue
            # Events of the same time are made one after the other, since the first may make the second
            # impossible.
            steps, last_event_ms = 0, now_ms
            for event in agenda.due(now_ms, self):
                self.happen(event)

    def _most_steps(self, since_ms: float) -> int:
        """Return how many steps a group may make by itself within `since_ms` after the last event."""
        scenario = self.world.scenario
        most = STEPS + STEPS_EACH * (len(scenario.consumers) + len(scenario.events))
        if scenario.until_ms is None:
            return most
        # A scenario with `until_ms` may describe a group that never rests. A group that takes more steps than
        # this repeats itself without end, as a group of librdkafka does whose members pass a partition to
        # each other.
        return min(most * (1 + int(since_ms / MINUTE_MS)), MOST_STEPS)

    def happen(self, event: Primitive) -> None:
        """Let an event happen at the present time: write it to the log, and notify the engine.

        The log line is written before the engine acts, so that the engine's own lines about the event follow
        it. New partitions are added to the ledger here, without a reader; the engine is only notified that
        they exist.
        """
        world, now_ms, engine = self.world, self.now_ms, self.engine
        match event:
            case Join(consumer=consumer):
                world.note("join", consumer.name)
                engine.start(world.start_process(consumer), now_ms)
            case Leave(consumer=name) | Crash(consumer=name):
                world.note(EVENT_NAMES[type(event)], name)
                # The process ends before the engine is called, because the engine may ask which processes
                # run, and must not find this one.
                number = world.number_of(name)
                world.end_process(number)
                engine.stop(number, now_ms, cleanly=isinstance(event, Leave))
            case Grow(topic=topic, partitions=count) | Create(topic=topic, partitions=count):
                world.note(EVENT_NAMES[type(event)], topic, partitions=count)
                new = world.partitions.grow(topic, count)
                cause = world.ledger.cause(f"{topic} has {count} partitions")
                world.ledger.add_partitions(new, now_ms, Phase.UNNOTICED, cause)
                engine.on_growth(world.partitions.topic(topic), created=isinstance(event, Create))
            case Reassign(topic=topic, racks=racks):
                world.note("reassign", topic, racks=[list(of_partition) for of_partition in racks])
                engine.on_racks(world.partitions.reassign(topic, racks))
            case SlowPoll(consumer=name, for_ms=for_ms) | Stall(consumer=name, for_ms=for_ms):
                assert isinstance(for_ms, float)  # the agenda has drawn the length
                world.note(EVENT_NAMES[type(event)], name, for_ms=for_ms)
                # A stalled process stands still as a whole. During a slow poll only the application stands
                # still, and heartbeats go on.
                befall = engine.stall if isinstance(event, Stall) else engine.slow_poll
                befall(world.number_of(name), now_ms, now_ms + for_ms)
            case SlowNetwork(consumer=name, for_ms=for_ms, network_ms=network_ms):
                assert isinstance(for_ms, float)  # the agenda has drawn the length
                world.note("slow-network", name, for_ms=for_ms, network_ms=network_ms)
                world.slow_network(world.number_of(name), now_ms + for_ms, network_ms)
            case DuplicateInstance(consumer=name):
                world.note("duplicate-instance", name)
                engine.duplicate(world.number_of(name), now_ms)
            case Failover(down_ms=down_ms):
                assert isinstance(down_ms, float)  # the agenda has drawn the length
                world.note("failover", down_ms=down_ms)
                engine.failover(now_ms, now_ms + down_ms)

    def _upgrade(self, handover: Handover, consumer: int, since_ms: float) -> None:
        """Go on as a consumer group, which a consumer joins that has been ready since `since_ms`.

        The engine of the classic group is dropped, and its timers never run again. The consumer joins the new
        group last, after the members that come from the old one.
        """
        self.world.note("upgrade", generation=handover.generation)
        engine = self.engine = ConsumerProtocol(self.world, self._decisions, self._downgrade)
        engine.adopt(handover)
        engine.start(consumer, since_ms)

    def _downgrade(self, handover: Handover, reason: RebalanceReason | None) -> Engine:
        """Go on as a classic group, which rebalances now if there is a reason; return its engine.

        There is a reason if a member left or was dropped, because its partitions need owners. `reason` is
        None if the group goes on with the assignment it has, as after the last member of the consumer
        protocol was replaced.
        """
        self.world.note("downgrade", generation=handover.generation)
        engine = self.engine = ClassicProtocol(self.world, self._decisions, self._upgrade)
        engine.adopt(handover, reason)
        return engine

    @property
    def now_ms(self) -> float:
        """The present time, in milliseconds of the run."""
        return self.world.now_ms

    @property
    def log(self) -> Sequence[LogEntry]:
        """The lines of the event log so far."""
        return self.world.log

    @property
    def running(self) -> Sequence[Consumer]:
        """The consumers whose processes run, in the order in which they started."""
        return self.world.running

    def is_running(self, name: str) -> bool:
        """Return whether a process of the consumer with this name runs."""
        return self.world.is_running(name)

    @property
    def members(self) -> int:
        """The number of members of the group, including dead ones whose session has not ended yet.

        Conditions call it `members` (`copartition.simulation.inputs.events.Condition`).
        """
        return self.engine.members

    @property
    def unread(self) -> int:
        """The number of partitions that exist and are not read now."""
        self.settle()
        return self.world.ledger.now.unread

    def lag(self) -> float:
        """Return the number of records behind, summed over all partitions; NaN without a load."""
        flow = self.settle()
        return math.nan if flow is None else flow.lag()

    def partition_lag(self) -> float:
        """Return the number of records behind in the partition that is most behind; NaN without a load."""
        flow = self.settle()
        return math.nan if flow is None else flow.partition_lag()

    def at_rest_ms(self) -> float:
        """Return the time at which the last partition is open and has caught up, if nothing else happens.

        An open transaction counts too: the time is not before its end. A partition that never catches up does
        not count.

        This moves the clock of the world to the end of the last handover, and no timer of the engine runs any
        more. Call it only if neither the agenda nor the engine has anything left to do.
        """
        world = self.world
        world.now_ms = max(world.now_ms, world.ledger.now.open_at_ms())
        flow = self.settle()
        caught_up_ms = math.inf if flow is None else flow.caught_up_ms()
        return caught_up_ms if caught_up_ms < math.inf else world.now_ms

    def settle(self) -> RecordFlow | None:
        """Bring the ledger and the records up to now; return the records, None without a load.

        The engine comes first, since it may still have to write stops of members that wait at the barrier.
        The ledger's folds then see everything that has happened up to now.
        """
        self.engine.settle(self.now_ms)
        self.world.ledger.catch_up(self.now_ms)
        return self.world.ledger.flow


def simulate(scenario: Scenario | str | PathLike[str]) -> SimulationResult:
    """Run a scenario, or a scenario file, until nothing is left to happen; one seed gives one result.

    The model: a rebalance starts when the coordinator hears of its cause. Members learn of it at their next
    heartbeat and join as soon as their application polls. The barrier waits for the last member to join, or
    for the session of a dead member to end. Heartbeats are in step after a rebalance, and drift apart as
    clients of their kind do. Under the eager protocol, and always with kafka-python, a member stops reading
    all its partitions when it rejoins, until it has its assignment. Under the cooperative protocol it stops
    reading only the partitions that it must give up, until the follow-up rebalance. While a callback runs, it
    reads nothing. Under the consumer protocol (KIP-848) there is no barrier: the coordinator assigns, and
    each member gives up and gets partitions at its own heartbeats. The strategy itself is the real one.
    `Scenario.costs` says what else takes time.

    >>> crash = {"event": "crash", "at_ms": "1 min", "consumer": "worker-1"}
    >>> scenario = Scenario.from_dict({"topics": {"orders": 4}, "consumers": 2, "events": [crash]})
    >>> round(simulate(scenario).summary.longest_pause_ms)  # its session has to end first
    46621

    Raises:
        ScenarioError: the strategy belongs to a protocol that is not modelled, or the group never comes to
            rest under it; or the file is at fault, see `Scenario.from_file`.
        UnknownStrategyError: there is no strategy of that name.
        AssignorError: the strategy cannot assign partitions in such a group.
    """
    plan = scenario if isinstance(scenario, Scenario) else Scenario.from_file(scenario)
    return _run(plan, Decisions(shared=False))


def simulate_seeds(scenario: Scenario, seeds: Iterable[int]) -> Iterator[SimulationResult]:
    """Run a scenario once for each seed, as `simulate` does, in a fraction of the time of separate calls.

    Runs share the assignor's answer if the same consumers have joined and left between the same rebalances so
    far. Do not use this with an assignor that is not deterministic.

    Results are computed one by one, as the caller asks for them, in the order of `seeds`. So a caller that
    keeps only the summaries never holds more than one result in memory.

    >>> crash = {"event": "crash", "at_ms": "1 min", "consumer": "worker-1"}
    >>> scenario = Scenario.from_dict({"topics": {"orders": 4}, "consumers": 2, "events": [crash]})
    >>> [round(result.summary.longest_pause_ms) for result in simulate_seeds(scenario, range(3))]
    [46621, 47018, 47270]

    Raises:
        ScenarioError, UnknownStrategyError, AssignorError: see `simulate`.
    """
    return simulate_moments(scenario, ((seed, scenario.settled_ms) for seed in seeds))


def simulate_moments(scenario: Scenario, moments: Iterable[tuple[int, float]]) -> Iterator[SimulationResult]:
    """Run a scenario once for each pair of a seed and a `settled_ms`, in order, as `simulate_seeds` does.

    Neither the seed nor `settled_ms` changes who joins or leaves, so the runs share the assignor's answers.

    Raises:
        ScenarioError, UnknownStrategyError, AssignorError: see `simulate`.
    """
    # An answer that is taken from an earlier run takes no time, so "measured" would measure nothing.
    decisions = Decisions(shared=scenario.costs.assignor_ms != "measured")
    for seed, settled_ms in moments:
        yield _run(scenario.at_moment(seed, settled_ms), decisions)


def _run(scenario: Scenario, decisions: Decisions) -> SimulationResult:
    """Return the result of one run, which is made without garbage collection.

    A run makes thousands of objects, and hardly any of them are in cycles, so collections would cost time and
    free little. Collection is switched off for the whole process, so other threads go without it too. It is
    switched on again afterwards if it was on before.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        return Run(scenario, decisions).to_end()
    finally:
        if collects:
            gc.enable()


def _never_at_rest(world: World, steps: int) -> ScenarioError:
    """Return the error for a group that is not at rest after so many steps of its own."""
    done = world.history.rebalances
    last = f", the last one because of: {', '.join(done[-1].causes)}" if done else ""
    return ScenarioError(
        f"the group is not at rest {steps:,} steps after anything last happened to it: at "
        f"{world.now_ms:,.0f} ms it has been through {len(done):,} rebalances{last}; let until_ms end the "
        "run earlier if that is meant, as where batches last longer than max.poll.interval.ms; or does "
        f"assignor {world.scenario.assignor!r} answer otherwise when it is asked again?"
    )
