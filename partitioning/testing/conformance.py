"""What every partitioner must do, ours and a stranger's: call `check_partitioner` in a test of yours."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import numpy as np

from partitioning.interface import Partitioner, TopicLayout, TopicPartitioner

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

COUNTS = (1, 2, 3, 12, 100, 1000)


def check_partitioner(
    factory: Callable[[], Partitioner], *, keys: Sequence[bytes | None] | None = None
) -> None:
    """Raise an AssertionError that names the first rule this partitioner breaks.

    The rules: it is a `Partitioner`; every partition exists; `partition_batch` gives what as many calls of
    `partition` give, as int32; two new instances answer alike; neither two instances nor two topics of one
    instance disturb each other.

    Args:
        factory: makes a new instance, always with the same settings. A strategy that draws at random takes a
            seeded source, or it cannot be told from one that is wrong.
        keys: keys to place, for a strategy that takes only some, such as text; any bytes and None by default.
    """
    _is_a_partitioner(factory())
    keys = _keys() if keys is None else keys
    for count in COUNTS:
        layout = TopicLayout(count)
        scalar = _answers(factory().for_topic("orders"), keys, layout)
        _exist(scalar, keys, layout)
        again = _answers(factory().for_topic("orders"), keys, layout)
        _same(scalar, again, keys, "two new instances disagree")
        columnar = _column(factory().for_topic("orders"), keys, layout)
        _same(scalar, columnar, keys, "partition_batch disagrees with partition")
    _keeps_topics_apart(factory, keys)


def _keys() -> list[bytes | None]:
    source = random.Random(0)  # noqa: S311 - test data
    keys: list[bytes | None] = [None, b"", b"\x00", b"key", "größe".encode(), None]
    keys += [source.randbytes(length) for length in range(41) for _ in range(3)]
    keys += [None] * 20
    return keys


def _is_a_partitioner(made: object) -> None:
    assert isinstance(made, Partitioner), f"{made!r} lacks `name` or `for_topic`"
    assert made.name, f"{made!r} has no name"
    topic = made.for_topic("orders")
    assert isinstance(topic, TopicPartitioner), f"{topic!r} lacks `partition` or `partition_batch`"


def _answers(topic: TopicPartitioner, keys: Sequence[bytes | None], layout: TopicLayout) -> list[int]:
    return [topic.partition(key, layout) for key in keys]


def _column(topic: TopicPartitioner, keys: Sequence[bytes | None], layout: TopicLayout) -> list[int]:
    answers = topic.partition_batch(keys, layout)
    assert isinstance(answers, np.ndarray), f"partition_batch returned a {type(answers).__name__}"
    assert answers.dtype == np.int32, f"partition_batch returned {answers.dtype}, not int32"
    assert answers.shape == (len(keys),), f"partition_batch returned {answers.shape} for {len(keys)} keys"
    empty = topic.partition_batch([], layout)
    assert empty.shape == (0,), f"partition_batch returned shape {empty.shape} for no keys"
    return [int(answer) for answer in answers]


def _exist(answers: Sequence[int], keys: Sequence[bytes | None], layout: TopicLayout) -> None:
    for key, answer in zip(keys, answers, strict=True):
        fault = f"key {key!r} went to partition {answer} of {layout.partitions}"
        assert 0 <= answer < layout.partitions, fault


def _same(one: Sequence[int], other: Sequence[int], keys: Sequence[bytes | None], fault: str) -> None:
    for row, (left, right) in enumerate(zip(one, other, strict=True)):
        assert left == right, f"{fault}: key {keys[row]!r} in row {row} goes to {left} and to {right}"


def _keeps_topics_apart(factory: Callable[[], Partitioner], keys: Sequence[bytes | None]) -> None:
    layout = TopicLayout(12)
    alone = _answers(factory().for_topic("orders"), keys, layout)
    busy = factory()
    orders, payments = busy.for_topic("orders"), busy.for_topic("payments")
    among_others = []
    for key in keys:
        among_others.append(orders.partition(key, layout))
        payments.partition(key, layout)
    _same(alone, among_others, keys, "another topic changes the answer")
