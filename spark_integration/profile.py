"""Estimate how the rows of a key column would fill a topic's partitions, before anything is written."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as sf

from copartition.audit.topic_audit import HotKey
from partitioning.errors import InvalidConfigError
from partitioning.growth import check_growth
from spark_integration.columns import kafka_partition
from spark_integration.shipping import send_by_value

send_by_value(__name__)

SUMS = (
    "keys bigint, keyless bigint, moved bigint, old array<bigint>, new array<bigint>, "
    "hottest array<struct<key: binary, partition: int, rows: bigint>>"
)


@dataclass(frozen=True, slots=True, eq=False)
class PartitionProfile:
    """Tells how rows would spread over a topic's partitions; counts are estimates if rows were sampled.

    >>> profile = partition_profile(df, "key", 12)
    >>> profile.rows, profile.keys, round(profile.imbalance, 2)
    (100, 100, 1.44)

    Attributes:
        sizes: number of keyed rows in each partition; int64 of shape (num_partitions,).
        keyless: number of rows whose key the client does not hash.
        keys: number of distinct keys, of the sample if rows were sampled.
        hottest: the keys with the most rows, in descending order of rows.
        grown_sizes: as `sizes`, for the partition count `grow_to`; None if `grow_to` was not given or is
            equal to the partition count.
        moved: number of keyed rows whose key gets another partition by that growth; None if `grown_sizes` is
            None.
    """

    sizes: NDArray[np.int64]
    keyless: int
    keys: int
    hottest: tuple[HotKey, ...]
    grown_sizes: NDArray[np.int64] | None = None
    moved: int | None = None

    @property
    def rows(self) -> int:
        """Number of all rows, with and without a key."""
        return int(self.sizes.sum()) + self.keyless

    @property
    def imbalance(self) -> float:
        """Keyed rows of the fullest partition divided by the mean: 1 is even; 0 if no row has a key."""
        mean = float(self.sizes.mean())
        return float(self.sizes.max()) / mean if mean else 0.0

    @property
    def moved_share(self) -> float | None:
        """Share of the keyed rows that the growth moves to another partition; None if there is no growth."""
        keyed = self.rows - self.keyless
        return None if self.moved is None else self.moved / keyed if keyed else 0.0


def partition_profile(
    df: DataFrame,
    key: Column | str,
    num_partitions: int,
    *,
    profile: str = "java",
    grow_to: int | None = None,
    top: int = 10,
    sample: float = 1.0,
) -> PartitionProfile:
    """Return how rows would spread over partitions, which keys have most rows, and what a growth would move.

    `df` is read once, when this is called, and its distinct keys are shuffled once. One task adds up the sums
    of all tasks, so the driver gets one row.

    >>> profile = partition_profile(df, "key", 3, grow_to=6)
    >>> profile.sizes.tolist(), profile.grown_sizes.tolist(), profile.moved
    ([36, 28, 36], [18, 13, 20, 18, 15, 16], 49)

    Args:
        df: the rows.
        key: the column of the serialized key, or its name, as in `kafka_partition`.
        num_partitions: partition count of the topic.
        profile: the client whose rule is used, a name in `partitioning.profiles.PROFILES`.
        grow_to: a larger partition count to compare with; None for no comparison.
        top: number of keys with the most rows to return.
        sample: share of the rows to read, above 0. If it is below 1, counts of rows are estimated from the
            sample, and the number of distinct keys is that of the sample.

    Raises:
        InvalidPartitionCountError: a count is out of range, or `grow_to` is below `num_partitions`.
        InvalidConfigError: `sample` is not above 0 and at most 1, or `top` is negative.
        UnknownStrategyError: there is no such profile.
    """
    grown = num_partitions if grow_to is None else grow_to
    check_growth(num_partitions, grown)
    if not 0 < sample <= 1 or top < 0:
        raise InvalidConfigError(f"sample is {sample} and top is {top}; give 0 < sample <= 1 and top >= 0")
    rows = df.sample(fraction=sample, seed=0) if sample < 1 else df
    # Rows are counted by key first, so each distinct key is hashed once, however many rows it has.
    counted = rows.groupBy((sf.col(key) if isinstance(key, str) else key).cast("binary").alias("key")).count()
    placed = counted.select(
        "key",
        "count",
        kafka_partition("key", num_partitions, profile=profile, nulls="null").alias("old"),
        kafka_partition("key", grown, profile=profile, nulls="null").alias("new"),
    )
    summed = placed.mapInArrow(_summing(num_partitions, grown, top), SUMS)
    # One more task adds up the sums, not the driver: many tasks' sums over many partitions would be too large
    # to collect.
    added = summed.repartition(1).mapInArrow(_adding_up(num_partitions, grown, top), SUMS).collect()
    nothing = Row(keys=0, keyless=0, moved=0, old=[0] * num_partitions, new=[0] * grown, hottest=[])
    row = added[0] if added else nothing  # an older Spark runs no task if there are no rows
    return _profile(row, growing=grown != num_partitions, sample=sample)


Batches = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


_KEYS = pa.schema([("key", pa.binary()), ("partition", pa.int32()), ("rows", pa.int64())])
_MOST_ROWS = [("rows", "descending"), ("key", "ascending")]


def _summing(num_partitions: int, grown: int, top: int) -> Batches:
    """Return a function for `mapInArrow` that yields one row of the sums over a task's keys.

    Args:
        num_partitions: partition count of the topic.
        grown: partition count after the growth; the same if there is none.
        top: number of keys with the most rows to keep.
    """
    add_up = _adding_up(num_partitions, grown, top)

    def sums_of(batch: pa.RecordBatch) -> pa.RecordBatch:
        # The partition is null if the client does not hash the key.
        table = pa.Table.from_batches([batch]).filter(pc.field("old").is_valid())
        rows, old, new = (table[name].to_numpy() for name in ("count", "old", "new"))
        sums = {
            "keys": len(rows),
            "keyless": (pc.sum(batch["count"]).as_py() or 0) - int(rows.sum()),
            "moved": int(rows[old != new].sum()),
            "old": np.bincount(old, rows, num_partitions).astype(np.int64),
            "new": np.bincount(new, rows, grown).astype(np.int64),
        }
        keys = pa.Table.from_arrays([table["key"], table["old"], table["count"]], schema=_KEYS)
        return _row_of_sums(sums, keys)

    def summarise(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return add_up(map(sums_of, batches))

    return summarise


def _adding_up(num_partitions: int, grown: int, top: int) -> Batches:
    """Return a function for `mapInArrow` that adds up rows of sums, of which no two count the same key."""

    def add_up(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        sizes = {"old": np.zeros(num_partitions, np.int64), "new": np.zeros(grown, np.int64)}
        totals = {"keys": 0, "keyless": 0, "moved": 0}
        hottest = _KEYS.empty_table()
        for batch in batches:
            for name in sizes:
                sizes[name] += batch[name].flatten().to_numpy().reshape(len(batch), -1).sum(axis=0)
            for name in totals:
                totals[name] += pc.sum(batch[name]).as_py() or 0
            own = pa.Table.from_batches([pa.RecordBatch.from_struct_array(batch["hottest"].flatten())])
            hottest = pa.concat_tables([hottest, own.cast(_KEYS)])
            # Only `top` keys are kept after each batch, so that memory does not grow with the task count.
            hottest = hottest.take(pc.select_k_unstable(hottest, top, _MOST_ROWS))
        yield _row_of_sums(totals | sizes, hottest)

    return add_up


def _row_of_sums(sums: Mapping[str, Any], hottest: pa.Table) -> pa.RecordBatch:
    """Return sums as a batch with one row of the schema `SUMS`.

    Args:
        sums: the sums by column; those of "old" and "new" are arrays with a sum for each partition.
        hottest: the keys with the most rows, with the columns of `_KEYS`.
    """

    def alone(values: pa.Array) -> pa.Array:
        return pa.ListArray.from_arrays(pa.array([0, len(values)], pa.int32()), values)

    columns = {name: pa.array([sums[name]], pa.int64()) for name in ("keys", "keyless", "moved")}
    columns |= {name: alone(pa.array(sums[name], pa.int64())) for name in ("old", "new")}
    columns["hottest"] = alone(hottest.to_struct_array().combine_chunks())
    return pa.RecordBatch.from_pydict(columns)


def _profile(row: Row, *, growing: bool, sample: float) -> PartitionProfile:
    """Return the profile of a row of sums; counts of rows are divided by the sample's share.

    Args:
        row: the sums over all keys.
        growing: whether a growth was asked about.
        sample: share of the rows that were read.
    """

    def scale(rows: Any) -> Any:
        return np.rint(np.asarray(rows) / sample).astype(np.int64)

    return PartitionProfile(
        sizes=scale(row.old),
        keyless=int(scale(row.keyless)),
        # The number of keys is not scaled, because a sample does not tell how many keys it has missed.
        keys=row.keys,
        hottest=tuple(HotKey(bytes(hot.key), hot.partition, int(scale(hot.rows))) for hot in row.hottest),
        grown_sizes=scale(row.new) if growing else None,
        moved=int(scale(row.moved)) if growing else None,
    )
