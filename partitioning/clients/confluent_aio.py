"""confluent-kafka's asyncio producer, with records that go where a strategy of ours says."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from partitioning.errors import MissingDependencyError

try:
    from confluent_kafka.aio import AIOProducer
except ImportError as missing:
    raise MissingDependencyError(
        "PartitioningAIOProducer needs a confluent-kafka that has confluent_kafka.aio: "
        "install it with: pip install --upgrade 'copartition[kafka]'"
    ) from missing

from partitioning.clients.topics import ANY_PARTITION, Topics, encoded

if TYPE_CHECKING:
    from asyncio import Future
    from collections.abc import Mapping

    from confluent_kafka import Message

    from partitioning.clients.topics import Topic
    from partitioning.interface import Partitioner


class PartitioningAIOProducer(AIOProducer):
    """A `confluent_kafka.aio.AIOProducer` that places records by any strategy.

    An explicit partition wins. The partition counts that the strategy needs are asked for once a topic,
    without blocking the event loop, and again after `topic.metadata.refresh.interval.ms`: new partitions are
    used after that long at the latest.

    Args:
        producer_conf: librdkafka's configuration, without its `partitioner`.
        partitioner: a strategy, or the registered name of a strategy or profile.
        max_block_ms: how long to wait for a broker to tell a topic's partitions, and for the topic to appear.
        options: the base's own, such as `batch_size` and `buffer_timeout`.

    Raises:
        MissingDependencyError: confluent-kafka is missing or older (when this module is imported).
        InvalidConfigError: `producer_conf` has a partitioner of librdkafka's, which would never be asked.
        UnknownStrategyError: no strategy or profile has this name.
    """

    def __init__(
        self,
        producer_conf: Mapping[str, Any],
        *,
        partitioner: str | Partitioner = "default",
        max_block_ms: float = 5000,
        **options: Any,
    ) -> None:
        self._topics = Topics(producer_conf, partitioner, max_block_ms)
        super().__init__(dict(producer_conf), **options)

    async def produce(
        self,
        topic: str,
        value: str | bytes | None = None,
        key: str | bytes | None = None,
        partition: int = ANY_PARTITION,
    ) -> Future[Message]:
        """Buffer a record for sending, as the base does.

        It takes no headers, timestamp or delivery callback: the base (2.16) refuses the first, fails the
        whole batch for the second, and forgets the third.

        Returns:
            A future of the delivered message, which raises a KafkaException where it was not acknowledged.

        Raises:
            UnknownTopicError: the cluster has no such topic, or hides it from us.
            BrokerUnreachableError: no broker told the topic's partitions in time.
            MisplacedRecordError: the strategy chose a partition that the topic does not have.
        """
        if partition == ANY_PARTITION:
            known = self._topics.fresh(topic) or await self._refreshed(topic)
            key, value = encoded(key), encoded(value)
            partition = known.place(key)
            known.sent(partition, key, value)
        return await super().produce(topic, value, key, partition=partition)

    async def _refreshed(self, topic: str) -> Topic:
        loop = asyncio.get_running_loop()

        def ask(name: str, within_s: float) -> Any:
            return asyncio.run_coroutine_threadsafe(self.list_topics(name, within_s), loop).result()

        return await asyncio.to_thread(self._topics.refreshed, topic, ask)
