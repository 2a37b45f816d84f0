"""Scenarios as files."""

import json
import re
import uuid
from pathlib import Path

import pytest

from assignors.group import Topic
from copartition.simulation import (
    Autoscaler,
    Condition,
    Consumer,
    Costs,
    Crash,
    CrashLoop,
    Create,
    Deployment,
    DuplicateInstance,
    Exponential,
    Failover,
    Grow,
    Join,
    Leave,
    Load,
    LogNormal,
    Restart,
    RollingRestart,
    ScaleTo,
    Scenario,
    Settings,
    SlowPoll,
    Stall,
    StatefulSetRoll,
    Uniform,
    simulate,
)
from copartition.simulation.inputs.file import scenario_to_dict
from partitioning.errors import ScenarioError
from tools.fuzz.scenarios import JSON, TOML, YAML

EXAMPLE = Path(__file__).parents[4] / "examples" / "rolling-restart.yaml"
EVERYTHING = Scenario(
    topics=(Topic("orders", 12), Topic("pay", 2, racks=(("a", "b"), ("c",)), id=uuid.UUID(int=7))),
    consumers=(
        *(Consumer(f"worker-{number}", static=True) for number in range(3)),
        Consumer("other", topics=("pay",), rack="a", client="librdkafka", beat_ms=1_500),
        Consumer("finder", static=True, pattern="o.*", assignors=("range", "sticky")),
    ),
    events=(
        RollingRestart(at_ms=10, every_ms=100, down_ms=5),
        Join(5_000, Consumer("late", static=True)),
        Join(5_001, Consumer("later", topics=("pay",))),
        Leave(6_000, "worker-0"),
        Crash(Condition("lag", above=20, for_ms=2_000), "worker-1"),
        Grow(9_000, "pay", 8),
        Create(Condition("members", below=3), "new", 3),
        SlowPoll(10_000, "worker-2", Uniform(1_000, 6_000)),
        Stall(11_000, "other", 60_000),
        Failover(12_000, 500),
        DuplicateInstance(13_000, "worker-2"),
        Restart(20_000, "worker-2", Exponential(3_000), ("sticky",)),
        StatefulSetRoll(30_000, 2_000, 3_000),
        Deployment(60_000, 2, 1, 1_000, 2_000),
        ScaleTo(120_000, 8, 1_000),
        Autoscaler(180_000, 50, 30_000, 60_000, 2, 9),
        CrashLoop(0, "finder", 3, 5_000, 1_000, 3_000),
    ),
    assignor="sticky",
    settings=Settings(session_timeout_ms=60_000, heartbeat_interval_ms=4_000),
    seed=7,
    name="deploy",
    settled_ms=0,
    costs=Costs(LogNormal(50, 2_000), Exponential(10), assignor_ms="measured", network_ms=1),
    load=Load({"orders": 10, "pay": 0.5}, 40, 100, "before", transactions=True),
    until_ms=600_000,
    question="Why so often?",
    source="https://example.com/1",
    conclusion="Everybody waits.",
)
SMALL = {"topics": {"orders": 4, "pay": 2}, "consumers": 3}


def written(folder, name, text):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_a_yaml_file_says_everything_a_scenario_can(tmp_path):
    assert Scenario.from_file(written(tmp_path, "deploy.yaml", YAML)) == EVERYTHING


def test_a_scenario_is_written_and_read_as_it_was():
    values = json.loads(json.dumps(scenario_to_dict(EVERYTHING), allow_nan=False))
    assert Scenario.from_dict(values) == EVERYTHING


@pytest.mark.parametrize(
    ("scenario", "values"),
    [
        (
            Scenario((Topic("t", 3),), (Consumer("a"),), name="n"),
            {"name": "n", "topics": {"t": 3}, "consumers": ["a"]},
        ),
        (
            Scenario((Topic("t", 1, racks=({"b", "a"},)),), (), name="n"),
            {"name": "n", "topics": {"t": {"partitions": 1, "racks": [["a", "b"]]}}, "consumers": []},
        ),
        (
            Scenario(
                (), (Consumer("a", rack="r"),), (Leave(Condition("unread", above=0.5), "a"),), until_ms=9
            ),
            {
                "name": "scenario",
                "topics": {},
                "consumers": [{"name": "a", "rack": "r"}],
                "until_ms": 9,
                "events": [{"event": "leave", "when": "unread > 0.5", "consumer": "a"}],
            },
        ),
    ],
)
def test_only_what_is_not_the_default_is_written(scenario, values):
    assert scenario_to_dict(scenario) == values


