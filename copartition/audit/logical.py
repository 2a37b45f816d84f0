"""Read what keys say by the shape of their bytes: registry frames, JSON, text, numbers, UUIDs.

A shape follows from one key alone, so shapes are counted batch by batch in NumPy, without loops. `forms` says
which serializer a shape stands for, from the counts of all of them.

Two keys say the same if their logical keys are equal: the text 42, the JSON 42 and a long of eight bytes are
one. Column by column that is judged by hashes (`look`), where others may have the same; of sampled keys it is
known (`logical_key`).
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterator, Sequence
from decimal import Decimal
from functools import lru_cache
from hashlib import blake2b
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from copartition.audit.topic_audit import KeyForm, LogicalKey
from partitioning.hashing.murmur3 import murmur3_column
from partitioning.hashing.words import padded_rows
from partitioning.kit.columns import bounds, range_numbers

FRAME, JSON, UUID_TEXT, DECIMAL, TEXT, UUID, BINARY = range(7)
"""The shapes: a registry's frame, text of four kinds, sixteen bytes marked as a UUID, other bytes."""

TEXTS = (JSON, UUID_TEXT, DECIMAL, TEXT)

OPENING = b'{["'
"""The first bytes of JSON that is neither a number nor a word."""

WIDTHS = {4: "int32", 8: "int64", 16: "uuid"}
"""Sizes of serialized numbers and UUIDs."""

HEADER = 5
"""Bytes of a registry's frame before the payload: a zero, and the schema id, big-endian."""

_MOST_DIGITS = 19

_ITSELF = np.arange(256, dtype=np.uint8)

# In UTF-8 these sum up to zero: bytes that begin a character count the bytes that must follow. They do not
# with control characters (but for the ones that spread JSON over lines), nor with bytes that UTF-8
# does not have.
_BALANCE = np.zeros(256, np.int32)
_BALANCE[:32] = _BALANCE[[127, 0xC0, 0xC1]] = _BALANCE[0xF5:] = 4099
_BALANCE[list(b"\t\n\r")] = 0
_BALANCE[0x80:0xC0], _BALANCE[0xC2:0xE0], _BALANCE[0xE0:0xF0], _BALANCE[0xF0:0xF5] = -1, 1, 2, 3

_OPENS = np.isin(_ITSELF, list(OPENING))
_CLOSING = _ITSELF + np.uint8(2)  # the brackets' in ASCII
_CLOSING[ord('"')] = ord('"')

_HEX = np.full(256, 255, np.uint8)
for _digits in (b"0123456789abcdef", b"0123456789ABCDEF"):
    _HEX[np.frombuffer(_digits, np.uint8)] = np.arange(16)

_DASHES = [8, 13, 18, 23]
_DIGITS = [at for at in range(36) if at not in _DASHES]


class Spans(NamedTuple):
    """Parts of a byte array: where each starts, and its bytes.

    Args:
        starts: place of each in `data`, shape (n,).
        sizes: bytes of each, shape (n,).
        data: the bytes, which may have others between.
    """

    starts: NDArray[np.int64]
    sizes: NDArray[np.int64]
    data: NDArray[np.uint8]

    def take(self, rows: NDArray[np.intp]) -> Spans:
        """Return some of them."""
        return Spans(self.starts[rows], self.sizes[rows], self.data)

    def at(self, position: int) -> NDArray[np.uint8]:
        """Return a byte of each that is not empty, counted from its end where the position is negative."""
        where = self.starts + (position if position >= 0 else self.sizes + position)
        return np.asarray(self.data[where])

    def rows(self, width: int) -> NDArray[np.uint8]:
        """Return the first bytes of each; shape (n, width)."""
        if not len(self.starts):
            return np.empty((0, width), np.uint8)
        return padded_rows(self.data, self.starts, width)

    def row(self, number: int) -> bytes:
        """Return one of them."""
        start = int(self.starts[number])
        return self.data[start : start + int(self.sizes[number])].tobytes()


