"""confluent-kafka producers whose records go where a strategy of ours says."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, Any

from partitioning.errors import DeliveryError
from partitioning.kit.packages import needs

with needs("PartitioningProducer", "kafka"):
    from confluent_kafka import KafkaException, Producer, SerializingProducer

from collections.abc import Mapping
from types import TracebackType
from weakref import WeakSet

from partitioning.clients.contact import machine_faults
from partitioning.clients.delivery import WAIT_S, Deliveries
from partitioning.clients.java_settings import librdkafka_security
from partitioning.clients.placing import check_explicit
from partitioning.clients.topics import ANY_PARTITION, ClientTopic, Topics, encode_text
from partitioning.interface import Partitioner

if TYPE_CHECKING:
    from confluent_kafka._types import DeliveryCallback, HeadersType

PRODUCERS: WeakSet[Any] = WeakSet()
"""Those of this process, also of asyncio."""
_produce = Producer.produce  # `super()` takes as long as a fifth of the call


class PartitioningProducer(Producer):
    """A `confluent_kafka.Producer` that places records by any strategy.

    It does all that its base does, with three differences:

    - A record without an explicit partition goes where the strategy says; an explicit partition wins. Where
      the strategy hashes keys as librdkafka can, librdkafka does that, by the partition count it knows.
    - `produce()` may block for `max_block_ms` when it meets a topic for the first time, or again after
      librdkafka said that the topic or a partition is gone. Otherwise partition counts are asked for in the
      background, after `topic.metadata.refresh.interval.ms`, and the old ones serve until brokers answer.
    - A record that nobody watches, with neither a delivery callback of its own nor `on_delivery` in the
      configuration, is not lost unnoticed: `poll`, `flush`, `close` and the end of a `with` block raise a
      DeliveryError for records that were not acknowledged. What the caller purged or aborted is not among
      them. None of these calls waits for ever: where librdkafka is silent a minute after
      `delivery.timeout.ms` is over, `flush` raises one, and so do `close` and the end of `with`, which give
      the records up first. In a process that was forked they raise one at once.

    >>> from partitioning.testing import MockCluster
    >>> places = []
    >>> with MockCluster() as cluster:
    ...     cluster.create_topic("orders", 12)
    ...     settings = {"bootstrap.servers": cluster.bootstrap_servers}
    ...     with PartitioningProducer(settings, partitioner="java") as producer:
    ...         told = lambda error, message: places.append(message.partition())
    ...         producer.produce("orders", key=b"order-43", on_delivery=told)
    >>> places == [partition_for_key(b"order-43", 12)]
    True

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

    # An attribute of a class that C made is read more slowly than a slot.
    __slots__ = ("__dict__", "__weakref__", "_hashed")

    def __init__(
        self,
        config: Mapping[str, Any],
        *,
        partitioner: str | Partitioner = "default",
        max_block_ms: float = 5000,
    ) -> None:
        # The order matters: everything that may refuse the configuration comes before the base starts its
        # threads.
        config = librdkafka_security(config)
        self._topics = Topics(config, partitioner, max_block_ms)
        self._deliveries = Deliveries(config, "records without a delivery callback")
        self._hashed = self._topics.hashed
        self._watched: tuple[DeliveryCallback | None, DeliveryCallback | None] = None, None
        on_delivery = self._deliveries.watch(self._topics.on_error, config.get("on_delivery"))
        with machine_faults():
            super().__init__({**config, **self._topics.hashing, "on_delivery": on_delivery})
        PRODUCERS.add(self)

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
            DeliveryError: this process was forked from the producer's.
            MisplacedRecordError: the strategy chose a partition that the topic does not have, or `partition`
                is no number.
            BufferError: the queue is full: call `poll()`, then try again.
            KafkaException: librdkafka refuses the record.
        """
        current = None
        if partition != ANY_PARTITION:
            check_explicit(topic, partition)
        elif not (key and topic in self._hashed):
            current = self._current_topic(topic)
            partition = current.place(encode_text(key))
        own = on_delivery or callback
        try:
            # Any other argument that is passed costs time in C for each record, so the common call passes
            # none.
            if own is None and headers is None and not timestamp:
                _produce(self, topic, value, key, partition)  # fewer arguments are read faster
            else:
                watcher = own and self._watcher(own)
                _produce(self, topic, value, key, partition, watcher, None, timestamp, headers)
        except KafkaException as error:
            # librdkafka refuses a partition that is gone at once; the next record asks for the topic's layout
            # anew.
            self._topics.on_error(topic, error.args[0])
            raise
        # Only a record that is in the queue counts: one that was refused filled no batch.
        if current is not None:
            current.note_sent(partition, encode_text(key), encode_text(value))

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
        # One list for each partition, in the order of the messages: the order inside a partition is that of
        # the call.
        groups: dict[int, list[dict[str, Any]]] = {}
        for message in messages:
            chosen = message.get("partition", partition)
            if chosen == ANY_PARTITION:
                key = encode_text(message.get("key"))
                current = self._current_topic(topic)
                chosen = current.place(key)
                current.note_sent(chosen, key, encode_text(message.get("value")))
            else:
                check_explicit(topic, chosen)
            groups.setdefault(chosen, []).append(message)
        own = on_delivery or callback
        watcher = self._watcher(own) if own else None
        return sum(
            super(PartitioningProducer, self).produce_batch(topic, group, chosen, on_delivery=watcher)
            for chosen, group in groups.items()
        )

    def _watcher(self, own: DeliveryCallback) -> DeliveryCallback:
        """Return the callback around the caller's own, which is mostly the same as last time."""
        # A watcher is a closure; to make one for each record would take longer than to place it.
        last, watcher = self._watched
        if watcher is None or own != last:
            watcher = self._deliveries.watch(self._topics.on_error, own)
            self._watched = own, watcher
        return watcher

    def _current_topic(self, topic: str) -> ClientTopic:
        """Return the topic with its state; the cluster is asked for its layout if need be."""
        return self._topics.current(topic, self._metadata)

    def _metadata(self, topic: str, within_s: float) -> Any:
        """Return librdkafka's metadata of one topic.

        Raises:
            DeliveryError: this process was forked from the producer's; the question would wait for ever.
        """
        self._deliveries.refuse_forked()
        return self.list_topics(topic, within_s)

    def poll(self, timeout: float = -1) -> int:
        """Serve delivery reports, as the base does.

        Raises:
            DeliveryError: records that nobody watched were not acknowledged, or this process was forked
                from the producer's.
            KafkaException: a fatal error, if nobody but their callbacks waited for the records it took along.
        """
        self._deliveries.refuse_forked()
        # A fatal error is raised by the base in the middle of the reports; the rest of the reports is drained
        # first.
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
        self._deliveries.refuse_forked()
        *_, left = self._deliveries.waits(super().flush, self.__len__, math.inf if timeout < 0 else timeout)
        self._check()
        return left

    def close(self) -> bool:
        """Flush and end the producer, as the base does.

        Raises:
            DeliveryError: as `flush`; what was neither acknowledged nor given up is lost.
            KafkaException: as `poll`.
        """
        self._deliveries.refuse_forked()
        silent = None
        try:
            self._drain()
        except DeliveryError as error:
            # The brokers are silent: purging makes a report of each record that is left, so that none is
            # counted twice.
            silent = error
            self.purge()
            self._drain(WAIT_S)
        self._topics.close()
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
            # An error inside the `with` block is what the caller must see; one of `close` would hide it.
            if error is None:
                raise

    def _drain(self, within_s: float = math.inf) -> None:
        """Serve reports until none is outstanding, or the time is over."""
        if len(self):  # a closed producer serves none
            for _ in self._deliveries.waits(super().flush, self.__len__, within_s):
                pass

    def _check(self, given_up: DeliveryError | None = None) -> None:
        """Raise for records that nobody watched and that were lost since the last call."""
        self._deliveries.check(outstanding=len(self), given_up=given_up)


class _PlacingBase(PartitioningProducer):
    """Is the base of a SerializingProducer, which passes on a configuration and no more."""

    _settings: Mapping[str, Any]

    # SerializingProducer calls this from inside its own `__init__`, so the settings must be set before.
    def __init__(self, config: Mapping[str, Any]) -> None:
        super().__init__(config, **self._settings)


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
        self._settings = {"partitioner": partitioner, "max_block_ms": max_block_ms}
        super().__init__(dict(conf))

    # That of SerializingProducer would hide the error that ends a `with` block behind one of `close`.
    __exit__ = PartitioningProducer.__exit__


def _refuse_records() -> None:
    """In a forked process, let each producer from before refuse records; a check would cost every record."""
    for producer in PRODUCERS:
        refuse = producer._deliveries.refuse_forked  # noqa: SLF001 - of these modules
        # Into the instance, in front of the class's methods: the parent process pays nothing for it.
        vars(producer).update(produce=refuse, produce_batch=refuse)


# A forked child has the queue but none of librdkafka's threads: records would wait in it without a word.
os.register_at_fork(after_in_child=_refuse_records)
