"""Ask a cluster through librdkafka's admin client, and return its answers as plain values.

This module runs in a process of its own (`copartition.kit.child`), because librdkafka may end its process: if
the connection to a group's coordinator dies at the wrong moment, an assertion fails (issues 4605 and 5040 of
confluentinc/librdkafka). No result is an object of confluent-kafka, because its classes cannot be pickled.
"""

from __future__ import annotations

import time
import uuid
import warnings
from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from copartition.kit.places import Place

_64_BITS = 2**64 - 1
"""A mask that turns a signed 64-bit number of Java into the unsigned one with the same bits."""


_RECONNECT = {"reconnect.backoff.max.ms": "1000"}
"""By default librdkafka waits up to 10 s before it reconnects to a broker, even one that is back by then."""


class DescribedMember(NamedTuple):
    """A member as its coordinator describes it."""

    id: str
    instance_id: str | None
    client_id: str | None
    host: str | None
    owned: tuple[Place, ...]
    target: tuple[Place, ...] | None  # the partitions it is to have (KIP-848); None if they are not described


class DescribedGroup(NamedTuple):
    """A group as its coordinator describes it; `kind` and `state` are librdkafka's names in capitals."""

    kind: str  # "CLASSIC" or "CONSUMER"
    state: str  # "STABLE", "EMPTY", "PREPARING_REBALANCING", "COMPLETING_REBALANCING", "DEAD", "UNKNOWN"
    assignor: str
    members: tuple[DescribedMember, ...]  # in the order of the answer


class JoinedMember(NamedTuple):
    """A member of a classic group, with the bytes of ConsumerProtocol that it gave to the coordinator.

    Attributes:
        id: member id.
        client_id: its `client.id`.
        metadata: its subscription; b"" if the group does not have consumers or is not stable.
        assignment: the assignment that the leader made for it; b"" if there is none.
    """

    id: str
    client_id: str
    metadata: bytes
    assignment: bytes


class DescribedTopic(NamedTuple):
    """A topic as the cluster describes it."""

    id: uuid.UUID | None
    racks: tuple[tuple[str, ...], ...]  # racks of each partition's replicas, by partition number


class TopicShape(NamedTuple):
    """The properties with which a topic must be created to be like another one.

    Attributes:
        replicas: the replicas of each partition; the smallest number if partitions differ.
        settings: all settings by name, including those that come from the brokers.
        own: names of the settings that are set on the topic itself, sorted.
    """

    replicas: int
    settings: Mapping[str, str]
    own: tuple[str, ...]


class Commit(NamedTuple):
    """An offset that a group has committed, negative if it has none, and the metadata stored with it."""

    topic: str
    partition: int
    offset: int
    metadata: str | None


class ClusterMetadata(NamedTuple):
    """The brokers that are up and the topics that this user may see."""

    brokers: Mapping[int, tuple[str, int]]  # broker id -> (host, port)
    leaders: Mapping[str, tuple[int, ...]]  # topic -> broker id of each partition's leader, -1 without one


