import json
import uuid

import fastjsonschema
import pytest
from confluent_kafka import Producer

from copartition.audit import topic_state
from tests.support.broker import free_ports
from tests.support.waiting import GENEROUS_S

KEYS = [b"user-%d" % number for number in range(400)]


@pytest.fixture(autouse=True)
def hurried(monkeypatch):
    """Do not wait for what the mock cluster never answers."""
    monkeypatch.setattr(topic_state, "ASIDE_S", 0.05)


@pytest.fixture
def audited(mock_cluster, run):
    """Write keys under profiles of librdkafka's to a new topic of 4 partitions, and audit it."""

    def audit(*options, keys=KEYS, partitioners=("murmur2_random",)):
        topic = f"topic-{uuid.uuid4().hex[:12]}"
        mock_cluster.create_topic(topic, 4)
        for partitioner in partitioners:
            producer = Producer(
                {"bootstrap.servers": mock_cluster.bootstrap_servers, "partitioner": partitioner}
            )
            for key in keys:
                producer.produce(topic, b"v", key)
            assert producer.flush(GENEROUS_S) == 0
        return topic, run("audit", topic, "-b", mock_cluster.bootstrap_servers, *options)

    return audit


def test_one_writer_is_told_in_the_first_line(audited):
    topic, result = audited()
    assert result.output.splitlines()[0] == f"{topic}: written by java over 4 (sure)"
    assert "read 400 of at most 400 records: every record in 4 partitions" in result.output
    assert "librdkafka-murmur2" in result.output
    assert "400 of 400 looked at are text" in result.output
    assert result.exit_code == 0


def test_the_hottest_keys_are_counted(audited):
    _, result = audited(keys=[*KEYS, *KEYS[:1] * 50, *KEYS[1:2] * 30])
    lines = [line.split() for line in result.output.splitlines()]
    at = lines.index(["HOTTEST", "KEYS", "PARTITION", "RECORDS", "OF", "THE", "PARTITION"])
    assert [(key, rows) for key, _, rows, _ in lines[at + 1 : at + 3]] == [
        ("'user-0'", "51"),
        ("'user-1'", "31"),
    ]


@pytest.mark.parametrize(
    ("written", "said", "code"),
    [
        (
            {"partitioners": ("murmur2_random", "consistent_random")},
            "written by java over 4, then librdkafka over 4",
            1,
        ),
        ({"keys": KEYS[:2]}, "cannot tell", 2),
        ({"keys": [None] * 20}, "no keys in 20 records: nothing can be said", 2),
        ({"keys": []}, "no records: nothing can be said", 2),
    ],
)
def test_what_is_not_one_writer_is_told(audited, written, said, code):
    _, result = audited(**written)
    assert said in result.output.splitlines()[0]
    assert result.exit_code == code


def test_two_clients_at_once_are_told(mock_cluster, run):
    topic = f"topic-{uuid.uuid4().hex[:12]}"
    mock_cluster.create_topic(topic, 4)
    clients = [
        Producer({"bootstrap.servers": mock_cluster.bootstrap_servers, "partitioner": partitioner})
        for partitioner in ("murmur2_random", "fnv1a_random")
    ]
    for key in [b"user-%d" % number for number in range(2000)]:
        for client in clients:
            client.produce(topic, b"v", key)
            client.poll(0)
    for client in clients:
        assert client.flush(GENEROUS_S) == 0
    result = run("audit", topic, "-b", mock_cluster.bootstrap_servers)
    first = result.output.splitlines()[0]
    assert "java over 4" in first
    assert "librdkafka-fnv1a over 4" in first
    assert result.exit_code == 1


@pytest.mark.parametrize("written", [{}, {"keys": KEYS[:1]}, {"keys": [None]}, {"keys": []}])
def test_json_fits_its_schema(audited, run, written):
    topic, result = audited("-o", "json", **written)
    document = json.loads(result.output)
    schema = json.loads(run("audit", "--schema").output)
    fastjsonschema.compile(schema)(document)
    assert document["topics"][0]["topic"] == topic


def test_json_has_spans_writers_and_what_was_read(audited):
    _, result = audited("-o", "json", "--last", "20")
    (topic,) = json.loads(result.output)["topics"]
    assert (topic["certainty"], topic["settled"]) == ("sure", True)
    assert topic["coverage"]["kind"] == "last"
    assert [span["rows"] for span in topic["spans"]] == [20] * 4
    assert {span["writer"]["profile"] for span in topic["spans"]} == {"java"}
    assert all(span["first_ms"] for span in topic["spans"])


def test_markdown_has_the_verdict_in_bold_and_a_table(audited):
    topic, result = audited("-o", "markdown", "--only-partitions", "0-1,3")
    lines = result.output.splitlines()
    assert lines[0] == f"**{topic}: written by java over 4 (sure)**"
    assert lines[2].startswith("| partitions | offsets |")
    assert lines[4].startswith("| 0-1,3 | all read |")
    assert "every record in 3 of 4 partitions" in result.output


def test_several_topics_are_told_one_after_the_other(mock_cluster, run):
    topics = [f"topic-{uuid.uuid4().hex[:12]}" for _ in range(2)]
    for topic in topics:
        mock_cluster.create_topic(topic, 1)
    result = run("audit", *topics, "-b", mock_cluster.bootstrap_servers)
    for topic in topics:
        assert f"{topic}: no records" in result.output


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--full", "--last", "3"], "give one"),
        (["--only-partitions", "3-1"], "'3-1' is no partition"),
        (["--only-partitions", "x"], "'x' is no partition"),
        (["--since", "yesterday"], "'yesterday' is no time"),
        (["--only-partitions", "9"], "has no partition 9: it has 0 to 3"),
    ],
)
def test_options_that_make_no_sense_are_trouble(audited, options, said):
    _, result = audited(*options, keys=[])
    assert said in result.stderr
    assert result.exit_code == 2


def test_a_cluster_is_needed(run):
    result = run("audit", "orders")
    assert "name the cluster with -b" in result.stderr
    assert result.exit_code == 2


@pytest.mark.live
def test_a_broker_that_is_down_is_one_line(run):
    [port] = free_ports(1)
    result = run("audit", "orders", "-b", f"127.0.0.1:{port}")
    assert result.stderr.startswith("copartition audit: topic 'orders': no broker answers")
    assert result.stderr.count("\n") == 1
    assert result.exit_code == 2
