"""Settings that people write: of a loop, of a Spark read, of the writers of topics, of a producer's model."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any

from confluent_kafka import KafkaError

from copartition.check.planned import judge_writers
from copartition.check.writers import CLIENTS, parse_writer
from copartition.models import DeliverySettings, Fault, Faults, simulate_delivery
from copartition.models.producer import delivering
from partitioning.clients.read_process_write.settings import LoopSettings, advised_error, gave_up
from partitioning.profiles import PROFILES
from spark_integration.reading.options import read_options
from tools.fuzz.mutation import NUMBERS, mutate

if TYPE_CHECKING:
    from random import Random

ODD: list[Any] = [
    None,
    True,
    False,
    0,
    1,
    -1,
    1.5,
    float("nan"),
    inf,
    2**31,
    10**30,
    "",
    " ",
    "\0",
    b"x",
    [],
    {},
]
SECRET = "correct horse battery staple"
JAAS = f"org.apache.kafka.common.security.plain.PlainLoginModule required username='u' password='{SECRET}';"

LOOP: dict[str, list[Any]] = {
    "bootstrap.servers": ["localhost:9092", "", "[::1]:9092"],
    "group.id": ["billing", "", "\ud800"],
    "group.protocol": ["consumer", "classic", "Consumer"],
    "group.instance.id": ["pod-1"],
    "transactional.id": ["billing-1", ""],
    "enable.auto.commit": ["false", "F", 0, True, "true"],
    "isolation.level": ["read_committed", "read_uncommitted"],
    "acks": ["all", -1, "1", 0],
    "max.poll.interval.ms": ["300000", 1, "0", "9" * 5000],
    "transaction.timeout.ms": ["10000", 1, "-1", "1.5", "²"],
    "sasl.password": [SECRET],
    "sasl.jaas.config": [JAAS, JAAS[:-9], "required;", "x" * 4000],
    "ssl.truststore.location": ["/ca.pem"],
    "security.protocol": ["SASL_SSL", "sasl_ssl", "none"],
}
TOPICS: list[Any] = [["orders"], ("orders", "pay"), [], "orders", [""], [5], None, {"orders": 1}, ["\ud800"]]


def make_loop(rng: Random) -> tuple[Any, dict[str, Any], dict[str, Any], Any]:
    def config(needed: str) -> dict[str, Any]:
        names = [*rng.sample([*LOOP], rng.randrange(6)), *[needed] * (rng.random() < 0.9)]
        return {name: rng.choice(LOOP[name][:1] if rng.random() < 0.7 else choices(name)) for name in names}

    def choices(name: str) -> list[Any]:
        return ODD if rng.random() < 0.3 else LOOP[name]

    topics = rng.choice(TOPICS[:2] if rng.random() < 0.8 else TOPICS)
    batch = rng.choice([500, 1] if rng.random() < 0.8 else ODD)
    return topics, config("group.id"), config("transactional.id"), batch


def check_loop(case: tuple[Any, dict[str, Any], dict[str, Any], Any]) -> None:
    settings = LoopSettings.of(*case)
    assert SECRET not in repr(settings)
    assert settings.consumer["enable.auto.commit"] is False
    assert settings.turn_s > 0 < settings.poll_s
    for code in (KafkaError._TIMED_OUT, KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError._FENCED):
        error = KafkaError(code)
        assert SECRET not in f"{advised_error(error, settings, ['out'])} {gave_up(5, error, settings)}"


READ = {
    "subscribe": ["orders", "orders,pay", ",", ""],
    "kafka.bootstrap.servers": ["localhost:9092", ""],
    "kafka.isolation.level": ["read_committed", "none"],
    "kafka.group.id": ["g"],
    "startingOffsets": [
        "earliest",
        "latest",
        '{"orders":{"0":23,"1":-2}}',
        '{"orders":{"0":-3}}',
        '{"orders":5}',
    ],
    "endingOffsets": ["latest", '{"orders":{"0":"1"}}', "[]", "{" * 5000],
    "failOnDataLoss": ["true", "no"],
    "includeHeaders": ["true", "FALSE"],
    "minPartitions": ["4", "0", "-1", "²"],
    "maxOffsetsPerTrigger": ["1", "1e3"],
    "subscribePattern": [".*"],
    "path": ["x"],
}


def make_read(rng: Random) -> dict[str, str]:
    chosen = {name: rng.choice(READ[name]) for name in rng.sample([*READ], rng.randrange(1, 6))}
    if rng.random() < 0.8:
        chosen |= {"subscribe": "orders", "kafka.bootstrap.servers": "localhost:9092"}
    for name in [*chosen]:
        if rng.random() < 0.2:
            damaged = mutate(rng, chosen[name].encode()).decode(errors="replace")
            chosen[name] = rng.choice([damaged, rng.choice(NUMBERS).decode()])
    return {rng.choice([name, name.lower(), name.upper()]): value for name, value in chosen.items()}


def check_read(case: dict[str, str]) -> None:
    found = read_options(case, {})
    assert found.config["bootstrap.servers"]
    assert all(found.topics)


def make_writers(rng: Random) -> tuple[list[str], dict[str, int]]:
    return [_writer(rng) for _ in range(rng.randrange(4))], {"t": rng.choice([1, 2, 3, 12]), "u": 12}


def _writer(rng: Random) -> str:
    client = rng.choice([*CLIENTS])
    settings = ",".join(f"{name}={value}" for name, value in rng.choice(CLIENTS[client]).settings.items())
    text = f"{rng.choice('tu')}={client}{',' * bool(settings)}{settings}"
    return mutate(rng, text.encode()).decode(errors="replace") if rng.random() < 0.3 else text


def check_writers(case: tuple[list[str], dict[str, int]]) -> None:
    texts, counts = case
    writers = [parse_writer(text) for text in texts]
    assert all(writer.profile is None or writer.profile.name in PROFILES for writer in writers)
    if len({writer.topic for writer in writers}) > 1:
        str(judge_writers(writers, counts))


def make_delivery(rng: Random) -> tuple[list[int], dict[str, Any], dict[str, Any], dict[str, Any]]:
    def share() -> float:
        return rng.choice([0, 0, 0, 0, 0, 0.1, 0.25, 1.0])

    times = [0, 0.001, 1, 5, 100, 30_000, 2**31 - 1, 2**53]
    acks = rng.choice(["all", "all", "1", "0"])
    settings = {
        "enable_idempotence": acks == "all" and rng.random() < 0.6,
        "acks": acks,
        "max_in_flight_requests_per_connection": rng.choice([1, 1, 2, 5, 1000]),
        "retries": rng.choice([0, 1, 3, 2**31 - 1]),
        "retry_backoff_ms": rng.choice(times),
        "request_timeout_ms": rng.choice(times[:-1]),
        "delivery_timeout_ms": rng.choice(times[:-1]),
    }
    since = rng.choice(times)
    faults = {
        "refused": share(),
        "refused_after_append": share(),
        "request_lost": share(),
        "ack_lost": share(),
        "scripted": {rng.randrange(5): rng.choice([*Fault]) for _ in range(rng.randrange(3))},
        "leader_changes": [rng.choice(times) for _ in range(rng.randrange(3))],
        "followers_gone_ms": rng.choice([inf, *times]),
        "replica_lag_time_max_ms": rng.choice(times),
        "pauses": [(since, since + rng.choice(times))] * rng.randrange(2),
    }
    run = {
        "interval_ms": rng.choice(times),
        "round_trip_ms": rng.choice(times),
        "replication_ms": rng.choice(times),
        "seed": rng.randrange(2**64),
        "client": rng.choice(["java", "librdkafka"]),
    }
    return [rng.choice([1, 10, 2**31 - 1]) for _ in range(rng.choice([0, 1, 2, 9]))], settings, faults, run


def check_delivery(case: tuple[list[int], dict[str, Any], dict[str, Any], dict[str, Any]]) -> None:
    batches, settings, faults, run = case
    most, delivering.REQUESTS = delivering.REQUESTS, 2_000  # an endless run ends after fewer of them
    try:
        result = simulate_delivery(
            batches, settings=DeliverySettings(**settings), faults=Faults(**faults), **run
        )
    finally:
        delivering.REQUESTS = most
    assert len(result.outcomes) == len(batches)
    assert set(result.log) <= set(range(len(batches)))


TARGETS = {
    "loop-settings": (make_loop, check_loop),
    "read-options": (make_read, check_read),
    "writers": (make_writers, check_writers),
    "deliveries": (make_delivery, check_delivery),
}
