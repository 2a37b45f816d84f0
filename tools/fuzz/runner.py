"""Runs cases and counts what comes out of them that must not."""

from __future__ import annotations

import signal
import time
import traceback
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from partitioning.errors import CopartitionError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SECONDS = 2.0
"""Processor time that a case may take, with what other threads of the process take beside it."""

LOADING_SECONDS = 60.0
"""Processor time that a target's first case may take to load libraries: pandas takes 2 s without bytecode."""

ROOT = str(Path(__file__).parents[2])

Target = tuple["Callable[[Random], object]", "Callable[[object], None]"]
"""What makes a case and what tries it; a case has a repr that can be pasted into a test."""


class TooSlowError(BaseException):
    """A case took longer than it may; no `except Exception` swallows it."""


@dataclass
class Finding:
    """A case with an outcome that must not be."""

    target: str
    number: int
    case: object
    error: BaseException

    @property
    def place(self) -> str:
        """Target, error and the line of the project that raised it: two of one place are one fault."""
        frames = traceback.extract_tb(self.error.__traceback__)
        last = ([frame for frame in frames if _is_of_project(frame.filename)] or frames)[-1]
        line = f"{'/'.join(last.filename.split('/')[-2:])}:{last.lineno}"
        return f"{self.target}: {type(self.error).__name__} at {line}"


def _is_of_project(file: str) -> bool:
    """Whether the file is the project's, but not a library, a test or this module, which stops slow cases."""
    inside = file.removeprefix(ROOT)
    return file not in (inside, __file__) and "site-packages" not in inside and "/tests/" not in inside


@dataclass
class Tally:
    """What was tried."""

    cases: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)


def attempt(
    check: Callable[[object], None], case: object, seconds: float | None = None
) -> BaseException | None:
    """What came out of a case: nothing, an error of the project's tree, or something that must not."""
    try:
        with _limit(SECONDS if seconds is None else seconds):
            check(case)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - whatever it is, it is the outcome
        return error
    return None


def is_expected(error: BaseException) -> bool:
    """Whether the error is one that the packages raise on purpose."""
    return isinstance(error, CopartitionError)


def run(targets: dict[str, Target], seed: int, cases: int, *, first: int = 0) -> Tally:
    """Try that many cases of each target; the number of a case and the seed make it again.

    The first case is tried twice and judged once: what it loads is no fault of its own.
    """
    tally = Tally()
    for name, (make, check) in targets.items():
        attempt(check, make(Random(f"{seed}/{name}/{first}")), LOADING_SECONDS)
        for number in range(first, first + cases):
            case = make(Random(f"{seed}/{name}/{number}"))
            error = attempt(check, case)
            tally.cases[name] += 1
            if error is not None and is_expected(error):
                tally.refused[name] += 1
            elif error is not None:
                tally.findings.append(Finding(name, number, case, error))
    return tally


@contextmanager
def _limit(seconds: float) -> Iterator[None]:
    def stop(signum: int, frame: object) -> None:
        raise TooSlowError(f"more than {seconds:g} s")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    start = time.process_time()
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    if time.process_time() - start > seconds:  # it was in C code, which signals do not interrupt
        raise TooSlowError(f"more than {seconds:g} s")