class Admin:
    """A client that asks one question after the other.

    Each method raises `KafkaException` if the cluster refuses or does not answer within `timeout_s` seconds.

    Args:
        config: librdkafka settings, with `bootstrap.servers` at least.
        timeout_s: seconds for one request.

    Raises:
        InvalidConfigError: librdkafka refuses a setting.
        BrokerUnreachableError: no broker answers; the message says why.
    """

    def __init__(self, config: Mapping[str, str], timeout_s: float) -> None:
        from confluent_kafka.admin import AdminClient  # noqa: PLC0415 - an optional package

        from partitioning.clients import contact  # noqa: PLC0415 - needs confluent-kafka, too

        errors: list[Any] = []
        self._timeout_s, self._contact, self._config = timeout_s, contact, config
        # If a user sets reconnect.backoff.ms, our reconnect.backoff.max.ms might be lower, which is an error.
        if "reconnect.backoff.ms" not in config:
            config = {**_RECONNECT, **config}
        self._admin = contact.quiet_client(AdminClient, config, errors)
        # A request of the Admin API to an unreachable cluster only times out. This request says at once why.
        self._metadata = contact.cluster_metadata(
            self._admin, config, errors, timeout_s=timeout_s, patience_s=contact.PATIENCE_S
        )

    def metadata(self) -> ClusterMetadata:
        """Return the brokers and topics as they were when this client was created.

        Topics are left out if the cluster shows none of their partitions.
        """
        found = self._metadata
        return ClusterMetadata(
            {broker.id: (broker.host, broker.port) for broker in found.brokers.values()},
            {
                name: tuple(topic.partitions[number].leader for number in range(len(topic.partitions)))
                for name, topic in found.topics.items()
                if topic.partitions
            },
        )

    def describe_group(self, group: str) -> DescribedGroup:
        """Return the group as the Admin API describes it.

        If librdkafka uses DescribeGroups in version 5 or lower, a group that does not exist is in the state
        "DEAD", because brokers have no error for that. In any other case such a group is an error.
        """
        asked = self._admin.describe_consumer_groups([group], request_timeout=self._timeout_s)
        found = asked[group].result()
        members = tuple(map(_member, found.members))
        return DescribedGroup(found.type.name, found.state.name, found.partition_assignor, members)

    def groups(self) -> list[str]:
        """Return the ids of the groups that this user may see, in the order of the brokers' answers."""
        listing = self._admin.list_consumer_groups(request_timeout=self._timeout_s).result()
        if listing.errors:  # a broker did not answer; without its groups the list would be too short
            raise listing.errors[0]
        return [group.group_id for group in listing.valid]

    def settings(self, kind: str, name: str) -> dict[str, str]:
        """Return the settings of a broker or a group by name, as far as the cluster shows them.

        A setting whose value the cluster hides, such as a password, is left out.

        Args:
            kind: "BROKER" or "GROUP".
            name: the broker's id as text, or the group id.
        """
        from confluent_kafka.admin import ConfigResource  # type: ignore[attr-defined]  # noqa: PLC0415

        resource = ConfigResource(ConfigResource.Type[kind], name)
        asked = self._admin.describe_configs([resource], request_timeout=self._timeout_s)
        settings = asked[resource].result()
        return {name: str(setting.value) for name, setting in settings.items() if setting.value is not None}

    def may_see_every_topic(self) -> bool:
        """Return True if this user may DESCRIBE topics of any name.

        To find out, it describes a random name, which no topic has. A broker refuses the request if the user
        lacks the right. No topic is created.
        """
        from confluent_kafka import KafkaException, TopicCollection  # noqa: PLC0415 - an optional package

        name = f"copartition-{uuid.uuid4().hex}"
        asked = self._admin.describe_topics(TopicCollection([name]), request_timeout=self._timeout_s)
        try:
            asked[name].result()
        except KafkaException as error:
            return bool(error.args[0].name() == "UNKNOWN_TOPIC_OR_PART")
        return True

    def joined_members(self, group: str) -> list[JoinedMember] | None:
        """Return the members of a group, with the bytes of their subscriptions and assignments.

        None if DescribeGroups does not know the group. No other method of confluent-kafka returns the
        metadata with which members joined.
        """
        # confluent-kafka calls `list_groups` deprecated, but its successors do not return the bytes.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            listing = self._admin.list_groups(group, timeout=self._timeout_s)
        if not listing:
            return None
        found = listing[0]
        # Other kinds of groups, such as Kafka Connect's workers, have metadata in another format.
        return [
            JoinedMember(
                member.id,
                member.client_id,
                member.metadata if found.protocol_type == "consumer" else b"",
                member.assignment,
            )
            for member in found.members
        ]

    def commits(self, group: str) -> list[Commit]:
        """Return the offsets that a group has committed, of the partitions that this user may see.

        This takes two requests, for which `copartition.kit.child` has to wait.
        """
        found = self._contact.committed_offsets(self._admin, group, within_s=self._timeout_s)
        return [Commit(place.topic, place.partition, place.offset, place.metadata) for place in found]

    def ends(self, places: Collection[Place], stable: bool) -> dict[Place, int]:
        """Return the end offset of each of these partitions whose leader answers.

        Args:
            places: the partitions.
            stable: True to return, instead of the end, the last stable offset, at which readers with
                `read_committed` stop.
        """
        answer = self._contact.list_offsets(
            self._admin, places, "latest", committed=stable, within_s=self._timeout_s
        )
        return answer[0]

    def starts(self, places: Collection[Place]) -> dict[Place, int]:
        """Return the offset of the oldest record of each partition, if its leader answers."""
        answer = self._contact.list_offsets(
            self._admin, places, "earliest", committed=False, within_s=self._timeout_s
        )
        return answer[0]

    def written_ms(self, offsets: Mapping[Place, int]) -> dict[Place, int]:
        """Return the time of the first record at or after an offset of each partition, in ms since 1970.

        One consumer, without a group, fetches one record of each partition. Partitions whose record does not
        come within half of the time for a request are left out.

        Args:
            offsets: (topic, partition) -> offset.
        """
        from confluent_kafka import Consumer, TopicPartition  # noqa: PLC0415 - an optional package

        # Partitions are assigned by hand and nothing is committed, so the cluster creates no group of this
        # name. One record is enough, so no leader has to send more than one batch.
        own = {
            "group.id": f"copartition-{uuid.uuid4().hex}",
            "enable.auto.commit": "false",
            "auto.offset.reset": "earliest",
            "fetch.message.max.bytes": "1024",
            "queued.min.messages": "1",
        }
        consumer = self._contact.quiet_client(Consumer, {**self._config, **own}, [])
        times: dict[Place, int] = {}
        try:
            consumer.assign([TopicPartition(*place, offset) for place, offset in offsets.items()])
            deadline = time.monotonic() + self._timeout_s / 2
            while offsets.keys() - times.keys() and (left_s := deadline - time.monotonic()) > 0:
                record = consumer.poll(left_s)
                if record is not None and record.error() is None and record.timestamp()[0]:
                    times.setdefault((record.topic(), record.partition()), record.timestamp()[1])
        finally:
            consumer.close()
        return times

    def describe_topics(self, topics: Collection[str]) -> dict[str, DescribedTopic]:
        """Return the descriptions of these topics, without any that this user may not see."""
        from confluent_kafka import KafkaException, TopicCollection  # noqa: PLC0415 - an optional package

        described = {}
        asked = self._admin.describe_topics(TopicCollection([*topics]), request_timeout=self._timeout_s)
        for name, answer in asked.items():
            # A topic that this user may not see is missing from the result; the caller says so.
            with suppress(KafkaException):
                described[name] = _topic(answer.result())
        return described

    def topic_shape(self, topic: str) -> TopicShape:
        """Return replicas and settings of a topic; the user needs the right DESCRIBE_CONFIGS on it."""
        # The types are imported from `admin`, since confluent-kafka's stubs leave some names out.
        from confluent_kafka import TopicCollection, admin  # noqa: PLC0415 - an optional package

        asked = self._admin.describe_topics(TopicCollection([topic]), request_timeout=self._timeout_s)
        partitions = asked[topic].result().partitions
        resource = admin.ConfigResource(admin.ConfigResource.Type.TOPIC, topic)  # type: ignore[attr-defined]
        answer = self._admin.describe_configs([resource], request_timeout=self._timeout_s)[resource].result()
        of_topic = admin.ConfigSource.DYNAMIC_TOPIC_CONFIG.value  # type: ignore[attr-defined]
        return TopicShape(
            min(len(partition.replicas) for partition in partitions),
            {name: str(entry.value) for name, entry in answer.items() if entry.value is not None},
            tuple(sorted(name for name, entry in answer.items() if entry.source == of_topic)),
        )

    def commit(self, group: str, topic: str, offsets: Mapping[int, int]) -> None:
        """Commit offsets of a topic for a group; brokers refuse it while the group has members.

        Args:
            group: group id.
            topic: the topic.
            offsets: partition -> offset of the next record to read; at least one.
        """
        from confluent_kafka import (  # noqa: PLC0415 - an optional package
            ConsumerGroupTopicPartitions,
            KafkaException,
            TopicPartition,
        )

        places = [TopicPartition(topic, partition, offset) for partition, offset in offsets.items()]
        wanted = ConsumerGroupTopicPartitions(group, places)
        asked = self._admin.alter_consumer_group_offsets([wanted], request_timeout=self._timeout_s)
        # The refusal of one partition is stored with it, and `result` does not raise it.
        for place in asked[group].result().topic_partitions:
            if place.error is not None:
                raise KafkaException(place.error)

    def delete_group(self, group: str) -> None:
        """Delete a group; it must have no members."""
        self._admin.delete_consumer_groups([group], request_timeout=self._timeout_s)[group].result()


