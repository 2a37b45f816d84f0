"""How far Spark is, told while an action blocks."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any

from pyspark.sql import SparkSession

EVERY_S = 0.2
"""Seconds between two looks on classic Spark; Connect tells by itself."""


@contextmanager
def progress(spark: SparkSession, tell: Callable[[int, int], None] | None = None) -> Iterator[None]:
    """While the block runs, tell how many of Spark's tasks are done.

        with progress(spark):
            runs = simulate_grid(spark, deploy, grid, 1_000, tasks=64).toPandas()

    Spark knows of tasks only, so give `simulate_grid` more of them than there are cores. On classic Spark it
    is what the status tracker says of the stages that run, those of other threads too; on Connect, what the
    server sends while a result is awaited, from Spark 4.0 on: before, nothing is shown.

    Args:
        spark: the session.
        tell: called with the tasks that are done and all there are, from another thread; by default one
            line on standard error, where that is a terminal.
    """
    tell = tell or _print
    connect = type(spark).__module__.startswith("pyspark.sql.connect")
    with _on_connect(spark, tell) if connect else _on_classic(spark, tell):
        yield
    if tell is _print and sys.stderr.isatty():
        sys.stderr.write("\r\x1b[K")


@contextmanager
def _on_connect(spark: Any, tell: Callable[[int, int], None]) -> Iterator[None]:
    def handler(stages: Any, **_: object) -> None:
        if current := list(stages or ()):
            tell(
                sum(stage.num_completed_tasks for stage in current), sum(stage.num_tasks for stage in current)
            )

    if not hasattr(spark, "registerProgressHandler"):
        yield
        return
    spark.registerProgressHandler(handler)
    try:
        yield
    finally:
        spark.removeProgressHandler(handler)


@contextmanager
def _on_classic(spark: SparkSession, tell: Callable[[int, int], None]) -> Iterator[None]:
    tracker = spark.sparkContext.statusTracker()
    over = Event()

    def watch() -> None:
        counts: dict[int, tuple[int, int]] = {}
        last = False
        while not last:
            last = over.wait(EVERY_S)
            before = dict(counts)
            for stage in (*counts, *tracker.getActiveStageIds()):
                if info := tracker.getStageInfo(stage):
                    counts[stage] = (info.numCompletedTasks, info.numTasks)
            if counts != before:
                tell(*map(sum, zip(*counts.values(), strict=True)))

    thread = Thread(target=watch, name="progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _print(done: int, tasks: int) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r{done} of {tasks} tasks\x1b[K")
        sys.stderr.flush()
