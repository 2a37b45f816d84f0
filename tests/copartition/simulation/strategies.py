"""Scenarios of every kind, for properties that hold of any run."""

from __future__ import annotations

from dataclasses import replace
from math import inf

from hypothesis import reject
from hypothesis import strategies as st

from assignors.group import Topic
from copartition.simulation import (
    Autoscaler,
    Condition,
    Consumer,
    Costs,
    Crash,
    CrashLoop,
    Create,
    Deployment,
    DuplicateInstance,
    Exponential,
    Failover,
    Grow,
    Join,
    Leave,
    Load,
    LogNormal,
    Reassign,
    Restart,
    RollingRestart,
    ScaleTo,
    Scenario,
    Settings,
    SlowNetwork,
    SlowPoll,
    Stall,
    StatefulSetRoll,
    Uniform,
)
from partitioning.errors import ScenarioError

CLASSIC = ("range", "roundrobin", "sticky", "cooperative-sticky")
BROKER_SIDE = ("uniform", "broker-range")
TIMES = st.sampled_from([0.0, 0.5, 500.0, 2_000.0, 3_000.0, 20_000.0, 45_000.0, 70_000.0, 400_000.0])
LENGTHS = TIMES | st.sampled_from(
    [Uniform(0, 9_000), Uniform(60_000, 60_000), Exponential(20_000), LogNormal(2_000, 20_000)]
)
SETTINGS = (
    Settings(),
    Settings(session_timeout_ms=10_000, auto_commit_interval_ms=1_000),
    Settings(max_poll_interval_ms=30_000, metadata_max_age_ms=10_000, transaction_timeout_ms=10_000),
    Settings(session_timeout_ms=6_000, heartbeat_interval_ms=2_000, group_initial_rebalance_delay_ms=0),
    Settings(scheduled_rebalance_max_delay_ms=60_000, group_consumer_assignment_interval_ms=0),
    Settings(group_consumer_session_timeout_ms=6_000, group_consumer_heartbeat_interval_ms=2_000),
)
COSTS = (
    Costs(),
    Costs(network_ms=5),
    Costs(poll_ms=Uniform(0, 1_000), network_ms=5),
    Costs(poll_ms=Exponential(9_000), revoke_ms=50, assign_ms=70, assignor_ms=500),
    Costs(partition_ms=40, first_fetch_ms=60, assign_ms=Uniform(0, 9_000)),
    Costs(revoke_ms=LogNormal(500, 5_000), first_fetch_ms=Exponential(300), network_ms=40, assignor_ms=3_000),
)
NAMES = tuple(f"c{number}" for number in range(5))
MADE = ("c1-r2", "c0-r2", "c5", "c6")
"""Names that deployments and scaling give."""


@st.composite
def consumers(draw, name, topics, clients, strategies):
    """A consumer of any kind."""
    subscribed = draw(
        st.sampled_from(
            [{}, {}, {}, {"topics": ("pay",)}, {"topics": topics}, {"pattern": "(orders|late).*"}]
        )
    )
    client = draw(st.sampled_from(clients))
    closes = ("default", "leave-group", "remain-in-group") if client == "java" else ("default",)
    return Consumer(
        name,
        static=draw(st.booleans()),
        client=client,
        close=draw(st.sampled_from(closes)),
        assignors=draw(strategies),
        rack=draw(st.sampled_from([None, "a", "b"])),
        beat_ms=draw(st.sampled_from([None, None, None, 0.0, 1_234.0])),
        **subscribed,
    )


@st.composite
def loads(draw):
    """Records, or none."""
    return draw(
        st.none()
        | st.builds(
            Load,
            st.sampled_from([0, 1, 100, {"orders": 10, "pay": 3.5}, {"orders": 1_000}]),
            st.sampled_from([float("inf"), 5_000, 450, 100, 3]),
            st.sampled_from([1, 500]),
            st.sampled_from(["after", "before"]),
            st.booleans(),
            st.booleans(),
            st.sampled_from([0, 0, 1.1]),
            st.sampled_from([0, 0, 70, {"pay": (3, 900)}]),
            st.sampled_from(["earliest", "latest"]),
        )
    )


