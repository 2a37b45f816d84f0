"""Groups that become consumer groups (KIP-848) while they run, and classic ones again."""

from dataclasses import replace
from functools import partial

import pytest

from copartition.simulation import Consumer, Costs, Crash, Join, Leave, Phase, Restart, SlowPoll, Stall
from tests.support import simulated
from tests.support.simulated import beating as group
from tests.support.simulated import entries, when

run = partial(simulated.run, assignor="range")
MODERN = ("uniform",)
LATE_MS = 2


def pauses(result):
    """Every pause as partition, start and end."""
    return sorted(zip(*(column.tolist() for column in result.timeline.pauses()), strict=True))


def modern(name, **more):
    return Consumer(name, assignors=MODERN, **more)


def test_the_first_member_of_the_consumer_protocol_makes_the_group_one_of_that_protocol():
    result = run(group(1_000, 2_000), Join(10_500, modern("new")))
    assert when(result, "upgrade") == [10_500]
    assert result.rebalances[-1].generation == 2  # the epochs go on where the generations were
    assert {member: len(owned) for member, owned in result.rebalances[-1].assignment.items()} == {
        "c0#1": 4,
        "c1#1": 4,
        "new#1": 4,
    }


@pytest.mark.parametrize("assignor", ["range", "cooperative-sticky"])
def test_each_classic_member_joins_again_at_its_own_heartbeat_and_waits_for_nobody(assignor):
    result = run(group(1_000, 2_000), Join(11_500, modern("new")), assignor=assignor)
    waits = sorted((start, end) for _, start, end in pauses(result))
    # What c0 gives up at 13 s and c1 at 14 s is the newcomer's at its next heartbeat.
    assert [start for start, _ in waits] == pytest.approx([13_000] * 2 + [14_000] * 2, abs=5 * LATE_MS)
    assert [end for _, end in waits] == pytest.approx([16_500] * 4, abs=LATE_MS)


def test_a_member_of_kafka_python_that_waits_at_the_barrier_reads_again_when_the_group_is_upgraded():
    """It hears at 10.5 s that it must rejoin; half a second later its JoinGroup is answered at once."""
    consumers = [
        Consumer(f"c{turn}", client="kafka-python", beat_ms=1_500.0 + 1_400 * turn) for turn in (0, 1)
    ]
    joins = Join(10_100, Consumer("new")), Join(11_000, Consumer("modern", assignors=MODERN))
    result = run(consumers, *joins, assignor="cooperative-sticky")
    assert when(result, "upgrade") == [11_000]
    waited = sorted(round(end - start) for _, start, end in pauses(result))
    assert waited[:3] == pytest.approx([500] * 3, abs=3 * LATE_MS)
    assert result.summary.unassigned_partitions == 0


def test_an_eager_member_gives_everything_up_and_has_what_it_keeps_back_at_once():
    result = run(
        group(1_000, 2_000), Join(11_500, modern("new")), assignor="range", costs=Costs(revoke_ms=100)
    )
    lasted = sorted(round(end - start) for _, start, end in pauses(result))
    assert lasted[:8] == [100] * 8
    assert all(pause > 1_000 for pause in lasted[8:])


def test_a_static_member_changes_its_protocol_within_its_session_and_nobody_hears_of_it():
    events = [Restart(10_000 + 20_000 * turn, f"c{turn}", 3_000, MODERN) for turn in range(3)]
    result = run(group(1_000, 2_000, 3_000, static=True), *events)
    assert result.rebalances == ()
    assert 1_000 * result.summary.partition_seconds == 12 * 3_000
    assert when(result, "upgrade") == [13_000]


def test_a_static_member_that_changes_its_protocol_amid_a_rebalance_ends_it_for_newcomers():
    """Kafka 4.4 takes its subscription for unchanged, and raises no epoch for those that wait to get in."""
    consumers = [*group(1_000), Consumer("c1", True, beat_ms=2_000)]
    result = run(consumers, Restart(9_000, "c1", 3_000, MODERN), Join(10_500, Consumer("new")))
    assert when(result, "upgrade") == [12_000]
    assert result.rebalances == ()
    assert result.summary.unassigned_partitions == 0


def test_the_group_is_a_classic_one_again_when_the_last_member_of_the_consumer_protocol_is_gone():
    result = run([*group(1_000, 2_000), modern("c2")], Leave(10_500, "c2"))
    assert when(result, "downgrade") == [10_500]
    (rebalance,) = result.rebalances
    assert rebalance.causes == ("c2 left",)
    assert {member: len(owned) for member, owned in rebalance.assignment.items()} == {"c0#1": 6, "c1#1": 6}
    assert rebalance.completed_ms == pytest.approx(13_000, abs=12)  # the barrier: the last of two heartbeats


def test_a_static_member_takes_its_group_back_to_the_classic_protocol_without_a_rebalance():
    consumers = [*group(1_000, 2_000, static=True), modern("c2", static=True)]
    result = run(consumers, Restart(10_000, "c2", 3_000, ("range",)), Restart(30_000, "c0", 3_000))
    assert when(result, "downgrade") == [13_000]
    assert result.rebalances == ()
    assert 1_000 * result.summary.partition_seconds == 2 * 4 * 3_000


