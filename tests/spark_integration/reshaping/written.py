"""Topics for tests of reshaping: an old one with all that a copy has to keep, and what a new one holds."""

import random
import uuid
from collections.abc import Iterable, Mapping

from confluent_kafka import Producer

from copartition.reshape.switch import HEADER
from tests.support.reading import Read
from tests.support.waiting import GENEROUS_S

Headers = tuple[tuple[str, bytes | None], ...]
KEYS = 37
BEGIN_MS = 1_700_000_000_000


def old_place(record: Read) -> tuple[int, int]:
    """Partition and offset where the copy says that a record was."""
    name, value = record.headers[-1]
    assert name == HEADER
    assert value is not None
    partition, offset = value.decode().split(":")
    return int(partition), int(offset)


def write_old(servers: str, topic: str, first: int, count: int) -> None:
    """Write numbered records of all kinds, by writers that place keys by the rules of Java and librdkafka."""
    chance = random.Random(first)
    writers = [
        Producer({"bootstrap.servers": servers, "partitioner": rule, "linger.ms": 0})
        for rule in ("murmur2_random", "murmur2_random", "murmur2_random", "consistent_random")
    ]
    for number in range(first, first + count):
        key = None if number % 50 == 7 else b"" if number % 50 == 8 else b"user-%d" % chance.randrange(KEYS)
        headers = [
            ("number", b"%d" % number),
            *([("none", None), ("empty", b""), ("number", b"twice")] if number % 7 == 0 else []),
        ]
        writer = writers[number // 20 % len(writers)]
        writer.produce(
            topic,
            None if number % 10 == 3 else b"" if number % 10 == 4 else b"%d" % number,
            key=key,
            # Mostly rising, and sometimes back by more than the records between two flushes take.
            timestamp=BEGIN_MS + number * 100 - chance.choice((0, 0, 0, 5000)),
            headers=headers if number % 3 else None,
        )
        if number % 20 == 19:
            assert writer.flush(GENEROUS_S) == 0
    for writer in writers:
        assert writer.flush(GENEROUS_S) == 0


def write_transactions(servers: str, topic: str) -> None:
    """Write records in a transaction that is aborted, then others in one that is committed."""
    settings = {"bootstrap.servers": servers, "partitioner": "murmur2_random"}
    producer = Producer({**settings, "transactional.id": uuid.uuid4().hex})
    producer.init_transactions(GENEROUS_S)
    for end in (producer.abort_transaction, producer.commit_transaction):
        producer.begin_transaction()
        for number in range(KEYS):
            producer.produce(topic, end.__name__.encode(), key=b"user-%d" % number)
        producer.flush(GENEROUS_S)
        end(GENEROUS_S)


def write_copies(servers: str, topic: str, copies: Iterable[tuple[int, bytes, bytes, Headers]]) -> None:
    """Write records to partitions as they are named: partition, key, value, headers; all of one time."""
    producer = Producer({"bootstrap.servers": servers})
    for partition, key, value, headers in copies:
        producer.produce(
            topic, value, key=key, partition=partition, timestamp=BEGIN_MS, headers=list(headers)
        )
    assert producer.flush(GENEROUS_S) == 0


def mapped(
    records: Iterable[Read], ends: Mapping[int, int], commits: Mapping[int, int]
) -> dict[int, tuple[int, int]]:
    """New partition -> position and repeats of a group, by looking at every record in turn."""
    positions = dict.fromkeys(ends, (-1, 0))
    for record in records:
        position, repeats = positions[record.partition]
        old_partition, old_offset = old_place(record)
        read = old_offset < commits[old_partition]
        if position < 0 and not read:
            positions[record.partition] = (record.offset, 0)
        elif position >= 0 and read:
            positions[record.partition] = (position, repeats + 1)
    return {
        partition: (ends[partition], 0) if found[0] < 0 else found for partition, found in positions.items()
    }
