"""One topic's records, placed by a strategy and checked before a client hears of it."""

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
from partitioning.partitioners import get_partitioner
from partitioning.placement import LIBRDKAFKA
from partitioning.profiles import PROFILES
from partitioning.random_choice import RandomChoice
from partitioning.record_size import payload_size, record_size
from partitioning.round_robin import RoundRobin
from partitioning.sticky import DefaultHash, Sticky, StickyByTime
from partitioning.topic_partition import is_integer

_BY_PROFILE = (DefaultHash, RandomChoice, RoundRobin, Sticky, StickyByTime)


def strategy(partitioner: str | Partitioner) -> Partitioner:
    """Return a partitioner by its registered name, or itself.

    UnknownStrategyError if the name is of none.
    """
    return get_partitioner(partitioner) if isinstance(partitioner, str) else partitioner


def check_explicit(topic: str, partition: object) -> None:
    """MisplacedRecordError if an explicit partition is no number: to librdkafka True is 1."""
    if not is_integer(partition):
        raise MisplacedRecordError(f"a record of topic {topic!r} has partition {partition!r}; give a number")


def librdkafka_partitioner(partitioner: Partitioner) -> str | None:
    """Return librdkafka's `partitioner` that places keys that are not empty as this strategy does, if any."""
    # A stranger's subclass may place otherwise.
    if not isinstance(partitioner, _BY_PROFILE) or type(partitioner) not in _BY_PROFILE:
        return None
    profile = PROFILES.get(partitioner.keyed or "")
    name = None if profile is None else LIBRDKAFKA.get(profile.rule)
    return None if name is None else f"{name}_random"


@lru_cache(maxsize=1024)
def layout_of(topic: str, partitions: tuple[int, ...], available: tuple[int, ...]) -> TopicLayout:
    """Return the layout of a topic with these partitions.

    InvalidLayoutError unless their numbers are 0 to n - 1.
    """
    if sorted(partitions) != list(range(len(partitions))):
        raise InvalidLayoutError(
            f"topic {topic!r}: the client's metadata is incomplete; it has partitions {sorted(partitions)}, "
            "not every one from 0 up"
        )
    # No leader at all is read as every leader: a record must go somewhere, and waits for its leader there.
    every = len(available) in {0, len(partitions)}
    return TopicLayout(len(partitions), available=None if every else tuple(sorted(available)))


class TopicPlacer:
    """Places one topic's records; several threads may ask.

    `batches_told`: whether `batch_ended` will be called. InvalidConfigError if it will not be and the
    strategy would therefore stay with one partition.
    """

    def __init__(self, topic: str, partitioner: Partitioner, *, batches_told: bool = False) -> None:
        self._topic = topic
        self._name = partitioner.name
        self._decide = partitioner.for_topic(topic)
        # Asked once: an isinstance of a Protocol looks at every name, which costs more than to place a
        # record.
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
        """True if the end of a batch matters to the strategy."""
        return self._bytes_aware is not None or self._batch_aware is not None

    def place(self, key: bytes | None, layout: TopicLayout) -> int:
        """Return the partition of a record with this serialized key.

        MisplacedRecordError if the topic lacks it; BrokenPluginError if the strategy ends the process.
        """
        with self._lock:
            if self._time_aware is not None:
                self._time_aware.advance(monotonic() * 1000)
            try:
                chosen = self._decide.partition(key, layout)
            except SystemExit as error:  # it would end whoever produces without a word
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
        """Note that a record went where `place` said, for a strategy that counts its partition's bytes.

        Only the strategy knows whether the key decided, so a keyed record counts too where its key leads
        to the current partition. `value_size` is -1 for no value; headers, if any, go uncounted.
        `enable_switch`: whether that partition's batches are all full or gone, or may be.
        """
        if self._bytes_aware is None:
            return
        with self._lock:
            # `peek` is asked under the same lock as `note_append`: another thread could move the partition in
            # between.
            if self._bytes_aware.peek(layout) == partition:
                size = record_size(payload_size(-1 if key is None else len(key), value_size), 0, 0)
                self._bytes_aware.note_append(size, layout, enable_switch=enable_switch)

    def batch_ended(self, partition: int, layout: TopicLayout) -> None:
        """An unkeyed record, put into this partition, found no batch with room; `place` is asked again."""
        with self._lock:
            if self._bytes_aware is not None:
                # No bytes, but the batch is full: a strategy that has passed its size may leave the partition
                # now.
                self._bytes_aware.note_append(0, layout, enable_switch=True)
            if self._batch_aware is not None:
                self._batch_aware.new_batch(partition, layout)


class TopicCallable:
    """Places the records of one topic by any strategy.

    Args:
        topic: the topic that the producer writes, which such a client does not tell. A producer of several
            topics needs a strategy without state, such as a profile for records that all have keys.
        partitioner: a strategy, or the registered name of a strategy or profile.
        value_bytes: what a value takes on average, which such a client does not tell either. It matters to
            strategies that leave a partition after so many bytes.
    """

    def __init__(self, topic: str, partitioner: str | Partitioner, *, value_bytes: int = 1024) -> None:
        self._topic = topic
        self._placer = TopicPlacer(topic, strategy(partitioner))
        self._value_bytes = value_bytes

    def __call__(
        self, key_bytes: bytes | None, all_partitions: Collection[int], available: Collection[int]
    ) -> int:
        """Return the partition of a record.

        InvalidLayoutError if the client knows only some of the topic's partitions, MisplacedRecordError
        where the strategy chose a partition that the topic does not have.
        """
        layout = layout_of(self._topic, tuple(all_partitions), tuple(available))
        partition = self._placer.place(key_bytes, layout)
        self._placer.note_append(partition, key_bytes, self._value_bytes, layout, enable_switch=True)
        return partition
