"""Ask a cluster about a topic before its records are read, and again after.

librdkafka reports an error by a code and a name. This module raises an error of the project in its place,
whose message says what to do about it.
"""

from collections.abc import Collection, Iterable, Mapping
from concurrent.futures import Future
from difflib import get_close_matches
from typing import Any, Literal

from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient, ConfigResource  # type: ignore[attr-defined]

from partitioning.clients.contact import PATIENCE_S, cluster_metadata, list_offsets, quiet_client
from partitioning.errors import (
    BrokerUnreachableError,
    InvalidConfigError,
    TopicAccessError,
    UnknownTopicError,
)

TIMEOUT_S = 10.0

ASIDE_S = 3.0
"""The longest time to wait for answers that an audit does not need, in seconds."""

UNKNOWN_TOPIC = {"UNKNOWN_TOPIC_OR_PART", "_UNKNOWN_TOPIC", "_UNKNOWN_PARTITION"}
"""librdkafka's names of the errors of a topic, or of a partition of it, that is not there."""

NO_RIGHT = "TOPIC_AUTHORIZATION_FAILED"

_NO_TIMES = -1
_NO_ID = "A" * 22
"""The id of every topic on a cluster before Kafka 2.8: sixteen zero bytes in base64."""


class TopicState:
    """Asks a cluster about a topic, and changes nothing. Errors are those of `TopicReading`.

    Args:
        topic: the topic's name.
        config: librdkafka settings, `bootstrap.servers` at least.

    Attributes:
        topic: the topic's name.
        errors: the errors of the connection so far; if no broker answers, they show why.
        num_partitions: the partition count when the object was made.
        id: the topic's id, which a later topic of the same name does not have; None if the cluster has no
            ids or does not show this one.
    """

    def __init__(self, topic: str, config: Mapping[str, Any]) -> None:
        self.topic = topic
        self._servers = config.get("bootstrap.servers", "")
        if not self._servers:
            raise InvalidConfigError(f"topic {topic!r} is read from a cluster: give bootstrap.servers")
        # The settings are kept because `cluster_metadata` names in its errors the setting that may be wrong.
        self._config = config
        self.errors: list[KafkaError] = []
        self._admin = quiet_client(AdminClient, config, self.errors)
        self.num_partitions = self.count(first=True)
        # The id tells this topic from a later one of the same name; None if the cluster gives none.
        self.id = self._topic_id()

    def count(self, *, first: bool = False) -> int:
        """Return the partition count as of now.

        Args:
            first: whether no broker has answered yet. Then brokers that are down or close the connection are
                given up after `PATIENCE_S`, else only after `TIMEOUT_S`.
        """
        try:
            metadata = cluster_metadata(
                self._admin,
                self._config,
                self.errors,
                timeout_s=TIMEOUT_S,
                patience_s=PATIENCE_S if first else None,
            )
        except BrokerUnreachableError as error:
            raise BrokerUnreachableError(
                f"topic {self.topic!r}: no broker answers at {self._servers}: {error}. Is the address right, "
                "the broker up, and do the security settings fit, security.protocol first?"
            ) from error
        description = metadata.topics.get(self.topic)
        if description is None:
            # A list of topics leaves out those that are hidden from this user, but a question for a hidden
            # topic alone is refused.
            refusal = self._describe(ASIDE_S).exception()
            if isinstance(refusal, KafkaException) and refusal.args[0].name() == NO_RIGHT:
                raise self._no_right("DESCRIBE")
            close = get_close_matches(self.topic, metadata.topics, n=3)
            near = f"did you mean {', '.join(close)}?" if close else "and no name near that"
            raise UnknownTopicError(f"the cluster at {self._servers} has no topic {self.topic!r}; {near}")
        if description.error is not None:
            raise self.error_of(description.error, "DESCRIBE")
        return len(description.partitions)

    def is_compacted(self) -> bool | None:
        """Return whether its cleanup.policy has "compact"; None if the cluster does not let us ask."""
        resource = ConfigResource(ConfigResource.Type.TOPIC, self.topic)
        try:
            (answer,) = self._admin.describe_configs([resource], request_timeout=ASIDE_S).values()
            # A topic may have both policies, written as compact,delete.
            return "compact" in answer.result()["cleanup.policy"].value
        except (KafkaException, KeyError):
            return None

    def ends(
        self, partitions: Collection[int], *, committed: bool, since_ms: int | None = None
    ) -> dict[int, tuple[int, int]]:
        """Return partition -> (offset of the first record, offset after the last one).

        Args:
            partitions: the partitions to ask for.
            committed: whether the end is the last stable offset, so that records of open transactions lie
                beyond it.
            since_ms: milliseconds since 1970. The first record is then the first one that is not older; None
                for the first record of the partition.
        """
        first: Literal["earliest"] | int = "earliest" if since_ms is None else since_ms
        starts = self._offsets(partitions, first, committed=committed)
        ends = self._offsets(partitions, "latest", committed=committed)
        return {
            number: (
                # If all records are older than `since_ms`, the cluster answers -1. Nothing is read then.
                ends[number] if starts[number] == _NO_TIMES else min(starts[number], ends[number]),
                ends[number],
            )
            for number in partitions
        }

    def _offsets(
        self, partitions: Iterable[int], which: Literal["earliest", "latest"] | int, *, committed: bool
    ) -> dict[int, int]:
        """Return partition -> offset; raise the error of the first partition for which the cluster has one.

        Args:
            partitions: the partitions to ask for.
            which: the offset to ask for: that of the first record ("earliest"), that after the last one
                ("latest"), or that of the first record since a time in milliseconds since 1970.
            committed: whether "latest" is the last stable offset.
        """
        places = [(self.topic, partition) for partition in partitions]
        offsets, refusals = list_offsets(self._admin, places, which, committed=committed, within_s=TIMEOUT_S)
        for (_, partition), error in refusals.items():
            raise self.error_of(error.args[0], "DESCRIBE", partition) from error
        return {partition: offset for (_, partition), offset in offsets.items()}

    def error_of(self, error: KafkaError, right: str, partition: int | None = None) -> Exception:
        """Return the project's error for an error of librdkafka.

        Args:
            error: the error of librdkafka.
            right: the right that the user lacks if access was refused, as Kafka's ACLs call it.
            partition: the partition in which the error occurred; None for the topic as a whole.
        """
        where = f"topic {self.topic!r}" + ("" if partition is None else f" partition {partition}")
        if error.name() == NO_RIGHT:
            return self._no_right(right)
        if error.name() in UNKNOWN_TOPIC:
            return UnknownTopicError(f"{where}: {error.str()}")
        advice = "try again" if partition is None else "has the partition a leader that answers?"
        return BrokerUnreachableError(f"{where}: {error.str()}; {advice}")

    def same(self) -> bool | None:
        """Return whether the topic still has its first id; None if the cluster gave no id at the beginning.

        Raises:
            BrokerUnreachableError: no broker gives the id now. If the method returned True then, the records
                of another topic might be reported as those of this one.
            UnknownTopicError: the topic is gone.
            TopicAccessError: the right to describe it is gone.
        """
        if self.id is None:
            return None
        try:
            return self.id == str(self._describe(TIMEOUT_S).result().topic_id)
        except KafkaException as error:
            raise self.error_of(error.args[0], "DESCRIBE") from error

    def _topic_id(self) -> str | None:
        """Return the topic's id; None if the cluster has no topic ids, or does not give this one."""
        try:
            topic_id = str(self._describe(ASIDE_S).result().topic_id)
        except KafkaException:
            return None
        return None if topic_id == _NO_ID else topic_id

    def _describe(self, within_s: float) -> Future[Any]:
        """Return a future with the cluster's description of this topic; `result()` may raise.

        Args:
            within_s: the longest time to wait, in seconds.
        """
        topics = TopicCollection([self.topic])
        answer: Future[Any] = self._admin.describe_topics(topics, request_timeout=within_s)[self.topic]
        return answer

    def _no_right(self, right: str) -> TopicAccessError:
        """Return the error for a missing right, with the ACL that gives it."""
        return TopicAccessError(f"topic {self.topic!r}: this user needs {right} on the topic; add that ACL")
