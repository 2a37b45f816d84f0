"""Faults as a process strikes itself with them, each at a drawn call of its producer."""

from __future__ import annotations

import os
import signal
import time
from random import Random
from threading import Timer
from typing import TYPE_CHECKING, Any

from benchmarks.faults import hits

if TYPE_CHECKING:
    from pathlib import Path

WAIT_S = 30


class Striking:
    """Faults, each at a drawn call of one process.

    Args:
        folder: of the run.
        plan: of the run.
        name: of the process.
    """

    def __init__(self, folder: Path, plan: dict[str, Any], name: str) -> None:
        self._folder, self._plan = folder, plan
        born = folder / f"born-{name}"
        with born.open("a") as file:
            file.write(".")
        self._drawing = Random(f"{plan['seed']}/{name}/{born.stat().st_size}")
        self._name = name
        self.open = 0
        self.in_transaction = False
        self._draw()

    def reach(self, call: str) -> None:
        """A call that a fault may strike at."""
        if call != self._call:
            return
        self._left -= 1
        if not self._left:
            self._strike()
            self._draw()

    def _draw(self) -> None:
        self._call = self._drawing.choice(self._plan["calls"])
        self._left = self._drawing.randint(1, 3 * self._plan["batch"] if self._call == "produce" else 3)

    def _strike(self) -> None:
        faults = self._plan["faults"]
        for number in range(hits.count(self._folder), len(faults)):
            hit = {"number": number, "fault": faults[number], "name": self._name, "pid": os.getpid()}
            state = {"call": self._call, "open": self.open, "in_transaction": self.in_transaction}
            if hits.note(self._folder, number, hit | state):
                self._do(faults[number], number)
                return

    def _do(self, fault: str, number: int) -> None:
        us = os.getpid()
        if fault == "kill":
            os.kill(us, signal.SIGKILL)
        elif fault == "kill soon":  # while the call that follows is under way
            soon = Timer(self._drawing.uniform(0.0, 0.02), os.kill, (us, signal.SIGKILL))
            soon.daemon = True
            soon.start()
        elif fault == "freeze":
            os.kill(us, signal.SIGSTOP)
        elif fault == "leave":
            os.kill(us, signal.SIGTERM)
        else:  # until whoever started us has done it
            deadline = time.monotonic() + WAIT_S
            while not (self._folder / f"done-{number:03}").exists() and time.monotonic() < deadline:
                time.sleep(0.01)
