"""A group of the consumer protocol (KIP-848): who hears when, who waits for what.

Heartbeats are at known times where a test says so: `beats` gives the time of each consumer's first one.
"""

from functools import partial

import numpy as np
import pytest

from assignors.group import Topic
from copartition.simulation import (
    Consumer,
    Costs,
    Crash,
    Create,
    DuplicateInstance,
    Failover,
    Grow,
    Join,
    Leave,
    Phase,
    Restart,
    Scenario,
    SlowPoll,
    Stall,
    simulate_seeds,
)
from partitioning.errors import ScenarioError
from tests.support import simulated
from tests.support.simulated import ORDERS, entries, when
from tests.support.simulated import beating as group

run = partial(simulated.run, assignor="uniform")
EVERY_MS = 5_000
LATE_MS = 1  # what a heartbeat is late at the most


def pauses(result):
    """Every pause as partition, start and end."""
    return list(zip(*(column.tolist() for column in result.timeline.pauses()), strict=True))


def ends(result, of=None):
    """When pauses end, those of all partitions or `of` some."""
    return sorted({round(end) for partition, _, end in pauses(result) if of is None or partition in of})


def readers(result, at_ms):
    """Who reads each partition at a time."""
    timeline = result.timeline
    now = (timeline.start <= at_ms) & (at_ms < timeline.end) & (timeline.phase == Phase.CONSUMING)
    return {
        partition: timeline.consumers[consumer]
        for partition, consumer in zip(
            timeline.partition[now].tolist(), timeline.consumer[now].tolist(), strict=True
        )
    }


# Targets, and the heartbeats by which members reach them.


def test_what_a_member_leaves_goes_to_each_other_one_at_its_own_heartbeat():
    result = run(group(1_000, 2_000, 3_000, 4_000), Leave(5_500, "c0"))
    assert ends(result) == pytest.approx([7_000, 8_000, 9_000], abs=LATE_MS)
    assert 1_000 * result.summary.partition_seconds == pytest.approx(1_500 + 2_500 + 3_500, abs=3 * LATE_MS)


def test_the_target_is_computed_in_the_first_heartbeat_after_what_asks_for_it():
    result = run(group(1_000, 2_000, 3_000), Leave(5_500, "c0"))
    assert when(result, "rebalance") == [5_500]
    assert when(result, "generation") == pytest.approx([0, 7_000], abs=LATE_MS)


def test_a_rebalance_lasts_until_everybody_has_taken_the_epoch():
    result = run(group(1_000, 2_000, 3_000, 4_900), Leave(5_500, "c0"))
    (rebalance,) = result.rebalances
    assert (rebalance.started_ms, rebalance.completed_ms) == (5_500, pytest.approx(9_900, abs=LATE_MS))


def test_a_joining_member_is_given_at_its_own_heartbeats_what_others_have_given_up_at_theirs():
    result = run(group(1_000, 2_000, 3_000), Join(10_500, Consumer("new")))
    assert sorted(start for _, start, _ in pauses(result)) == pytest.approx(
        [11_000, 12_000, 13_000], abs=2 * LATE_MS
    )
    assert ends(result) == pytest.approx([15_500], abs=2 * LATE_MS)
    assert result.summary.member_pause_ms == pytest.approx(EVERY_MS, abs=LATE_MS)


def test_nobody_stops_for_a_rebalance_that_changes_nothing_for_it():
    result = run(
        group(1_000, 2_000, topics=("orders",)),
        Join(10_500, Consumer("new", topics=("other",))),
        topics=(*ORDERS, Topic("other", 3)),
    )
    assert {partition for partition, _, _ in pauses(result)} == {12, 13, 14}


def test_the_first_member_of_a_new_group_has_everything_at_once():
    result = run([], Join(1_000, Consumer("c0")))
    assert set(readers(result, 1_000.001).values()) == set()
    assert result.summary.longest_pause_ms == 1_000


