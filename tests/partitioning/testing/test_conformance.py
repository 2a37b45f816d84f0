"""The rules every partitioner keeps: ours do, and a fault is named."""

import inspect
import sys
from itertools import count
from time import sleep

import numpy as np
import pytest
from numpy.typing import NDArray

from partitioning import (
    KeyColumn,
    Keys,
    Partitioner,
    TopicLayout,
    get_partitioner,
    key_column,
    list_partitioners,
)
from partitioning.profiles import PROFILES
from partitioning.sticky import Sticky
from partitioning.strategy import seeded_source
from partitioning.testing import check_partitioner
from tests.support.hanging import Hanging
from tests.support.tiers import sample

TEXT_ONLY = {name for name, profile in PROFILES.items() if profile.hash == "java-string"}


def seeded_partitioner(name: str) -> Partitioner:
    settings = inspect.signature(type(get_partitioner(name))).parameters
    return get_partitioner(name, **({"random": seeded_source(7)} if "random" in settings else {}))


@pytest.mark.sampled
@pytest.mark.parametrize("name", sample([info.name for info in list_partitioners()], 30, before_ci=4))
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

    def partition_batch(self, keys: Keys, layout: TopicLayout) -> NDArray[np.int32]:
        return np.array([self.partition(key, layout) for key in key_column(keys)], np.int32)


class TooFar(Modulo):
    def partition(self, key: bytes | None, layout: TopicLayout) -> int:
        return layout.partitions


class Below(Modulo):
    def partition(self, key: bytes | None, layout: TopicLayout) -> int:
        return -1 if key is None else 0


class NumpyInteger(Modulo):
    def partition(self, key: bytes | None, layout: TopicLayout) -> int:
        return np.int64(0)  # type: ignore[return-value]


class Wide(Modulo):
    def partition_batch(self, keys: Keys, layout: TopicLayout) -> NDArray[np.int32]:
        return super().partition_batch(keys, layout).astype(np.int64)  # type: ignore[return-value]


class AList(Modulo):
    def partition_batch(self, keys: Keys, layout: TopicLayout) -> NDArray[np.int32]:
        return super().partition_batch(keys, layout).tolist()  # type: ignore[return-value]


class Exits(Modulo):
    def partition_batch(self, keys: Keys, layout: TopicLayout) -> NDArray[np.int32]:
        sys.exit(0)


class OneTooMany(Modulo):
    def partition_batch(self, keys: Keys, layout: TopicLayout) -> NDArray[np.int32]:
        return np.append(super().partition_batch(keys, layout), np.int32(0))


class OtherInColumns(Modulo):
    def partition_batch(self, keys: Keys, layout: TopicLayout) -> NDArray[np.int32]:
        return np.zeros(len(key_column(keys)), np.int32)


class SharesTopics(Modulo):
    def __init__(self) -> None:
        self.turn = -1

    def partition(self, key: bytes | None, layout: TopicLayout) -> int:
        self.turn += 1
        return self.turn % layout.partitions


class SharesTheClass(Modulo):
    turn = count()

    def partition(self, key: bytes | None, layout: TopicLayout) -> int:
        return next(self.turn) % layout.partitions


class SharesAmongThreads(Modulo):
    """Notes the topic that is being worked on where every thread sees it."""

    def __init__(self) -> None:
        self.working_on = ""

    def for_topic(self, topic: str) -> "Modulo":
        return OfTopic(self, topic)


class OfTopic(Modulo):
    def __init__(self, shared: SharesAmongThreads, topic: str) -> None:
        self.shared, self.topic = shared, topic

    def partition(self, key: bytes | None, layout: TopicLayout) -> int:
        self.shared.working_on = self.topic
        sleep(1e-5)  # long enough for another thread
        return 1 % layout.partitions if self.shared.working_on == self.topic else 0


class RemembersItsSize(Modulo):
    """Takes the number of partitions it saw first for the number there is."""

    def __init__(self) -> None:
        self.partitions = 0

    def partition(self, key: bytes | None, layout: TopicLayout) -> int:
        self.partitions = self.partitions or layout.partitions
        return len(key or b"") % self.partitions


class OnlyLists(Modulo):
    def partition_batch(self, keys: Keys, layout: TopicLayout) -> NDArray[np.int32]:
        return np.array([self.partition(key, layout) for key in keys], np.int32)  # type: ignore[union-attr]


