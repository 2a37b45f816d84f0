import struct
import sys
from uuid import UUID

import pytest

from copartition.audit.decoder import KeyDecoder, registry_client
from partitioning import serialize_key
from partitioning.errors import InvalidConfigError, MissingDependencyError


@pytest.mark.parametrize(
    ("key_type", "key", "said"),
    [
        ("string", b"user", ("text", "user")),
        ("string", b"42", ("number", "42")),
        ("integer", struct.pack(">i", 42), ("number", "42")),
        ("double", struct.pack(">d", 2.5), ("number", "2.5")),
        *[
            (key_type, serialize_key(value, key_type), said)
            for key_type, value, said in (
                ("short", -7, ("number", "-7")),
                ("long", 42, ("number", "42")),
                ("float", 2.5, ("number", "2.5")),
                ("uuid", str(UUID(int=7)), ("uuid", str(UUID(int=7)))),
                ("json", {"id": 7}, ("json", '{"id":7}')),
            )
        ],
    ],
)
def test_a_key_says_what_its_deserializer_makes_of_it(
    key_type: str, key: bytes, said: tuple[str, str]
) -> None:
    assert KeyDecoder(key_type, "orders")(key, "bytes") == said


@pytest.mark.parametrize(
    "prefix",
    [
        pytest.param(b"\0\0\0\0\x07\0", id="the first message of schema 7"),
        pytest.param(b"\0\0\0\0\x08\0", id="of schema 8"),
        pytest.param(b"\0\0\0\0\x07\x02\x02", id="the second message"),
        pytest.param(b"\0\0\0\0\x07\x04\x02\x80\x02", id="message 128 inside the second"),
        pytest.param(b"", id="the id is in a header"),
    ],
)
def test_a_protobuf_key_is_its_message_whatever_stands_before(prefix: bytes) -> None:
    message = b"\x0a\x04user"
    assert KeyDecoder("protobuf", "orders")(prefix + message, "bytes") == ("bytes", message.hex())


@pytest.mark.parametrize("key", [b"\0\0\0\0\x07", b"\0\0\0\0\x07\x04\x02"])
def test_a_protobuf_key_that_is_cut_is_counted(key: bytes) -> None:
    decode = KeyDecoder("protobuf", "orders")
    assert decode(key, "bytes") == ("bytes", key.hex())
    assert decode.undecoded.total() == 1


def test_what_cannot_be_decoded_is_counted() -> None:
    decode = KeyDecoder("integer", "orders")
    assert decode(b"user", "text") == ("number", str(int.from_bytes(b"user", "big")))
    assert [decode(key, "text") for key in (b"longer", b"longed")] == [
        ("bytes", b"longer".hex()),
        ("bytes", b"longed".hex()),
    ]
    assert dict(decode.undecoded) == {"integer: a key has 6 bytes, not 4": 2}


@pytest.mark.parametrize("key_type", ["avro", "jsonschema", "text"])
def test_a_format_that_cannot_be_is_refused(key_type: str) -> None:
    with pytest.raises(InvalidConfigError):
        KeyDecoder(key_type, "orders")


def test_a_client_without_what_it_needs_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "confluent_kafka.schema_registry", None)
    with pytest.raises(MissingDependencyError, match="pip install"):
        registry_client({"url": "http://localhost"})