def test_the_example_runs():
    result = simulate(Scenario.from_file(EXAMPLE))
    assert {topic.name for topic in result.scenario.topics} == {"orders", "payments"}
    assert result.summary.unassigned_partitions == 0


def test_toml_and_json_say_the_same(tmp_path):
    one = Scenario.from_file(written(tmp_path, "x.toml", TOML))
    other = Scenario.from_file(written(tmp_path, "x.json", JSON))
    assert one == other
    assert one.consumers == (Consumer("a"), Consumer("b", static=True))


@pytest.mark.parametrize(
    ("consumers", "names"),
    [
        (2, ["worker-0", "worker-1"]),
        ({"count": 2, "prefix": "a"}, ["a-0", "a-1"]),
        ([{"count": 1, "prefix": "a"}, "b", {"count": 1}], ["a-0", "b", "worker-0"]),
        (0, []),
    ],
)
def test_consumers_may_be_counted(consumers, names):
    made = Scenario.from_dict(SMALL | {"consumers": consumers}).consumers
    assert [consumer.name for consumer in made] == names


@pytest.mark.parametrize(
    "consumers", [[{"name": "a", "static": True}], [{"count": 1, "static": True}]], ids=["alone", "counted"]
)
def test_a_consumer_comes_back_as_it_was(consumers):
    name = consumers[0].get("name", "worker-0")
    leave = {"event": "leave", "at_ms": 1, "consumer": name}
    join = {"event": "join", "at_ms": 2, "consumer": name}
    scenario = Scenario.from_dict(SMALL | {"consumers": consumers, "events": [leave, join]})
    assert scenario.events[1] == Join(2, Consumer(name, static=True))


def test_who_joined_once_in_full_comes_back_by_name():
    events = [
        {"event": "join", "at_ms": 1, "consumer": {"name": "n", "rack": "a"}},
        {"event": "leave", "at_ms": 2, "consumer": "n"},
        {"event": "join", "at_ms": 3, "consumer": "n"},
    ]
    assert Scenario.from_dict(SMALL | {"events": events}).events[2] == Join(3, Consumer("n", rack="a"))


@pytest.mark.parametrize(
    ("time", "milliseconds"),
    [("200 ms", 200), ("1.5 s", 1_500), ("5min", 300_000), ("2 h", 7_200_000), ("1e3 ms", 1_000), (7, 7)],
)
def test_a_time_may_have_a_unit(time, milliseconds):
    assert Scenario.from_dict(SMALL | {"settled_ms": time}).settled_ms == milliseconds


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("lag > 5000 for 30 s", Condition("lag", above=5_000, for_ms=30_000)),
        ("partition_lag>1e3", Condition("partition_lag", above=1_000)),
        ("members < 3 for 1 min", Condition("members", below=3, for_ms=60_000)),
        ("unread > 0 for 250.5 ms", Condition("unread", above=0, for_ms=250.5)),
        ("commit-refused", Condition("commit-refused")),
    ],
)
def test_a_condition_is_written_as_people_say_it(text, condition):
    values = SMALL | {"load": {"rate": 1}, "until_ms": 1_000}
    event = {"event": "leave", "when": text, "consumer": "worker-0"}
    scenario = Scenario.from_dict(values | {"events": [event]})
    assert scenario.events == (Leave(condition, "worker-0"),)
    assert Scenario.from_dict(scenario_to_dict(scenario)) == scenario


def crash(**fields):
    return {"events": [{"event": "leave", "at_ms": 1, "consumer": "worker-0"}, {"event": "crash"} | fields]}


PYTHON = re.compile(r"\b(None|NoneType|True|False|tuple|Condition)\b|\w\(\w+=")