def _member(member: Any) -> DescribedMember:
    """Return a member as plain values, without Java's "/" before the host.

    An empty client id or host becomes None.
    """
    target = None if member.target_assignment is None else _places(member.target_assignment)
    return DescribedMember(
        member.member_id,
        member.group_instance_id,
        member.client_id or None,
        # Java prints an address as "name/address", and brokers send it with an empty name.
        (member.host or "").removeprefix("/") or None,
        _places(member.assignment),
        target,
    )


def _places(assignment: Any) -> tuple[Place, ...]:
    """Return the partitions of an assignment, sorted by topic and number."""
    partitions = () if assignment is None else assignment.topic_partitions
    return tuple(sorted((partition.topic, partition.partition) for partition in partitions))


def _topic(topic: Any) -> DescribedTopic:
    """Return a topic as plain values; its racks are in the order of the partition numbers."""
    partitions = sorted(topic.partitions, key=lambda partition: partition.id)
    racks = tuple(
        tuple(sorted({replica.rack for replica in partition.replicas if replica.rack}))
        for partition in partitions
    )
    return DescribedTopic(None if topic.topic_id is None else _uuid(topic.topic_id), racks)


def _uuid(identifier: Any) -> uuid.UUID:
    """Return the UUID made of Java's two signed 64-bit halves."""
    high = identifier.get_most_significant_bits() & _64_BITS
    return uuid.UUID(int=(high << 64) | (identifier.get_least_significant_bits() & _64_BITS))
