"""`copartition coordinator`."""

import json

import pytest

from copartition.kit.admin import ClusterMetadata
from copartition.shell.verbs.coordinator import coordinator
from tests.support.commands import invoker


@pytest.fixture(scope="module")
def run():
    return invoker(coordinator)


@pytest.fixture
def cluster(monkeypatch):
    """A cluster whose internal topics have four partitions, the last without a leader."""
    metadata = ClusterMetadata(
        {broker: (f"kafka-{broker}", 9092) for broker in (7, 8, 9)},
        dict.fromkeys(("__consumer_offsets", "__transaction_state"), (7, 8, 9, -1)),
    )
    monkeypatch.setattr("copartition.kit.child.Child.ask", lambda *_: metadata)


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
        (1, {"id": 8, "address": "kafka-8:9092"}),
        (2, {"id": 9, "address": "kafka-9:9092"}),
        (3, None),
    ]


def test_text_names_the_broker(run, cluster):
    lines = run("b", "c", "-b", "kafka:9092", "--transactional-id").stdout.splitlines()
    assert lines[0].split("  ")[0] == "TRANSACTIONAL ID"
    assert lines[1].split() == ["b", "__transaction_state-2", "kafka-9:9092", "(9)"]
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


@pytest.mark.live  # a client is made, which looks for its cluster
def test_a_cluster_that_keeps_no_group_yet_is_said(run):
    """A cluster inside librdkafka, which has no internal topics."""
    result = run("g", "-b", "localhost:1", "-X", "test.mock.num.brokers=1")
    assert result.exit_code == 2
    assert "__consumer_offsets: the cluster has no such topic" in result.stderr


@pytest.mark.live
def test_a_cluster_that_does_not_answer_is_named(run):
    result = run("g", "-b", "localhost:1")
    assert result.exit_code == 2
    assert "no broker answers at localhost:1" in result.stderr


def test_an_empty_id_is_refused(run):
    result = run("")
    assert result.exit_code == 2
    assert "an id is not empty" in result.stderr
