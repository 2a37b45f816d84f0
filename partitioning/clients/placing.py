"""Places the records of one topic by a strategy, and checks each answer before a client gets it."""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from threading import Lock
from time import monotonic

from partitioning.errors import (
    BrokenPluginError,
    InvalidConfigError,
    InvalidLayoutError,
    MisplacedRecordError,
)
from partitioning.interface import BatchAware, BytesAware, Partitioner, TimeAware, TopicLayout
from partitioning.kit.limits import is_integer
from partitioning.partitioners import get_partitioner
from partitioning.placement import LIBRDKAFKA
from partitioning.profiles import PROFILES
from partitioning.random_choice import RandomChoice
from partitioning.record_size import payload_size, record_size
from partitioning.round_robin import RoundRobin
from partitioning.sticky import DefaultHash, Sticky, StickyByTime

_BY_PROFILE = (DefaultHash, RandomChoice, RoundRobin, Sticky, StickyByTime)


def strategy(partitioner: str | Partitioner) -> Partitioner:
    """Return the partitioner of this name; a partitioner is returned as it is.

    Raises UnknownStrategyError if there is no partitioner of this name.
    """
    return get_partitioner(partitioner) if isinstance(partitioner, str) else partitioner


def check_explicit(topic: str, partition: object) -> None:
    """Raise MisplacedRecordError if an explicit partition is not an integer; True would be read as 1."""
    if not is_integer(partition):
        raise MisplacedRecordError(f"a record of topic {topic!r} has partition {partition!r}; give a number")


def librdkafka_partitioner(partitioner: Partitioner) -> str | None:
    """Return librdkafka's `partitioner` that places non-empty keys as this strategy does, if there is one."""
    # A subclass that is not built in may place records differently.
    if not isinstance(partitioner, _BY_PROFILE) or type(partitioner) not in _BY_PROFILE:
        return None
    profile = PROFILES.get(partitioner.keyed or "")
    name = None if profile is None else LIBRDKAFKA.get(profile.rule)
    return None if name is None else f"{name}_random"


@lru_cache(maxsize=1024)
def layout_of(topic: str, partitions: tuple[int, ...], available: tuple[int, ...]) -> TopicLayout:
    """Return the layout of a topic.

    Args:
        topic: the topic's name, for messages.
        partitions: the numbers of all partitions, in any order.
        available: the numbers of the partitions with a leader.

    Raises:
        InvalidLayoutError: the partition numbers are not 0 to n - 1.
    """
    if sorted(partitions) != list(range(len(partitions))):
        raise InvalidLayoutError(
            f"topic {topic!r}: the client's metadata is incomplete; it has partitions {sorted(partitions)}, "
            "not every one from 0 up"
        )
    # If no partition has a leader, all count as available: a record must go to one of them, and waits there.
    every = len(available) in {0, len(partitions)}
    return TopicLayout(len(partitions), available=None if every else tuple(sorted(available)))


