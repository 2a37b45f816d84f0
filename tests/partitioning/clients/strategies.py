"""Strategies for tests, which know what they were asked and told."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from partitioning.interface import TopicLayout
from partitioning.keys import Keys

Rule = Callable[[bytes | None, TopicLayout], object]


@dataclass
class Strategy:
    """A plug-in that places by a function of key and layout."""

    rule: Rule
    name: str = "test-strategy"
    topics: list[str] = field(default_factory=list)

    def for_topic(self, topic: str) -> "TopicStrategy":
        self.topics.append(topic)
        return TopicStrategy(self.rule)


@dataclass
class TopicStrategy:
    rule: Rule

    def partition(self, key: bytes | None, layout: TopicLayout) -> int:
        return self.rule(key, layout)  # type: ignore[return-value] # some tests want it wrong

    def partition_batch(self, keys: Keys, layout: TopicLayout) -> NDArray[np.int32]:
        raise AssertionError("a producer places one record at a time")


class InTurn:
    """A round robin that starts at partition 0 and loses count if two threads disturb each other."""

    def __init__(self) -> None:
        self.turn = 0

    def __call__(self, _: bytes | None, layout: TopicLayout) -> int:
        turn = self.turn
        time.sleep(1e-5)  # let another thread in
        self.turn = turn + 1
        return turn % layout.partitions


def by_first_byte(key: bytes | None, layout: TopicLayout) -> int:
    """The partition that the key's first byte says."""
    assert key is not None
    return key[0] % layout.partitions


def last(key: bytes | None, layout: TopicLayout) -> int:
    """The topic's last partition."""
    return layout.partitions - 1


@dataclass
class CountsBytes:
    """A strategy that counts bytes: partition 0 until told that its batches are full, then the next."""

    name: str = "counts-bytes"
    told: list[tuple[int, bool]] = field(default_factory=list)
    current: int = 0

    def for_topic(self, _: str) -> "CountsBytes":
        return self

    def partition(self, key: bytes | None, layout: TopicLayout) -> int:
        return self.peek(layout) if key is None else layout.partitions - 1

    def partition_batch(self, keys: Keys, layout: TopicLayout) -> NDArray[np.int32]:
        raise AssertionError("a producer places one record at a time")

    def peek(self, _: TopicLayout) -> int:
        return self.current

    def note_append(self, size: int, layout: TopicLayout, *, enable_switch: bool) -> None:
        self.told.append((size, enable_switch))
        if not size and enable_switch:
            self.current = (self.current + 1) % layout.partitions