# Faults that the schema knows too, and those that it cannot know.
MISSHAPEN = [
    ({"topics": {"a": 0}}, "$.topics.a", "a is 0; give a whole number from 1 to"),
    ({"topics": ["a"]}, "$.topics", "no mapping of topics"),
    ({"topics": {"a": {"partition": 1}}}, "$.topics.a", "did you mean 'partitions'?"),
    ({"topics": {"a": {"partitions": 1, "racks": ["x"]}}}, "$.topics.a.racks[0]",
     "racks[0] is 'x'; give a list, each item of it a text"),
    ({"consumers": -1}, "$.consumers", "consumers is -1; give a whole number from 0 to 1048576"),
    ({"consumers": "40"}, "$.consumers", "consumers is '40'"),
    ({"consumers": [7]}, "$.consumers[0]", "7 is no mapping"),
    ({"consumers": [{"name": [1]}]}, "$.consumers[0].name", "name is [1]"),
    ({"consumers": [{"static": True}]}, "$.consumers[0]", "name is missing"),
    ({"consumers": [{"count": 2, "prefix": 1}]}, "$.consumers[0].prefix", "prefix is 1"),
    ({"consumers": [{"count": 2, "nam": 1}]}, "$.consumers[0]", "no field 'nam'"),
    ({"sed": 3}, "$", "no field 'sed' here; did you mean 'seed'?"),
    ({"static": 1}, "$.static", "static is 1; give true or false"),
    ({"seed": 1.5}, "$.seed", "seed is 1.5"),
    ({"settings": {"session.timeout": 1}}, "$.settings", "did you mean 'session.timeout.ms'?"),
    ({"settings": {"session.timeout.ms": "1 day"}}, "$.settings.session.timeout.ms", "is '1 day'; give"),
    ({"settled_ms": "5m"}, "$.settled_ms", "or text such as '30 s' (units are ms, s, min, h)"),
    ({"settings": 3}, "$.settings", "3 is no mapping"),
    ({"load": {"rate": 1, "waiting": -1}}, "$.load.waiting", "waiting is -1; give a number from 0"),
    ({"costs": {"pol_ms": 1}}, "$.costs", "did you mean 'poll_ms'?"),
    ({"costs": {"poll_ms": {"uniform": [1]}}}, "$.costs.poll_ms", "or {uniform: [low, high]}"),
    ({"load": {"rat": 1}}, "$.load", "did you mean 'rate'?"),
    ({"load": {}}, "$.load", "rate is missing"),
    ({"load": {"rate": {"orders": [1, "x", 1, 1]}}}, "$.load.rate.orders[1]",
     "rate.orders[1] is 'x'; give a number from 0"),
    ({"load": {"rate": 1, "commit": None}}, "$.load.commit", "commit is null; there are after, before"),
    ({"until_ms": "5 minutes"}, "$.until_ms", "or text such as '30 s' (units are ms, s, min, h) or nothing"),
    ({"consumers": [{"name": "a", "topics": "orders"}]}, "$.consumers[0].topics",
     "topics is 'orders'; give a list, each item of it a text"),
    ({"load": {"rate": 1, "zipf": -1}}, "$.load.zipf", "zipf is -1; give a number from 0"),
    ({"consumers": [{"name": "a", "capacity": 0}]}, "$.consumers[0].capacity", "give a number above 0"),
    ({"events": {}}, "$.events", "no list"),
    ({"events": [3]}, "$.events[0].event", "no event null; there are join, leave"),
    ({"events": [{"event": "leav"}]}, "$.events[0].event", "no event 'leav'; did you mean 'leave'?"),
    (crash(consumer="worker-1"), "$.events[1]", "at_ms is missing"),
    (crash(at_ms=1), "$.events[1]", "consumer is missing"),
    (crash(at_ms="x", consumer="worker-1"), "$.events[1].at_ms", "at_ms is 'x'"),
    (crash(at_ms=1, when="members < 2", consumer="worker-1"), "$.events[1].when", "not both"),
    (crash(when="lags > 2", consumer="worker-1"), "$.events[1].when",
     "no figure 'lags'; did you mean 'lag'?"),
    (crash(when="lag", consumer="worker-1"), "$.events[1].when", "'lag > 5000 for 30 s'"),
    (crash(at_ms=1, consumers="worker-1"), "$.events[1]", "did you mean 'consumer'?"),
]  # fmt: skip
IMPOSSIBLE = [
    ({"topics": {1: 2}}, "$.topics", "1 is no name of a topic"),
    ({"topics": {"a": {"partitions": 2, "racks": [["x"]]}}}, "$.topics.a", "racks for 1"),
    ({"topics": {"a": {"partitions": 1, "id": "x"}}}, "$.topics.a", "UUID"),
    ({"consumers": ["a", {"count": 2**20}]}, "$.consumers[1]", "has 1,048,577 members"),
    ({"consumers": [{"count": 9}, {"count": 2, "prefix": "b", "topics": ["x"]}]},
     "$.consumers[1].topics[0]", "no topic 'x'"),
    ({"consumers": {"count": 3, "topics": ["order"]}}, "$.consumers.topics[0]", "did you mean 'orders'?"),
    ({"consumers": ["a", "a"]}, "$.consumers[1].name", "in the scenario twice"),
    ({"assignor": "stickyy"}, "$.assignor", "did you mean sticky"),
    ({"consumers": [{"name": "a", "assignors": ["rang"]}]}, "$.consumers[0].assignors[0]",
     "did you mean range"),
    ({"settings": {"session.timeout.ms": 1}}, "$.settings.heartbeat.interval.ms", "more frequent"),
    ({"costs": {"poll_ms": {"uniform": [2, 1]}}}, "$.costs.poll_ms", "poll_ms is {'uniform': [2, 1]}; "),
    ({"events": [{"event": "join", "at_ms": 1, "consumer": "n"},
                 {"event": "leave", "at_ms": 2, "consumer": "n"},
                 {"event": "join", "at_ms": 3, "consumer": {"name": "n", "rack": "r", "static": True}}]},
     "$.events[2].consumer", "consumer 'n' had another static and rack before"),
    ({"load": {"rate": {"order": 1}}}, "$.load.rate.order", "did you mean 'orders'?"),
    ({"load": {"rate": 1, "waiting": {"orders": [1, 2]}}}, "$.load.waiting.orders",
     "2 numbers of records wait in orders; give one for each of the 4"),
    ({"load": {"rate": 1, "waiting": {"order": 1}}}, "$.load.waiting.order", "did you mean 'orders'?"),
    ({"load": {"rate": {"orders": [1, 2]}}}, "$.load.rate.orders", "2 rates; give one for each of its 4"),
    ({"consumers": [{"name": "a", "capacity": 9}]}, "$.load.capacity", "'a' has a capacity"),
    (crash(at_ms=1, consumer="worker-9"), "$.events[1].consumer", "no consumer 'worker-9'"),
    (crash(at_ms=1, consumer="worker-0"), "$.events[1].consumer", "'worker-0' is not running"),
    (crash(when="lag > 2", consumer="worker-1"), "$.events[1].when", "has a load"),
]  # fmt: skip


