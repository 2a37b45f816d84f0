"""Settings that keep a latency with the fewest requests."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pytest

from copartition.models import (
    BatchingSettings,
    BrokerTimes,
    LibrdkafkaSettings,
    Tuning,
    simulate_batching,
    simulate_librdkafka,
    tune_producer,
)
from partitioning.errors import InvalidConfigError

if TYPE_CHECKING:
    from copartition.models.producer.tuning import Client

CLIENTS: tuple[Client, ...] = ("java", "librdkafka")
RECORDS = 300
TIMES = np.cumsum(np.random.default_rng(5).exponential(0.4, RECORDS))
PLACED = np.arange(RECORDS) % 12


@cache
def tune(
    client: Client, limit_ms: float = 20, *, keyed: bool = False, size: int = 512, **broker: float
) -> Tuning:
    return tune_producer(
        TIMES,
        size,
        PLACED if keyed else -1,
        limit_ms=limit_ms,
        leaders=[partition % 3 for partition in range(12)],
        brokers=[BrokerTimes(**{"latency_ms": 2.0, **broker})] * 3,
        client=client,
    )


@pytest.mark.parametrize("client", CLIENTS)
def test_the_best_keeps_the_limit_with_the_fewest_requests(client: Client) -> None:
    tuning = tune(client)
    assert tuning.best is not None
    assert tuning.best.latency_ms <= 20
    assert tuning.best.requests == min(trial.requests for trial in tuning.trials if trial.keeps)
    assert tuning.best.requests < tuning.default.requests / 2


@pytest.mark.heavy
def test_a_trial_of_java_is_what_its_model_says() -> None:
    (trial,) = (trial for trial in tune("java", keyed=True).trials if trial.linger_ms == 10)
    result = simulate_batching(
        TIMES,
        512,
        PLACED,
        leaders=[partition % 3 for partition in range(12)],
        brokers=[BrokerTimes(latency_ms=2)] * 3,
        settings=BatchingSettings(linger_ms=10),
    )
    assert (trial.median_ms, trial.latency_ms) == tuple(result.latency_ms([50, 99]))
    assert (trial.requests, trial.records_per_request) == (result.requests, RECORDS / result.requests)
    assert trial.requests_per_s == pytest.approx(result.requests / (TIMES[-1] - TIMES[0]) * 1_000)


@pytest.mark.heavy
def test_a_trial_of_librdkafka_is_what_its_model_says() -> None:
    (trial,) = (trial for trial in tune("librdkafka", keyed=True).trials if trial.linger_ms == 10)
    result = simulate_librdkafka(
        TIMES,
        512,
        PLACED,
        leaders=[partition % 3 for partition in range(12)],
        brokers=[BrokerTimes(latency_ms=2)] * 3,
        settings=LibrdkafkaSettings(queue_buffering_max_ms=10),
    )
    assert (trial.latency_ms, trial.requests) == (result.latency_ms([99])[0], result.requests)


@pytest.mark.parametrize(("client", "size"), [("java", 16_384), ("librdkafka", 1_000_000)])
def test_the_defaults_are_tried_though_they_miss_the_limit(client: Client, size: int) -> None:
    tuning = tune(client, 4)
    assert (tuning.default.linger_ms, tuning.default.batch_size, tuning.default.keeps) == (5.0, size, False)
    assert max(trial.linger_ms for trial in tuning.trials) == 5.0


@pytest.mark.parametrize("client", CLIENTS)
def test_nothing_keeps_less_than_the_round_trip(client: Client) -> None:
    assert tune(client, 1.5).best is None


@pytest.mark.heavy
def test_larger_batches_are_tried_where_some_are_filled() -> None:
    assert {trial.batch_size for trial in tune("java", keyed=True).trials} == {16_384}
    assert {16_384, 65_536} < {trial.batch_size for trial in tune("java", size=3_000).trials}


@pytest.mark.heavy
def test_smaller_batches_of_librdkafka_are_tried_where_they_would_be_filled() -> None:
    assert {trial.batch_size for trial in tune("librdkafka", keyed=True).trials} == {1_000_000}
    assert {16_384, 1_000_000} < {trial.batch_size for trial in tune("librdkafka", size=3_000).trials}


@pytest.mark.heavy
def test_a_busy_broker_wants_fewer_requests_for_the_latency_s_sake() -> None:
    trials = tune("librdkafka", keyed=True, request_ms=1.3).trials
    by_linger = {trial.linger_ms: trial for trial in trials}
    assert by_linger[0].latency_ms > by_linger[10].latency_ms


def test_the_same_seed_gives_the_same_answer() -> None:
    assert tune.__wrapped__("java") == tune("java")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"limit_ms": 0}, "limit_ms is 0"),
        ({"percentile": 101}, "percentile is 101"),
        ({"client": "go"}, "client is 'go'"),
        ({"times_ms": []}, "no records"),
    ],
)
def test_bad_input(change: dict[str, object], words: str) -> None:
    good = {"times_ms": [0.0], "value_bytes": 9, "limit_ms": 9, "leaders": [0], "brokers": [BrokerTimes()]}
    with pytest.raises(InvalidConfigError, match=words):
        tune_producer(**{**good, **change})  # type: ignore[arg-type]
