"""Check the records that a simulated producer gets, and return them as columns."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from copartition.models.producer.settings import INT_MAX, LATEST_MS, check_bounds
from partitioning.errors import InvalidConfigError, InvalidLayoutError
from partitioning.kit.limits import is_integer


class Stream(NamedTuple):
    """Holds records in the order of their `times` (ms), as columns of shape (records,).

    `placed` is the partition of each record, -1 if the producer chooses it. `keys` and `values` are sizes in
    bytes, -1 for null.
    """

    times: NDArray[np.float64]
    placed: NDArray[np.int64]
    keys: NDArray[np.int64]
    values: NDArray[np.int64]


def checked_stream(
    times_ms: ArrayLike,
    value_bytes: ArrayLike,
    partitions: ArrayLike,
    key_bytes: ArrayLike,
    leaders: Sequence[int],
    brokers: Sequence[object],
    unkeyed: object | None,
) -> Stream:
    """Return the columns of a stream, all of equal length.

    Args:
        times_ms: when each record is sent, ascending, 0 to `LATEST_MS`, shape (n,).
        value_bytes: bytes of each value, -1 for null, or one number for all.
        partitions: partition of each record, or one number for all; -1 if `unkeyed` chooses.
        key_bytes: bytes of each key, -1 for null, or one number for all.
        leaders: index into `brokers` of each partition's leader.
        brokers: the brokers; only their number matters here.
        unkeyed: the strategy that chooses the partition of records with -1; None if there are no such
            records.

    Raises:
        InvalidConfigError: times go back, or a time or size is out of range.
        InvalidLayoutError: a partition or leader does not exist.
    """
    times = _times(times_ms)
    placed = _integers("partitions", partitions, len(times))
    keys = _integers("key_bytes", key_bytes, len(times))
    values = _integers("value_bytes", value_bytes, len(times))
    for name, sizes in (("key_bytes", keys), ("value_bytes", values)):
        check_bounds(f"the lowest of {name}", int(sizes.min(initial=-1)), -1, INT_MAX)
    for partition, leader in enumerate(leaders):
        if not 0 <= leader < len(brokers):
            raise InvalidLayoutError(
                f"partition {partition} has leader {leader}, but there are {len(brokers)} brokers"
            )
    wrong = (placed >= len(leaders)) | (placed < (0 if unkeyed is None else -1))
    if np.any(wrong):
        row = int(np.argmax(wrong))
        raise InvalidLayoutError(
            f"record {row} goes to partition {placed[row]}, but the topic has {len(leaders)}"
            + ("; give `unkeyed` to place records with -1" if unkeyed is None else "")
        )
    return Stream(times, placed, keys, values)


def _times(times_ms: ArrayLike) -> NDArray[np.float64]:
    """Return the time of each record in milliseconds, ascending."""
    try:
        times = np.asarray(times_ms, np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidConfigError(f"times_ms: {error}; give a number for each record") from error
    if times.ndim != 1:
        raise InvalidConfigError(f"times_ms has {times.ndim} dimensions; give a number for each record")
    # The negation also catches NaN, for which both comparisons are false.
    unreal = ~((times >= 0) & (times <= LATEST_MS))
    if np.any(unreal):
        row = int(np.argmax(unreal))
        check_bounds(f"the time of record {row}", float(times[row]), 0, LATEST_MS)
    if np.any(np.diff(times) < 0):
        row = int(np.argmax(np.diff(times) < 0)) + 1
        raise InvalidConfigError(f"record {row} comes before the one ahead of it; sort the records by time")
    return times


def _integers(name: str, values: ArrayLike, rows: int) -> NDArray[np.int64]:
    """Return a column of whole numbers; a single number stands for all rows.

    Floats are refused, because a cast would round them silently.
    """
    # An empty list is a float column in NumPy; it is accepted anyway.
    column = np.asarray(values)
    if column.size and column.dtype.kind not in "iu":
        raise InvalidConfigError(f"{name} is of type {column.dtype}; give whole numbers")
    try:
        # The result is a read-only view, which is enough because nothing writes to it. So one number for all
        # rows needs no memory for a whole column.
        return np.broadcast_to(column.astype(np.int64), (rows,))
    except ValueError as error:
        raise InvalidConfigError(f"{name} is not a number, or one for each of {rows} records") from error


def checked_choice(chosen: object, partitions: int) -> int:
    """Return a strategy's partition for a record.

    Raises:
        InvalidLayoutError: the partition is not an int, or the topic does not have it.
    """
    if not (is_integer(chosen) and 0 <= chosen < partitions):
        raise InvalidLayoutError(
            f"the strategy put a record into partition {chosen!r}; the topic has 0 to {partitions - 1}"
        )
    return int(chosen)
