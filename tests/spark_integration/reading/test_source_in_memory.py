"""What Spark asks of the source, and what that asks of a cluster that is made up."""

from __future__ import annotations

import json
import pickle
from importlib import import_module
from threading import Lock
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType

from partitioning.errors import InvalidConfigError
from spark_integration.errors import ColumnError, DataLossError
from spark_integration.reading.cluster import OffsetRange

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

pytestmark = pytest.mark.needs("data sources")

Place = tuple[str, int]
OPTIONS = {"bootstrap.servers": "b:1", "subscribe": "t"}
FIRSTS = {("t", 0): 10, ("t", 1): 20, ("t", 2): 0}
ENDS = {("t", 0): 5_010, ("t", 1): 1_020, ("t", 2): 0}


class Cluster:
    """A cluster that is made up; a lock in it keeps it out of what is pickled.

    Attributes:
        clusters: all that were made for a test.
        fails: what each question raises; None if it is answered.
    """

    clusters: list[Cluster]
    firsts: Mapping[Place, int]
    ends: Mapping[Place, int]
    fails: Exception | None

    def __init__(self, config: Mapping[str, str]) -> None:
        self.config, self.is_open, self._lock = config, True, Lock()
        self.clusters.append(self)

    def __enter__(self) -> Cluster:  # noqa: PYI034 - a fixture sets its attributes
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.is_open = False

    def places(self, topics: Iterable[str], assigned: frozenset[Place] | None = None) -> list[Place]:
        if self.fails:
            raise self.fails
        return [place for place in self.ends if place[0] in topics and (not assigned or place in assigned)]

    def earliest(self, places: Iterable[Place]) -> dict[Place, int]:
        return {place: self.firsts[place] for place in places}

    def latest(self, places: Iterable[Place]) -> dict[Place, int]:
        return {place: self.ends[place] for place in places}


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> type[Cluster]:
    """What `Cluster` is to the source, whose offsets a test may change."""
    attributes = {"clusters": [], "firsts": FIRSTS, "ends": ENDS, "fails": None}
    made: type[Cluster] = type("Cluster", (Cluster,), attributes)
    monkeypatch.setattr("spark_integration.reading.source.Cluster", made)
    return made


def source(**options: str) -> Any:
    return import_module("spark_integration.reading.source").KafkaDataSource(OPTIONS | options)


def batch(**options: str) -> Any:
    own = source(**options)
    return own.reader(own.schema())


def stream(**options: str) -> Any:
    own = source(**options)
    return own.streamReader(own.schema())


def tasks(partitions: Any) -> list[list[OffsetRange]]:
    return [[OffsetRange(*offsets) for offsets in partition.value] for partition in partitions]


# Columns.


def test_columns_are_those_of_sparks_own_source() -> None:
    shown = [(field.name, field.dataType.simpleString()) for field in source(includeHeaders="true").schema()]
    assert shown == [
        ("key", "binary"),
        ("value", "binary"),
        ("topic", "string"),
        ("partition", "int"),
        ("offset", "bigint"),
        ("timestamp", "timestamp"),
        ("timestampType", "int"),
        ("headers", "array<struct<key:string,value:binary>>"),
    ]


def test_headers_are_shown_on_demand_only() -> None:
    assert "headers" not in source().schema().names


def test_the_partition_column_says_whose_topics_it_is_and_no_other_does() -> None:
    schema = source(subscribe="u, t").schema()
    assert [(field.name, [*field.metadata.values()]) for field in schema if field.metadata] == [
        ("partition", ["t, u"])
    ]


@pytest.mark.parametrize("column", [StructField("price", LongType()), StructField("offset", StringType())])
@pytest.mark.parametrize("kind", ["reader", "streamReader"])
def test_a_column_that_the_source_has_not_is_refused(kind: str, column: StructField) -> None:
    told = rf"no column '{column.name} {column.dataType.simpleString()}', only key binary, value binary, "
    with pytest.raises(ColumnError, match=told):
        getattr(source(), kind)(StructType([column]))


@pytest.mark.parametrize("kind", ["reader", "streamReader"])
@pytest.mark.parametrize("headers", ["true", "false"])
def test_a_task_reads_the_wanted_columns_of_its_ranges(
    monkeypatch: pytest.MonkeyPatch, kind: str, headers: str
) -> None:
    asked: list[Any] = []

    def read(ranges: list[OffsetRange], config: Any, schema: Any, *, fail_on_data_loss: bool) -> Any:
        asked.append((ranges, config["bootstrap.servers"], schema, fail_on_data_loss))
        return iter(["a batch"])

    monkeypatch.setattr("spark_integration.reading.source.read_ranges", read)
    wanted = StructType(
        [StructField("offset", LongType(), nullable=False), StructField("partition", IntegerType())]
    )
    reader = getattr(source(failOnDataLoss=headers), kind)(wanted)
    partition = SimpleNamespace(value=(("t", 0, 10, 20), ("t", 1, 5, 6)))
    assert [*reader.read(partition)] == ["a batch"]
    [(ranges, servers, schema, fails)] = asked
    assert ranges == [OffsetRange("t", 0, 10, 20), OffsetRange("t", 1, 5, 6)]
    assert (servers, fails) == ("b:1", headers == "true")
    assert [(field.name, str(field.type), field.nullable) for field in schema] == [
        ("offset", "int64", False),
        ("partition", "int32", True),
    ]


