"""A partitioner as a function of key and partitions, for clients that tell it nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from partitioning.clients.placing import TopicPlacer, layout_of, strategy

if TYPE_CHECKING:
    from collections.abc import Collection

    from partitioning.interface import Partitioner

_TYPICAL_VALUE_BYTES = 1024


class TopicCallable:
    """Places the records of one topic by any strategy.

    Args:
        topic: the topic that the producer writes, which such a client does not tell. A producer of several
            topics needs a strategy without state, such as a profile for records that all have keys.
        partitioner: a strategy, or the registered name of a strategy or profile.
        value_bytes: what a value takes on average, which such a client does not tell either. It matters to
            strategies that leave a partition after so many bytes.

    Raises:
        UnknownStrategyError: no strategy or profile has this name.
    """

    def __init__(
        self,
        topic: str,
        partitioner: str | Partitioner = "default",
        *,
        value_bytes: int = _TYPICAL_VALUE_BYTES,
    ) -> None:
        self._topic = topic
        self._placer = TopicPlacer(topic, strategy(partitioner))
        self._value_bytes = value_bytes

    def __call__(
        self, key_bytes: bytes | None, all_partitions: Collection[int], available: Collection[int]
    ) -> int:
        """The partition of a record.

        Raises:
            InvalidLayoutError: the client knows only some of the topic's partitions.
            MisplacedRecordError: the strategy chose a partition that the topic does not have.
        """
        layout = layout_of(self._topic, tuple(all_partitions), tuple(available))
        partition = self._placer.place(key_bytes, layout)
        self._placer.appended(partition, key_bytes, self._value_bytes, layout, enable_switch=True)
        return partition