class _Course:
    """What is known about consumers and topics while a scenario is drawn."""

    def __init__(self, draw, strategies, people, present, counts):
        self.draw = draw
        self.strategies = strategies
        self.people = people
        self.counts = counts
        self.back_at = {consumer.name: 0.0 if consumer in present else None for consumer in people}

    def event(self, kind, at_ms, now):  # noqa: C901, PLR0911 - a kind of event each
        """One event; None where it cannot be."""
        draw = self.draw
        if kind in {Leave, Crash, SlowPoll, Stall, SlowNetwork, DuplicateInstance, Restart, CrashLoop}:
            return self._by_name(kind, at_ms, now)
        if kind is Join:
            away = [absent for absent in self.people if self.back_at[absent.name] is None]
            if not away:
                return None
            consumer = draw(st.sampled_from(away))
            self.back_at[consumer.name] = now
            return Join(at_ms, consumer)
        if kind is Grow:
            topic = draw(st.sampled_from(sorted(self.counts)))
            self.counts[topic] += draw(st.integers(1, 5))
            return Grow(at_ms, topic, self.counts[topic])
        if kind is Create:
            name = f"late{len(self.counts)}"
            self.counts[name] = draw(st.integers(1, 4))
            return Create(at_ms, name, self.counts[name])
        if kind is Reassign:
            topic = draw(st.sampled_from(sorted(self.counts)))
            return Reassign(at_ms, topic, ((draw(st.sampled_from("ab")),),) * self.counts[topic])
        if kind is Failover:
            return Failover(at_ms, draw(LENGTHS))
        assignors = draw(self.strategies)
        if kind is RollingRestart:
            return RollingRestart(
                at_ms=at_ms, every_ms=draw(TIMES), down_ms=draw(LENGTHS), assignors=assignors
            )
        if kind is StatefulSetRoll:
            return StatefulSetRoll(at_ms, draw(LENGTHS), draw(LENGTHS), assignors)
        if kind is Deployment:
            surge, unavailable = draw(st.sampled_from([(1, 0), (0, 1), (2, 2), (9, 9)]))
            return Deployment(at_ms, surge, unavailable, draw(LENGTHS), draw(LENGTHS), assignors)
        if kind is ScaleTo:
            return ScaleTo(at_ms, draw(st.integers(0, 7)), draw(LENGTHS))
        return Autoscaler(
            at_ms,
            draw(st.sampled_from([0.5, 100, 1e5])),
            draw(st.sampled_from([1_000, 30_000])),
            draw(TIMES),
            draw(st.integers(0, 2)),
            draw(st.sampled_from([100, 2, 8])),
            draw(LENGTHS),
        )

    def _by_name(self, kind, at_ms, now):
        draw = self.draw
        here = [
            consumer
            for consumer in self.people
            if (since := self.back_at[consumer.name]) is not None
            and since <= now
            and (consumer.static or kind is not DuplicateInstance)
        ]
        if not here:
            return None
        name = draw(st.sampled_from(here)).name
        if kind in {Leave, Crash}:
            self.back_at[name] = None
        elif kind is Restart:
            lasts = draw(LENGTHS)
            self.back_at[name] = now + lasts if isinstance(lasts, float) else float("inf")
            return Restart(at_ms, name, lasts, draw(self.strategies))
        elif kind is CrashLoop:
            self.back_at[name] = float("inf")
            times, backoff, most = draw(st.integers(1, 4)), draw(TIMES), draw(TIMES)
            return CrashLoop(at_ms, name, times, draw(LENGTHS), backoff, most)
        elif kind in {SlowPoll, Stall}:
            return kind(at_ms, name, draw(LENGTHS))
        elif kind is SlowNetwork:
            return SlowNetwork(at_ms, name, draw(LENGTHS), draw(TIMES))
        return kind(at_ms, name)


BASIC = (
    *(Join, Leave, Crash, Restart, SlowPoll, Stall, SlowNetwork),
    *(Failover, DuplicateInstance, Grow, Create, Reassign),
)
WIDE = (RollingRestart, StatefulSetRoll, Deployment, ScaleTo, Autoscaler, CrashLoop)


@st.composite
def scenarios(draw, *, broker_side=True):
    """Groups of up to five consumers to which something happens every now and then, or several at once."""
    late = draw(st.none() | TIMES)
    named = ("orders",) if late is None else ("orders", "late")
    assignor = draw(st.sampled_from([*CLASSIC, *BROKER_SIDE] if broker_side else CLASSIC))
    if assignor in CLASSIC:
        clients = ["java", "java", "librdkafka", "kafka-python", "connect"]
        lists = [
            None,
            (assignor,),
            ("cooperative-sticky", assignor),
            (assignor, "range", "cooperative-sticky"),
        ]
    else:
        clients = ["java", "java", "librdkafka"]
        lists = [None, (assignor,), *((name,) for name in BROKER_SIDE)]
    strategies = st.sampled_from(lists)
    people = [draw(consumers(name, named, clients, strategies)) for name in NAMES]
    if draw(st.integers(0, 3)) == 0:
        strategies = st.sampled_from([*lists, *((name,) for name in (*CLASSIC, *BROKER_SIDE))])
    if draw(st.booleans()):
        people = [Consumer(consumer.name, consumer.static, client=consumer.client) for consumer in people]
    load = draw(loads())
    if load is not None and load.capacity < inf and draw(st.booleans()):
        people = [replace(consumer, capacity=draw(st.sampled_from([None, 40, 900]))) for consumer in people]
    present = people[: draw(st.integers(0, len(people)))]
    topics = (
        Topic("orders", draw(st.integers(1, 7))),
        Topic("pay", 2, racks=[["a"], ["b", "a"]] if draw(st.booleans()) else None),
    )
    until_ms = draw(st.none() | st.sampled_from([0.0, 60_000.0, 100_000.5, 900_000.0]))
    kinds = draw(st.sampled_from([BASIC, (*BASIC, *WIDE)]))
    course = _Course(draw, strategies, people, present, {topic.name: topic.partitions for topic in topics})
    events, now = [] if late is None else [Create(late, "late", 3)], 0.0
    for _ in range(draw(st.integers(0, 7))):
        now += draw(TIMES)
        kind = draw(st.sampled_from(kinds))
        if kind is Autoscaler and (load is None or until_ms is None):
            continue
        at_ms = now
        if until_ms is not None and draw(st.integers(0, 9)) == 0:
            figures = ["unread", "members"] if load is None else ["lag", "partition_lag", "unread", "members"]
            limit = {draw(st.sampled_from(["above", "below"])): draw(st.sampled_from([0, 2, 50]))}
            at_ms = Condition(draw(st.sampled_from(figures)), **limit, for_ms=draw(TIMES))
        event = course.event(kind, at_ms, now)
        if event is not None:
            events.append(event)
    try:
        return Scenario(
            topics,
            tuple(present),
            tuple(events),
            assignor,
            draw(st.sampled_from(SETTINGS)),
            seed=draw(st.integers(0, 99)),
            settled_ms=draw(st.sampled_from([0, 3_600_000])),
            costs=draw(st.sampled_from(COSTS)),
            load=load,
            until_ms=until_ms,
        )
    except ScenarioError:  # the events cannot follow one another like that
        reject()
