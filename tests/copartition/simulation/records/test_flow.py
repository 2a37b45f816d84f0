"""Exact figures of small cases: 100 records a second, commits every 5 s, unless a test says otherwise."""

import numpy as np
import pytest

from assignors.group import Topic
from copartition.simulation import Load, Scenario, Settings
from copartition.simulation.records import curves
from copartition.simulation.records.flow import RecordFlow
from copartition.simulation.records.readers import Zombie
from partitioning.errors import ScenarioError


def flow(rate=100, *, partitions=1, timeout=60_000, settled_ms=3_600_000, **load):
    """A flow whose partitions exist from time 0 on: of one topic, or one of each of the topics in `rate`."""
    topics = [Topic(name, 1) for name in rate] if isinstance(rate, dict) else [Topic("orders", partitions)]
    timeouts = Settings(auto_commit_interval_ms=5_000, transaction_timeout_ms=timeout)
    scenario = Scenario(tuple(topics), (), load=Load(rate, **load), settings=timeouts, settled_ms=settled_ms)
    first = np.cumsum([0, *(topic.partitions for topic in topics)])
    told = RecordFlow(scenario, first, [topic.name for topic in topics])
    told.add_partitions(np.arange(first[-1]), 0)
    return told


def curve_of(result):
    return list(zip(result.lag_ms.tolist(), result.lag.tolist(), strict=True))


def test_what_waits_at_time_0_is_worked_off_with_the_capacity_that_is_left():
    told = flow({"orders": 100, "pay": 100}, capacity=250, waiting={"orders": 500, "pay": (100,)})
    assert told.lag() == 600
    told.reads([0, 1], 0, 0)
    result = told.result(30_000)
    # 50 a second are left for it: `pay` has its 100 after 4 s, the other one the rest of 600 after 12 s.
    assert curve_of(result) == [(0, 0), (0, 600), (12_000, 0), (30_000, 0)]
    assert (result.peak.tolist(), result.peak_ms.tolist()) == ([500, 100], [0, 0])
    assert result.curves.of(1)[0].tolist() == [0, 4_000, 12_000, 30_000]
    assert result.arrived.tolist() == result.consumed.tolist() == [3_500, 3_100]
    assert not result.recovery_ms.any()  # it has waited since before, for no outage of this run


def test_what_waits_at_time_0_is_read_at_once_without_a_limit():
    told = flow(waiting=500)
    told.reads([0], 0, 0)
    told.stops([0], 12_000, committed=False)
    told.reads([0], 1, 20_000)
    result = told.result(30_000)
    assert (result.consumed, result.duplicates, result.waiting) == ([3_500], [200], [0])


@pytest.mark.parametrize(("commit", "duplicates", "lost"), [("after", 1_500, 0), ("before", 0, 500)])
def test_what_waited_and_was_not_committed_is_read_again_or_lost(commit, duplicates, lost):
    told = flow(capacity=500, waiting=2_000, commit=commit, batch=1_000)
    told.reads([0], 0, 0)
    told.stops([0], 3_000, committed=False)  # 1,500 are processed, in the second batch
    told.reads([0], 1, 3_000)
    result = told.result(60_000)
    assert (result.arrived, result.waiting, result.consumed + result.lost) == ([8_000], [0], [8_000])
    assert (result.duplicates, result.lost) == ([duplicates], [lost])


def test_a_crash_two_seconds_after_the_last_commit_makes_two_seconds_of_duplicates():
    told = flow()
    told.reads([0], 0, 0)
    told.stops([0], 12_000, committed=False)
    told.reads([0], 1, 20_000)
    result = told.result(30_000)
    assert result.duplicates == [200]
    assert result.consumed == result.arrived == [3_000]
    assert result.waiting == result.lost == result.aborted == [0]


def test_what_is_not_read_again_is_no_duplicate_yet():
    told = flow()
    told.reads([0], 0, 0)
    told.stops([0], 12_000, committed=False)
    result = told.result(20_000)
    assert (result.duplicates, result.consumed, result.waiting) == ([0], [1_200], [800])
    assert told.lag() == 1_000


