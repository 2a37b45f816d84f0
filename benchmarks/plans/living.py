"""A real group that lives through a join, a growth and a leave, and what it is like in between."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any, Self

from confluent_kafka import TopicCollection
from confluent_kafka.admin import AdminClient

from benchmarks.consumers.clients import JAVA
from benchmarks.consumers.process import Member
from benchmarks.plans.cells import SHAPES
from copartition.groups import read_live, snapshot_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from benchmarks.plans.cells import Cell, Consumer
    from tests.support.broker import Kafka

PATIENCE_S = 120
QUIET_S = 2.0
"""How long nothing may have changed in a group that counts as settled; some heartbeats."""
State = dict[str, Any]


class LiveGroup:
    """The consumers of a cell, each a process; use it as a context manager."""

    def __init__(self, cell: Cell, kafka: Kafka, folder: Path) -> None:
        self.cell, self.kafka, self.folder = cell, kafka, folder
        self.shape = SHAPES[cell.shape]
        self.counts: dict[str, int] = {}
        self.names: dict[str, str] = {}
        for short, count in self.shape.topics.items():
            self.names[short] = kafka.create_topic(count)
            self.counts[self.names[short]] = count
        self._consumers = {consumer.name: consumer for consumer in (*self.shape.consumers, self.shape.joins)}
        self._waiting = {name: self._process(consumer) for name, consumer in self._consumers.items()}
        self._running: dict[str, Member] = {}

    @property
    def subscriptions(self) -> dict[str, list[str]]:
        """What each consumer subscribes to, by its client id."""
        return {name: self._topics(consumer) for name, consumer in self._consumers.items()}

    def start(self, name: str) -> None:
        """Let a consumer join."""
        self._running[name] = self._waiting.pop(name)
        self._running[name].wait_until_ready()
        self._running[name].tell("start")

    def close(self, name: str) -> None:
        """Let a consumer leave."""
        member = self._running.pop(name)
        member.tell("close")
        member.wait_until_over()

    def happens(self, event: str) -> dict[str, Any]:
        """Let an event happen; what it is in the words of a plan."""
        match event:
            case "leave":
                self.close(self.shape.leaves)
                return {"client_id": self.shape.leaves}
            case "growth":
                topic = self.names["a"]
                self.counts[topic] = self.shape.grown
                self.kafka.grow_topic(topic, self.shape.grown)
                return {"partitions": {topic: self.shape.grown}}
            case "join":
                joins = self.shape.joins
                self.start(joins.name)
                return {
                    "client_id": joins.name,
                    "instance_id": joins.instance if self.cell.static else None,
                    "topics": self._topics(joins),
                    "rack": joins.rack,
                }
            case _:
                return {"restarted": self._restart()}

    def _restart(self) -> list[str]:
        """Restart all, in the order in which the group lists its members, which is that of a plan."""
        state, _ = read_live(self.cell.group, {"bootstrap.servers": self.kafka.bootstrap_servers})
        names = [str(member.client_id) for member in state.members]
        self._waiting = {name: self._process(self._consumers[name], "again") for name in names}
        for member in self._waiting.values():
            member.wait_until_ready()
        for name in names:
            self.close(name)
            if not self.cell.static:
                self.settle()
            self.start(name)
            self.settle()
        return names

    def settle(self) -> dict[str, Any]:
        """What every consumer says it has, once nothing has changed for a while and nothing is nobody's."""
        deadline = time.monotonic() + PATIENCE_S
        last, since = None, time.monotonic()
        while time.monotonic() < deadline:
            said = {name: member.ask("owned") for name, member in self._running.items()}
            if said != last:
                last, since = said, time.monotonic()
            elif time.monotonic() - since >= QUIET_S and self._whole(said):
                return said
            time.sleep(0.3)
        raise TimeoutError(f"{self.cell.group} did not settle: {last}")

    def state(self) -> dict[str, Any]:
        """What the group is like: who has what by the consumers' own words, and what a broker says of it."""
        said = self.settle()
        servers = {"bootstrap.servers": self.kafka.bootstrap_servers}
        return {
            "owners": {
                answer["member"]: {"client_id": name, "partitions": answer["partitions"]}
                for name, answer in said.items()
            },
            "generation": min(answer["generation"] for answer in said.values()),
            "snapshot": json.loads(snapshot_bytes(*read_live(self.cell.group, servers))),
            "described": describe(self.cell.group, sorted(self.counts), AdminClient(servers)),
        }

    def _whole(self, said: Mapping[str, Any]) -> bool:
        owned = sorted(
            (topic, partition)
            for answer in said.values()
            for topic, partitions in answer["partitions"].items()
            for partition in partitions
        )
        every = sorted((topic, number) for topic, count in self.counts.items() for number in range(count))
        return owned == every and len({answer["generation"] for answer in said.values()}) == 1

    def _topics(self, consumer: Consumer) -> list[str]:
        return [self.names[short] for short in consumer.topics]

    def _process(self, consumer: Consumer, folder: str = "") -> Member:
        config: dict[str, str | int] = {
            "bootstrap.servers": self.kafka.bootstrap_servers,
            "group.id": self.cell.group,
            "client.id": consumer.name,
            "enable.auto.commit": "false",
            "topic.metadata.refresh.interval.ms": 3000,
            **self.cell.config(),
            **({"group.instance.id": consumer.instance} if self.cell.static else {}),
            **({"client.rack": consumer.rack} if consumer.rack else {}),
        }
        settings = {"topics": self._topics(consumer), "config": JAVA.own_names(config)}
        place = self.folder / self.cell.group / folder
        place.mkdir(parents=True, exist_ok=True)
        return Member(consumer.name, settings, place, JAVA.command())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for member in (*self._running.values(), *self._waiting.values()):
            member.events()


