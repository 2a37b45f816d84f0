"""How faults end under the producer's settings."""

from cProfile import Profile

import pytest
from confluent_kafka import KafkaException, Producer

from copartition.models import (
    BatchTally,
    DeliveryResult,
    DeliverySettings,
    Fault,
    Faults,
    Outcome,
    assess_delivery,
    delivery_settings,
    simulate_delivery,
)
from copartition.models.producer import delivering
from partitioning.errors import InvalidConfigError
from tests.support.tiers import sample

BATCHES = [10] * 300
SEEDS = sample(range(8), 4)
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
def test_a_run_in_which_no_time_passes_ends(monkeypatch: pytest.MonkeyPatch, idempotent: bool) -> None:
    monkeypatch.setattr(delivering, "REQUESTS", 1_000)
    settings = DeliverySettings(enable_idempotence=idempotent, retry_backoff_ms=0)
    words = "after 3401 requests for 2 batches, at 0.0 ms, there is no end: "
    with pytest.raises(InvalidConfigError, match=words):
        simulate_delivery([1, 1], settings=settings, faults=Faults(request_lost=1.0), round_trip_ms=0)


@pytest.mark.parametrize(("all_runs", "each_batch"), [(0, delivering.REQUESTS_EACH), (100, 0), (100, 20)])
def test_a_run_is_refused_with_one_request_more_than_the_limit(
    all_runs: int, each_batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivering, "REQUESTS", all_runs)
    monkeypatch.setattr(delivering, "REQUESTS_EACH", each_batch)
    limit = all_runs + each_batch

    def send(requests: int) -> DeliveryResult:
        settings = DeliverySettings(retry_backoff_ms=0, retries=requests - 1)
        return simulate_delivery([1], settings=settings, faults=Faults(request_lost=1.0), round_trip_ms=0)

    assert send(limit).attempts == (limit,)
    with pytest.raises(InvalidConfigError, match=f"after {limit + 1} requests for 1 batches"):
        send(limit + 1)


def scripted(faults: Faults, client: str, **settings: object) -> DeliveryResult:
    """Twelve batches that are ready at once."""
    return simulate_delivery(
        [1] * 12,
        settings=DeliverySettings(**settings),  # type: ignore[arg-type]
        faults=faults,
        interval_ms=0,
        replication_ms=0,
        client=client,  # type: ignore[arg-type]
    )


def test_the_request_that_is_named_is_hit() -> None:
    result = scripted(Faults(scripted={3: Fault.ACK_LOST}), "java", enable_idempotence=False)
    assert result.log == (0, 1, 2, 3, 7, 6, 5, 4, 3, 8, 9, 10, 11)


def test_librdkafka_keeps_the_order_of_a_lost_connection() -> None:
    result = scripted(Faults(scripted={3: Fault.ACK_LOST}), "librdkafka", enable_idempotence=False)
    assert result.log == (0, 1, 2, 3, 3, 4, 5, 6, 7, 8, 9, 10, 11)


def test_librdkafka_has_one_request_more_ready_that_overtakes() -> None:
    faults = Faults(scripted={3: Fault.REFUSED})
    one = {"enable_idempotence": False, "max_in_flight_requests_per_connection": 1}
    assert scripted(faults, "java", **one).log == tuple(range(12))
    assert scripted(faults, "librdkafka", **one).log == (0, 1, 2, 4, 3, 5, 6, 7, 8, 9, 10, 11)


@pytest.mark.parametrize(
    ("client", "outcome"), [("java", Outcome.FAILED), ("librdkafka", Outcome.ACKNOWLEDGED)]
)
def test_a_first_batch_that_is_refused_is_told_of_by_one_client_only(client: str, outcome: Outcome) -> None:
    result = scripted(Faults(scripted={0: Fault.REFUSED}), client)
    assert (result.log, result.outcomes[0]) == (tuple(range(1, 12)), outcome)


def test_a_refusal_that_nobody_waits_for_ends_the_connection() -> None:
    faults = Faults(scripted={3: Fault.REFUSED})
    result = scripted(faults, "java", enable_idempotence=False, acks="0")
    assert result.lost == tuple(range(3, 12))


def test_a_paused_leader_writes_what_was_given_up() -> None:
    result = simulate_delivery(
        [1] * 9,
        settings=DeliverySettings(request_timeout_ms=500, delivery_timeout_ms=1_000),
        faults=Faults(pauses=[(29, 5_000)]),
        interval_ms=10,
        replication_ms=1,
    )
    assert (result.failed_but_written, result.failed) == ((3,), tuple(range(3, 9)))


