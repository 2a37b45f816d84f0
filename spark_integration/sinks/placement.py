"""Checks that keyed rows lie where the rule of their partition column puts the key that is written."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from partitioning.errors import InvalidConfigError
from partitioning.hashing import HASHES
from partitioning.hashing.modulo import partitions_of
from partitioning.keys import key_column
from partitioning.profiles import Profile, find_profile
from spark_integration.columns import AS_IT_IS, KEY, NULLS, PROFILE, SOURCE
from spark_integration.errors import ColumnError, RoutingError
from spark_integration.hash_columns import Kernel

DEFAULT_PROFILE = "java"
"""Profile by which rows are checked if neither their column nor an option names one."""


@dataclass(frozen=True)
class KeyRule:
    """A profile's rule, in a form that travels to executors.

    Attributes:
        profile: by which a row's key decides its partition.
        keyless: whether keyless rows may have a partition, which `nulls="spread"` gives them.
        unplaced: whether keyed rows may have none, which leaves the choice to the producer.
        origin: what is known of where the partitions come from, for error messages.
        kernel: the profile's hash of columns. The others stay behind: each task would unpickle their tables,
            half a megabyte.
    """

    profile: Profile
    keyless: bool
    unplaced: bool
    origin: str
    kernel: Kernel = field(repr=False)

    def check(self, key: pa.Array, partition: NDArray[np.int32], counts: NDArray[np.int32]) -> None:
        """Raise RoutingError if a row has another partition than its key, or one although its key has none.

        Keys are text or bytes; a negative partition means nowhere in particular; `counts` are the partition
        counts of the topic of each row.
        """
        # Every key is hashed once more: the column may have been made of another key than the one that is
        # written.
        expected = self._places(key, counts)
        wrong = expected != partition
        if self.keyless:
            wrong &= expected >= 0
        if self.unplaced:
            wrong &= partition >= 0
        if not wrong.any():
            return
        row = int(wrong.argmax())
        shown, count, actual = repr(key[row].as_py())[:60], int(counts[row]), int(partition[row])
        is_at = f"partition {actual} of {count}" if actual >= 0 else "no partition"
        belongs = f"puts this key into {expected[row]}" if expected[row] >= 0 else "hashes no such key"
        raise RoutingError(
            f"a row with key {shown} has {is_at}, and profile '{self.profile.name}' {belongs}: "
            f"{self.way_out(count)}"
        )

    def way_out(self, count: int) -> str:
        """Return what to do about a row that is elsewhere in a topic of so many partitions."""
        name = self.profile.name
        return (
            f"{self.origin}. Drop it and compute it last, with kafka_partition('key', {count}, "
            f"profile='{name}'); or name the profile that placed these rows, with profile=...; or, if they "
            f"shall lie where the column says whatever their keys are, give partition='{AS_IT_IS}'"
        )

    def _places(self, key: pa.Array, counts: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the partition of each key, -1 if the profile hashes none."""
        keys, profile = key_column(key), self.profile
        try:
            hashes = self.kernel(keys.offsets, keys.data)
        except ValueError as error:
            raise RoutingError(
                f"profile '{profile.name}' cannot hash a key that is written: {error}"
            ) from error
        # Most often all rows are of one topic: one division for all, then again for other counts.
        most = int(counts.max(initial=1))
        places = partitions_of(hashes, most, profile.sign)
        for count in np.unique(counts[counts != most]):
            of_count = counts == count
            places[of_count] = partitions_of(hashes[of_count], int(count), profile.sign)
        if profile.empty == "unkeyed":
            places[keys.empty] = -1
        if profile.null != "empty" and keys.nulls is not None:
            places[keys.nulls] = 0 if profile.null == "first" else -1
        return places