def live(cell: Cell, kafka: Kafka, folder: Path) -> dict[str, Any]:
    """Run a cell; the states of its group, and what led to each."""
    with LiveGroup(cell, kafka, folder) as group:
        for consumer in group.shape.consumers:
            group.start(consumer.name)
        steps = [_step(group, "start", {})]
        steps += [_step(group, event, group.happens(event)) for event in cell.events]
    return {
        "assignor": cell.assignor,
        "static": cell.static,
        "shape": cell.shape,
        "topics": group.names,
        "subscriptions": group.subscriptions,
        "steps": steps,
    }


def _step(group: LiveGroup, event: str, what: dict[str, Any]) -> dict[str, Any]:
    return {"event": event, "what": what, **group.state()}


def describe(group: str, topics: list[str], admin: AdminClient) -> dict[str, Any]:
    """A group and its topics as the broker describes them, assignments in the order of its answer."""
    found = admin.describe_consumer_groups([group])[group].result()
    listed = {
        member.id: member
        for listed_group in admin.list_groups(group, timeout=PATIENCE_S)
        for member in listed_group.members
    }
    racks = {node.id: node.rack for node in admin.describe_cluster().result().nodes}
    described = admin.describe_topics(TopicCollection(topics))
    return {
        "state": found.state.name,
        "assignor": found.partition_assignor,
        "members": [
            {
                "member_id": member.member_id,
                "client_id": member.client_id,
                "instance_id": member.group_instance_id,
                "assignment": _partitions(member.assignment),
                "target": _partitions(member.target_assignment),
                "metadata": listed[member.member_id].metadata.hex() if member.member_id in listed else None,
            }
            for member in found.members
        ],
        "topics": {
            name: {
                "id": str(topic.result().topic_id),
                "racks": [
                    sorted({racks[node.id] for node in partition.replicas})
                    for partition in topic.result().partitions
                ],
            }
            for name, topic in described.items()
        },
    }


def _partitions(assignment: Any) -> list[list[Any]] | None:
    if assignment is None:
        return None
    return [[partition.topic, partition.partition] for partition in assignment.topic_partitions]