@pytest.mark.parametrize(
    ("options", "leaves", "duplicates"),
    [
        pytest.param({}, False, 400, id="the three seconds before, too"),
        pytest.param({"settled_ms": 2_000}, False, 300, id="as long as it has read"),
        pytest.param({"settled_ms": 0}, False, 100, id="it has just begun"),
        pytest.param({"commit": "before"}, False, 0, id="all is committed"),
        pytest.param({}, True, 0, id="it commits now"),
        pytest.param({"commit_on_revoke": False}, True, 400, id="it does not commit now"),
    ],
)
def test_what_was_read_before_time_0_and_not_committed_is_read_again(options, leaves, duplicates):
    told = flow(**options)
    told.readers.consumers.has_committed(0, -3_000)
    told.reads([0], 0, 0)
    told.readers.has_read([0], np.array([0]))
    told.stops([0], 1_000, committed=leaves)
    told.reads([0], 1, 2_000)
    result = told.result(30_000)
    assert result.duplicates == pytest.approx(duplicates)
    assert (result.consumed, result.arrived) == (pytest.approx(3_000), 3_000)


@pytest.mark.parametrize(
    ("begins", "crashes", "duplicates"),
    [
        pytest.param(0, 4_999, 499.9, id="before the first commit"),
        pytest.param(0, 5_000, 0, id="at a commit"),
        pytest.param(3_000, 12_000, 400, id="the clock starts with the assignment"),
    ],
)
def test_duplicates_are_what_came_since_the_last_commit(begins, crashes, duplicates):
    told = flow()
    told.reads([0], 0, 0)
    told.stops([0], begins, committed=True)
    told.reads([0], 1, begins)
    told.stops([0], crashes, committed=False)
    told.reads([0], 2, crashes)
    assert told.result(60_000).duplicates == [duplicates]


@pytest.mark.parametrize(("on_revoke", "duplicates"), [(True, 0), (False, 300)])
def test_a_commit_on_revoke_leaves_nothing_to_read_again(on_revoke, duplicates):
    told = flow(commit_on_revoke=on_revoke)
    told.reads([0], 0, 0)
    told.stops([0], 8_000, committed=True)
    told.reads([0], 0, 9_000)
    assert told.result(10_000).duplicates == [duplicates]


@pytest.mark.parametrize(("on_revoke", "duplicates"), [(True, [100, 800]), (False, [300, 800])])
def test_a_consumer_that_rejoins_commits_what_it_has_and_begins_its_interval_anew(on_revoke, duplicates):
    told = flow(partitions=2, commit_on_revoke=on_revoke)
    told.reads([0], 0, 0)
    told.reads([1], 0, 7_000)
    told.stops([0, 1], 8_000, committed=False)
    told.reads([0, 1], 1, 8_000)
    assert told.result(10_000).duplicates.tolist() == duplicates


def test_commits_go_on_while_a_backlog_is_worked_off():
    told = flow(capacity=300)
    told.reads([0], 0, 10_000)
    told.stops([0], 17_000, committed=False)
    told.reads([0], 1, 17_000)
    # Drained at 15 s, the moment of the commit: 200 since. The other one begins 200 behind.
    assert told.result(20_000).duplicates == [200]


def test_records_committed_before_they_are_processed_are_lost_with_the_batch():
    told = flow(capacity=200, batch=500, commit="before")
    told.reads([0], 0, 10_000)
    # 1,000 behind and 2.5 s a batch: half of the second batch is done.
    told.stops([0], 13_750, committed=False)
    told.reads([0], 1, 20_000)
    result = told.result(60_000)
    assert (result.lost, result.duplicates) == ([250], [0])
    assert result.consumed == result.arrived - 250


def test_no_more_is_lost_than_there_was_to_read():
    told = flow(capacity=200, batch=500, commit="before")
    told.reads([0], 0, 1_000)
    told.stops([0], 1_500, committed=False)
    told.reads([0], 1, 2_000)
    assert told.result(60_000).lost == [50]


def test_what_is_committed_before_is_finished_before_it_is_given_up():
    told = flow(capacity=200, commit="before", commit_on_revoke=False)
    told.reads([0], 0, 10_000)
    told.stops([0], 11_000, committed=True)
    told.reads([0], 1, 12_000)
    assert told.result(60_000).lost == [0]


def test_a_batch_shared_by_partitions_is_lost_of_each():
    told = flow(partitions=2, capacity=400, batch=400, commit="before")
    told.reads([0, 1], 0, 10_000)
    told.stops([0, 1], 10_250, committed=False)
    told.reads([0, 1], 1, 20_000)
    assert told.result(60_000).lost.tolist() == [150, 150]