@pytest.mark.parametrize(
    ("faults", "log"),
    [
        (Faults(leader_changes=[64]), (0, 1, 2, 3, 4, 5, 6, 6, 7, 8, 9)),
        (Faults(leader_changes=[61.5]), (0, 1, 2, 3, 4, 5, 6, 7, 8, 9)),
        (Faults(leader_changes=[85], followers_gone_ms=64), (0, 1, 2, 3, 4, 5, 6, 6, 7, 8, 9)),
        (Faults(leader_changes=[85], followers_gone_ms=55, replica_lag_time_max_ms=0), (0, 1, 2, 3, 4, 5, 9)),
        (
            Faults(leader_changes=[17, 85], followers_gone_ms=55, replica_lag_time_max_ms=0),
            (0, 1, 2, 3, 4, 5, 9),
        ),
    ],
    ids=["copied and not told", "not copied", "followers stand still", "unclean", "the second is unclean"],
)
def test_a_new_leader_has_what_was_copied(faults: Faults, log: tuple[int, ...]) -> None:
    result = simulate_delivery(
        [1] * 10,
        settings=PLAIN,
        faults=faults,
        interval_ms=10,
        round_trip_ms=2,
        replication_ms=4,
        client="librdkafka",
    )
    assert result.log == log


@pytest.mark.parametrize(("client", "log"), [("java", (0, 1, 4, 5)), ("librdkafka", (0, 1))])
def test_a_gap_of_acknowledged_batches_ends_librdkafka(client: str, log: tuple[int, ...]) -> None:
    result = simulate_delivery(
        [1] * 6,
        faults=Faults(leader_changes=[35], followers_gone_ms=15, replica_lag_time_max_ms=0),
        interval_ms=10,
        round_trip_ms=2,
        replication_ms=4,
        client=client,  # type: ignore[arg-type]
    )
    assert (result.log, result.lost) == (log, (2, 3))


@pytest.mark.parametrize(
    ("faults", "words"),
    [
        ({"scripted": {-1: Fault.REFUSED}}, "request of scripted is -1"),
        ({"followers_gone_ms": -1}, "followers_gone_ms is -1"),
        ({"replica_lag_time_max_ms": -1}, "replica_lag_time_max_ms is -1"),
        ({"pauses": [(5, 4)]}, "end of pause 0 is 4"),
    ],
)
def test_a_fault_that_cannot_be_is_refused(faults: dict[str, object], words: str) -> None:
    with pytest.raises(InvalidConfigError, match=words):
        Faults(**faults)  # type: ignore[arg-type]


def test_another_client_is_refused() -> None:
    with pytest.raises(InvalidConfigError, match="client is 'sarama'"):
        simulate_delivery([1], client="sarama")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("client", "given", "idempotent", "in_flight"),
    [
        ("java", {}, True, 5),
        ("java", {"acks": "1"}, False, 5),
        ("java", {"retries": 0}, False, 5),
        ("librdkafka", {}, False, 1_000_000),
        ("librdkafka", {"idempotence": True}, True, 5),
    ],
)
def test_defaults_are_those_of_the_client(
    client: str, given: dict[str, object], idempotent: bool, in_flight: int
) -> None:
    settings = delivery_settings(client, **given)  # type: ignore[arg-type]
    assert (settings.enable_idempotence, settings.max_in_flight_requests_per_connection) == (
        idempotent,
        in_flight,
    )


@pytest.mark.parametrize(
    ("name", "value", "given"),
    [
        ("acks", "1", {"acks": "1"}),
        ("acks", "0", {"acks": "0"}),
        ("max.in.flight", 6, {"in_flight": 6}),
        ("retries", 0, {"retries": 0}),
    ],
)
def test_what_librdkafka_refuses_with_idempotence_is_refused(
    name: str, value: object, given: dict[str, object]
) -> None:
    with pytest.raises(KafkaException):
        Producer({"enable.idempotence": True, name: value})
    with pytest.raises(InvalidConfigError):
        delivery_settings("librdkafka", idempotence=True, **given)  # type: ignore[arg-type]


def test_an_assessment_counts_over_all_runs() -> None:
    faults = Faults(scripted={3: Fault.ACK_LOST})
    found = assess_delivery(9, 5, settings=PLAIN, faults=faults, client="librdkafka")
    assert (found.duplicated, found.lost) == (BatchTally(5, 5, 1), BatchTally(0, 0, 0))


def test_changes_of_leader_come_at_another_moment_in_each_run() -> None:
    settings = DeliverySettings(enable_idempotence=False, acks="1")
    faults = Faults(leader_changes=[40])
    found = assess_delivery(9, 10, settings=settings, faults=faults, interval_ms=10, replication_ms=4)
    assert 0 < found.lost.runs < 10


def calls_where_requests_pile_up(requests_of_each: int) -> int:
    """How many functions a run calls whose connections all break with requests that are not read yet."""
    settings = DeliverySettings(
        enable_idempotence=False,
        max_in_flight_requests_per_connection=2,
        retry_backoff_ms=0,
        request_timeout_ms=0.001,
        delivery_timeout_ms=requests_of_each / 1_000,
    )
    faults = Faults(ack_lost=0.1, pauses=[(100, 101)])
    profile = Profile()
    profile.runcall(
        simulate_delivery, [1] * 4, settings=settings, faults=faults, interval_ms=5, replication_ms=1e9
    )
    return sum(entry.callcount for entry in profile.getstats())


def test_requests_of_broken_connections_cost_no_more_the_more_there_are() -> None:
    """Each connection that broke went through all requests that had come, of later ones too."""
    assert calls_where_requests_pile_up(200) < 2.5 * calls_where_requests_pile_up(100)
