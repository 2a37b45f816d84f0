"""Settings of the loop: those that its guarantee rests on are set, and refused where they say otherwise."""

from __future__ import annotations

from typing import Any

import pytest

from partitioning.clients.read_process_write.settings import LoopSettings
from partitioning.errors import InvalidConfigError

CONSUMER, PRODUCER = {"group.id": "group"}, {"transactional.id": "id"}


def settings(
    consumer: dict[str, Any] | None = None, producer: dict[str, Any] | None = None, batch: int = 1
) -> LoopSettings:
    return LoopSettings.of(["topic"], CONSUMER | (consumer or {}), PRODUCER | (producer or {}), batch)


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("enable.auto.commit", False),
        ("isolation.level", "read_committed"),
        ("auto.offset.reset", "earliest"),
        ("partition.assignment.strategy", "cooperative-sticky"),
    ],
)
def test_what_a_consumer_needs_is_set(setting: str, value: object) -> None:
    assert settings().consumer[setting] == value


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("transaction.timeout.ms", 10_000),
        ("metadata.recovery.strategy", "none"),
        ("reconnect.backoff.ms", 20),
        ("reconnect.backoff.max.ms", 1000),
    ],
)
def test_what_a_producer_needs_is_set(setting: str, value: object) -> None:
    assert settings().producer[setting] == value


@pytest.mark.parametrize(
    "consumer",
    [
        {"enable.auto.commit": True},
        {"enable.auto.commit": "true"},
        {"auto.commit.enable": "t"},
        {"isolation.level": "read_uncommitted"},
        {"group.id": ""},
        {"max.poll.interval.ms": "soon"},
    ],
    ids=str,
)
def test_what_contradicts_a_consumers_part_is_refused_by_name(consumer: dict[str, Any]) -> None:
    with pytest.raises(InvalidConfigError, match=f"'{next(iter(consumer))}'"):
        settings(consumer=consumer)


@pytest.mark.parametrize(
    "producer",
    [
        {"enable.idempotence": "false"},
        {"acks": 1},
        {"request.required.acks": "0"},
        {"transactional.id": ""},
        {"transaction.timeout.ms": 0},
    ],
    ids=str,
)
def test_what_contradicts_a_producers_part_is_refused_by_name(producer: dict[str, Any]) -> None:
    with pytest.raises(InvalidConfigError, match=f"'{next(iter(producer))}'"):
        settings(producer=producer)


@pytest.mark.parametrize(
    ("consumer", "producer"),
    [
        ({"enable.auto.commit": "false"}, {"acks": "all"}),
        ({"isolation.level": "read_committed"}, {"acks": -1}),
    ],
)
def test_what_says_the_same_is_taken(consumer: dict[str, Any], producer: dict[str, Any]) -> None:
    assert settings(consumer, producer).consumer["enable.auto.commit"] is False


def test_with_the_brokers_protocol_no_strategy_is_asked_for() -> None:
    assert "partition.assignment.strategy" not in settings({"group.protocol": "consumer"}).consumer


def test_a_transactions_timeout_is_the_limit_of_a_turn() -> None:
    found = settings({"max.poll.interval.ms": 60_000}, {"transaction.timeout.ms": "2500"})
    assert (found.turn_s, found.poll_s) == (2.5, 60)


def test_users_may_be_named_as_javas_clients_have_them() -> None:
    jaas = 'org.apache.kafka.common.security.scram.ScramLoginModule required username="u" password="p";'
    found = settings({"sasl.jaas.config": jaas}, {"sasl.jaas.config": jaas})
    assert (found.consumer["sasl.username"], found.producer["sasl.username"]) == ("u", "u")


@pytest.mark.parametrize("topics", [[], "topic", [5], [""]])
def test_topics_are_a_list_of_some(topics: Any) -> None:
    with pytest.raises(InvalidConfigError, match="topics"):
        LoopSettings.of(topics, CONSUMER, PRODUCER, 1)


@pytest.mark.parametrize("batch", [0, 1.5, True, float("nan"), None])
def test_a_batch_has_a_record(batch: Any) -> None:
    with pytest.raises(InvalidConfigError, match=f"batch is {batch}: give a whole number"):
        settings(batch=batch)


def test_a_login_that_is_no_text_is_refused() -> None:
    with pytest.raises(InvalidConfigError, match=r"sasl\.jaas\.config .* of type bool and not text"):
        settings({"sasl.jaas.config": True})


def test_passwords_are_not_shown() -> None:
    assert "secret" not in repr(settings({"sasl.password": "secret"}, {"sasl.password": "secret"}))