def test_a_zombie_finishes_the_batch_that_was_taken_for_lost():
    told = flow(capacity=200, batch=500, commit="before")
    told.reads([0], 0, 10_000)
    told.stalls([0], 13_750)
    told.reads([0], 1, 20_000)
    told.zombie(Zombie([0], 0, 30_000, 31_000))
    result = told.result(60_000)
    assert (result.lost, result.duplicates) == ([50], [0])


def test_a_stall_that_ends_in_time_makes_nothing_twice():
    told = flow()
    told.reads([0], 0, 0)
    told.stalls([0], 12_000)
    told.advance(14_000)
    assert told.lag() == 200
    told.reads([0], 0, 19_000)
    told.stops([0], 19_500, committed=False)
    told.reads([0], 1, 19_500)
    # The commit that was due at 15 s is made at 19 s, when the process is back.
    result = told.result(30_000)
    assert result.duplicates == [750]
    assert result.recovery_ms == [7_000]


@pytest.mark.parametrize("on_revoke", [True, False])
def test_a_short_stall_does_not_begin_the_interval_anew(on_revoke):
    told = flow(commit_on_revoke=on_revoke)
    told.reads([0], 0, 0)
    told.stalls([0], 12_000)
    told.reads([0], 0, 13_000)
    told.stops([0], 16_000, committed=False)
    told.reads([0], 1, 16_000)
    assert told.result(20_000).duplicates == [100]


def test_a_consumer_that_goes_on_and_gets_more_commits_all():
    told = flow(partitions=2)
    told.reads([0], 0, 0)
    told.stalls([0], 12_000)
    told.reads([0, 1], 0, 13_000)
    told.stops([0], 14_000, committed=False)
    told.reads([0], 1, 14_000)
    assert told.result(20_000).duplicates.tolist() == [200, 0]


def test_who_takes_over_from_a_stalled_reader_is_behind_by_what_that_had_not_committed():
    told = flow(capacity=300)
    told.reads([0], 0, 0)
    told.stalls([0], 12_000)
    told.reads([0], 1, 20_000)
    result = told.result(30_000)
    assert (result.peak, result.peak_ms) == ([1_000], [20_000])
    assert result.recovery_ms == [13_000]


def test_being_told_again_to_read_is_a_rejoin():
    told = flow()
    told.reads([0], 0, 0)
    told.reads([0], 0, 7_000)
    told.stops([0], 11_000, committed=False)
    result = told.result(12_000)
    assert curve_of(result) == [(0, 0), (11_000, 0), (11_000, 400), (12_000, 500)]


def test_a_stalled_reader_that_is_replaced_and_wakes_up_reads_twice():
    told = flow()
    told.reads([0], 0, 0)
    told.stalls([0], 12_000)
    told.reads([0], 1, 20_000)
    told.zombie(Zombie([0], 0, 30_000, 31_000))
    result = told.result(40_000)
    # 200 by the new owner, and by the zombie all that came from 12 s to 31 s.
    assert result.duplicates == [200 + 1_900]
    assert result.consumed == [4_000]


def test_a_zombie_is_as_slow_as_it_was():
    told = flow(capacity=300)
    told.reads([0], 0, 0)
    told.stops([0], 10_000, committed=False)
    told.reads([0], 1, 10_000)
    told.zombie(Zombie([0], 0, 20_000, 22_000))
    assert told.result(40_000).duplicates == [600]


@pytest.mark.parametrize(("end", "duplicates"), [(20_000, 0), (21_000, 300)])
def test_only_the_part_of_a_zombie_up_to_the_end_counts(end, duplicates):
    told = flow(capacity=300)
    told.reads([0], 0, 0)
    told.stops([0], 10_000, committed=False)
    told.reads([0], 1, 10_000)
    told.zombie(Zombie([0], 0, 20_000, 22_000))
    assert told.result(end).duplicates == [duplicates]


def test_a_zombie_whose_process_ends_reads_no_more():
    told = flow(capacity=300)
    told.reads([0], 0, 0)
    told.stops([0], 10_000, committed=False)
    told.reads([0], 1, 10_000)
    zombie = Zombie([0], 0, 20_000, 22_000)
    told.zombie(zombie)
    zombie.end_ms = 20_500
    assert told.result(40_000).duplicates == [150]


