"""Rows that are several integer columns: grouped and joined."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

T = TypeVar("T", bound=np.generic)


def join(first: NDArray[T], second: NDArray[T]) -> NDArray[T]:
    """One column after the other, without a copy where one is empty."""
    if not len(first):
        return second
    return np.concatenate([first, second]) if len(second) else first


def bounds(sizes: NDArray[np.integer]) -> NDArray[np.int64]:
    """Where runs of these sizes begin, one after the other, and last where they end."""
    found = np.zeros(len(sizes) + 1, np.int64)
    sizes.cumsum(out=found[1:])
    return found


def run_starts(column: NDArray[np.integer]) -> NDArray[np.intp]:
    """Where runs of equal numbers begin."""
    begins = np.empty(len(column), np.bool_)
    begins[:1] = True
    np.not_equal(column[1:], column[:-1], out=begins[1:])
    return begins.nonzero()[0]


def run_sizes(starts: NDArray[np.integer], stop: int) -> NDArray[np.intp]:
    """How long runs are that begin here, the last of which ends at `stop`."""
    sizes = np.empty(len(starts), np.intp)
    np.subtract(starts[1:], starts[:-1], out=sizes[:-1])
    sizes[-1:] = stop - starts[-1:]
    return sizes


def runs(column: NDArray[np.integer]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Where runs of equal numbers begin, and how long they are."""
    starts = run_starts(column)
    return starts, run_sizes(starts, len(column))


def ranks(column: NDArray[np.integer]) -> NDArray[np.intp]:
    """The position of each row in its run of equal numbers."""
    return np.arange(len(column)) - np.repeat(*runs(column))


def group_rows(member: NDArray[np.integer], members: int) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
    """Brings the rows of each member together.

    Returns:
        The rows in their new order, which keeps the order inside a member, and where each member starts:
        member m has rows `starts[m]:starts[m + 1]`.
    """
    starts = bounds(np.bincount(member, minlength=members))
    if members <= 1 << 16:
        member = member.astype(np.uint16)  # NumPy sorts these by radix
    return member.argsort(kind="stable"), starts
