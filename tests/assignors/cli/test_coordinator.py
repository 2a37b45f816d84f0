"""`copartition coordinator`."""

import json

import pytest
from click.testing import CliRunner

from assignors.cli import coordinator as module
from assignors.cli.coordinator import coordinator


@pytest.fixture
def run():
    def invoke(*arguments):
        return CliRunner().invoke(coordinator, [str(each) for each in arguments])

    return invoke


@pytest.fixture
def cluster(monkeypatch):
    """A cluster whose internal topics have four partitions, the last without a leader."""
    asked = []

    def leaders(config, topic):
        asked.append((config, topic))
        return [module.Broker(number, f"kafka-{number}:9092") for number in range(3)] + [None]

    monkeypatch.setattr(module, "_leaders", leaders)
    return asked


# The broker takes Utils.abs of the hash, not its low 31 bits, which differ where it is negative.
@pytest.mark.parametrize(
    ("arguments", "row"),
    [
        (["my-group"], {"id": "my-group", "topic": "__consumer_offsets", "partition": 12}),
        (["my-group", "-n", "7"], {"id": "my-group", "topic": "__consumer_offsets", "partition": 1}),
        (["tx", "--transactional-id"], {"id": "tx", "topic": "__transaction_state", "partition": 16}),
    ],
)
def test_a_group_has_its_partition(run, arguments, row):
    assert json.loads(run(*arguments, "-o", "json").stdout) == [row]


def test_several_groups_are_a_table(run):
    lines = run("my-group", "orders-app").stdout.splitlines()
    assert [line.split() for line in lines] == [
        ["GROUP", "PARTITION"],
        ["my-group", "__consumer_offsets-12"],
        ["orders-app", "__consumer_offsets-5"],
    ]


def test_a_cluster_tells_the_partitions_and_the_brokers(run, cluster):
    rows = json.loads(run("a", "b", "c", "-b", "kafka:9092", "-X", "client.id=me", "-o", "json").stdout)
    assert [(row["partition"], row["coordinator"]) for row in rows] == [
        (1, {"id": 1, "address": "kafka-1:9092"}),
        (2, {"id": 2, "address": "kafka-2:9092"}),
        (3, None),
    ]
    assert cluster == [({"bootstrap.servers": "kafka:9092", "client.id": "me"}, "__consumer_offsets")]


def test_text_names_the_broker(run, cluster):
    lines = run("b", "c", "-b", "kafka:9092", "--transactional-id").stdout.splitlines()
    assert lines[0].split("  ")[0] == "TRANSACTIONAL ID"
    assert lines[1].split() == ["b", "__transaction_state-2", "kafka-2:9092", "(2)"]
    assert lines[2].split() == ["c", "__transaction_state-3", "nobody"]


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ([], "Missing argument"),
        (["g", "-n", "0"], "0 is not in the range"),
        (["g", "-n", "5", "-b", "kafka:9092"], "leave -n out"),
        (["g", "-X", "client.id=me"], "name it with -b HOST:PORT"),
    ],
)
def test_bad_input_is_2(run, cluster, arguments, fault):
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert fault in result.stderr


def test_a_cluster_that_keeps_no_group_yet_is_said(run):
    """A cluster inside librdkafka, which has no internal topics."""
    result = run("g", "-b", "localhost:1", "-X", "test.mock.num.brokers=1")
    assert result.exit_code == 2
    assert "the cluster has no topic __consumer_offsets yet" in result.stderr


def test_a_cluster_that_does_not_answer_is_named(run, monkeypatch):
    monkeypatch.setattr(module, "TIMEOUT_S", 0.2)
    result = run("g", "-b", "localhost:1")
    assert result.exit_code == 2
    assert "localhost:1: " in result.stderr
    assert "bug" not in result.stderr
