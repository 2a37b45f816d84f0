import struct
import sys

import pytest

from copartition.audit.decoder import KeyDecoder, registry_client
from partitioning.errors import InvalidConfigError, MissingDependencyError


@pytest.mark.parametrize(
    ("key_format", "key", "said"),
    [
        ("string", b"user", ("text", "user")),
        ("string", b"42", ("number", "42")),
        ("integer", struct.pack(">i", 42), ("number", "42")),
        ("double", struct.pack(">d", 2.5), ("number", "2.5")),
    ],
)
def test_a_key_says_what_its_deserializer_makes_of_it(
    key_format: str, key: bytes, said: tuple[str, str]
) -> None:
    assert KeyDecoder(key_format, "orders")(key, "bytes") == said


def test_what_cannot_be_decoded_is_counted() -> None:
    decode = KeyDecoder("integer", "orders")
    assert decode(b"user", "text") == ("number", str(int.from_bytes(b"user", "big")))
    assert [decode(key, "text") for key in (b"long", b"longer", b"longest")][1:] == [
        ("bytes", b"longer".hex()),
        ("bytes", b"longest".hex()),
    ]
    assert list(decode.undecoded.values()) == [2]


@pytest.mark.parametrize("key_format", ["avro", "json-schema", "text"])
def test_a_format_that_cannot_be_is_refused(key_format: str) -> None:
    with pytest.raises(InvalidConfigError):
        KeyDecoder(key_format, "orders")


def test_a_client_without_what_it_needs_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "confluent_kafka.schema_registry", None)
    with pytest.raises(MissingDependencyError, match="pip install"):
        registry_client({"url": "http://localhost"})
