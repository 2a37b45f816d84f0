"""What a task's transactions say in the ledger, with clients that are made up."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from partitioning.clients.ledger import Entry
from spark_integration.sinks.exactly_once import writing
from spark_integration.sinks.exactly_once.target import Content
from tests.spark_integration.sinks.exactly_once.without_broker import TARGET

if TYPE_CHECKING:
    import pytest


class Clients:
    """A producer and a consumer at once, which remember the entries that were committed."""

    def __init__(self, *_: object) -> None:
        self.entries: list[Entry | None] = []

    def send_offsets_to_transaction(self, offsets: list[Any], *_: object) -> None:
        self.entries += [Entry.parse(place.offset, place.metadata) for place in offsets]

    def get_watermark_offsets(self, *_: object) -> tuple[int, int]:
        return 0, 0

    def __getattr__(self, _: str) -> Any:
        return lambda *_: None


def test_each_transaction_says_how_many_records_it_added(monkeypatch: pytest.MonkeyPatch) -> None:
    clients = Clients()
    timer = SimpleNamespace(start=lambda: None, cancel=lambda: None)
    monkeypatch.setattr(writing.confluent_kafka, "Producer", lambda _: clients)
    monkeypatch.setattr(writing, "kept_clients", lambda _: (clients, clients))
    monkeypatch.setattr(writing, "Timer", lambda *_: timer)
    monkeypatch.setattr(writing, "call_within", lambda call, _: call())
    monkeypatch.setattr(writing, "send", lambda *_: None)
    monkeypatch.setattr(writing, "records", lambda *_: [])
    monkeypatch.setattr(writing, "MOST_RECORDS", 2)
    content = Content()
    attempt = writing._Attempt(TARGET, 0, content)
    for values in ([b"1", b"2"], [b"3", b"4"], [b"5"]):
        batch = pa.record_batch({"value": pa.array(values)})
        content.add(batch)
        attempt.produce(batch)
    attempt.commit(done=True)
    assert [(entry.records, entry.added) for entry in clients.entries if entry] == [(2, 2), (4, 2), (5, 1)]
