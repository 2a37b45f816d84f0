"""Plug-ins that place by key alone, where a profile's name is taken."""

from __future__ import annotations

import re
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from partitioning import (
    TopicLayout,
    get_partitioner,
    grow,
    key_column,
    partition_batch,
    partition_for_key,
    partitioners,
    placement,
)
from partitioning.errors import (
    BrokenPluginError,
    InvalidKeyError,
    InvalidPartitionCountError,
    MisplacedRecordError,
    UnknownStrategyError,
)
from partitioning.profiles import find_profile

PAGE = Path(__file__).parents[2] / "docs" / "plugins.md"
KEYS = [b"four", None, b"eleven letters", b""]


class ByLength:
    """Places a key by its length; an empty one and none at all do not decide."""

    name = "by-length"

    def for_topic(self, topic):
        raise AssertionError("no topic is needed")

    def place_keys(self, keys, num_partitions):
        return np.array([len(key) % num_partitions if key else -1 for key in keys], np.int32)


class Answers(ByLength):
    """Gives the same answer to everything."""

    def __init__(self, answer):
        self.answer = answer

    def place_keys(self, keys, num_partitions):
        return self.answer


class WithState:
    """Does not say that it places by key alone."""

    name = "with-state"
    for_topic = ByLength.for_topic


@pytest.fixture
def registered(monkeypatch):
    """Registers partitioners for one test."""
    monkeypatch.setattr(partitioners.PARTITIONERS, "_registered", {})
    placement._plug_in.cache_clear()
    yield partitioners.register_partitioner
    placement._plug_in.cache_clear()


@pytest.fixture
def by_length(registered):
    registered("by-length", ByLength)


@pytest.mark.usefixtures("by_length")
@pytest.mark.parametrize(("key", "expected"), [*zip(KEYS, [4, None, 2, None], strict=True)])
def test_one_key_is_placed(key, expected):
    assert partition_for_key(key, 12, profile="by-length") == expected


def test_the_method_that_the_page_shows_places_by_length():
    (shown,) = [
        block
        for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
        if "ByLength" in block
    ]
    names = {}
    exec(shown, names)
    column = key_column(KEYS)
    assert names["ByLength"]().place_keys(column, 12).tolist() == [4, -1, 2, 0]


@pytest.mark.usefixtures("by_length")
def test_a_column_is_placed():
    assert partition_batch(KEYS, 12, profile="by-length").tolist() == [4, -1, 2, -1]


@pytest.mark.usefixtures("by_length")
def test_growth_is_that_of_the_plug_in():
    growth = grow(KEYS, 6, 12, profile="by-length")
    assert (growth.moved.tolist(), growth.keyed) == ([False, False, False, False], 2)
    assert grow(KEYS, 3, 12, profile="by-length").moved.tolist() == [True, False, False, False]


@pytest.mark.usefixtures("by_length")
@pytest.mark.parametrize("name", ["default", "sticky", "sticky-by-time", "round-robin", "random"])
def test_a_partitioner_of_ours_leaves_keys_to_it(name):
    topic = get_partitioner(name, keyed="by-length").for_topic("orders")
    layout = TopicLayout(100)
    assert [topic.partition(key, layout) for key in (b"four", b"sixsix")] == [4, 6]
    assert topic.partition_batch([b"four", b"sixsix"], layout).tolist() == [4, 6]
    assert 0 <= topic.partition(None, layout) < 100


@pytest.mark.usefixtures("by_length")
@pytest.mark.parametrize(
    ("key", "count", "error"),
    [("text", 12, InvalidKeyError), *[(b"key", count, InvalidPartitionCountError) for count in (0, True)]],
)
def test_what_is_no_key_or_count_is_refused(key, count, error):
    with pytest.raises(error):
        partition_for_key(key, count, profile="by-length")
    with pytest.raises(error):
        partition_batch([key], count, profile="by-length")


ASKS = {
    "one key": partial(partition_for_key, b"key", 12),
    "a column": partial(partition_batch, [b"key"], 12),
    "growth": partial(grow, [b"key"], 6, 12),
    "keyed": lambda profile: get_partitioner("sticky", keyed=profile),
}


@pytest.mark.parametrize("ask", ASKS.values(), ids=ASKS)
def test_one_that_does_not_place_by_key_alone_is_refused(registered, ask):
    registered("with-state", WithState)
    with pytest.raises(UnknownStrategyError, match=r"'with-state' does not place by key alone.*for_topic"):
        ask(profile="with-state")


@pytest.mark.usefixtures("by_length")
@pytest.mark.parametrize("ask", ASKS.values(), ids=ASKS)
def test_an_unknown_name_is_refused_with_close_ones(ask):
    with pytest.raises(UnknownStrategyError, match="no profile 'by-lenght'; did you mean by-length"):
        ask(profile="by-lenght")


@pytest.mark.parametrize("name", ["sticky", "default"])
def test_a_partitioner_of_ours_that_is_no_profile_is_refused(name):
    with pytest.raises(UnknownStrategyError, match=f"no profile '{name}'"):
        partition_for_key(b"key", 12, profile=name)


@pytest.mark.usefixtures("by_length")
def test_where_a_hash_is_needed_a_plug_in_is_refused():
    with pytest.raises(UnknownStrategyError, match=r"'by-length' is a plug-in.*docs/plugins\.md"):
        find_profile("by-length")


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        ([3], BrokenPluginError, r"'odd' answered 1 keys with \[3\]"),
        (np.array([0.5]), BrokenPluginError, "integer array"),
        (np.array([1, 2]), BrokenPluginError, r"shape \(1,\)"),
        (np.array([12]), MisplacedRecordError, "row 0, b'key', into partition 12; the topic has 0 to 11"),
        (np.array([-2]), MisplacedRecordError, "into partition -2"),
    ],
)
def test_an_answer_that_is_none_is_refused(registered, answer, error, message):
    registered("odd", partial(Answers, answer))
    with pytest.raises(error, match=message):
        partition_for_key(b"key", 12, profile="odd")


def test_a_plug_in_that_ends_the_process_is_named(registered):
    class Exits(ByLength):
        def place_keys(self, keys, num_partitions):
            sys.exit(0)

    registered("odd", Exits)
    with pytest.raises(BrokenPluginError, match="partitioner 'odd' ends the process in `place_keys`"):
        partition_for_key(b"key", 12, profile="odd")


def test_another_integer_type_is_taken(registered):
    registered("odd", partial(Answers, np.array([11], np.int64)))
    assert partition_batch([b"key"], 12, profile="odd").dtype == np.int32
