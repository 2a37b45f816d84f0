"""confluent-kafka producers whose records go where a strategy of ours says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from partitioning.clients.errors import DeliveryError
from partitioning.errors import MissingDependencyError

try:
    from confluent_kafka import KafkaError, Producer
except ImportError as missing:
    raise MissingDependencyError(
        "PartitioningProducer needs confluent-kafka: install it with: pip install 'copartition[kafka]'"
    ) from missing

from partitioning.clients.topics import ANY_PARTITION, Topics, encoded

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

    from confluent_kafka import Message
    from confluent_kafka._types import DeliveryCallback, HeadersType

    from partitioning.clients.topics import Topic
    from partitioning.interface import Partitioner

_GIVEN_UP_ON_PURPOSE = (KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT)


class PartitioningProducer(Producer):
    """A `confluent_kafka.Producer` that places records by any strategy.

    It does all that its base does, with three differences:

    - A record without an explicit partition goes where the strategy says. The partition counts it needs are
      asked for once a topic, and again after `topic.metadata.refresh.interval.ms`: new partitions are used
      after that long at the latest. An explicit partition wins.
    - `produce()` may block for `max_block_ms` when it meets a topic for the first time.
    - A record that nobody watches, with neither a delivery callback of its own nor `on_delivery` in the
      configuration, is not lost unnoticed: `poll`, `flush`, `close` and the end of a `with` block raise a
      DeliveryError for those that were not acknowledged. What the caller purged or aborted is not among them.

    Args:
        config: librdkafka's configuration, without its `partitioner`.
        partitioner: a strategy, or the registered name of a strategy or profile.
        max_block_ms: how long to wait for a broker to tell a topic's partitions, and for the topic to appear.

    Raises:
        MissingDependencyError: confluent-kafka is missing (when this module is imported).
        InvalidConfigError: `config` has a partitioner of librdkafka's, which would never be asked.
        UnknownStrategyError: no strategy or profile has this name.
    """

    def __init__(
        self,
        config: Mapping[str, Any],
        *,
        partitioner: str | Partitioner = "default",
        max_block_ms: float = 5000,
    ) -> None:
        self._topics = Topics(config, partitioner, max_block_ms)
        self._unwatched = _Unwatched()
        watched = config.get("on_delivery") is not None
        self._on_delivery: DeliveryCallback | None = None if watched else self._unwatched.report
        super().__init__(dict(config))

    def produce(
        self,
        topic: str,
        value: str | bytes | None = None,
        key: str | bytes | None = None,
        partition: int = ANY_PARTITION,
        callback: DeliveryCallback | None = None,
        on_delivery: DeliveryCallback | None = None,
        timestamp: int = 0,
        headers: HeadersType | None = None,
    ) -> None:
        """Queue a record for sending, as the base does.

        Raises:
            UnknownTopicError: the cluster has no such topic, or hides it from us.
            BrokerUnreachableError: no broker told the topic's partitions in time.
            MisplacedRecordError: the strategy chose a partition that the topic does not have.
            BufferError: the queue is full: call `poll()`, then try again.
            KafkaException: librdkafka refuses the record.
        """
        watcher = on_delivery or callback or self._on_delivery
        if partition != ANY_PARTITION:
            super().produce(
                topic, value, key, partition, on_delivery=watcher, timestamp=timestamp, headers=headers
            )
            return
        key, value = encoded(key), encoded(value)
        known = self._known(topic)
        partition = known.place(key)
        super().produce(
            topic, value, key, partition, on_delivery=watcher, timestamp=timestamp, headers=headers
        )
        known.sent(partition, key, value)

    def produce_batch(
        self,
        topic: str,
        messages: list[dict[str, Any]],
        partition: int = ANY_PARTITION,
        callback: DeliveryCallback | None = None,
        on_delivery: DeliveryCallback | None = None,
    ) -> int:
        """Queue many records without headers, each as `produce` would.

        The base puts all of a call into one partition, so this calls it once for each partition that is hit.
        A record's own `partition` wins, then the call's.

        Returns:
            How many records were queued; each of the others has the reason in its `_error`.

        Raises:
            UnknownTopicError: as `produce`, before any record is queued.
            BrokerUnreachableError: likewise.
            MisplacedRecordError: likewise.
        """
        groups: dict[int, list[dict[str, Any]]] = {}
        for message in messages:
            chosen = message.get("partition", partition)
            if chosen == ANY_PARTITION:
                key = encoded(message.get("key"))
                known = self._known(topic)
                chosen = known.place(key)
                known.sent(chosen, key, encoded(message.get("value")))
            groups.setdefault(chosen, []).append(message)
        watcher = on_delivery or callback or self._on_delivery
        queued = 0
        for chosen, group in groups.items():
            queued += super().produce_batch(topic, group, chosen, on_delivery=watcher)
        return queued

    def _known(self, topic: str) -> Topic:
        return self._topics.fresh(topic) or self._topics.refreshed(topic, self.list_topics)

    def poll(self, timeout: float = -1) -> int:
        """Serve delivery reports, as the base does.

        Raises:
            DeliveryError: records that nobody watched were not acknowledged.
        """
        served = super().poll(timeout)
        self._unwatched.check()
        return served

    def flush(self, timeout: float = -1) -> int:
        """Wait until every record was sent, as the base does.

        Raises:
            DeliveryError: records that nobody watched were not acknowledged.
        """
        left = super().flush(timeout)
        self._unwatched.check()
        return left

    def close(self) -> bool:
        """Flush and end the producer, as the base does.

        Raises:
            DeliveryError: records that nobody watched were not acknowledged.
        """
        closed = super().close()
        self._unwatched.check()
        return closed

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool | None:
        handled = super().__exit__(kind, error, traceback)
        if error is None:
            self._unwatched.check()
        return handled


class _Unwatched:
    """Records that no callback of the caller's would tell about, and that were not acknowledged."""

    def __init__(self) -> None:
        self._count = 0
        self._first = ""

    def report(self, error: KafkaError | None, message: Message) -> None:
        if error is not None and error.code() not in _GIVEN_UP_ON_PURPOSE:
            self._first = (
                self._first or f"topic {message.topic()!r} partition {message.partition()}: {error.str()}"
            )
            self._count += 1

    def check(self) -> None:
        if self._count:
            count, first = self._count, self._first
            self._count, self._first = 0, ""
            raise DeliveryError(
                f"{count} records without a delivery callback were not acknowledged; the first: {first}"
            )
