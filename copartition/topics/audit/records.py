"""Some of the records, and records put together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from copartition.topics.audit.topic_audit import Records
from partitioning.keys import KeyColumn
from partitioning.kit.columns import ranges

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


def picked_keys(keys: KeyColumn, rows: NDArray[np.intp]) -> KeyColumn:
    """The keys of these rows, in their order; their bytes are copied."""
    starts, sizes = keys.offsets[rows], np.diff(keys.offsets)[rows]
    offsets = np.zeros(len(rows) + 1, np.int64)
    np.cumsum(sizes, out=offsets[1:])
    return KeyColumn(
        offsets, keys.data[ranges(starts, sizes)], None if keys.nulls is None else keys.nulls[rows]
    )


def picked(records: Records, rows: NDArray[np.intp]) -> Records:
    """The records of these rows, in their order."""
    return Records(
        records.partition[rows],
        records.offset[rows],
        records.timestamp_ms[rows],
        picked_keys(records.keys, rows),
    )


def joined(parts: Sequence[Records]) -> Records:
    """The records of all parts, one part after the other; at least one part."""
    if len(parts) == 1:
        return parts[0]
    columns = [each.keys for each in parts]
    sizes = np.concatenate([np.diff(column.offsets) for column in columns])
    nulls = [np.zeros(len(column), np.bool_) if column.nulls is None else column.nulls for column in columns]
    return Records(
        np.concatenate([each.partition for each in parts]),
        np.concatenate([each.offset for each in parts]),
        np.concatenate([each.timestamp_ms for each in parts]),
        KeyColumn(
            np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)]),
            np.concatenate([column.data[column.offsets[0] : column.offsets[-1]] for column in columns]),
            np.concatenate(nulls),
        ),
    )
