"""Sinks, source and audit on a cluster with TLS and SCRAM: refusals are named, and no secret is shown."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AclOperation, AdminClient, ResourceType
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from partitioning.clients.java_settings import librdkafka_security
from partitioning.clients.ledger import ledger_group, transactional_id
from partitioning.errors import BrokerUnreachableError, CopartitionError, DeliveryError
from spark_integration import (
    ReadError,
    audit,
    audit_verdict,
    checked_for_topic,
    kafka_partition,
    register,
    route,
    write_exactly_once,
)
from spark_integration.errors import typed_error
from tests.support.broker import Kafka
from tests.support.encrypted import SECRETS, Encrypted, allowed
from tests.support.reading import read_topic

pytestmark = pytest.mark.jvm

APP = "nightly"
PARTITIONS = 2
ROWS = 40
SOON_S = 280  # librdkafka gives a record up after 5 minutes
SECRET = SECRETS["writer"]
WRONG = "a-word-that-lets-nobody-in"

with_data_sources = pytest.mark.needs("data sources")


@pytest.fixture(scope="module")
def new_topic(encrypted: Encrypted) -> Callable[[], str]:
    """Makes a topic with which the user "writer" may do everything."""
    kafka = Kafka(encrypted.listeners["plain"]["bootstrap.servers"])
    admin = AdminClient(encrypted.listeners["plain"])

    def make() -> str:
        topic = kafka.create_topic(PARTITIONS)
        ids = [transactional_id(APP, topic, number) for number in range(PARTITIONS)]
        rights = [
            allowed("writer", ResourceType.TOPIC, topic, AclOperation.READ),
            allowed("writer", ResourceType.TOPIC, topic, AclOperation.WRITE),
            allowed("writer", ResourceType.GROUP, ledger_group(APP), AclOperation.READ),
            *(allowed("writer", ResourceType.TRANSACTIONAL_ID, name, AclOperation.WRITE) for name in ids),
        ]
        for granted in admin.create_acls(rights).values():
            granted.result()
        return topic

    return make


@pytest.fixture
def session(spark: SparkSession) -> SparkSession:
    register(spark)
    return spark


def options(settings: dict[str, str], **more: str) -> dict[str, str]:
    return {**{f"kafka.{name}": value for name, value in settings.items()}, **more}


def rows(spark: SparkSession) -> DataFrame:
    numbers = spark.range(0, ROWS, 1, PARTITIONS).select(sf.col("id").cast("string").alias("key"))
    placed = numbers.select("key", sf.col("key").alias("value"), kafka_partition("key", PARTITIONS))
    return route(placed, PARTITIONS).sortWithinPartitions("value")


def values(encrypted: Encrypted, topic: str) -> list[bytes]:
    servers = encrypted.listeners["plain"]["bootstrap.servers"]
    return sorted(record.value or b"" for record in read_topic(servers, topic))


EXPECTED = sorted(str(number).encode() for number in range(ROWS))


@pytest.mark.parametrize("format_", ["kafka", pytest.param("copartition", marks=with_data_sources)])
def test_a_batch_lands_and_is_read_back_and_audited(
    spark: SparkSession,
    connector: None,
    encrypted: Encrypted,
    new_topic: Callable[[], str],
    capfd: pytest.CaptureFixture[str],
    format_: str,
) -> None:
    """With the same options, Java's, for Spark's own sink and source, and for ours."""
    topic, settings = new_topic(), encrypted.user("writer")
    if format_ == "copartition":
        register(spark)
    written = checked_for_topic(rows(spark), topic, settings)
    written.write.format(format_).options(**options(settings, topic=topic)).mode("append").save()
    assert values(encrypted, topic) == EXPECTED

    read = spark.read.format(format_).options(**options(settings, subscribe=topic)).load()
    verdict = audit_verdict(audit(read, counts=[PARTITIONS]))
    assert "by profile 'java' over 2 partitions" in verdict
    read.explain(mode="extended")
    shown = capfd.readouterr()
    assert SECRET not in "".join([verdict, repr(read), *shown])
    assert "== Physical Plan ==" in shown.out


@with_data_sources
def test_a_stream_is_read_and_written_once(
    session: SparkSession, encrypted: Encrypted, new_topic: Callable[[], str], tmp_path: Path
) -> None:
    source, topic, settings = new_topic(), new_topic(), librdkafka_security(encrypted.user("writer"))
    rows(session).write.format("copartition").options(**options(settings, topic=source)).mode("append").save()
    app = APP  # Connect sends what the function names

    def write(batch: DataFrame, batch_id: int) -> None:
        for _ in range(2):
            write_exactly_once(
                batch.select("key", "value"), batch_id, topic=topic, app_id=app, config=settings
            )

    given = options(settings, subscribe=source, startingOffsets="earliest")
    read = session.readStream.format("copartition").options(**given).load()
    writer = read.writeStream.foreachBatch(write).option("checkpointLocation", str(tmp_path / "checkpoint"))
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    assert values(encrypted, topic) == EXPECTED
    kept = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert kept
    assert SECRET.encode() not in b"".join([str(query.recentProgress).encode(), *kept])


def write(spark: SparkSession, topic: str, settings: dict[str, str], folder: Path) -> None:
    rows(spark).write.format("copartition").options(**options(settings, topic=topic)).mode("append").save()


def write_once(spark: SparkSession, topic: str, settings: dict[str, str], folder: Path) -> None:
    given = options(settings, topic=topic, txnAppId=APP, txnVersion="0")
    rows(spark).write.format("copartition").options(**given).mode("append").save()


def read(spark: SparkSession, topic: str, settings: dict[str, str], folder: Path) -> None:
    spark.read.format("copartition").options(**options(settings, subscribe=topic)).load().collect()


def read_stream(spark: SparkSession, topic: str, settings: dict[str, str], folder: Path) -> None:
    read = spark.readStream.format("copartition").options(**options(settings, subscribe=topic)).load()
    writer = read.writeStream.format("noop").option("checkpointLocation", str(folder))
    writer.trigger(availableNow=True).start().awaitTermination()


@pytest.fixture(scope="module")
def topic(new_topic: Callable[[], str]) -> str:
    return new_topic()


@with_data_sources
@pytest.mark.parametrize("attempt", [write, write_once, read, read_stream])
@pytest.mark.parametrize(
    ("password", "change", "named"),
    [
        (WRONG, {}, "sasl.password"),
        (
            SECRET,
            {"security.protocol": "SASL_PLAINTEXT"},
            "security.protocol is SASL_PLAINTEXT: try SASL_SSL",
        ),
    ],
)
def test_what_does_not_fit_is_named_soon_and_not_shown(
    session: SparkSession,
    encrypted: Encrypted,
    topic: str,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    attempt: Callable[..., None],
    password: str,
    change: dict[str, str],
    named: str,
) -> None:
    begun = time.monotonic()
    with pytest.raises(Exception, match="spark_integration") as caught:
        attempt(session, topic, encrypted.user("writer", password) | change, tmp_path)
    assert time.monotonic() - begun < SOON_S
    told = typed_error(caught.value)
    assert isinstance(told, BrokerUnreachableError)
    assert named in str(told)
    said = "".join([str(caught.value), repr(caught.value), *capfd.readouterr()])
    assert password not in said


@with_data_sources
@pytest.mark.parametrize(
    ("attempt", "user", "error", "right"),
    [
        (write, "reader", DeliveryError, "give it the permission to write"),
        (read, "writer", ReadError, "needs Read on the topic"),
    ],
)
def test_a_right_that_is_missing_is_named_soon(
    session: SparkSession,
    encrypted: Encrypted,
    tmp_path: Path,
    attempt: Callable[..., None],
    user: str,
    error: type[CopartitionError],
    right: str,
) -> None:
    begun = time.monotonic()
    with pytest.raises(Exception, match=right) as caught:
        attempt(session, encrypted.topic, encrypted.user(user), tmp_path)
    assert time.monotonic() - begun < SOON_S
    assert type(typed_error(caught.value)) is error
    assert SECRETS[user] not in str(caught.value)


@pytest.fixture
def event_log(spark: SparkSession, tmp_path: Path) -> Iterator[Callable[[], str]]:
    """What Spark logs of its events from now on: spark.eventLog.enabled counts only where Spark begins."""
    context, jvm = spark.sparkContext, spark.sparkContext._jvm
    scala = context._jsc.sc()
    conf = scala.conf().clone().set("spark.eventLog.compress", "false")
    where = jvm.java.net.URI(tmp_path.as_uri()), conf, scala.hadoopConfiguration()
    listener = jvm.org.apache.spark.scheduler.EventLoggingListener(
        "access", scala.applicationAttemptId(), *where
    )
    listener.start()
    scala.addSparkListener(listener)

    def logged() -> str:
        scala.listenerBus().waitUntilEmpty()
        listener.stop()
        return "".join(path.read_text() for path in tmp_path.rglob("*") if path.is_file())

    yield logged
    scala.removeSparkListener(listener)


@pytest.mark.every_spark
@with_data_sources
@pytest.mark.needs("classic")
def test_no_secret_is_in_sparks_event_log(
    session: SparkSession, encrypted: Encrypted, topic: str, tmp_path: Path, event_log: Callable[[], str]
) -> None:
    for attempt in (write, read):
        attempt(session, topic, encrypted.user("writer"), tmp_path)
    with pytest.raises(Exception, match="Authentication failed"):
        read(session, topic, encrypted.user("writer", WRONG), tmp_path)
    log = event_log()
    assert log.count("SparkListenerSQLExecutionStart") >= 2
    assert "BatchScan copartition" in log
    assert [secret for secret in (SECRET, WRONG) if secret in log] == []
