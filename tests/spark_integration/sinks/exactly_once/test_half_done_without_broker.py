"""What ends a transaction that is half done, and asks brokers, by clients of ours that need no broker."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from partitioning.clients.ledger import Entry
from spark_integration.sinks.exactly_once import driver, half_done
from tests.spark_integration.sinks.exactly_once.without_broker import TARGET, end_at, read_messages, record

LAST = Entry(0, 2, "", True, 1, 0, "id", since=0, added=2)


class Calls:
    """A producer that remembers the names of its calls."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return lambda *_, **__: self.names.append(name)


@pytest.mark.parametrize("records", range(4))
def test_a_transaction_is_aborted_where_its_partition_holds_just_the_last_entry(
    monkeypatch: pytest.MonkeyPatch, records: int
) -> None:
    read_messages(monkeypatch, half_done, [*map(record, range(records)), end_at(records)])
    monkeypatch.setattr(half_done, "end_of", lambda *_, committed: 2 if committed else 5)
    calls: Any = Calls()
    half_done.end_dropped(calls, TARGET, 0, calls, LAST)
    # Without a flush the broker would not have heard of the partition when the transaction is aborted.
    aborted = ["begin_transaction", "produce", "flush", "abort_transaction"]
    assert calls.names == (aborted if records == LAST.added else [])


@pytest.mark.parametrize("mend", [True, False])
def test_what_brokers_left_half_done_is_ended_where_that_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, mend: bool
) -> None:
    calls, ended = Calls(), []
    monkeypatch.setattr(half_done.confluent_kafka, "Producer", lambda _: calls)
    monkeypatch.setattr(half_done, "begin", lambda *_: 1)
    monkeypatch.setattr(half_done, "end_half_done", lambda *question: ended.append(question))
    half_done.fence_one(TARGET, 0, mend=mend)
    assert ended == ([(TARGET, 0, calls)] if mend else [])
    assert calls.names == ["purge", "close"]


def test_an_answer_that_does_not_come_in_time_is_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def late(_: float) -> None:
        raise TimeoutError

    monkeypatch.setattr("time.sleep", lambda _: None)
    answers = iter([SimpleNamespace(result=late), SimpleNamespace(result=lambda _: "described")])
    assert driver._ask_one(TARGET, lambda: {"t": next(answers)}) == "described"