def look(keys: Spans) -> tuple[NDArray[np.int8], NDArray[np.uint64]]:
    """Return the shape of each key, and a hash of what it says.

    Keys are in the order of their bytes, none empty.

    All spellings of a logical key have one hash, and so may others. The text 42, the JSON 42, four and eight
    bytes that hold 42 have one; so have a UUID's text and its bytes; a text, that text in JSON and a frame
    whose payload it is; and JSON whose names come in another order or with other spaces: bytes that stand for
    themselves are summed up without their order.

    Returns:
        The shapes, int8, and the hashes, uint64; both of shape (n,).
    """
    if not len(keys.starts):
        return np.empty(0, np.int8), np.empty(0, np.uint64)
    shape = np.where(_texts(keys), np.int8(TEXT), np.int8(BINARY))
    first = keys.at(0)
    bare = np.flatnonzero(shape == BINARY)
    framed = bare[(first[bare] == 0) & (keys.sizes[bare] > HEADER)]
    shape[framed[schema_ids(keys.take(framed)) > 0]] = FRAME
    # The version stands in the upper half of byte 6, the variant in the two highest bits of byte 8 (RFC
    # 9562).
    sixteen = bare[(shape[bare] == BINARY) & (keys.sizes[bare] == 16)]
    marks = keys.take(sixteen).rows(16)
    versions = marks[:, 6] >> 4
    shape[sixteen[(versions >= 1) & (versions <= 8) & (marks[:, 8] >> 6 == 2)]] = UUID
    opened = np.flatnonzero((shape == TEXT) & _OPENS[first] & (keys.sizes > 1))
    shape[opened[_CLOSING[first[opened]] == keys.take(opened).at(-1)]] = JSON

    texts = _text_of(keys, shape)
    ranks = _sums(texts)
    for kind, (rows, numbers) in ((UUID_TEXT, _uuids(texts)), (DECIMAL, _decimals(texts))):
        ranks[rows] = numbers
        shape[rows[shape[rows] == TEXT]] = kind
    # Eight bytes that begin with a zero are more often a long than a frame, so they are hashed as the number.
    bare = np.flatnonzero(np.isin(shape, (UUID, BINARY)) | ((shape == FRAME) & (keys.sizes == 8)))
    for width in (4, 8, 16):
        rows = bare[keys.sizes[bare] == width]
        ranks[rows] = _words(keys.take(rows).rows(width))
    return shape, _mix(ranks)


def spans_of(keys: Sequence[bytes]) -> Spans:
    """Return single keys as columns."""
    sizes = np.fromiter(map(len, keys), np.int64, len(keys))
    return Spans(np.cumsum(sizes) - sizes, sizes, np.frombuffer(b"".join(keys), np.uint8))


def digests(keys: Spans) -> NDArray[np.uint64]:
    """Return a hash of each key's bytes and length."""
    column = keys.data[range_numbers(keys.starts, keys.sizes)]
    hashes = murmur3_column(bounds(keys.sizes), column).view(np.uint32).astype(np.uint64)
    return _mix(hashes << np.uint64(32) | keys.sizes.astype(np.uint64))


def schema_ids(frames: Spans) -> NDArray[np.int64]:
    """Return the number in the four bytes after the first one of each key.

    Negative where it is no schema id.
    """
    header = np.ascontiguousarray(frames.rows(HEADER)[:, 1:])
    return header.view(">i4")[:, 0].astype(np.int64)


def _text_of(keys: Spans, shape: NDArray[np.int8]) -> Spans:
    """Return the keys without a frame's header, the quotes of JSON's texts and the length of Avro's.

    Args:
        keys: none empty.
        shape: of each, before texts are told apart.
    """
    starts, sizes = keys.starts.copy(), keys.sizes.copy()
    framed = np.flatnonzero((shape == FRAME) & (sizes != 8))
    starts[framed] += HEADER
    sizes[framed] -= HEADER
    # Avro writes a text's length, doubled, before it.
    avro = framed[keys.data[starts[framed]] == 2 * (sizes[framed] - 1)]
    quoted = np.flatnonzero((shape == JSON) & (keys.data[starts] == ord('"')))
    starts[avro] += 1
    sizes[avro] -= 1
    starts[quoted] += 1
    sizes[quoted] -= 2
    return Spans(starts, sizes, keys.data)


