"""Serializes keys as producers do: a partitioner hashes the serialized bytes, and not the value.

The number 42 as a long, as an int, as a text and as a JSON document has four different serialized forms,
which can go to four different partitions. `key_serializer` makes the bytes of Kafka's own serializers
(numbers, texts, UUIDs), of Kafka Connect's JsonConverter, which Debezium uses ("json"), and of the
serializers of a schema registry.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import struct
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from typing import Any, Literal, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from partitioning.errors import InvalidConfigError, InvalidKeyError, MissingDependencyError

UUID_PATTERN = "[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
"""A pattern for a UUID as Java writes and reads it, with 36 characters."""

HEADER: Literal["header"] = "header"
"""The `schema_id` of a serializer that sends the id in a header of the record, and not in the key."""

KeyValue: TypeAlias = str | int | float | bytes | uuid.UUID | Mapping[str, Any] | Sequence[Any]
"""A value that some type of key can have."""
SchemaId: TypeAlias = int | Literal["header"] | None
"""The registry's number of a schema; "header" if it is not in the key; None for a type without a registry."""

MAX_SCHEMA_ID = 2**31 - 1

_INTEGER = re.compile(r"[+-]?[0-9]+")
_JSON_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[^\s"]+')
_SPELLED_BY_JACKSON = re.compile("\\\\(?:u[0-9a-f]{4}|.)|[\U00010000-\U0010ffff]")
"""The parts of a text that Jackson writes differently from Python: escapes, and characters beyond 16 bits."""
_PLAIN_FLOATS = 1e-3, 1e7
"""The bounds between which Java and Python write a floating-point number alike.

Beyond them Java writes an exponent, as in 1.0E7.
"""


def big_endian(values: NDArray[Any], size: int) -> bytes:
    """Return numbers as Java's serializers write them: `size` bytes each, the highest byte first.

    Args:
        values: integers that fit, or floating-point numbers.
        size: bytes of one number: 2, 4 or 8.
    """
    kind = "f" if values.dtype.kind == "f" else "i"
    if kind == "f" and size == 8:
        # Java's DoubleSerializer writes the same bytes for every NaN (`doubleToLongBits`). FloatSerializer
        # keeps the bits of each NaN.
        values = np.where(np.isnan(values), np.nan, values)
    return values.astype(f">{kind}{size}").tobytes()


def string_key(value: object) -> bytes:
    """Return the UTF-8 bytes of a text (`StringSerializer`); raise InvalidKeyError for another type."""
    if not isinstance(value, str):
        raise InvalidKeyError(f"a string key is a text, not {type(value).__name__}")
    try:
        # Python reads bytes of the command line that are not UTF-8 as surrogates. This restores the bytes.
        return value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise InvalidKeyError(f"{value!r:.60} is no Unicode: {error.reason}") from None


def integer_key(value: object, *, size: int = 4) -> bytes:
    """Return an integer in `size` bytes, the highest first.

    `ShortSerializer` writes the same bytes for size 2, `IntegerSerializer` for 4, `LongSerializer` for 8.

    >>> integer_key(42).hex(), integer_key(-1, size=8).hex()
    ('0000002a', 'ffffffffffffffff')

    Raises:
        InvalidKeyError: the value is no integer, or does not fit into `size` bytes.
    """
    bound = 1 << 8 * size - 1
    # Python counts a bool as an int, but no serializer does.
    if not isinstance(value, int) or isinstance(value, bool) or not -bound <= value < bound:
        raise InvalidKeyError(f"{value!r:.60} is no integer of {size} bytes: {-bound} to {bound - 1}")
    return value.to_bytes(size, "big", signed=True)


def float_key(value: object, *, size: int = 8) -> bytes:
    """Return a floating-point number in `size` bytes: 4 for `FloatSerializer`, 8 for `DoubleSerializer`.

    Raises:
        InvalidKeyError: the value is no number, or too large for `size` bytes.
    """
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise InvalidKeyError(f"{value!r:.60} is no number")
    try:
        # This only checks that the number fits: NumPy would turn a number that is too large into infinity.
        struct.pack(">f" if size == 4 else ">d", value)
    except OverflowError:
        raise InvalidKeyError(f"{value!r:.60} is too large for a number of {size} bytes") from None
    return big_endian(np.array([value], np.float64), size)


def uuid_key(value: str | uuid.UUID) -> bytes:
    """Return the 36 characters of a UUID in lower case, as `UUIDSerializer` writes them.

    Raises:
        InvalidKeyError: the value is not a UUID.
    """
    if re.fullmatch(UUID_PATTERN, str(value)) is None:
        raise InvalidKeyError(f"{value!r:.60} is no UUID such as 0a1b2c3d-0000-4fff-8abc-0123456789ab")
    return str(value).lower().encode()


def json_key(value: object) -> bytes:
    """Return a value as a JSON document without spaces, as Connect's JsonConverter writes it without schemas.

    >>> json_key("A"), json_key({"id": 42})
    (b'"A"', b'{"id":42}')

    Raises:
        InvalidKeyError: the value is no value of JSON, or has a number that Java and Python spell
            differently.
    """
    _refuse_floats(value)
    try:
        return compact_json(json.dumps(value, ensure_ascii=False, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise InvalidKeyError(f"{value!r:.60} is no JSON document: {error}") from None


def compact_json(document: str) -> bytes:
    r"""Return a JSON document without the spaces between its parts, and its texts as Jackson writes them.

    Names and numbers stay as they are and in their order: a producer that writes 1.0 writes another key than
    one that writes 1.

    >>> compact_json('{"id": 1.50, "name": "\u00e9"}')
    b'{"id":1.50,"name":"\xc3\xa9"}'

    Raises:
        InvalidKeyError: a text in it is no Unicode: half of a pair of surrogates, or bytes that are no UTF-8.
    """
    try:
        return "".join(map(_token, _JSON_TOKEN.findall(document))).encode()
    except UnicodeEncodeError:
        raise InvalidKeyError(f"{document!r:.60} has a text that is no Unicode: JSON has none") from None


def frame(payload: bytes, schema_id: object, indexes: bytes = b"") -> bytes:
    r"""Return a payload as a schema registry's serializer sends it as a key.

    >>> frame(b"\x02A", 7).hex(), frame(b"\x02A", "header").hex()
    ('00000000070241', '0241')

    Args:
        payload: the bytes that the serializer of the format (Avro, Protobuf or JSON) wrote.
        schema_id: the registry's number of the schema, which goes before the payload in five bytes; "header"
            if it goes into a header of the record (`header_schema_id_serializer`), so that the key is only
            the payload.
        indexes: for Protobuf, the bytes that say which message of the schema the payload is. They follow the
            id, also if the id goes into a header.

    Raises:
        InvalidConfigError: the id is no number of a schema.
    """
    if schema_id == HEADER:
        return payload
    if not isinstance(schema_id, int) or not 0 <= schema_id <= MAX_SCHEMA_ID:
        raise InvalidConfigError(
            f"schema_id is {schema_id!r:.40}: give the registry's number of the schema, 0 to "
            f"{MAX_SCHEMA_ID}, or {HEADER!r} if the producer sends it in a header"
        )
    return struct.pack(">bI", 0, schema_id) + indexes + payload


@dataclass(frozen=True, slots=True)
class KeySerializer:
    """Serializes keys of one type; `key_serializer` makes one.

    >>> long = key_serializer("long")
    >>> long.of(42) == long.of_text("42") == bytes([0, 0, 0, 0, 0, 0, 0, 42])
    True

    Attributes:
        key_type: one of `KEY_TYPES`.
    """

    key_type: str
    _read: Callable[[str], Any]
    _write: Callable[[Any], bytes]

    def of(self, value: Any) -> bytes | None:
        """Return the bytes of a value; for None, return None, which is the null key.

        Raises:
            InvalidKeyError: the value has another type, or does not fit.
        """
        return None if value is None else self._write(value)

    def of_text(self, text: str) -> bytes:
        """Return the bytes of a value that is written as a text, as on the command line or in a CSV file.

        For "json", "avro", "protobuf" and "jsonschema" the text is a JSON document. A text that is not a JSON
        document stands for itself as a string: A stands for "A".

        Raises:
            InvalidKeyError: the text is no value of this type.
        """
        return self._write(self._read(text))


def key_serializer(
    key_type: str, *, schema: bytes | str | None = None, schema_id: SchemaId = None
) -> KeySerializer:
    """Return a serializer of keys of one type.

    >>> key_serializer("json").of_text('{"id": 42}'), key_serializer("integer").of(42).hex()
    (b'{"id":42}', '0000002a')

    Args:
        key_type: one of `KEY_TYPES`.
        schema: for "avro", the schema in JSON; for "protobuf", a FileDescriptorSet, which `protoc
            --include_imports --descriptor_set_out` writes: keys are the first message of its last file. None
            for the other types.
        schema_id: for the types with a schema registry, "avro", "protobuf" and "jsonschema", the schema's
            number or "header", as for `frame`. None for the other types.

    Raises:
        InvalidConfigError: there is no such type, it lacks a schema or an id, has one that it cannot use, or
            the schema cannot be read.
        MissingDependencyError: the package that the type needs is not installed: fastavro for "avro",
            protobuf for "protobuf".
    """
    if key_type not in KEY_TYPES:
        raise InvalidConfigError(f"no key type {key_type!r}; give one of {', '.join(KEY_TYPES)}")
    # An id that no serializer uses is refused, as is an id that is missing.
    if (schema_id is not None) != (key_type in WITH_REGISTRY):
        raise InvalidConfigError(
            f"{key_type} keys need the schema's number in the registry, or {HEADER!r}"
            if key_type in WITH_REGISTRY
            else f"{key_type} keys have no schema id; it is for {', '.join(WITH_REGISTRY)}"
        )
    if (schema is not None) != (key_type in _WITH_SCHEMA):
        raise InvalidConfigError(
            f"{key_type} keys need their schema"
            if key_type in _WITH_SCHEMA
            else f"{key_type} keys need no schema; it is for {', '.join(_WITH_SCHEMA)}"
        )
    if schema_id is None:
        return KeySerializer(key_type, *_PLAIN[key_type])
    frame(b"", schema_id)  # refuses an id before the first key
    # In Protobuf's message indexes, a single zero byte stands for the first message of the schema.
    indexes = b"\0" if key_type == "protobuf" else b""
    read: Callable[[str], Any] = _json_or_text
    write: Callable[[Any], bytes] = _json_alike
    if key_type == "avro":
        read, write = _avro(schema or "")
    elif key_type == "protobuf":
        read, write = json_or_text, _protobuf(schema or b"")
    return KeySerializer(key_type, read, lambda value: frame(write(value), schema_id, indexes))


@overload
def serialize_key(
    value: KeyValue, key_type: str, *, schema: bytes | str | None = None, schema_id: SchemaId = None
) -> bytes: ...
@overload
def serialize_key(
    value: KeyValue | None, key_type: str, *, schema: bytes | str | None = None, schema_id: SchemaId = None
) -> bytes | None: ...
def serialize_key(
    value: KeyValue | None, key_type: str, *, schema: bytes | str | None = None, schema_id: SchemaId = None
) -> bytes | None:
    """Return the bytes of one key, as `key_serializer` makes them and `partition_for_key` takes them.

    >>> [partition_for_key(serialize_key(21, kind), 12) for kind in ("long", "integer", "json")]
    [10, 3, 0]

    Args:
        value: a value that fits the type: an int, a float, a text, a `uuid.UUID`, a JSON value. None is the
            null key.
        key_type: one of `KEY_TYPES`.
        schema: as `key_serializer` takes it.
        schema_id: as `key_serializer` takes it.

    Raises:
        InvalidKeyError: the value has another type, or does not fit.
        InvalidConfigError: as in `key_serializer`.
        MissingDependencyError: as in `key_serializer`.
    """
    return key_serializer(key_type, schema=schema, schema_id=schema_id).of(value)


def forms_of(text: str, schema_id: int | None = None) -> Iterator[tuple[str, bytes]]:
    """Yield each form that a key written as a text may have, with its bytes, likelier forms first.

    This helps to find the serializer if a key and its partition are known. A form with the same bytes as an
    earlier one is left out.

    Args:
        text: the key as a person writes it.
        schema_id: the registry's number of the key's schema, if it has one and it is known.
    """
    seen = set[bytes]()
    for name, serialize in _forms(schema_id):
        try:
            key = serialize(text)
        except (InvalidKeyError, ValueError):  # this text has no such form
            continue
        if key not in seen:
            seen.add(key)
            yield name, key


def json_or_text(text: str) -> Any:
    """Return the value of a JSON document, or the text itself if it is none."""
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        return text


class _Document(str):
    """A JSON document as the user wrote it, so that the spelling of its numbers is kept."""

    __slots__ = ()


def _json_or_text(text: str) -> Any:
    # A document keeps the user's text, because parsing would lose the spelling of numbers.
    value = json_or_text(text)
    return text if value is text else _Document(text)


def _json_payload(value: Any) -> bytes:
    return compact_json(value) if isinstance(value, _Document) else json_key(value)


def _json_alike(value: Any) -> bytes:
    """Return a JSON document that Java's and confluent-kafka's serializers write alike; refuse any other."""
    written = _json_payload(value)
    # `odd` is an escape such as \u00AB whose hexadecimal digits have letters. Jackson writes these letters
    # in capitals, Python in small letters, so the bytes differ.
    if odd := re.search(rb"(?<!\\)(?:\\\\)*\\u(?:[0-9A-F]*[A-F]|D[89])[0-9A-F]*", written):
        raise InvalidKeyError(
            f"Java's serializer and confluent-kafka's spell {odd[0].decode()} differently: serialize the key "
            "as the producer does, and give its bytes"
        )
    return written


def _token(token: str) -> str:
    """Return one part of a JSON document as Jackson writes it."""
    if token[0] != '"':
        return token
    # The text is parsed and written again. This replaces an unnecessary escape by its character, as in
    # Jackson.
    return _SPELLED_BY_JACKSON.sub(
        _as_jackson, json.dumps(json.loads(token, strict=False), ensure_ascii=False)
    )


def _as_jackson(match: re.Match[str]) -> str:
    """Return an escape with upper-case digits, and a character beyond 16 bits as two escapes."""
    written = match[0]
    if written[0] == "\\":
        return rf"\u{written[2:].upper()}" if len(written) > 2 else written
    halves = written.encode("utf-16-be").hex().upper()
    return rf"\u{halves[:4]}\u{halves[4:]}"


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no value of JSON")


def _refuse_floats(value: object) -> None:
    # 0.0 is below the lower bound, but Java and Python write it alike.
    if isinstance(value, float) and value and not _PLAIN_FLOATS[0] <= abs(value) < _PLAIN_FLOATS[1]:
        raise InvalidKeyError(
            f"{value!r} is spelled differently by Java and Python; give the document as a text, as the "
            "producer writes it"
        )
    if isinstance(value, dict | list | tuple):
        for part in value.values() if isinstance(value, dict) else value:
            _refuse_floats(part)


def _integer(text: str) -> int:
    if _INTEGER.fullmatch(text) is None:
        raise InvalidKeyError(f"{text!r:.60} is no integer")
    try:
        return int(text)
    except ValueError:  # Python reads no more than 4,300 digits
        raise InvalidKeyError(f"{text!r:.60} has more digits than any integer of Kafka's") from None


def _number(text: str) -> float:
    try:
        # Only Python reads 1_000 as a number, so an underscore is made to fail.
        return float("_" if "_" in text else text)
    except ValueError:
        raise InvalidKeyError(f"{text!r:.60} is no number") from None


def _hex(text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise InvalidKeyError(f"{text!r:.60} is not hexadecimal: give two digits for each byte") from None


def _base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise InvalidKeyError(f"{text!r:.60} is not base64") from None


def _bytes(value: object) -> bytes:
    if not isinstance(value, bytes):
        raise InvalidKeyError(f"{value!r:.60} is {type(value).__name__}, not bytes")
    return value


_PLAIN: dict[str, tuple[Callable[[str], Any], Callable[[Any], bytes]]] = {
    "string": (str, string_key),
    "integer": (_integer, integer_key),
    "long": (_integer, partial(integer_key, size=8)),
    "short": (_integer, partial(integer_key, size=2)),
    "float": (_number, partial(float_key, size=4)),
    "double": (_number, float_key),
    "uuid": (str, uuid_key),
    "json": (_json_or_text, _json_payload),
    "hex": (_hex, _bytes),
    "base64": (_base64, _bytes),
}
"""Types without a schema, each with a function that reads a text and a function that writes a value."""

WITH_REGISTRY = ("avro", "protobuf", "jsonschema")
"""Types that a schema registry's serializers write."""
_WITH_SCHEMA = ("avro", "protobuf")
"""Types whose bytes follow from a schema; the bytes of "jsonschema" are JSON, whatever the schema says."""

KEY_TYPES = (*_PLAIN, *WITH_REGISTRY)
"""Every type that `key_serializer` takes.

>>> KEY_TYPES[:7]
('string', 'integer', 'long', 'short', 'float', 'double', 'uuid')
"""


def _text_of(error: Exception) -> str:
    """Return the message of a library's error, with lone surrogates escaped.

    The message quotes the value, and a text with a lone surrogate cannot be printed.
    """
    return str(error).encode(errors="backslashreplace").decode()


def _avro(schema: bytes | str) -> tuple[Callable[[str], Any], Callable[[Any], bytes]]:
    """Return two functions for an Avro schema: one parses a text, and the other serializes a value."""
    try:
        from fastavro import parse_schema, schemaless_writer  # noqa: PLC0415 - optional
    except ModuleNotFoundError as error:
        raise MissingDependencyError("avro keys need the package fastavro: pip install fastavro") from error
    try:
        parsed = parse_schema(json.loads(schema))
    except Exception as error:
        raise InvalidConfigError(f"the Avro schema cannot be read: {error!r:.200}") from error

    def write(value: Any) -> bytes:
        payload = BytesIO()
        try:
            schemaless_writer(payload, parsed, value, strict_allow_default=True)
        except Exception as error:  # noqa: BLE001 - fastavro raises what comes up for a value of another type
            raise InvalidKeyError(f"{value!r:.60} does not fit the Avro schema: {_text_of(error)}") from None
        return payload.getvalue()

    kind = parsed.get("type") if isinstance(parsed, dict) else parsed
    return (str if kind == "string" else json_or_text), write


def _protobuf(descriptors: bytes | str) -> Callable[[Any], bytes]:
    """Return a function that serializes a value as the first message of a descriptor set's last file."""
    try:
        from google.protobuf import (  # noqa: PLC0415 - optional
            descriptor_pb2,
            descriptor_pool,
            json_format,
            message_factory,
        )
    except ModuleNotFoundError as error:
        raise MissingDependencyError(
            "protobuf keys need the package protobuf: pip install protobuf"
        ) from error
    try:
        files = descriptor_pb2.FileDescriptorSet.FromString(descriptors).file
        pool = descriptor_pool.DescriptorPool()
        for file in files:
            pool.Add(file)
        name = ".".join(filter(None, (files[-1].package, files[-1].message_type[0].name)))
        message = message_factory.GetMessageClass(pool.FindMessageTypeByName(name))
    except Exception as error:
        raise InvalidConfigError(
            "the Protobuf schema cannot be read; give what `protoc --include_imports "
            f"--descriptor_set_out=FILE` writes: {error!r:.200}"
        ) from error

    def write(value: Any) -> bytes:
        try:
            written = json_format.ParseDict(value, message())
        except Exception as error:  # noqa: BLE001 - it raises what comes up for a value that is no object
            raise InvalidKeyError(f"{value!r:.60} is no message {name}: {_text_of(error)}") from None
        return bytes(written.SerializeToString(deterministic=True))

    return write


def _forms(schema_id: int | None) -> Iterator[tuple[str, Callable[[str], bytes]]]:
    """Yield the forms that `forms_of` tries, each with a function from the text to the bytes."""
    for key_type in _PLAIN:
        yield key_type, key_serializer(key_type).of_text
        if key_type == "string":
            yield "json, a string", json_key
            yield "json with its schema, a string", partial(_with_schema, "string")
    for kind in ("int32", "int64"):
        yield f"json with its schema, {kind}", partial(_with_schema, kind)
    yield "uuid in upper case", lambda text: uuid_key(text).decode().upper().encode()
    yield "uuid, 16 bytes", lambda text: uuid.UUID(uuid_key(text).decode()).bytes
    for kind, write in (("string", _avro_string), ("long", _avro_long)):
        yield f"avro {kind}, id in a header", write
        if schema_id is not None:
            yield f"avro {kind}, schema id {schema_id}", partial(_before, schema_id, write)
    if schema_id is not None:
        document = key_serializer("jsonschema", schema_id=schema_id)
        yield f"jsonschema, schema id {schema_id}", document.of_text
        yield f"jsonschema, a string, schema id {schema_id}", partial(_before, schema_id, json_key)


def _before(schema_id: int, write: Callable[[str], bytes], text: str) -> bytes:
    return frame(write(text), schema_id)


def _with_schema(kind: str, text: str) -> bytes:
    """Return the bytes of Connect's JsonConverter with `schemas.enable=true`, its and Debezium's default."""
    payload = json_key(text) if kind == "string" else str(_integer(text)).encode()
    return b'{"schema":{"type":"%s","optional":false},"payload":%s}' % (kind.encode(), payload)


def _avro_string(text: str) -> bytes:
    key = string_key(text)
    return _zigzag(len(key)) + key


def _avro_long(text: str) -> bytes:
    return _zigzag(int.from_bytes(integer_key(_integer(text), size=8), "big", signed=True))


def _zigzag(number: int) -> bytes:
    """Return the zigzag varint of a 64-bit integer, as Avro writes it: numbers near 0 take few bytes."""
    rest = number << 1 ^ number >> 63
    written = bytearray()
    while rest > 0x7F:
        written.append(rest & 0x7F | 0x80)
        rest >>= 7
    return bytes((*written, rest))
