"""Spark's Python workers with producers that are watched: at drawn moments a fault strikes their task.

Spark starts it as the daemon that forks them, where `spark.python.daemon.module` names it. Which faults, and
which calls they may strike at, says `plan.json` in the folder of the run, which is `run` in FAULTS_FOLDER.
Each that struck leaves a file there (`benchmarks.faults.hits`), which says what the task had open.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from signal import SIGKILL
from threading import Timer
from typing import Any

import confluent_kafka
from pyspark import TaskContext
from pyspark.daemon import manager

from benchmarks.faults import hits

RUN = Path(os.environ.get("FAULTS_FOLDER", "")) / "run"
WAIT_S = 30


@dataclass
class _Attempt:
    """One attempt of a task.

    Attributes:
        folder: of the run.
        plan: of the run.
        attempt: Spark's number of it, which no other attempt has.
        task: number of the task.
        number: of the fault that is to strike it.
        call: at which of the producer's calls.
        count: at which of these.
        produced: records that the producer was given.
        open: those that no transaction has committed; a rerun of the task must not repeat the others.
        in_transaction: whether a transaction holds some of them.
    """

    folder: Path
    plan: dict[str, Any]
    attempt: int
    task: int
    number: int
    call: str
    count: int
    produced: int = 0
    open: int = 0
    in_transaction: bool = False
    calls: Counter[str] = field(default_factory=Counter)


_attempt: _Attempt | None = None


def _current() -> _Attempt | None:
    """The attempt under way; None on the driver, where no task is."""
    global _attempt  # noqa: PLW0603 - a worker has one task at a time
    context = TaskContext.get()
    if context is None:
        return None
    attempt = context.taskAttemptId()
    if _attempt is None or _attempt.attempt != attempt:
        folder, task = RUN.resolve(), context.partitionId()
        for asleep in folder.glob(f"asleep-{task}-*"):
            asleep.rename(folder / f"copied-{asleep.name}")  # which wakes that attempt
        plan = json.loads((folder / "plan.json").read_text())
        number = hits.count(folder)
        drawn = Random(f"{plan['seed']}/{number}/{task}")
        call = drawn.choice(plan["calls"])
        count = drawn.randint(1, plan["within"]) if call == "produce" else 1
        _attempt = _Attempt(folder, plan, attempt, task, number, call, count)
    return _attempt


def _reach(call: str) -> None:
    attempt = _current()
    if attempt is None:
        return
    attempt.calls[call] += 1
    if (attempt.call, attempt.count) == (call, attempt.calls[call]):
        _strike(attempt)


def _strike(attempt: _Attempt) -> None:
    executor = _parent(os.getppid())
    for number in range(attempt.number, len(attempt.plan["faults"])):
        fault = attempt.plan["faults"][number]
        hit = {
            "number": number,
            "fault": fault,
            "task": attempt.task,
            "call": attempt.call,
            "produced": attempt.produced,
            "open": attempt.open,
            "in_transaction": attempt.in_transaction,
            "pid": os.getpid(),
            "executor": executor,
        }
        if hits.note(attempt.folder, number, hit):
            FAULTS[fault](number, executor)
            return


def _kill(_: int, __: int) -> None:
    os.kill(os.getpid(), SIGKILL)


def _kill_soon(number: int, _: int) -> None:
    """While the call that follows is under way."""
    soon = Timer(Random(number).uniform(0.0, 0.02), os.kill, (os.getpid(), SIGKILL))
    soon.daemon = True
    soon.start()


def _kill_executor(_: int, executor: int) -> None:
    """This worker lives on until it notices."""
    os.kill(executor, SIGKILL)


def _sleep(number: int, _: int) -> None:
    """Until Spark runs a copy of the task beside this attempt, and then a moment longer.

    One attempt at a time: Spark makes copies once a task has ended, and where an executor is free.
    """
    assert _attempt is not None
    if not any(_attempt.folder.glob("asleep-*")):
        asleep = _attempt.folder / f"asleep-{_attempt.task}-{number}"
        asleep.touch()
        deadline = time.monotonic() + WAIT_S
        while asleep.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        asleep.unlink(missing_ok=True)
        time.sleep(Random(number).uniform(0, 2))


def _wait(number: int, _: int) -> None:
    """Until whoever started us has done what it wants to do to the others."""
    deadline = time.monotonic() + WAIT_S
    while not (RUN / f"done-{number:03}").exists() and time.monotonic() < deadline:
        time.sleep(0.01)


FAULTS = {
    "kill": _kill,
    "kill soon": _kill_soon,
    "kill executor": _kill_executor,
    "sleep": _sleep,
    "wait": _wait,
}


def _parent(pid: int) -> int:
    """The process that started this one; of the daemon that forks the workers it is the executor."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


class _WatchedProducer(confluent_kafka.Producer):  # type: ignore[misc]
    """A producer whose calls are counted; the names are those of the calls that a fault can strike at."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        # The sink ends a transaction after a million records; here a version shall be several, too.
        sink = sys._getframe(1).f_globals  # noqa: SLF001
        if "MOST_RECORDS" in sink and (attempt := _current()):
            sink["MOST_RECORDS"] = attempt.plan["cut"]

    def produce(self, *arguments: Any, **named: Any) -> None:
        super().produce(*arguments, **named)
        if attempt := _current():
            attempt.produced += 1
            attempt.open += 1
            _reach("produce")

    def flush(self, *arguments: Any) -> Any:
        _reach("flush")
        return super().flush(*arguments)

    def init_transactions(self, *arguments: Any) -> None:
        super().init_transactions(*arguments)
        _reach("initialised")

    def begin_transaction(self) -> None:
        super().begin_transaction()
        if attempt := _current():
            attempt.in_transaction = True

    def send_offsets_to_transaction(self, *arguments: Any) -> None:
        _reach("offsets")
        super().send_offsets_to_transaction(*arguments)

    def commit_transaction(self, *arguments: Any) -> None:
        _reach("commit")
        super().commit_transaction(*arguments)
        if attempt := _current():
            attempt.open, attempt.in_transaction = 0, False
            _reach("committed")


if __name__ == "__main__":
    confluent_kafka.Producer = _WatchedProducer
    manager()
