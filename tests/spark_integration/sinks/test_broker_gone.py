"""A real broker that dies while rows are being written to it."""

import threading
import time
from contextlib import suppress

import pytest
from confluent_kafka import Consumer, KafkaException, TopicPartition
from pyspark.sql import SparkSession

from spark_integration import register
from tests.spark_integration.sinks.numbered import numbered
from tests.support.broker import Broker, Kafka

pytestmark = [pytest.mark.jvm, pytest.mark.needs("time"), pytest.mark.slow]

# More than can be written before the broker is gone; Spark hands all of them to Python, also after an error.
ROWS = 5_000_000


def close_when_written_to(own: Broker, topic: str, ended: threading.Event) -> None:
    """Kill the broker as soon as the topic holds a record, or if the job has ended without one."""
    consumer = Consumer({"bootstrap.servers": own.bootstrap_servers, "group.id": "watch", "log_level": 0})
    written = 0
    while not written and not ended.is_set():
        # An error is such as NOT_LEADER_FOR_PARTITION, while the topic is quite new. The answer to a question
        # may never come, and the next question is answered.
        with suppress(KafkaException):
            _, written = consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=1)
        time.sleep(0.02)
    own.close()
    consumer.close()


@pytest.mark.parametrize(
    ("sink", "settings", "message"),
    [
        pytest.param(
            "kafka",
            {"request.timeout.ms": "2000", "max.block.ms": "2000"},
            "TimeoutException",
        ),
        pytest.param(
            "copartition",
            {},
            r"records were not acknowledged; the first: topic '.*' partition 0: Local: Message timed out",
            marks=pytest.mark.needs("data sources"),
        ),
    ],
)
def test_the_job_fails(
    spark: SparkSession, connector: None, sink: str, settings: dict[str, str], message: str
) -> None:
    if sink == "copartition":
        register(spark)
    with Broker() as own:
        topic = Kafka(own.bootstrap_servers).create_topic(1)
        ended = threading.Event()
        watcher = threading.Thread(target=close_when_written_to, args=(own, topic, ended), daemon=True)
        watcher.start()
        options = {"bootstrap.servers": own.bootstrap_servers, "delivery.timeout.ms": "2000", **settings}
        # One task: another would perhaps begin when the broker is gone, and fail by another error.
        writer = numbered(spark, ROWS).drop("id").coalesce(1).write.format(sink).option("topic", topic)
        writer.options(**{f"kafka.{name}": value for name, value in options.items()})
        with pytest.raises(Exception, match=message):
            writer.mode("append").save()
        ended.set()
        watcher.join()