@pytest.mark.parametrize(
    ("interval_ms", "generations", "completed_ms"),
    [
        (1_000, [1_000, 6_000], 6_500),  # the first beat of the first member, the last of the last
        (0, [1_000, 1_200, 1_400], 11_000),
    ],
)
def test_members_that_join_soon_after_one_another_wait_for_the_assignment_interval(
    interval_ms, generations, completed_ms
):
    joins = [Join(1_000 + 200 * turn, Consumer(f"c{turn}")) for turn in range(3)]
    result = run([], *joins, group_consumer_assignment_interval_ms=interval_ms)
    assert when(result, "generation") == pytest.approx(generations, abs=2 * LATE_MS)
    assert result.rebalances[-1].completed_ms <= completed_ms


def test_a_group_that_everybody_left_begins_anew_without_waiting():
    result = run(group(1_000), Leave(1_500, "c0"), Join(1_600, Consumer("new")))
    assert result.summary.longest_pause_ms == pytest.approx(100)


@pytest.mark.parametrize("assignor", ["uniform", "broker-range"])
def test_the_members_end_with_what_the_assignor_gives_them(assignor):
    result = run(group(1_000, 2_000, 3_000), Join(10_500, Consumer("new")), assignor=assignor)
    owned = result.rebalances[-1].assignment
    now = readers(result, result.summary.duration_ms - 1e-6) | {
        partition: "new" for partition, _, end in pauses(result) if end == result.summary.duration_ms
    }
    for member, partitions in owned.items():
        assert {now[partition.partition] for partition in partitions} == {member.removesuffix("#1")}


# What is noticed when.


def test_new_partitions_are_noticed_at_the_first_heartbeat_of_anybody():
    result = run(group(1_000, 2_000, 4_000), Grow(5_500, "orders", 15))
    assert result.rebalances[0].started_ms == pytest.approx(6_000, abs=LATE_MS)
    assert ends(result) == pytest.approx([6_000, 7_000, 9_000], abs=LATE_MS)
    by_phase = [result.summary.detection_ms, result.summary.barrier_ms]
    assert by_phase == pytest.approx([3 * 500, 0 + 1_000 + 3_000], abs=4 * LATE_MS)


def test_ten_consumers_read_nine_hundred_new_partitions_after_one_heartbeat_interval():
    """Published: 103 s for the classic protocol, 5 s for this one, looked at once a second; KIP-848: 10 s."""
    consumers = [Consumer(f"c{number}") for number in range(10)]
    scenario = Scenario((Topic("orders", 100),), consumers, (Grow(60_000, "orders", 1_000),), "uniform")
    longest = [run.summary.longest_pause_ms for run in simulate_seeds(scenario, range(20))]
    assert all(3_000 < pause <= EVERY_MS + LATE_MS for pause in longest)
    assert np.mean(longest) == pytest.approx(10 / 11 * EVERY_MS, rel=0.05)


def test_who_subscribes_to_a_pattern_reads_a_new_topic_without_a_metadata_refresh():
    result = run(group(1_000, 2_000, pattern="orders.*"), Create(15_500, "orders-2", 4))
    assert result.rebalances[-1].causes == ("partitions added (orders-2 to 4)",)
    assert ends(result) == pytest.approx([17_000, 21_000], abs=4 * LATE_MS)


def test_patterns_are_looked_up_again_at_most_every_ten_seconds():
    creations = [Create(20_500, "orders-2", 2), Create(22_500, "orders-3", 2)]
    result = run(group(1_000, 3_000, pattern="orders.*"), *creations)
    first, second = result.rebalances
    assert first.started_ms == pytest.approx(21_000, abs=5 * LATE_MS)
    assert second.started_ms == pytest.approx(31_000, abs=8 * LATE_MS)


def test_a_topic_that_nobody_subscribes_to_is_nobodys_business():
    result = run(group(1_000, topics=("orders",)), Create(10_000, "payments", 4))
    assert result.rebalances == ()


# Sessions and static members.


def test_a_crashed_member_is_missed_a_session_after_its_last_heartbeat():
    result = run(group(1_000, 2_000), Crash(8_000, "c0"))
    assert when(result, "session-expired") == pytest.approx([6_000 + 45_000], abs=2 * LATE_MS)
    assert result.summary.detection_ms == pytest.approx(6 * (51_000 - 8_000), abs=12 * LATE_MS)


