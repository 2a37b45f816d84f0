"""Read the meaning of keys from the shape of their bytes: registry frames, JSON, text, numbers, UUIDs.

A shape follows from one key alone, so shapes are counted batch by batch in NumPy, without loops. `forms`
decides which serializer a shape stands for, from the counts of all shapes.

Two keys say the same if their logical keys are equal: the text 42, the JSON 42 and a long of eight bytes with
the value 42 are one logical key. For columns of keys, `look` returns a hash of each logical key; different
logical keys may share a hash. For sampled keys, `logical_key` returns the logical key itself.
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
"""The bytes with which a JSON object, array or string begins."""

WIDTHS = {4: "int32", 8: "int64", 16: "uuid"}
"""Size in bytes -> the form of serialized numbers or UUIDs that have this size."""

HEADER = 5
"""Bytes of a registry's frame before the payload: a zero, and the schema id in big-endian order."""

_MOST_DIGITS = 19

_ITSELF = np.arange(256, dtype=np.uint8)

# In UTF-8 these numbers sum up to zero, because the first byte of a character counts the bytes that must
# follow it. The sum differs from zero with control characters (except those that spread JSON over lines), and
# with bytes that UTF-8 does not have.
_BALANCE = np.zeros(256, np.int32)
_BALANCE[:32] = _BALANCE[[127, 0xC0, 0xC1]] = _BALANCE[0xF5:] = 4099
_BALANCE[list(b"\t\n\r")] = 0
_BALANCE[0x80:0xC0], _BALANCE[0xC2:0xE0], _BALANCE[0xE0:0xF0], _BALANCE[0xF0:0xF5] = -1, 1, 2, 3

_OPENS = np.isin(_ITSELF, list(OPENING))
_CLOSING = _ITSELF + np.uint8(2)  # in ASCII, ] and } come two places after [ and {
_CLOSING[ord('"')] = ord('"')

_HEX = np.full(256, 255, np.uint8)
for _digits in (b"0123456789abcdef", b"0123456789ABCDEF"):
    _HEX[np.frombuffer(_digits, np.uint8)] = np.arange(16)

_DASHES = [8, 13, 18, 23]
_DIGITS = [at for at in range(36) if at not in _DASHES]


class Spans(NamedTuple):
    """Parts of a byte array: where each starts, and its size.

    Args:
        starts: index of each part's first byte in `data`, shape (n,).
        sizes: bytes of each part, shape (n,).
        data: the bytes, which may have others between the parts.
    """

    starts: NDArray[np.int64]
    sizes: NDArray[np.int64]
    data: NDArray[np.uint8]

    def take(self, rows: NDArray[np.intp]) -> Spans:
        """Return the parts of these rows."""
        return Spans(self.starts[rows], self.sizes[rows], self.data)

    def at(self, position: int) -> NDArray[np.uint8]:
        """Return the byte at a position of each part, shape (n,); a negative position counts from the end."""
        where = self.starts + (position if position >= 0 else self.sizes + position)
        return np.asarray(self.data[where])

    def rows(self, width: int) -> NDArray[np.uint8]:
        """Return the first `width` bytes of each part; shape (n, width)."""
        if not len(self.starts):
            return np.empty((0, width), np.uint8)
        return padded_rows(self.data, self.starts, width)

    def row(self, number: int) -> bytes:
        """Return the bytes of one part."""
        start = int(self.starts[number])
        return self.data[start : start + int(self.sizes[number])].tobytes()


def look(keys: Spans) -> tuple[NDArray[np.int8], NDArray[np.uint64]]:
    """Return the shape of each key, and a hash of its logical key.

    All spellings of a logical key have the same hash; other keys may have it, too. For example, the text 42,
    the JSON 42, and four or eight bytes with the value 42 share a hash. So do a UUID's text and its bytes;
    and a text, that text in JSON, and a frame with it as payload; and JSON with its names in another order or
    with other spaces. The last holds because the bytes of text are summed up without their order.

    Args:
        keys: the keys, in the order in which they are in `keys.data`; none is empty.

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
    # The version is in the upper half of byte 6, the variant in the two highest bits of byte 8 (RFC 9562).
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
    # Eight bytes that begin with a zero are more often a long than a frame, so they are hashed as a number.
    bare = np.flatnonzero(np.isin(shape, (UUID, BINARY)) | ((shape == FRAME) & (keys.sizes == 8)))
    for width in (4, 8, 16):
        rows = bare[keys.sizes[bare] == width]
        ranks[rows] = _words(keys.take(rows).rows(width))
    return shape, _mix(ranks)


def spans_of(keys: Sequence[bytes]) -> Spans:
    """Return single keys as `Spans`."""
    sizes = np.fromiter(map(len, keys), np.int64, len(keys))
    return Spans(np.cumsum(sizes) - sizes, sizes, np.frombuffer(b"".join(keys), np.uint8))


def digests(keys: Spans) -> NDArray[np.uint64]:
    """Return a hash of each key's bytes and length."""
    column = keys.data[range_numbers(keys.starts, keys.sizes)]
    hashes = murmur3_column(bounds(keys.sizes), column).view(np.uint32).astype(np.uint64)
    return _mix(hashes << np.uint64(32) | keys.sizes.astype(np.uint64))


