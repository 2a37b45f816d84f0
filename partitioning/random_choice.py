"""The strategy that draws a random partition for each unkeyed record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

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
class RandomChoice(UnkeyedStrategy):
    """Draws a partition for each record, among partitions that have a leader.

    Attributes:
        keyed: profile that places keyed records; None ignores keys.
        random: makes a topic's source of random numbers. `seeded_source(7)` makes a source that returns the
            same numbers in each run.
    """

    unkeyed_name: ClassVar[str] = "random"
    random: RandomSource = unseeded_draw

    def for_topic(self, topic: str) -> TopicRandomChoice:
        """Return a partitioner for one topic, whose only state is its source of random numbers."""
        return TopicRandomChoice(self, self.random(topic))


class TopicRandomChoice(UnkeyedTopic):
    """Places the records of one topic for `RandomChoice`."""

    def __init__(self, settings: RandomChoice, draw: Draw) -> None:
        """Take the strategy's settings and this topic's own source of random numbers."""
        super().__init__(settings.keyed)
        self._draw = draw

    def _next(self, layout: TopicLayout) -> int:
        # If no partition has a leader, all are candidates: the record waits for a leader in any case.
        candidates = layout.available or range(layout.partitions)
        return candidates[to_positive(self._draw()) % len(candidates)]
