"""Places keyed records by a profile: a single key, or a column of keys."""

import itertools
import sys
from collections.abc import Callable
from functools import cache, partial
from typing import Any, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from partitioning.errors import BrokenPluginError, InvalidKeyError, MisplacedRecordError, UnknownStrategyError
from partitioning.hashing import HASHES
from partitioning.hashing.java_string import NotTextError
from partitioning.hashing.modulo import partition_of, partitions_of
from partitioning.hashing.murmur2 import murmur2_column
from partitioning.interface import PlacesByKey
from partitioning.keys import KeyColumn, Keys, advice, key_chunks, key_column
from partitioning.plug_ins import PARTITIONERS, call_plug_in
from partitioning.profiles import (
    HashesBytes,
    HashesEveryKey,
    Profile,
    ProfileName,
    Rule,
    find_profile,
    known_profile,
)
from partitioning.topic_partition import checked_partition_count


def check_profile(name: str) -> None:
    """Check that this is the name of a profile, client or tool, or of a plug-in that places by key alone.

    Raises:
        UnknownStrategyError: it is neither.
        StrategyConflictError: two installed packages have a partitioner of this name.
        BrokenPluginError: the plug-in cannot be loaded, fails, or does not make a partitioner.
    """
    if known_profile(name) is None:
        _plug_in(name)


def placed_by_plug_in(name: str, keys: KeyColumn, num_partitions: int) -> NDArray[np.int32]:
    """Return the partition that a plug-in gives to each key, int32 of shape (n,); -1 if it gives none.

    Raises:
        UnknownStrategyError: there is no such plug-in, or it does not place by key alone.
        StrategyConflictError: two installed packages have a partitioner of this name.
        BrokenPluginError: the plug-in cannot be used, or does not return a column of partitions.
        MisplacedRecordError: the plug-in chose a partition that the topic does not have.
    """
    placed: object = call_plug_in(f"partitioner {name!r}", _plug_in(name).place_keys, keys, num_partitions)
    if not isinstance(placed, np.ndarray) or placed.dtype.kind not in "iu" or placed.shape != (len(keys),):
        raise BrokenPluginError(
            f"partitioner {name!r} answered {len(keys)} keys with {placed!r:.80}, which is not an integer "
            f"array of shape ({len(keys)},)"
        )
    # The answer is checked here, because a client would refuse such a partition later, without naming the
    # key.
    misplaced = np.flatnonzero((placed < -1) | (placed >= num_partitions))
    if len(misplaced):
        row = int(misplaced[0])
        raise MisplacedRecordError(
            f"partitioner {name!r} put the key in row {row}, {[*keys][row]!r:.60}, into partition "
            f"{placed[row]}; the topic has 0 to {num_partitions - 1}, and -1 where a key does not decide"
        )
    return placed.astype(np.int32, copy=False)


@cache
def _plug_in(name: str) -> PlacesByKey:
    """Return the plug-in of this name, with its default settings; it is made once in a process.

    Placing by key alone needs no state, so one instance serves all calls.

    Raises:
        UnknownStrategyError: there is no such plug-in, or it has no `place_keys`.
    """
    if name not in PARTITIONERS.names():
        find_profile(name)  # raises an error that lists the names that exist
    partitioner = PARTITIONERS.get(name)
    if not isinstance(partitioner, PlacesByKey):
        raise UnknownStrategyError(
            f"partitioner {name!r} does not place by key alone (it has no `place_keys`), so a key and "
            f"a partition count are not enough: ask get_partitioner({name!r}).for_topic(TOPIC), or "
            f"give a producer partitioner={name!r}"
        )
    return partitioner


_Rule: TypeAlias = Callable[[Any, int], int | None]

LIBRDKAFKA = {
    Rule("murmur2", "mask"): "murmur2",
    Rule("fnv1a", "absolute"): "fnv1a",
    Rule("crc32", "unsigned"): "consistent",
}
"""librdkafka's name of each rule that it implements."""

UNKEYED = -1
"""Stands in a column of partitions for a key for which `partition_for_key` returns None."""


