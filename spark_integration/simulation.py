"""Simulate a scenario, or a grid of scenarios, many times on Spark; each run is a row."""

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
    cell_scenario,
    cells,
    check_count,
    column_of,
    grid_rows,
    in_cell,
    scenario_for_runs,
)
from partitioning.errors import CopartitionError, MissingDependencyError


def simulate_rebalances(
    spark: SparkSession, scenario: Scenario | str | PathLike[str], runs: int, *, tasks: int | None = None
) -> DataFrame:
    """Simulate a scenario many times; each run is a row with `run` and the fields of `RunSummary`.

    This is `simulate_grid` with an empty grid; its arguments and errors are described there.

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
    """Simulate each combination of settings many times; each run is a row.

    A *cell* is one combination. A row has the cell's settings, `run` (from 0) and the fields of `RunSummary`.

    Run i of every cell has the seed `scenario.seed + i`, so all cells get the same random numbers. The rows
    and their order do not depend on the number of tasks, and stay the same if a task runs again, unless the
    scenario's `costs.assignor_ms` is "measured". The first run of each cell is made on executors when this
    is called, so a setting that cannot be simulated, or a package that executors lack, raises an error here.
    The other runs are made when the DataFrame is used; cache it to use it twice. Executors need this package
    (`shipping.ship`).

    >>> grid = simulate_grid(spark, scenario, {"assignor": ["range", "uniform"], "members": [2, 4]}, runs=10)
    >>> grid.columns[:4], grid.count()
    (['assignor', 'members', 'run', 'seed'], 40)

    Args:
        spark: a session, classic or Connect.
        scenario: the scenario, or the path of its file, which the driver reads.
        grid: name of an axis -> its values. Axes are "assignor"; "members", the number of consumers at the
            start; "static", whether these are static members; "load.rate" and "load.capacity", in records a
            second; "load.zipf"; and settings such as "session.timeout.ms". In column names, dots become
            underscores.
        runs: number of runs of each cell, 1 or more.
        tasks: number of Spark tasks that share the runs; by default one for each core. A task gets runs of
            as many different cells as possible, and builds the scenarios of these cells only. A task costs
            50 to 80 ms in itself, so give it work for a second or more.

    Raises:
        ScenarioError: `runs` or `tasks` is below 1, the seeds would exceed 2**63 - 1, the grid has an unknown
            axis, or a cell cannot be simulated; the message names the axis or the cell.
        UnknownStrategyError: there is no strategy of that name.
        MissingDependencyError: an executor lacks a strategy, or this package in this version.
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
            # Row n is a run of cell n modulo the number of cells. Some cells take longer than others, and so
            # every task gets runs of slow and of quick cells.
            rows = grid_rows(plan, every, batch.column(0).to_pylist())
            yield pa.RecordBatch.from_pylist(rows, schema=schema)

    def attempt(place: int) -> None:
        _try_first_run(plan, every[place])

    # One run of each cell is made now, on executors. A fault would otherwise appear hours later, in the
    # middle of the grid.
    if fault := _first_fault(spark, run, attempt, len(every)):
        # The run is tried again on the driver. Most faults are in the cell: then this raises the same error,
        # with its class. If it succeeds here, the executor lacks something.
        attempt(fault.number)
        raise MissingDependencyError(
            f"executors cannot run this ({fault.text}): send them this package with "
            "spark_integration.shipping.ship(spark), or install what is installed here on them, this package "
            "in its version and those of its plug-ins, with entry points in copartition.assignors"
        )
    columns = ", ".join(f"{name} {kind}" for name, kind in kinds.items())
    return spark.range(0, runs * len(every), 1, tasks).mapInArrow(run, columns)


def _try_first_run(whole: Scenario, cell: Mapping[str, Any]) -> None:
    """Look up all strategies that a cell may need, and make its first run.

    Args:
        whole: the scenario before the cell's settings are applied.
        cell: name of an axis -> the cell's value; empty if there is no grid.

    Raises:
        CopartitionError: a strategy is missing, or the cell cannot be simulated; the message names the cell.
    """
    scenario = cell_scenario(whole, cell)
    strategies = {scenario.assignor}
    for holder in (*scenario.consumers, *scenario.events):
        # Assignors are named by consumers, by the consumer that an event lets join, and by events that change
        # the assignors of other consumers.
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
    """Have executors attempt something with each number from 0 on; return a row for the lowest that fails.

    Spark would report what an executor lacks in a long trace of Java; the row has it in one line.

    Args:
        spark: a session.
        task: the function that the real tasks will run; executors only unpickle it, to show that they can.
        attempt: called with each number on executors.
        numbers: the count of numbers; the highest one is `numbers` - 1.

    Returns:
        A row with the `number`, and with the class and message of the error as `text`; None if none fails.
    """
    pickled = cloudpickle.dumps((task, attempt))  # type: ignore[no-untyped-call]
    rows = spark.range(0, numbers).mapInArrow(faults_of(pickled), "number bigint, text string").collect()
    return min(rows, key=lambda row: row.number, default=None)


def faults_of(pickled: bytes) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return a function for `mapInArrow` that yields a row for the first number of a task that fails.

    Args:
        pickled: the pair (task, attempt) of `_first_fault`, pickled.
    """

    def faults(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pickle  # noqa: PLC0415 - on executors

        import pyarrow as pa  # noqa: PLC0415

        attempt = None
        for batch in batches:
            for number in batch.column(0).to_pylist():
                try:
                    # `attempt` is unpickled here, not by Spark, so that a missing package raises here.
                    attempt = attempt or pickle.loads(pickled)[1]  # noqa: S301 - Spark will read the same
                    attempt(number)
                except Exception as error:  # noqa: BLE001 - whatever it is, the driver reports it
                    text = f"{type(error).__name__}: {error}"
                    yield pa.RecordBatch.from_pydict({"number": [number], "text": [text]})
                    return

    return faults
