"""The model of share groups by cases that can be computed by hand."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from copartition.models.share_groups.partition import (
    ACCEPTED,
    ARCHIVED,
    AVAILABLE,
    REJECTED,
    AcquiredRecords,
    SharePartition,
)
from copartition.models.share_groups.run import (
    MOST_MEMBERS,
    ShareGroup,
    ShareResult,
    SpecialRecord,
    lock_that_suffices,
    members_that_help,
    simulate_share,
)
from partitioning.errors import ScenarioError
from tests.support.tiers import examples, sample

# Polls of 10 records that take 100 ms each; a request takes no time.
GROUP = ShareGroup(
    records=100, process_ms=100, max_poll_records=10, batch_records=10, lock_ms=30_000, round_trip_ms=0
)


def figures(result: ShareResult) -> tuple[float, int, int, int]:
    """Seconds, what was accepted, redelivered, and processed in vain."""
    return result.seconds, result.accepted, result.redeliveries, result.late


def partition(
    records: int = 100, batch_records: int = 10, limit: int = 5, locks: int = 2_000
) -> SharePartition:
    return SharePartition(records, batch_records, limit, locks)


def fetch_and_release(partition: SharePartition, most: int = 10) -> list[int]:
    """What one fetch gets, and gives back at once."""
    lease = partition.acquire(most, 0)
    partition.give_back(lease)
    return lease.offsets


def end(partition: SharePartition, lease: AcquiredRecords, state: int, *offsets: int) -> bool:
    return partition.acknowledge(lease, dict.fromkeys(offsets or lease.offsets, state))


@pytest.mark.parametrize(
    ("most", "batch_records", "offsets"),
    [(10, 10, 10), (7, 10, 10), (12, 10, 20), (7, 1, 7), (500, 10, 100)],
    ids=["a batch", "a part of a batch", "more than a batch", "batches of one", "more than there is"],
)
def test_whole_batches_of_the_log_are_acquired(most: int, batch_records: int, offsets: int) -> None:
    assert partition(batch_records=batch_records).acquire(most, 0).offsets == [*range(offsets)]


def test_a_released_record_comes_before_new_ones_and_beside_them() -> None:
    shared = partition()
    lease = shared.acquire(10, 0)
    end(shared, lease, ACCEPTED, *range(8))
    shared.give_back(lease)
    assert shared.acquire(10, 0).offsets == [8, 9, *range(10, 20)]


def test_in_flight_counts_final_records_behind_one_that_is_not() -> None:
    shared = partition(locks=30)
    leases = [shared.acquire(10, 0) for _ in range(3)]
    assert shared.acquire(10, 0).offsets == []
    end(shared, leases[1], ACCEPTED)
    end(shared, leases[2], REJECTED)
    assert shared.in_flight == 30
    assert shared.acquire(10, 0).offsets == []
    end(shared, leases[0], ACCEPTED)
    assert (shared.in_flight, shared.acquire(10, 0).offsets) == (0, [*range(30, 40)])


def test_what_is_available_in_a_full_window_is_acquired_all_the_same() -> None:
    shared = partition(locks=20)
    first, _ = shared.acquire(10, 0), shared.acquire(10, 0)
    shared.give_back(first)
    assert shared.acquire(10, 0).offsets == [*range(10)]
    assert shared.acquire(10, 0).offsets == []


@pytest.mark.parametrize(
    ("limit", "sizes"),
    [
        (2, [10, 10]),
        (3, [10, 10, 1]),
        (5, [10, 10, 10, 5, 1]),
        (6, [10, 10, 10, 5, 2, 1]),
        (10, [10, 10, 10, 10, 10, 5, 2, 1, 1, 1]),
    ],
)
def test_from_half_the_limit_on_fewer_records_are_delivered(limit: int, sizes: list[int]) -> None:
    shared = partition(10, limit=limit)
    while shared.states[0] != ARCHIVED:
        assert len(fetch_and_release(shared)) == sizes.pop(0)
    assert sizes == []
    assert set(shared.states[1:]) <= {AVAILABLE, ARCHIVED}


def test_one_lock_that_has_ended_refuses_the_whole_acknowledgement() -> None:
    shared = partition()
    lease = shared.acquire(10, 0)
    shared.give_back(lease)
    again = shared.acquire(5, 0)
    assert not end(shared, lease, ACCEPTED)
    assert end(shared, again, ACCEPTED)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, (10, 100, 0, 0)),
        ({"members": 2}, (5, 100, 0, 0)),
        ({"members": 3}, (4, 100, 0, 0)),
        ({"round_trip_ms": 50}, (10 + 9 * 0.05, 100, 0, 0)),
        ({"each": True, "round_trip_ms": 50}, (10 + 90 * 0.05 + 9 * 0.1, 100, 0, 0)),
        ({"members": 9, "max_locks": 20}, (5, 100, 0, 0)),
        # Two members hold 10 records each; when the second is done, all 20 locks stand behind record 5.
        ({"members": 2, "max_locks": 20, "special": {5: 9_100}}, (10 + 4, 100, 0, 0)),
        # The lock lasts for exactly 10 records; the next poll comes too late by a round trip.
        ({"records": 10, "lock_ms": 1_000, "round_trip_ms": 1}, (4 + 4 * 0.001, 10, 30, 30)),
        ({"lock_ms": 1_001}, (10, 100, 0, 0)),
        # Three deliveries of 10 in vain, then 5 and 5, which take half the lock.
        ({"records": 10, "lock_ms": 900}, (4, 10, 30, 30)),
        ({"records": 10, "lock_ms": 900, "renew": True}, (1, 10, 0, 0)),
        # 8 of 10 in time, then the other two with the next ones, of which 10 - 2 + 2 are new.
        ({"records": 10, "lock_ms": 850, "each": True}, (1.2, 10, 2, 2)),
        # Ten in flight are free when the connection closes, and when the lock ends.
        ({"members": 2, "killed": {1: 2_500}}, (2 + 6, 100, 10, 0)),
        ({"members": 2, "stopped": {1: 2_500}, "lock_ms": 5_000}, (2 + 6, 100, 10, 0)),
        ({"members": 2, "stopped": {1: 2_500}, "session_ms": 12_000}, (14.5 + 1, 100, 10, 0)),
        ({"killed": {0: 2_500}}, (2, 20, 0, 0)),
        ({"special": {3: "reject"}}, (10, 99, 0, 0)),
        # It comes again with every second poll, then alone after two deliveries more.
        ({"special": {3: "release"}}, (10 + 0.4, 99, 4, 0)),
    ],
    ids=lambda value: " ".join(map(str, value)) or "as it is" if isinstance(value, dict) else "",
)
def test_seconds_acceptances_redeliveries(
    changes: dict[str, Any], expected: tuple[float, int, int, int]
) -> None:
    assert figures(simulate_share(replace(GROUP, **changes))) == pytest.approx(expected)


def test_a_record_that_outlasts_its_lock_is_archived_after_the_last_delivery() -> None:
    """Deliveries at 0.3, 1.3, ... of the lock's second; a dead member's records are never processed."""
    result = simulate_share(replace(GROUP, records=1, lock_ms=1_000, special={0: 1_500}, members=2))
    assert result.special == (SpecialRecord(0, 5, "archived", 5_000),)
    assert (result.accepted, result.archived, result.late) == (0, 1, 5)


def test_members_that_a_record_crashes_come_back_until_it_is_archived() -> None:
    """It is delivered first of its batch, so each member dies after 0.1 s and is away for one."""
    result = simulate_share(replace(GROUP, special={0: "crash"}, restart_ms=1_000))
    assert result.special == (SpecialRecord(0, 5, "archived", 4 * 1_100 + 100),)
    assert (result.accepted, result.archived, result.open) == (99, 1, 0)


@pytest.mark.parametrize(
    ("special", "records"),
    [({}, 0), ({3: "reject"}, 1), ({3: "release"}, 1), ({3: "reject", 50: "release", 60: 200}, 2)],
    ids=["none", "rejected", "released to the limit", "both, and a slow one that is accepted"],
)
def test_rejected_and_archived_records_are_dead_letters(special: dict[int, Any], records: int) -> None:
    assert simulate_share(replace(GROUP, special=special)).dead_lettered == records


def test_without_a_restart_the_record_takes_the_whole_group_with_it() -> None:
    result = simulate_share(replace(GROUP, members=3, records=10, special={0: "crash"}))
    assert result.special == (SpecialRecord(0, 3, "open", inf),)
    assert (result.accepted, result.open, result.per_second) == (0, 10, 0)


@pytest.mark.parametrize(
    ("changes", "lock_ms"),
    [
        ({}, 1_000),
        ({"round_trip_ms": 5}, 1_005),
        ({"special": {5: 7_000}}, 9 * 100 + 7_000),
        ({"renew": True}, 100),
        ({"max_poll_records": 1, "batch_records": 1, "special": {5: 7_000}}, 100),
        ({"each": True, "round_trip_ms": 5}, 10 * 105),
    ],
    ids=["as it is", "round trip", "slow record", "renewed", "alone", "each"],
)
def test_the_lock_that_suffices(changes: dict[str, Any], lock_ms: float) -> None:
    assert lock_that_suffices(replace(GROUP, **changes)) == pytest.approx(lock_ms)


@pytest.mark.parametrize(
    ("changes", "members"),
    [
        pytest.param({"max_locks": 30}, 3, id="locks"),
        pytest.param({"max_locks": 36, "batch_records": 1}, 4, id="half a poll"),
        pytest.param({"max_locks": 34, "batch_records": 1}, 3, id="less than half"),
        pytest.param({"max_poll_records": 2_000, "lock_ms": 1e9}, 1, id="one poll takes all"),
        pytest.param({"max_poll_records": 45, "batch_records": 50, "max_locks": 100}, 2, id="whole batches"),
        pytest.param({"process_ms": 0, "round_trip_ms": 0}, 1, id="no time"),
        pytest.param({}, MOST_MEMBERS, id="most", marks=pytest.mark.slow),
        pytest.param(
            {"records": 1, "killed": {0: 10}}, MOST_MEMBERS, id="one record", marks=pytest.mark.slow
        ),
    ],
)
def test_members_help_as_long_as_there_are_locks_for_them(changes: dict[str, Any], members: int) -> None:
    assert [result.group.members for result in members_that_help(replace(GROUP, **changes))] == [
        *range(1, members + 1)
    ]


groups = st.builds(
    ShareGroup,
    members=st.integers(1, 4),
    records=st.integers(1, 60),
    process_ms=st.sampled_from([0, 10, 100]),
    max_poll_records=st.integers(1, 20),
    batch_records=st.integers(1, 12),
    each=st.booleans(),
    renew=st.booleans(),
    lock_ms=st.sampled_from([50, 300, 1_000, 30_000]),
    delivery_limit=st.integers(2, 10),
    max_locks=st.integers(1, 40),
    session_ms=st.sampled_from([500, 45_000]),
    special=st.dictionaries(st.just(0), st.sampled_from(["release", "reject", "crash", 0, 700])),
    killed=st.dictionaries(st.just(0), st.integers(0, 2_000)),
    stopped=st.dictionaries(st.just(0), st.integers(0, 2_000)),
    restart_ms=st.sampled_from([0, 500, inf]),
    round_trip_ms=st.sampled_from([0, 5]),
)


@given(groups)
@settings(max_examples=examples(400), deadline=None)
def test_every_record_comes_to_one_end(group: ShareGroup) -> None:
    result = simulate_share(group)
    assert result.accepted + result.rejected + result.archived + result.open == group.records
    assert 0 <= result.redeliveries <= result.deliveries <= group.records * group.delivery_limit
    lost = group.members == 1 and (group.killed or group.stopped)
    crashed = "crash" in group.special.values() and group.restart_ms == inf
    assert lost or crashed or result.open == 0
    assert all(
        1 <= record.deliveries <= group.delivery_limit
        for record in result.special
        if record.outcome != "open"
    )


@given(groups)
@settings(max_examples=examples(400), deadline=None)
def test_a_longer_lock_than_suffices_ends_for_no_healthy_record(group: ShareGroup) -> None:
    calm = replace(group, special={}, killed={}, stopped={})
    lock_ms = lock_that_suffices(calm)
    assert simulate_share(replace(calm, lock_ms=lock_ms + 0.001)).redeliveries == 0
    assert lock_ms == 0 or simulate_share(replace(calm, lock_ms=lock_ms)).redeliveries > 0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"members": 0}, "members of a share group is 0"),
        ({"delivery_limit": 1}, "delivery_limit of a share group is 1; it must be 2 or more"),
        ({"lock_ms": float("nan")}, "lock_ms of a share group is nan"),
        ({"special": {100: "reject"}}, "special of a share group names 100, but numbers end at 99"),
        ({"special": {True: "reject"}}, "special of a share group names True, but"),
        ({"special": {0.5: "reject"}}, "special of a share group names 0.5, but"),
        ({"special": {3: "burn"}}, "special record 3 of a share group is 'burn'; it must be 'release', "),
        ({"special": {3: float("nan")}}, "special record 3 of a share group is nan"),
        ({"special": {3: inf}}, "special record 3 of a share group is inf"),
        ({"special": {3: -1.0}}, "special record 3 of a share group is -1.0"),
        ({"killed": {1: 5}}, "killed of a share group names 1, but numbers end at 0"),
        ({"killed": {0: -5}}, "killed of a share group gives member 0 the time -5"),
        ({"stopped": {0: float("nan")}}, "stopped of a share group gives member 0 the time nan"),
        ({"records": 10**9}, "records of a share group is 1,000,000,000; 262,144 are the most"),
    ],
)
def test_values_that_cannot_be_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        replace(GROUP, **changes)


@pytest.mark.parametrize("kind", [{}, {"renew": True}, {"each": True}])
@pytest.mark.parametrize("lock_ms", sample([5, 1], 2))
def test_one_more_member_does_not_help_where_no_record_is_acknowledged_in_time(
    lock_ms: float, kind: dict[str, bool]
) -> None:
    helping = members_that_help(ShareGroup(lock_ms=lock_ms, max_poll_records=20, **kind))
    assert [(result.group.members, result.accepted) for result in helping] == [(1, 0)]


@pytest.mark.slow
def test_a_run_whose_records_are_delivered_without_end_is_given_up() -> None:
    with pytest.raises(ScenarioError, match=r"10 records were delivered more than 1,048,576 times"):
        simulate_share(ShareGroup(records=10, lock_ms=1, delivery_limit=10**9))
