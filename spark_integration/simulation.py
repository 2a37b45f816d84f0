"""Runs of a scenario, or of a grid of scenarios, as rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from os import PathLike
from typing import Any

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql import DataFrame, Row, SparkSession

from assignors import get_assignor
from copartition.simulation import Scenario, simulate_seeds
from copartition.simulation.grid import (
    AXES,
    FIGURES,
    cells,
    check_count,
    column_of,
    in_cell,
    rows_of,
    scenario_for_runs,
    scenario_of,
)
from partitioning.errors import CopartitionError, MissingDependencyError


def simulate_rebalances(
    spark: SparkSession, scenario: Scenario | str | PathLike[str], runs: int, *, tasks: int | None = None
) -> DataFrame:
    """Simulate a scenario many times; a row for each run: `run`, and the fields of `RunSummary`.

    It is `simulate_grid` with nothing to vary, where arguments and errors are described.

    >>> simulate_rebalances(spark, scenario, 20).selectExpr("round(max(longest_pause_ms)) AS most").first()
    Row(most=47689.0)
    """
    return simulate_grid(spark, scenario, {}, runs, tasks=tasks)


def simulate_grid(
    spark: SparkSession,
    scenario: Scenario | str | PathLike[str],
    grid: Mapping[str, Iterable[Any]],
    runs: int,
    *,
    tasks: int | None = None,
) -> DataFrame:
    """Simulate each combination of settings; a row for each run.

    Its cell, `run`, and the fields of `RunSummary`.

    Run i of every cell has the seed `scenario.seed + i`, so cells meet the same luck, and the rows and their
    order are the same for any number of tasks, and when a task is run again. (Not so where the scenario's
    `costs.assignor_ms` is "measured".) The first run of each cell is made at once, on executors, so what
    cannot be simulated, or what an executor lacks, is an error of ours here. The other runs begin when the
    frame is used; cache it to use it twice. Executors need this package.

    >>> grid = simulate_grid(spark, scenario, {"assignor": ["range", "uniform"], "members": [2, 4]}, runs=10)
    >>> grid.columns[:4], grid.count()
    (['assignor', 'members', 'run', 'seed'], 40)

    Args:
        spark: a session, classic or Connect.
        scenario: the group and what happens to it, or the path of its file, which the driver reads.
        grid: values by what they are of: "assignor"; "members", how many consumers there are at the start;
            "static", whether they are static members; "load.rate" and "load.capacity", records a second;
            "load.zipf"; or a setting such as "session.timeout.ms". Columns have underscores for dots.
        runs: how many runs of each cell, 1 or more.
        tasks: Spark tasks that share them, by default one a core. Each has runs of all cells, where it has
            as many, and builds only cells that it has. A task costs 50 to 80 ms before it does anything, so
            give it a second of work or more.

    Raises:
        ScenarioError: `runs` or `tasks` is below 1, the seeds go beyond 2**63 - 1, the grid has an axis that
            there is not, or a cell cannot be simulated; the message names it.
        UnknownStrategyError: there is no strategy of that name.
        MissingDependencyError: an executor does not have a strategy, or this package in this version.
    """
    for what, number in (("runs", runs), ("tasks", 1 if tasks is None else tasks)):
        check_count(what, number)
    plan, every = scenario_for_runs(scenario, runs), cells(grid)
    kinds = {column_of(name): AXES[name] for name in grid} | {"run": "bigint"} | FIGURES

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa  # noqa: PLC0415 - on executors

        types = {"bigint": pa.int64(), "double": pa.float64(), "string": pa.string(), "boolean": pa.bool_()}
        schema = pa.schema([(name, types[kind]) for name, kind in kinds.items()])
        for batch in batches:
            # Row n is of cell n mod cells: cells differ in what they cost, and every task has its share.
            rows = rows_of(plan, every, batch.column(0).to_pylist())
            yield pa.RecordBatch.from_pylist(rows, schema=schema)

    def attempt(place: int) -> None:
        _try_first_run(plan, every[place])

    # One run of each cell now, on executors: what fails there would otherwise fail hours later, in the
    # middle.
    if fault := _first_fault(spark, run, attempt, len(every)):
        attempt(fault.number)  # most faults are the cell's own, and the same here
        raise MissingDependencyError(
            f"executors cannot run this ({fault.text}): send them this package with "
            "spark_integration.shipping.ship(spark), or install what is installed here on them, this package "
            "in its version and those of its plug-ins, with entry points in copartition.assignors"
        )
    columns = ", ".join(f"{name} {kind}" for name, kind in kinds.items())
    return spark.range(0, runs * len(every), 1, tasks).mapInArrow(run, columns)


def _try_first_run(whole: Scenario, cell: Mapping[str, Any]) -> None:
    """Look up all strategies of a cell, and make its first run."""
    scenario = scenario_of(whole, cell)
    strategies = {scenario.assignor}
    for holder in (*scenario.consumers, *scenario.events):
        # Consumers have assignors, events that let one join have a consumer, and events that change assignors
        # list them.
        strategies |= set(getattr(getattr(holder, "consumer", holder), "assignors", None) or ())
        strategies |= set(getattr(holder, "assignors", None) or ())
    for name in sorted(strategies):
        get_assignor(name)
    try:
        next(simulate_seeds(scenario, [scenario.seed]))
    except CopartitionError as error:
        if not cell:
            raise
        raise in_cell(error, cell) from error


def _first_fault(
    spark: SparkSession, task: Callable[..., object], attempt: Callable[[int], object], numbers: int
) -> Row | None:
    """Have executors read a task, and attempt something with each number from 0; the lowest that fails.

    A row has the `number`, and the error's class and message as `text`. Spark itself would tell what an
    executor lacks in a trace of Java's.
    """
    pickled = cloudpickle.dumps((task, attempt))  # type: ignore[no-untyped-call]
    rows = spark.range(0, numbers).mapInArrow(faults_of(pickled), "number bigint, text string").collect()
    return min(rows, key=lambda row: row.number, default=None)


def faults_of(pickled: bytes) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the first fault of each task, or none; `pickled` is a task and what to attempt."""

    def faults(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pickle  # noqa: PLC0415 - on executors

        import pyarrow as pa  # noqa: PLC0415

        attempt = None
        for batch in batches:
            for number in batch.column(0).to_pylist():
                try:
                    # Unpickling itself is what shows that an executor lacks the package.
                    attempt = attempt or pickle.loads(pickled)[1]  # noqa: S301 - Spark will read the same
                    attempt(number)
                except Exception as error:  # noqa: BLE001 - whatever it is, the driver reports it
                    text = f"{type(error).__name__}: {error}"
                    yield pa.RecordBatch.from_pydict({"number": [number], "text": [text]})
                    return

    return faults
