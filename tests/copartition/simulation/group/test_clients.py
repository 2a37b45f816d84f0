"""What befalls processes: batches that take long, stalls, second instances, brokers that go."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from assignors.group import Topic
from assignors.registry import clients_rule
from copartition.simulation import (
    Condition,
    Consumer,
    Costs,
    Crash,
    DuplicateInstance,
    Exponential,
    Failover,
    Join,
    Leave,
    Load,
    LogNormal,
    Phase,
    Restart,
    Scenario,
    Settings,
    SlowPoll,
    Stall,
    Uniform,
    simulate,
    simulate_seeds,
)
from copartition.simulation.group.clients import draw_batches
from partitioning.errors import AssignorError, ScenarioError
from tests.support import simulated
from tests.support.simulated import ORDERS, entries, group

run = partial(simulated.run, assignor="sticky")


def when(result, what):
    return next(entry.at_ms for entry in result.log if entry.what == what)


def waits(result):
    """How long each pause lasted, in ascending order."""
    _, start, end = result.timeline.pauses()
    return sorted((end - start).round().tolist())


# Slow polls.


@pytest.mark.parametrize(("assignor", "waits"), [("sticky", True), ("cooperative-sticky", True)])
@pytest.mark.parametrize("client", ["java", "kafka-python"])
def test_a_barrier_waits_for_a_batch_that_takes_long(assignor, waits, client):
    result = run(
        group(3, client=client),
        SlowPoll(10_000, "c1", 200_000),
        Join(20_000, Consumer("new")),
        assignor=assignor,
    )
    assert result.rebalances[0].completed_ms == pytest.approx(210_000)


def test_librdkafka_rejoins_in_the_background_under_cooperative_only():
    ends = []
    for assignor in ("sticky", "cooperative-sticky"):
        slow = SlowPoll(10_000, "c1", 200_000)
        result = run(group(3, client="librdkafka"), slow, Join(20_000, Consumer("new")), assignor=assignor)
        ends.append(result.rebalances[0].completed_ms)
    assert ends[0] == 210_000
    assert ends[1] < 23_100


def test_the_partitions_of_a_busy_consumer_wait_for_it():
    result = run(group(3), SlowPoll(10_000, "c1", 20_000))
    assert result.summary.rebalances == 0
    assert result.summary.longest_pause_ms == 20_000
    assert [outage.cause for outage in result.outages] == ["c1 was busy"]


def test_two_long_batches_one_after_the_other_are_one_pause():
    result = run(group(3), SlowPoll(10_000, "c1", 20_000), SlowPoll(30_000, "c1", 20_000))
    assert result.summary.longest_pause_ms == 40_000


def test_a_consumer_that_does_not_poll_in_time_leaves_and_comes_back():
    result = run(group(3), SlowPoll(10_000, "c1", 400_000))
    causes = [rebalance.causes for rebalance in result.rebalances]
    assert causes == [("c1 did not poll in time",), ("c1 joined",)]
    assert result.rebalances[0].started_ms == 310_000
    assert result.rebalances[1].started_ms == 410_000
    assert entries(result, "left", "commit-refused") == [("left", "c1"), ("commit-refused", "c1")]
    assert result.timeline.zombies.start.tolist() == [310_000] * 4
    assert result.timeline.zombies.end.tolist() == [410_000] * 4


LATE = [SlowPoll(10_000, "c1", 400_000), SlowPoll(500_000, "c1", 400_000), SlowPoll(900_001, "c2", 400_000)]
"""Batches that end at 410 s, 900 s and 1,300.001 s, each 100 s after its consumer has left for it."""


@pytest.mark.parametrize("assignor", ["sticky", "cooperative-sticky", "uniform"])
@pytest.mark.parametrize(("whose", "restarted"), [("c1", ["c1", "c1"]), ("*", ["c1", "c1", "c2"])])
def test_an_application_that_dies_of_a_refused_commit_is_back_after_a_restart(assignor, whose, restarted):
    dies = Restart(Condition("commit-refused"), whose, 10_000)
    result = run(group(3), *LATE, dies, assignor=assignor, until_ms=2_000_000)
    assert entries(result, "commit-refused", "leave", "join") == [
        (what, name)
        for name in ("c1", "c1", "c2")
        for what in ("commit-refused", "leave", "join")
        if what == "commit-refused" or name in restarted
    ]
    refused = simulated.when(result, "commit-refused")
    if assignor != "uniform":  # else the client looks at its heartbeats only
        assert refused == [410_000, 900_000, 1_300_001]
    joined = simulated.when(result, "join")
    assert joined == [at_ms + 10_000 for at_ms in refused[: len(restarted)]]
    # The process that died has not joined, so the group hears of it when it is back.
    heard = [
        rebalance.started_ms for rebalance in result.rebalances if rebalance.causes[0].endswith("joined")
    ]
    assert heard == joined + refused[len(restarted) :]
    assert result.unmet == ()


def test_an_application_that_dies_of_a_refused_commit_may_stay_away():
    result = run(group(3), LATE[0], Crash(Condition("commit-refused"), "*"), until_ms=1_000_000)
    assert simulated.when(result, "crash") == [410_000]
    assert result.rebalances[-1].started_ms == 310_000


def test_what_waits_for_a_refused_commit_may_never_happen():
    result = run(group(3), LATE[0], Crash(Condition("commit-refused"), "c2"), until_ms=1_000_000)
    assert result.unmet == ("crash when commit-refused",)


def test_a_consumer_without_partitions_has_no_commit_that_could_be_refused():
    result = run(group(25), SlowPoll(10_000, "c24", 400_000))
    assert entries(result, "left", "commit-refused") == [("left", "c24")]


def test_librdkafka_looks_twice_a_second_whether_it_was_polled():
    scenario = Scenario(ORDERS, group(3, client="librdkafka"), (SlowPoll(10_000, "c1", 400_000),), "sticky")
    left = [when(result, "left") for result in simulate_seeds(scenario, range(15))]
    assert 310_000 < min(left) < 310_100
    assert 310_400 < max(left) < 310_500


def test_kafka_python_looks_with_each_heartbeat_whether_it_was_polled():
    members = [replace(member, beat_ms=500.0) for member in group(3, client="kafka-python")]
    result = run(tuple(members), SlowPoll(10_000, "c1", 400_000))
    # The 105th, from 500 on each 3,001.2 to 3,001.5 ms after the one before; 15 ms later it leaves.
    assert 312_639 < when(result, "left") < 312_672


@pytest.mark.parametrize(
    ("client", "stood_ms"),
    # Each of three gives up one partition of four. Until 13 s c0 has waited for 2 s and c1 for 1 s, until
    # 16 s all of them for the newcomer's first heartbeat; or only what they gave up waits, for that.
    [("kafka-python", 4 * (2_000 + 1_000 + 3 * 3_000)), ("java", 3 * 3_000)],
)
def test_kafka_python_reads_nothing_while_it_rejoins(client, stood_ms):
    members = simulated.beating(11_000.0, 12_000.0, 13_000.0, client=client)
    joins = Join(10_000, Consumer("new", client=client))
    result = run(members, joins, assignor="cooperative-sticky")
    assert 1_000 * result.summary.partition_seconds == pytest.approx(stood_ms, abs=12 * 3)


def test_what_a_member_of_kafka_python_keeps_needs_no_fetch_to_be_read_again():
    members = simulated.beating(11_000.0, 11_500.0, 12_000.0, client="kafka-python")
    costs = Costs(first_fetch_ms=500)
    result = run(members, Leave(10_000, "c1"), assignor="cooperative-sticky", costs=costs)
    assert waits(result) == [1_000] * 4 + [2_500] * 4


@pytest.mark.parametrize(("client", "ends_ms"), [("kafka-python", 80_000), ("java", 40_000)])
def test_kafka_python_reads_nothing_after_a_batch_that_held_up_a_rebalance(client, ends_ms):
    busy = SlowPoll(10_000, "c1", 30_000), SlowPoll(12_000, "c2", 68_000)
    costs = Costs(network_ms=2)
    result = run(
        group(3, client=client), *busy, Leave(15_000, "c0"), assignor="cooperative-sticky", costs=costs
    )
    ends = result.timeline.pauses()[2][result.timeline.pauses()[1] == 10_000]
    assert ends.tolist() == pytest.approx([ends_ms] * 4, abs=4)


def test_a_busy_eager_member_reads_between_its_batch_and_the_heartbeat_that_tells_it_to_rejoin():
    members = simulated.beating(11_000.0, 12_000.0, 13_000.0)
    result = run(members, SlowPoll(9_500, "c1", 1_000), Join(10_000, Consumer("new")))
    assert waits(result) == [1_000] * (4 + 4) + [2_000] * 4  # of c1 twice, of c0 from 11 s on


@pytest.mark.parametrize(("client", "heard_ms"), [("kafka-python", 11_025), ("librdkafka", 10_000)])
def test_commits_run_since_the_last_assignment_or_since_the_process_started(client, heard_ms):
    """Of a member that dies at 11.1 s and had its assignment at 6 s a commit was heard last."""
    joins = [Join(0, Consumer(name, client=client)) for name in ("c0", "c1")]
    result = run((), *joins, Crash(11_100, "c1"), session_timeout_ms=8_000)
    assert when(result, "session-expired") == pytest.approx(heard_ms + 8_000, abs=6)


def test_a_static_consumer_that_does_not_poll_in_time_only_falls_silent():
    result = run(group(3, static=True), SlowPoll(10_000, "c1", 320_000))
    assert result.summary.rebalances == 0
    assert result.summary.longest_pause_ms == 320_000
    longer = run(group(3, static=True), SlowPoll(10_000, "c1", 400_000))
    assert longer.rebalances[0].causes == ("session of c1 timed out",)
    assert 310_000 + 42_000 < longer.rebalances[0].started_ms <= 310_000 + 45_000


def test_a_slow_poll_of_a_consumer_that_waits_for_partitions_is_none():
    events = (Join(0, Consumer("c0")), SlowPoll(1_000, "c0", 60_000))
    assert run((), *events).rebalances[0].completed_ms == 3_000


# The batch in hand.


@pytest.mark.parametrize(
    ("duration", "mean"),
    [
        (600.0, 300),  # E[x^2] / 2 E[x], the mean residual life
        (Uniform(0, 900), 300),
        (Exponential(300), 300),
        (LogNormal(200, 400), 200 * np.exp(1.5 * (np.log(2) / 1.6448536) ** 2) / 2),
    ],
)
def test_what_is_left_of_the_batch_in_hand_is_longer_for_longer_batches(duration, mean):
    whole, left = draw_batches(duration, np.random.default_rng(0), 40_000)
    assert (left <= whole).all()
    assert left.mean() == pytest.approx(mean, rel=0.03)


def test_a_batch_lasts_until_the_latest_time_at_most():
    whole, _ = draw_batches(LogNormal(50, 2**52), np.random.default_rng(0), 100)
    assert whole.max() == 2**53


def test_the_barrier_waits_for_the_slowest_batch():
    events = (Leave(10_000, "c1"),)
    quick, slow = (run(group(8), *events, costs=Costs(poll_ms=poll)).rebalances[0] for poll in (0, 20_000))
    assert quick.completed_ms < 13_100
    assert 20_000 < slow.completed_ms < 33_100


def test_a_batch_longer_than_the_poll_interval_makes_its_client_leave(monkeypatch):
    """And again after each rebalance, so such a group never comes to rest."""
    monkeypatch.setattr("copartition.simulation.run.STEPS", 100)
    endless = Scenario(ORDERS, group(4), (Leave(10_000, "c1"),), "sticky", costs=Costs(poll_ms=400_000))
    result = simulate(replace(endless, until_ms=2_000_000))
    assert ("left", "c0") in entries(result, "left")
    assert result.summary.rebalances > 2
    with pytest.raises(ScenarioError, match="let until_ms end the run earlier"):
        simulate(endless)


# What a client does with its partitions.


def test_each_part_of_a_handover_takes_its_time():
    costs = Costs(revoke_ms=50, assign_ms=70, partition_ms=10, first_fetch_ms=60, assignor_ms=500)
    result = run(group(3), Leave(10_000, "c1"), costs=costs)
    (rebalance,) = result.rebalances
    timeline = result.timeline
    after = timeline.start >= rebalance.started_ms
    computing = timeline.phase == Phase.COMPUTING
    assert set((timeline.end - timeline.start)[computing].round(6)) == {500}
    opening = (timeline.phase == Phase.HANDOVER) & after
    took = (timeline.end - timeline.start)[opening].round(6)
    assert sorted(took) == sorted([70 + 60 + 10 * place for place in range(1, 7)] * 2)
    heard = timeline.end[(timeline.phase == Phase.CONSUMING) & (timeline.end > 10_050)].min()
    assert rebalance.started_ms == 10_050
    assert rebalance.completed_ms - 500 - 50 >= heard


def test_cooperative_opens_only_what_moved():
    costs = Costs(first_fetch_ms=70)
    result = run(group(3), Leave(10_000, "c1"), assignor="cooperative-sticky", costs=costs)
    assert result.summary.handover_ms == pytest.approx(4 * 70)


def test_the_group_at_the_start_is_open():
    assert run(group(3), costs=Costs(assign_ms=70, partition_ms=10)).summary.partition_seconds == 0


def test_a_join_while_the_assignor_is_at_work_sends_everybody_back_at_once():
    costs = Costs(assignor_ms=20_000)
    result = run(group(3), Leave(10_000, "c1"), Join(25_000, Consumer("new")), costs=costs)
    (rebalance,) = result.rebalances
    assert rebalance.causes == ("c1 left", "new joined")
    first = when(result, "rebalance")
    assert first == 10_000
    # The leader hears when its first answer is refused, and then is at work once more.
    assert 50_000 < rebalance.completed_ms < 53_100
    assert rebalance.generation == 3


def test_the_time_our_assignor_takes_can_be_taken_for_that_of_the_leader():
    result = run(group(3), Leave(10_000, "c1"), costs=Costs(assignor_ms="measured"))
    assert 0 < result.summary.compute_ms < 12 * 1_000


# Stalls.


def test_a_stall_within_the_session_only_delays():
    result = run(group(3), Stall(10_000, "c1", 20_000))
    assert result.summary.rebalances == 0
    assert result.summary.longest_pause_ms == 20_000
    assert [outage.cause for outage in result.outages] == ["c1 stalled"]


@pytest.mark.parametrize(("client", "rechecks"), [("java", 100), ("librdkafka", 5)])
def test_a_process_that_wakes_after_its_session_reads_what_others_have(client, rechecks):
    result = run(group(3, client=client), Stall(10_000, "c1", 60_000), costs=Costs(network_ms=5))
    causes = [rebalance.causes for rebalance in result.rebalances]
    assert causes == [("session of c1 timed out",), ("c1 joined",)]
    zombies = result.timeline.zombies
    assert zombies.start.tolist() == [70_000] * 4
    lasted = rechecks + 5 if client == "java" else rechecks
    assert zombies.end.tolist() == [70_000 + lasted] * 4
    assert result.summary.double_read_ms == pytest.approx(4 * lasted)
    assert entries(result, "session-expired", "commit-refused") == [
        ("session-expired", "c1"),
        ("commit-refused", "c1"),
    ]


def test_a_static_process_that_wakes_within_its_session_is_not_missed():
    result = run(group(3, static=True), Stall(10_000, "c1", 40_000))
    assert (result.summary.rebalances, result.summary.longest_pause_ms) == (0, 40_000)


def test_a_stall_during_a_barrier_holds_it_up():
    result = run(group(3), Stall(10_000, "c1", 20_000), Join(12_000, Consumer("new")))
    (rebalance,) = result.rebalances
    assert rebalance.completed_ms == 30_000


# Two processes with one instance id.


def test_a_second_instance_takes_over_and_the_first_reads_until_it_is_told():
    result = run(group(3, static=True), DuplicateInstance(10_000, "c1"))
    fenced = when(result, "fenced")
    assert 10_000 < fenced < 13_010
    assert result.timeline.zombies.end.tolist() == [fenced] * 4
    assert result.summary.double_read_ms == pytest.approx(4 * (fenced - 10_000))
    assert (result.summary.rebalances, result.summary.partition_seconds) == (0, 0)


# Brokers.


def test_nobody_is_answered_before_the_coordinator_is_back():
    result = run((), Failover(1_000, 5_000), Join(2_000, Consumer("c0")))
    assert result.rebalances[0].completed_ms == 6_000 + 3_000


def test_a_leave_that_nobody_hears_is_missed_when_the_session_ends():
    result = run(group(3), Failover(10_000, 5_000), Leave(12_000, "c1"))
    assert result.rebalances[0].causes == ("session of c1 timed out",)
    assert result.rebalances[0].started_ms == 15_000 + 45_000


def test_reading_goes_on_without_a_coordinator():
    assert run(group(3), Failover(10_000, 120_000)).summary.partition_seconds == 0


def test_members_are_in_step_but_for_their_retries_when_the_group_has_been_loaded():
    result = run(group(6), Failover(10_000, 5_000), Leave(20_000, "c1"))
    timeline = result.timeline
    stops = timeline.start[(timeline.phase == Phase.PAUSED) & (timeline.start > 20_000)]
    assert 3 * 1.1 < np.ptp(stops) < 100 + 3 * 1.1


def test_a_rebalance_that_was_under_way_ends_when_the_coordinator_is_back():
    result = run(group(6), Leave(10_000, "c1"), Failover(10_001, 30_000))
    assert 40_001 <= result.rebalances[0].completed_ms < 43_100


# Strategies.


def bounce(client, *lists, first="range"):
    consumers = tuple(Consumer(f"c{number}", client=client, assignors=(first,)) for number in range(3))
    events = [
        Restart(100_000.0 * (3 * turn + number) + 10_000, f"c{number}", 20_000, assignors)
        for turn, assignors in enumerate(lists)
        for number in range(3)
    ]
    return run(consumers, *events, assignor=first)


def test_two_bounces_lead_from_eager_to_cooperative_in_java():
    result = bounce("java", ("cooperative-sticky", "range"), ("cooperative-sticky",))
    assert entries(result, "refused") == []
    assert result.summary.unassigned_partitions == 0
    # The last to be bounced comes into a group that is cooperative: a second round for what it gets.
    causes = [rebalance.causes for rebalance in result.rebalances]
    assert causes[-2:] == [("c2 joined",), ("partitions revoked",)]
    # In the middle all members could do both, so all of them still stop for every rebalance.
    assert result.summary.longest_pause_ms < 6_100


def test_librdkafka_refuses_to_mix_protocols():
    result = bounce("librdkafka", ("cooperative-sticky", "range"))
    assert entries(result, "refused") == [("refused", f"c{number}") for number in range(3)]
    assert result.summary.unassigned_partitions == 12


def test_a_member_without_a_common_strategy_is_refused_and_stays_out():
    events = (Join(10_000, Consumer("new", assignors=("sticky",))),)
    result = run(group(3), *events, assignor="range")
    assert entries(result, "refused") == [("refused", "new")]
    assert (result.summary.rebalances, result.summary.unassigned_partitions) == (0, 0)


def test_the_strategy_is_what_most_members_prefer_of_those_they_all_have():
    lists = (("sticky", "range"), ("range", "sticky"), ("roundrobin", "range", "sticky"))
    consumers = tuple(Consumer(f"c{number}", assignors=strategies) for number, strategies in enumerate(lists))
    topics = (Topic("a", 4), Topic("b", 4))
    result = simulate(Scenario(topics, consumers, (), "sticky"))
    # Range gives the first member the remainder of each topic.
    assert [len(partitions) for partitions in result.start.assignment.values()] == [4, 2, 2]


# What clients decide and refuse.


def owners(consumers):
    assignment = run(consumers, Leave(5_000, "c1"), assignor="cooperative-sticky").steps[-1].assignment
    return {member: [*mine] for member, mine in assignment.items()}


def test_a_librdkafka_leader_decides_by_its_own_rule():
    planned = {
        client: owners((Consumer("c0", client=client), *group(4)[1:])) for client in ("java", "librdkafka")
    }
    named = run(group(4), Leave(5_000, "c1"), assignor="librdkafka-cooperative-sticky")
    assert planned["librdkafka"] != planned["java"]
    assert planned["librdkafka"] == {member: [*mine] for member, mine in named.steps[-1].assignment.items()}


@pytest.mark.parametrize(
    ("client", "assignor"),
    [
        (client, name)
        for client in ("kafka-python", "aiokafka")
        for name in ("range", "roundrobin", "sticky", "cooperative-sticky")
        if clients_rule(client, name) != name
    ],
)
def test_a_leader_on_a_python_client_decides_by_its_own_rule(client, assignor):
    """Who is served where static and dynamic members alternate differs, and what moves when one leaves."""
    members = [Consumer(f"c{turn}", turn % 2 == 0) for turn in range(5)]
    answers = [
        [
            {member: [*mine] for member, mine in step.assignment.items()}
            for step in run(consumers, Leave(5_000, "c1"), assignor=name).steps
        ]
        for consumers, name in [
            ([replace(members[0], client=client), *members[1:]], assignor),
            (members, f"{client}-{assignor}"),
            (members, assignor),
        ]
    ]
    assert answers[0] == answers[1] != answers[2]


def test_roundrobin_of_kafka_python_fails_where_subscriptions_differ():
    members = [Consumer("c0", topics=("a",), client="kafka-python"), Consumer("c1", topics=("b",))]
    with pytest.raises(AssignorError, match="kafka-python's 'roundrobin' fails"):
        run(members, assignor="roundrobin", topics=(Topic("a", 2), Topic("b", 2)))


@pytest.mark.parametrize(("client", "completed_ms"), [("aiokafka", 13_000), ("java", 25_000)])
def test_aiokafka_gives_everything_up_while_its_application_is_busy(client, completed_ms):
    members = simulated.beating(11_000.0, 12_000.0, 13_000.0, client=client)
    (rebalance,) = run(members, SlowPoll(9_000, "c1", 16_000), Leave(10_000, "c0")).rebalances
    assert rebalance.completed_ms == completed_ms


@pytest.mark.parametrize(
    ("client", "assignors", "fault"),
    [
        ("librdkafka", ("range", "cooperative-sticky"), "librdkafka refuses eager and .*"),
        ("aiokafka", ("cooperative-sticky",), "aiokafka knows eager rebalances only"),
    ],
)
def test_a_group_does_not_begin_with_a_client_that_refuses_its_strategies(client, assignors, fault):
    with pytest.raises(ScenarioError, match=f"{fault}; c0 would not start"):
        run(tuple(replace(consumer, assignors=assignors) for consumer in group(2, client=client)))


def test_a_client_that_refuses_its_strategies_does_not_join():
    both = ("range", "cooperative-sticky")
    joined = run(
        (Consumer("c0", client="librdkafka", assignors=both[:1]),),
        Join(1_000, Consumer("new", client="librdkafka", assignors=both)),
    )
    assert entries(joined, "refused") == [("refused", "new")]


# Callbacks.


@pytest.mark.parametrize("assignor", ["cooperative-sticky", "uniform"])
@pytest.mark.parametrize(("client", "waits_ms"), [("java", 700), ("librdkafka", 1_000)])
def test_a_member_in_its_revoke_callback_does_not_read_what_it_keeps(assignor, client, waits_ms):
    result = run(
        group(3, client=client), Join(10_000, Consumer("new")), assignor=assignor, costs=Costs(revoke_ms=700)
    )
    assert waits(result).count(waits_ms) == 9


def test_a_client_that_reads_nothing_while_it_joins_does_not_read_between_callback_and_join():
    scenario = Scenario(
        ORDERS,
        group(3, client="kafka-python"),
        (Join(10_000, Consumer("new", client="kafka-python")),),
        "cooperative-sticky",
        costs=Costs(revoke_ms=700, network_ms=2),
        load=Load(10),
        until_ms=60_000,
    )
    result = simulate(scenario)
    second = result.rebalances[1]
    since_ms = result.rebalances[0].completed_ms
    # From the callback to the end of the second rebalance nobody reads, and ten records a second come.
    assert result.records.peak.min() >= (second.completed_ms - since_ms) / 100


@pytest.mark.parametrize(
    ("client", "event", "took_ms"),
    [
        ("java", Leave(10_000, "c2"), [2_401] * 4),
        # A newcomer has no other partition whose batches it works on.
        ("java", Join(10_000, Consumer("new")), [1] * 3),
        ("librdkafka", Leave(10_000, "c2"), [1] * 4),
        ("kafka-python", Leave(10_000, "c2"), [1] * 4),
    ],
)
def test_a_java_member_works_on_batches_before_it_has_records_of_new_partitions(client, event, took_ms):
    costs = Costs(poll_ms=800, first_fetch_ms=1)
    result = run(group(3, client=client), event, assignor="cooperative-sticky", costs=costs)
    timeline = result.timeline
    handover = timeline.phase == Phase.HANDOVER
    assert (timeline.end - timeline.start)[handover].round(6).tolist() == took_ms


def test_a_worker_of_connect_goes_on_with_the_tasks_that_it_keeps():
    result = run(
        group(3, client="connect"),
        Join(10_000, Consumer("new", client="connect")),
        assignor="cooperative-sticky",
        costs=Costs(revoke_ms=700),
    )
    assert len(waits(result)) == 3


@pytest.mark.parametrize("assignor", ["cooperative-sticky", "uniform"])
def test_a_member_in_its_assign_callback_does_not_read_what_it_has(assignor):
    result = run(group(3), Leave(10_000, "c2"), assignor=assignor, costs=Costs(assign_ms=700))
    assert waits(result).count(700) == 8


def test_the_partitions_of_a_member_that_dies_in_its_callback_are_read_by_others():
    scenario = Scenario(
        ORDERS,
        group(3),
        (Join(10_000, Consumer("new")), Crash(13_500, "c0")),
        "cooperative-sticky",
        Settings(session_timeout_ms=10_000),
        costs=Costs(revoke_ms=5_000),
        load=Load(10, capacity=1_000),
        until_ms=100_000,
    )
    result = simulate(scenario)
    assert result.records.waiting.sum() == pytest.approx(0, abs=5)
    assert result.records.duplicates.sum() == 0  # it committed before the callback
    assert result.summary.longest_pause_ms > 10_000