@pytest.mark.parametrize("partition", [None, SimpleNamespace(value=None)])
def test_a_task_of_nothing_reads_nothing(partition: Any) -> None:
    assert [*batch().read(partition)] == []


# Options of the other kind of read.


@pytest.mark.parametrize("name", ["maxOffsetsPerTrigger", "maxoffsetspertrigger"])
def test_a_batch_has_no_option_of_a_stream(name: str) -> None:
    with pytest.raises(InvalidConfigError, match="option 'maxOffsetsPerTrigger' is for a stream only"):
        batch(**{name: "5"})


@pytest.mark.parametrize("name", ["endingOffsets", "ENDINGOFFSETS"])
def test_a_stream_has_no_option_of_a_batch(name: str) -> None:
    with pytest.raises(InvalidConfigError, match="option 'endingOffsets' is for a batch only"):
        stream(**{name: "latest"})


def test_a_spark_that_reads_all_there_is_refuses_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spark_integration.reading.source.admission", None)
    with pytest.raises(InvalidConfigError, match=r"'maxOffsetsPerTrigger' needs Spark 4\.2 or newer"):
        stream(maxOffsetsPerTrigger="5")
    assert stream().read(None) is not None


# A batch.


@pytest.mark.parametrize(
    ("options", "ranges"),
    [
        ({}, [("t", 0, 10, 5_010), ("t", 1, 20, 1_020)]),
        (
            {"startingOffsets": "earliest", "endingOffsets": "latest"},
            [("t", 0, 10, 5_010), ("t", 1, 20, 1_020)],
        ),
        (
            {"startingOffsets": '{"t": {"0": 30, "1": -2, "2": -1}}'},
            [("t", 0, 30, 5_010), ("t", 1, 20, 1_020)],
        ),
        (
            {"endingOffsets": '{"t": {"0": 30, "1": -1, "2": 7}}'},
            [("t", 0, 10, 30), ("t", 1, 20, 1_020), ("t", 2, 0, 7)],
        ),
        ({"assign": '{"t": [1]}', "subscribe": ""}, [("t", 1, 20, 1_020)]),
    ],
)
def test_a_batch_reads_from_one_position_to_another(
    cluster: type[Cluster], options: dict[str, str], ranges: list[tuple[str, int, int, int]]
) -> None:
    found = tasks(batch(**options).partitions())
    assert [offsets for task in found for offsets in task] == ranges
    assert [(made.config["bootstrap.servers"], made.is_open) for made in cluster.clusters] == [("b:1", False)]


def test_small_partitions_share_a_task_unless_a_number_of_tasks_is_asked_for(cluster: type[Cluster]) -> None:
    cluster.ends = {("t", 0): 5_010, ("t", 1): 1_020, ("t", 2): 900}
    assert [len(task) for task in tasks(batch().partitions())] == [1, 2]
    assert [len(task) for task in tasks(batch(minPartitions="2").partitions())] == [1, 1, 1]
    assert tasks(batch(minPartitions="12").partitions())[:2] == [
        [OffsetRange("t", 0, 10, 565)],
        [OffsetRange("t", 0, 565, 1_121)],
    ]


@pytest.mark.parametrize("starting", ["latest", "LATEST"])
def test_a_batch_from_the_end_reads_nothing_and_is_refused(cluster: type[Cluster], starting: str) -> None:
    with pytest.raises(InvalidConfigError, match="'startingOffsets' of a batch cannot be 'latest'"):
        batch(startingOffsets=starting).partitions()
    assert [made.is_open for made in cluster.clusters] == [False]


@pytest.mark.parametrize(
    ("option", "offsets", "see"),
    [
        ("startingOffsets", {"t": {"0": 1}}, "see t-1, t-2$"),
        ("endingOffsets", {"t": {"0": 1, "1": 1, "2": 1, "3": 1}}, "see t-3$"),
        ("endingOffsets", {"u": {"0": 1, "1": 1}}, "see t-0, t-1, t-2, u-0, u-1$"),
        ("endingOffsets", {"u": {"0": 1, "1": 1, "2": 1}}, r"see t-0, t-1, t-2, u-0, u-1 \.\.\.$"),
    ],
)
@pytest.mark.usefixtures("cluster")
def test_offsets_of_other_partitions_than_there_are_are_named(
    option: str, offsets: dict[str, dict[str, int]], see: str
) -> None:
    told = rf"option '{option}' must give an offset for every partition of the topics, .*: {see}"
    with pytest.raises(InvalidConfigError, match=told):
        batch(**{option: json.dumps(offsets)}).partitions()


