"""A broker of our own, and a group on it that has what a case wants: members, records, offsets, settings."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import confluent_kafka
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, OffsetSpec

from tests.copartition.groups.kinds.members import ShareMember, StreamsMember, Subtopology
from tests.support.broker import Broker, Kafka
from tests.support.waiting import GENEROUS_S, wait_for, wait_until

Between = Callable[[], object]
SETTINGS = """
group.share.max.session.timeout.ms=3600000
group.share.session.timeout.ms=3600000
group.share.max.size=10
group.share.assignment.interval.ms=0
group.streams.max.session.timeout.ms=3600000
group.streams.session.timeout.ms=3600000
group.streams.initial.rebalance.delay.ms=0
group.streams.assignment.interval.ms=0
"""
"""Members that are made by hand send no heartbeat by themselves, so sessions are long."""


class Site:
    """A group's surroundings; `group` is its name, with which its topics' names begin."""

    def __init__(self, broker: Broker, group: str) -> None:
        self.broker, self.servers, self.group = broker, broker.bootstrap_servers, group
        self.kafka = Kafka(self.servers)
        self.admin = AdminClient({"bootstrap.servers": self.servers, "log_level": 0})
        self.consumers: list[Any] = []

    def topic(self, partitions: int = 2, name: str = "orders") -> str:
        """The name of a new topic."""
        return self.kafka.create_topic(partitions, name=f"{self.group}-{name}")

    def write(self, topic: str, records: int, partitions: int = 2, *, age_s: float = 0) -> None:
        """Write records to the first partitions in turn, as if so long ago."""
        producer = Producer({"bootstrap.servers": self.servers, "log_level": 0})
        written_ms = round(1000 * (time.time() - age_s))
        for number in range(records):
            producer.produce(topic, b"record", partition=number % partitions, timestamp=written_ms)
            producer.poll(0)
        assert producer.flush(GENEROUS_S) == 0

    def delete_before(self, topic: str, offset: int, partitions: int = 2) -> None:
        """Delete the records before an offset, as retention would."""
        places = [TopicPartition(topic, number, offset) for number in range(partitions)]
        for done in self.admin.delete_records(places).values():
            done.result()
        for place in places:
            wait_for(partial(self._earliest, place), lambda start: start >= offset)

    def _earliest(self, place: TopicPartition) -> int:
        [answer] = self.admin.list_offsets({place: OffsetSpec.earliest()}).values()
        offset: int = answer.result().offset
        return offset

    def set(self, **settings: object) -> None:
        """Set settings of the group; an underscore stands for a dot."""
        entries = [
            ConfigEntry(name.replace("_", "."), str(value), incremental_operation=AlterConfigOpType.SET)
            for name, value in settings.items()
        ]
        resource = ConfigResource(ConfigResource.Type.GROUP, self.group, incremental_configs=entries)
        for done in self.admin.incremental_alter_configs([resource]).values():
            done.result()

    def limit(self, setting: str) -> None:
        """Restart the broker with one more setting."""
        self.broker.stop()
        with self.broker._settings[0].open("a") as file:
            file.write(f"\n{setting}\n")
        self.broker.start()

    def sharer(
        self, topics: str | Sequence[str], name: str = "sharer", rack: str | None = None
    ) -> ShareMember:
        """A member of a share group that has its partitions, and reads none."""
        topics = [topics] if isinstance(topics, str) else topics
        return ShareMember(self.servers, self.group, topics, name, rack).settle()

    def consume(
        self,
        topic: str,
        records: int,
        done: Callable[[Any], bool] = lambda _: True,
        *,
        ends: bool = False,
        reader: Any = None,
    ) -> Any:
        """Read records as a member of a share group, and acknowledge those of which `done` says so.

        Args:
            topic: what is read, from its beginning.
            records: how many must have come.
            done: the records to acknowledge.
            ends: the member leaves.
            reader: the member, as an earlier call returned it; None: a new one.
        """
        if reader is not None:
            self._read(reader, records, done)
            return reader
        self.set(share_auto_offset_reset="earliest")
        # By its module: older versions, with which the recorded cases are read, have no such class.
        consumer: Any = confluent_kafka.ShareConsumer(
            {
                "bootstrap.servers": self.servers,
                "group.id": self.group,
                "client.id": "reader",
                "share.acknowledgement.mode": "explicit",
                "log_level": 0,
            }
        )
        consumer.subscribe([topic])
        self.consumers.append(consumer)
        self._read(consumer, records, done)
        if ends:
            self.consumers.remove(consumer)
            consumer.close()
        return consumer

    def _read(self, consumer: Any, records: int, done: Callable[[Any], bool]) -> None:
        seen = 0

        def read() -> int:
            nonlocal seen
            for record in consumer.poll(1.0):
                if record.error() is None:
                    seen += 1
                    if done(record):
                        consumer.acknowledge(record)
            consumer.commit_sync()
            return seen

        wait_for(read, lambda number: number >= records)

    def streamer(
        self,
        topology: Mapping[str, Subtopology],
        name: str = "words-0",
        *,
        settled: bool = True,
        **about: Any,
    ) -> StreamsMember:
        """A member of a Streams group; `settled`: it has tasks."""
        member = StreamsMember(
            self.servers, self.group, topology, name, **{"process": f"process-{name}", **about}
        )
        if settled:
            member.settle()
        else:
            member.beat()
        return member

    def steady(self, *members: StreamsMember) -> None:
        """Have members send heartbeats until all have the same epoch, twice in a row."""

        def beat() -> tuple[int, ...]:
            for member in members:
                member.beat()
            return tuple(member.epoch for member in members)

        last: tuple[int, ...] = ()

        def same() -> bool:
            nonlocal last
            before, last = last, beat()
            return before == last and len({*last}) == 1

        wait_until(same)

    def close(self) -> None:
        """Let the consumers of the group leave."""
        for consumer in self.consumers:
            consumer.close()
        self.consumers.clear()