def _texts(keys: Spans) -> NDArray[np.bool_]:
    """Return which keys are UTF-8 without control characters."""
    used = keys.data[keys.starts[0] : keys.starts[-1] + keys.sizes[-1]]
    highest = used.max()
    # Most topics have keys of plain ASCII, which one look at all bytes tells.
    if used.min() >= 32 and highest < 127:
        return np.ones(len(keys.starts), np.bool_)
    text = np.asarray(_reduce(np.add, _BALANCE, keys) == 0)
    if highest >= 128:
        rows = np.flatnonzero(text)
        for row in rows[_reduce(np.maximum, _ITSELF, keys.take(rows)) >= 128].tolist() if len(rows) else ():
            try:
                keys.row(row).decode()
            except UnicodeDecodeError:
                text[row] = False
    return text


def _reduce(how: np.ufunc, table: NDArray[Any], keys: Spans) -> NDArray[Any]:
    """Return the table's entries of each key's bytes as one.

    Keys come in order, none is empty, gaps may be.

    Args:
        how: a function of two numbers that may be taken in any order, such as `np.add`.
        table: a number for each byte, shape (256,).
        keys: the keys.
    """
    starts, ends = keys.starts, keys.starts + keys.sizes
    low, high = int(starts[0]), int(ends[-1])
    values = table[keys.data[low:high]]
    # Without gaps a reduction from each start to the next is one of each key.
    if (starts[1:] == ends[:-1]).all():
        return np.asarray(how.reduceat(values, starts - low))
    # With gaps every other stretch is one between keys, and is dropped.
    bounds = np.stack([starts, ends], axis=1).ravel()[:-1] - low
    return np.asarray(how.reduceat(values, bounds)[::2])


def _sums(keys: Spans) -> NDArray[np.uint64]:
    """Return a sum over each key's bytes, which spaces and quotes do not change."""
    sums = np.zeros(len(keys.starts), np.uint64)
    rows = np.flatnonzero(keys.sizes > 0)
    if len(rows):
        sums[rows] = _reduce(np.add, _WEIGHTS, keys.take(rows))
    return sums


def _decimals(keys: Spans) -> tuple[NDArray[np.intp], NDArray[np.uint64]]:
    """Return which keys are integers of 64 bits, as one writes them, and these, two's complement.

    Numbers of one length are read together, as a matrix of digits times powers of ten.
    """
    first = keys.data[np.minimum(keys.starts, len(keys.data) - 1)]
    minus = first == ord("-")
    digits = keys.sizes - minus
    begins = minus | ((first >= ord("0")) & (first <= ord("9")))
    matching, values = [np.empty(0, np.intp)], [np.empty(0, np.uint64)]
    fitting = begins & (digits > 0) & (digits <= _MOST_DIGITS)
    for size in np.unique(digits[fitting]).tolist():
        rows = np.flatnonzero(fitting & (digits == size))
        number = Spans(keys.starts[rows] + minus[rows], digits[rows], keys.data).rows(size) - ord("0")
        # Of at most 19 digits, so it fits into 64 bits without a sign; what is beyond the signed range is
        # left out.
        value = number @ 10 ** np.arange(size - 1, -1, -1, dtype=np.uint64)
        negative = minus[rows]
        plain = (number <= 9).all(axis=1) & (value <= 2**63 - 1 + negative.astype(np.uint64))
        plain &= (number[:, 0] > 0) | ((size == 1) & ~negative)
        matching.append(rows[plain])
        values.append(np.where(negative, -value.view(np.int64), value.view(np.int64))[plain].view(np.uint64))
    return np.concatenate(matching), np.concatenate(values)