@pytest.mark.needs("filter pushdown")
@pytest.mark.usefixtures("cluster")
def test_a_batch_reads_what_filters_leave() -> None:
    condition = import_module("pyspark.sql.datasource").EqualTo(("partition",), 1)
    reader = batch()
    assert reader.pushFilters([condition]) == [condition]
    assert tasks(reader.partitions()) == [[OffsetRange("t", 1, 20, 1_020)]]


# A stream: where it begins and how far it goes.

MANY = {(topic, number): 5 for topic in "ut" for number in (11, 10, *range(10))}


@pytest.mark.parametrize("ask", ["initialOffset", "latestOffset"])
def test_positions_are_written_in_one_order_for_spark_compares_them_as_texts(
    cluster: type[Cluster], ask: str
) -> None:
    cluster.ends = cluster.firsts = MANY
    position = getattr(stream(subscribe="u,t"), ask)()
    ordered = {topic: {str(number): 5 for number in range(12)} for topic in "tu"}
    assert json.dumps(position) == json.dumps(ordered)


@pytest.mark.parametrize(
    ("starting", "position"),
    [
        (None, {"0": 5_010, "1": 1_020, "2": 0}),
        ("latest", {"0": 5_010, "1": 1_020, "2": 0}),
        ("earliest", {"0": 10, "1": 20, "2": 0}),
        ('{"t": {"0": 30, "1": -2, "2": -1}}', {"0": 30, "1": 20, "2": 0}),
    ],
)
@pytest.mark.usefixtures("cluster")
def test_a_stream_begins_at_the_end_unless_told(starting: str | None, position: dict[str, int]) -> None:
    options = {} if starting is None else {"startingOffsets": starting}
    assert stream(**options).initialOffset() == {"t": position}


@pytest.mark.usefixtures("cluster")
def test_a_position_to_begin_with_has_every_partition() -> None:
    with pytest.raises(InvalidConfigError, match=r"'startingOffsets' must give .*: see t-1, t-2$"):
        stream(startingOffsets='{"t": {"0": 1}}').initialOffset()


START = {"t": {"0": 10, "1": 20, "2": 0}}


@pytest.mark.parametrize(
    ("most", "position"),
    [
        (None, {"0": 5_010, "1": 1_020, "2": 0}),
        (6_000, {"0": 5_010, "1": 1_020, "2": 0}),
        (5_999, {"0": 10 + 4_999, "1": 20 + 999, "2": 0}),
        (600, {"0": 510, "1": 120, "2": 0}),
        (3, {"0": 12, "1": 21, "2": 0}),  # one of each partition that holds anything
    ],
)
@pytest.mark.usefixtures("cluster")
def test_a_micro_batch_ends_in_proportion_to_what_partitions_hold(
    most: int | None, position: dict[str, int]
) -> None:
    limit = None if most is None else SimpleNamespace(max_rows=most)
    assert stream().latestOffset(START, limit) == {"t": position}


@pytest.mark.usefixtures("cluster")
def test_without_a_start_a_micro_batch_ends_at_the_end() -> None:
    assert stream().latestOffset(None, SimpleNamespace(max_rows=3)) == {"t": {"0": 5_010, "1": 1_020, "2": 0}}


@pytest.mark.usefixtures("cluster")
def test_a_limit_counts_new_partitions_from_their_beginning_and_no_partition_backwards() -> None:
    reader, limit = stream(failOnDataLoss="false"), SimpleNamespace(max_rows=700)
    # Partition 1 is new, partition 2 was made anew: it ends before the start.
    assert reader.latestOffset({"t": {"0": 4_010, "2": 7}}, limit) == {"t": {"0": 4_360, "1": 370, "2": 0}}


@pytest.mark.usefixtures("cluster")
def test_a_query_for_what_is_there_now_ends_there(cluster: type[Cluster]) -> None:
    reader = stream()
    reader.prepareForTriggerAvailableNow()
    cluster.ends = {place: end + 1_000 for place, end in ENDS.items()}
    assert reader.latestOffset() == {"t": {"0": 5_010, "1": 1_020, "2": 0}}
    assert stream().latestOffset() == {"t": {"0": 6_010, "1": 2_020, "2": 1_000}}


