"""Reading back on a real broker, beside Spark's own source."""

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from spark_integration import audit, audit_verdict, register
from spark_integration.columns import SOURCE
from tests.support.broker import Kafka
from tests.support.waiting import GENEROUS_S

pytestmark = pytest.mark.needs("data sources")

RECORDS = 3000
PARTITIONS = 3


@pytest.fixture
def session(spark: SparkSession) -> SparkSession:
    register(spark)
    return spark


def fill(broker: Kafka, topic: str, first: int = 0, last: int = RECORDS) -> None:
    """Records of all kinds: without key, without value, with headers; number n goes to partition n % 3."""
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for number in range(first, last):
        producer.produce(
            topic,
            None if number % 7 == 0 else b"value-%d" % number,
            key=None if number % 5 == 0 else b"key-%d" % number,
            partition=number % PARTITIONS,
            timestamp=1_400_000_000_000 + number,
            headers=[("number", str(number)), ("none", None)] if number % 2 else None,
        )
    assert producer.flush(GENEROUS_S) == 0


@pytest.fixture(scope="module")
def filled(broker: Kafka) -> str:
    topic = broker.create_topic(PARTITIONS)
    fill(broker, topic)
    return topic


@pytest.fixture(scope="module")
def aborted(broker: Kafka) -> str:
    """A topic with gaps: transactions, every other one of them aborted, and one that is open at the end."""
    topic = broker.create_topic(1)
    writing = {"bootstrap.servers": broker.bootstrap_servers, "transactional.id": topic}
    producer = Producer(writing)
    producer.init_transactions(30)
    for number in range(4):
        producer.begin_transaction()
        producer.produce(topic, b"%d" % number)
        producer.flush(GENEROUS_S)
        producer.abort_transaction(30) if number % 2 else producer.commit_transaction(30)
    return topic


@pytest.fixture(scope="module")
def aged(broker: Kafka) -> str:
    """A topic whose first hundred offsets of partition 0 are gone."""
    topic = broker.create_topic(PARTITIONS)
    fill(broker, topic)
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    for done in admin.delete_records([TopicPartition(topic, 0, 100)]).values():
        done.result()
    return topic


def read(
    session: SparkSession, broker: Kafka, topic: str, source: str = "copartition", **options
) -> DataFrame:
    reader = session.read.format(source).option("kafka.bootstrap.servers", broker.bootstrap_servers)
    return reader.option("subscribe", topic).options(**options).load()


def drain(
    session: SparkSession, broker: Kafka, topic: str, folder: Path, source: str = "copartition", **options
) -> list[tuple[str, int, int]]:
    """Stream what there is into files, and tell all that is in these: topic, partition, offset."""
    reader = session.readStream.format(source).option("kafka.bootstrap.servers", broker.bootstrap_servers)
    rows = reader.options(subscribe=topic, startingOffsets="earliest").options(**options).load()
    writer = rows.select("topic", "partition", "offset").writeStream.format("parquet")
    writer = writer.option("checkpointLocation", str(folder / "checkpoint")).option(
        "path", str(folder / "out")
    )
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    return sorted(map(tuple, session.read.parquet(str(folder / "out")).collect()))


def positions(folder: Path) -> list[dict]:
    """What the checkpoint says was read up to, batch by batch."""
    files = sorted((folder / "checkpoint" / "offsets").glob("[0-9]*"), key=lambda file: int(file.name))
    return [json.loads(file.read_text().splitlines()[-1]) for file in files]


@pytest.mark.every_spark
def test_rows_and_columns_are_those_of_sparks_source(
    session: SparkSession, connector: None, broker: Kafka, filled: str
) -> None:
    ours, theirs = (
        read(session, broker, filled, source, includeHeaders="true") for source in ("copartition", "kafka")
    )
    assert [(f.name, f.dataType) for f in ours.schema] == [(f.name, f.dataType) for f in theirs.schema]
    ours, theirs = (sorted(df.collect(), key=lambda r: (r.partition, r.offset)) for df in (ours, theirs))
    assert len(ours) == RECORDS
    assert ours == theirs