class TopicPlacer:
    """Places one topic's records. It may be called by several threads.

    Args:
        topic: the topic.
        partitioner: the strategy.
        batches_told: True if `batch_ended` will be called.

    Raises:
        InvalidConfigError: `batches_told` is False, and the strategy would never leave its first partition.
    """

    def __init__(self, topic: str, partitioner: Partitioner, *, batches_told: bool = False) -> None:
        self._topic = topic
        self._name = partitioner.name
        self._decide = partitioner.for_topic(topic)
        # The strategy is checked for each optional Protocol only once, because `isinstance` with a Protocol
        # checks every name of it, which takes longer than placing a record.
        self._bytes_aware = self._decide if isinstance(self._decide, BytesAware) else None
        self._batch_aware = self._decide if isinstance(self._decide, BatchAware) else None
        self._time_aware = self._decide if isinstance(self._decide, TimeAware) else None
        self._lock = Lock()
        if self._batch_aware is not None and not batches_told:
            raise InvalidConfigError(
                f"partitioner {self._name!r} must be called for every new batch, and this client does not: "
                'choose another one, such as "sticky"'
            )

    @property
    def minds_batches(self) -> bool:
        """True if the strategy depends on the end of a batch."""
        return self._bytes_aware is not None or self._batch_aware is not None

    def place(self, key: bytes | None, layout: TopicLayout) -> int:
        """Return the partition of a record with this serialized key.

        Raises:
            MisplacedRecordError: the strategy chose a partition that the topic does not have.
            BrokenPluginError: the strategy ends the process (`sys.exit`).
        """
        with self._lock:
            if self._time_aware is not None:
                self._time_aware.advance(monotonic() * 1000)
            try:
                chosen = self._decide.partition(key, layout)
            except SystemExit as error:  # otherwise the producing program would end without an error message
                raise BrokenPluginError(
                    f"partitioner {self._name!r} ends the process in `partition`: {error!r}"
                ) from error
        if not (is_integer(chosen) and 0 <= chosen < layout.partitions):
            raise MisplacedRecordError(
                f"partitioner {self._name!r} put a record of topic {self._topic!r} into partition "
                f"{chosen!r}; the topic has 0 to {layout.partitions - 1}"
            )
        return int(chosen)

    def note_append(
        self, partition: int, key: bytes | None, value_size: int, layout: TopicLayout, *, enable_switch: bool
    ) -> None:
        """Count a record that went to the partition of `place`, for a strategy that counts bytes.

        Only the strategy knows whether the key decided. So a keyed record counts, too, if its key leads to
        the current partition. Headers are not counted.

        Args:
            partition: the partition of the record.
            key: the serialized key.
            value_size: the bytes of the value; -1 for no value.
            layout: the topic as it is now.
            enable_switch: True if all batches of the partition are, or may be, full or gone.
        """
        if self._bytes_aware is None:
            return
        with self._lock:
            # `peek` and `note_append` share one lock, because another thread could change the partition in
            # between.
            if self._bytes_aware.peek(layout) == partition:
                size = record_size(payload_size(-1 if key is None else len(key), value_size), 0, 0)
                self._bytes_aware.note_append(size, layout, enable_switch=enable_switch)

    def batch_ended(self, partition: int, layout: TopicLayout) -> None:
        """Handle the notice that an unkeyed record found no batch with room in this partition.

        The client calls `place` again for the record.
        """
        with self._lock:
            if self._bytes_aware is not None:
                # This call adds no bytes, but says that the batch is full. So a strategy that has reached its
                # size can leave the partition now.
                self._bytes_aware.note_append(0, layout, enable_switch=True)
            if self._batch_aware is not None:
                self._batch_aware.new_batch(partition, layout)


class TopicCallable:
    """Places the records of one topic by any strategy.

    Args:
        topic: the topic that the producer writes. The client does not pass it. A producer of several topics
            needs a strategy without state, such as a profile for records that all have keys.
        partitioner: a strategy, or the registered name of a strategy or profile.
        value_bytes: the mean size of a value in bytes. The client does not pass values, and strategies that
            leave a partition after a number of bytes need their size.
    """

    def __init__(self, topic: str, partitioner: str | Partitioner, *, value_bytes: int = 1024) -> None:
        self._topic = topic
        self._placer = TopicPlacer(topic, strategy(partitioner))
        self._value_bytes = value_bytes

    def __call__(
        self, key_bytes: bytes | None, all_partitions: Collection[int], available: Collection[int]
    ) -> int:
        """Return the partition of a record.

        Raises:
            InvalidLayoutError: the client knows only some of the topic's partitions.
            MisplacedRecordError: the strategy chose a partition that the topic does not have.
        """
        layout = layout_of(self._topic, tuple(all_partitions), tuple(available))
        partition = self._placer.place(key_bytes, layout)
        self._placer.note_append(partition, key_bytes, self._value_bytes, layout, enable_switch=True)
        return partition
