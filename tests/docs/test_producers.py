"""The examples of docs/producers.md, each run as it stands against a cluster, but for addresses."""

import re
from pathlib import Path

import pytest

from partitioning import partition_for_key
from partitioning.testing import MockCluster
from tests.support.records import read

PAGE = Path(__file__).parents[2] / "docs" / "producers.md"
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
NOT_INSTALLED = re.compile("quixstreams|faust")
"""Quix Streams wants an older confluent-kafka than we do; Faust would bring many packages for one example."""


def imported(example):
    """What the example imports first: the client that it is about."""
    return re.search(r"^(?:from|import) (?!asyncio)(\S+)", example, re.MULTILINE)[1]


def run(example, bootstrap_servers):
    """The names that an example leaves behind."""
    code = example.replace("localhost:9092", bootstrap_servers).replace(
        "http://localhost:8081", "mock://keys"
    )
    # The mock cluster does not tell kafka-python its version.
    code = code.replace(
        "partitioner=KafkaPythonPartitioner", "api_version=(2, 0), partitioner=KafkaPythonPartitioner"
    )
    names = {"__name__": "example"}
    exec(compile(code, str(PAGE), "exec"), names)
    return names


@pytest.fixture
def cluster():
    with MockCluster() as cluster:
        cluster.create_topic("orders", 12)
        yield cluster


RUN = [example for example in EXAMPLES if not NOT_INSTALLED.search(example)]


@pytest.mark.live
@pytest.mark.parametrize("example", RUN, ids=imported)
def test_an_example_writes_where_the_page_says(cluster, example):
    names = run(example, cluster.bootstrap_servers)
    (record,) = read(cluster.bootstrap_servers, "orders", 1)
    assert record.partition() == names.get("expected", 8)
    assert record.value() == b"..."


def test_all_but_two_examples_are_run():
    assert (len(EXAMPLES), len(RUN)) == (10, 8)


def test_the_partition_of_the_page_is_that_of_sarama_alone():
    assert partition_for_key(b"order-42", 12, profile="sarama") == 8
    own = {
        partition_for_key(b"order-42", 12, profile=name)
        for name in ("java", "librdkafka", "aiokafka", "quix")
    }
    assert 8 not in own


@pytest.mark.live
def test_the_key_of_the_avro_example_is_its_schema_id_too(cluster):
    (example,) = [example for example in RUN if "AvroSerializer" in example]
    names = run(example, cluster.bootstrap_servers)
    assert names["key"] == b"\0" + (1).to_bytes(4) + b"\x10order-42"
    assert names["expected"] != 8