def murmur2_batch(keys: Keys) -> NDArray[np.int32]:
    """Return the murmur2 hash of each key, as `murmur2` does; 0 for a null key.

    >>> murmur2_batch([b"user-42", None]).tolist()
    [1459644460, 0]

    Args:
        keys: n keys, as `key_column` takes them.

    Returns:
        int32 array of shape (n,).

    Raises:
        InvalidKeyError: the column, or a row of it, is of another type.
    """
    parts = [np.empty(0, np.int32)]
    for column in key_chunks(keys):
        hashes = murmur2_column(column.offsets, column.data)
        if column.nulls is not None:
            hashes[column.nulls] = 0
        parts.append(hashes)
    return np.concatenate(parts)


@overload
def partition_for_key(key: bytes, num_partitions: int, *, profile: HashesBytes = "java") -> int: ...
@overload
def partition_for_key(key: bytes | None, num_partitions: int, *, profile: HashesEveryKey) -> int: ...
@overload
def partition_for_key(
    key: bytes | None, num_partitions: int, *, profile: ProfileName | str = "java"
) -> int | None: ...
def partition_for_key(key: bytes | None, num_partitions: int, *, profile: str = "java") -> int | None:
    """Return the partition into which this profile's client puts a record with this key.

    >>> partition_for_key(b"user-42", 12), partition_for_key(b"user-42", 12, profile="librdkafka")
    (4, 7)

    Args:
        key: the serialized key.
        num_partitions: how many partitions the topic has, 1 to 2**31 - 1.
        profile: a name in `profiles.PROFILES`, the name of a known client or tool, such as "kcat", or that of
            a plug-in that places by key alone (`PlacesByKey`).

    Returns:
        The partition, or None if the profile does not hash such a key (a null or empty key).

    Raises:
        InvalidKeyError: the key is not bytes, or is not UTF-8 although the profile hashes text.
        InvalidPartitionCountError: `num_partitions` is out of range.
        UnknownStrategyError: there is no such profile, and no such plug-in that places by key alone.
        StrategyConflictError: two installed packages have a partitioner of this name.
        BrokenPluginError: the plug-in cannot be used, or gives no answer.
        MisplacedRecordError: the plug-in chose a partition that does not exist.
    """
    try:
        return _rules[profile](key, num_partitions)
    # Either the key is null, or an argument is wrong. `_place`, which is called below, handles both.
    except (TypeError, ValueError, OverflowError):
        rule = known_profile(profile)
    except KeyError:  # the profile has no function in `_rules` yet, or it is a plug-in
        rule = known_profile(profile)
        if rule is not None and ("confluent_kafka" in sys.modules or next(_first_keys) > _IMPORT_PAYS_AT):
            _rules[profile] = _native_rule(rule) or partial(_place, rule)
    if rule is not None:
        return _place(rule, key, num_partitions)
    count = checked_partition_count(num_partitions)
    if key is not None:
        _check_key(key)
    (placed,) = placed_by_plug_in(profile, key_column([key]), count).tolist()
    return None if placed == UNKEYED else placed


def partition_batch(
    keys: Keys, num_partitions: int, *, profile: ProfileName | str = "java"
) -> NDArray[np.int32]:
    """Return the partition of each key, as `partition_for_key` does; -1 for a key for which it returns None.

    >>> partition_batch([b"user-42", b"user-43", None], 12).tolist()
    [4, 2, -1]

    Args:
        keys: n keys, as `key_column` takes them.
        num_partitions: how many partitions the topic has, 1 to 2**31 - 1.
        profile: a name in `profiles.PROFILES`, the name of a known client or tool, such as "kcat", or that of
            a plug-in that places by key alone (`PlacesByKey`).

    Returns:
        int32 array of shape (n,).

    Raises:
        InvalidKeyError: the column, or a row of it, is of another type, or a key is not UTF-8 although the
            profile hashes text.
        InvalidPartitionCountError: `num_partitions` is out of range.
        UnknownStrategyError: there is no such profile, and no such plug-in that places by key alone.
        StrategyConflictError: two installed packages have a partitioner of this name.
        BrokenPluginError: the plug-in cannot be used, or gives no answer.
        MisplacedRecordError: the plug-in chose a partition that does not exist.
    """
    count = checked_partition_count(num_partitions)
    rule = known_profile(profile)
    if rule is None:
        return placed_by_plug_in(profile, key_column(keys), count)
    # `placed` grows in place, because the number of keys of an Arrow stream is known only at its end. Keeping
    # the parts and joining them afterwards would take twice the memory, and getting that memory from the
    # system would take as much time as the hash.
    placed = bytearray()
    for column in key_chunks(keys):
        try:
            placed += _place_column(rule, column, count).data
        except NotTextError as error:
            row = error.row + len(placed) // 4
            raise InvalidKeyError(f"profile {profile!r} hashes text: key in row {row} is not UTF-8") from None
    return np.frombuffer(placed, np.int32)


