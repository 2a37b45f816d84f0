"""How a key column would fill a topic, before anything is written."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as sf

from partitioning.errors import InvalidConfigError, InvalidPartitionCountError
from partitioning.topic_partition import checked_partition_count
from spark_integration.columns import kafka_partition

SCHEMA = "kind string, partition int, key binary, rows bigint"


class HotKey(NamedTuple):
    """A key with many rows."""

    key: bytes
    partition: int
    rows: int


@dataclass(frozen=True, slots=True, eq=False)
class PartitionProfile:
    """How rows would be spread over a topic's partitions; counts are estimates where rows were sampled.

    Attributes:
        sizes: keyed rows of each partition; int64 of shape (num_partitions,).
        keyless: rows whose key the client does not hash.
        keys: distinct keys.
        hottest: the keys with the most rows, most first.
        grown_sizes: the same as `sizes` after the growth asked about, or None.
        moved: keyed rows whose key gets another partition by that growth, or None.
    """

    sizes: NDArray[np.int64]
    keyless: int
    keys: int
    hottest: tuple[HotKey, ...]
    grown_sizes: NDArray[np.int64] | None = None
    moved: int | None = None

    @property
    def rows(self) -> int:
        """All rows."""
        return int(self.sizes.sum()) + self.keyless

    @property
    def imbalance(self) -> float:
        """Rows of the fullest partition in multiples of the mean: 1 is even; 0 without keyed rows."""
        mean = float(self.sizes.mean())
        return float(self.sizes.max()) / mean if mean else 0.0

    @property
    def moved_share(self) -> float | None:
        """Share of the keyed rows that the growth moves."""
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
    """How the rows would be spread over the partitions, which keys are hottest, and what growing would move.

    One pass over `df` and one shuffle of its distinct keys.

    Args:
        df: the rows.
        key: their serialized key, as for `kafka_partition`.
        num_partitions: partitions of the topic.
        profile: whose rule, a name in `partitioning.profiles.PROFILES`.
        grow_to: a larger partition count to compare with.
        top: how many of the hottest keys to tell.
        sample: share of the rows to look at; below 1 the counts are estimates scaled up, the number of
            distinct keys is that of the sample.

    Raises:
        InvalidPartitionCountError: a count is out of range, or `grow_to` is below `num_partitions`.
        InvalidConfigError: `sample` is not above 0 and at most 1, or `top` is negative.
        UnknownStrategyError: there is no such profile.
    """
    grown = checked_partition_count(num_partitions if grow_to is None else grow_to)
    if grown < num_partitions:
        raise InvalidPartitionCountError(
            f"the topic has {num_partitions} partitions and cannot have {grown}: Kafka topics only grow"
        )
    if not 0 < sample <= 1 or top < 0:
        raise InvalidConfigError(f"sample is {sample} and top is {top}; give 0 < sample <= 1 and top >= 0")
    rows = df.sample(fraction=sample, seed=0) if sample < 1 else df
    counted = rows.groupBy((sf.col(key) if isinstance(key, str) else key).cast("binary").alias("key")).count()
    placed = counted.select(
        "key",
        "count",
        kafka_partition("key", num_partitions, profile=profile, nulls="null").alias("old"),
        kafka_partition("key", grown, profile=profile, nulls="null").alias("new"),
    )
    found = placed.mapInArrow(_summing(num_partitions, grown, top), SCHEMA).collect()
    return _profile(found, num_partitions, grown, top, sample)


def _summing(
    num_partitions: int, grown: int, top: int
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Sums over some of the keys: a row a partition and count, a row a hot key, and the totals."""

    def summarise(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa  # noqa: PLC0415 - on executors
        import pyarrow.compute as pc  # noqa: PLC0415

        kinds = (pa.string(), pa.int32(), pa.binary(), pa.int64())
        old_sizes, new_sizes = np.zeros(num_partitions, np.int64), np.zeros(grown, np.int64)
        keys = keyless = moved = 0
        hottest = pa.schema([("key", kinds[2]), ("rows", kinds[3]), ("partition", kinds[1])]).empty_table()
        for batch in batches:
            table = pa.Table.from_batches([batch]).filter(pc.field("old").is_valid())
            rows, old, new = (table[name].to_numpy() for name in ("count", "old", "new"))
            old_sizes += np.bincount(old, rows, num_partitions).astype(np.int64)
            new_sizes += np.bincount(new, rows, grown).astype(np.int64)
            keys += len(rows)
            keyless += (pc.sum(batch["count"]).as_py() or 0) - int(rows.sum())
            moved += int(rows[old != new].sum())
            own = pa.Table.from_arrays([table["key"], table["count"], table["old"]], schema=hottest.schema)
            hottest = pa.concat_tables([hottest, own])
            hottest = hottest.take(pc.select_k_unstable(hottest, top, [("rows", "descending")]))
        found: list[tuple[str, int | None, bytes | None, int]]
        found = [("keys", None, None, keys), ("keyless", None, None, keyless), ("moved", None, None, moved)]
        found += [("old", partition, None, rows) for partition, rows in enumerate(old_sizes.tolist())]
        found += [("new", partition, None, rows) for partition, rows in enumerate(new_sizes.tolist())]
        found += [("hot", row["partition"], row["key"], row["rows"]) for row in hottest.to_pylist()]
        yield pa.RecordBatch.from_arrays(
            [pa.array(column, kind) for column, kind in zip(zip(*found, strict=True), kinds, strict=True)],
            names=["kind", "partition", "key", "rows"],
        )

    return summarise


def _profile(found: list[Row], num_partitions: int, grown: int, top: int, sample: float) -> PartitionProfile:
    sums: dict[str, NDArray[np.int64]] = {
        "old": np.zeros(num_partitions, np.int64),
        "new": np.zeros(grown, np.int64),
        **{kind: np.zeros(1, np.int64) for kind in ("keys", "keyless", "moved")},
    }
    hottest = []
    for row in found:
        if row.kind == "hot":
            hottest.append(HotKey(bytes(row.key), row.partition, round(row.rows / sample)))
        else:
            sums[row.kind][row.partition or 0] += row.rows
    scaled = {kind: np.rint(values / sample).astype(np.int64) for kind, values in sums.items()}
    growing = grown != num_partitions
    return PartitionProfile(
        sizes=scaled["old"],
        keyless=int(scaled["keyless"][0]),
        keys=int(sums["keys"][0]),
        hottest=tuple(sorted(hottest, key=lambda hot: (-hot.rows, hot.key))[:top]),
        grown_sizes=scaled["new"] if growing else None,
        moved=int(scaled["moved"][0]) if growing else None,
    )
