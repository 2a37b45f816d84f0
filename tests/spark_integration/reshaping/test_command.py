"""`copartition reshape` through all its steps, on a real broker with Spark."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from confluent_kafka import Consumer, Producer, TopicPartition
from pyspark.sql import SparkSession

from copartition.groups.live.cluster import Cluster
from copartition.reshape import ways
from copartition.reshape.command import reshape
from copartition.reshape.switching import committed_groups
from tests.spark_integration.reshaping.written import old_place
from tests.support.broker import Kafka
from tests.support.reading import Read, read_topic
from tests.support.waiting import GENEROUS_S

pytestmark = pytest.mark.needs("data sources")

OLD, NEW, RECORDS, KEYS = 3, 5, 600, 40
READ_ALL, READ_SOME = "all", "some"
KEY = ("--key", "concat(key, X'21')")
"""The new topic's keys have a "!" behind them."""


@dataclass
class Walk:
    """A topic on its way from 3 to 5 partitions, with two groups, one of which has read all of it."""

    servers: str
    topic: str
    checkpoint: Path

    @property
    def target(self) -> str:
        return f"{self.topic}.p{NEW}"

    def group(self, name: str) -> str:
        return f"{name}-{self.topic}"

    def run(self, *arguments: str, profile: bool = True) -> tuple[int, str, str]:
        rule = ["--profile", "java"] if profile else []
        asked = [self.topic, "--partitions", str(NEW), "-b", self.servers, *rule, *arguments]
        result = CliRunner().invoke(reshape, asked)
        return result.exit_code, result.stdout, result.stderr

    def json(self, *arguments: str) -> tuple[int, Any]:
        code, out, err = self.run(*arguments, "-o", "json")
        assert out, err
        return code, json.loads(out)

    def switch(self, *arguments: str) -> tuple[int, dict[str, Any]]:
        """The exit code, and each group of this topic as the switch tells of it."""
        code, told = self.json("--switch", *KEY, "--checkpoint", str(self.checkpoint), *arguments)
        return code, {group["group"].partition("-")[0]: group for group in told["groups"]}

    def produce(self, topic: str, first: int, count: int) -> None:
        producer = Producer({"bootstrap.servers": self.servers, "partitioner": "murmur2_random"})
        for number in range(first, first + count):
            producer.produce(topic, b"%d" % number, key=b"user-%d" % (number % KEYS))
        assert producer.flush(GENEROUS_S) == 0

    def commit(self, name: str, offsets: dict[int, int]) -> None:
        consumer = Consumer({"bootstrap.servers": self.servers, "group.id": self.group(name)})
        places = [TopicPartition(self.topic, place, offset) for place, offset in offsets.items()]
        consumer.commit(offsets=places, asynchronous=False)
        consumer.close()

    def read(self) -> list[Read]:
        return read_topic(self.servers, self.target)


@pytest.fixture(scope="module")
def walk(spark: SparkSession, broker: Kafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Walk]:
    own = Walk(
        broker.bootstrap_servers, broker.create_topic(OLD), tmp_path_factory.mktemp("walk") / "checkpoint"
    )
    own.produce(own.topic, 0, RECORDS)
    ends = Counter(record.partition for record in read_topic(own.servers, own.topic))
    own.commit(READ_ALL, dict(ends))
    # Partition 0 is behind the others, so what it holds lies among records that are read.
    own.commit(READ_SOME, {0: ends[0] - 30, 1: ends[1], 2: ends[2]})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ways, "LOOK_S", 0.0)
        yield own