def test_a_member_that_left_and_joined_again_is_not_expelled_for_what_it_kept_before():
    consumers = [modern("c0"), Consumer("c1", assignors=("cooperative-sticky",), beat_ms=2_000)]
    events = [SlowPoll(5_500, "c1", 21_500), Join(10_500, modern("new")), Join(50_000, modern("late"))]
    result = run(consumers, *events, assignor="cooperative-sticky", max_poll_interval_ms=20_000)
    assert entries(result, "left") == [("left", "c1")]
    assert len(result.rebalances[-1].assignment["c1#2"]) == 3
    assert result.summary.unassigned_partitions == 0


def test_a_rolling_restart_and_back_ends_where_it_began():
    there = [Restart(10_000 + 30_000 * turn, f"c{turn}", 2_000, MODERN) for turn in range(3)]
    back = [Restart(110_000 + 30_000 * turn, f"c{turn}", 2_000, ("range",)) for turn in range(3)]
    result = run(group(1_000, 2_000, 3_000), *there, *back)
    assert entries(result, "upgrade", "downgrade") == [("upgrade", None), ("downgrade", None)]
    assert result.summary.unassigned_partitions == 0
    last = result.rebalances[-1].assignment
    assert {member: len(owned) for member, owned in last.items()} == dict.fromkeys(
        ("c0#3", "c1#3", "c2#3"), 4
    )


def test_a_classic_member_that_vanished_before_the_upgrade_is_missed_when_its_session_ends():
    result = run(
        group(1_000, 2_000), Crash(10_500, "c0"), Join(20_000, modern("new")), auto_commit_interval_ms=60_000
    )
    assert when(result, "session-expired") == pytest.approx([10_000 + 45_000], abs=5 * LATE_MS)
    assert {member: len(owned) for member, owned in result.rebalances[-1].assignment.items()} == {
        "c1#1": 6,
        "new#1": 6,
    }


def test_a_process_that_ended_busy_before_the_upgrade_reads_nothing_when_it_is_missed():
    consumers = [replace(consumer, static=True) for consumer in group(1_000, 2_000)]
    events = SlowPoll(10_000, "c0", 60_000), Leave(10_500, "c0"), Join(15_000, modern("new"))
    result = run(consumers, *events, session_timeout_ms=20_000)
    assert when(result, "session-expired") == [10_500 + 20_000]  # its last commit
    assert not len(result.timeline.zombies.partition)


def test_a_process_that_stood_still_through_the_upgrade_joins_again():
    result = run(group(1_000, 2_000), Stall(10_500, "c0", 20_000), Join(15_000, modern("new")))
    assert entries(result, "session-expired") == []
    assert {len(owned) for owned in result.rebalances[-1].assignment.values()} == {4}
    assert result.summary.unassigned_partitions == 0


def test_an_application_that_is_busy_through_the_downgrade_joins_again():
    consumers = [*group(1_000, 2_000), modern("c2")]
    result = run(consumers, SlowPoll(5_000, "c0", 400_000), Leave(10_500, "c2"), max_poll_interval_ms=60_000)
    assert set(result.rebalances[-1].consumers) == {"c0#2", "c1#1"}
    assert result.summary.unassigned_partitions == 0


def test_an_upgrade_amid_a_rebalance_sends_those_that_wait_for_it_to_join_again():
    result = run(
        group(1_000, 2_000, 2_900),
        Leave(10_500, "c0"),
        Join(11_500, modern("new")),  # c1 hears at 14 s, c2 at 11.9 s
    )
    assert [rebalance.causes for rebalance in result.rebalances][-1][-1] == "new joined"
    assert result.summary.unassigned_partitions == 0


@pytest.mark.parametrize("assignor", ["range", "uniform"])
def test_an_empty_group_becomes_what_its_first_member_speaks(assignor):
    other = MODERN if assignor == "range" else ("range",)
    result = run(
        group(1_000), Leave(5_000, "c0"), Join(9_000, Consumer("new", assignors=other)), assignor=assignor
    )
    assert entries(result, "upgrade", "downgrade") == [("upgrade" if other == MODERN else "downgrade", None)]
    assert result.rebalances[-1].assignment["new#1"]


def test_classic_members_without_an_assignor_in_common_are_refused_in_a_consumer_group_too():
    consumers = [modern("c0"), Consumer("c1", assignors=("range",))]
    result = run(consumers, Join(5_000, Consumer("c2", assignors=("sticky",))))
    assert entries(result, "refused") == [("refused", "c2")]


def test_a_group_of_both_protocols_is_told_by_heartbeats_of_the_consumer_protocol_only():
    consumers = [
        Consumer("c0", assignors=MODERN, beat_ms=4_900),
        *group(1_000, 2_000)[1:],
        Consumer("c2", beat_ms=600),
    ]
    result = run(consumers, Leave(10_000, "c1"))
    assert when(result, "generation") == pytest.approx([0, 14_900], abs=LATE_MS)


def test_partitions_are_never_read_by_two_members_of_different_protocols():
    events = [Restart(10_000 + 7_000 * turn, f"c{turn}", 1_000, MODERN) for turn in range(3)]
    result = run(group(1_000, 2_000, 2_900), *events, costs=Costs(poll_ms=300, revoke_ms=50, network_ms=4))
    timeline = result.timeline
    assert len(timeline.zombies.partition) == 0
    read = timeline.phase == Phase.CONSUMING
    assert (timeline.consumer[read] >= 0).all()