def schema_ids(frames: Spans) -> NDArray[np.int64]:
    """Return the number in the four bytes after the first byte of each key.

    Only a number above 0 is a schema id.
    """
    header = np.ascontiguousarray(frames.rows(HEADER)[:, 1:])
    return header.view(">i4")[:, 0].astype(np.int64)


def _text_of(keys: Spans, shape: NDArray[np.int8]) -> Spans:
    """Return the keys without the header of frames, the quotes of JSON texts and the length of Avro texts.

    Args:
        keys: the keys; none is empty.
        shape: the shape of each key, before `UUID_TEXT` and `DECIMAL` are told apart from `TEXT`.
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
    """Return which keys are UTF-8 without control characters, as bool of shape (n,)."""
    used = keys.data[keys.starts[0] : keys.starts[-1] + keys.sizes[-1]]
    highest = used.max()
    # Most topics have keys of plain ASCII, which one look at all bytes shows.
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
    """Return, for each key, one number that `how` makes of the table's entries for the key's bytes.

    Args:
        how: a function of two numbers that may be applied in any order, such as `np.add`.
        table: a number for each byte, shape (256,).
        keys: the keys, in the order in which they are in `keys.data`; none is empty. There may be other bytes
            between them.
    """
    starts, ends = keys.starts, keys.starts + keys.sizes
    low, high = int(starts[0]), int(ends[-1])
    values = table[keys.data[low:high]]
    # If there are no gaps between the keys, a reduction from each start to the next covers exactly one key.
    if (starts[1:] == ends[:-1]).all():
        return np.asarray(how.reduceat(values, starts - low))
    # If there are gaps, every second result is that of a gap between two keys, and is dropped.
    bounds = np.stack([starts, ends], axis=1).ravel()[:-1] - low
    return np.asarray(how.reduceat(values, bounds)[::2])


def _sums(keys: Spans) -> NDArray[np.uint64]:
    """Return a sum over each key's bytes that does not depend on spaces and quotes."""
    sums = np.zeros(len(keys.starts), np.uint64)
    rows = np.flatnonzero(keys.sizes > 0)
    if len(rows):
        sums[rows] = _reduce(np.add, _WEIGHTS, keys.take(rows))
    return sums


def _decimals(keys: Spans) -> tuple[NDArray[np.intp], NDArray[np.uint64]]:
    """Return the rows of keys that are 64-bit integers in decimal, and their values as two's complement.

    Numbers of the same length are read together, as a matrix of digits times powers of ten.
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
        # A number of at most 19 digits fits into 64 bits without a sign. Values beyond the signed range are
        # left out.
        value = number @ 10 ** np.arange(size - 1, -1, -1, dtype=np.uint64)
        negative = minus[rows]
        plain = (number <= 9).all(axis=1) & (value <= 2**63 - 1 + negative.astype(np.uint64))
        plain &= (number[:, 0] > 0) | ((size == 1) & ~negative)
        matching.append(rows[plain])
        values.append(np.where(negative, -value.view(np.int64), value.view(np.int64))[plain].view(np.uint64))
    return np.concatenate(matching), np.concatenate(values)


def _uuids(keys: Spans) -> tuple[NDArray[np.intp], NDArray[np.uint64]]:
    """Return the rows of keys that are UUIDs in 36 characters, and the hashes of their sixteen bytes."""
    rows = np.flatnonzero(keys.sizes == 36)
    text = keys.take(rows).rows(36)
    dashed = (text[:, _DASHES] == ord("-")).all(axis=1)
    rows, nibbles = rows[dashed], _HEX[text[dashed][:, _DIGITS]]
    hexadecimal = (nibbles < 16).all(axis=1)
    rows, nibbles = rows[hexadecimal], nibbles[hexadecimal]
    return rows, _words(nibbles[:, ::2] << 4 | nibbles[:, 1::2])


def _words(rows: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Return each row of 4, 8 or 16 bytes as one number: the integer in it, or for 16 bytes a hash."""
    rows = np.ascontiguousarray(rows)
    if rows.shape[1] == 4:
        return rows.view(">i4")[:, 0].astype(np.int64).view(np.uint64)
    words = rows.view(">u8").astype(np.uint64)
    return words[:, 0] if rows.shape[1] == 8 else _mix(words[:, 0]) + words[:, 1]


def _mix(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the finalizer of SplitMix64 for each value; values that are near each other end up far apart."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


_WEIGHTS = _mix(np.arange(1, 257, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15))
_WEIGHTS[np.frombuffer(b' \t\n\r"', np.uint8)] = 0


LOGICAL_KEYS = 512
"""The most logical keys in a sample.

If one in a hundred keys has several spellings, a full sample has such a key with a probability of 99.4 %.
"""

LONGEST = 1024
"""The most bytes of a key in a sample; longer keys are counted, but not sampled."""

SPELLINGS = 4
"""The most spellings of a logical key that a sample keeps."""

EXAMPLES = 10

_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,18}")
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


