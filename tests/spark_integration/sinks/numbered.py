"""Rows that carry their number, so that what a topic holds of them is compared as columns, not row by row."""

import uuid
from typing import NamedTuple, Self

import numpy as np
import pyarrow as pa
from confluent_kafka import Consumer, TopicPartition, murmur2
from numpy.typing import NDArray
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from tests.support.waiting import GENEROUS_S

KEYS = 997


def numbered(spark: SparkSession, rows: int, slices: int = 4) -> DataFrame:
    """Rows whose value is their number, as text, from 0 up; a key comes back after `KEYS` rows."""
    return spark.range(0, rows, 1, slices).select(
        "id",
        sf.concat(sf.lit("user-"), sf.pmod("id", sf.lit(KEYS))).alias("key"),
        sf.col("id").cast("string").alias("value"),
    )


class Written(NamedTuple):
    """What a topic holds, each partition in the order of its offsets.

    Attributes:
        partition: where each record is.
        key: its key.
        number: its value.
    """

    partition: NDArray[np.int64]
    key: pa.Array
    number: NDArray[np.int64]

    @classmethod
    def read(cls, servers: str, topic: str) -> Self:
        """Every record that is in the topic now."""
        consumer = Consumer(
            {
                "bootstrap.servers": servers,
                "group.id": f"test-{uuid.uuid4().hex}",
                "enable.auto.commit": False,
            }
        )
        try:
            partitions = consumer.list_topics(topic, timeout=GENEROUS_S).topics[topic].partitions
            ends = [
                consumer.get_watermark_offsets(TopicPartition(topic, p), timeout=GENEROUS_S)
                for p in partitions
            ]
            consumer.assign(
                [TopicPartition(topic, p, first) for p, (first, _) in zip(partitions, ends, strict=True)]
            )
            missing = sum(end - first for first, end in ends)
            parts: list[tuple[list[int], list[bytes], list[bytes]]] = [([], [], [])]
            while missing:
                messages = consumer.consume(min(missing, 50_000), timeout=GENEROUS_S)
                assert messages, f"{missing} records of {topic} could not be read within {GENEROUS_S:.0f} s"
                missing -= len(messages)
                parts.append(
                    (
                        [m.partition() for m in messages],
                        [m.key() for m in messages],
                        [m.value() for m in messages],
                    )
                )
        finally:
            consumer.close()
        partition, key, value = (
            pa.chunked_array([pa.array(part[column], kind) for part in parts]).combine_chunks()
            for column, kind in enumerate([pa.int64(), pa.binary(), pa.binary()])
        )
        return cls(partition.to_numpy(), key, value.cast(pa.string()).cast(pa.int64()).to_numpy())

    def without_copies(self) -> Self:
        """Of each number the first record."""
        return self.at(np.sort(np.unique(self.number, return_index=True)[1]))

    def at(self, positions: NDArray[np.int64]) -> Self:
        """The records at these positions."""
        return type(self)(
            self.partition[positions], self.key.take(pa.array(positions)), self.number[positions]
        )

    def latest_copies(self) -> Self:
        """Of each number the last record."""
        turned = type(self)(self.partition[::-1], self.key[::-1], self.number[::-1]).without_copies()
        return type(self)(turned.partition[::-1], turned.key[::-1], turned.number[::-1])

    def copies(self) -> NDArray[np.int64]:
        """How many records each number has, from 0 to the highest."""
        return np.bincount(self.number)

    def misplaced(self, num_partitions: int) -> int:
        """How many records are not where librdkafka's murmur2 puts the key of their number."""
        wanted = [b"user-%d" % key for key in range(KEYS)]
        home = np.array([murmur2(key, num_partitions) for key in wanted])
        keys = pa.array(wanted).take(pa.array(self.number % KEYS))
        same_key = pa.compute.equal(self.key, keys).to_numpy(zero_copy_only=False)
        return int(np.count_nonzero(~same_key | (self.partition != home[self.number % KEYS])))

    def inversions(self) -> int:
        """How often a record of a key is next to one of the same key with a smaller number."""
        by_key = np.argsort(self.number % KEYS, kind="stable")
        number = self.number[by_key]
        return int(np.count_nonzero((np.diff(number % KEYS) == 0) & (np.diff(number) < 0)))