def test_a_zombie_that_is_fenced_when_it_wakes_reads_nothing():
    told = flow()
    told.reads([0], 0, 0)
    told.stops([0], 10_000, committed=False)
    told.reads([0], 1, 10_000)
    told.zombie(Zombie([0], 0, 20_000, 20_000))
    assert told.result(30_000).duplicates == [0]


def test_what_only_a_zombie_has_read_is_consumed():
    told = flow()
    told.reads([0], 0, 0)
    told.stalls([0], 10_000)
    told.stops([0], 15_000, committed=False)
    told.zombie(Zombie([0], 0, 20_000, 21_000))
    result = told.result(30_000)
    assert (result.consumed, result.waiting, result.duplicates) == ([2_100], [900], [0])


def test_a_second_process_of_the_same_name_begins_where_the_first_has_committed():
    told = flow()
    told.reads([0], 0, 0)
    told.zombie(Zombie([0], 0, 12_000, 13_000))
    told.stops([0], 18_000, committed=False)
    told.reads([0], 1, 18_000)
    # 200 since the last commit, 100 by the one that is fenced at 13 s, 100 since the commit at 17 s.
    assert told.result(20_000).duplicates == [200 + 100 + 100]


def test_what_was_given_up_is_not_read_on():
    told = flow(partitions=2)
    told.reads([0, 1], 0, 0)
    told.stops([0], 3_000, committed=False)
    told.reads([0], 0, 3_000)
    told.stops([0], 10_000, committed=True)
    told.stops([1], 10_000, committed=False)
    told.reads([0, 1], 1, 10_000)
    told.zombie(Zombie([0, 1], 0, 12_000, 13_000))
    assert told.result(20_000).duplicates.tolist() == [300, 300]


def test_a_transaction_is_aborted_not_read_twice():
    told = flow(transactions=True)
    told.reads([0], 0, 0)
    told.stops([0], 12_000, committed=False)
    told.reads([0], 1, 20_000)
    result = told.result(30_000)
    assert (result.duplicates, result.aborted) == ([0], [200])
    assert result.consumed == [3_000]


@pytest.mark.parametrize(
    ("tell", "uncommitted_ms"),
    [
        pytest.param(lambda _: None, 58_000, id="until it times out"),
        pytest.param(lambda told: told.reads([0], 1, 20_000), 58_000, id="a new owner does not end it"),
        pytest.param(lambda told: told.reads([0], 0, 20_000), 8_000, id="its own process is back"),
        pytest.param(lambda told: told.reads([1], 0, 20_000), 8_000, id="its own process has something else"),
        pytest.param(
            lambda told: told.zombie(Zombie([0], 0, 15_000, 16_000)), 4_000, id="a zombie's is refused"
        ),
    ],
)
def test_an_open_transaction_holds_the_last_stable_offset(tell, uncommitted_ms):
    told = flow(partitions=2, transactions=True)
    told.reads([0], 0, 0)
    told.stops([0], 12_000, committed=False)
    tell(told)
    assert told.result(100_000).uncommitted_ms.tolist() == [uncommitted_ms, 0]


def test_a_transaction_that_had_timed_out_holds_nothing():
    told = flow(transactions=True, timeout=1_000)
    told.reads([0], 0, 0)
    told.stops([0], 12_000, committed=False)
    told.reads([0], 0, 20_000)
    assert told.result(100_000).uncommitted_ms == [0]


def test_two_open_transactions_hold_the_last_stable_offset_once():
    told = flow(transactions=True)
    told.reads([0], 0, 0)
    told.stops([0], 12_000, committed=False)
    told.reads([0], 1, 12_000)
    told.stops([0], 20_000, committed=False)
    # The first until 70 s, the second, begun at 17 s, until 77 s.
    assert told.result(100_000).uncommitted_ms == [65_000]


def test_nothing_was_open_where_nothing_had_been_processed():
    told = flow({"busy": 100, "idle": 0}, transactions=True)
    told.reads([0, 1], 0, 0)
    told.stops([0, 1], 12_000, committed=False)
    assert told.result(100_000).uncommitted_ms.tolist() == [58_000, 0]


