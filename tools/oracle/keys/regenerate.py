"""Writes the golden bytes of keys: `python -m tools.oracle.keys.regenerate`.

Three judges serialize 1,000 values of each type that they know: Java's serializers, Debezium's converters
(those of Kafka Connect and its own), and confluent-kafka with a mock registry, whose ids go into the key and
into a header. Confluent's own serializers in Java are not on Maven Central: of these types the Java program
writes the payload with the libraries that they use, Avro, Protobuf and Jackson, behind the five bytes of the
id.
"""

from __future__ import annotations

import base64
import json
import math
import random
import struct
import subprocess
import sys
import uuid
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from confluent_kafka.schema_registry import SchemaRegistryClient, header_schema_id_serializer
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.schema_registry.json_schema import JSONSerializer
from confluent_kafka.schema_registry.protobuf import ProtobufSerializer
from confluent_kafka.serialization import (
    DoubleSerializer,
    IntegerSerializer,
    MessageField,
    SerializationContext,
    StringSerializer,
)
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory

from tests.support import jars
from tools.oracle.assignors.regenerate import write_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HERE = Path(__file__).parent
GOLDEN = HERE.parents[2] / "tests" / "golden" / "keys"
COUNT = 1_000
"""Values of each type."""

AVRO = json.dumps(
    {
        "type": "record",
        "name": "Order",
        "fields": [{"name": "id", "type": "long"}, {"name": "name", "type": "string"}],
    }
)
JSON_SCHEMA = json.dumps({"title": "Order", "type": "object"})
PLAIN = ("string", "integer", "long", "short", "float", "double", "uuid", "json", "hex", "base64")
WITH_REGISTRY = ("avro", "protobuf", "jsonschema")
WITH_SCHEMA = tuple(f"json with its schema, {kind}" for kind in ("a string", "int32", "int64"))


def descriptors() -> bytes:
    """A FileDescriptorSet, as protoc writes it: one file with the message `Order`."""
    file = descriptor_pb2.FileDescriptorProto(name="order.proto", package="shop", syntax="proto3")
    message = file.message_type.add(name="Order")
    field = descriptor_pb2.FieldDescriptorProto
    for number, (name, kind) in enumerate((("id", field.TYPE_INT64), ("name", field.TYPE_STRING)), 1):
        message.field.add(name=name, number=number, type=kind, label=field.LABEL_OPTIONAL)
    return descriptor_pb2.FileDescriptorSet(file=[file]).SerializeToString()


def texts(key_type: str) -> Iterator[str]:
    """Values of a type as a person writes them, 1,000 of them, small and large, plain and odd."""
    rng = random.Random(f"keys/{key_type}")
    for _ in range(COUNT):
        yield _text(rng, key_type)


def _text(rng: random.Random, key_type: str) -> str:  # noqa: PLR0911 - one a type
    sizes = {"short": 16, "integer": 32, "long": 64, **dict.fromkeys(WITH_SCHEMA[1:], 32)}
    if key_type in sizes:
        bits = rng.randrange(1, sizes[key_type])
        return str(rng.randrange(-(1 << bits), 1 << bits))
    if key_type in {"float", "double"}:
        code, size = (">f", 4) if key_type == "float" else (">d", 8)
        (number,) = struct.unpack(code, rng.randbytes(size))
        # As Java spells them, which Python reads, too.
        odd = rng.choice(["NaN", "Infinity", "-Infinity", "-0.0"])
        return rng.choice([str(rng.randrange(10**6) / 8), repr(number) if math.isfinite(number) else odd])
    if key_type == "uuid":
        text = str(uuid.UUID(int=rng.getrandbits(128)))
        return text.upper() if rng.random() < 0.3 else text
    if key_type in {"hex", "base64"}:
        key = rng.randbytes(rng.randrange(40))
        return key.hex() if key_type == "hex" else base64.b64encode(key).decode()
    if key_type in {"avro", "protobuf"}:
        order = {"id": rng.randrange(-(2**63), 2**63) >> rng.randrange(63), "name": _word(rng)}
        return json.dumps(order, ensure_ascii=rng.random() < 0.5)
    if key_type in {"json", "jsonschema"}:
        value = _value(rng, 2) if key_type == "json" else {"id": _value(rng, 1)}
        return json.dumps(value, ensure_ascii=rng.random() < 0.5, indent=rng.choice([None, None, 2]))
    return _word(rng)


def _word(rng: random.Random) -> str:
    letters = rng.choice(["abcXYZ-_. 0189", "äßé한글\U0001f600", 'a"\\/\b\f\n\r\t\x01\x1f\x7f\u2028'])
    return "".join(rng.choices(letters, k=rng.randrange(12)))


