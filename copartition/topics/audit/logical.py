"""What a key says, whatever its bytes: 42 is 42 as text, as JSON, as an int and as a long."""

from __future__ import annotations

import json
import re
import uuid
from decimal import Decimal
from functools import lru_cache
from hashlib import blake2b
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from copartition.topics.audit.key_shapes import (
    BINARY,
    DECIMAL,
    FRAME,
    HEADER,
    JSON,
    TEXT,
    UUID,
    UUID_TEXT,
    Spans,
    digests,
    look,
    spans_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from copartition.topics.audit.topic_audit import KeyForm

LOGICAL_KEYS = 512
"""So many logical keys are sampled: where one in a hundred is respelled, they tell with 99.4 % certainty."""

LONGEST = 1024
"""Longer keys are counted, and not sampled."""

SPELLINGS = 4
"""So many spellings of a logical key are kept."""

EXAMPLES = 10

_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,18}")
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


class LogicalKey(NamedTuple):
    """What a key says, whatever its bytes.

    Attributes:
        kind: "number", "uuid", "text", "json", or "bytes".
        value: the number in decimal, the UUID in lower case, the text, JSON with its names sorted and without
            spaces, or bytes in hexadecimal.
    """

    kind: str
    value: str


class Respelled(NamedTuple):
    """Keys that say the same and differ in bytes, among the sampled keys of some topics.

    Attributes:
        compared: logical keys whose spellings were compared: of several topics, those that two of them have.
        respelled: of them, how many are there in more than one spelling.
        examples: a few of these: the logical key, and per topic the spellings it has there.
    """

    compared: int
    respelled: int
    examples: tuple[tuple[LogicalKey, tuple[tuple[bytes, ...], ...]], ...]


def logical_key(key: bytes, form: str) -> LogicalKey:
    """What a key of a form says.

    The schema id of a registry's frame is left out; of its payload JSON, a text and Avro's text are
    understood, and what else it may be stands as its bytes.

    Args:
        key: its bytes.
        form: a name as in `KeyForm`. A key that is not of this form says just its bytes.
    """
    if form in {"int32", "int64"} and len(key) == int(form[3:]) // 8:
        return LogicalKey("number", str(int.from_bytes(key, "big", signed=True)))
    if form == "uuid" and len(key) == 16:
        return LogicalKey("uuid", str(uuid.UUID(bytes=key)))
    if form == "registry" and len(key) > HEADER and key[0] == 0:
        payload = key[HEADER:]
        said = _text(payload[1:] if payload[0] == 2 * (len(payload) - 1) else payload)
        return said or LogicalKey("bytes", payload.hex())
    if form in {"json", "text", "uuid-text", "decimal"}:
        return _text(key) or LogicalKey("bytes", key.hex())
    return LogicalKey("bytes", key.hex())


def respelled(*topics: Sequence[KeyForm]) -> Respelled:
    """Which keys say the same in other bytes: within one topic, or between several.

    Args:
        topics: of each topic, the forms that `FormCounts.forms` found. Their samples hold the keys with the
            lowest hashes of what they say, so that of a logical key all spellings are there, or none.
    """
    spelled: dict[LogicalKey, list[set[bytes]]] = {}
    for number, forms in enumerate(topics):
        for form in forms:
            for key, meaning in zip(form.sample, _said(form), strict=True):
                spellings = spelled.setdefault(meaning, [set() for _ in topics])
                spellings[number].add(key)
    shared = {
        said: spellings
        for said, spellings in spelled.items()
        if len(topics) == 1 or sum(map(bool, spellings)) > 1
    }
    apart = [
        (said, tuple(map(tuple, map(sorted, of)))) for said, of in shared.items() if len(set.union(*of)) > 1
    ]
    return Respelled(len(shared), len(apart), tuple(sorted(apart)[:EXAMPLES]))


@lru_cache(maxsize=256)
def _said(form: KeyForm) -> tuple[LogicalKey, ...]:
    """What the sampled keys of a form say; kept, since a topic is compared with many."""
    return form.said or tuple(logical_key(key, form.name) for key in form.sample)


