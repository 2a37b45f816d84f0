"""The member of the group in a process: it keeps the records that are read but not processed yet."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Sequence
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from partitioning.errors import GaveUpError

LINGER_S = 0.2
"""The seconds to wait for further records of a transaction."""

COMMITTED_S = 1.0
"""The seconds to wait for the committed offsets."""

_READ_ON = (KafkaError._MAX_POLL_EXCEEDED, KafkaError._PARTITION_EOF)
log = logging.getLogger("partitioning.clients.read_process_write")


class LoopMember:
    """A member of the group, with its records that are read but not processed yet.

    Args:
        consumer: a consumer that is not subscribed yet.
        topics: the topics to read.
        batch: the most records that are kept.
    """

    def __init__(self, consumer: Consumer, topics: Sequence[str], batch: int) -> None:
        self._consumer = consumer
        self._most = batch
        self._batch: list[Message] = []
        # For each assigned partition with a record so far: `_next` has the offset after its last record, and
        # `_first` that of its first record, until it was compared with the committed offset.
        self._next: dict[tuple[str, int], int] = {}
        self._first: dict[tuple[str, int], int] = {}
        # librdkafka calls these callbacks only in poll() and close(), so never while a transaction is open.
        # librdkafka itself assigns and revokes the partitions, eagerly or cooperatively.
        consumer.subscribe(
            [*topics], on_assign=self._on_assign, on_revoke=self._on_revoke, on_lost=self._on_revoke
        )

    def read(self) -> tuple[Sequence[Message], Any]:
        """Return the next records to process, perhaps none, and the consumer's group metadata.

        They include records that were read before and not marked as processed, unless their partitions are
        revoked. Such records are kept here. To seek back to them would not be safe, because librdkafka
        forgets a seek() if a rebalance comes before the next record.

        Raises:
            GaveUpError: the consumer returned an offset that is lower than one before it.
            KafkaException: a topic cannot be read.
        """
        until = time.monotonic() + LINGER_S
        while True:
            message = self._consumer.poll(max(until - time.monotonic(), 0))
            if message is not None and _usable(message):
                self._take(message)
            if len(self._batch) >= self._most or time.monotonic() >= until:
                break
        if self._first and not self._begins_as_committed():
            return [], None
        metadata = self._consumer.consumer_group_metadata()
        # Without a member id nothing may be committed: a broker accepts offsets without a member id from any
        # client, as it does from old clients. The id is read last: after a loss, a new id is assigned only
        # after poll() has reported the loss.
        return (self._batch if self._consumer.memberid() else []), metadata

    def mark_processed(self, count: int) -> None:
        """Remove the first `count` records, which are processed."""
        self._batch = self._batch[count:]

    def _take(self, message: Message) -> None:
        # If a partition is lost and assigned again, librdkafka 2.16 can get a late answer to its old request
        # for the partition's start. It then repeats the request half a second later, and starts the partition
        # there once more. So an offset can be lower than one before it.
        at = record_place(message)
        of = at.topic, at.partition
        if of not in self._next:
            self._first[of] = at.offset
        elif at.offset < self._next[of]:
            raise _goes_back(of, at.offset, self._next[of])
        self._batch.append(message)
        self._next[of] = at.offset + 1

    def _begins_as_committed(self) -> bool:
        """Check that no partition's first record is before its committed offset.

        Returns False if the committed offsets are not known yet. Raises GaveUpError if the check fails.
        """
        try:
            committed = self._consumer.committed([TopicPartition(*of) for of in self._first], COMMITTED_S)
        except KafkaException as error:
            if error.args[0].name().endswith("AUTHORIZATION_FAILED"):
                raise
            log.warning("not known yet what is committed: %s", error)
            return False
        for partition in committed:
            of = partition.topic, partition.partition
            if partition.error is not None:
                log.warning("not known yet what is committed of %s/%s: %s", *of, partition.error)
                return False
            if self._first[of] < partition.offset:
                raise _goes_back(of, self._first[of], partition.offset)
        self._first.clear()
        return True

    def _on_assign(self, _: Consumer, places: list[TopicPartition]) -> None:
        log.info("got partitions %s", _numbers(places))

    def _on_revoke(self, _: Consumer, places: list[TopicPartition]) -> None:
        gone = {(place.topic, place.partition) for place in places}
        self._batch = [record for record in self._batch if (record.topic(), record.partition()) not in gone]
        for of in gone:
            self._next.pop(of, None)
            self._first.pop(of, None)
        log.info("gave back or lost partitions %s", _numbers(places))


def _goes_back(of: tuple[str, int], offset: int, before: int) -> GaveUpError:
    return GaveUpError(
        f"{of[0]}/{of[1]}: the consumer gave offset {offset}, though all before {before} was given already; "
        "nothing of that is written twice. Start the process again: it goes on where the last transaction "
        "was committed"
    )


def record_place(message: Message) -> TopicPartition:
    """Return the topic, partition and offset of a record."""
    topic, partition, offset = message.topic(), message.partition(), message.offset()
    assert topic is not None
    assert partition is not None
    assert offset is not None
    return TopicPartition(topic, partition, offset)


def following(messages: Iterable[Message]) -> list[TopicPartition]:
    """Return, for each partition of these records, the offset after the last of them."""
    lasts = {(last.topic, last.partition): last for last in map(record_place, messages)}
    return [TopicPartition(last.topic, last.partition, last.offset + 1) for last in lasts.values()]


def _numbers(places: Iterable[TopicPartition]) -> list[str]:
    return [f"{place.topic}/{place.partition}" for place in places]


def _usable(message: Message) -> bool:
    """Return True for a record, and False for an error after which reading continues; raise other errors."""
    error = message.error()
    if error is None:
        return True
    if not error.retriable() and error.code() not in _READ_ON:
        raise KafkaException(error)
    if error.code() != KafkaError._PARTITION_EOF:
        log.warning("reading: %s", error)
    return False