def test_a_commit_while_closing_does_not_renew_a_session():
    result = run(group(1_000, 2_000, static=True), Leave(5_500, "c0"))
    assert when(result, "session-expired") == pytest.approx([1_000 + 45_000], abs=2 * LATE_MS)


def test_nobody_hears_of_a_static_member_that_is_back_within_its_session():
    result = run(group(1_000, 2_000, static=True), Restart(5_500, "c0", 20_000))
    assert result.rebalances == ()
    assert 1_000 * result.summary.partition_seconds == 6 * 20_000
    assert [outage.cause for outage in result.outages] == ["c0 was away"]


def test_a_static_member_that_comes_too_late_joins_anew():
    result = run(group(1_000, 2_000, static=True), Restart(5_500, "c0", 60_000))
    causes = [rebalance.causes for rebalance in result.rebalances]
    assert causes == [("session of c0 timed out",), ("c0 joined",)]


@pytest.mark.parametrize(
    "events",
    [
        (Crash(5_500, "c0"), Join(9_000, Consumer("c0", static=True, beat_ms=1_000))),
        (DuplicateInstance(9_000, "c0"),),
    ],
    ids=["the process crashed", "the process runs"],
)
def test_an_instance_id_is_released_only_by_its_member_or_its_session(events):
    result = run(group(1_000, 2_000, static=True), *events)
    assert entries(result, "refused") == [("refused", "c0")]


def test_the_first_process_reads_on_where_a_second_one_with_its_instance_id_is_refused():
    result = run(group(1_000, 2_000, static=True), DuplicateInstance(9_000, "c0"))
    assert (result.summary.partition_seconds, result.summary.double_read_ms) == (0, 0)


# Processes that stand still, applications that do not poll.


def test_a_process_that_stood_still_for_less_than_its_session_is_a_member_still():
    result = run(group(1_000, 2_000), Stall(5_500, "c0", 30_000))
    assert (result.rebalances, 1_000 * result.summary.partition_seconds) == ((), 6 * 30_000)


def test_a_process_that_stood_still_for_longer_is_fenced_and_joins_under_its_old_id():
    result = run(group(1_000, 2_000), Stall(5_500, "c0", 60_000), costs=Costs(network_ms=20))
    assert entries(result, "session-expired", "commit-refused") == [
        ("session-expired", "c0"),
        ("commit-refused", "c0"),
    ]
    assert result.summary.double_read_ms == pytest.approx(6 * 20)  # until its heartbeat is answered
    assert set(result.rebalances[-1].consumers) == {"c0#1", "c1#1"}


def test_only_what_a_busy_member_must_give_up_waits_for_its_poll():
    result = run(group(1_000, 2_000, 3_000), SlowPoll(5_500, "c1", 62_000), Join(10_500, Consumer("new")))
    (rebalance,) = result.rebalances
    waits = sorted((start, end) for _, start, end in pauses(result) if start > 5_500)
    assert waits == [
        (pytest.approx(start, abs=2), pytest.approx(15_500, abs=2)) for start in (11_000, 13_000)
    ]
    assert rebalance.completed_ms == pytest.approx(70_500, abs=12 * LATE_MS)  # the joiner's next after 67.5 s


def test_a_java_client_leaves_at_the_first_heartbeat_after_the_poll_interval():
    result = run(group(1_000, 2_000), SlowPoll(5_500, "c0", 100_000), max_poll_interval_ms=20_000)
    assert when(result, "left") == pytest.approx([26_000], abs=6 * LATE_MS)
    assert result.rebalances[0].causes == ("c0 did not poll in time",)
    assert result.rebalances[1].started_ms == 105_500


def test_librdkafka_falls_silent_after_the_poll_interval_and_is_missed():
    consumers = group(1_000, 2_000, client="librdkafka")
    result = run(consumers, SlowPoll(5_500, "c0", 100_000), max_poll_interval_ms=20_000)
    assert when(result, "session-expired") == pytest.approx([21_000 + 45_000], abs=6 * LATE_MS)
    causes = [rebalance.causes for rebalance in result.rebalances]
    assert causes == [("session of c0 timed out",), ("c0 joined",)]


