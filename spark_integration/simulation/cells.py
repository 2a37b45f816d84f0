"""The cells of a grid: one scenario, changed in every combination of what is asked about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from difflib import get_close_matches
from itertools import count, islice, product
from typing import Any, NamedTuple

from copartition.simulation import Consumer, Join, Scenario, Settings
from copartition.simulation.inputs.settings import dotted
from partitioning.errors import ScenarioError
from partitioning.kit.limits import check_members


class Axis(NamedTuple):
    """Something a grid varies: the column, its type, and the types of its values.

    Spark would read a dot in the column's name as a field of a struct.
    """

    column: str
    kind: str
    takes: tuple[type, ...]


_SETTINGS = {dotted(setting.name): setting.name for setting in fields(Settings)}
_LOAD = {f"load.{name}": name for name in ("rate", "capacity", "zipf")}

AXES = {
    "assignor": Axis("assignor", "string", (str,)),
    "members": Axis("members", "bigint", (int,)),
    "static": Axis("static", "boolean", (bool,)),
    **{name: Axis(name.replace(".", "_"), "double", (int, float)) for name in (*_LOAD, *_SETTINGS)},
}


def cells(grid: Mapping[str, Iterable[Any]]) -> list[dict[str, Any]]:
    """Every combination of the grid's values, the last axis changing fastest.

    ScenarioError where there is no such axis, or its values are none, given twice or of another type.
    """
    if not isinstance(grid, Mapping):
        raise ScenarioError(f"the grid is {grid!r}; give a mapping of names to lists of values")
    return [
        dict(zip(grid, values, strict=True)) for values in product(*(_values(*axis) for axis in grid.items()))
    ]


def scenario_of(scenario: Scenario, cell: Mapping[str, Any]) -> Scenario:
    """The scenario of a cell.

    Raises:
        ScenarioError: there is no such scenario; the message names the cell.
    """
    settings = {_SETTINGS[name]: value for name, value in cell.items() if name in _SETTINGS}
    load = {_LOAD[name]: value for name, value in cell.items() if name in _LOAD}
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
    """The error, with the cell it is about."""
    where = ", ".join(f"{name}={value!r}" for name, value in cell.items())
    return ScenarioError(f"the cell {where}: {error}" if where else str(error))


def _values(name: str, values: Iterable[Any]) -> list[Any]:
    if name not in AXES:
        close = get_close_matches(str(name), AXES) or sorted(AXES)
        raise ScenarioError(f"a grid has no axis {name!r}; did you mean {', '.join(close)}?")
    if isinstance(values, str) or not hasattr(values, "__iter__"):
        raise ScenarioError(f"the grid's {name} is {values!r}; give a list of values")
    axis_values = list(values)
    takes = AXES[name].takes
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
    """The first consumers of the scenario; where it has fewer, more of the kind of its last."""
    if members < 1:
        raise ScenarioError(f"members is {members}; give 1 or more")
    check_members(members, ScenarioError, "the group")
    joining = [event.consumer for event in scenario.events if isinstance(event, Join)]
    names = {consumer.name for consumer in (*scenario.consumers, *joining)}
    kind = replace(scenario.consumers[-1], beat_ms=None) if scenario.consumers else Consumer("")
    free = (name for number in count() if (name := f"worker-{number}") not in names)
    more = [replace(kind, name=name) for name in islice(free, max(0, members - len(scenario.consumers)))]
    return replace(scenario, consumers=(*scenario.consumers[:members], *more))


def _with_static(scenario: Scenario, static: bool) -> Scenario:
    """Every consumer, also one that joins later, as a static member or as a dynamic one."""
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
