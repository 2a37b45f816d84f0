"""Encodes and decodes the bytes that consumers send each other through the coordinator, as the JVM does.

These are ConsumerProtocol subscriptions and assignments, versions 0 to 3 (KIP-429, KIP-792, KIP-881), and the
user data of the sticky assignors (KIP-341).
"""

import codecs
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import cast

import numpy as np
from numpy.typing import NDArray

from assignors.partition_list import NOTHING, PartitionList, in_java_order
from partitioning.errors import InvalidGroupError, ProtocolError
from partitioning.java import HashMap, utf16_key
from partitioning.kit.columns import sort_rows
from partitioning.topic_partition import TopicPartition

_INT16 = struct.Struct(">h")
_INT32 = struct.Struct(">i")
_LONGEST_STRING = 0x7FFF


class Reader:
    """Reads primitives one after the other.

    Every method raises ProtocolError if too few bytes are left. Lengths are checked before memory is
    allocated.

    Args:
        data: the bytes to read.
        what: a name for the data as a whole, for messages.
    """

    def __init__(self, data: bytes, what: str) -> None:
        self._data = memoryview(data).cast("B")
        self._what = what
        self._at = 0

    @property
    def left(self) -> int:
        """The number of bytes that have not been read."""
        return len(self._data) - self._at

    def int16(self) -> int:
        """Return a signed 16-bit number."""
        return cast("int", _INT16.unpack(self._take(2))[0])

    def int32(self) -> int:
        """Return a signed 32-bit number."""
        return cast("int", _INT32.unpack(self._take(4))[0])

    def length(self) -> int:
        """Return the length of an array, at most the number of bytes that are left."""
        length = self.int32()
        # Each element takes at least a byte. Without this check a wrong length would allocate gigabytes.
        if not 0 <= length <= self.left:
            raise self._fault(f"an array says it has {length} elements where {self.left} bytes are left")
        return length

    def int32s(self) -> NDArray[np.int32]:
        """Return an array of signed 32-bit numbers."""
        return np.frombuffer(self._take(4 * self.length()), ">i4").astype(np.int32)

    def string(self) -> str:
        """Return a text; malformed UTF-8 is replaced as Java replaces it."""
        text = self.nullable_string()
        if text is None:
            raise self._fault("a text that has to be there is null")
        return text

    def nullable_string(self) -> str | None:
        """Return a text or None."""
        length = self.int16()
        return None if length < 0 else str(self._take(length), "utf-8", "copartition.java")

    def data(self) -> bytes | None:
        """Return bytes or None."""
        length = self.int32()
        return None if length < 0 else bytes(self._take(length))

    def _take(self, size: int) -> memoryview:
        """Return the next bytes; raise ProtocolError if fewer than `size` are left."""
        end = self._at + size
        if end > len(self._data):
            raise self._fault(f"{size} more bytes are needed where {self.left} are left")
        data = self._data[self._at : end]
        self._at = end
        return data

    def _fault(self, why: str) -> ProtocolError:
        """Return the error that says where in the bytes reading failed."""
        return ProtocolError(f"cannot read {self._what}, byte {self._at} of {len(self._data)}: {why}")