class RespelledKeys(NamedTuple):
    """Keys that say the same and differ in bytes, among the sampled keys of topics."""

    # The number of logical keys that were compared; of several topics, only those that two or more have.
    compared: int
    respelled: int  # how many of these have more than one spelling
    # A few of these: the logical key, and for each topic its spellings there.
    examples: tuple[tuple[LogicalKey, tuple[tuple[bytes, ...], ...]], ...]


def logical_key(key: bytes, form: str) -> LogicalKey:
    """Return the meaning of a key of this form; if the key has another form, its bytes are the meaning.

    The schema id of a registry's frame is left out. If the payload is JSON, a text or Avro's text, the key's
    meaning is that of the payload; else the payload's bytes are the meaning.

    Args:
        key: the key, not empty.
        form: the name of the form, as in `KeyForm`.
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


def find_respelled(*topics: Sequence[KeyForm]) -> RespelledKeys:
    """Return the logical keys that have several spellings, within one topic or between several topics.

    Only the sampled keys are compared. The samples of all topics hold the logical keys with the lowest
    hashes, so they have many logical keys in common if the topics have.

    Args:
        topics: for each topic the forms of its keys; one topic or more.
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
    return RespelledKeys(len(shared), len(apart), tuple(sorted(apart)[:EXAMPLES]))


@lru_cache(maxsize=256)
def _meanings(form: KeyForm) -> tuple[LogicalKey, ...]:
    """Return the meanings of a form's sampled keys; they are cached, as a topic is compared with many."""
    return form.meanings or tuple(logical_key(key, form.name) for key in form.sample)


class Sample:
    """The logical keys with the lowest hashes, each with at most `SPELLINGS` of its spellings.

    Two topics with the same logical keys have the same logical keys in their samples, however their records
    were divided among tasks.

    `_spellings` maps a hash and a digest of a logical key to the spellings that are kept. `_spelled` has
    hashes of all spellings seen, kept or not, so that no spelling is looked at twice. A logical key with a
    hash above `_limit` can no longer enter the sample.
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
        """Add those of the keys that belong to the sample.

        Args:
            keys: the keys.
            shape: the shape of each key, as `look` returns it.
            rank: the hash of each key's meaning, as `look` returns it.
        """
        rows = np.flatnonzero((rank <= self._limit) & (keys.sizes <= LONGEST))
        # Only the lowest hashes can stay in the sample, whatever it holds already. So the other keys of the
        # batch are left out here, and the loop below is short.
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
        """Add those of the keys that belong to the sample."""
        spans = spans_of(keys)
        self.add(spans, *look(spans))

    def _keep(self, rank: int, key: bytes, form: str) -> None:
        """Keep a key as a spelling of its logical key, unless there are enough spellings.

        The digest separates logical keys that differ but share a hash by chance.

        Args:
            rank: the hash of the logical key.
            key: the key.
            form: the name of the key's form, as in `KeyForm`.
        """
        meaning = "\0".join(logical_key(key, form)).encode(errors="surrogatepass")
        name = rank, int.from_bytes(blake2b(meaning, digest_size=8).digest(), "big")
        spellings = self._spellings.setdefault(name, [])
        if len(spellings) < SPELLINGS and key not in spellings:
            spellings.append(key)

    def _cut(self) -> None:
        """Drop all but the logical keys with the lowest hashes."""
        kept = sorted(self._spellings)[:LOGICAL_KEYS]
        self._spellings = {name: self._spellings[name] for name in kept}
        if len(kept) == LOGICAL_KEYS:
            self._limit = np.uint64(kept[-1][0])


def lone_form(shape: int, size: int) -> str:
    """Return the form of a key of this shape and size if nothing is known of the other keys."""
    if shape == FRAME:
        return "int64" if size == 8 else "registry"
    if shape in {UUID, BINARY}:
        return WIDTHS.get(size, "bytes")
    return {JSON: "json", UUID_TEXT: "uuid-text", DECIMAL: "decimal", TEXT: "text"}[shape]


def logical_value(value: Any) -> LogicalKey:
    """Return the logical key of a decoded value; a text that is a number becomes the number."""
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
    """Return the logical key of a text; None if the key is not UTF-8."""
    try:
        text = key.decode()
    except UnicodeDecodeError:
        return None
    parsed = parsed_json(key) if key[:1] in {b"{", b"[", b'"'} else None
    return logical_value(parsed[0] if parsed else text)


def parsed_json(key: bytes) -> tuple[Any] | None:
    """Return the value of a JSON text, in a tuple of one; None if the key is no JSON."""
    try:
        return (json.loads(key),)
    except (ValueError, RecursionError):
        return None