@pytest.mark.parametrize(("back", "aborted"), [(70_000, 0), (70_001, 200)])
def test_a_process_that_stands_for_longer_than_its_transaction_may_take_begins_it_again(back, aborted):
    told = flow(transactions=True)
    told.reads([0], 0, 0)
    told.stalls([0], 12_000)
    told.reads([0], 0, back)
    assert told.result(100_000).aborted == [aborted]


def test_a_backlog_is_caught_up_at_the_capacity_that_is_left():
    told = flow(capacity=300)
    told.reads([0], 0, 0)
    told.stops([0], 10_000, committed=True)
    told.reads([0], 1, 20_000)
    told.advance(22_500)
    assert (told.lag(), told.partition_lag()) == (500, 500)
    assert told.caught_up_ms() == 25_000
    result = told.result(30_000)
    assert (result.peak, result.peak_ms) == ([1_000], [20_000])
    assert (result.recovery_ms, result.catch_up_ms) == ([15_000], [5_000])
    assert [column.tolist() for column in result.catch_ups] == [[0], [20_000], [25_000]]
    assert curve_of(result) == [(0, 0), (10_000, 0), (20_000, 1_000), (25_000, 0), (30_000, 0)]


def test_without_a_limit_a_backlog_is_gone_at_once():
    told = flow(partitions=2)
    told.reads([0, 1], 0, 0)
    told.stops([1], 10_000, committed=True)
    told.reads([1], 1, 20_000)
    result = told.result(30_000)
    assert result.recovery_ms.tolist() == [0, 10_000]
    assert result.catch_up_ms.tolist() == [0, 0]
    assert curve_of(result) == [(0, 0), (10_000, 0), (20_000, 1_000), (20_000, 0), (30_000, 0)]


def test_a_crash_makes_the_lag_jump_by_what_is_read_again():
    told = flow()
    told.reads([0], 0, 0)
    told.stops([0], 12_000, committed=False)
    result = told.result(13_000)
    assert curve_of(result) == [(0, 0), (12_000, 0), (12_000, 200), (13_000, 300)]
    assert np.stack(result.curves.of(0), axis=1).tolist() == [
        [0, 0],
        [12_000, 0],
        [12_000, 200],
        [13_000, 300],
    ]


def test_partitions_share_what_their_consumer_can_process():
    told = flow(partitions=3, capacity=600)
    told.reads([0, 1, 2], 0, 0)
    told.stops([0], 10_000, committed=True)
    told.stops([1], 15_000, committed=True)
    told.reads([0, 1], 0, 20_000)
    result = told.result(60_000)
    # 1,000 and 500 behind, each given 250 of 600; then the first alone 400.
    assert result.recovery_ms.tolist() == pytest.approx([10_000 + 5_000, 5_000 + 10_000 / 3, 0])
    assert result.catch_up_ms.tolist() == pytest.approx([5_000, 10_000 / 3, 0])
    times, behind = result.curves.of(0)
    assert times.tolist() == pytest.approx([0, 10_000, 20_000, 20_000 + 10_000 / 3, 25_000, 60_000])
    assert behind.tolist() == pytest.approx([0, 0, 1_000, 500, 0, 0])


def test_an_overloaded_consumer_never_recovers():
    told = flow(partitions=2, capacity=150)
    told.reads([0, 1], 0, 10_000)
    result = told.result(20_000)
    assert result.recovery_ms.tolist() == [np.inf, np.inf]
    assert result.peak.tolist() == [1_250, 1_250]
    assert told.caught_up_ms() == 20_000


def test_recovered_is_no_further_behind_than_before():
    told = flow(partitions=2, capacity=150)
    told.reads([0, 1], 0, 0)
    # Each is 500 behind when a second consumer takes one of them, 10 s later.
    told.stops([1], 20_000, committed=True)
    told.reads([1], 1, 30_000)
    result = told.result(100_000)
    # 1,500 behind, and 50 a second to spare.
    assert result.recovery_ms[1] == pytest.approx(30_000)
    assert result.catch_up_ms[1] == pytest.approx(20_000)


def test_a_partition_that_stops_again_before_it_has_caught_up_is_still_in_the_same_outage():
    told = flow(capacity=200)
    told.reads([0], 0, 0)
    told.stops([0], 10_000, committed=True)
    told.reads([0], 1, 20_000)
    told.stops([0], 25_000, committed=True)
    told.reads([0], 0, 26_000)
    result = told.result(60_000)
    assert (result.recovery_ms, result.catch_up_ms) == ([22_000], [11_000])