def key_rule(
    profile_name: str | None, partition: str | None, notes: Mapping[str, Any], columns: Collection[str]
) -> KeyRule | None:
    """Return the rule by which rows are checked; None if they have no partition, or nothing to check it by.

    Unless a profile is named rows are checked by the Java client's, for whom nobody has placed them: a column
    'partition' may just be left over from the topic or the files that were read.

    Args:
        profile_name: option `profile`.
        partition: option `partition`, AS_IT_IS for a write without this check.
        notes: the metadata of the partition column.
        columns: names of the columns that are written.

    Raises:
        InvalidConfigError: the options contradict each other or the notes, or there is no partition to check.
        ColumnError: a profile placed rows by a key that is not written.
        UnknownStrategyError: there is no such profile.
    """
    check_choice(profile_name, partition, columns)
    if "partition" not in columns:
        if profile_name is not None:
            raise InvalidConfigError(
                f"option 'profile' is {profile_name!r}: by it the sink checks a column 'partition', and "
                f"these rows have none. Add kafka_partition('key', ..., profile={profile_name!r})"
            )
        return None
    if partition is not None:
        return None
    name = profile_of(profile_name, notes)
    if "key" not in columns:
        if name is None:
            return None  # records without keys: no partition of theirs is wrong
        raise ColumnError(
            f"column 'partition' was computed from {_hash_input(notes)} with profile '{name}', and no key is "
            f"written: name that column 'key', or write keyless records with partition='{AS_IT_IS}'"
        )
    return rule_of(name, notes)


def rule_of(profile_name: str | None, notes: Mapping[str, Any]) -> KeyRule:
    """Return the rule of a profile, None for the default one, beside a partition column's metadata.

    It is no method of the rule, with which it would travel to each task, and all hashes with it.
    """
    profile = find_profile(profile_name or DEFAULT_PROFILE)
    return KeyRule(
        profile=profile,
        keyless=notes.get(NULLS) not in {"error", "null"},
        unplaced=profile_name is None,
        origin=_origin(notes),
        kernel=HASHES[profile.hash].column,
    )


def check_choice(profile_name: str | None, partition: str | None, columns: Collection[str]) -> None:
    """Raise InvalidConfigError unless `partition=` is None, or AS_IT_IS and has a meaning beside the rest."""
    if partition is None:
        return
    if partition != AS_IT_IS:
        raise InvalidConfigError(
            f"partition is {partition[:40]!r}; give '{AS_IT_IS}' to place rows by their column 'partition' "
            "whatever their keys are, or leave it out to have each row's key compared"
        )
    if profile_name is not None:
        raise InvalidConfigError(
            f"partition is '{AS_IT_IS}', which compares no key, and profile is {profile_name!r}, by which "
            "keys are compared: leave one of them out"
        )
    if "partition" not in columns:
        raise InvalidConfigError(f"partition is '{AS_IT_IS}', and these rows have no column 'partition'")


def profile_of(profile_name: str | None, notes: Mapping[str, Any]) -> str | None:
    """Return the profile that was asked for or is noted; None if neither. UnknownStrategyError if it is none.

    InvalidConfigError if another is noted than is asked for.
    """
    noted: str | None = notes.get(PROFILE)
    if profile_name is not None:
        profile_name = find_profile(profile_name).name  # a client has several names
        if noted not in {None, profile_name}:
            raise InvalidConfigError(
                f"profile is {profile_name!r}, and column 'partition' was computed with profile {noted!r}: "
                f"leave it out, compute the column again, or give partition='{AS_IT_IS}' to check no keys"
            )
    return profile_name or noted


def _origin(notes: Mapping[str, Any]) -> str:
    """Return a sentence, without its full stop, on where a partition column comes from by its metadata."""
    if PROFILE in notes:
        return (
            f"column 'partition' was computed from {_hash_input(notes)}, and the rows' key or partition was "
            "changed since or comes from elsewhere (a union keeps the notes of its left side)"
        )
    if SOURCE in notes:
        return (
            f"column 'partition' is that of topic {notes[SOURCE]}, from which the rows were read, and tells "
            "nothing of the topic or the keys that are written"
        )
    return (
        "nothing is noted of where column 'partition' comes from; a Kafka source and files that were read "
        "bring one of their own along"
    )


def _hash_input(notes: Mapping[str, Any]) -> str:
    """Return the name of what a noted partition column was computed from."""
    return f"column '{notes[KEY]}'" if KEY in notes else "a key"
