"""Decode keys of a known type, to learn their meaning if their bytes alone do not show it.

confluent-kafka's deserializers decode keys with a schema of a schema registry.
"""

from __future__ import annotations

import json
import struct
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from confluent_kafka.serialization import MessageField, SerializationContext

from copartition.audit.logical import logical_value
from copartition.audit.topic_audit import LogicalKey
from partitioning.errors import InvalidConfigError, MissingDependencyError, RegistryError

if TYPE_CHECKING:
    from confluent_kafka.schema_registry import SchemaRegistryClient


_ID_ENDS = 5
"""The length in bytes of a registry's prefix, which is a zero and the schema id."""


def _number(code: str) -> Callable[[bytes], float]:
    """Return a function that reads a number by this code of `struct` and refuses a key of another size."""
    size = struct.calcsize(code)

    def decode(key: bytes) -> float:
        if len(key) != size:
            raise ValueError(f"a key has {len(key)} bytes, not {size}")
        number: float = struct.unpack(code, key)[0]
        return number

    return decode


def _message(key: bytes) -> bytes:
    """Return the Protobuf message of a key, without its schema id and message indexes.

    Confluent's format is a zero byte, four bytes of the id, and the number of indexes with the indexes
    themselves, each a varint; a number of 0 stands for the index 0 alone. A key without this prefix is the
    message itself, as in header mode: a message begins with a tag, and no tag is 0.
    """
    if not key.startswith(b"\0"):
        return key
    try:
        number, at = _read_varint(key, _ID_ENDS)
        # The number is zigzag, as the indexes are: 2 * n stands for n.
        for _ in range(number >> 1):
            _, at = _read_varint(key, at)
    except IndexError:
        raise ValueError(f"a key of {len(key)} bytes ends inside its schema id or message indexes") from None
    return key[at:]


def _read_varint(key: bytes, at: int) -> tuple[int, int]:
    """Return the varint that begins at byte `at` and the place after it; IndexError if the key is cut."""
    number = shift = 0
    while key[at] >= 0x80:
        number |= (key[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
    return number | key[at] << shift, at + 1


PLAIN: Mapping[str, Callable[[bytes], Any]] = {
    "string": bytes.decode,
    "short": _number(">h"),
    "integer": _number(">i"),
    "long": _number(">q"),
    "float": _number(">f"),
    "double": _number(">d"),
    "uuid": lambda key: uuid.UUID(key.decode()),
    "json": json.loads,
    "protobuf": _message,
}
"""Types that need no schema, as `partitioning.serializers` writes them -> the function that reads a key.

Protobuf keys are compared by the bytes of their message, because its fields can be read only with classes
made from the schema.
"""

KEY_TYPES = (*PLAIN, "avro", "jsonschema")
"""The types of `KeyDecoder`."""

_PATIENCE = {"timeout": 5, "max.retries": 1}

_NOT_FOUND = 404


def registry_client(config: Mapping[str, Any]) -> SchemaRegistryClient:
    """Return a client of a schema registry with these settings, which include at least `url`.

    Args:
        config: settings of confluent-kafka's client; by default its time-out is that of `_PATIENCE`.

    Raises:
        MissingDependencyError: confluent-kafka is installed without what its registry client needs.
        InvalidConfigError: the client refuses a setting.
    """
    with _needing("keys with a schema registry"):
        from confluent_kafka.schema_registry import SchemaRegistryClient  # noqa: PLC0415 - optional
    try:
        return SchemaRegistryClient.new_client({**_PATIENCE, **config})
    except (TypeError, ValueError) as error:
        raise InvalidConfigError(f"the schema registry's client refuses its settings: {error}") from error


class KeyDecoder:
    """Decodes the keys of a topic by one of `KEY_TYPES`, in place of `logical_key`.

    A key that cannot be decoded is compared by its bytes and counted in `undecoded`: a topic may hold keys of
    an older format, and one of them must not end an audit.

    Args:
        key_type: one of `KEY_TYPES`.
        topic: the topic of the keys; a registry names the schema after it.
        registry: the client, from `registry_client`, for formats with a schema.

    Raises:
        InvalidConfigError: the type is unknown, or "avro" or "jsonschema" has no `registry`.
        MissingDependencyError: confluent-kafka lacks what the deserializer needs.
    """

    def __init__(self, key_type: str, topic: str, registry: SchemaRegistryClient | None = None) -> None:
        if key_type not in KEY_TYPES:
            raise InvalidConfigError(f"key type {key_type!r}: give one of {', '.join(KEY_TYPES)}")
        if key_type not in PLAIN and registry is None:
            raise InvalidConfigError(
                f"keys in the format {key_type} are decoded with a schema registry's URL"
            )
        self._format = key_type
        context = SerializationContext(topic, MessageField.KEY)
        # The decoder is made only once, because deserializers keep the schemas that they have asked for.
        self._decode: Callable[[bytes], Any]
        if key_type in PLAIN:
            self._decode = PLAIN[key_type]
        else:
            self._decode = partial(_deserializer(key_type, registry), ctx=context)
        # The error for keys that could not be decoded -> the number of such keys.
        self.undecoded: Counter[str] = Counter()

    def __call__(self, key: bytes, form: str) -> LogicalKey:  # noqa: ARG002 - the format is known
        """Return a key's meaning; raise `RegistryError` if the registry does not answer or refuses access."""
        try:
            return logical_value(self._decode(key))
        except Exception as error:  # noqa: BLE001 - a deserializer may raise any error on other bytes
            # If this did not raise, and the registry does not answer, each of some hundred keys would wait
            # for it.
            _raise_if_of_registry(error)
            self.undecoded[f"{self._format}: {str(error) or type(error).__name__}"] += 1
            return LogicalKey("bytes", key.hex())


def _deserializer(key_type: str, registry: Any) -> Any:
    """Return confluent-kafka's deserializer of a format with schemas.

    Raises:
        MissingDependencyError: it needs a package that is not installed.
    """
    with _needing(f"{key_type} keys"):
        if key_type == "avro":
            from confluent_kafka.schema_registry.avro import AvroDeserializer  # noqa: PLC0415 - optional

            return AvroDeserializer(registry)
        from confluent_kafka.schema_registry.json_schema import JSONDeserializer  # noqa: PLC0415 - optional

        return JSONDeserializer(None, schema_registry_client=registry)


@contextmanager
def _needing(what: str) -> Iterator[None]:
    """Raise `MissingDependencyError` if an import in the block fails; the message names `what`."""
    try:
        yield
    except ImportError as error:
        raise MissingDependencyError(
            f"decoding {what} needs {error.name or error}: "
            "pip install 'confluent-kafka[schemaregistry,avro,json]'"
        ) from error


def _raise_if_of_registry(error: Exception) -> None:
    """Raise `RegistryError` if the registry failed, and return if the key is at fault.

    If the registry does not have a schema, the key is at fault: other bytes that look like a frame may
    contain any id.
    """
    status = getattr(error, "http_status_code", None)
    package = type(error).__module__.partition(".")[0]  # the HTTP client is httpx or httpx2
    unreachable = isinstance(error, OSError) or package in {"httpx", "httpx2"}
    if unreachable or (status is not None and status != _NOT_FOUND):
        what = "does not answer" if unreachable else "refuses"
        raise RegistryError(
            f"the schema registry {what}: {error}; check its URL and credentials, or leave the key type out"
        ) from error
