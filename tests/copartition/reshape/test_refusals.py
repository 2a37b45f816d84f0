"""Topics that are not reshaped."""

import pytest

from copartition.reshape.refusals import why_not_reshaped


@pytest.mark.parametrize(
    ("topic", "word"),
    [
        ("__consumer_offsets", "committed offsets"),
        ("__transaction_state", "transactions"),
        ("__share_group_state", "share groups"),
        ("__remote_log_metadata", "two underscores"),
        ("_schemas", "schema registry"),
        ("_confluent-ksql-default__command_topic", "Confluent"),
        ("shop-KTABLE-REDUCE-STATE-STORE-0000000003-changelog", "kafka-streams-application-reset.sh"),
        ("shop-counts-repartition", "Kafka Streams"),
        ("connect-configs", "Kafka Connect"),
        ("docker-connect-offsets", "Kafka Connect"),
        ("my_connect_statuses", "Kafka Connect"),
        ("mm2-offset-syncs.backup.internal", "MirrorMaker"),
        ("primary.checkpoints.internal", "MirrorMaker"),
    ],
)
def test_internal_topics_are_refused_by_name_with_the_reason(topic: str, word: str) -> None:
    assert word in (why_not_reshaped(topic) or "")


@pytest.mark.parametrize(
    "topic",
    [
        "orders",
        "_orders",
        "connections",
        "connect",
        "order-status",
        "changelog",
        "billing.internal",
        "heartbeats",
    ],
)
def test_topics_of_applications_are_not(topic: str) -> None:
    assert why_not_reshaped(topic, [b"task-1", b"connector-2"]) is None


def test_topics_of_connect_with_other_names_are_known_by_their_keys() -> None:
    assert "status" in (why_not_reshaped("states", [b"status-connector-a", b"status-task-a-0"]) or "")
    assert "offsets" in (
        why_not_reshaped("places", [b'["file",{"filename":"x"}]', b'["db", {"table": 1}]']) or ""
    )
    # One key of ten like that is chance.
    assert why_not_reshaped("states", [b"status-connector-a", *[b"user"] * 9]) is None
