"""Run a scenario many times: each combination of settings, with the same seeds, on all cores or on one."""

import multiprocessing
import os
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import fields, replace
from functools import partial
from itertools import chain, count, islice, pairwise, product
from os import PathLike
from typing import Any

from copartition.simulation.inputs.events import Consumer, Join
from copartition.simulation.inputs.scenario import Scenario, with_static
from copartition.simulation.inputs.settings import Settings, kafka_name
from copartition.simulation.outcome.result import RunSummary
from copartition.simulation.run import simulate_seeds
from partitioning.errors import ScenarioError
from partitioning.kit.limits import check_members, is_integer
from partitioning.kit.near import near

_SETTINGS = {kafka_name(setting.name): setting.name for setting in fields(Settings)}
_LOAD = {f"load.{name}": name for name in ("rate", "capacity", "zipf")}

AXES = {
    "assignor": "string",
    "members": "bigint",
    "static": "boolean",
    **dict.fromkeys((*_LOAD, *_SETTINGS), "double"),
}
"""Axis that a grid can vary -> type of its column."""

_TAKES = {"string": (str,), "bigint": (int,), "boolean": (bool,), "double": (int, float)}
"""Type of a column -> the Python types that its values may have."""


def column_of(axis: str) -> str:
    """Return the name of an axis' column.

    Dots become underscores, because Spark would take the part after a dot for a field of a struct.
    """
    return axis.replace(".", "_")


def cells(grid: Mapping[str, Iterable[Any]]) -> list[dict[str, Any]]:
    """Return every combination of the grid's values, the last axis changing fastest.

    A combination maps names of axes to values.

    Raises:
        ScenarioError: there is no such axis; or its list is empty, names a value twice, or has a value of
            another type.
    """
    if not isinstance(grid, Mapping):
        raise ScenarioError(f"the grid is {grid!r}; give a mapping of names to lists of values")
    return [
        dict(zip(grid, values, strict=True)) for values in product(*(_values(*axis) for axis in grid.items()))
    ]


