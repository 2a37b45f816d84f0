"""Whether a partition may hold records, by a reader of ours that needs no broker."""

from __future__ import annotations

from typing import Any

import pytest

from spark_integration.sinks.exactly_once import partitions
from tests.spark_integration.sinks.exactly_once.without_broker import TARGET, end_at, read_messages, record

END = 5


@pytest.mark.parametrize(
    ("messages", "fenced", "may"),
    [
        ([record(3)], True, True),
        ([end_at(END)], True, False),
        ([end_at(2), record(3)], True, True),
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
    read_messages(monkeypatch, partitions, left)
    monkeypatch.setattr(
        partitions, "_offsets", lambda *question, **_: [0 if question[-1] == "earliest" else END]
    )
    admin: Any = None
    assert partitions.may_hold_records(admin, TARGET, 0, fenced=fenced) is may
    assert list(left) == []
