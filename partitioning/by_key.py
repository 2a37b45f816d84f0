"""Plug-ins that place by key alone, by the name that `profile=` takes."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from partitioning.errors import BrokenPluginError, MisplacedRecordError, UnknownStrategyError
from partitioning.interface import PlacesByKey
from partitioning.profiles import PROFILES, find_profile

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from partitioning.keys import KeyColumn


def check_profile(name: str) -> None:
    """Refuse what is neither a profile nor a plug-in that places by key alone.

    Raises:
        UnknownStrategyError: it is neither.
        StrategyConflictError: two installed packages have a partitioner of this name.
        BrokenPluginError: the plug-in cannot be loaded, fails, or makes something else.
    """
    if name not in PROFILES:
        _plug_in(name)


def placed_by_plug_in(name: str, keys: KeyColumn, num_partitions: int) -> NDArray[np.int32]:
    """The partition of each key under a plug-in's rule, -1 where the key does not decide.

    Args:
        name: what the plug-in is registered as.
        keys: n keys.
        num_partitions: a valid partition count.

    Returns:
        int32 array of shape (n,).

    Raises:
        UnknownStrategyError: there is no such plug-in, or it does not place by key alone.
        StrategyConflictError: two installed packages have a partitioner of this name.
        BrokenPluginError: the plug-in cannot be used, or answers something else than a column of partitions.
        MisplacedRecordError: it chose a partition that the topic does not have.
    """
    placed: object = _plug_in(name).place_keys(keys, num_partitions)
    if not isinstance(placed, np.ndarray) or placed.dtype.kind not in "iu" or placed.shape != (len(keys),):
        raise BrokenPluginError(
            f"partitioner {name!r} answered {len(keys)} keys with {placed!r:.80}, which is not an integer "
            f"array of shape ({len(keys)},)"
        )
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
    from partitioning.partitioners import get_partitioner, plug_in_names  # noqa: PLC0415 - they place by us

    if name not in plug_in_names():
        find_profile(name)  # which says what there is
    partitioner = get_partitioner(name)
    if not isinstance(partitioner, PlacesByKey):
        raise UnknownStrategyError(
            f"partitioner {name!r} does not place by key alone (it has no `place_keys`), so no partition "
            f"follows from a key and a partition count: ask get_partitioner({name!r}).for_topic(TOPIC), or "
            f"give a producer partitioner={name!r}"
        )
    return partitioner
