"""A check that hangs: its limit ends only once it hangs, however slow the machine is."""

from __future__ import annotations

from queue import SimpleQueue
from threading import Thread

import pytest

from partitioning.testing import conformance
from tests.support.waiting import GENEROUS_S


class Hanging:
    """What a strategy calls to hang, from which moment on the limit of a conformance check runs."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._begun: SimpleQueue[None] = SimpleQueue()
        self._end: SimpleQueue[None] = SimpleQueue()
        # Queues written in C leave no Python frames, which would hide the strategy's in a short traceback.
        self.begin, self.for_ever = self._begun.put, self._end.get
        begun = self._begun

        class Waiting(Thread):
            def join(self, timeout: float | None = None) -> None:
                begun.get(timeout=GENEROUS_S)
                super().join(timeout)

        monkeypatch.setattr(conformance, "Thread", Waiting)

    def end(self) -> None:
        """Let the thread go that hangs."""
        self._end.put(None)
