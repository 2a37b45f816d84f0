"""What the producer's settings make of faults."""

import subprocess
import sys

import pytest

from partitioning.errors import InvalidConfigError
from partitioning.producer.delivery import (
    DeliveryResult,
    DeliverySettings,
    Faults,
    Outcome,
    simulate_delivery,
)

BATCHES = [10] * 300
SEEDS = range(8)
PLAIN = DeliverySettings(enable_idempotence=False)


def deliver(settings: DeliverySettings, faults: Faults, seed: int = 1) -> DeliveryResult:
    return simulate_delivery(BATCHES, settings=settings, faults=faults, seed=seed)


@pytest.mark.parametrize("acks", ["all", "1", "0"])
def test_without_faults_every_batch_is_written_once_in_order(acks: str) -> None:
    result = deliver(DeliverySettings(enable_idempotence=False, acks=acks), Faults())
    assert result.log == tuple(range(len(BATCHES)))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("faults", [Faults(ack_lost=0.03), Faults(request_lost=0.03)], ids=["ack", "request"])
def test_idempotence_survives_lost_connections(faults: Faults, seed: int) -> None:
    assert deliver(DeliverySettings(), faults, seed).log == tuple(range(len(BATCHES)))


@pytest.mark.parametrize("seed", SEEDS)
def test_idempotence_survives_a_change_of_leader(seed: int) -> None:
    faults = Faults(leader_changes=[100.0 + seed, 200.0])
    assert deliver(DeliverySettings(), faults).log == tuple(range(len(BATCHES)))


def test_without_idempotence_a_lost_acknowledgement_duplicates() -> None:
    result = deliver(PLAIN, Faults(ack_lost=0.03))
    assert result.duplicated
    assert not result.lost


def test_with_one_in_flight_a_lost_acknowledgement_duplicates_but_keeps_order() -> None:
    settings = DeliverySettings(enable_idempotence=False, max_in_flight_requests_per_connection=1)
    result = deliver(settings, Faults(ack_lost=0.03))
    assert result.duplicated
    assert not result.reordered


@pytest.mark.parametrize("in_flight", [2, 5, 10])
def test_without_idempotence_a_refused_batch_is_overtaken(in_flight: int) -> None:
    settings = DeliverySettings(enable_idempotence=False, max_in_flight_requests_per_connection=in_flight)
    assert deliver(settings, Faults(refused=0.05)).reordered


def test_refused_after_append_duplicates_without_idempotence() -> None:
    assert deliver(PLAIN, Faults(refused_after_append=0.05)).duplicated


def test_refused_after_append_is_forgiven_with_idempotence() -> None:
    result = deliver(DeliverySettings(), Faults(refused_after_append=0.05))
    assert result.log == tuple(range(len(BATCHES)))


def test_acks_1_loses_acknowledged_batches_when_the_leader_changes() -> None:
    settings = DeliverySettings(enable_idempotence=False, acks="1")
    result = simulate_delivery(
        BATCHES, settings=settings, faults=Faults(leader_changes=[150.0]), replication_ms=20.0
    )
    assert result.lost
    assert {result.outcomes[batch] for batch in result.lost} == {Outcome.ACKNOWLEDGED}


def test_acks_all_loses_none_then() -> None:
    result = simulate_delivery(
        BATCHES, settings=PLAIN, faults=Faults(leader_changes=[150.0]), replication_ms=20.0
    )
    assert not result.lost


def test_acks_0_is_told_nothing_and_loses_silently() -> None:
    result = deliver(DeliverySettings(enable_idempotence=False, acks="0"), Faults(request_lost=0.05))
    assert set(result.outcomes) == {Outcome.NOT_ASKED}
    assert result.lost


def test_without_retries_a_refused_batch_fails_and_is_reported() -> None:
    result = deliver(DeliverySettings(enable_idempotence=False, retries=0), Faults(refused=0.05))
    assert result.failed
    assert set(result.failed) == set(range(len(BATCHES))) - set(result.log)


def test_equal_seeds_give_equal_results() -> None:
    faults = Faults(refused=0.02, ack_lost=0.02)
    assert deliver(PLAIN, faults, seed=7) == deliver(PLAIN, faults, seed=7)
    assert deliver(PLAIN, faults, seed=7) != deliver(PLAIN, faults, seed=8)


@pytest.mark.parametrize(
    ("settings", "fault"),
    [
        ({"max_in_flight_requests_per_connection": 6}, "at most 5"),
        ({"acks": "1"}, "acks=all"),
        ({"retries": 0}, "retries"),
        (
            {"enable_idempotence": False, "max_in_flight_requests_per_connection": 0},
            "connection is 0; give 1 to",
        ),
        ({"delivery_timeout_ms": float("inf")}, "delivery.timeout.ms is inf"),
        ({"delivery_timeout_ms": float("nan")}, "delivery.timeout.ms is nan"),
        ({"retry_backoff_ms": -1}, "retry.backoff.ms is -1"),
        ({"retry_backoff_ms": float("nan")}, "retry.backoff.ms is nan"),
        ({"retries": 2**31}, "retries is 2147483648; give 0 to 2147483647"),
        ({"enable_idempotence": False, "acks": "2"}, "'all', '1' or '0'"),
    ],
)
def test_settings_the_java_client_refuses(settings: dict[str, object], fault: str) -> None:
    with pytest.raises(InvalidConfigError, match=fault):
        DeliverySettings(**settings)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "shares", [{"refused": -0.1}, {"refused": 0.6, "ack_lost": 0.6}, {"ack_lost": float("nan")}]
)
def test_shares_of_faults_add_up_to_at_most_one(shares: dict[str, float]) -> None:
    with pytest.raises(InvalidConfigError, match=r"0 \.\. 1"):
        Faults(**shares)


@pytest.mark.parametrize("time", [-1, float("nan"), float("inf")])
def test_a_leader_changes_at_a_time(time: float) -> None:
    with pytest.raises(InvalidConfigError, match=f"time 1 of leader_changes is {time}"):
        Faults(leader_changes=[5, time])


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("interval_ms", -1),
        ("interval_ms", float("nan")),
        ("round_trip_ms", -1),
        ("round_trip_ms", float("inf")),
        ("replication_ms", -1),
        ("replication_ms", float("nan")),
        ("seed", -1),
    ],
)
def test_a_time_or_seed_out_of_range_is_refused(argument: str, value: float) -> None:
    with pytest.raises(InvalidConfigError, match=f"{argument} is {value}"):
        simulate_delivery([10], **{argument: value})  # type: ignore[arg-type]


@pytest.mark.parametrize("records", [0, 2**31])
def test_a_batch_of_no_or_too_many_records_is_refused(records: int) -> None:
    with pytest.raises(InvalidConfigError, match=f"records in batch 1 is {records}"):
        simulate_delivery([10, records])


@pytest.mark.parametrize("idempotent", [True, False])
def test_a_run_in_which_no_time_passes_ends(idempotent: bool) -> None:
    code = (
        "from partitioning.producer import *\n"
        f"settings = DeliverySettings(enable_idempotence={idempotent}, retry_backoff_ms=0)\n"
        "simulate_delivery([1, 1], settings=settings, faults=Faults(request_lost=1.0), round_trip_ms=0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )
    assert (
        "InvalidConfigError: after 1002401 requests for 2 batches, at 0.0 ms, there is no end: "
        in done.stderr
    )