def cell_scenario(scenario: Scenario, cell: Mapping[str, Any]) -> Scenario:
    """Return the scenario of a cell.

    Raises:
        ScenarioError: the values of the cell make no possible scenario; the message names the cell.
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
        return with_static(changed, static=cell["static"]) if "static" in cell else changed
    except ScenarioError as error:
        raise in_cell(error, cell) from error


def in_cell(error: object, cell: Mapping[str, Any]) -> ScenarioError:
    """Return a `ScenarioError` whose message names the cell that the error is about."""
    where = ", ".join(f"{name}={value!r}" for name, value in cell.items())
    return ScenarioError(f"the cell {where}: {error}" if where else str(error))


def _values(name: str, values: Iterable[Any]) -> list[Any]:
    """Return the values of one axis as a list.

    Raises:
        ScenarioError: see `cells`.
    """
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
    """Return the scenario with `members` consumers: its first ones, then copies of its last one if needed."""
    if members < 1:
        raise ScenarioError(f"members is {members}; give 1 or more")
    check_members(members, ScenarioError, "the group")
    joining = [event.consumer for event in scenario.events if isinstance(event, Join)]
    names = {consumer.name for consumer in (*scenario.consumers, *joining)}
    # A copy of the last consumer gets neither that consumer's heartbeat time nor its member id, because both
    # belong to one process.
    last = scenario.consumers[-1] if scenario.consumers else Consumer("")
    kind = replace(last, beat_ms=None, member_id=None)
    free = (name for number in count() if (name := f"worker-{number}") not in names)
    more = [replace(kind, name=name) for name in islice(free, max(0, members - len(scenario.consumers)))]
    return replace(scenario, consumers=(*scenario.consumers[:members], *more))


FIGURES = {field.name: "bigint" if field.type is int else "double" for field in fields(RunSummary)}
"""Figure of a run -> type of its column."""


def simulate_grid(
    scenario: Scenario | str | PathLike[str],
    grid: Mapping[str, Iterable[Any]],
    runs: int,
    *,
    processes: int | None = None,
) -> list[dict[str, Any]]:
    """Simulate each combination of settings on all cores of this machine; return one row for each run.

    A row has the values of its cell, the number of the run as `run`, and the fields of `RunSummary`. The
    rows, their order and the seeds do not depend on the number of processes, and are those of
    `spark_integration.simulate_grid`, which uses several machines.

    If a program calls this with more than one process, its own work must stand below
    `if __name__ == "__main__":`, because each process imports the program's module. A strategy from
    `register_assignor` is known to this process only; a strategy from an entry point is known to all
    processes.

    >>> crash = {"event": "crash", "at_ms": "1 min", "consumer": "worker-1"}
    >>> scenario = Scenario.from_dict({"topics": {"orders": 4}, "consumers": 2, "events": [crash]})
    >>> rows = simulate_grid(scenario, {"session.timeout.ms": [10_000, 45_000]}, 2, processes=1)
    >>> [(row["session_timeout_ms"], row["run"], round(row["longest_pause_ms"])) for row in rows]
    [(10000, 0, 10605), (45000, 0, 46621), (10000, 1, 10998), (45000, 1, 47018)]

    Args:
        scenario: the group and what happens to it, or the path of its file.
        grid: axis -> list of its values; `AXES` has the axes. In the names of columns, underscores stand for
            dots.
        runs: how many runs of each cell, 1 or more.
        processes: how many processes share the runs; None means one for each core that this process may use.
            A process takes about as long to start as NumPy takes to import, so a few runs are quicker in one
            process.

    Raises:
        ScenarioError: `runs` or `processes` is below 1, the seeds go beyond 2**63 - 1, the grid has an
            unknown axis, or a cell cannot be simulated; the message names the axis or the cell.
        UnknownStrategyError: there is no strategy of that name.
    """
    workers = _cores() if processes is None else processes
    for what, number in (("runs", runs), ("processes", workers)):
        check_count(what, number)
    plan, every = scenario_for_runs(scenario, runs), cells(grid)
    workers = min(workers, runs)
    if workers == 1:
        return grid_rows(plan, every, range(runs * len(every)))
    # Each process gets some runs of all cells. With all runs of some cells the processes would not end
    # together, because cells differ in how long they take.
    edges = [len(every) * (runs * part // workers) for part in range(workers + 1)]
    parts = [range(first, end) for first, end in pairwise(edges)]
    # Processes are spawned, not forked: a forked copy of this process would lack its threads, but keep the
    # locks that these threads hold.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, context) as pool:
        return [*chain.from_iterable(pool.map(partial(grid_rows, plan, every), parts))]


def scenario_for_runs(scenario: Scenario | str | PathLike[str], runs: int) -> Scenario:
    """Return the scenario, which is read from its file if a path is given.

    Raises:
        ScenarioError: the seeds of the runs would go beyond 2**63 - 1.
    """
    plan = scenario if isinstance(scenario, Scenario) else Scenario.from_file(scenario)
    if plan.seed + runs > 2**63:
        raise ScenarioError(f"the seed is {plan.seed}; with {runs} runs it must leave room below 2**63")
    return plan


def grid_rows(
    plan: Scenario, every: Sequence[Mapping[str, Any]], numbers: Sequence[int]
) -> list[dict[str, Any]]:
    """Return the rows with these numbers: row n is run n // len(every) of cell n % len(every)."""
    rows: dict[int, dict[str, Any]] = {}
    of_cells: dict[int, list[int]] = {}
    for number in numbers:
        of_cells.setdefault(number % len(every), []).append(number)
    for place, own in of_cells.items():
        cell = every[place]
        values = {column_of(name): value for name, value in cell.items()}
        # All cells have the same seeds, so they differ by their settings and not by luck.
        seeds = [plan.seed + number // len(every) for number in own]
        for number, result in zip(own, simulate_seeds(cell_scenario(plan, cell), seeds), strict=True):
            figures = {name: getattr(result.summary, name) for name in FIGURES}
            rows[number] = {**values, "run": number // len(every), **figures}
    return [rows[number] for number in numbers]


def check_count(what: str, number: object) -> None:
    """Raise ScenarioError unless this is a whole number, 1 or more."""
    if not is_integer(number) or number < 1:
        raise ScenarioError(f"{what} is {number!r}; give a whole number, 1 or more")


def _cores() -> int:
    """Return how many cores this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)  # missing on macOS and Windows
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1