class Sample:
    """The keys with the lowest hashes of what they say, with all their spellings.

    Two topics that have the same logical keys have the same ones in their samples, however their records were
    divided among tasks.
    """

    def __init__(self) -> None:
        self._spellings: dict[tuple[int, int], list[bytes]] = {}
        self._seen = np.empty(0, np.uint64)
        self._limit = np.uint64(2**64 - 1)

    def __iter__(self) -> Iterator[bytes]:
        """The sampled keys, in the order of their hashes."""
        self._cut()
        return chain.from_iterable(spellings for _, spellings in sorted(self._spellings.items()))

    def add(self, keys: Spans, shape: NDArray[np.int8], rank: NDArray[np.uint64]) -> None:
        """Take from these keys what belongs into the sample.

        Args:
            keys: the keys in the order of their bytes, none empty.
            shape: their shapes.
            rank: hashes of what they say.
        """
        rows = np.flatnonzero((rank <= self._limit) & (keys.sizes <= LONGEST))
        if len(rows) > LOGICAL_KEYS and len(lowest := np.unique(rank[rows])) > LOGICAL_KEYS:
            rows = rows[rank[rows] <= lowest[LOGICAL_KEYS - 1]]
        if not len(rows):
            return
        spelling = rank[rows] ^ digests(keys.take(rows))
        fresh = np.flatnonzero(~np.isin(spelling, self._seen))
        spelling, first = np.unique(spelling[fresh], return_index=True)
        self._seen = np.append(self._seen, spelling)
        for row in rows[fresh[first]].tolist():
            self._keep(int(rank[row]), keys.row(row), lone_form(int(shape[row]), int(keys.sizes[row])))
        if len(self._spellings) > 2 * LOGICAL_KEYS:
            self._cut()

    def update(self, keys: Sequence[bytes]) -> None:
        """Take from these keys what belongs into the sample."""
        spans = spans_of(keys)
        self.add(spans, *look(spans))

    def _keep(self, rank: int, key: bytes, form: str) -> None:
        said = "\0".join(logical_key(key, form)).encode(errors="surrogatepass")
        name = rank, int.from_bytes(blake2b(said, digest_size=8).digest(), "big")
        spellings = self._spellings.setdefault(name, [])
        if len(spellings) < SPELLINGS and key not in spellings:
            spellings.append(key)

    def _cut(self) -> None:
        """Leave out all but the lowest."""
        kept = sorted(self._spellings)[:LOGICAL_KEYS]
        self._spellings = {name: self._spellings[name] for name in kept}
        if len(kept) == LOGICAL_KEYS:
            self._limit = np.uint64(kept[-1][0])


def lone_form(shape: int, size: int) -> str:
    """The form of a key of that shape and size where nothing is known of the other keys."""
    if shape == FRAME:
        return "int64" if size == 8 else "registry"
    if shape in {UUID, BINARY}:
        return {4: "int32", 8: "int64", 16: "uuid"}.get(size, "bytes")
    return {JSON: "json", UUID_TEXT: "uuid-text", DECIMAL: "decimal", TEXT: "text"}[shape]


def is_json(key: bytes) -> bool:
    """Whether a key is JSON."""
    return _json(key) is not None


def logical_value(value: Any) -> LogicalKey:
    """What a decoded key says: a text that is a number says the number."""
    if isinstance(value, bytes):
        return LogicalKey("bytes", value.hex())
    if isinstance(value, str):
        if _INTEGER.fullmatch(value) and -(2**63) <= int(value) < 2**63:
            return LogicalKey("number", value)
        return LogicalKey("uuid", value.lower()) if _UUID.fullmatch(value) else LogicalKey("text", value)
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        return LogicalKey("number", str(value))
    if isinstance(value, uuid.UUID):
        return LogicalKey("uuid", str(value))
    canonical = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=str)
    return LogicalKey("json", canonical)


def _text(key: bytes) -> LogicalKey | None:
    """What a text says; None where it is none."""
    try:
        text = key.decode()
    except UnicodeDecodeError:
        return None
    parsed = _json(key) if key[:1] in {b"{", b"[", b'"'} else None
    return logical_value(parsed[0] if parsed else text)


def _json(key: bytes) -> tuple[Any] | None:
    """The value of a JSON text, alone in a tuple; None where it is none."""
    try:
        return (json.loads(key),)
    except (ValueError, RecursionError):
        return None
