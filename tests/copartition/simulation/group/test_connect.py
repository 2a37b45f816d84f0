"""Workers of Connect: what is lost is kept for `scheduled.rebalance.max.delay.ms` (KIP-415)."""

from dataclasses import replace

import pytest

from assignors import Topic
from copartition.simulation import (
    Consumer,
    Crash,
    Grow,
    Join,
    Leave,
    Scenario,
    Settings,
    SimulationResult,
    simulate,
)

WORKERS = tuple(Consumer(f"worker-{number}", client="connect") for number in range(3))
LOST = Scenario(
    topics=(Topic("tasks", 30),),
    consumers=WORKERS,
    events=(Crash(60_000, "worker-2"),),
    settings=Settings(session_timeout_ms=10_000),
)


def reads(result: SimulationResult) -> dict[str, int]:
    """How many tasks each worker has in the end."""
    last = result.steps[-1]
    return {last.consumers[member].name: len(tasks) for member, tasks in last.assignment.items()}


def test_the_tasks_of_a_lost_worker_wait_for_session_and_delay() -> None:
    result = simulate(LOST)
    partitions, starts, ends = result.timeline.pauses()
    assert len(partitions) == 10
    assert (starts == 60_000).all()
    # A session after the last heartbeat, a barrier of at most a heartbeat, and five minutes.
    assert ((ends > 365_000) & (ends < 374_000)).all()
    assert reads(result) == {"worker-0": 15, "worker-1": 15}


def test_only_heartbeats_tell_the_coordinator_of_a_worker() -> None:
    """A consumer's commits would, too, and have its session end later."""
    lost = replace(WORKERS[2], beat_ms=700)
    scenario = replace(LOST, consumers=(*WORKERS[:2], lost), events=(Crash(0, "worker-2"),))
    for seed in range(5):
        result = simulate(replace(scenario, seed=seed))
        (expired,) = (entry.at_ms for entry in result.log if entry.what == "session-expired")
        assert 7_600 < expired < 7_800


def test_a_successor_waits_as_well_and_gets_just_what_was_lost() -> None:
    result = simulate(
        replace(LOST, events=(*LOST.events, Join(100_000, Consumer("worker-3", client="connect"))))
    )
    assert result.summary.moved_partitions == 10
    assert result.summary.longest_pause_ms > 305_000
    assert reads(result) == {"worker-0": 10, "worker-1": 10, "worker-3": 10}


def test_a_second_loss_does_not_begin_the_delay_anew() -> None:
    result = simulate(replace(LOST, events=(*LOST.events, Crash(200_000, "worker-1"))))
    assert result.timeline.pauses()[2].max() < 374_000
    assert reads(result) == {"worker-0": 30}


def test_new_tasks_wait_for_the_delay_too() -> None:
    settings = replace(LOST.settings, metadata_max_age_ms=10_000)
    result = simulate(replace(LOST, events=(*LOST.events, Grow(100_000, "tasks", 32)), settings=settings))
    assert [rebalance.causes[0] for rebalance in result.rebalances] == [
        "session of worker-2 timed out",
        "scheduled.rebalance.max.delay.ms is over",
    ]
    assert reads(result) == {"worker-0": 16, "worker-1": 16}


def test_a_worker_that_closes_is_waited_for_as_well() -> None:
    result = simulate(replace(LOST, events=(Leave(60_000, "worker-2"),)))
    assert 300_000 < result.summary.longest_pause_ms < 304_000


@pytest.mark.parametrize(
    "scenario",
    [
        pytest.param(
            replace(LOST, settings=replace(LOST.settings, scheduled_rebalance_max_delay_ms=0)), id="no delay"
        ),
        pytest.param(replace(LOST, assignor="range"), id="connect.protocol=eager"),
        pytest.param(replace(LOST, events=(Crash(60_000, "worker-0"),)), id="the leader is lost"),
        pytest.param(
            replace(LOST, consumers=tuple(replace(worker, client="java") for worker in WORKERS)),
            id="consumers",
        ),
    ],
)
def test_nothing_is_kept(scenario: Scenario) -> None:
    assert simulate(scenario).summary.longest_pause_ms < 14_000


def test_a_worker_without_tasks_is_not_waited_for() -> None:
    scenario = replace(LOST, topics=(Topic("tasks", 2),))
    assert simulate(scenario).summary.rebalances == 1


@pytest.mark.parametrize(
    ("ids", "delayed"), [("cab", True), ("cba", False)], ids=["worker-1 leads next", "worker-2 leads next"]
)
def test_member_ids_decide_who_leads_next(ids: str, delayed: bool) -> None:
    """A leader takes the delay with it, so whether a second worker's tasks wait depends on who leads then."""
    workers = tuple(replace(worker, member_id=member) for worker, member in zip(WORKERS, ids, strict=True))
    events = (Leave(60_000, "worker-0"), Leave(120_000, "worker-2"))
    result = simulate(replace(LOST, consumers=workers, events=events))
    assert (result.summary.longest_pause_ms > 300_000) == delayed


def test_without_ids_the_seed_draws_who_leads_next() -> None:
    scenario = replace(LOST, events=(Leave(60_000, "worker-0"), Leave(120_000, "worker-2")))
    pauses = [simulate(replace(scenario, seed=seed)).summary.longest_pause_ms for seed in range(8)]
    assert {pause > 300_000 for pause in pauses} == {True, False}
