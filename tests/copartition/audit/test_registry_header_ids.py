"""Keys of a schema registry's serializers, with the schema's id in the key and in a header."""

import json
import uuid
from collections.abc import Callable

import pytest
from confluent_kafka import Producer
from confluent_kafka.schema_registry import SchemaRegistryClient, header_schema_id_serializer
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from copartition.audit import topic_state
from copartition.audit.cluster import audit_topic
from copartition.audit.report import audit_json, remarks
from copartition.audit.topic_audit import TopicAudit
from copartition.check.judge import judge
from partitioning import partition_batch
from partitioning.testing.mock_cluster import MockCluster
from tests.support.waiting import GENEROUS_S

COUNT, PARTITIONS = 2_000, 12
SCHEMA = json.dumps(
    {
        "type": "record",
        "name": "Customer",
        "fields": [{"name": "id", "type": "long"}, {"name": "shop", "type": "string"}],
    }
)

Record = tuple[bytes, list[tuple[str, bytes]]]


def serialized(header: bool) -> list[Record]:
    """2,000 keys and their headers, by confluent-kafka's serializer with a mock registry."""
    registry = SchemaRegistryClient.new_client({"url": "mock://header-ids"})
    settings = {"schema.id.serializer": header_schema_id_serializer} if header else {}
    serializer = AvroSerializer(registry, SCHEMA, conf=settings)
    records = []
    for number in range(COUNT):
        context = SerializationContext("orders", MessageField.KEY, headers=[])
        key = serializer({"id": number, "shop": f"shop-{number % 7}"}, context)
        records.append((key, context.headers))
    return records


@pytest.fixture
def audited(
    mock_cluster: MockCluster, monkeypatch: pytest.MonkeyPatch
) -> Callable[[list[Record]], TopicAudit]:
    """Writes records to a new topic of the mock cluster, as Java would place them, and audits it."""
    monkeypatch.setattr(topic_state, "ASIDE_S", 0.05)
    config = {"bootstrap.servers": mock_cluster.bootstrap_servers}

    def audit(records: list[Record]) -> TopicAudit:
        topic = f"topic-{uuid.uuid4().hex[:12]}"
        mock_cluster.create_topic(topic, PARTITIONS)
        producer = Producer({**config, "partitioner": "murmur2_random"})
        for key, headers in records:
            producer.produce(topic, b"value", key, headers=headers)
        assert producer.flush(GENEROUS_S) == 0
        return audit_topic(topic, config)

    return audit


@pytest.mark.heavy
def test_nine_in_ten_keys_change_partitions_as_with_another_id() -> None:
    framed, bare = ([key for key, _ in serialized(header)] for header in (False, True))
    assert all(key == b"\0\0\0\0\1" + rest for key, rest in zip(framed, bare, strict=True))
    moved = (partition_batch(framed, PARTITIONS) != partition_batch(bare, PARTITIONS)).mean()
    assert 0.89 < moved < 0.94


@pytest.mark.live
def test_an_audit_says_where_the_schema_id_is(audited: Callable[[list[Record]], TopicAudit]) -> None:
    prefix, header = audited(serialized(header=False)), audited(serialized(header=True))
    assert [(form.name, form.schema_ids) for form in prefix.forms] == [("registry", (1,))]
    assert prefix.header_schemas == ()
    assert "registry" not in {form.name for form in header.forms}
    assert len(header.header_schemas) == 1
    said = " ".join(remarks(header))
    assert f"headers name the key schema {header.header_schemas[0]}: the schema's id is in a header" in said
    assert "other keys have a schema id in front" not in said
    (topic,) = json.loads(audit_json([header]))["topics"]
    assert topic["header_schemas"] == list(header.header_schemas)
    verdict = judge([prefix, header])
    expected = f"keys of {prefix.topic} begin with a schema id, and of {header.topic} it is in a header"
    assert any(reason.text.startswith(expected) for reason in verdict.reasons)
    assert verdict.answer != "yes"
    assert "schema.id.serializer=header_schema_id_serializer" in str(verdict.remedies[-1].command)


@pytest.mark.live
def test_a_topic_with_both_is_told_so(audited: Callable[[list[Record]], TopicAudit]) -> None:
    both = audited([*serialized(header=False), *serialized(header=True)])
    assert both.has_both_frames
    assert any("a key that was written in both ways is two keys" in remark for remark in remarks(both))
