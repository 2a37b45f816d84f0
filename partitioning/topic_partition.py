"""The name of one partition."""

from typing import NamedTuple


class TopicPartition(NamedTuple):
    """A topic name and a partition number, ordered as a tuple."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"
