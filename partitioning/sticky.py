"""Strategies that keep unkeyed records in one partition for some bytes, for a batch, or for some time."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from partitioning.errors import InvalidConfigError
from partitioning.interface import TopicLayout
from partitioning.strategy import (
    Draw,
    RandomSource,
    UnkeyedStrategy,
    UnkeyedTopic,
    to_positive,
    unseeded_draw,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sticky(UnkeyedStrategy):
    """Sticks to a partition for batch.size bytes, then draws another, longer queues less often (KIP-794).

    The Java client does this since 3.3 if no partitioner is configured. If the producer does not report
    appended bytes (`BytesAware`), the partition never changes. If it does not report queues (`LoadAware`),
    partitions are drawn uniformly.

    Attributes:
        keyed: profile that places keyed records; None ignores keys, as `partitioner.ignore.keys=true` does.
        batch_size: the producer's `batch.size`, at least 1.
        client_rack: the rack whose leaders are preferred: `client.rack` with `partitioner.rack.aware`
            (KIP-1123, 4.4). None: no rack is preferred.
        random: makes a topic's source of random numbers. `seeded_source(7)` makes a source that returns the
            same numbers in each run.
    """

    unkeyed_name: ClassVar[str] = "sticky"
    batch_size: int = 16_384
    client_rack: str | None = None
    random: RandomSource = unseeded_draw

    def __post_init__(self) -> None:
        UnkeyedStrategy.__post_init__(self)
        if self.batch_size < 1:
            raise InvalidConfigError(
                f"batch_size is {self.batch_size}; give at least 1 (a producer treats batch.size=0 as 1)"
            )
        if self.client_rack is not None and not self.client_rack.strip():
            raise InvalidConfigError("client_rack is blank; give the producer's client.rack, or leave it out")

    def for_topic(self, topic: str) -> TopicSticky:
        """Return a partitioner for one topic, with its current partition and the bytes that went there."""
        return TopicSticky(self, self.random(topic))


class _Load(NamedTuple):
    """Holds partitions with the running sum of their weights.

    The weight of a partition is the length of the longest queue, plus 1, minus the length of its own queue.
    It is at least 1, so even the partition with the longest queue is drawn sometimes.

    Attributes:
        partitions: the partitions that can be drawn.
        cumulative: `cumulative[i]` is the sum of the weights of `partitions[: i + 1]`.
    """

    partitions: Sequence[int]
    cumulative: Sequence[int]


class TopicSticky(UnkeyedTopic):
    """Holds the state of `Sticky` for one topic.

    Attributes:
        _current: the partition of unkeyed records; None until the first one is placed.
        _produced: how many bytes were appended to `_current` since it was drawn.
        _load: the weights by the last report of queues; None: partitions are drawn uniformly.
    """

    def __init__(self, settings: Sticky, draw: Draw) -> None:
        super().__init__(settings.keyed)
        self._batch_size = settings.batch_size
        self._rack = settings.client_rack
        self._draw = draw
        self._current: int | None = None
        self._produced = 0
        self._load: _Load | None = None

    def peek(self, layout: TopicLayout) -> int:
        """Return the partition that unkeyed records go to now."""
        if self._current is None or self._current >= layout.partitions:
            self._move(layout)
        assert self._current is not None
        return self._current

    def note_append(self, size: int, layout: TopicLayout, *, enable_switch: bool) -> None:
        """Count the bytes of an unkeyed record that went to the current partition.

        With `enable_switch` the current partition changes after batch.size bytes, and without it after twice
        as many.

        Raises:
            InvalidConfigError: the size is negative.
        """
        if size < 0:
            raise InvalidConfigError(f"{size} bytes were appended; give 0 or more")
        self._produced += size
        # Without the limit of twice the size, a partition whose last batch never becomes full would be kept
        # forever.
        if self._produced >= (self._batch_size if enable_switch else 2 * self._batch_size):
            self._move(layout)

    def update_load(self, queue_sizes: Mapping[int, int] | None, layout: TopicLayout) -> None:
        """Update the weights by the producer's queues: a partition with a long queue is drawn less often."""
        self._load = None
        if not queue_sizes or layout.partitions < 2:
            return
        # If all partitions have equal queues, no weights are needed: partitions with a leader are drawn
        # uniformly. If some partitions are left out, weights are needed, because only weights exclude such
        # partitions.
        if len(queue_sizes) == layout.partitions and len(set(queue_sizes.values())) == 1:
            return
        # If no queue is in the client's rack, all queues count (KIP-1123).
        same_rack = {p: queue_sizes[p] for p in self._in_my_rack(list(queue_sizes), layout)}
        queues = same_rack or queue_sizes
        most = max(queues.values()) + 1
        self._load = _Load(list(queues), list(accumulate(most - size for size in queues.values())))

    def _next(self, layout: TopicLayout) -> int:
        return self.peek(layout)

    def _next_batch(self, count: int, layout: TopicLayout) -> NDArray[np.int32]:
        # An empty column must not draw a partition.
        return np.full(count, self.peek(layout) if count else 0, dtype=np.int32)

    def _move(self, layout: TopicLayout) -> None:
        """Draw the next partition; it may be the current one again, as in Java."""
        self._produced = 0
        drawn = to_positive(self._draw())
        if self._load is not None:
            # Choose the first entry that is strictly greater than the number that was drawn.
            index = bisect_right(self._load.cumulative, drawn % self._load.cumulative[-1])
            self._current = self._load.partitions[index]
            return
        available = range(layout.partitions) if layout.available is None else layout.available
        candidates = self._in_my_rack(available, layout) or available or range(layout.partitions)
        self._current = candidates[drawn % len(candidates)]

    def _in_my_rack(self, partitions: Sequence[int], layout: TopicLayout) -> list[int]:
        """Return the partitions whose leader is in the client's rack, in order; none if racks are unknown."""
        if self._rack is None or layout.racks is None:
            return []
        return [partition for partition in partitions if layout.racks[partition] == self._rack]