def _uuids(keys: Spans) -> tuple[NDArray[np.intp], NDArray[np.uint64]]:
    """Return which keys are UUIDs written in 36 characters, and the hashes of their sixteen bytes."""
    rows = np.flatnonzero(keys.sizes == 36)
    text = keys.take(rows).rows(36)
    dashed = (text[:, _DASHES] == ord("-")).all(axis=1)
    rows, nibbles = rows[dashed], _HEX[text[dashed][:, _DIGITS]]
    hexadecimal = (nibbles < 16).all(axis=1)
    rows, nibbles = rows[hexadecimal], nibbles[hexadecimal]
    return rows, _words(nibbles[:, ::2] << 4 | nibbles[:, 1::2])


def _words(rows: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Return rows of 4, 8 or 16 bytes as a number each: the integers they hold, of 16 bytes a hash."""
    rows = np.ascontiguousarray(rows)
    if rows.shape[1] == 4:
        return rows.view(">i4")[:, 0].astype(np.int64).view(np.uint64)
    words = rows.view(">u8").astype(np.uint64)
    return words[:, 0] if rows.shape[1] == 8 else _mix(words[:, 0]) + words[:, 1]


def _mix(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return SplitMix64's finalizer of each value: values that are near become far apart."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


_WEIGHTS = _mix(np.arange(1, 257, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15))
_WEIGHTS[np.frombuffer(b' \t\n\r"', np.uint8)] = 0


LOGICAL_KEYS = 512
"""Logical keys in a sample: if one in a hundred is respelled, the sample shows it with 99.4 % certainty."""

LONGEST = 1024
"""Longer keys are counted, and not sampled."""

SPELLINGS = 4
"""The most spellings of a logical key that a sample keeps."""

EXAMPLES = 10

_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,18}")
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


class Respelled(NamedTuple):
    """Keys that say the same and differ in bytes, among the sampled keys of some topics."""

    compared: int  # logical keys whose spellings were compared: of several topics, keys of two of them
    respelled: int  # how many of these have more than one spelling
    # A few of these: the logical key, and per topic the spellings it has there.
    examples: tuple[tuple[LogicalKey, tuple[tuple[bytes, ...], ...]], ...]


def logical_key(key: bytes, form: str) -> LogicalKey:
    """Return what a key of a form of `KeyForm` says; a key that is not of this form says just its bytes.

    The schema id of a registry's frame is left out; of its payload JSON, a text and Avro's text are
    understood, and what else it may be stands as its bytes.

    Args:
        key: not empty.
        form: a name as in `KeyForm`.
    """
    if form in {"int32", "int64"} and len(key) == int(form[3:]) // 8:
        return LogicalKey("number", str(int.from_bytes(key, "big", signed=True)))
    if form == "uuid" and len(key) == 16:
        return LogicalKey("uuid", str(uuid.UUID(bytes=key)))
    if form == "registry" and len(key) > HEADER and key[0] == 0:
        payload = key[HEADER:]
        meaning = _text(payload[1:] if payload[0] == 2 * (len(payload) - 1) else payload)
        return meaning or LogicalKey("bytes", payload.hex())
    if form in {"json", "text", "uuid-text", "decimal"}:
        return _text(key) or LogicalKey("bytes", key.hex())
    return LogicalKey("bytes", key.hex())


def find_respelled(*topics: Sequence[KeyForm]) -> Respelled:
    """Return which keys say the same in other bytes: within one topic, or between several.

    Samples of the forms hold the keys with the lowest hashes of what they say, so that of a logical key all
    spellings are there, or none.

    Args:
        topics: the forms of one topic or of several.
    """
    spelled: dict[LogicalKey, list[set[bytes]]] = {}
    for number, forms in enumerate(topics):
        for form in forms:
            for key, meaning in zip(form.sample, _meanings(form), strict=True):
                spellings = spelled.setdefault(meaning, [set() for _ in topics])
                spellings[number].add(key)
    shared = {
        meaning: spellings
        for meaning, spellings in spelled.items()
        if len(topics) == 1 or sum(map(bool, spellings)) > 1
    }
    apart = [
        (meaning, tuple(map(tuple, map(sorted, of))))
        for meaning, of in shared.items()
        if len(set.union(*of)) > 1
    ]
    return Respelled(len(shared), len(apart), tuple(sorted(apart)[:EXAMPLES]))


@lru_cache(maxsize=256)
def _meanings(form: KeyForm) -> tuple[LogicalKey, ...]:
    """Return what the sampled keys of a form say; kept, since a topic is compared with many."""
    return form.meanings or tuple(logical_key(key, form.name) for key in form.sample)


class Sample:
    """The keys with the lowest hashes of what they say, with all their spellings.

    Two topics that have the same logical keys have the same ones in their samples, however their records were
    divided among tasks.

    `_spellings` has, by hash and a digest of the meaning, the keys that say it. `_spelled` are spellings that
    were seen, kept or not, so that none is looked at twice. No hash above `_limit` can get in any more.
    """

    def __init__(self) -> None:
        self._spellings: dict[tuple[int, int], list[bytes]] = {}
        self._spelled = np.empty(0, np.uint64)
        self._limit = np.uint64(2**64 - 1)

    def __iter__(self) -> Iterator[bytes]:
        """Return the sampled keys, in the order of their hashes."""
        self._cut()
        return chain.from_iterable(spellings for _, spellings in sorted(self._spellings.items()))

    def add(self, keys: Spans, shape: NDArray[np.int8], rank: NDArray[np.uint64]) -> None:
        """Take from these keys, with hashes (`rank`) of what they say, what belongs into the sample."""
        rows = np.flatnonzero((rank <= self._limit) & (keys.sizes <= LONGEST))
        # More than these cannot stay, whatever is in the sample already: it spares the loop below most of a
        # batch.
        if len(rows) > LOGICAL_KEYS and len(lowest := np.unique(rank[rows])) > LOGICAL_KEYS:
            rows = rows[rank[rows] <= lowest[LOGICAL_KEYS - 1]]
        if not len(rows):
            return
        spelling = rank[rows] ^ digests(keys.take(rows))
        fresh = np.flatnonzero(~np.isin(spelling, self._spelled))
        spelling, first = np.unique(spelling[fresh], return_index=True)
        self._spelled = np.append(self._spelled, spelling)
        for row in rows[fresh[first]].tolist():
            self._keep(int(rank[row]), keys.row(row), lone_form(int(shape[row]), int(keys.sizes[row])))
        if len(self._spellings) > 2 * LOGICAL_KEYS:
            self._cut()

    def update(self, keys: Sequence[bytes]) -> None:
        """Take from these keys what belongs into the sample."""
        spans = spans_of(keys)
        self.add(spans, *look(spans))

    def _keep(self, rank: int, key: bytes, form: str) -> None:
        """Keep a key as a spelling of what it says, unless there are enough.

        The digest tells apart what has one hash by chance and differs in meaning.
        """
        meaning = "\0".join(logical_key(key, form)).encode(errors="surrogatepass")
        name = rank, int.from_bytes(blake2b(meaning, digest_size=8).digest(), "big")
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
    """Return the form of a key of that shape and size where nothing is known of the other keys."""
    if shape == FRAME:
        return "int64" if size == 8 else "registry"
    if shape in {UUID, BINARY}:
        return WIDTHS.get(size, "bytes")
    return {JSON: "json", UUID_TEXT: "uuid-text", DECIMAL: "decimal", TEXT: "text"}[shape]


def logical_value(value: Any) -> LogicalKey:
    """Return what a decoded key says: a text that is a number says the number."""
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
    """Return what a text says; None if it is none."""
    try:
        text = key.decode()
    except UnicodeDecodeError:
        return None
    parsed = parsed_json(key) if key[:1] in {b"{", b"[", b'"'} else None
    return logical_value(parsed[0] if parsed else text)


def parsed_json(key: bytes) -> tuple[Any] | None:
    """Return the value of a JSON text, alone in a tuple; None if it is none."""
    try:
        return (json.loads(key),)
    except (ValueError, RecursionError):
        return None