@pytest.mark.nightly  # tests/docs/test_reshape.py walks through the page in `make slow`
def test_the_walk(walk: Walk, broker: Kafka) -> None:
    # The plan: all is kept, and it knows both groups.
    code, told = walk.json()
    assert (code, told["answer"], told["target"]) == (0, "yes", walk.target)
    assert {group["name"]: group["lag"] for group in told["groups"]} == {
        walk.group(READ_ALL): 0,
        walk.group(READ_SOME): 30,
    }

    # Without the new topic there is no copy, but the command that makes it.
    code, _, err = walk.run("--copy", *KEY, "--checkpoint", str(walk.checkpoint))
    assert code == 2
    assert f"--create --topic {walk.target} --partitions {NEW} --replication-factor 1" in err
    broker.create_topic(NEW, name=walk.target)

    code, _, err = walk.run("--copy", *KEY, "--checkpoint", str(walk.checkpoint))
    assert code == 0
    assert f"round 1: {RECORDS} records in" in err

    # More comes; the switch copies the rest, shows positions and writes nothing.
    walk.produce(walk.topic, RECORDS, KEYS)
    code, groups = walk.switch()
    assert (code, {name: group["action"] for name, group in groups.items()}) == (
        1,
        {READ_ALL: "write", READ_SOME: "write"},
    )
    assert len(walk.read()) == RECORDS + KEYS
    assert {record.key for record in walk.read()} == {b"user-%d!" % number for number in range(KEYS)}
    assert groups[READ_ALL]["left"] == KEYS
    assert committed_groups(Cluster("test", {"bootstrap.servers": walk.servers}), walk.target) == {}

    # Every record that is not read comes after the position, and as many repeats as promised.
    for group in groups.values():
        behind = [
            record for record in walk.read() if record.offset >= group["positions"][str(record.partition)]
        ]
        places = [old_place(record) for record in behind]
        unread = [offset for partition, offset in places if offset >= group["old"][str(partition)]]
        assert len(unread) == group["left"]
        assert len(behind) - len(unread) == group["repeats"]
    assert groups[READ_ALL]["repeats"] == 0
    assert groups[READ_SOME]["repeats"] > 0

    # One group is written, the other has a member.
    member = Consumer({"bootstrap.servers": walk.servers, "group.id": walk.group(READ_SOME)})
    member.subscribe([walk.topic])
    while not member.assignment():
        member.poll(0.1)
    code, groups = walk.switch("--execute")
    assert (code, groups[READ_SOME]["action"], groups[READ_SOME]["members"]) == (1, "stop members", 1)
    member.close()
    code, groups = walk.switch("--execute", "--group", walk.group(READ_SOME))
    assert (code, [*groups]) == (0, [READ_SOME])
    code, groups = walk.switch()
    assert (code, {group["action"] for group in groups.values()}) == (0, {"written"})
    assert all(group["now"] == group["positions"] for group in groups.values())

    # The proof holds by the new key, and shows where the groups are that have moved.
    code, told = walk.json("--prove", *KEY)
    assert (code, told["holds"], told["records"], told["keys"]) == (0, True, RECORDS + KEYS, KEYS)
    assert told["groups"] == [groups[READ_ALL], groups[READ_SOME]]

    # Back: first it only says what it would do.
    code, out, _ = walk.run("--back")
    assert (code, f"would remove, with --execute, the commits of group {walk.group(READ_ALL)}" in out) == (
        0,
        True,
    )
    code, out, _ = walk.run("--back", "--execute")
    assert (code, f"removed the commits of group {walk.group(READ_ALL)}" in out) == (0, True)
    code, groups = walk.switch("--execute")
    assert (code, {group["action"] for group in groups.values()}) == (0, {"write"})

    # Once writers have moved there is no way back, and groups stay as they are.
    walk.produce(walk.target, 0, 1)
    code, _, err = walk.run("--back", "--execute")
    assert (code, "writers have moved" in err) == (1, True)
    kept = committed_groups(Cluster("test", {"bootstrap.servers": walk.servers}), walk.target)
    assert kept == {
        group["group"]: {int(place): offset for place, offset in group["positions"].items()}
        for group in groups.values()
    }


def test_nothing_is_written_while_a_transaction_is_open(
    broker: Kafka, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ways, "LOOK_S", 0.0)
    own = Walk(broker.bootstrap_servers, broker.create_topic(OLD), tmp_path)
    broker.create_topic(NEW, name=own.target)
    producer = Producer({"bootstrap.servers": own.servers, "transactional.id": f"open-{own.topic}"})
    producer.init_transactions(GENEROUS_S)
    producer.begin_transaction()
    producer.produce(own.topic, b"open", key=b"user-1")
    producer.flush(GENEROUS_S)
    code, out, err = own.run("--switch", "--execute", "--checkpoint", str(own.checkpoint))
    assert (code, out) == (1, "")
    assert "a transaction is open in partition" in err
    producer.abort_transaction(GENEROUS_S)
