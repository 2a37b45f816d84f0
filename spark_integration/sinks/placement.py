"""Checks that keyed rows lie where the rule of their partition column puts the key that is written."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from partitioning.errors import InvalidConfigError
from partitioning.hashing import HASHES
from partitioning.hashing.modulo import partitions_of
from partitioning.keys import key_column
from partitioning.profiles import Profile, find_profile
from spark_integration.columns import KEY, NULLS, PROFILE
from spark_integration.errors import ColumnError, RoutingError

UNCHECKED = "none"
"""Value of the option `profile` if rows are placed by no profile."""


@dataclass(frozen=True)
class KeyRule:
    """A profile's rule, in a form that travels to executors.

    Attributes:
        keyless: whether keyless rows may have a partition, which `nulls="spread"` gives them.
        column: what was hashed, for error messages.
        profile: the rule itself.
    """

    profile: Profile
    keyless: bool
    column: str

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
        if not wrong.any():
            return
        row = int(wrong.argmax())
        shown, count, actual = repr(key[row].as_py())[:60], int(counts[row]), int(partition[row])
        is_at = f"partition {actual} of {count}" if actual >= 0 else "no partition"
        belongs = f"puts this key into {expected[row]}" if expected[row] >= 0 else "hashes no such key"
        name = self.profile.name
        raise RoutingError(
            f"a row with key {shown} has {is_at}, and profile '{name}' {belongs}: the column "
            f"'partition' was computed from {self.column}, and the rows' key or partition was changed since "
            "or comes from elsewhere (a union keeps the notes of its left side). Compute it last, with "
            f"kafka_partition('key', {count}, profile='{name}'), or give the option 'profile': the "
            f"one that was used, or '{UNCHECKED}' for rows that no profile places"
        )

    def _places(self, key: pa.Array, counts: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the partition of each key, -1 if the profile hashes none."""
        keys, profile = key_column(key), self.profile
        try:
            hashes = HASHES[profile.hash].column(keys.offsets, keys.data)
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


def key_rule(profile_name: str | None, notes: Mapping[str, Any], columns: Collection[str]) -> KeyRule | None:
    """Return the rule by which rows are checked; None if nothing is known of one, or none is wanted.

    `profile_name` is option `profile`; `notes` are the metadata of the partition column.

    Raises:
        InvalidConfigError: the option contradicts the notes, or there is no partition to check.
        ColumnError: a profile placed rows by a key that is not written.
        UnknownStrategyError: there is no such profile.
    """
    noted = notes.get(PROFILE)
    name = profile_name or noted
    if name is None or profile_name == UNCHECKED:
        return None
    if "partition" not in columns:
        raise InvalidConfigError(
            f"option 'profile' is {profile_name!r}: by it the sink checks a column 'partition', and these "
            f"rows have none. Add kafka_partition('key', ..., profile={profile_name!r})"
        )
    profile = find_profile(name)
    if noted not in {None, name}:
        raise InvalidConfigError(
            f"option 'profile' is {profile_name!r}, and column 'partition' was computed with profile "
            f"{noted!r}: leave the option out, compute the column again, or give '{UNCHECKED}' to check no "
            "keys"
        )
    column = f"column '{notes[KEY]}'" if KEY in notes else "a key"
    if "key" not in columns:
        raise ColumnError(
            f"column 'partition' was computed from {column} with profile '{name}', and no key is written: "
            f"name that column 'key', or write keyless records with the option profile='{UNCHECKED}'"
        )
    return KeyRule(
        profile=profile,
        keyless=notes.get(NULLS) not in {"error", "null"},
        column=column,
    )
