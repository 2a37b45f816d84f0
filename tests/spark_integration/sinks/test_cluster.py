"""What a sink asks the cluster before it writes, where the client that asks cannot write."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from spark_integration.sinks.cluster import partition_count


class NotAllowed:
    """An idempotent producer of a user without rights: `poll` and the end bring a fatal error."""

    def __init__(self, config: dict[str, Any]) -> None:
        self._answers = iter([KafkaException(KafkaError(KafkaError._TRANSPORT)), SimpleNamespace(error=None)])

    def list_topics(self, topic: str, timeout: float) -> Any:
        answer = next(self._answers)
        if isinstance(answer, Exception):
            raise answer
        answer.partitions = dict.fromkeys(range(3))
        return SimpleNamespace(topics={topic: answer})

    def poll(self, timeout_s: float) -> None:
        raise KafkaException(KafkaError(KafkaError._FATAL))


def test_who_may_not_write_may_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("confluent_kafka.admin.AdminClient", NotAllowed)
    monkeypatch.setattr("time.sleep", lambda _: None)
    assert partition_count("t", {"bootstrap.servers": "nowhere:1"}) == 3