def _place_column(rule: Profile, column: KeyColumn, count: int) -> NDArray[np.int32]:
    """Return the partition of each key, int32 of shape (n,), UNKEYED if this profile hashes no such key.

    Raises NotTextError if a key is not UTF-8 and this profile hashes text.
    """
    hashes = HASHES[rule.hash].column(column.offsets, column.data)
    # Null and empty keys are hashed like all others, as keys without bytes, and their partitions are then
    # overwritten. Removing these keys first would copy the column.
    partitions = partitions_of(hashes, count, rule.sign)
    if rule.empty == "unkeyed":
        partitions[column.empty] = UNKEYED
    if rule.null != "empty" and column.nulls is not None:
        partitions[column.nulls] = UNKEYED if rule.null == "unkeyed" else 0
    return partitions


def _place(profile: Profile, key: bytes | None, num_partitions: int) -> int | None:
    """Return the partition of one key under a profile: the readable twin of `partition_batch`.

    Raises:
        InvalidPartitionCountError: the count is out of range.
        InvalidKeyError: the key is not bytes, or is not UTF-8 although the profile hashes text.
    """
    count = checked_partition_count(num_partitions)
    if key is None:
        if profile.null != "empty":
            return None if profile.null == "unkeyed" else 0
        key = b""
    _check_key(key)
    if not key and profile.empty == "unkeyed":
        return None
    try:
        hash_value = HASHES[profile.hash].scalar(key)
    except UnicodeError as error:
        raise InvalidKeyError(f"profile {profile.name!r} hashes text: the key is not UTF-8") from error
    return partition_of(hash_value, count, profile.sign)


def _check_key(key: object) -> None:
    """Raise InvalidKeyError if the key is not bytes; a bytearray, which may change later, is refused, too."""
    if not isinstance(key, bytes):
        raise InvalidKeyError(f"the key is {type(key).__name__}, not bytes; {advice(key)}")


def _native_rule(profile: Profile) -> _Rule | None:
    """Return the function of librdkafka that is exactly this rule; None if there is none."""
    try:
        import confluent_kafka  # noqa: PLC0415 - optional, slow to import
    except ImportError:
        return None
    # librdkafka's functions hash an empty key, so they cannot serve a profile that treats it as unkeyed.
    if profile.empty != "hashed" or profile.rule not in LIBRDKAFKA:
        return None
    function: _Rule | None = getattr(confluent_kafka, LIBRDKAFKA[profile.rule], None)
    return function


# Profile -> its fastest exact function, for each profile used so far. Such a function raises TypeError,
# ValueError or OverflowError unless its arguments are a key and a partition count.
_rules: dict[str, _Rule] = {}
# The import of confluent-kafka takes about as long as placing 10,000 keys without it.
_IMPORT_PAYS_AT = 10_000
_first_keys = itertools.count()


def coordinator_partition(group_or_transactional_id: str, num_partitions: int = 50) -> int:
    """Return the partition of `__consumer_offsets` or `__transaction_state` that stores this id.

    The leader of this partition is the coordinator of the group or transaction.

    >>> coordinator_partition("billing")
    9

    Args:
        group_or_transactional_id: `group.id` or `transactional.id`.
        num_partitions: `offsets.topic.num.partitions` or `transaction.state.log.num.partitions`.

    Raises:
        InvalidPartitionCountError: `num_partitions` is outside 1 .. 2**31 - 1.
    """
    from partitioning.java import string_hash  # noqa: PLC0415 - that package is more than all of this one

    count = checked_partition_count(num_partitions)
    value = string_hash(group_or_transactional_id)
    # As in Kafka's `Utils.abs`, Integer.MIN_VALUE becomes 0, because it has no positive counterpart.
    return 0 if value == -(1 << 31) else abs(value) % count
