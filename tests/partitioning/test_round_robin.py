"""Round robin and the order it follows, against Java's class, its metadata cache and real producers."""

from __future__ import annotations

import pytest

from partitioning import TopicLayout, get_partitioner
from partitioning.errors import InvalidConfigError, InvalidKeyError
from partitioning.interface import NONE_AVAILABLE, BatchAware
from partitioning.record_size import BATCH_OVERHEAD, MAX_RECORD_OVERHEAD, payload_size, record_size
from partitioning.round_robin import RoundRobin, metadata_order
from tests.support.tiers import sample
from tools.oracle.clients import golden


def cases(name):
    return [
        pytest.param(line["scenario"], line["answer"], id=str(i)) for i, line in enumerate(golden.read(name))
    ]


@pytest.mark.parametrize(("scenario", "answer"), sample(cases("strategies/round_robin"), 4))
def test_round_robin_does_as_the_java_class(scenario, answer):
    listed = {topic: step for steps in answer["steps"] for topic, step in steps.items()}
    counters = scenario["counters"]
    topics = {topic: RoundRobin(start=counters.get(topic, 0)).for_topic(topic) for topic in scenario["ask"]}
    layouts = {
        topic: TopicLayout(len(listed[topic]["all"]), listed[topic]["available"] or NONE_AVAILABLE)
        for topic in scenario["ask"]
    }
    picks = [topics[topic].partition(None, layouts[topic]) for topic in scenario["picks"]]
    assert picks == answer["picks"]


@pytest.mark.parametrize(
    ("topic", "expected"),
    [
        ("topic1", [1, 0, 2]),
        ("topic1", [1, 0, 3, 2, 5, 4]),
        ("topic1", [1, 0, 3, 2, 9, 8, 5, 4, 7, 6]),
        ("orders", [7, 8, 9, 0, 1, 2, 3, 4, 5, 6]),
        ("t", [5, 4, 3, 2, 1, 0]),
    ],
)
def test_a_client_that_knows_one_topic_only(topic, expected):
    assert metadata_order(topic, len(expected)).tolist() == expected
    assert RoundRobin().for_topic(topic).partition_batch([None] * 7, TopicLayout(len(expected))).tolist() == [
        expected[i % len(expected)] for i in range(7)
    ]


class Batch:
    """A batch of records without keys, as far as its room goes."""

    def __init__(self, batch_size, value_size):
        self.limit = max(batch_size, BATCH_OVERHEAD + MAX_RECORD_OVERHEAD + payload_size(-1, value_size))
        self.size = BATCH_OVERHEAD
        self.records = 0

    def try_append(self, value_size):
        """Whether the record found room; one that does not closes the batch."""
        added = record_size(payload_size(-1, value_size), self.records, 0)
        if self.records and self.size + added > self.limit:
            self.limit = 0
            return False
        self.size += added
        self.records += 1
        return True


def produced(partitioner, scenario, answer):
    """Where records without keys go while no batch leaves before the end."""
    topic = partitioner.for_topic(scenario["topic"])
    layout = TopicLayout(scenario["partitions"], answer["available"])
    batches = {}
    for value_size in scenario["value_sizes"]:

        def try_append(partition, value_size=value_size):
            return partition in batches and batches[partition].try_append(value_size)

        partition = topic.partition(None, layout)
        appended = try_append(partition)
        if not appended and isinstance(topic, BatchAware):
            topic.new_batch(partition, layout)
            partition = topic.partition(None, layout)
            appended = try_append(partition)
        if not appended:
            batches[partition] = Batch(scenario["batch_size"], value_size)
            batches[partition].try_append(value_size)
        yield partition


@pytest.mark.parametrize(("version", "double_advance"), [("3.9.1", True), ("3.9.2", False), ("4.4.0", False)])
def test_real_producers(version, double_advance):
    for line in sample(golden.read(f"strategies/producer-{version}"), 4):
        partitioner = RoundRobin(double_advance=double_advance)
        scenario, answer = line["scenario"], line["answer"]
        assert list(produced(partitioner, scenario, answer)) == answer["partitions"], scenario["topic"]


def test_the_double_advance_starves_half_of_an_even_topic():
    (line,) = (
        line
        for line in golden.read("strategies/producer-3.9.1")
        if line["scenario"]["topic"] == "round-robin-same-6-1"
    )
    partitions = list(produced(RoundRobin(double_advance=True), line["scenario"], line["answer"]))
    assert len(set(partitions)) == 3
    assert partitions == line["answer"]["partitions"]


@pytest.mark.parametrize("start", [0, 2**31 - 3, -3])
def test_a_column_counts_like_its_records(start):
    layout = TopicLayout(5, [4, 2, 0])
    one_by_one, column = (RoundRobin(start=start).for_topic("topic") for _ in range(2))
    expected = [one_by_one.partition(None, layout) for _ in range(20)]
    answered = [*column.partition_batch([None] * 7, layout), *column.partition_batch([b"key"] * 13, layout)]
    assert answered == expected


def test_topics_count_apart():
    partitioner = RoundRobin()
    first, second = partitioner.for_topic("t"), partitioner.for_topic("t")
    assert first.partition(None, TopicLayout(6)) == second.partition(None, TopicLayout(6)) == 5


def test_other_clients_count_from_zero_up():
    topic = get_partitioner("kafka-go-hash").for_topic("t")
    assert topic.partition_batch([None] * 4, TopicLayout(3)).tolist() == [0, 1, 2, 0]
    assert RoundRobin(order="ascending").for_topic("t").partition(None, TopicLayout(6, [5, 2])) == 2


def test_a_grown_topic_is_followed():
    topic = RoundRobin(order="ascending").for_topic("t")
    partitions = [topic.partition(None, TopicLayout(count)) for count in (2, 2, 2, 4)]
    assert partitions == [0, 1, 0, 3]


def test_an_order_without_meaning_is_refused():
    with pytest.raises(InvalidConfigError, match="order is 'descending'"):
        RoundRobin(order="descending")


def test_a_key_of_another_type_is_refused_though_keys_do_not_matter():
    topic = RoundRobin().for_topic("t")
    with pytest.raises(InvalidKeyError, match="is str, not bytes"):
        topic.partition("key", TopicLayout(3))
    with pytest.raises(InvalidKeyError, match="key in row 0 is str"):
        topic.partition_batch(["key"], TopicLayout(3))
