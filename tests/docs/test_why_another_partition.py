"""The commands of docs/why-another-partition.md run on real topics; its claims are those of the profiles."""

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks.audits.writing import Record, Writer
from copartition.check.writers import CLIENTS, parse_writer
from copartition.shell.main import copartition
from partitioning import partition_for_key
from partitioning.profiles import find_profile

TEXT = (Path(__file__).parents[2] / "docs" / "why-another-partition.md").read_text(encoding="utf-8")
EXAMPLES = [
    example
    for block in re.findall(r"```console\n(.*?)```", TEXT, re.DOTALL)
    for example in re.findall(r"^\$ copartition (.*?)\n(.*?)(?=^\$ |\Z)", block, re.DOTALL | re.MULTILINE)
]
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")] for line in TEXT.splitlines() if line[:1] == "|"
]
REPORTS = [row for row in ROWS if len(row) == 7 and row[2].isdecimal()]
SETTINGS = {row[0]: row[1:] for row in ROWS if len(row) == 3 and row[0] != "client"}
WRITERS = {
    "Java client, Kafka Streams, Kafka Connect, Spark's Kafka sink": (
        "java",
        "partitioner.ignore.keys=false",
    ),
    "librdkafka; confluent-kafka for Python and Go; rdkafka-ruby, Karafka; rust-rdkafka": (
        "librdkafka",
        "partitioner=murmur2_random",
    ),
    "confluent-kafka-dotnet": ("confluent-kafka-dotnet", "partitioner=murmur2_random"),
    "node-rdkafka": ("node-rdkafka", "partitioner=murmur2_random"),
    "kcat, once kafkacat": ("librdkafka", "partitioner=murmur2_random"),
    "confluent-kafka-javascript": ("confluent-kafka-javascript", ""),
    "kafka-python": ("kafka-python", ""),
    "aiokafka, Faust": ("faust", ""),
    "Quix Streams": ("quix-streams", ""),
    "sarama": ("sarama", "Producer.Partitioner=NewMurmur2Partitioner"),
    "franz-go": ("franz-go", ""),
    "segmentio/kafka-go": ("kafka-go", "Balancer=Murmur2Balancer"),
    "kafkajs 2": ("kafkajs", "createPartitioner=DefaultPartitioner"),
    "kafkajs 1": ("kafkajs", "createPartitioner=JavaCompatiblePartitioner"),
    "@platformatic/kafka": ("platformatic", "partitioner=compatibilityPartitioner"),
    "Dekaf": ("dekaf", ""),
    "CockroachDB changefeeds": ("cockroachdb", "partition_alg=murmur2"),
    "Redpanda Connect, once Benthos: output `kafka`": ("redpanda-connect", "partitioner=murmur2_hash"),
    "Redpanda Connect: outputs `redpanda`, `kafka_franz`": ("redpanda-connect-franz", ""),
    "Vector, Fluent Bit": ("vector", "partitioner=murmur2_random"),
    "Spring for Apache Kafka, Quarkus (SmallRye), Debezium": ("quarkus", ""),
    "Filebeat and the other Beats": ("filebeat", ""),
    "kaf": ("kaf", "partitioner=jvm"),
    "Fluentd's `out_kafka2`": ("fluentd", "partitioner_hash_function=murmur2"),
    "ruby-kafka": ("ruby-kafka", "hash_function=murmur2"),
}
"""What `--writer` calls the client of a row, and its setting."""


@pytest.fixture(scope="module")
def topics(broker):
    """Orders and payments on a real broker, by the names they have there."""
    names = {name: broker.create_topic(12) for name in ("orders", "payments")}
    for name, client, every in (("orders", "librdkafka", 1), ("payments", "kafka-python", 2)):
        with Writer(client, broker.bootstrap_servers) as writer:
            writer.send(Record(names[name], b"order-%d" % number) for number in range(0, 1000, every))
    return names


def outcome(arguments, broker, names):
    """What a command prints, by the names of the page."""
    for name, real in names.items():
        arguments = re.sub(rf"(?<= ){name}(?= )", real, arguments)
    arguments = arguments.replace("localhost:9092", broker.bootstrap_servers)
    result = CliRunner().invoke(copartition, [*shlex.split(arguments), "--width", "400"])
    output = result.stdout
    for name, real in names.items():
        output = output.replace(real, name)
    return result.exit_code, output


@pytest.mark.parametrize(("arguments", "output"), EXAMPLES, ids=range(len(EXAMPLES)))
def test_an_example_prints_what_the_page_says(broker, topics, arguments, output):
    code, printed = outcome(arguments, broker, topics if "-b " in arguments else {})
    assert code == (1 if output.startswith("no, ") else 0)
    for part in filter(None, output.split("...\n")):  # three dots stand for lines that are left out
        before, found, printed = printed.partition(part)
        assert found == part
        assert not before or before.endswith("\n")


def test_there_are_five_examples():
    assert len(EXAMPLES) == TEXT.count("\n$ ") == 5


@pytest.mark.parametrize("report", REPORTS, ids=lambda row: row[1].strip("`")[:12])
def test_a_report_is_explained_by_the_two_rules(report):
    _, key, count, *places = (cell.strip("`") for cell in report)
    for place, profile in (places[:2], places[2:]):
        assert partition_for_key(key.encode(), int(count), profile=profile) == int(place)


def test_five_reports_are_explained():
    assert len(REPORTS) == 5


@pytest.mark.parametrize("row", SETTINGS)
def test_a_setting_makes_a_client_place_keys_as_java_does(row):
    client, setting = WRITERS[row]
    default, told = SETTINGS[row]
    java = find_profile("java")
    set_so = parse_writer(",".join([f"orders={client}", *([setting] if setting else [])])).profile
    if told == "no setting does":
        ways = [way.profile for way in CLIENTS[client] if way.profile is not None]
        assert java.rule not in {way.rule for way in ways}
        return
    assert (set_so.hash, set_so.sign) == (java.hash, java.sign)
    assert ("an empty key is treated as none" in told) == (set_so.empty != java.empty)
    if default.startswith("`"):
        own = find_profile(default.strip("`"))
        assert ("nothing to set" in told) == ((own.hash, own.sign) == (java.hash, java.sign))
        if row != "kafkajs 1":
            assert parse_writer(f"orders={client}").profile == own
    else:
        assert parse_writer(f"orders={client}").profile is None
    assert re.split("[=:.]", setting)[-1].replace("_", "").casefold() in told.replace("_", "").casefold()


def test_every_row_is_looked_at():
    assert SETTINGS.keys() == WRITERS.keys()