@pytest.mark.every_spark
def test_small_partitions_share_a_task_and_none_is_divided(
    session: SparkSession, broker: Kafka, filled: str
) -> None:
    rows = read(session, broker, filled)
    found = rows.select("partition", sf.spark_partition_id().alias("task")).distinct().collect()
    assert sorted(row.partition for row in found) == [*range(PARTITIONS)]
    # A thousand records each: two partitions are what a task reads together at most.
    assert len({row.task for row in found}) == 2


@pytest.mark.every_spark
def test_as_many_tasks_as_are_asked_for_read_a_partition_each_or_a_part_of_it(
    session: SparkSession, broker: Kafka, filled: str
) -> None:
    rows = read(session, broker, filled, minPartitions="7")
    tasks = rows.groupBy(sf.spark_partition_id().alias("task")).agg(
        sf.count_distinct("partition").alias("partitions"), sf.count("*").alias("rows")
    )
    found = tasks.collect()
    assert {task.partitions for task in found} == {1}
    assert sum(task.rows for task in found) == RECORDS
    assert len(found) >= 6


def test_offsets_bound_what_is_read(session: SparkSession, broker: Kafka, filled: str) -> None:
    starts, ends = {"0": 10, "1": -2, "2": -1}, {"0": 20, "1": 5, "2": -1}
    rows = read(
        session,
        broker,
        filled,
        startingOffsets=json.dumps({filled: starts}),
        endingOffsets=json.dumps({filled: ends}),
    )
    found = sorted((row.partition, row.offset) for row in rows.collect())
    assert found == [*((0, offset) for offset in range(10, 20)), *((1, offset) for offset in range(5))]


@pytest.fixture
def pushing(session: SparkSession) -> Iterator[None]:
    """Filters are offered to the source."""
    name = "spark.sql.python.filterPushdown.enabled"
    before = session.conf.get(name)
    session.conf.set(name, "true")
    yield
    session.conf.set(name, before)


@pytest.mark.every_spark
@pytest.mark.needs("filter pushdown")
@pytest.mark.needs("classic")
@pytest.mark.parametrize(
    ("where", "tasks", "rows"),
    [
        ("partition = 1", 1, 1000),
        ("partition in (0, 2) and offset >= 10 and offset < 30", 1, 40),
        ("timestamp >= timestamp_millis(1400000000000 + 2990)", 1, 10),
        ("timestamp > timestamp_millis(1400000000000 + 5000)", 1, 0),
        ("offset < 0", 1, 0),
        ("partition = 7", 1, 0),
    ],
)
def test_a_filter_narrows_what_is_read(
    session: SparkSession, broker: Kafka, filled: str, pushing: None, where: str, tasks: int, rows: int
) -> None:
    found = read(session, broker, filled).where(where)
    assert found.rdd.getNumPartitions() == tasks
    assert len(found.collect()) == rows


@pytest.mark.every_spark
def test_some_partitions_are_read_alone(session: SparkSession, broker: Kafka, filled: str) -> None:
    reader = session.read.format("copartition").option("kafka.bootstrap.servers", broker.bootstrap_servers)
    rows = reader.option("assign", json.dumps({filled: [2, 0]})).load()
    assert {(row.partition, row["count"]) for row in rows.groupBy("partition").count().collect()} == {
        (0, 1000),
        (2, 1000),
    }
    with pytest.raises(Exception, match=f"partition 3 of topic '{filled}', which has 3 partitions"):
        reader.option("assign", json.dumps({filled: [3]})).load().collect()


def test_the_partition_column_says_of_which_topic_it_is(
    session: SparkSession, broker: Kafka, filled: str
) -> None:
    assert read(session, broker, filled).schema["partition"].metadata == {SOURCE: filled}