def test_a_static_java_client_that_did_not_poll_keeps_its_partitions_for_its_session():
    consumers = group(1_000, 2_000, static=True)
    result = run(consumers, SlowPoll(5_500, "c0", 40_000), max_poll_interval_ms=20_000)
    assert result.rebalances == ()
    assert result.summary.longest_pause_ms == pytest.approx(40_000, abs=LATE_MS)


def test_nothing_is_answered_while_the_coordinator_fails_over():
    result = run(group(1_000, 2_000), Failover(5_500, 7_000), Join(6_000, Consumer("new")))
    assert result.rebalances[0].started_ms == 12_500
    assert result.summary.longest_pause_ms < 2 * EVERY_MS + 200


def test_sessions_begin_anew_after_a_failover():
    result = run(group(1_000, 2_000), Crash(5_500, "c0"), Failover(20_000, 5_000))
    assert when(result, "session-expired") == [25_000 + 45_000]


# What takes time.


def test_a_partition_is_free_when_its_owner_has_said_so_after_its_callback():
    slow = run(group(1_000, 2_000), Join(5_500, Consumer("new")), costs=Costs(revoke_ms=4_400))
    late = run(group(1_000, 2_000), Join(5_500, Consumer("new")), costs=Costs(revoke_ms=4_600))
    moved = (4, 5, 10, 11)
    assert ends(slow, moved) == pytest.approx([10_500, 15_500], abs=4)  # the second learns of it at 7 s
    assert ends(late, moved) == pytest.approx([15_500], abs=4)


@pytest.mark.parametrize(
    ("client", "least", "most"),
    [
        ("librdkafka", 0, 1),
        # The rest of its batch, two until the callback, and five until the first record.
        ("java", 7, 8),
    ],
)
def test_a_client_gives_up_and_opens_in_its_polls(client, least, most):
    result = run(group(1_000, 2_000, client=client), Leave(5_500, "c1"), costs=Costs(poll_ms=800))
    assert result.summary.handover_ms > 0
    assert 800 * least < ends(result)[0] - 6_000 <= 800 * most + LATE_MS


def test_each_part_of_a_handover_takes_its_time():
    costs = Costs(assign_ms=70, partition_ms=10, first_fetch_ms=60)
    result = run(group(1_000, 2_000), Leave(5_500, "c1"), costs=costs)
    kept, opened = 6_070, [6_130 + 10 * place for place in range(1, 7)]
    assert ends(result) == pytest.approx([kept, *opened], abs=LATE_MS)
    assert result.summary.handover_ms == pytest.approx(6 * 70 + 6 * 130 + 210, abs=6 * LATE_MS)


def test_the_assignor_is_at_work_inside_a_heartbeat_and_nobody_is_answered_meanwhile():
    result = run(group(1_000, 1_300, 2_000), Leave(5_500, "c2"), costs=Costs(assignor_ms=500))
    assert ends(result) == pytest.approx([6_500], abs=LATE_MS)
    assert result.summary.compute_ms == pytest.approx(4 * 500)


def test_a_request_takes_half_the_network_time_each_way():
    result = run(group(1_000, 2_000), Leave(5_500, "c1"), costs=Costs(network_ms=40))
    assert when(result, "rebalance") == [5_520]
    assert ends(result) == pytest.approx([6_040], abs=LATE_MS)


# Who cannot be in such a group.


def test_a_client_that_does_not_speak_the_protocol_is_refused():
    result = run(group(1_000), Join(5_500, Consumer("new", client="kafka-python")))
    assert entries(result, "refused") == [("refused", "new")]


def test_a_group_at_the_start_of_clients_that_do_not_speak_the_protocol_is_refused():
    with pytest.raises(ScenarioError, match=r"c0.*kafka-python does not speak the consumer protocol"):
        run(group(1_000, client="kafka-python"))
