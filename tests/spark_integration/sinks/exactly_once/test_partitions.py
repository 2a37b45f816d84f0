"""Whether a partition may hold records, by a reader of ours that needs no broker."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from spark_integration.sinks.exactly_once import partitions
from spark_integration.sinks.exactly_once.target import Target

TARGET = Target({}, "t", "id", 1, 1, None, "app", 0, None)
END = 5


def end_at(offset: int) -> Any:
    """The message by which a reader of committed records says that it has come to their end."""
    return SimpleNamespace(error=lambda: "_PARTITION_EOF", offset=lambda: offset)


RECORD = SimpleNamespace(error=lambda: None, offset=lambda: 3)


@pytest.mark.parametrize(
    ("messages", "fenced", "may"),
    [
        ([RECORD], True, True),
        ([end_at(END)], True, False),
        ([end_at(2), RECORD], True, True),
        ([end_at(2), end_at(END)], True, False),
        ([end_at(2), None], True, True),
        ([end_at(2)], False, False),
    ],
    ids=["record", "aborted", "committed_meanwhile", "aborted_meanwhile", "still_open", "open_by_this_one"],
)
def test_a_partition_may_hold_records(
    monkeypatch: pytest.MonkeyPatch, messages: list[Any], fenced: bool, may: bool
) -> None:
    left = iter(messages)
    reader = SimpleNamespace(assign=lambda _: None, close=lambda: None)
    monkeypatch.setattr(partitions, "committed_reader", lambda _: reader)
    monkeypatch.setattr(partitions, "next_committed", lambda *_: next(left))
    monkeypatch.setattr(
        partitions, "_offsets", lambda *question, **_: [0 if question[-1] == "earliest" else END]
    )
    admin: Any = None
    assert partitions.may_hold_records(admin, TARGET, 0, fenced=fenced) is may
    assert list(left) == []