class EatsTheList(Modulo):
    def partition_batch(self, keys: Keys, layout: TopicLayout) -> NDArray[np.int32]:
        answers = super().partition_batch(keys, layout)
        if isinstance(keys, list):
            keys.reverse()
        return answers


class HashesAsPython(Modulo):
    def partition(self, key: bytes | None, layout: TopicLayout) -> int:
        return hash(key or b"") % layout.partitions


class ShortKeys(Modulo):
    def partition(self, key: bytes | None, layout: TopicLayout) -> int:
        return int.from_bytes(len(key or b"").to_bytes(2)) % layout.partitions


class LosesItsLeaders(Modulo):
    def partition(self, key: bytes | None, layout: TopicLayout) -> int:
        leaders = range(layout.partitions) if layout.available is None else layout.available
        return leaders[len(key or b"") % len(leaders)]


class Nameless(Modulo):
    name = ""


class ByKey(Modulo):
    """Says of all keys but null ones where they go."""

    def place_keys(self, keys: KeyColumn, num_partitions: int) -> NDArray[np.int32]:
        return np.array([-1 if key is None else len(key) % num_partitions for key in keys], np.int32)


class OtherByKey(ByKey):
    def place_keys(self, keys: KeyColumn, num_partitions: int) -> NDArray[np.int32]:
        return np.zeros(len(keys), np.int32)


class ByKeyUntilLeadersAreLost(ByKey):
    def partition(self, key: bytes | None, layout: TopicLayout) -> int:
        here = layout.available or range(layout.partitions)
        return here[len(key or b"") % len(here)]


class WideByKey(ByKey):
    def place_keys(self, keys: KeyColumn, num_partitions: int) -> NDArray[np.int32]:
        return super().place_keys(keys, num_partitions).astype(np.int64)  # type: ignore[return-value]


@pytest.mark.slow
@pytest.mark.live
@pytest.mark.parametrize("strategy", [Modulo, ByKey])
def test_a_faultless_strategy_passes(strategy: type[Partitioner]) -> None:
    check_partitioner(strategy)


def test_a_strategy_that_hangs_is_named_with_the_place(monkeypatch: pytest.MonkeyPatch) -> None:
    hanging = Hanging(monkeypatch)

    class Hangs(Modulo):
        def partition(self, key: bytes | None, layout: TopicLayout) -> int:
            hanging.begin(None)
            hanging.for_ever()
            raise LookupError

    with pytest.raises(AssertionError, match=r"(?s)within 0\.1 s; it is here:.*in partition\n *hanging\."):
        check_partitioner(Hangs, limit_s=0.1)
    hanging.end()


@pytest.mark.parametrize(
    ("strategy", "fault"),
    [
        (lambda: Modulo, "is a class; give a factory"),
        (object, "lacks `name` or `for_topic`"),
        (Nameless, "has no name"),
        (TooFar, "went to partition 1 of 1"),
        (Below, "went to partition -1 of 1"),
        (NumpyInteger, "of type int64 and not int"),
        (Wide, "int64, not int32"),
        (AList, "returned a list"),
        (OneTooMany, r"returned shape \(151,\) for 150 keys"),
        (OtherInColumns, "partition_batch disagrees"),
        (SharesTopics, "another topic or instance changes the answer"),
        (SharesTheClass, "two new instances disagree"),
        pytest.param(
            SharesAmongThreads, "another thread with another topic changes the answer", marks=pytest.mark.live
        ),
        (RemembersItsSize, "another number of partitions before, and has 1 now"),
        (OnlyLists, "(cannot take|answers otherwise for) an Arrow array"),
        (EatsTheList, "changes the list of keys"),
        pytest.param(HashesAsPython, "another hash seed answers otherwise", marks=pytest.mark.live),
        (ShortKeys, "partition raises OverflowError"),
        (LosesItsLeaders, r"raises ZeroDivisionError.* \(12 partitions, none of them with a leader\)"),
        (Sticky, "disagree"),
        (OtherByKey, "partition disagrees with place_keys .* goes to 0 and to"),
        (ByKeyUntilLeadersAreLost, r"disagrees with place_keys \(12 partitions, 4 of them with a leader\)"),
        (WideByKey, "place_keys returned int64, not int32"),
        (Exits, r"ends the process: SystemExit\(0\)"),
    ],
)
def test_a_broken_rule_is_named(strategy: type[Partitioner], fault: str) -> None:
    with pytest.raises(AssertionError, match=fault):
        check_partitioner(strategy)
