"""Places records of kafka-python producers: by an instance in 3.x, and by a callable in 2.x."""

from __future__ import annotations

import threading
from typing import Any

from partitioning.clients.placing import TopicCallable, TopicPlacer, layout_of, strategy
from partitioning.errors import UnknownTopicError
from partitioning.interface import Partitioner, TopicLayout

try:
    from kafka.partitioner import Partitioner as ClientPartitioner
except ImportError:  # kafka-python 2.x has no such class, and does not need one
    ClientPartitioner = object


class KafkaPythonPartitioner(ClientPartitioner):  # type: ignore[misc]
    """Places records by any strategy: `KafkaProducer(partitioner=KafkaPythonPartitioner("java"))`.

    For kafka-python 3.0 and newer; one instance serves all topics of a producer.

    Args:
        partitioner: a strategy, or the registered name of a strategy or profile.

    Raises:
        UnknownStrategyError: no strategy or profile has this name.
    """

    def __init__(self, partitioner: str | Partitioner = "default") -> None:
        self._partitioner = strategy(partitioner)
        self._placers: dict[str, TopicPlacer] = {}
        # `_thread.refused` is the partition that was just refused for a record of this thread. It is set
        # between `on_new_batch` and the client's second question for the same record, both inside one
        # `send()`.
        self._thread = threading.local()

    def partition(
        self,
        topic: str,
        key: object,  # noqa: ARG002 - the client's signature
        serialized_key: bytes | bytearray | memoryview | None,
        value: object,  # noqa: ARG002
        serialized_value: bytes | bytearray | memoryview | None,
        cluster: Any,
    ) -> int:
        """Return the partition of a record.

        Raises:
            UnknownTopicError: the client knows no such topic.
            InvalidLayoutError: the client knows only some of the topic's partitions.
            MisplacedRecordError: the strategy chose a partition that the topic does not have.
        """
        placer, layout = self._placer_and_layout(topic, cluster)
        # `refused` is removed at once, because it concerns only this call, the first after `on_new_batch`.
        refused: int | None = vars(self._thread).pop("refused", None)
        if refused is not None and not placer.minds_batches:
            return refused
        key_bytes = None if serialized_key is None else bytes(serialized_key)
        chosen = placer.place(key_bytes, layout)
        # The record was counted when it was placed for the first time. If the second answer is the same, it
        # is not counted again.
        if chosen != refused:
            size = -1 if serialized_value is None else len(serialized_value)
            placer.note_append(chosen, key_bytes, size, layout, enable_switch=False)
        return chosen

    def on_new_batch(self, topic: str, cluster: Any, prev_partition: int) -> None:
        """Handle the client's notice that an unkeyed record found no batch with room in its partition.

        The client asks for the record's partition again right after this call. A strategy that does not
        depend on batches then returns the same partition, because this is not a new record (see KAFKA-9965).
        """
        placer, layout = self._placer_and_layout(topic, cluster)
        placer.batch_ended(prev_partition, layout)
        self._thread.refused = prev_partition

    def _placer_and_layout(self, topic: str, cluster: Any) -> tuple[TopicPlacer, TopicLayout]:
        """Return the topic's strategy, and the topic's layout by the client's present metadata.

        Raises:
            UnknownTopicError: the client knows no such topic.
            InvalidLayoutError: the client knows only some of the topic's partitions.
        """
        partitions = cluster.partitions_for_topic(topic)
        if not partitions:
            raise UnknownTopicError(f"kafka-python knows no topic {topic!r}: create it first")
        layout = layout_of(
            topic, tuple(partitions), tuple(cluster.available_partitions_for_topic(topic) or ())
        )
        placer = self._placers.get(topic)
        if placer is None:
            # Two threads may write the first record of a topic at once. `setdefault` gives both the same
            # state.
            placer = self._placers.setdefault(topic, TopicPlacer(topic, self._partitioner, batches_told=True))
        return placer, layout


class KafkaPython2Partitioner(TopicCallable):
    """Places the records of one topic by any strategy, for a producer of kafka-python 2.x.

    Give it to the producer: `KafkaProducer(partitioner=KafkaPython2Partitioner("orders", "java"))`.
    """
