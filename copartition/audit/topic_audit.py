"""Define the values of an audit: the records of a topic that it reads, and what it finds."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from partitioning.errors import InvalidConfigError
from partitioning.hashing.murmur2 import murmur2_column
from partitioning.hashing.murmur3 import murmur3_column
from partitioning.keys import KeyColumn, concatenate_columns
from partitioning.kit.columns import bounds, range_numbers


class LogicalKey(NamedTuple):
    """The meaning of a key, whatever its bytes."""

    kind: str  # "number", "uuid", "text", "json", or "bytes"
    value: str  # decimal, lower-case UUID, text, JSON with sorted names and no spaces, or hexadecimal


@dataclass(frozen=True)
class Selection:
    """The records of a topic to read; at most one of `full`, `last` and `since_ms`, else a sample.

    Raises:
        InvalidConfigError: more than one of them is given, or a number selects nothing.
    """

    full: bool = False  # every record that exists when reading begins
    last: int | None = None  # this many offsets at the end of each partition
    since_ms: int | None = None  # records from this time on, milliseconds since 1970
    partitions: tuple[int, ...] | None = None  # only these partitions; None for all
    committed: bool = False  # leave out records of transactions that are open or were aborted

    def __post_init__(self) -> None:
        # Each of `full`, `last` and `since_ms` defines which offsets are read, so two of them would
        # contradict each other.
        if self.full + (self.last is not None) + (self.since_ms is not None) > 1:
            raise InvalidConfigError("full, last and since_ms exclude each other; give one at most")
        if self.last is not None and self.last < 1:
            raise InvalidConfigError(f"last is {self.last}: give at least 1 offset of each partition")
        if self.since_ms is not None and self.since_ms < 0:
            raise InvalidConfigError(f"since_ms is {self.since_ms}: give milliseconds since 1970")


class Records(NamedTuple):
    """Columns of n records of one topic, in the order in which they were read; shape (n,)."""

    partition: NDArray[np.int32]
    offset: NDArray[np.int64]
    timestamp_ms: NDArray[np.int64]  # Kafka's, -1 if the record has none
    keys: KeyColumn  # as they are in the topic; null and empty are different


@dataclass(frozen=True, order=True)
class Writer:
    """A client rule with a partition count: all that a record's partition shows of its writer.

    Attributes:
        profile: the first profile with this rule, a name in `partitioning.profiles.PROFILES`.
        same_rule: every profile that places keyed records by this rule.
        num_partitions: the partition count over which it places records.
    """

    profile: str
    same_rule: tuple[str, ...]
    num_partitions: int


@dataclass(frozen=True)
class Span:
    """A range of offsets of one partition, and the writer that explains its records best.

    Attributes:
        partition: the partition's number.
        first: the lowest offset that was read.
        last: the highest offset that was read.
        first_ms: the lowest timestamp of the range, in milliseconds since 1970; None if no record has one.
        last_ms: the highest timestamp of the range, in milliseconds since 1970; None if no record has one.
        writer: the writer that explains most of its records; None if no record of the range has a key.
        rows: the number of records that were read.
        keyless: how many of these records have no key or an empty one; they show nothing about the writer.
        explained: how many keyed records are where the writer puts them.
        missed: the offsets of a few keyed records that are elsewhere.
        rivals: writers with another rule or count that explain as many records, so nothing shows which of
            them wrote.
    """

    partition: int
    first: int
    last: int
    first_ms: int | None
    last_ms: int | None
    writer: Writer | None
    rows: int
    keyless: int
    explained: int
    missed: tuple[int, ...] = ()
    rivals: tuple[Writer, ...] = ()


@dataclass(frozen=True)
class Share:
    """The records of a topic that a writer explains, in whatever partitions they are.

    Attributes:
        writer: the writer.
        rows: how many keyed records it explains, without those that a writer before it in the list explains.
    """

    writer: Writer
    rows: int


class HotKey(NamedTuple):
    """A key with many records."""

    key: bytes
    partition: int
    rows: int


@dataclass(frozen=True)
class KeyForm:
    """One form of keys that a topic holds.

    Attributes:
        name: "registry" (framed for a schema registry), "json", "text", "int32", "int64", "uuid",
            "uuid-text", "decimal" (digits as text), or "bytes" if none of these fits all keys.
        rows: the number of keyed records with keys of this form.
        schema_ids: the schema ids in the frames of these keys, ascending; empty for forms other than
            "registry".
        example: a key of this form; only its first bytes if it is long.
        maybe: other forms that fit these keys as well, so nothing shows which form is the right one.
        sample: a few hundred of the keys, chosen by what they say, for `logical.find_respelled`.
        meanings: what each of these keys says, if they were decoded; else empty, and `logical.logical_key`
            tells.
    """

    name: str
    rows: int
    schema_ids: tuple[int, ...]
    example: bytes
    maybe: tuple[str, ...] = ()
    sample: tuple[bytes, ...] = ()
    meanings: tuple[LogicalKey, ...] = ()


@dataclass(frozen=True)
class Coverage:
    """The part of a topic that was read.

    Attributes:
        kind: "full": every record that existed when reading began; "last" or "since": the end of each
            partition; "sample": parts of each partition; "partitions": only some partitions.
        read: the number of records that were read.
        present: the number of offsets from the first to the last of all partitions when reading began. There
            are fewer records if the topic is compacted or has transaction markers.
        partitions: the numbers of the partitions that were read, ascending.
        text: what was read and what was left out, in words, for example "the last 10,000 offsets of each of
            12 partitions".
    """

    kind: Literal["full", "last", "since", "sample", "partitions"]
    read: int
    present: int
    partitions: tuple[int, ...]
    text: str


@dataclass(frozen=True)
class TopicAudit:
    """The audit of a topic: who wrote it, as far as its records tell.

    Attributes:
        topic: the topic's name.
        num_partitions: the topic's partition count when reading began.
        spans: the ranges of offsets of all partitions that were read, sorted by partition and offset.
        forms: the forms of the keys, the most frequent first.
        coverage: which part of the topic was read.
        certainty: "sure": one writer, or one after another, explains all that was read, and no rival does;
            "likely": the same except for strays; "mixed": several kinds of client wrote at the same time, or
            the writers that were found explain too few records; "none": no rule that was tried explains the
            records; "unknown": there are too few keyed records to tell rules apart.
        tried: how many writers were tried.
        compacted: whether `cleanup.policy` of the topic contains "compact"; None if the cluster was not
            asked.
        shares: the writers that were found, the one with the most records first. If several clients wrote at
            the same time, the data shows no more than this.
        hottest: the keys with the most records, most first: ten of the topic and three of each partition. A
            key that is in two partitions is in this list once for each. None if keys were not counted.
        hottest_error: the number of records that each of these keys may have in addition to its count; 0 if
            the counts are exact.
        header_schemas: the GUIDs of key schemas in the headers of records, ascending: the serializer sends
            the schema's id in a header and not in the key. Empty if no record that was looked at has such a
            header, or if headers were not read.
    """

    topic: str
    num_partitions: int
    spans: tuple[Span, ...]
    forms: tuple[KeyForm, ...]
    coverage: Coverage
    certainty: Literal["sure", "likely", "mixed", "none", "unknown"]
    tried: int
    compacted: bool | None = None
    shares: tuple[Share, ...] = ()
    hottest: tuple[HotKey, ...] | None = None
    hottest_error: int = 0
    header_schemas: tuple[str, ...] = ()

    @property
    def has_both_frames(self) -> bool:
        """True if some keys have their schema's id in front, and headers name the schema of others."""
        return bool(self.header_schemas) and any(form.name == "registry" for form in self.forms)


