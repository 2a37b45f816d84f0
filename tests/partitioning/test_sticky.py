"""The strategies that stick to a partition, against the Java classes and librdkafka's rule."""

from __future__ import annotations

from itertools import count, cycle

import pytest

from partitioning import TopicLayout, get_partitioner, partition_for_key
from partitioning.errors import InvalidConfigError, UnknownStrategyError
from partitioning.interface import NONE_AVAILABLE, BatchAware, BytesAware, LoadAware, TimeAware
from partitioning.sticky import Sticky, StickyByTime, StickyPerBatch
from partitioning.strategy import seeded_source
from tests.support.tiers import sample
from tools.oracle.clients import golden

SIX = TopicLayout(6)


class Source:
    """Numbers in turn, and how many were drawn."""

    def __init__(self, numbers):
        self.numbers = iter(numbers)
        self.drawn = 0

    def __call__(self):
        self.drawn += 1
        return next(self.numbers)


def cases(name):
    return [
        pytest.param(line["scenario"], line["answer"], id=str(i)) for i, line in enumerate(golden.read(name))
    ]


def layout_of(scenario):
    racks = dict(scenario["nodes"])
    leaders = dict(scenario["partitions"])
    return TopicLayout(
        len(leaders),
        [partition for partition, leader in leaders.items() if leader is not None] or NONE_AVAILABLE,
        [racks.get(leaders[partition]) for partition in range(len(leaders))],
    )


class JavaBuiltIn:
    """Does to a `Sticky` what the oracle did to Java's BuiltInPartitioner, step by step."""

    def __init__(self, scenario):
        self.layout = layout_of(scenario)
        self.source = Source(cycle(scenario["random"]))
        self.batch_size = scenario["batch_size"]
        settings = Sticky(
            batch_size=self.batch_size, client_rack=scenario["client_rack"], random=lambda _: self.source
        )
        self.topic = settings.for_topic(scenario["topic"])

    def answer(self, step):
        match step:
            case {"append": size, "switch": switch}:
                partition = self.topic.peek(self.layout)
                before = self.source.drawn
                self.topic.note_append(size, self.layout, enable_switch=switch)
                return {
                    "partition": partition,
                    "switched": self.source.drawn > before,
                    "drawn": self.source.drawn,
                }
            case {"keyed": _}:
                return {"drawn": self.source.drawn}
            case {"picks": picks}:
                return {"picks": [self.pick() for _ in range(picks)], "drawn": self.source.drawn}
        raise AssertionError(step)

    def update_load(self, load):
        if load is None:
            self.topic.update_load(None, self.layout)
            return
        racks = dict(zip(load["partition_ids"], load["racks"], strict=True))
        sizes = dict(list(zip(load["partition_ids"], load["queue_sizes"], strict=True))[: load["length"]])
        layout = TopicLayout(len(racks), racks=[racks[partition] for partition in range(len(racks))])
        self.topic.update_load(sizes, layout)

    def pick(self):
        self.topic.peek(self.layout)
        self.topic.note_append(2 * self.batch_size, self.layout, enable_switch=False)
        return self.topic.peek(self.layout)


@pytest.mark.parametrize(("scenario", "answer"), sample(cases("strategies/built_in"), 3))
def test_sticky_does_as_the_java_client(scenario, answer):
    if "exception" in answer:
        with pytest.raises(InvalidConfigError):
            JavaBuiltIn(scenario)
        return
    java = JavaBuiltIn(scenario)
    answered = 0
    for step, expected in zip(scenario["steps"], answer["steps"], strict=True):
        if "load" in step:
            java.update_load(step["load"])
        else:
            assert java.answer(step) == expected
            answered += 1
    assert answered


@pytest.mark.parametrize(("scenario", "answer"), cases("strategies/sticky_cache"))
def test_sticky_per_batch_does_as_the_java_client_2_4(scenario, answer):
    available = [partition for partition, has_leader in scenario["partitions"] if has_leader]
    layout = TopicLayout(len(scenario["partitions"]), available or NONE_AVAILABLE)
    source = Source(answer["random"])
    keyed = "java" if scenario["class"] == "DefaultPartitioner" else None
    topic = StickyPerBatch(keyed=keyed, random=lambda _: source).for_topic("topic")
    last = -1
    for step, expected in zip(scenario["steps"], answer["partitions"], strict=True):
        if "new_batch" in step:
            topic.new_batch(last if step["new_batch"] is None else step["new_batch"], layout)
        else:
            last = topic.partition(None if step["key"] is None else bytes.fromhex(step["key"]), layout)
            assert last == expected
    assert source.drawn == len(answer["random"])


def test_a_shorter_queue_is_drawn_more_often():
    topic = Sticky(batch_size=1, random=lambda _: Source(count())).for_topic("topic")
    topic.update_load({0: 0, 1: 3, 2: 1}, TopicLayout(3))
    picks = []
    for _ in range(8):
        picks.append(topic.peek(TopicLayout(3)))
        topic.note_append(1, TopicLayout(3), enable_switch=True)
    assert picks == [0, 0, 0, 0, 1, 2, 2, 2]


