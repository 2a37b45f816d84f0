"""Read the topic back with a plain consumer and compare it with what went in."""

import json
import time
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Producer, TopicPartition
from numpy.typing import NDArray

from partitioning import partition_batch


class Records(NamedTuple):
    """A topic's records as columns, each partition in offset order."""

    partition: NDArray[np.int32]
    seq: NDArray[np.int64]
    key: pa.Array
    first_offsets: dict[int, int]


@dataclass(frozen=True)
class Audit:
    """What became of the rows; all but the first two must be 0."""

    rows_in: int
    rows_read: int
    lost: int
    read_twice: int
    misplaced: int
    inversions: int
    dropped_by_broker: int

    @property
    def passed(self) -> bool:
        """Whether every row was read once, in its partition, in the order of its key."""
        faults = self.lost, self.read_twice, self.misplaced, self.inversions, self.dropped_by_broker
        return self.rows_read == self.rows_in and not any(faults)


def read_topic(servers: str, topic: str, num_partitions: int) -> Records:
    """Every record of the topic, from the first offset of each partition to its end."""
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": f"{topic}-audit",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
        }
    )
    try:
        partitions = range(num_partitions)
        marks = {p: consumer.get_watermark_offsets(TopicPartition(topic, p), timeout=10) for p in partitions}
        consumer.assign([TopicPartition(topic, p, OFFSET_BEGINNING) for p in partitions])
        open_partitions = {p for p, (low, high) in marks.items() if high > low}
        columns: tuple[list[int], list[int], list[bytes | None]] = ([], [], [])
        heard = time.monotonic()
        while open_partitions:
            messages = consumer.consume(10_000, timeout=0.5)
            if messages:
                heard = time.monotonic()
            elif time.monotonic() - heard > 30:
                raise TimeoutError(
                    f"no record of {topic} for 30 s; not read: partitions {sorted(open_partitions)}"
                )
            for message in messages:
                error = message.error()
                if error is None:
                    columns[0].append(message.partition())
                    columns[1].append(json.loads(message.value())["seq"])
                    columns[2].append(message.key())
                elif error.code() == KafkaError._PARTITION_EOF:
                    open_partitions.discard(message.partition())
                else:
                    raise KafkaException(error)
    finally:
        consumer.close()
    return Records(
        np.array(columns[0], np.int32),
        np.array(columns[1], np.int64),
        pa.array(columns[2], pa.binary()),
        {p: low for p, (low, _) in marks.items()},
    )


def audit(records: Records, rows_in: int, unkeyed: dict[int, int], num_partitions: int) -> Audit:
    """Compare what was read with what went in.

    Args:
        records: the topic read back.
        rows_in: rows of the data set; row i carries `seq` i.
        unkeyed: partition that Spark chose for each row without a key, by `seq`.
        num_partitions: partitions of the topic.
    """
    times_read = np.bincount(records.seq, minlength=rows_in)
    expected = partition_batch(records.key, num_partitions)
    for row in np.flatnonzero(expected < 0):
        expected[row] = unkeyed[int(records.seq[row])]
    return Audit(
        rows_in=rows_in,
        rows_read=len(records.seq),
        lost=int(np.count_nonzero(times_read == 0)),
        read_twice=int(np.count_nonzero(times_read > 1)),
        misplaced=int(np.count_nonzero(records.partition != expected)),
        inversions=inversions(records),
        dropped_by_broker=sum(records.first_offsets.values()),
    )


def inversions(records: Records) -> int:
    """How often a record of a key comes later in its partition than a record that was sent after it."""
    keyed = np.flatnonzero(records.key.is_valid())
    codes = records.key.take(keyed).dictionary_encode().indices.to_numpy()
    order = np.argsort(codes, kind="stable")
    codes, seq = codes[order], records.seq[keyed][order]
    return int(np.count_nonzero((np.diff(seq) < 0) & (np.diff(codes) == 0)))


def place_with_librdkafka(servers: str, topic: str, keys: list[bytes]) -> NDArray[np.int32]:
    """Where librdkafka's own `murmur2_random` puts these keys: a judge that shares no code with ours."""
    placed = np.full(len(keys), -1, np.int32)
    failures: list[KafkaError] = []
    producer = Producer({"bootstrap.servers": servers, "partitioner": "murmur2_random", "linger.ms": 5})
    for row, key in enumerate(keys):

        def on_delivery(error: KafkaError | None, message: object, row: int = row) -> None:
            if error is not None:
                failures.append(error)
            else:
                placed[row] = message.partition()

        producer.produce(topic, key=key, on_delivery=on_delivery)
        producer.poll(0)
    if producer.flush(30) or failures:
        raise KafkaException(failures[0] if failures else KafkaError(KafkaError._TIMED_OUT))
    return placed