def key_hashes(keys: KeyColumn) -> NDArray[np.uint64]:
    """Return a 64-bit hash of each key, shape (n,): murmur3 in the high half, murmur2 in the low half.

    A null key has the hash of an empty one.
    """
    # The two functions are unrelated. With the 32 bits of one, unequal keys would have equal hashes in most
    # topics of a hundred thousand keys.
    high = murmur3_column(keys.offsets, keys.data).view(np.uint32).astype(np.uint64)
    high <<= np.uint64(32)
    high |= murmur2_column(keys.offsets, keys.data).view(np.uint32)
    return high


def pick_keys(keys: KeyColumn, rows: NDArray[np.intp]) -> KeyColumn:
    """Return the keys of these rows, in their order; their bytes are copied."""
    # `offsets` has one element more than there are keys, the end of the last one.
    starts, sizes = keys.offsets[rows], np.diff(keys.offsets)[rows]
    nulls = None if keys.nulls is None else keys.nulls[rows]
    return KeyColumn(bounds(sizes), keys.data[range_numbers(starts, sizes)], nulls)


def pick_records(records: Records, rows: NDArray[np.intp]) -> Records:
    """Return the records of these rows, in their order."""
    return Records(
        records.partition[rows],
        records.offset[rows],
        records.timestamp_ms[rows],
        pick_keys(records.keys, rows),
    )


def concatenate(parts: Sequence[Records]) -> Records:
    """Return the records of all parts, one part after the other; at least one part."""
    # A small topic usually has only one part, which need not be copied.
    if len(parts) == 1:
        return parts[0]
    return Records(
        np.concatenate([part.partition for part in parts]),
        np.concatenate([part.offset for part in parts]),
        np.concatenate([part.timestamp_ms for part in parts]),
        concatenate_columns([part.keys for part in parts]),
    )