@pytest.mark.parametrize("strategy", [Sticky, StickyPerBatch, StickyByTime])
@pytest.mark.parametrize("left", [3, 11])  # 11: the partition is just beyond the others
def test_a_partition_that_is_gone_is_left(strategy, left):
    topic = strategy(random=lambda _: Source([11, 1])).for_topic("topic")
    assert topic.partition(None, TopicLayout(12)) == 11
    assert topic.partition(None, TopicLayout(left)) == 1


def test_default_hashes_keyed_records_and_sticks_with_the_others():
    topic = get_partitioner("default", random=lambda _: Source([3])).for_topic("topic")
    key = partition_for_key(b"key", 6)
    assert [topic.partition(k, SIX) for k in (None, b"key", None)] == [3, key, 3]


def test_a_column_of_keyed_records_draws_nothing():
    source = Source([])
    assert get_partitioner("default", random=lambda _: source).for_topic("topic").partition_batch(
        [b"key"], SIX
    ).tolist() == [partition_for_key(b"key", 6)]
    assert Sticky(random=lambda _: source).for_topic("topic").partition_batch([], SIX).tolist() == []


@pytest.mark.parametrize("strategy", [Sticky, StickyPerBatch, StickyByTime])
def test_a_column_is_drawn_like_its_records(strategy):
    keys = [b"a", None, b"b", None, b""]
    one_by_one, column = (
        strategy(keyed="java", random=lambda _: Source([4, 5])).for_topic("topic") for _ in range(2)
    )
    assert column.partition_batch(keys, SIX).tolist() == [one_by_one.partition(key, SIX) for key in keys]


def test_sticky_by_time_moves_after_its_linger():
    topic = StickyByTime(linger_ms=10, random=lambda _: Source([1, 2, 3])).for_topic("topic")
    partitions = []
    for now_ms in (100, 105, 110, 110.5, 120, 121):
        topic.advance(now_ms)
        partitions.append(topic.partition(None, SIX))
    assert partitions == [1, 1, 1, 2, 2, 3]


def test_sticky_by_time_draws_again_for_a_partition_without_leader():
    topic = StickyByTime(random=lambda _: Source([0, 1, 2, 3])).for_topic("topic")
    assert topic.partition(None, TopicLayout(6, [2, 3])) == 1  # the second draw counts, whatever it gives
    assert topic.partition(None, TopicLayout(6, [2, 3])) == 2


def test_sticky_by_time_without_linger_draws_for_each_record():
    topic = StickyByTime(linger_ms=0, random=lambda _: Source([1, 2, 3])).for_topic("topic")
    assert [topic.partition(None, SIX), *topic.partition_batch([None, None], SIX)] == [1, 2, 3]


def test_powers():
    powers = {BytesAware, LoadAware, BatchAware, TimeAware}
    made = {
        "sticky": {BytesAware, LoadAware},
        "default": {BytesAware, LoadAware},
        "sticky-per-batch": {BatchAware},
        "sticky-by-time": {TimeAware},
        "round-robin": set(),
        "random": set(),
    }
    for name, expected in made.items():
        topic = get_partitioner(name).for_topic("topic")
        assert {power for power in powers if isinstance(topic, power)} == expected


@pytest.mark.parametrize(
    ("name", "config", "message"),
    [
        ("sticky", {"batch_size": 0}, "batch_size is 0"),
        ("sticky", {"client_rack": " "}, "client_rack is blank"),
        ("sticky-by-time", {"linger_ms": -1}, "linger_ms is -1"),
        ("sticky-by-time", {"linger_ms": float("nan")}, "linger_ms is nan"),
    ],
)
def test_a_setting_without_meaning_is_refused(name, config, message):
    with pytest.raises(InvalidConfigError, match=message):
        get_partitioner(name, **config)


@pytest.mark.parametrize("name", ["random", "sticky", "sticky-per-batch"])
def test_keyed_records_may_be_placed_as_a_tool_places_them(name: str) -> None:
    topic = get_partitioner(name, keyed="kcat").for_topic("orders")
    assert topic.partition(b"order-42", TopicLayout(12)) == partition_for_key(
        b"order-42", 12, profile="librdkafka"
    )


@pytest.mark.parametrize("name", ["sticky", "sticky-per-batch", "sticky-by-time", "round-robin", "random"])
def test_an_unknown_profile_is_refused_at_once(name):
    with pytest.raises(UnknownStrategyError, match="no profile 'jvm'"):
        get_partitioner(name, keyed="jvm")


def test_a_negative_byte_count_is_refused():
    with pytest.raises(InvalidConfigError, match="-1 bytes"):
        Sticky().for_topic("topic").note_append(-1, SIX, enable_switch=True)


def test_sticky_by_time_draws_for_each_record_until_a_partition_has_a_leader() -> None:
    layout = TopicLayout(12, available=[7])
    one, other = (StickyByTime(random=seeded_source(3)).for_topic("t") for _ in range(2))
    assert other.partition_batch([None] * 40, layout).tolist() == [
        one.partition(None, layout) for _ in range(40)
    ]
