"""What stands for a topic and a reader of committed records where no broker is needed."""

from collections.abc import Iterable
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from spark_integration.sinks.exactly_once.target import Target

TARGET = Target({}, "t", "id", 1, 1, None, "app", 0, None)


def record(offset: int) -> Any:
    """A committed record."""
    return SimpleNamespace(error=lambda: None, offset=lambda: offset)


def end_at(offset: int) -> Any:
    """The message by which a reader of committed records says that it has come to their end."""
    return SimpleNamespace(error=lambda: "_PARTITION_EOF", offset=lambda: offset)


def read_messages(monkeypatch: pytest.MonkeyPatch, module: ModuleType, messages: Iterable[Any]) -> None:
    """Let the module's readers of committed records get these messages."""
    left = iter(messages)
    reader = SimpleNamespace(assign=lambda _: None, close=lambda: None)
    monkeypatch.setattr(module, "committed_reader", lambda _: reader)
    monkeypatch.setattr(module, "next_record", lambda *_: next(left))
