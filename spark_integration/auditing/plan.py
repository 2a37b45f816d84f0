"""The audit as a Spark plan: count in Arrow batches, then cut each topic into ranges."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, cast

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

import partitioning.hashing
import spark_integration.auditing
from partitioning.errors import InvalidConfigError
from partitioning.hashing import HASHES
from partitioning.profiles import PROFILES, find_profile
from partitioning.topic_partition import checked_partition_count
from spark_integration.auditing.ranges import Blocks, Candidate, count_rows, merged, ranges
from spark_integration.errors import ColumnError

for _module in (partitioning.hashing, spark_integration.auditing):
    cast(Any, cloudpickle).register_pickle_by_value(_module)  # executors need not have this project installed

BLOCKS_OF_A_TASK = 1 << 10
BLOCKS_OF_A_TOPIC = 1 << 14

BLOCKS_SCHEMA = (
    "topic string, shift int, partition bigint, first bigint, last bigint, rows bigint, keyless bigint, "
    "framed bigint, explained array<bigint>, first_missed array<bigint>, last_missed array<bigint>"
)
SCHEMA = (
    "topic string, partition int, first_offset bigint, last_offset bigint, profile string, "
    "same_rule array<string>, num_partitions int, rows bigint, keyless bigint, explained bigint, "
    "share double, framed bigint, "
    "missed_offsets array<bigint>"
)


class Tried(NamedTuple):
    """A candidate by name.

    Attributes:
        profile: the first profile with this rule.
        same_rule: every profile that places keyed records by it.
        num_partitions: the partition count.
    """

    profile: str
    same_rule: tuple[str, ...]
    num_partitions: int


def audit(df: DataFrame, *, counts: Sequence[int], profiles: Sequence[str] | None = None) -> DataFrame:
    """Which client's rule over which partition count explains which offsets of each partition.

    Every partition of every topic is cut into the ranges of offsets that are explained best: one range where
    one kind of client wrote to a topic that never grew, two where it grew in between, and so on. Where
    clients of several kinds wrote at the same time no rule explains much, and the range's `share` says so.
    `verdict` puts the result in words.

    Reads key, partition and offset once, in Python on Arrow batches. Where a range ends is known to a few
    offsets, or to a hundredth or so of the partition where the count grew to a multiple. Runs on classic and
    Connect; executors need NumPy, PyArrow and pandas.

    Args:
        df: records as Spark's Kafka source reads them: `key` (binary or string), `partition`, `offset`, and
            `topic` if there is more than one.
        counts: partition counts to try: the topic's own, and those it may have had.
        profiles: whose rules to try, names in `partitioning.profiles.PROFILES`; all by default.

    Returns:
        A row a range: topic, partition, first_offset, last_offset; profile (the first with that rule),
        same_rule (all of them) and num_partitions; rows, keyless (of them without a key, or with an empty
        one: no evidence), explained (keyed rows that are where the rule puts them) and share (explained of
            the keyed rows; null without
        any); framed (keys that begin like those of a schema registry); missed_offsets (up to ten rows that
        are elsewhere).

    Raises:
        ColumnError: a column is missing.
        InvalidConfigError: no counts, or no profiles.
        InvalidPartitionCountError: a count is out of range.
        UnknownStrategyError: no profile of that name.
    """
    tried, candidates = _candidates(counts, list(PROFILES) if profiles is None else profiles)
    missing = [name for name in ("key", "partition", "offset") if name not in df.columns]
    if missing:
        raise ColumnError(
            f"an audit needs the columns key, partition and offset, as Kafka sources give them; missing: "
            f"{', '.join(missing)}"
        )
    records = df.select(
        (sf.col("topic") if "topic" in df.columns else sf.lit("")).alias("topic"),
        sf.col("partition").cast("int"),
        sf.col("offset").cast("bigint"),
        sf.coalesce(sf.col("key").cast("binary"), sf.lit(b"")).alias("key"),
    )
    blocks = records.mapInArrow(_counting(candidates), BLOCKS_SCHEMA)
    return blocks.groupBy("topic").applyInPandas(_cutting(tried), SCHEMA)


def _candidates(counts: Sequence[int], profiles: Sequence[str]) -> tuple[list[Tried], list[Candidate]]:
    if not counts or not profiles:
        raise InvalidConfigError("an audit tries partition counts and profiles: give at least one of each")
    rules: dict[tuple[Any, Any], list[str]] = {}
    for profile in map(find_profile, profiles):
        rules.setdefault((profile.hash, profile.sign), []).append(profile.name)
    distinct = dict.fromkeys(map(checked_partition_count, counts))
    pairs = [(rule, names, count) for rule, names in rules.items() for count in distinct]
    tried = [Tried(names[0], tuple(names), count) for _, names, count in pairs]
    return tried, [Candidate(HASHES[name].column, sign, count) for (name, sign), _, count in pairs]


def _counting(candidates: list[Candidate]) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    limit = BLOCKS_OF_A_TASK

    def count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa  # noqa: PLC0415 - on executors

        found: dict[str, tuple[Blocks, int]] = {}
        for batch in batches:
            topics, partition, offset, key = batch.columns
            for topic in topics.unique().to_pylist():
                of_topic = pa.compute.equal(topics, topic)
                keys = key.filter(of_topic).cast(pa.large_binary())
                _, offsets, data = keys.buffers()
                rows = count_rows(
                    partition.filter(of_topic).to_numpy(),
                    offset.filter(of_topic).to_numpy(),
                    np.frombuffer(offsets, np.int64)[keys.offset : keys.offset + len(keys) + 1],
                    np.frombuffer(data or b"", np.uint8),
                    candidates,
                )
                known, shift = found.get(topic, (rows, 0))
                found[topic] = merged([rows] if known is rows else [known, rows], shift, limit)
        for topic, (blocks, shift) in found.items():
            columns = {name: getattr(blocks, name) for name in Blocks._fields}
            lists = {name: list(column) for name, column in columns.items() if column.ndim == 2}
            head = {"topic": [topic] * len(blocks.rows), "shift": np.full(len(blocks.rows), shift, np.int32)}
            yield pa.RecordBatch.from_pydict({**head, **columns, **lists})

    return count


def _cutting(tried: list[Tried]) -> Callable[[pd.DataFrame], pd.DataFrame]:
    limit = BLOCKS_OF_A_TOPIC

    def cut(found: pd.DataFrame) -> pd.DataFrame:
        import pandas as pd  # noqa: PLC0415 - on executors

        columns = [
            np.stack(found[name])
            if name in {"explained", "first_missed", "last_missed"}
            else found[name].to_numpy()
            for name in Blocks._fields
        ]
        blocks, _ = merged([Blocks(*columns)], int(found["shift"].max()), limit)
        rows = []
        for each in ranges(blocks, [each.num_partitions for each in tried]):
            candidate, keyed = tried[each.candidate], each.rows - each.keyless
            rows.append(
                {
                    "topic": found["topic"].iloc[0],
                    "partition": each.partition,
                    "first_offset": each.first,
                    "last_offset": each.last,
                    "profile": candidate.profile,
                    "same_rule": list(candidate.same_rule),
                    "num_partitions": candidate.num_partitions,
                    "rows": each.rows,
                    "keyless": each.keyless,
                    "explained": each.explained,
                    "share": each.explained / keyed if keyed else None,
                    "framed": each.framed,
                    "missed_offsets": each.missed,
                }
            )
        return pd.DataFrame(rows)

    return cut
