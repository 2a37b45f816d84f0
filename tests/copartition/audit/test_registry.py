"""Keys whose bytes only a schema registry explains."""

import pytest
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from copartition.audit.decoder import KeyDecoder, registry_client
from copartition.audit.logical import find_respelled
from copartition.audit.topic_audit import LogicalKey
from partitioning.errors import InvalidConfigError, RegistryError
from partitioning.keys import key_column
from tests.copartition.audit.written import count_forms

USER = '{"type": "record", "name": "User", "fields": [{"name": "id", "type": "long"}]}'
RENAMED = '{"type": "record", "name": "Person", "fields": [{"name": "id", "type": "long"}]}'


def test_one_logical_key_under_two_schema_ids_is_found() -> None:
    registry = registry_client({"url": "mock://keys"})
    context = SerializationContext("orders", MessageField.KEY)
    ids = [registry.register_schema("orders-key", Schema(schema, "AVRO")) for schema in (USER, RENAMED)]
    serializers = [AvroSerializer(registry, schema) for schema in (USER, RENAMED)]
    ours, theirs = (
        [serialize({"id": number}, context) for number in range(100)] for serialize in serializers
    )
    decode = KeyDecoder("avro", "orders", registry)
    forms = [count_forms(key_column(keys)).forms(decode) for keys in (ours, theirs)]
    assert [form.schema_ids for (form,) in forms] == [(schema_id,) for schema_id in ids]
    assert forms[0][0].meanings[0].kind == "json"
    found = find_respelled(*forms)
    assert (found.compared, found.respelled) == (100, 100)


def test_json_under_a_schema_says_its_value() -> None:
    registry = registry_client({"url": "mock://keys"})
    schema = '{"type": "object", "title": "User", "properties": {"id": {"type": "integer"}}}'
    key = JSONSerializer(schema, registry)({"id": 7}, SerializationContext("orders", MessageField.KEY))
    assert KeyDecoder("jsonschema", "orders", registry)(key, "registry") == LogicalKey("json", '{"id":7}')


@pytest.fixture(scope="module")
def empty_registry() -> SchemaRegistryClient:
    """A registry without a schema; its client takes a moment to make."""
    return registry_client({"url": "mock://nothing"})


@pytest.mark.parametrize("key", [b"\0\0\0\0\x63user", b"user", b"\0\0\0\0\1"])
def test_a_key_that_the_registry_does_not_know_says_its_bytes(
    key: bytes, empty_registry: SchemaRegistryClient
) -> None:
    decode = KeyDecoder("avro", "orders", empty_registry)
    assert decode(key, "registry") == ("bytes", key.hex())
    assert sum(decode.undecoded.values()) == 1


@pytest.mark.live
def test_a_registry_that_is_down_is_named_at_once() -> None:
    decode = KeyDecoder("avro", "orders", registry_client({"url": "http://127.0.0.1:1", "max.retries": 0}))
    with pytest.raises(RegistryError, match="the schema registry does not answer"):
        decode(b"\0\0\0\0\1user", "registry")


def test_settings_that_the_registry_client_refuses_are_told() -> None:
    with pytest.raises(InvalidConfigError, match="schema registry"):
        registry_client({"url": "http://localhost", "no.such.setting": 1})