def test_nothing_between_the_offsets_is_no_rows(session: SparkSession, broker: Kafka, filled: str) -> None:
    nowhere = json.dumps({filled: dict.fromkeys("012", 7)})
    assert read(session, broker, filled, startingOffsets=nowhere, endingOffsets=nowhere).count() == 0


@pytest.mark.every_spark
def test_only_the_columns_of_a_given_schema_are_read(
    session: SparkSession, broker: Kafka, filled: str
) -> None:
    reader = session.read.format("copartition").schema("offset bigint, key binary")
    options = {"kafka.bootstrap.servers": broker.bootstrap_servers, "subscribe": filled}
    rows = reader.options(**options).load()
    assert rows.columns == ["offset", "key"]
    assert rows.where("key is null").count() == RECORDS / 5


@pytest.mark.parametrize(("isolation", "values"), [(None, "0123"), ("read_committed", "02")])
def test_isolation_is_that_of_javas_consumer(
    session: SparkSession, broker: Kafka, aborted: str, isolation: str | None, values: str
) -> None:
    options = {"kafka.isolation.level": isolation} if isolation else {}
    rows = read(session, broker, aborted, **options).orderBy("offset").collect()
    assert b"".join(bytes(row.value) for row in rows).decode() == values


def test_an_audit_reads_without_a_connector(session: SparkSession, broker: Kafka) -> None:
    topic = broker.create_topic(4)
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "partitioner": "murmur2_random"})
    for number in range(1000):
        producer.produce(topic, b"", key=b"key-%d" % number)
    assert producer.flush(GENEROUS_S) == 0
    assert "by profile 'java' over 4 partitions" in audit_verdict(
        audit(read(session, broker, topic), counts=[4])
    )


@pytest.mark.parametrize("source", ["copartition", "kafka"])
def test_what_has_aged_out_fails_a_batch(
    session: SparkSession, connector: None, broker: Kafka, aged: str, source: str
) -> None:
    starts = json.dumps({aged: {"0": 50, "1": 0, "2": 0}})
    rows = read(session, broker, aged, source, startingOffsets=starts)
    message = {"copartition": r"DataLossError.*50 to 999", "kafka": "OffsetOutOfRange"}[source]
    with pytest.raises(Exception, match=message):  # the connector's is one of py4j
        rows.collect()


@pytest.mark.parametrize("source", ["copartition", "kafka"])
def test_what_has_aged_out_is_passed_over_where_that_is_asked_for(
    session: SparkSession, connector: None, broker: Kafka, aged: str, source: str
) -> None:
    starts = json.dumps({aged: {"0": 50, "1": 0, "2": 0}})
    rows = read(session, broker, aged, source, startingOffsets=starts, failOnDataLoss="false")
    assert [row.o for row in rows.groupBy("partition").agg(sf.min("offset").alias("o")).collect()].count(
        100
    ) == 1
    assert rows.count() == RECORDS - 100


def test_earliest_is_what_there_still_is(session: SparkSession, broker: Kafka, aged: str) -> None:
    assert read(session, broker, aged).count() == RECORDS - 100


@pytest.mark.every_spark
def test_a_stream_goes_on_from_exact_offsets(session: SparkSession, broker: Kafka, tmp_path: Path) -> None:
    topic = broker.create_topic(PARTITIONS)
    fill(broker, topic, 0, 1000)
    assert len(drain(session, broker, topic, tmp_path)) == 1000
    assert positions(tmp_path)[-1] == {topic: {"0": 334, "1": 333, "2": 333}}
    fill(broker, topic, 1000, 1001)
    broker.grow_topic(topic, PARTITIONS + 1)
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    producer.produce(topic, b"", partition=PARTITIONS)
    assert producer.flush(GENEROUS_S) == 0
    read_now = drain(session, broker, topic, tmp_path)
    assert positions(tmp_path)[-1] == {topic: {"0": 334, "1": 334, "2": 333, "3": 1}}
    ends = {0: 334, 1: 334, 2: 333, 3: 1}
    assert read_now == [(topic, p, offset) for p, end in ends.items() for offset in range(end)]


