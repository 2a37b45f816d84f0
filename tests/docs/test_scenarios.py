"""The page on scenario files shows files that are read, and everything they may say."""

import re
from dataclasses import fields
from pathlib import Path

import pytest
import yaml

from copartition.simulation import Consumer, Costs, Load, Scenario
from copartition.simulation.group.clients import BEHAVIOURS
from copartition.simulation.inputs.durations import TIME, UNITS, milliseconds_of
from copartition.simulation.inputs.events import EVENTS
from copartition.simulation.inputs.file import scenario_schema
from copartition.simulation.inputs.kinds import FIGURES
from partitioning.errors import ScenarioError
from partitioning.kit.limits import (
    MAX_GROUP_MEMBERS,
    MAX_GROUP_PARTITIONS,
    MAX_SCENARIO_EVENTS,
    MAX_SCENARIO_LOOKS,
)

PAGE = Path(__file__).parents[2] / "docs" / "scenarios.md"
TEXT = PAGE.read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)
FIRST = yaml.safe_load(EXAMPLES[0])
GROUP = {"topics": FIRST["topics"], "consumers": FIRST["consumers"]}
ROWS = {
    row[0]: row for row in (re.split(r" \| ", line.strip("| ")) for line in TEXT.splitlines() if "|" in line)
}


def number(text):
    """A default as the page has it."""
    if not text:
        return None
    return milliseconds_of(text) if re.fullmatch(TIME, text) else int(text)


def names(type_):
    return {field.name for field in fields(type_)}


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_is_read(example):
    values = yaml.safe_load(example)
    assert Scenario.from_dict(GROUP | values)


@pytest.mark.parametrize("event", EVENTS)
def test_every_event_has_its_fields_and_defaults(event):
    told = dict(re.findall(r"`(\w+)`\*?(?: ([\w ]+))?", ROWS[f"`{event}`"][2]))
    schemas = scenario_schema()["properties"]["events"]["items"]["oneOf"]
    (schema,) = [candidate for candidate in schemas if candidate["properties"]["event"]["const"] == event]
    defaults = {name: of.get("default") for name, of in schema["properties"].items()}
    for name in ("event", "at_ms", "when"):
        del defaults[name]
    assert {name: number(default) for name, default in told.items()} == defaults


@pytest.mark.parametrize("table", [Scenario, Costs, Load, Consumer], ids=lambda table: table.__name__)
def test_every_field_has_a_row(table):
    rows = {name for row in ROWS for name in re.findall(r"`(\w+)`", row)}
    assert names(table) <= rows


def test_a_fault_is_told_as_it_is_shown():
    values = yaml.safe_load(EXAMPLES[0].replace("topic: payments", "topic: order"))
    with pytest.raises(ScenarioError) as caught:
        Scenario.from_dict(values)
    assert re.search(r"``(.*?) ``", TEXT)[1] == str(caught.value)


@pytest.mark.parametrize("name", [*FIGURES, *BEHAVIOURS, *UNITS])
def test_every_figure_client_and_unit_is_told(name):
    assert re.search(rf"`(?:[\d.]+ )?{name}`", TEXT)


@pytest.mark.parametrize(
    "limit", [MAX_GROUP_PARTITIONS, MAX_GROUP_MEMBERS, MAX_SCENARIO_EVENTS, MAX_SCENARIO_LOOKS]
)
def test_limits_are_those_of_the_code(limit):
    assert f"{limit:,}" in TEXT