def test_a_partition_is_furthest_behind_where_others_make_room():
    told = flow({"busy": 300, "late": 50}, capacity=400)
    told.reads([0], 0, 0)
    told.reads([1], 0, 20_000)
    # 1,000 of the late one are gained on at 150 a second; meanwhile the busy one lacks 100 a second.
    result = told.result(60_000)
    assert result.peak.tolist() == pytest.approx([1_000 * 100 / 150, 1_000])
    assert result.peak_ms.tolist() == pytest.approx([20_000 + 20_000 / 3, 20_000])


def test_each_partition_has_its_own_time_and_consumer():
    told = flow(partitions=3)
    told.reads(np.arange(3), np.array([0, 1, 1]), np.array([1_000.0, 2_000.0, 3_000.0]))
    told.stops(np.arange(3), np.array([11_000.0, 13_000.0, 14_000.0]), committed=False)
    told.reads(np.arange(3), 2, 20_000)
    result = told.result(30_000)
    # Consumer 1 rejoins at 3 s, and its interval begins anew.
    assert result.duplicates.tolist() == [0, 0, 100]
    assert result.peak_ms.tolist() == [20_000] * 3


def test_what_is_told_out_of_order_happens_in_order():
    told = flow(partitions=2, capacity=300)
    told.reads([0], 0, 30_000)
    told.reads([1], 0, 20_000)
    assert told.result(40_000).peak_ms.tolist() == [30_000, 20_000]


def test_what_is_told_for_the_same_time_happens_in_the_order_in_which_it_is_told():
    told = flow(partitions=4)
    told.reads([0], 0, 0)
    told.reads([2], 2, 15_000)
    told.reads([3], 2, 14_000)
    told.reads([1], 0, 12_000)
    told.stops([0], 12_000, committed=False)
    told.reads([0], 1, 16_000)
    assert told.result(20_000).duplicates.tolist() == [0, 0, 0, 0]


def test_a_partition_is_lost_before_it_is_taken_though_others_are_told_about_out_of_order():
    told = flow(partitions=3)
    told.reads([0], 0, 0)
    told.stalls([0], 12_000)
    told.reads([1], 2, 40_000)
    told.reads([2], 2, 39_000)
    told.zombie(Zombie([0], 0, 20_000, 21_000))
    told.reads([0], 1, 30_000)
    times, behind = told.result(50_000).curves.of(0)
    assert times.tolist() == [0, 12_000, 20_000, 20_000, 30_000, 30_000, 50_000]
    assert behind.tolist() == [0, 0, 800, 1_000, 2_000, 0, 0]


def test_records_come_from_a_partitions_birth_on():
    late = RecordFlow(Scenario((Topic("orders", 2),), (), load=Load(100)), np.array([0, 2]), ["orders"])
    late.add_partitions([0], 0)
    late.add_partitions([1], 10_000)
    late.advance(5_000)
    assert late.lag() == 500
    assert curve_of(late.result(6_000)) == [(0, 0), (6_000, 600)]
    assert late.result(15_000).arrived.tolist() == [1_500, 500]


def test_stopping_what_nobody_reads_changes_nothing():
    told = flow(partitions=2)
    told.reads([0], 0, 0)
    told.stops([0, 1], np.array([3_000.0, 1_000.0]), committed=True)
    told.stops([0], 4_000, committed=False)
    assert told.result(5_000).waiting.tolist() == [200, 500]


def test_a_partition_has_one_reader():
    told = flow()
    told.reads([0], 0, 0)
    with pytest.raises(AssertionError, match="two readers"):
        told.reads([0], 1, 1_000)


def test_a_run_of_many_stretches_has_no_curves_of_single_partitions(monkeypatch):
    monkeypatch.setattr(curves, "MOST_STRETCHES", 3)
    told = flow()
    for second in range(4):
        told.reads([0], 0, 1_000 * second)
        told.stops([0], 1_000 * second + 500, committed=True)
    with pytest.raises(ScenarioError, match="no partition has a lag curve: a run keeps 3 stretches"):
        told.result(5_000).curves.of(0)
