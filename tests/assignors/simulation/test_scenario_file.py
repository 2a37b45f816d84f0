"""Scenarios as files."""

import json
from pathlib import Path

import pytest

from assignors.errors import ScenarioError
from assignors.group import Topic
from assignors.simulation import (
    Consumer,
    Crash,
    Grow,
    Join,
    Leave,
    Restart,
    Scenario,
    Settings,
    rolling_restart,
    simulate,
)

EXAMPLE = Path(__file__).parents[3] / "examples" / "rolling-restart.yaml"
YAML = """
topics: {orders: 200, pay: 4}
consumers: 3
static: true
assignor: sticky
settings: {session.timeout.ms: 60000}
heartbeats: in-step
seed: 7
events:
  - {event: rolling-restart, at_ms: 10, every_ms: 100, down_ms: 5}
  - {event: join, at_ms: 5000, consumer: late}
  - {event: join, at_ms: 5001, consumer: {name: other, static: false, topics: [pay]}}
  - {event: leave, at_ms: 6000, consumer: worker-0}
  - {event: crash, at_ms: 7000, consumer: worker-1}
  - {event: restart, at_ms: 8000, consumer: worker-2, down_ms: 20}
  - {event: grow, at_ms: 9000, topic: pay, partitions: 8}
"""
TOML = """
consumers = ["a", {name = "b", static = true}]
[topics]
orders = 2
[[events]]
event = "leave"
at_ms = 5
consumer = "a"
"""


def written(folder, name, text):
    path = folder / name
    path.write_text(text)
    return path


def test_a_yaml_file_says_everything_a_scenario_can(tmp_path):
    consumers = tuple(Consumer(f"worker-{number}", static=True) for number in range(3))
    assert Scenario.from_file(written(tmp_path, "deploy.yaml", YAML)) == Scenario(
        topics=(Topic("orders", 200), Topic("pay", 4)),
        consumers=consumers,
        events=(
            *rolling_restart(consumers, start_ms=10, every_ms=100, down_ms=5),
            Join(5000, Consumer("late", static=True)),
            Join(5001, Consumer("other", topics=("pay",))),
            Leave(6000, "worker-0"),
            Crash(7000, "worker-1"),
            Restart(8000, "worker-2", 20),
            Grow(9000, "pay", 8),
        ),
        assignor="sticky",
        settings=Settings(session_timeout_ms=60_000),
        heartbeats="in-step",
        seed=7,
        name="deploy",
    )


def test_the_example_runs():
    result = simulate(Scenario.from_file(EXAMPLE))
    assert {topic.name for topic in result.scenario.topics} == {"orders", "payments"}
    assert result.summary.unassigned_partitions == 0


def test_toml_and_json_say_the_same(tmp_path):
    as_json = json.dumps(
        {
            "topics": {"orders": 2},
            "consumers": ["a", {"name": "b", "static": True}],
            "events": [{"event": "leave", "at_ms": 5, "consumer": "a"}],
        }
    )
    one = Scenario.from_file(written(tmp_path, "x.toml", TOML))
    other = Scenario.from_file(written(tmp_path, "x.json", as_json))
    assert one == other
    assert one.consumers == (Consumer("a"), Consumer("b", static=True))


def test_a_consumer_comes_back_as_it_was(tmp_path):
    text = """
topics: {orders: 2}
consumers: [{name: a, static: true}]
events: [{event: leave, at_ms: 1, consumer: a}, {event: join, at_ms: 2, consumer: a}]
"""
    assert Scenario.from_file(written(tmp_path, "x.yml", text)).events[1] == Join(
        2, Consumer("a", static=True)
    )


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("consumers: 3", "missing required field `topics`"),
        ("{topics: {a: 0}, consumers: 3}", "`$.topics[...]`"),
        ("{topics: {a: 1}, consumers: -1}", "`$.consumers`"),
        ("{topics: {a: 1}, consumers: 1, sed: 3}", "unknown field `sed`"),
        ("{topics: {a: 1}, consumers: 1, events: [{event: leav, at_ms: 1}]}", "`$.events[0].event`"),
        (
            "{topics: {a: 1}, consumers: 1, events: [{event: leave, at_ms: x, consumer: a}]}",
            "`$.events[0].at_ms`",
        ),
        ("{topics: {a: 1}, consumers: 1, settings: {session.timeout: 1}}", "did you mean session.timeout.ms"),
        (
            "{topics: {a: 1}, consumers: 1, settings: {session.timeout.ms: 1}}",
            "heartbeats must be more frequent",
        ),
        (
            "{topics: {a: 1}, consumers: 1, events: [{event: leave, at_ms: 1, consumer: a}]}",
            "no consumer 'a'",
        ),
        ("[", "expected"),
        ("a: b: c", "mapping values are not allowed"),
        ("", "Expected `object`"),
    ],
)
def test_a_fault_is_said_with_the_file_and_the_place(tmp_path, text, fault):
    path = written(tmp_path, "bad.yaml", text)
    with pytest.raises(ScenarioError) as caught:
        Scenario.from_file(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert fault in str(caught.value)


def test_a_missing_file_and_an_unknown_ending_are_named(tmp_path):
    with pytest.raises(ScenarioError, match=r"none\.yaml: No such file"):
        Scenario.from_file(tmp_path / "none.yaml")
    with pytest.raises(ScenarioError, match=r"ends in \.json, \.toml, \.yaml, \.yml"):
        Scenario.from_file(written(tmp_path, "x.ini", ""))