@pytest.mark.parametrize(("values", "path", "fault"), MISSHAPEN + IMPOSSIBLE)
def test_a_fault_has_its_place(values, path, fault):
    with pytest.raises(ScenarioError) as caught:
        Scenario.from_dict(SMALL | values)
    assert caught.value.path == path
    assert fault in str(caught.value)
    assert not PYTHON.search(str(caught.value))


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("consumers: 3", "topics is missing - at `$`"),
        ("{error: false, status: OK}", "this is no scenario: it has no topics and no consumers - at `$`"),
        ("{topics: {a: 1}, consumers: -1}", " - at `$.consumers`"),
        ("[", "expected"),
        ("a: b: c", "mapping values are not allowed"),
        ("", "null is no mapping"),
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


def test_simulate_takes_a_path(tmp_path):
    path = tmp_path / "deploy.yaml"
    path.write_text(
        "topics: {orders: 4}\nconsumers: 2\nevents: [{event: crash, at_ms: 5, consumer: worker-0}]"
    )
    result = simulate(path)
    assert result.scenario == Scenario.from_file(path)
    assert (simulate(str(path)).summary, result.summary.rebalances) == (result.summary, 1)


@pytest.mark.parametrize(
    ("tool", "client"),
    [("kcat", "librdkafka"), ("Spring_Kafka", "java"), ("karafka", "librdkafka"), ("faust", "aiokafka")],
)
def test_a_tool_stands_for_the_client_that_it_is_built_on(tool, client, tmp_path):
    (path := tmp_path / "group.yaml").write_text(
        f"topics: {{orders: 2}}\nconsumers: [{{name: a, client: {tool}}}]\n", encoding="utf-8"
    )
    [consumer] = Scenario.from_file(path).consumers
    assert consumer.client == client


def test_a_client_whose_behaviour_is_unknown_is_not_taken_for_another(tmp_path):
    (path := tmp_path / "group.yaml").write_text(
        "topics: {orders: 2}\nconsumers: [{name: a, client: kafkajs}]\n", encoding="utf-8"
    )
    with pytest.raises(ScenarioError, match="how kafkajs behaves in a group is not known here") as refused:
        Scenario.from_file(path)
    assert "did you mean" not in str(refused.value)