def test_a_stream_begins_at_the_end_unless_told(session: SparkSession, broker: Kafka, tmp_path: Path) -> None:
    topic = broker.create_topic(PARTITIONS)
    fill(broker, topic, 0, 10)
    assert drain(session, broker, topic, tmp_path, startingOffsets="latest") == []
    fill(broker, topic, 10, 12)
    assert drain(session, broker, topic, tmp_path, startingOffsets="latest") == [(topic, 1, 3), (topic, 2, 3)]


@pytest.mark.parametrize("fails", [True, False])
def test_what_aged_out_between_the_batches_of_a_stream(
    session: SparkSession, broker: Kafka, tmp_path: Path, fails: bool
) -> None:
    topic = broker.create_topic(1)
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for _ in range(10):
        producer.produce(topic, b"")
    assert producer.flush(GENEROUS_S) == 0
    drain(session, broker, topic, tmp_path)
    for _ in range(10):
        producer.produce(topic, b"")
    assert producer.flush(GENEROUS_S) == 0
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    for done in admin.delete_records([TopicPartition(topic, 0, 15)]).values():
        done.result()
    if fails:
        with pytest.raises(PySparkException, match=r"DataLossError.*no longer has offset 10"):
            drain(session, broker, topic, tmp_path)
    else:
        offsets = [offset for _, _, offset in drain(session, broker, topic, tmp_path, failOnDataLoss="false")]
        assert offsets == [*range(10), *range(15, 20)]


def test_a_topic_made_anew_is_noticed(session: SparkSession, broker: Kafka, tmp_path: Path) -> None:
    topic = broker.create_topic(PARTITIONS)
    fill(broker, topic, 0, 30)
    drain(session, broker, topic, tmp_path)
    checkpoint = tmp_path / "checkpoint" / "offsets" / "0"
    text = checkpoint.read_text()
    assert '"0":10' in text.replace(" ", "")
    other = broker.create_topic(PARTITIONS)
    fill(broker, other, 0, 15)
    checkpoint.write_text(text.replace(topic, other))
    (checkpoint.parent / ".0.crc").unlink(missing_ok=True)
    with pytest.raises(PySparkException, match="was read up to offset 10 and now ends at 5"):
        drain(session, broker, other, tmp_path)


@pytest.mark.every_spark
@pytest.mark.needs("admission control")
def test_a_micro_batch_holds_so_many_records_at_most(
    session: SparkSession, broker: Kafka, filled: str, tmp_path: Path
) -> None:
    assert len(drain(session, broker, filled, tmp_path, maxOffsetsPerTrigger="700")) == RECORDS
    ends = [sum(position[filled].values()) for position in positions(tmp_path)]
    assert len(ends) >= 5
    assert all(0 < after - before <= 700 for before, after in pairwise([0, *ends]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"startingOffsets": "latest"}, "cannot be 'latest'"),
        ({"startingOffsets": '{"TOPIC": {"0": 1}}'}, "for every partition of the topics.*TOPIC-1"),
        ({"maxOffsetsPerTrigger": "5"}, "'maxOffsetsPerTrigger' is for a stream only"),
        ({"kafka.isolation.level": "dirty"}, "'kafka.isolation.level' is 'dirty'"),
        ({"kafka.bootstrap.server": "x"}, "librdkafka refuses.*bootstrap.server"),
        ({"subscribe": "no-such-topic"}, "has no topic 'no-such-topic'"),
    ],
    ids=lambda case: next(iter(case)) if isinstance(case, dict) else "",
)
def test_a_batch_is_refused_before_it_starts(
    session: SparkSession, broker: Kafka, filled: str, options: dict[str, str], message: str
) -> None:
    given = {name: value.replace("TOPIC", filled) for name, value in options.items()}
    with pytest.raises(PySparkException, match=f"(?s){message.replace('TOPIC', filled)}"):
        read(session, broker, filled, **given).collect()
