"""The rules every partitioner keeps: ours do, and a fault is named."""

import inspect
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from partitioning import Partitioner, TopicLayout, get_partitioner, list_partitioners
from partitioning.profiles import PROFILES
from partitioning.sticky import Sticky
from partitioning.strategy import seeded
from partitioning.testing import check_partitioner

TEXT_ONLY = {name for name, profile in PROFILES.items() if profile.hash == "java-string"}


def seeded_partitioner(name: str) -> Partitioner:
    settings = inspect.signature(type(get_partitioner(name))).parameters
    return get_partitioner(name, **({"random": seeded(7)} if "random" in settings else {}))


@pytest.mark.parametrize("name", [info.name for info in list_partitioners()])
def test_ours_keep_the_rules(name: str) -> None:
    keys = [None, b"", b"key", "größe".encode(), None] if name in TEXT_ONLY else None
    check_partitioner(lambda: seeded_partitioner(name), keys=keys)


class Modulo:
    """A faultless strategy, to be broken one rule at a time."""

    name = "modulo"

    def for_topic(self, topic: str) -> "Modulo":
        return self

    def partition(self, key: bytes | None, layout: TopicLayout) -> int:
        return len(key or b"") % layout.partitions

    def partition_batch(self, keys: Sequence[bytes | None], layout: TopicLayout) -> NDArray[np.int32]:
        return np.array([self.partition(key, layout) for key in keys], np.int32)


class TooFar(Modulo):
    def partition(self, key: bytes | None, layout: TopicLayout) -> int:
        return layout.partitions


class Wide(Modulo):
    def partition_batch(self, keys: Sequence[bytes | None], layout: TopicLayout) -> NDArray[np.int32]:
        return super().partition_batch(keys, layout).astype(np.int64)  # type: ignore[return-value]


class OtherInColumns(Modulo):
    def partition_batch(self, keys: Sequence[bytes | None], layout: TopicLayout) -> NDArray[np.int32]:
        return np.zeros(len(keys), np.int32)


class SharesTopics(Modulo):
    def __init__(self) -> None:
        self.turn = -1

    def partition(self, key: bytes | None, layout: TopicLayout) -> int:
        self.turn += 1
        return self.turn % layout.partitions


class Nameless(Modulo):
    name = ""


def test_a_faultless_strategy_passes() -> None:
    check_partitioner(Modulo)


@pytest.mark.parametrize(
    ("strategy", "fault"),
    [
        (TooFar, "went to partition 1 of 1"),
        (Wide, "int64, not int32"),
        (OtherInColumns, "partition_batch disagrees"),
        (SharesTopics, "another topic changes the answer"),
        (Nameless, "has no name"),
        (object, "lacks `name` or `for_topic`"),
        (Sticky, "disagree"),
    ],
)
def test_a_broken_rule_is_named(strategy: type[Partitioner], fault: str) -> None:
    with pytest.raises(AssertionError, match=fault):
        check_partitioner(strategy)
