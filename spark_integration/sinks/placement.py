"""Check that each keyed row has the partition that the profile of its partition column gives its key."""

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
"""The profile that rows are checked by if neither their partition column nor an option names one."""


@dataclass(frozen=True)
class KeyRule:
    """Holds a profile's rule, in a form that is pickled for executors.

    Attributes:
        profile: the profile by which a key decides its partition.
        keyless: whether rows without a key may have a partition, as `nulls="spread"` gives them one.
        unplaced: whether rows with a key may have no partition, which leaves the choice to the producer.
        origin: a sentence on where the partitions come from, for error messages.
        kernel: the hash function of this profile, over columns. Only this one is pickled: the tables of all
            hashes are half a megabyte, which each task would unpickle.
    """

    profile: Profile
    keyless: bool
    unplaced: bool
    origin: str
    kernel: Kernel = field(repr=False)

    def check(self, key: pa.Array, partition: NDArray[np.int32], counts: NDArray[np.int32]) -> None:
        """Raise RoutingError if a row is in another partition than this rule gives its key.

        Args:
            key: the key of each row, as text or bytes.
            partition: the partition of each row; a negative one means that the producer chooses.
            counts: the partition count of the topic of each row.
        """
        # Every key is hashed again, because the column may have been computed from another key than the one
        # that is written.
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
        """Return advice to users on a row in the wrong partition of a topic with `count` partitions."""
        name = self.profile.name
        return (
            f"{self.origin}. Drop it and compute it last, with kafka_partition('key', {count}, "
            f"profile='{name}'); or name the profile that placed these rows, with profile=...; or, if they "
            f"shall lie where the column says whatever their keys are, give partition='{AS_IT_IS}'"
        )

    def _places(self, key: pa.Array, counts: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the partition of each key; -1 if the profile does not hash such a key.

        Raises RoutingError if the profile's client cannot hash a key at all.
        """
        keys, profile = key_column(key), self.profile
        try:
            hashes = self.kernel(keys.offsets, keys.data)
        except ValueError as error:
            raise RoutingError(
                f"profile '{profile.name}' cannot hash a key that is written: {error}"
            ) from error
        # First the highest count is used for all rows. In most batches all rows belong to one topic, so that
        # is right. Rows of topics with other counts are then computed again.
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
    """Return the rule by which rows are checked; None if they are not checked.

    They are not checked if they have no column 'partition' or no key, or if `partition` is AS_IT_IS. If no
    profile is named or noted, rows are checked by the Java client's profile, because a column 'partition'
    without notes may be left over from the topic or the files that the rows were read from.

    Args:
        profile_name: option `profile`; None if it is not given.
        partition: option `partition`, AS_IT_IS for a write without this check; None if it is not given.
        notes: the metadata of the partition column, as `kafka_partition` writes it; empty for other columns.
        columns: names of the columns that are written.

    Raises:
        InvalidConfigError: the options contradict each other or the notes, or there is no partition to check.
        ColumnError: a profile placed the rows by their key, and no key is written.
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
            return None  # no record has a key, so each may lie in any partition
        raise ColumnError(
            f"column 'partition' was computed from {_hash_input(notes)} with profile '{name}', and no key is "
            f"written: name that column 'key', or write keyless records with partition='{AS_IT_IS}'"
        )
    return profile_rule(name, notes)


def profile_rule(profile_name: str | None, notes: Mapping[str, Any]) -> KeyRule:
    """Return the rule of a profile for a partition column with this metadata.

    This is a function and no class method of the rule. A method would be pickled with the rule for each task,
    and all hashes with it.

    Args:
        profile_name: the profile; None for the default one, which lets keyed rows have no partition.
        notes: the metadata of the partition column.

    Raises:
        UnknownStrategyError: there is no such profile.
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
    """Raise InvalidConfigError if option `partition` has an unknown value or contradicts other arguments.

    Args:
        profile_name: option `profile`, which contradicts AS_IT_IS.
        partition: option `partition`: None or AS_IT_IS.
        columns: names of the columns that are written; AS_IT_IS needs 'partition' among them.
    """
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
    """Return the profile that an option names or the metadata notes; None if neither does.

    Args:
        profile_name: option `profile`, by any name of the client.
        notes: the metadata of the partition column.

    Raises:
        UnknownStrategyError: there is no such profile.
        InvalidConfigError: the metadata notes another profile than the option names.
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
    """Return a sentence without its full stop that says where a partition column comes from."""
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
    """Return the column that a partition column was computed from, for messages; "a key" if none is noted."""
    return f"column '{notes[KEY]}'" if KEY in notes else "a key"