def _value(rng: random.Random, depth: int) -> Any:
    kinds = ["text", "number", "number", "fraction", "nothing", "truth"] + ["object", "list"] * (depth > 0)
    kind = rng.choice(kinds)
    if kind == "object":
        return {_word(rng): _value(rng, depth - 1) for _ in range(rng.randrange(4))}
    if kind == "list":
        return [_value(rng, depth - 1) for _ in range(rng.randrange(4))]
    if kind == "number":
        return rng.randrange(-(2**63), 2**63) >> rng.randrange(63)
    if kind == "fraction":
        return rng.randrange(1, 10**6) / 8
    return {"text": _word(rng), "nothing": None, "truth": rng.random() < 0.5}[kind]


class Confluent:
    """confluent-kafka's serializers; those of a registry with a mock one in this process.

    Attributes:
        ids: the mock registry's number of each type's schema.
    """

    def __init__(self) -> None:
        registry = SchemaRegistryClient.new_client({"url": "mock://keys"})
        pool = descriptor_pool.DescriptorPool()
        pool.Add(descriptor_pb2.FileDescriptorSet.FromString(descriptors()).file[0])
        self._order = message_factory.GetMessageClass(pool.FindMessageTypeByName("shop.Order"))
        self.ids: dict[str, int] = {}
        self._of: dict[str, Callable[[str], bytes | None]] = {
            "string": StringSerializer(),
            "integer": lambda text: IntegerSerializer()(int(text)),
            "double": lambda text: DoubleSerializer()(float(text)),
        }
        makers = {
            "avro": lambda settings: AvroSerializer(registry, AVRO, conf=settings),
            "jsonschema": lambda settings: JSONSerializer(JSON_SCHEMA, registry, conf=settings),
            "protobuf": lambda settings: ProtobufSerializer(self._order, registry, conf=settings),
        }
        for key_type, make in makers.items():
            read: Callable[[str], Any] = self._message if key_type == "protobuf" else json.loads
            for form, serializer in (
                (key_type, make({})),
                (f"{key_type}, header", make({"schema.id.serializer": header_schema_id_serializer})),
            ):
                self._of[form] = self._serialize(serializer, read, f"orders-{key_type}")
            framed = self._of[key_type]('{"id": 1, "name": "a"}')
            assert framed is not None
            (self.ids[key_type],) = struct.unpack(">xI", framed[:5])

    def __call__(self, key_type: str, text: str) -> bytes | None:
        """The key; None for a type that it has no serializer of."""
        return self._of[key_type](text) if key_type in self._of else None

    def _message(self, text: str) -> Any:
        return json_format.Parse(text, self._order())

    @staticmethod
    def _serialize(serializer: Any, read: Callable[[str], Any], topic: str) -> Callable[[str], bytes | None]:
        def serialize(text: str) -> bytes | None:
            context = SerializationContext(topic, MessageField.KEY, headers=[])
            key: bytes | None = serializer(read(text), context)
            return key

        return serialize


def answers() -> Iterator[dict[str, str]]:
    """Every type's texts, with the bytes of each judge that knows the type, in hexadecimal."""
    confluent = Confluent()
    sources = sorted((HERE / "src").rglob("*.java"))
    command = ["java", "-cp", jars.class_path("key-oracle", HERE / "pom.xml", sources)]
    with subprocess.Popen(
        [*command, "copartition.oracle.Serializers"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
        bufsize=1,
    ) as java:
        assert java.stdin is not None
        assert java.stdout is not None
        settings = {"avro": AVRO, "protobuf": descriptors().hex(), "schema_id": 1}
        java.stdin.write(json.dumps(settings) + "\n")
        java.stdin.write(json.dumps({"type": "versions", "text": ""}) + "\n")
        versions = json.loads(java.stdout.readline())
        versions |= {"confluent-kafka": metadata.version("confluent-kafka"), "debezium": "3.3.1.Final"}
        (GOLDEN / "versions.json").write_text(json.dumps(versions, indent=2) + "\n", encoding="utf-8")
        for key_type in (*PLAIN, *WITH_REGISTRY, *WITH_SCHEMA):
            for text in texts(key_type):
                java.stdin.write(json.dumps({"type": key_type, "text": text}) + "\n")
                answer = {"type": key_type, "text": text, **json.loads(java.stdout.readline())}
                for form in (key_type, f"{key_type}, header"):
                    key = confluent(form, text)
                    if key is not None:
                        answer["confluent" if form == key_type else "confluent, header"] = key.hex()
                yield answer


def main() -> None:
    """Asks the judges again, and writes what they said where it is not what the file says."""
    GOLDEN.mkdir(parents=True, exist_ok=True)
    (GOLDEN / "order.avsc").write_text(AVRO, encoding="utf-8")
    (GOLDEN / "order.desc").write_bytes(descriptors())
    is_new = write_lines("serializers", answers(), GOLDEN)
    sys.stdout.write(f"serializers{' written' if is_new else ' unchanged'}\n")


if __name__ == "__main__":
    main()
