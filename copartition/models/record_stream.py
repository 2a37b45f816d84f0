"""Read the records of a producer from a file, or draw records that come at random times."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from partitioning import partition_batch
from partitioning.errors import SourceError

if TYPE_CHECKING:
    from pathlib import Path


MOST_RECORDS = 200_000
"""The most records of a stream.

A model takes about a second for ten thousand records, and runs again for each pair of settings.
"""

_FEWEST = 2_000
"""The fewest records of a random stream."""
_USUAL = 5_000
"""The most records of a random stream, unless the latency needs more."""
_SECONDS = 2
"""The seconds that a random stream lasts, if that gives between `_FEWEST` and `_USUAL` records."""
_LIMITS = 20
"""The least length of a random stream, as a multiple of the latency that it must show."""


@dataclass(frozen=True, slots=True)
class RecordStream:
    """Holds records in the order of their times, as columns of shape (n,).

    Attributes:
        times_ms: when each record is sent, in milliseconds from the first one.
        value_bytes: bytes of each value.
        key_bytes: bytes of each key; -1 for null.
        keys: the key of each record, None for a null key; None instead of the list if keys are not known.
        partitions: the partition of each record, -1 if the producer chose it; None if no partition is known.
        assumed: the assumptions about the records, as sentences.
    """

    times_ms: NDArray[np.float64]
    value_bytes: NDArray[np.int64]
    key_bytes: NDArray[np.int64]
    keys: list[bytes | None] | None = None
    partitions: NDArray[np.int64] | None = None
    assumed: tuple[str, ...] = ()

    def place_keys(self, partitions: int, client: str, seed: int) -> NDArray[np.int64]:
        """Return the partition of each record with a key, by the client's rule; -1 for the others.

        If the stream has partitions, these are returned instead. Keys that are not known are spread evenly at
        random.

        Args:
            partitions: the partition count of the topic.
            client: the profile by which keys are placed.
            seed: the seed of the random spread.
        """
        if self.partitions is not None:
            return self.partitions
        keyed = self.key_bytes >= 0
        if self.keys is None:
            placed = np.random.default_rng(seed).integers(0, partitions, len(self.times_ms))
        else:
            # The partition of a null key is replaced by -1 below, so any key can stand in for it here.
            placed = partition_batch([key or b"" for key in self.keys], partitions, profile=client).astype(
                np.int64
            )
        return np.where(keyed, placed, -1)


def chance_stream(
    rate: float, value_bytes: int, key_bytes: int | None, *, limit_ms: float, seed: int
) -> RecordStream:
    """Return records at random times; the stream is long enough to show a latency of `limit_ms`.

    The records come independently of one another, so the times between them are exponentially distributed.

    Args:
        rate: records a second, above 0.
        value_bytes: bytes of each value.
        key_bytes: bytes of each key; None for null keys.
        limit_ms: the latency that the stream must show.
        seed: the seed of the times.

    Raises:
        SourceError: the stream would need more than `MOST_RECORDS` records.
    """
    # The stream lasts `_SECONDS`, but has at least `_FEWEST` and at most `_USUAL` records. It has more only
    # if a shorter stream could not show the latency.
    records = int(max(min(max(rate * _SECONDS, _FEWEST), _USUAL), rate * limit_ms * _LIMITS / 1000))
    if records > MOST_RECORDS:
        raise SourceError(
            f"{rate:g} records a second take {records:,} to tell a latency of {limit_ms:g} ms, and "
            f"{MOST_RECORDS:,} can be simulated; give a part of the rate with its part of the brokers"
        )
    # The first gap is subtracted, so that the first record comes at 0 ms.
    gaps = np.random.default_rng(seed).exponential(1000 / rate, records)
    return RecordStream(
        np.cumsum(gaps) - gaps[0],
        np.full(records, value_bytes),
        np.full(records, -1 if key_bytes is None else key_bytes),
        assumed=(f"{records:,} records come by chance, each for itself, {rate:g} a second on average",),
    )


def read_stream(path: str | Path) -> RecordStream:
    """Return the records of a CSV file with the columns `time_ms`, `value_bytes`, and `key` or `partition`.

    An empty key is null; an empty partition means that the producer chose it. Times are in milliseconds; they
    may begin at any number but must not go back.

    Raises:
        SourceError: the file is not such a CSV, has no records or too many, or a cell is not a number.
    """
    rows = _rows(path)

    def column(name: str, read: Callable[[str], float]) -> NDArray[np.float64]:
        numbers = np.empty(len(rows))
        for place, row in enumerate(rows):
            try:
                numbers[place] = read(row[name])
            except (TypeError, ValueError, OverflowError):
                raise SourceError(
                    f"{path}: row {place + 2} has {name} {row[name]!r}; give a number"
                ) from None
        return numbers

    times = column("time_ms", float)
    if np.any(np.diff(times) < 0):
        # Rows count from 1, the header is the first one, and `diff` is one element behind: this adds up to 3.
        place = int(np.argmax(np.diff(times) < 0)) + 3
        raise SourceError(f"{path}: row {place} is earlier than the one before; sort the rows by time_ms")
    partitions = (
        column("partition", lambda text: int(text) if text else -1) if "partition" in rows[0] else None
    )
    keys = None
    key_bytes = np.full(len(rows), -1)
    if "key" in rows[0]:
        # csv.DictReader gives None for a cell that is missing at the end of a row.
        if short := [place for place, row in enumerate(rows, 2) if row["key"] is None]:
            raise SourceError(f"{path}: row {short[0]} has no key; leave it empty for null, after its comma")
        # CSV has no null, so an empty cell means null; an empty key cannot be given.
        keys = [row["key"].encode() or None for row in rows]
        key_bytes = np.array([-1 if key is None else len(key) for key in keys])
    return RecordStream(
        times - times[0],
        column("value_bytes", int).astype(np.int64),
        key_bytes,
        keys,
        None if partitions is None else partitions.astype(np.int64),
    )


def _rows(path: str | Path) -> list[dict[str, Any]]:
    """Return the rows of a file; a row that ends early has None for the missing columns.

    Raises:
        SourceError: the file is no CSV in UTF-8, lacks a column, or has no records or too many.
    """
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:  # noqa: PTH123 - a path may be text
            reader = csv.DictReader(file)
            names = set(reader.fieldnames or ())
            # One row more than allowed shows that there are too many, without reading them all.
            rows = list(islice(reader, MOST_RECORDS + 1))
    except (UnicodeDecodeError, csv.Error) as error:
        raise SourceError(f"{path}: is not UTF-8 text in columns (CSV): {error}") from error
    if not {"time_ms", "value_bytes"} <= names:
        raise SourceError(f"{path}: needs the columns time_ms and value_bytes, and has {sorted(names)}")
    if {"key", "partition"} <= names:
        raise SourceError(f"{path}: has both key and partition; leave out one of them")
    if not rows:
        raise SourceError(f"{path}: has no records")
    if len(rows) > MOST_RECORDS:
        raise SourceError(f"{path}: has more than {MOST_RECORDS:,} records; give the busiest part of them")
    return rows