@dataclass(frozen=True, slots=True, kw_only=True)
class StickyPerBatch(UnkeyedStrategy):
    """Sticks to a partition until a new batch is opened there, then draws a different one (KIP-480).

    The Java client did this from 2.4 to 3.2: `DefaultPartitioner` with `keyed="java"`, else
    `UniformStickyPartitioner`. If the producer does not report new batches (`BatchAware`), the partition
    never changes.

    Attributes:
        keyed: profile that places keyed records; None ignores keys.
        random: makes a topic's source of random numbers. `seeded_source(7)` makes a source that returns the
            same numbers in each run.
    """

    random: RandomSource = unseeded_draw

    @property
    def name(self) -> str:
        """The strategy's name in the registry."""
        return "sticky-per-batch"

    def for_topic(self, topic: str) -> TopicStickyPerBatch:
        """Return a partitioner for one topic, with a current partition of its own."""
        return TopicStickyPerBatch(self, self.random(topic))


class TopicStickyPerBatch(UnkeyedTopic):
    """Holds the state of `StickyPerBatch` for one topic.

    Attributes:
        _current: the partition of unkeyed records; None until the first record or batch.
    """

    def __init__(self, settings: StickyPerBatch, draw: Draw) -> None:
        super().__init__(settings.keyed)
        self._draw = draw
        self._current: int | None = None

    def new_batch(self, partition: int, layout: TopicLayout) -> None:
        """Handle the start of a batch on this partition; if it is the current partition, draw another one."""
        if self._current is None or self._current == partition:
            self._current = self._another(layout)

    def _next(self, layout: TopicLayout) -> int:
        if self._current is None or self._current >= layout.partitions:
            self._current = self._another(layout)
        return self._current

    def _next_batch(self, count: int, layout: TopicLayout) -> NDArray[np.int32]:
        return np.full(count, self._next(layout) if count else 0, dtype=np.int32)

    def _another(self, layout: TopicLayout) -> int:
        """Draw a partition other than the current one, if another one has a leader."""
        available = range(layout.partitions) if layout.available is None else layout.available
        if not available:
            return to_positive(self._draw()) % layout.partitions
        if len(available) == 1:
            return available[0]
        # As in Java, draw until the partition is another one. There are at least two candidates, so this
        # ends.
        while True:
            drawn = available[to_positive(self._draw()) % len(available)]
            if drawn != self._current:
                return drawn


