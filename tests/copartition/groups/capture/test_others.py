"""JSON and texts of other tools: a group with members and partitions is read, everything else is named."""

import json

import pytest

from copartition.groups import parse_capture, read_source
from partitioning.errors import SourceError

KAFKA_UI = {
    "groupId": "billing",
    "members": 3,
    "topics": 1,
    "simple": False,
    "partitionAssignor": "range",
    "state": "STABLE",
    "coordinator": {"id": 1, "host": "kafka-1"},
    "consumerLag": 7,
    "partitions": [
        {"topic": "orders", "partition": 0, "currentOffset": 5, "endOffset": 12, "consumerLag": 7,
         "consumerId": "app-1-aaaa", "host": "/10.0.0.1"},
        {"topic": "orders", "partition": 1, "currentOffset": 5, "endOffset": 5, "consumerLag": 0,
         "consumerId": "app-2-bbbb", "host": "/10.0.0.2"},
        {"topic": "orders", "partition": 2, "currentOffset": None, "endOffset": 5, "consumerLag": None,
         "consumerId": None, "host": None},
    ],
    "inherit": "details",
}  # fmt: skip
AKHQ = {
    "id": "billing",
    "state": "STABLE",
    "partitionAssignor": "range",
    "coordinator": {"id": 1, "host": "kafka-1", "port": 9092},
    "members": [
        {"id": "app-1-aaaa", "clientId": "app-1", "host": "/10.0.0.1",
         "assignments": [{"topic": "orders", "partition": 0}]},
        {"id": "app-2-bbbb", "clientId": "app-2", "host": "/10.0.0.2",
         "assignments": [{"topic": "orders", "partition": 1}]},
        {"id": "app-3-cccc", "clientId": "app-3", "host": "/10.0.0.3", "assignments": []},
    ],
    "offsets": [
        {"topic": "orders", "partition": 0, "offset": 5, "lag": 7},
        {"topic": "orders", "partition": 1, "offset": 5, "lag": 0},
        {"topic": "orders", "partition": 2},
    ],
    "topics": ["orders"],
}  # fmt: skip
REST = {
    "kind": "KafkaConsumerLagList",
    "data": [
        {"kind": "KafkaConsumerLag", "consumer_group_id": "billing", "topic_name": "orders",
         "partition_id": number, "current_offset": 5, "log_end_offset": 5 + lag, "lag": lag,
         "consumer_id": f"app-{number + 1}-{'aaaa' if number == 0 else 'bbbb'}", "instance_id": None,
         "client_id": f"app-{number + 1}"}
        for number, lag in enumerate((7, 0))
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("described", "idle", "complete"), [(KAFKA_UI, 1, False), (AKHQ, 0, True), (REST, 0, False)]
)
def test_a_group_with_members_and_partitions_is_read(described, idle, complete, tmp_path):
    path = tmp_path / "group.json"
    path.write_text(json.dumps(described))
    state = read_source(str(path), group="billing").state
    owners = dict(zip(state.places, state.member.tolist(), strict=True))
    assert owners[("orders", 0)] == 0
    assert owners[("orders", 1)] == 1
    assert state.lag_by_place[("orders", 0)] == 7
    assert (state.name, state.unlisted, state.members_complete) == ("billing", idle, complete)
    assert [member.id for member in state.members][:2] == ["app-1-aaaa", "app-2-bbbb"]
    assert "another tool's JSON" in state.warnings[0]


def test_states_and_strategies_have_kafkas_names():
    state, _ = parse_capture(json.dumps(KAFKA_UI | {"state": "PREPARING_REBALANCE"}))
    assert (state.status, state.strategy) == ("PreparingRebalance", "range")


def test_the_status_of_one_connector_is_one_of_the_cluster():
    connector = {
        "name": "sink",
        "connector": {"state": "RUNNING", "worker_id": "a:8083"},
        "tasks": [{"id": 0, "state": "RUNNING", "worker_id": "b:8083"}],
        "type": "sink",
    }
    state, _ = parse_capture(json.dumps(connector))
    assert [member.id for member in state.members] == ["a:8083", "b:8083"]
    assert "of the connector 'sink' alone" in state.assumed[0]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"error": False, "message": "consumer status returned", "status": {"partitions": []}}, "Burrow's"),
        ({"status": {"group": "g", "partitions": []}}, "Burrow's answer about a consumer"),
        ({"status": "success", "data": {"result": []}}, "an answer of Prometheus"),
        ({"name": "g", "topic": "t", "offsets": [{"partition": 0, "offset": 1, "lag": 2}]}, "kt group"),
        ({"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [1]}]}, "reassign"),
        ({"kind": "KafkaConsumerGroup", "consumer_group_id": "g", "state": "STABLE"}, "GROUP/lags has all"),
        ({"anything": 1}, "description of a group with its members and partitions"),
    ],
)
@pytest.mark.parametrize("name", ["group.json", "group.txt"])
def test_json_without_members_is_refused_by_its_name(value, said, name, tmp_path):
    path = tmp_path / name
    path.write_text(json.dumps(value))
    with pytest.raises(SourceError, match=said) as refused:
        read_source(str(path))
    assert "did you mean" not in str(refused.value)
    assert "--describe --members --verbose --group GROUP >> group.txt" in str(refused.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Group ID:       g\nState:          Stable\nProtocol:       range\n", "kaf group describe"),
        ("GROUP  TOPIC  PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG  OWNER\ng t 0 1 1 0 c_/h\n", "0.10.0"),
        ("GROUP, TOPIC, PARTITION, CURRENT OFFSET, LOG END OFFSET, LAG, OWNER\n", "0.9 or"),
        ("Metadata for all topics (from broker 1: b:9092/1):\n 1 brokers:\n", "kcat -L"),
        ("Topic: t\tTopicId: x\tPartitionCount: 3\tReplicationFactor: 1\n", "kafka-topics --describe"),
        ("Partition\tConsumer ID\tHost\tConsumer Lag\n0\ta-1\t/h\t0\n", "Kafka UI"),
        ("# TYPE kafka_consumergroup_lag gauge\n", "metrics of an exporter"),
        ("kafka_consumergroup_group_lag{group=\"g\"} 1\n", "metrics of an exporter"),
    ],
)  # fmt: skip
def test_a_text_of_another_tool_is_refused_by_its_name(text, said):
    with pytest.raises(SourceError, match=said):
        parse_capture(text)


SEVERAL = [{**AKHQ, "id": "billing"}, {**AKHQ, "id": "audit"}]


@pytest.mark.parametrize("text", [json.dumps(SEVERAL), "\n".join(map(json.dumps, SEVERAL))])
def test_of_several_groups_one_is_named(text):
    assert parse_capture(text, "audit")[0].name == "audit"
    with pytest.raises(SourceError, match=r"2 groups \(billing, audit\); name one with `group`"):
        parse_capture(text)
    with pytest.raises(SourceError, match="no group 'orders' but: billing, audit"):
        parse_capture(text, "orders")


def test_a_line_that_is_cut_is_no_group_left_out():
    with pytest.raises(SourceError, match="no whole JSON"):
        parse_capture(json.dumps(AKHQ) + '\n{"groupId": "b", "mem')
