"""confluent-kafka producers whose records go where a strategy of ours says."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

from partitioning.errors import DeliveryError, MissingDependencyError

try:
    from confluent_kafka import KafkaError, KafkaException, Producer, SerializingProducer
except ImportError as missing:
    raise MissingDependencyError(
        "PartitioningProducer needs confluent-kafka: install it with: pip install 'copartition[kafka]'"
    ) from missing

from partitioning.clients.delivery import WAIT_S
from partitioning.clients.java_settings import librdkafka_security
from partitioning.clients.topics import ANY_PARTITION, Topics, deliveries_of, encoded

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType

    from confluent_kafka import Message
    from confluent_kafka._types import DeliveryCallback, HeadersType

    from partitioning.clients.delivery import Deliveries
    from partitioning.clients.topics import Topic
    from partitioning.interface import Partitioner


class PartitioningProducer(Producer):
    """A `confluent_kafka.Producer` that places records by any strategy.

    It does all that its base does, with three differences:

    - A record without an explicit partition goes where the strategy says. The partition counts it needs are
      asked for once a topic, and again after `topic.metadata.refresh.interval.ms`: new partitions are used
      after that long at the latest. They are asked for at once when librdkafka says that a partition is gone.
      An explicit partition wins.
    - `produce()` may block for `max_block_ms` when it meets a topic for the first time.
    - A record that nobody watches, with neither a delivery callback of its own nor `on_delivery` in the
      configuration, is not lost unnoticed: `poll`, `flush`, `close` and the end of a `with` block raise a
      DeliveryError for those that were not acknowledged. What the caller purged or aborted is not among them.
      None of them waits for ever: where librdkafka is silent a minute after `delivery.timeout.ms` is over,
      `flush` raises one, and so do `close` and the end of `with`, which give the records up first.

    Args:
        config: librdkafka's configuration, without its `partitioner`; what lets us in may be as Java's
            clients have it, such as `sasl.jaas.config`.
        partitioner: a strategy, or the registered name of a strategy or profile.
        max_block_ms: how long to wait for a broker to tell a topic's partitions, and for the topic to appear.

    Raises:
        MissingDependencyError: confluent-kafka is missing (when this module is imported).
        InvalidConfigError: `config` has a partitioner of librdkafka's, which would never be asked, a time
            that has no meaning, or a setting of Java's without a counterpart.
        UnknownStrategyError: no strategy or profile has this name.
    """

    def __init__(
        self,
        config: Mapping[str, Any],
        *,
        partitioner: str | Partitioner = "default",
        max_block_ms: float = 5000,
    ) -> None:
        config = librdkafka_security(config)
        self._topics = Topics(config, partitioner, max_block_ms)
        self._deliveries = deliveries_of(config, "records without a delivery callback")
        self._on_delivery = self._watcher(config.get("on_delivery"))
        super().__init__(config)

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
        own = on_delivery or callback
        watcher = self._watcher(own) if own else self._on_delivery
        known = None
        key, value = encoded(key), encoded(value)
        if partition == ANY_PARTITION:
            known = self._known(topic)
            partition = known.place(key)
        try:
            super().produce(
                topic, value, key, partition, on_delivery=watcher, timestamp=timestamp, headers=headers
            )
        except KafkaException as error:
            self._topics.heard(topic, error.args[0])
            raise
        self._deliveries.queued()
        if known is not None:
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
        own = on_delivery or callback
        watcher = self._watcher(own) if own else self._on_delivery
        queued = 0
        for chosen, group in groups.items():
            queued += super().produce_batch(topic, group, chosen, on_delivery=watcher)
        # Reports of the others reach the callback that the message itself names.
        self._deliveries.queued(queued - sum("callback" in message for message in messages))
        return queued

    def _watcher(self, own: DeliveryCallback | None) -> DeliveryCallback:
        # Not bound to the producer, which would then outlive its last reference until the next collection.
        return partial(_told, self._topics, self._deliveries, own or self._deliveries.report)

    def _known(self, topic: str) -> Topic:
        return self._topics.fresh(topic) or self._topics.refreshed(topic, self.list_topics)

    def poll(self, timeout: float = -1) -> int:
        """Serve delivery reports, as the base does.

        Raises:
            DeliveryError: records that nobody watched were not acknowledged.
            KafkaException: a fatal error, if nobody but their callbacks waited for the records it took along.
        """
        served = self._deliveries.serve(super().poll, timeout)
        if self._deliveries.fatal is not None:
            self._drain()
        self._check()
        return served

    def flush(self, timeout: float = -1) -> int:
        """Wait until every record was sent, as the base does.

        Raises:
            DeliveryError: records that nobody watched were not acknowledged, or records were neither
                acknowledged nor given up in time.
            KafkaException: as `poll`.
        """
        *_, left = self._deliveries.waits(super().flush, self.__len__, math.inf if timeout < 0 else timeout)
        self._check()
        return left

    def close(self) -> bool:
        """Flush and end the producer, as the base does.

        Raises:
            DeliveryError: as `flush`; what was neither acknowledged nor given up is lost.
            KafkaException: as `poll`.
        """
        silent = None
        try:
            self._drain()
        except DeliveryError as error:
            silent = error
            self.purge()
            self._drain(WAIT_S)
        close = super().close
        if not len(self):  # else the base would wait without end
            self._deliveries.serve(lambda _: close(), 0)
        self._check(silent)
        return True

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            self.close()
        except (DeliveryError, KafkaException):
            if error is None:
                raise

    def _drain(self, within_s: float = math.inf) -> None:
        """Serve reports until none is outstanding, or the time is over."""
        if len(self):  # a closed producer serves none
            for _ in self._deliveries.waits(super().flush, self.__len__, within_s):
                pass

    def _check(self, given_up: DeliveryError | None = None) -> None:
        self._deliveries.check(all_served=not len(self), given_up=given_up)


class _PlacingBase(PartitioningProducer):
    """What a SerializingProducer, which passes on a configuration and no more, has for a base."""

    _asked: Mapping[str, Any]

    def __init__(self, config: Mapping[str, Any]) -> None:
        super().__init__(config, **self._asked)


class PartitioningSerializingProducer(SerializingProducer, _PlacingBase):  # type: ignore[misc] # its `produce`
    """A `confluent_kafka.SerializingProducer` that places records by any strategy.

    It serializes as its base does, which confluent-kafka calls experimental, and places by the bytes of the
    serialized key; all else is as in `PartitioningProducer`. `produce_batch` takes what is serialized
    already, as that of the base.

    Args:
        conf: librdkafka's configuration, without its `partitioner`, and the base's own settings, such as
            "key.serializer".
        partitioner: a strategy, or the registered name of a strategy or profile.
        max_block_ms: how long to wait for a broker to tell a topic's partitions, and for the topic to appear.

    Raises:
        MissingDependencyError: confluent-kafka is missing (when this module is imported).
        InvalidConfigError: `conf` has a partitioner of librdkafka's, which would never be asked, or a time
            that has no meaning.
        UnknownStrategyError: no strategy or profile has this name.
    """

    def __init__(
        self,
        conf: Mapping[str, Any],
        *,
        partitioner: str | Partitioner = "default",
        max_block_ms: float = 5000,
    ) -> None:
        self._asked = {"partitioner": partitioner, "max_block_ms": max_block_ms}
        super().__init__(dict(conf))

    # That of SerializingProducer would hide the error that ends a `with` block behind one of `close`.
    __exit__ = PartitioningProducer.__exit__


def _told(
    topics: Topics,
    deliveries: Deliveries,
    watcher: Callable[[KafkaError | None, Message], None],
    error: KafkaError | None,
    message: Message,
) -> None:
    """A record's report: what it means for the topic, and then whoever watches the record."""
    topic = message.topic()
    if error is not None and topic is not None:
        topics.heard(topic, error)
    watcher(error, message)
    deliveries.settled()