class FieldWriter:
    """Writes primitives one after the other; raises ProtocolError for a value that does not fit its field.

    `what` is a name for the data as a whole, for messages.
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._parts: list[bytes] = []

    def int16(self, value: int) -> None:
        """Write a signed 16-bit number."""
        self._parts.append(_INT16.pack(value))

    def int32(self, value: int) -> None:
        """Write a signed 32-bit number."""
        try:
            # struct would pack True as 1. With None in its place, struct fails as it does for a text.
            self._parts.append(_INT32.pack(None if isinstance(value, bool) else value))
        except struct.error as error:
            raise ProtocolError(f"cannot write {self._what}: {value!r} is no 32-bit integer") from error

    def int32s(self, values: NDArray[np.int32]) -> None:
        """Write an array of signed 32-bit numbers."""
        self.int32(len(values))
        self._parts.append(values.astype(">i4").tobytes())

    def string(self, text: str) -> None:
        """Write a text, in UTF-8 as Java writes it."""
        encoded = _utf8(text)
        if len(encoded) > _LONGEST_STRING:
            raise ProtocolError(
                f"cannot write {self._what}: {text[:40]!r}... takes {len(encoded)} bytes, the most is 32767"
            )
        self._parts += (_INT16.pack(len(encoded)), encoded)

    def nullable_string(self, text: str | None) -> None:
        """Write a text or None."""
        if text is None:
            self.int16(-1)
        else:
            self.string(text)

    def data(self, value: bytes | None) -> None:
        """Write bytes or None."""
        if value is None:
            self.int32(-1)
        else:
            self.int32(len(value))
            self._parts.append(bytes(value))

    def bytes(self) -> bytes:
        """Return all bytes that were written."""
        return b"".join(self._parts)


def _utf8(text: str) -> bytes:
    """Return a text in UTF-8 as Java encodes it."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        # The text has surrogates. Java joins the two halves of a pair and writes "?" for a half on its own.
        units = text.encode("utf-16-le", "surrogatepass")
        return units.decode("utf-16-le", "surrogatepass").encode("utf-8", "replace")


def _replace_as_java(error: UnicodeError) -> tuple[str, int]:
    """Replace malformed UTF-8 as Java does; a handler for `codecs.register_error`.

    Java replaces the three bytes of an encoded surrogate by one character, and Python by three.
    """
    if not isinstance(error, UnicodeDecodeError):
        raise error
    data, start = error.object, error.start
    if data[start] == 0xED and data[start + 1 : start + 2] >= b"\xa0":
        following = data[start + 1 : start + 3]
        size = 1 + next((i for i, byte in enumerate(following) if byte & 0xC0 != 0x80), len(following))
        return "\ufffd", start + size
    return "\ufffd", error.end


codecs.register_error("copartition.java", _replace_as_java)


NEWEST_VERSION = 3
NO_GENERATION = -1


@dataclass(frozen=True, slots=True)
class Subscription:
    """Holds the data that a member sends to the group's leader when it joins.

    >>> Subscription(["orders"], rack="a").rack
    'a'

    Attributes:
        topics: the names of the topics that the member subscribes to.
        user_data: the assignor's own bytes; None for none.
        owned: the partitions that the member reports as its own; from version 1 on (KIP-429).
        generation: the generation in which the member got `owned`; None for none; from version 2 on
            (KIP-792).
        rack: `client.rack`, None or "" for none; from version 3 on (KIP-881).
    """

    topics: Sequence[str]
    user_data: bytes | None = None
    owned: Sequence[TopicPartition] | PartitionList = ()
    generation: int | None = None
    rack: str | None = None


def encode_subscription(subscription: Subscription, version: int = NEWEST_VERSION) -> bytes:
    """Return the subscription as bytes, with topics and owned partitions sorted.

    >>> encode_subscription(Subscription(["orders"]), version=0).hex(" ", 4)
    '0000 00000001 00066f72 64657273 ffffffff'

    Args:
        subscription: the subscription; fields that the version does not have are left out.
        version: 0 to 3; a higher one is written as 3.

    Raises:
        ProtocolError: the version is negative, or a value does not fit its field.
    """
    version = _known_version(version)
    writer = FieldWriter("the subscription")
    writer.int16(version)
    topics = sorted(subscription.topics, key=utf16_key)
    writer.int32(len(topics))
    for topic in topics:
        writer.string(topic)
    # Each version adds a field at the end, so an older reader stops before the fields that it does not know.
    writer.data(subscription.user_data)
    if version >= 1:
        _write_partitions(writer, _sort_by_name(_columns(subscription.owned)))
    if version >= 2:
        writer.int32(NO_GENERATION if subscription.generation is None else max(subscription.generation, -1))
    if version >= 3:
        writer.nullable_string(subscription.rack)
    return writer.bytes()


