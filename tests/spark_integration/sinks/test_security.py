"""Both sinks on a real broker with users: settings reach the client, and refusals reach the user."""

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from partitioning.errors import BrokerUnreachableError, DeliveryError, UnknownTopicError
from spark_integration import checked_for_topic, partition_count, register
from spark_integration.sinks.cluster import existing_topics
from spark_integration.sinks.delivery import deliver
from spark_integration.sinks.options import read_sink_options
from tests.support.reading import read_topic
from tests.support.secured import Secured, settings

pytestmark = pytest.mark.jvm

JAAS = (
    'org.apache.kafka.common.security.plain.PlainLoginModule required username="writer" password="writers";'
)


def write(spark: SparkSession, sink: str, secured: Secured, topic: str) -> None:
    """Two rows, by user "writer"."""
    rows = spark.createDataFrame([(0, "a"), (1, "b")], "partition int, value string")
    options = settings(secured)
    if sink == "kafka":
        rows = checked_for_topic(rows, topic, options)
        options = {
            name: options[name] for name in ("bootstrap.servers", "security.protocol", "sasl.mechanism")
        }
        options["sasl.jaas.config"] = JAAS
    else:
        register(spark)
    writer = rows.write.format(sink).options(**{f"kafka.{name}": value for name, value in options.items()})
    writer.option("topic", topic).mode("append").save()


COPARTITION = pytest.param("copartition", marks=pytest.mark.needs("data sources"))


@pytest.mark.parametrize("sink", ["kafka", COPARTITION])
def test_security_settings_reach_the_client(
    spark: SparkSession, connector: None, secured: Secured, sink: str
) -> None:
    before = len(read_topic(secured.admin_servers, secured.open))
    write(spark, sink, secured, secured.open)
    written = read_topic(secured.admin_servers, secured.open)
    assert len(written) - before == 2


@pytest.mark.parametrize(
    ("sink", "message"),
    [
        ("kafka", r"Not authorized to access topics: \[{}\]"),
        pytest.param(
            "copartition",
            r"topic '{}' partition \d: Broker: Topic authorization failed",
            marks=pytest.mark.needs("data sources"),
        ),
    ],
)
def test_a_user_who_may_not_write_is_told_so(
    spark: SparkSession, connector: None, secured: Secured, sink: str, message: str
) -> None:
    before = read_topic(secured.admin_servers, secured.closed)  # other tests write there, too
    with pytest.raises(Exception, match=message.format(secured.closed)):
        write(spark, sink, secured, secured.closed)
    assert read_topic(secured.admin_servers, secured.closed) == before


def test_a_user_who_may_write_nothing_is_told_so(secured: Secured) -> None:
    options = {f"kafka.{name}": value for name, value in settings(secured, "guest").items()}
    rows = pa.record_batch({"value": pa.array([b"v"] * 3), "partition": pa.array([0, 1, 1], pa.int32())})
    before = read_topic(secured.admin_servers, secured.closed)
    with pytest.raises(DeliveryError, match="This user may write to no topic"):
        deliver(iter([rows]), read_sink_options(options, {}).config, {secured.closed: 2}, secured.closed)
    assert read_topic(secured.admin_servers, secured.closed) == before


def test_a_topic_the_user_may_not_see_is_not_there_for_him(secured: Secured) -> None:
    with pytest.raises(UnknownTopicError, match=f"no topic '{secured.hidden}' we may see"):
        partition_count(secured.hidden, settings(secured))


def test_a_wrong_password_is_told_once(secured: Secured) -> None:
    with pytest.raises(BrokerUnreachableError, match="Invalid username or password") as caught:
        existing_topics(settings(secured, password="wrong"), 3)
    assert str(caught.value).count("Invalid username") == 1
    assert "wrong" not in str(caught.value)


def test_what_java_clients_log_in_with_will_do(secured: Secured) -> None:
    given = {name: value for name, value in settings(secured).items() if not name.startswith("sasl.user")}
    del given["sasl.password"]
    assert existing_topics({**given, "sasl.jaas.config": JAAS}).counts[secured.open] == 2
