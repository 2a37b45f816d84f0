"""Groups to which anything may happen: what holds of every consumer group (KIP-848), and at its end."""

from unittest import mock

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from assignors.group import Topic
from copartition.simulation import (
    Consumer,
    Costs,
    Crash,
    Create,
    Failover,
    Grow,
    Join,
    Leave,
    Phase,
    Scenario,
    SlowPoll,
    Stall,
    simulate,
)
from copartition.simulation.group.consumer_protocol import ConsumerProtocol
from copartition.simulation.run import Run
from partitioning.errors import ScenarioError
from tests.support.tiers import examples

NAMES = ("c0", "c1", "c2", "c3")
advance = ConsumerProtocol.advance


@st.composite
def lives(draw):
    """A scenario in which each event can happen when it does."""
    pattern = draw(st.sampled_from([None, "t.*"]))
    client = draw(st.sampled_from(["java", "librdkafka"]))
    consumers = {name: Consumer(name, draw(st.booleans()), pattern=pattern, client=client) for name in NAMES}
    running = set(NAMES[: draw(st.integers(0, 3))])
    start = tuple(consumers[name] for name in NAMES if name in running)
    events, now, count, topics = [], 0.0, 5, 1
    for _ in range(draw(st.integers(1, 10))):
        now += draw(st.sampled_from([0.0, 0.5, 700.0, 4_000.0, 9_000.0, 47_000.0, 130_000.0]))
        away = sorted(set(NAMES) - running)
        kind = draw(
            st.sampled_from(("join", "leave", "crash", "stall", "slow", "grow", "create", "failover"))
        )
        if (kind == "join" or not running) and away:
            running.add(name := draw(st.sampled_from(away)))
            events.append(Join(now, consumers[name]))
        elif kind in ("leave", "crash") and running:
            running.remove(name := draw(st.sampled_from(sorted(running))))
            events.append((Leave if kind == "leave" else Crash)(now, name))
        elif kind == "grow":
            count += draw(st.integers(1, 4))
            events.append(Grow(now, "t0", count))
        elif kind == "create" and pattern is not None:
            events.append(Create(now, f"t{topics}", draw(st.integers(1, 4))))
            topics += 1
        elif kind == "failover":
            events.append(Failover(now, draw(st.sampled_from([100, 7_000]))))
        elif running:
            name = draw(st.sampled_from(sorted(running)))
            lasts = draw(st.sampled_from([100, 3_000, 60_000, 400_000]))
            events.append((Stall if kind == "stall" else SlowPoll)(now, name, lasts))
    costs = draw(
        st.sampled_from(
            [Costs(), Costs(network_ms=4, assignor_ms=100), Costs(poll_ms=300, revoke_ms=200, assign_ms=50)]
        )
    )
    assignor = draw(st.sampled_from(["uniform", "broker-range"]))
    return Scenario(
        (Topic("t0", 5),), start, tuple(events), assignor, seed=draw(st.integers(0, 99)), costs=costs
    )


def lived(scenario):
    """The result, and the run at its end; what holds at any time is checked after every step."""
    runs = []

    def checked(engine):
        advance(engine)
        group, clients = engine._coordinator.group, engine._coordinator.clients
        for number, member in group.members.items():
            held = [partition for partition, holder in enumerate(group.holder) if holder == number]
            assert set(held) == member.assigned | member.revoking
            # What a client has is its own until the coordinator has heard that it has not.
            assert clients[number].gone or clients[number].owned <= set(held)

    def begun(run, *arguments):
        Run.__init__(run, *arguments)
        runs.append(run)

    run_type = type("Observed", (Run,), {"__init__": begun})
    with (
        mock.patch.object(ConsumerProtocol, "advance", checked),
        mock.patch("copartition.simulation.run.Run", run_type),
    ):
        try:
            return simulate(scenario), runs[0]
        except ScenarioError as error:  # it was refused, so what it would have done next cannot happen
            if "is not running at that time" not in str(error):
                raise
            reject()


@settings(deadline=None, max_examples=examples(150))
@given(lives())
def test_a_group_comes_to_rest_with_every_partition_read_by_the_member_it_is_meant_for(scenario):
    result, run = lived(scenario)
    world = run.world
    group, now = run.engine._coordinator.group, world.ledger.now
    running = {world.memberships.consumer[member] for member in group.members}
    assert (
        running == {world.number_of(consumer.name) for consumer in world.running if group.members}
        or not running
    )
    there = np.flatnonzero(now.phase)
    if group.members:
        assert group.epoch == group.target_epoch
        assert (now.phase[there] == Phase.CONSUMING).all()
        assert (now.owner[there] == group.target[there]).all()
    _, start, end = result.timeline.pauses()
    assert (end - start).sum() == pytest.approx(1_000 * result.summary.partition_seconds)


def test_the_assignments_of_the_rebalances_are_those_of_the_targets():
    compared = 0

    @settings(deadline=None, max_examples=examples(50))
    @given(lives())
    def compare_last(scenario):
        nonlocal compared
        result, run = lived(scenario)
        world, group = run.world, run.engine._coordinator.group
        for rebalance in result.rebalances:
            rebalance.assignment.to_arrays()
        last = result.rebalances[-1] if result.rebalances else None
        if last is not None and group.members and last.generation == group.target_epoch:
            # By consumer: a static one may have come back under another member id since.
            meant = {consumer.name: set() for consumer in last.consumers.values()}
            for partition in np.flatnonzero(group.target >= 0).tolist():
                consumer = world.memberships.consumers[group.target[partition]]
                meant[consumer.name].add(tuple(world.partitions.name(partition)))
            lists = {
                last.consumers[member].name: set(map(tuple, owned))
                for member, owned in last.assignment.items()
            }
            assert lists == meant
            compared += 1

    compare_last()
    assert compared