@dataclass(frozen=True, slots=True, kw_only=True)
class StickyByTime(UnkeyedStrategy):
    """Sticks to a partition for some milliseconds, then draws one at random (librdkafka).

    If the producer does not report the time (`TimeAware`), the partition never changes.

    Attributes:
        keyed: profile that places keyed records; None ignores keys.
        linger_ms: `sticky.partitioning.linger.ms`; 0 draws for each record.
        random: makes a topic's source of random numbers. `seeded_source(7)` makes a source that returns the
            same numbers in each run.
    """

    unkeyed_name: ClassVar[str] = "sticky-by-time"
    linger_ms: float = 10.0
    random: RandomSource = unseeded_draw

    def __post_init__(self) -> None:
        UnkeyedStrategy.__post_init__(self)
        if not self.linger_ms >= 0:
            raise InvalidConfigError(f"linger_ms is {self.linger_ms}; give 0 or more")

    def for_topic(self, topic: str) -> TopicStickyByTime:
        """Return a partitioner for one topic, with its current partition and the time when that was drawn."""
        return TopicStickyByTime(self, self.random(topic))


class TopicStickyByTime(UnkeyedTopic):
    """Holds the state of `StickyByTime` for one topic.

    Attributes:
        _now_ms: the time of the next records, in milliseconds on the caller's clock.
        _current: the partition of unkeyed records; None until the first one is placed.
        _since_ms: the time at which `_current` was drawn.
    """

    def __init__(self, settings: StickyByTime, draw: Draw) -> None:
        super().__init__(settings.keyed)
        self._linger_ms = settings.linger_ms
        self._draw = draw
        self._now_ms = 0.0
        self._current: int | None = None
        self._since_ms = 0.0

    def advance(self, now_ms: float) -> None:
        """Set the time of the next records."""
        self._now_ms = now_ms

    def _next(self, layout: TopicLayout) -> int:
        current = self._current
        if (
            current is None
            or self._linger_ms == 0
            or self._now_ms - self._since_ms > self._linger_ms
            or not _is_available(current, layout)
        ):
            current = self._current = self._random(layout)
            self._since_ms = self._now_ms
        return current

    def _next_batch(self, count: int, layout: TopicLayout) -> NDArray[np.int32]:
        if self._linger_ms == 0:
            return super()._next_batch(count, layout)
        drawn: list[int] = []
        # No time passes within a column. So once a partition with a leader is drawn, the rest of the column
        # goes there.
        while len(drawn) < count and not (drawn and _is_available(drawn[-1], layout)):
            drawn.append(self._next(layout))  # a partition without a leader is used for one record only
        return np.array(drawn + drawn[-1:] * (count - len(drawn)), dtype=np.int32)

    def _random(self, layout: TopicLayout) -> int:
        """Draw a partition; if it has no leader, draw and accept a second one, as librdkafka does."""
        drawn = to_positive(self._draw()) % layout.partitions
        return drawn if _is_available(drawn, layout) else to_positive(self._draw()) % layout.partitions


def _is_available(partition: int, layout: TopicLayout) -> bool:
    """Return whether a partition exists and has a leader."""
    if layout.available is None:
        return partition < layout.partitions
    return partition in layout.available


@dataclass(frozen=True, slots=True, kw_only=True)
class DefaultHash(Sticky):
    """Keyed records by hash, others sticky by bytes: the Java client's default since 3.3 (KIP-794)."""

    keyed: str | None = "java"

    @property
    def name(self) -> str:
        """The strategy's name in the registry."""
        return "default"
