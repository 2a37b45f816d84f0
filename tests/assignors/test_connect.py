"""Kafka Connect's assignors: equal to the classes, and what that means for workers that come and go."""

from __future__ import annotations

import pytest

from assignors import Group, Member, Topic, get_assignor, list_assignors
from assignors.connect import ConnectIncrementalAssignor
from partitioning.errors import InvalidConfigError, InvalidGroupError
from tests.support.agreement import assert_agree
from tests.support.tasks import connect_difference, golden_lines

WORKERS = [Member(name, []) for name in ("w1", "w2", "w3")]
CONNECTORS = [Topic("sink", 4), Topic("source", 2)]


@pytest.mark.sampled
@pytest.mark.parametrize("assignor", ["connect-eager", "connect-incremental"])
def test_it_answers_as_the_class_of_connect_did(assignor: str) -> None:
    assert_agree(connect_difference(assignor, life) for life in golden_lines(assignor, every=40))


@pytest.mark.slow
def test_what_is_recorded_has_every_kind_of_round() -> None:
    lives = list(golden_lines("connect-incremental", every=1))
    steps = [step for life in lives for step in life["steps"]]
    assert len(steps) >= 2_000
    assert sum("revoked" in step for step in steps) >= 200
    assert sum(0 < step["delay_ms"] < life["max_delay_ms"] for life in lives for step in life["steps"]) >= 20
    assert sum(step["completed"] not in {-1, step["generation"] - 1} for step in steps) >= 20
    assert {40, 1600, 64000} <= {step["delay_ms"] for step in steps}


def settled(leader: ConnectIncrementalAssignor) -> Group:
    """Two workers that share everything."""
    group = Group(CONNECTORS, WORKERS[:2])
    told = leader.assign_at(group, 1_000)
    assert told.delay_ms == 0
    assert not told.assignment.unassigned
    return group.next(told.assignment)


def test_a_new_worker_gets_in_the_second_round_what_the_first_revokes() -> None:
    leader = ConnectIncrementalAssignor()
    group = settled(leader)
    group = Group(group.topics, [*group.members, WORKERS[2]], generation=group.generation)
    first = leader.assign_at(group, 2_000)
    assert {worker: len(some) for worker, some in first.revoked.items()} == {"w1": 1, "w2": 1}
    assert sorted(first.assignment.unassigned) == sorted(
        one for some in first.revoked.values() for one in some
    )
    second = leader.assign_at(group.next(first.assignment), 2_000)
    assert [len(mine) for mine in second.assignment.values()] == [3, 3, 2]
    assert not second.revoked


def test_what_a_lost_worker_ran_waits_for_it_and_then_goes_to_who_came_without_anything() -> None:
    leader = ConnectIncrementalAssignor()
    group = settled(leader)
    lost = list(group.members[1].owned)
    group = Group(group.topics, group.members[:1], generation=group.generation)
    waiting = leader.assign_at(group, 10_000)
    assert waiting.delay_ms == 300_000
    assert sorted(waiting.assignment.unassigned) == sorted(lost)
    group = group.next(waiting.assignment, join=[WORKERS[2]])
    early = leader.assign_at(group, 70_000)
    assert early.delay_ms == 240_000
    over = leader.assign_at(group.next(early.assignment), 310_000)
    assert sorted(over.assignment["w3"]) == sorted(lost)


def test_each_assignment_is_the_round_at_the_end_of_the_delay_before() -> None:
    leader = get_assignor("connect-incremental", max_delay_ms=60_000)
    group = Group(CONNECTORS, WORKERS[:2])
    group = group.next(leader.assign(group), leave=["w2"])
    waiting = leader.assign(group)
    assert len(waiting.unassigned) == 4
    assert not leader.assign(group.next(waiting)).unassigned


def test_a_cluster_without_workers_runs_nothing() -> None:
    for name in ("connect-eager", "connect-incremental"):
        assert dict(get_assignor(name).assign(Group(CONNECTORS, []))) == {}


def test_the_topic_of_a_connector_itself_needs_that_connector() -> None:
    group = Group([Topic("connector:gone", 1)], WORKERS)
    for name in ("connect-eager", "connect-incremental"):
        with pytest.raises(InvalidGroupError, match="'connector:gone' represents a connector itself"):
            get_assignor(name).assign(group)


def test_a_delay_below_zero_is_refused() -> None:
    with pytest.raises(InvalidConfigError, match="max_delay_ms is -1"):
        get_assignor("connect-incremental", max_delay_ms=-1)


def test_they_are_listed_as_those_of_connect() -> None:
    origins = {info.name: info.origin for info in list_assignors()}
    assert origins["connect-eager"] == origins["connect-incremental"] == "built-in, of Kafka Connect"