@pytest.mark.needs("admission control")
def test_a_stream_says_how_much_it_reads_at_most_and_that_it_can_end() -> None:
    admission = import_module("pyspark.sql.streaming.datasource")
    assert isinstance(stream().getDefaultReadLimit(), admission.ReadAllAvailable)
    limited = stream(maxOffsetsPerTrigger="5").getDefaultReadLimit()
    assert (type(limited), limited.max_rows) == (admission.ReadMaxRows, 5)
    assert isinstance(stream(), admission.SupportsTriggerAvailableNow)
    assert isinstance(stream(), import_module("pyspark.sql.datasource").DataSourceStreamReader)


# A stream: what its tasks read.


def test_a_micro_batch_reads_between_its_positions_and_asks_nothing(cluster: type[Cluster]) -> None:
    found = stream(minPartitions="2").partitions(START, {"t": {"2": 0, "1": 30, "0": 15}})
    assert tasks(found) == [[OffsetRange("t", 0, 10, 15)], [OffsetRange("t", 1, 20, 30)]]
    assert cluster.clusters == []


@pytest.mark.parametrize(
    ("start", "loss", "still_there"),
    [
        (
            {"0": 10, "1": 20, "2": 0, "3": 4},
            "topic 't' no longer has partition 3: some data may have been missed",
            [OffsetRange("t", 0, 10, 5_010), OffsetRange("t", 1, 20, 1_020)],
        ),
        (
            {"0": 10, "2": 0},
            "topic 't' has a new partition 1, which begins at offset 20: some data",
            [OffsetRange("t", 0, 10, 5_010), OffsetRange("t", 1, 20, 1_020)],
        ),
        (
            {"0": 10, "1": 1_021, "2": 0},
            "topic 't', partition 1, was read up to offset 1,021 and now ends at 1,020: some data",
            [OffsetRange("t", 0, 10, 5_010)],
        ),
    ],
)
@pytest.mark.usefixtures("cluster")
def test_what_may_be_lost_ends_a_stream_or_is_passed_over(
    start: dict[str, int], loss: str, still_there: list[OffsetRange]
) -> None:
    end = {"t": {"0": 5_010, "1": 1_020, "2": 0}}
    with pytest.raises(DataLossError, match=loss):
        stream().partitions({"t": start}, end)
    found = stream(failOnDataLoss="false").partitions({"t": start}, end)
    assert [offsets for task in tasks(found) for offsets in task] == still_there


def test_new_partitions_that_begin_at_0_are_no_loss(cluster: type[Cluster]) -> None:
    cluster.firsts = dict.fromkeys(FIRSTS, 0)
    found = stream(minPartitions="1").partitions({"t": {"0": 10}}, {"t": {"0": 10, "2": 0, "1": 7}})
    assert tasks(found) == [[OffsetRange("t", 1, 0, 7)]]


def test_of_several_losses_the_first_in_order_is_told(cluster: type[Cluster]) -> None:
    cluster.firsts = cluster.ends = MANY
    every = {"t": {str(number): 9 for number in range(11, -1, -1)}}
    with pytest.raises(DataLossError, match="new partition 0, which begins at offset 5"):
        stream(subscribe="u,t").partitions({}, every)
    with pytest.raises(DataLossError, match="no longer has partition 0"):
        stream(subscribe="u,t").partitions(every, {})


# Clients that a stream keeps.


def test_a_stream_asks_by_the_same_clients_until_it_ends(cluster: type[Cluster]) -> None:
    reader = stream()
    for _ in range(2):
        reader.latestOffset()
    reader.initialOffset()
    assert [made.is_open for made in cluster.clusters] == [True]
    reader.stop()
    reader.stop()
    assert [made.is_open for made in cluster.clusters] == [False]


def test_after_an_error_clients_are_made_anew(cluster: type[Cluster]) -> None:
    reader = stream()
    cluster.fails = ZeroDivisionError()
    with pytest.raises(ZeroDivisionError):
        reader.latestOffset()
    cluster.fails = None
    assert reader.latestOffset()["t"]["0"] == 5_010
    assert [made.is_open for made in cluster.clusters] == [False, True]


def test_a_stream_goes_to_its_tasks_without_its_clients(
    cluster: type[Cluster], monkeypatch: pytest.MonkeyPatch
) -> None:
    read: Callable[..., Any] = lambda ranges, *_, **__: iter(ranges)  # noqa: E731
    monkeypatch.setattr("spark_integration.reading.source.read_ranges", read)
    reader = stream()
    reader.latestOffset()
    arrived = pickle.loads(pickle.dumps(reader))
    assert [*arrived.read(SimpleNamespace(value=(("t", 0, 1, 2),)))] == [OffsetRange("t", 0, 1, 2)]
    assert [made.is_open for made in cluster.clusters] == [True]
