"""The schema of scenario files says what the reader takes."""

import json

import fastjsonschema
import pytest
import yaml

from copartition.simulation import Scenario
from copartition.simulation.inputs.file import scenario_schema, scenario_to_dict
from tests.copartition.simulation.inputs.test_scenario_file import (
    EVERYTHING,
    EXAMPLE,
    IMPOSSIBLE,
    MISSHAPEN,
    SMALL,
)
from tools.fuzz.scenarios import JSON, YAML

SCHEMA = scenario_schema()


@pytest.fixture(scope="module")
def validate():
    return fastjsonschema.compile(SCHEMA, use_default=False)


@pytest.mark.parametrize(
    "values",
    [
        yaml.safe_load(YAML),
        json.loads(JSON),
        yaml.safe_load(EXAMPLE.read_text()),
        scenario_to_dict(EVERYTHING),
        SMALL | {"consumers": {"count": 3, "rack": "a"}, "load": None, "until_ms": None},
        SMALL | {"events": [{"event": "rolling-restart", "every_ms": 1, "down_ms": 1}]},
        SMALL | {"load": {"rate": {"orders": [1] * 4}, "capacity": 9, "zipf": 0.9}},
        SMALL | {"consumers": [{"name": "a", "capacity": 5}], "load": {"rate": {"orders": 1}, "capacity": 9}},
        SMALL | {"costs": {"poll_ms": {"lognormal": {"median": 1, "p95": "1 min"}}}},
    ],
)
def test_what_is_read_is_valid(validate, values):
    Scenario.from_dict(values)
    validate(values)


@pytest.mark.parametrize("values", [values for values, _, _ in MISSHAPEN])
def test_what_has_another_shape_is_not(validate, values):
    with pytest.raises(fastjsonschema.JsonSchemaValueException):
        validate(SMALL | values)


@pytest.mark.parametrize("values", [values for values, _, _ in IMPOSSIBLE])
def test_what_only_the_reader_can_know_is(validate, values):
    validate(json.loads(json.dumps(SMALL | values)))


def test_it_is_json():
    assert json.loads(json.dumps(SCHEMA, allow_nan=False)) == SCHEMA


@pytest.mark.parametrize("name", ["rolling-restart", "deployment", "autoscaler", "crash-loop"])
def test_an_editor_is_told_what_each_field_means(name):
    events = SCHEMA["properties"]["events"]["items"]["oneOf"]
    (event,) = [candidate for candidate in events if candidate["properties"]["event"] == {"const": name}]
    assert event["description"]
    assert {key for key, of in event["properties"].items() if "description" not in of} == {"event"}


def test_defaults_are_told():
    load = SCHEMA["properties"]["load"]["anyOf"][0]["properties"]
    assert {key: of.get("default") for key, of in load.items()} == {
        "rate": None,
        "capacity": None,
        "batch": 500,
        "commit": "after",
        "commit_on_revoke": True,
        "transactions": False,
        "zipf": 0,
        "waiting": 0,
        "auto_offset_reset": "earliest",
    }


def test_settings_have_the_names_of_kafka():
    assert SCHEMA["properties"]["settings"]["properties"]["session.timeout.ms"]["default"] == 45_000
