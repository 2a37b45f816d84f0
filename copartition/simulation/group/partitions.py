"""Number the partitions of a scenario: one flat index for each that there will ever be."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from copartition.simulation.inputs.events import Create, Grow
from copartition.simulation.inputs.scenario import Scenario
from partitioning.kit.columns import bounds, ranges
from partitioning.topic_partition import TopicPartition


class Partitions:
    """The topics of a run, and their partitions by flat index, `first[topic] + number`.

    `counts` says which partitions exist now; topics keep room for all they will ever get.
    """

    def __init__(self, scenario: Scenario) -> None:
        counts = {topic.name: topic.partitions for topic in scenario.topics}
        most = dict(counts)
        for event in scenario.events:
            if isinstance(event, Create | Grow):
                counts.setdefault(event.topic, 0)
                most[event.topic] = max(most.get(event.topic, 0), event.partitions)
        self.topics = tuple(counts)  # names; topics created later at the end
        self.counts = list(counts.values())  # how many partitions each topic has now; 0 before it is created
        # Index of each topic's first partition, and the number of all.
        self.first = bounds(np.array([most[name] for name in self.topics], np.int64))
        self.total = int(self.first[-1])  # how many partitions there will ever be
        self._number = {name: number for number, name in enumerate(self.topics)}

    def present(self) -> NDArray[np.int32]:
        """Return the flat indexes of the partitions that exist now, ascending."""
        return ranges(self.first[:-1], np.array(self.counts, np.int64)).astype(np.int32)

    def topic(self, name: str) -> int:
        """Return the number of a topic, by its name."""
        return self._number[name]

    def name(self, partition: int) -> TopicPartition:
        """Return the topic and number of a partition, by its flat index."""
        topic = int(np.searchsorted(self.first, partition, side="right")) - 1
        return TopicPartition(self.topics[topic], partition - int(self.first[topic]))

    def matching(self, pattern: str, counts: Sequence[int]) -> tuple[str, ...]:
        """Return the existing topics that a pattern matches as a whole.

        A topic exists if `counts` is not 0 for it.
        """
        return tuple(
            name
            for name, count in zip(self.topics, counts, strict=True)
            if count and re.fullmatch(pattern, name)
        )

    def growth(self, topics: Iterable[int]) -> str:
        """Return a cause in words: the group has noticed that these topics have more partitions."""
        counts = (f"{self.topics[topic]} to {self.counts[topic]}" for topic in topics)
        return f"partitions added ({', '.join(counts)})"

    def grow(self, topic: str, count: int) -> NDArray[np.int32]:
        """Create a topic, or give it more partitions; return the flat indexes of these, ascending."""
        number = self._number[topic]
        start = int(self.first[number])
        new = np.arange(start + self.counts[number], start + count, dtype=np.int32)
        self.counts[number] = count
        return new
