"""Runs of a scenario, or of a grid of scenarios, as rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, replace
from itertools import count, islice, product
from os import PathLike
from typing import Any

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql import DataFrame, Row, SparkSession

from assignors import get_assignor
from copartition.simulation import Consumer, Join, RunSummary, Scenario, Settings, simulate_seeds
from copartition.simulation.inputs.settings import dotted
from partitioning.errors import CopartitionError, MissingDependencyError, ScenarioError
from partitioning.kit.limits import check_members
from partitioning.kit.near import near
from partitioning.topic_partition import is_integer

_SETTINGS = {dotted(setting.name): setting.name for setting in fields(Settings)}
_LOAD = {f"load.{name}": name for name in ("rate", "capacity", "zipf")}

AXES = {
    "assignor": "string",
    "members": "bigint",
    "static": "boolean",
    **dict.fromkeys((*_LOAD, *_SETTINGS), "double"),
}
"""Axis that a grid can vary -> type of its column."""

_TAKES = {"string": (str,), "bigint": (int,), "boolean": (bool,), "double": (int, float)}
"""The types of values of a column."""


def _column(axis: str) -> str:
    """Return the name of an axis' column: in a dot Spark would read a field of a struct."""
    return axis.replace(".", "_")


def cells(grid: Mapping[str, Iterable[Any]]) -> list[dict[str, Any]]:
    """Return every combination of the grid's values, the last axis changing fastest.

    ScenarioError if there is no such axis, or its values are none, given twice or of another type.
    """
    if not isinstance(grid, Mapping):
        raise ScenarioError(f"the grid is {grid!r}; give a mapping of names to lists of values")
    return [
        dict(zip(grid, values, strict=True)) for values in product(*(_values(*axis) for axis in grid.items()))
    ]


def scenario_of(scenario: Scenario, cell: Mapping[str, Any]) -> Scenario:
    """Return the scenario of a cell.

    Raises:
        ScenarioError: there is no such scenario; the message names the cell.
    """
    settings = {_SETTINGS[name]: value for name, value in cell.items() if name in _SETTINGS}
    load = {_LOAD[name]: value for name, value in cell.items() if name in _LOAD}
    # Without a load there is no lag to vary, and a grid of equal rows would look like a result.
    if load and scenario.load is None:
        raise in_cell("the scenario has no load to change; give it one", cell)
    try:
        changed = replace(
            scenario,
            assignor=cell.get("assignor", scenario.assignor),
            settings=replace(scenario.settings, **settings),
            load=scenario.load and replace(scenario.load, **load),
        )
        if "members" in cell:
            changed = _with_members(changed, cell["members"])
        return _with_static(changed, cell["static"]) if "static" in cell else changed
    except ScenarioError as error:
        raise in_cell(error, cell) from error


def in_cell(error: object, cell: Mapping[str, Any]) -> ScenarioError:
    """Return the error, with the cell it is about."""
    where = ", ".join(f"{name}={value!r}" for name, value in cell.items())
    return ScenarioError(f"the cell {where}: {error}" if where else str(error))


def _values(name: str, values: Iterable[Any]) -> list[Any]:
    """Return the values of one axis; ScenarioError if there is no such axis, or they are not of its type."""
    if name not in AXES:
        raise ScenarioError(f"a grid has no axis {name!r}; {near(name, sorted(AXES))}")
    if isinstance(values, str) or not hasattr(values, "__iter__"):
        raise ScenarioError(f"the grid's {name} is {values!r}; give a list of values")
    axis_values = list(values)
    takes = _TAKES[AXES[name]]
    for value in axis_values:
        if not isinstance(value, takes) or (isinstance(value, bool) and bool not in takes):
            kinds = " or ".join(kind.__name__ for kind in takes)
            raise ScenarioError(f"the grid's {name} has {value!r}; give values of type {kinds}")
    if not axis_values or len(set(axis_values)) < len(axis_values):
        raise ScenarioError(
            f"the grid's {name} is {axis_values!r}; give one value or more, each of them once"
        )
    return axis_values


def _with_members(scenario: Scenario, members: int) -> Scenario:
    """Return the first consumers of the scenario; where it has fewer, more of the kind of its last."""
    if members < 1:
        raise ScenarioError(f"members is {members}; give 1 or more")
    check_members(members, ScenarioError, "the group")
    joining = [event.consumer for event in scenario.events if isinstance(event, Join)]
    names = {consumer.name for consumer in (*scenario.consumers, *joining)}
    # Its moment of heartbeats is its own; those of the others are drawn.
    kind = replace(scenario.consumers[-1], beat_ms=None) if scenario.consumers else Consumer("")
    free = (name for number in count() if (name := f"worker-{number}") not in names)
    more = [replace(kind, name=name) for name in islice(free, max(0, members - len(scenario.consumers)))]
    return replace(scenario, consumers=(*scenario.consumers[:members], *more))


def _with_static(scenario: Scenario, static: bool) -> Scenario:
    """Return every consumer, also one that joins later, as a static member or as a dynamic one."""
    return replace(
        scenario,
        consumers=tuple(replace(consumer, static=static) for consumer in scenario.consumers),
        events=tuple(
            replace(event, consumer=replace(event.consumer, static=static))
            if isinstance(event, Join)
            else event
            for event in scenario.events
        ),
    )


FIGURES = {field.name: "bigint" if field.type is int else "double" for field in fields(RunSummary)}


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
        _check_count(what, number)
    plan = scenario if isinstance(scenario, Scenario) else Scenario.from_file(scenario)
    if plan.seed + runs > 2**63:
        raise ScenarioError(f"the seed is {plan.seed}; with {runs} runs it must leave room below 2**63")
    every = cells(grid)
    kinds = {_column(name): AXES[name] for name in grid} | {"run": "bigint"} | FIGURES

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa  # noqa: PLC0415 - on executors

        types = {"bigint": pa.int64(), "double": pa.float64(), "string": pa.string(), "boolean": pa.bool_()}
        schema = pa.schema([(name, types[kind]) for name, kind in kinds.items()])
        for batch in batches:
            # Row n is of cell n mod cells: cells differ in what they cost, and every task has its share.
            numbers = batch.column(0).to_pylist()
            rows: dict[int, dict[str, Any]] = {}
            of_cells: dict[int, list[int]] = {}
            for number in numbers:
                of_cells.setdefault(number % len(every), []).append(number)
            for place, own in of_cells.items():
                cell = every[place]
                values = {_column(name): value for name, value in cell.items()}
                # The same seeds in every cell: cells then differ by their settings and not by luck.
                seeds = [plan.seed + number // len(every) for number in own]
                results = simulate_seeds(scenario_of(plan, cell), seeds)
                for number, result in zip(own, results, strict=True):
                    figures = {name: getattr(result.summary, name) for name in FIGURES}
                    rows[number] = {**values, "run": number // len(every), **figures}
            yield pa.RecordBatch.from_pylist([rows[number] for number in numbers], schema=schema)

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


def _check_count(what: str, number: object) -> None:
    """Raise ScenarioError unless this is a whole number, 1 or more."""
    if not is_integer(number) or number < 1:
        raise ScenarioError(f"{what} is {number!r}; give a whole number, 1 or more")


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