def decode_subscription(data: bytes) -> Subscription:
    """Return the subscription in these bytes.

    Versions above 3 are read as version 3, as the JVM does; bytes after the known fields are ignored.

    >>> decode_subscription(encode_subscription(Subscription(["orders"], rack="a"))).rack
    'a'

    Raises:
        ProtocolError: the bytes are not a subscription; the JVM throws a SchemaException.
    """
    reader = Reader(data, "the subscription")
    # A newer version only adds fields after those that are known here.
    version = _known_version(reader.int16())
    topics = tuple(reader.string() for _ in range(reader.length()))
    user_data = reader.data()
    owned = _read_partitions(reader) if version >= 1 else NOTHING
    generation = reader.int32() if version >= 2 else NO_GENERATION
    rack = reader.nullable_string() if version >= 3 else None
    # On the wire -1 is "no generation", and "" is no rack.
    return Subscription(topics, user_data, owned, None if generation < 0 else generation, rack or None)


def encode_assignment(
    partitions: Iterable[TopicPartition | tuple[str, int]],
    user_data: bytes | None = None,
    version: int = NEWEST_VERSION,
) -> bytes:
    """Return a member's assignment as bytes, grouped by topic; topics are in the order of first occurrence.

    >>> encode_assignment([("orders", 1)], version=0).hex(" ", 4)
    '0000 00000001 00066f72 64657273 00000001 00000001 ffffffff'

    Args:
        partitions: the partitions of the member.
        user_data: the assignor's own bytes.
        version: 0 to 3; a higher one is written as 3.

    Raises:
        ProtocolError: the version is negative, or a value does not fit its field.
    """
    writer = FieldWriter("the assignment")
    writer.int16(_known_version(version))
    _write_partitions(writer, _columns(partitions).by_topic())
    writer.data(user_data)
    return writer.bytes()


def decode_assignment(data: bytes) -> tuple[PartitionList, bytes | None]:
    """Return the partitions and the user data in an assignment's bytes.

    >>> decode_assignment(encode_assignment([("orders", 1)], b"note"))
    (PartitionList([('orders', 1)]), b'note')

    Raises:
        ProtocolError: the bytes are not an assignment; the JVM throws a SchemaException.
    """
    reader = Reader(data, "the assignment")
    _known_version(reader.int16())
    return _read_partitions(reader), reader.data()


def encode_sticky_user_data(
    partitions: Iterable[TopicPartition | tuple[str, int]], generation: int | None
) -> bytes:
    """Return the user data of a member of a "sticky" group as bytes (KIP-341).

    >>> decode_sticky_user_data(encode_sticky_user_data([("orders", 1)], 3))
    (PartitionList([('orders', 1)]), 3)

    Args:
        partitions: the partitions that the member was assigned last. Topics are written in the order of the
            JVM's HashMap.
        generation: the generation of that assignment; None writes the older form, which has no generation.

    Raises:
        ProtocolError: a value does not fit its field.
    """
    writer = FieldWriter("the sticky user data")
    _write_partitions(writer, _order_by_hash(_columns(partitions)))
    if generation is not None:
        writer.int32(generation)
    return writer.bytes()


def as_it_travels(partitions: PartitionList) -> PartitionList:
    """Return an assignment in the order in which the leader reads it from "sticky" user data.

    A consumer fills a HashMap of topics from the assignment that the coordinator sent, which is grouped by
    topic, and writes its user data in the order of that map.
    """
    return _order_by_hash(partitions.by_topic())


def decode_sticky_user_data(data: bytes) -> tuple[PartitionList, int | None]:
    """Return the partitions and the generation in "sticky" user data; the generation is None if it has none.

    As in the JVM, data that has neither of the two forms counts as no partitions in generation -1. Empty data
    counts as no partitions without a generation.

    >>> partitions, generation = decode_sticky_user_data(encode_sticky_user_data([("orders", 1)], None))
    >>> generation is None
    True
    """
    if not data:
        return NOTHING, None
    reader = Reader(data, "the sticky user data")
    try:
        partitions = _read_partitions(reader)
    except ProtocolError:
        # Unlike empty data, data that cannot be read is a claim of generation -1 in the JVM.
        return NOTHING, NO_GENERATION
    try:
        return partitions, reader.int32()
    except ProtocolError:
        return partitions, None


