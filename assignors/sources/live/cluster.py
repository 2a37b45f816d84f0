"""The cluster, and its answers or why it gives none, as errors that name the source."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

from assignors.errors import GroupNotFoundError, SourceError
from assignors.extras import needs
from assignors.sources.live.certificate import certificate_fault

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

TIMEOUT_S = 10.0
PATIENCE_S = 1.5
"""How long brokers that are down or hang up are given to change their minds."""


class Broker(NamedTuple):
    """A broker as clients reach it."""

    id: int
    address: str


def connect(group: str, config: Mapping[str, str]) -> Cluster:
    """The cluster of a group.

    Raises:
        SourceError: the settings name no cluster, or see `Cluster`.
        MissingDependencyError: confluent-kafka is not installed.
    """
    if not config.get("bootstrap.servers"):
        raise SourceError(f"live:{group} needs a cluster; name it with -b HOST:PORT")
    return Cluster(f"live:{group}", config)


class Cluster:
    """A connection that only asks.

    Args:
        source: what the user calls it, `live:GROUP`.
        config: librdkafka settings; `bootstrap.servers` at least.

    Attributes:
        counts: how many partitions each topic has that we may see.

    Raises:
        SourceError: librdkafka refuses a setting, or the cluster does not let us in.
        MissingDependencyError: confluent-kafka is not installed.
    """

    def __init__(self, source: str, config: Mapping[str, str]) -> None:
        with needs("live:GROUP", "kafka"):
            from confluent_kafka import KafkaError, KafkaException  # noqa: PLC0415 - an optional package
            from confluent_kafka.admin import AdminClient  # noqa: PLC0415 - an optional package

            from partitioning.clients.contact import cluster_metadata  # noqa: PLC0415 - needs it, too
            from partitioning.clients.errors import BrokerUnreachableError  # noqa: PLC0415 - needs it, too
        self._source = source
        self._servers = config["bootstrap.servers"]
        self._error = KafkaException
        heard: list[KafkaError] = []
        settings: dict[str, Any] = {
            "socket.connection.setup.timeout.ms": 5000,
            "log_level": 0,
            **config,
            "error_cb": heard.append,
        }
        try:
            self._admin = AdminClient(settings)
        except (KafkaException, ValueError, TypeError) as error:
            told = error.args[0].str() if isinstance(error, KafkaException) else error
            raise SourceError(f"{source}: librdkafka refuses the settings: {told}") from error
        try:
            metadata = cluster_metadata(self._admin, heard, timeout_s=TIMEOUT_S, patience_s=PATIENCE_S)
        except BrokerUnreachableError as error:
            rejected = "certificate verify failed" in str(error)
            why = (rejected and certificate_fault(config)) or error
            raise SourceError(
                f"{source}: no broker answers at {self._servers}: {why}. Is the address "
                "right, the broker up, and do the security settings fit, security.protocol first?"
            ) from error
        self.counts = {
            name: len(topic.partitions) for name, topic in metadata.topics.items() if topic.partitions
        }
        self._metadata = metadata

    def leaders(self, topic: str) -> list[Broker | None]:
        """The leader of each partition of a topic that there is, None where it has none."""
        brokers = {
            broker.id: Broker(broker.id, f"{broker.host}:{broker.port}")
            for broker in self._metadata.brokers.values()
        }
        partitions = self._metadata.topics[topic].partitions
        return [brokers.get(partitions[number].leader) for number in range(len(partitions))]

    def refusal(self, error: Any) -> SourceError:
        """What a broker answers instead of what was asked for."""
        code = error.args[0].name()
        advice = {
            "GROUP_AUTHORIZATION_FAILED": "; this user needs DESCRIBE on the group",
            "TOPIC_AUTHORIZATION_FAILED": "; this user needs DESCRIBE on the topics",
            "CLUSTER_AUTHORIZATION_FAILED": "; this user needs DESCRIBE on the cluster",
        }.get(code, "")
        return SourceError(f"{self._source}: {self._servers} answers: {error.args[0].str()}{advice}")

    def describe_group(self, group: str) -> Any:
        """The group as the Admin API has it.

        Raises:
            GroupNotFoundError: there is none.
            SourceError: we may not see it, or nobody answers.
        """
        try:
            described = self._admin.describe_consumer_groups([group], request_timeout=TIMEOUT_S)
            found = described[group].result()
        except self._error as error:
            if error.args[0].name() == "GROUP_ID_NOT_FOUND":
                raise GroupNotFoundError(f"{self._source}: the cluster has no such group") from error
            raise self.refusal(error) from error
        if found.state.name == "DEAD":
            raise GroupNotFoundError(f"{self._source}: the cluster has no such group")
        return found

    def classic_group(self, group: str) -> Any:
        """The group as DescribeGroups has it, bytes included; None where that API does not know it.

        Nothing else of confluent-kafka tells what the members said when they joined.
        """
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            try:
                found = self._admin.list_groups(group, timeout=TIMEOUT_S)
            except self._error as error:
                raise self.refusal(error) from error
        return found[0] if found else None

    def committed(self, group: str) -> dict[tuple[str, int], int]:
        """The committed offsets that we may see.

        Raises:
            SourceError: we may not see any.
        """
        from confluent_kafka import ConsumerGroupTopicPartitions  # noqa: PLC0415 - an optional package

        asked = self._admin.list_consumer_group_offsets(
            [ConsumerGroupTopicPartitions(group)], request_timeout=TIMEOUT_S
        )
        try:
            found = asked[group].result().topic_partitions
        except self._error as error:
            raise self.refusal(error) from error
        return {(each.topic, each.partition): each.offset for each in found if each.offset >= 0}

    def ends(self, partitions: Collection[tuple[str, int]]) -> dict[tuple[str, int], int]:
        """The end of each of these partitions, of those that tell it."""
        from confluent_kafka import TopicPartition  # noqa: PLC0415 - an optional package
        from confluent_kafka.admin import OffsetSpec  # type: ignore[attr-defined]  # noqa: PLC0415 - an optional package

        if not partitions:
            return {}
        latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
        asked = self._admin.list_offsets(
            {TopicPartition(*each): latest for each in partitions}, request_timeout=TIMEOUT_S
        )
        ends = {}
        for each, answer in asked.items():
            if (error := answer.exception()) is None:
                ends[each.topic, each.partition] = answer.result().offset
            elif not isinstance(error, self._error):
                raise error
        return ends

    def describe_topics(self, topics: Collection[str]) -> dict[str, Any]:
        """What the cluster says of these topics, of those that it tells us about."""
        from confluent_kafka import TopicCollection  # noqa: PLC0415 - an optional package

        if not topics:
            return {}
        asked = self._admin.describe_topics(TopicCollection([*topics]), request_timeout=TIMEOUT_S)
        found = {}
        for name, answer in asked.items():
            if (error := answer.exception()) is None:
                found[name] = answer.result()
            elif not isinstance(error, self._error):
                raise error
        return found
