"""The examples of Spark's pages, in their order, on a real broker; and what their tables say."""

import re
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from partitioning.testing import MockCluster
from spark_integration import keys
from tests.spark_integration.conftest import spark  # noqa: F401 - a fixture

DOCS = Path(__file__).parents[2] / "docs"
TEXT = (DOCS / "spark.md").read_text(encoding="utf-8")
EXAMPLES = [
    (page, example)
    for page in ("spark.md", "exactly-once.md", "spark-platforms.md", "backfill-and-join.md")
    for example in re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), re.DOTALL)
]
TOPICS = {"orders": 12, "copies": 12, "orders-copy": 24, "payments": 12, "purchases": 12, "refunds": 12}


def table(head: str) -> set[str]:
    """The names in the first column of a table."""
    rows = re.search(rf"^\| {re.escape(head)} \|.*?\n\n", TEXT, re.DOTALL | re.MULTILINE)
    return set(
        re.findall(r"`([\w.*]+)`", "".join(row.split("|")[1] for row in rows[0].strip().splitlines()[2:]))
    )


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.needs("data sources")
def test_the_block_of_the_readme_runs_when_pasted(spark):  # noqa: F811 - the fixture
    """With nothing before it: the block makes its session and its rows."""
    [block] = re.findall(
        r"```python\n(from pyspark.*?)```", (DOCS.parent / "README.md").read_text("utf-8"), re.DOTALL
    )
    with MockCluster() as cluster:
        cluster.create_topic("orders", 12)
        exec(block.replace("localhost:9092", cluster.bootstrap_servers), {})
        consumer = Consumer({"bootstrap.servers": cluster.bootstrap_servers, "group.id": "readers"})
        consumer.assign([TopicPartition("orders", number, 0) for number in range(12)])
        found = {}
        while len(found) < 2:
            if (message := consumer.poll(1)) is not None:
                found[message.key()] = message.partition()
        consumer.close()
    assert found == {b"order-42": 0, b"order-43": 10}


@pytest.mark.slow
@pytest.mark.spark
def test_the_examples_run(spark, broker, tmp_path, monkeypatch):  # noqa: F811 - the fixture
    if not hasattr(spark, "dataSource"):
        pytest.fail("the page is for Spark 4.0 and newer")
    monkeypatch.chdir(tmp_path)
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    made = admin.create_topics([NewTopic(name, count, 1) for name, count in TOPICS.items()])
    for done in made.values():
        done.result()
    names = {}
    try:
        for page, example in EXAMPLES:
            code = example.replace("localhost:9092", broker.bootstrap_servers)
            exec(compile(code, page, "exec"), names)
        copied = {**names["options"], "subscribe": "orders-copy"}
        assert spark.read.format("copartition").options(**copied).load().count() == 20_000  # twice
    finally:
        for done in admin.delete_topics(list(TOPICS)).values():
            done.result()


def test_options_are_those_of_the_sink_and_the_source():
    from spark_integration.reading.options import OWN_OPTIONS as READ
    from spark_integration.sinks.options import OWN_OPTIONS as WRITTEN

    aliases = {"bootstrap.servers", "kafka.bootstrap.servers", "kafka.*"}
    assert table("option | meaning") - aliases == set(WRITTEN) - aliases
    assert table("option | meaning, as in Spark's source") - aliases == set(READ) - aliases


def test_the_functions_of_keys_are_all_named():
    named = set(re.findall(r"`(\w+_key)`", TEXT))
    assert named == {name for name in vars(keys) if name.endswith("_key")}
