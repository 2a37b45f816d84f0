"""Diffs and runs that every report is made from."""

import math
from dataclasses import replace
from functools import cache

import fastjsonschema
import numpy as np
import pytest

from assignors.assignment import Assignment
from assignors.group import Topic
from assignors.state import GroupState, MemberIdentity
from copartition.assignment_diff import WhatIf, diff, plan
from copartition.assignment_diff.report.json import diff_schema
from copartition.deploys.answer import Range, Stops
from copartition.kit.evidence import Evidence
from copartition.simulation import Consumer, Crash, Join, Scenario, simulate
from partitioning.topic_partition import TopicPartition
from tests.support.diffs import shuffled


@pytest.fixture(scope="session")
def validate():
    """What refuses a diff as JSON that is not as its schema says."""
    return fastjsonschema.compile(diff_schema())


def orders(numbers):
    return [TopicPartition("orders", number) for number in numbers]


@pytest.fixture(scope="session")
def grown():
    """Six members of twenty partitions each; two join and take the last five of everybody."""
    before = {f"worker-{m}": orders(range(20 * m, 20 * m + 20)) for m in range(6)}
    after = {name: mine[:15] for name, mine in before.items()}
    after["worker-6"] = [partition for m in range(3) for partition in before[f"worker-{m}"][15:]]
    after["worker-7"] = [partition for m in range(3, 6) for partition in before[f"worker-{m}"][15:]]
    return diff(before, after)


@pytest.fixture
def planned(strangers):
    """One member of two leaves, one joins, and the topic grows by a partition."""
    return _planned_once()


def plan_anew():
    """The same plan, of which nobody has asked anything yet; `strangers` are known."""
    before = GroupState.of(Assignment.of({"a": orders(range(6)), "gone": orders([6])}))
    what_if = WhatIf(add_members=1, remove_members=("gone",), partitions={"orders": 8})
    return diff(before, plan(before, "even", what_if), match="member-id")


_planned_once = cache(plan_anew)


@pytest.fixture(scope="session")
def large():
    """A hundred thousand partitions of two thousand members, all of which move."""
    return shuffled(2_000, 100_000)


@pytest.fixture(scope="session")
def unchanged():
    group = {"a": orders([0, 1]), "b": orders([2])}
    return diff(group, group)


@pytest.fixture(scope="session")
def odd():
    """Names that are markup somewhere, an idle member, a conflict, a rename, lost and gained partitions."""
    before = {
        "<b>|*": orders([0, 1, 2, 3]),
        "old": orders([4, 5]),
        "gone": orders([6]),
        "zombie": orders([0]),
    }
    after = {"<b>|*": orders([0, 1, 2]), "new": orders([4, 5]), "idle": [], "zombie": orders([7])}
    return diff(before, after)


@pytest.fixture(scope="session")
def runs():
    """One crash and one join, under three strategies."""
    consumers = tuple(Consumer(f"worker-{number}") for number in range(4))
    events = (Crash(10_000, "worker-1"), Join(90_000, Consumer("late")))
    return [
        simulate(Scenario((Topic("orders", 12),), consumers, events, assignor, name="a <crash>"))
        for assignor in ("range", "sticky", "cooperative-sticky")
    ]


@pytest.fixture(scope="session")
def quiet_run():
    return simulate(Scenario((Topic("orders", 4),), (Consumer("a"),)))


@pytest.fixture(scope="session")
def empty_diff():
    nobody = GroupState.of({})
    return diff(nobody, nobody)


@pytest.fixture(scope="session")
def named():
    """A group with a name, a status and a warning."""
    state = GroupState.of({"m": orders([0])})
    kwargs = {"name": "billing", "status": "Stable", "warnings": ("half of it is missing",)}
    identity = (MemberIdentity("m", client_id="app"),)
    full = GroupState(identity, state.topics, state.member, state.topic, state.partition, **kwargs)
    return diff(full, full)


@pytest.fixture(scope="session")
def assuming():
    """A group that does not change, of which something is assumed."""
    state = replace(GroupState.of({"m": orders([0, 1])}), assumed=("everybody subscribes to orders",))
    return diff(state, state)


@pytest.fixture
def with_stops(grown):
    """A diff with made-up costs, a check-list of what reports tell of them."""
    made = replace(grown)
    made.__dict__["stops"] = (
        made_stops("crash w", seconds=(5_500.0, 5_580.0), longest_ms=(44_000.0, 46_500.0), at_once=120.0),
        made_stops("leave w", seconds=(30.0, math.inf), longest_ms=(2_000.0, math.inf), at_once=30.0),
    )
    return made


def made_stops(happens, *, seconds, longest_ms, at_once, new=0, new_ms=(0.0, 0.0)):
    """Costs under eager with these least and most figures."""
    return Stops(
        happens=happens,
        pace="nothing but waiting takes time",
        protocol="eager",
        protocol_after="eager",
        runs=30,
        partitions=120,
        rebalances=Range(1.0, 1.0),
        partition_seconds=Range(*seconds),
        longest_pause_ms=Range(*longest_ms),
        stopped_at_once=Range(at_once, at_once),
        all_stopped=Range(1.0, 1.0),
        new_partitions=new,
        new_ms=Range(*new_ms),
        static_restarts=0,
        ground=Evidence(("30 runs of the simulator",)),
    )


@cache
def a_crowd(members, partitions=20, *, prefix="billing-service-prod-7f9c4d8b6-", shuffled=False, seed=0):
    """Every member hands its partitions to the next; shuffled: to anybody."""
    total = members * partitions
    names = tuple(
        MemberIdentity(f"{prefix}{number:04}-{number % 7}", client_id=f"{prefix}{number:04}")
        for number in range(members)
    )
    owner = np.arange(total) * members // total
    later = np.random.default_rng(seed).permutation(owner) if shuffled else (owner + 1) % members
    topic, number = (column.astype(np.int32) for column in np.divmod(np.arange(total), (total + 1) // 2))
    sides = (
        GroupState(
            names,
            ("orders", "payments"),
            side.astype(np.int32),
            topic,
            number,
            lag=np.full(total, 10),
            complete=True,
            members_complete=True,
        )
        for side in (owner, later)
    )
    return diff(*sides, match="member-id")