def encode_cooperative_user_data(generation: int) -> bytes:
    """Return the user data of a member of a "cooperative-sticky" group: its generation, an int32."""
    writer = FieldWriter("the cooperative-sticky user data")
    writer.int32(generation)
    return writer.bytes()


def decode_cooperative_user_data(data: bytes | None) -> int | None:
    """Return the generation in "cooperative-sticky" user data.

    As in the JVM, the result is None without data, and -1 if the data is too short.
    """
    if data is None:
        return None
    try:
        return Reader(data, "the cooperative-sticky user data").int32()
    except ProtocolError:
        return NO_GENERATION


def _known_version(version: int) -> int:
    """Return the version to read or write, at most the newest; raise ProtocolError if it is negative."""
    if version < 0:
        raise ProtocolError(f"ConsumerProtocol version {version} does not exist; versions are 0 to 3")
    return min(version, NEWEST_VERSION)


def _columns(partitions: Iterable[TopicPartition | tuple[str, int]]) -> PartitionList:
    """Return partitions as columns; raise ProtocolError if a number is not a 32-bit integer."""
    try:
        return PartitionList.of(partitions)
    except InvalidGroupError as error:
        raise ProtocolError(str(error)) from error


def _sort_by_name(partitions: PartitionList) -> PartitionList:
    """Return the partitions by topic, then number."""
    names, rank = in_java_order(partitions.names)
    _, ranks, numbers = sort_rows(
        np.zeros(len(partitions), np.int32), rank[partitions.topics], partitions.partitions
    )
    return PartitionList(names, ranks.astype(np.int32), numbers.astype(np.int32))


def _order_by_hash(partitions: PartitionList) -> PartitionList:
    """Return the partitions by topic, in the order of a HashMap that `computeIfAbsent` filled row by row."""
    _, first = np.unique(partitions.topics, return_index=True)
    counts: HashMap[str, int] = HashMap()
    # Each call can make a full table grow, even if its topic is there already. It is enough to make the first
    # call for each topic and the last call of all.
    for row in sorted({*first.tolist(), *range(len(partitions))[-1:]}):
        topic = int(partitions.topics[row])
        counts.compute_if_absent(partitions.names[topic], partial(int, topic))
    rank = np.empty(len(partitions.names), np.int32)
    rank[list(counts.values())] = np.arange(len(counts), dtype=np.int32)
    # The sort is stable, so partitions of a topic keep the order in which they were assigned.
    rows = np.argsort(rank[partitions.topics], kind="stable")
    return PartitionList(partitions.names, partitions.topics[rows], partitions.partitions[rows])


def _write_partitions(writer: FieldWriter, partitions: PartitionList) -> None:
    """Write an array of topics, each with its partitions; rows of a topic must be neighbours."""
    topics = partitions.topics
    starts = np.flatnonzero(np.diff(topics, prepend=-1)).tolist()
    writer.int32(len(starts))
    for start, end in pairwise([*starts, len(topics)]):
        writer.string(partitions.names[topics[start]])
        writer.int32s(partitions.partitions[start:end])


def _read_partitions(reader: Reader) -> PartitionList:
    """Read an array of topics with their partitions; return the partitions, in the order of the bytes."""
    index: dict[str, int] = {}
    topics = []
    numbers = [np.empty(0, np.int32)]
    for _ in range(reader.length()):
        topics.append(index.setdefault(reader.string(), len(index)))
        numbers.append(reader.int32s())
    sizes = [len(number) for number in numbers[1:]]
    return PartitionList(tuple(index), np.repeat(np.array(topics, np.int32), sizes), np.concatenate(numbers))
