"""A process as a member of the group: the records that it has read and not yet dealt with."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Sequence
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from partitioning.errors import GaveUpError

LINGER_S = 0.2
"""Seconds to wait for the records of a transaction."""

COMMITTED_S = 1.0
"""Seconds to wait for the committed offsets."""

_READ_ON = (KafkaError._MAX_POLL_EXCEEDED, KafkaError._PARTITION_EOF)
log = logging.getLogger("partitioning.clients.read_process_write")


class LoopMember:
    """A member of the group.

    Args:
        consumer: one that is not subscribed yet.
        topics: to read.
        batch: how many records at most.
    """

    def __init__(self, consumer: Consumer, topics: Sequence[str], batch: int) -> None:
        self._consumer = consumer
        self._most = batch
        self._batch: list[Message] = []
        # Of partitions that have given something since they were got: where they go on, and their first
        # offsets until these are compared with what is committed.
        self._next: dict[tuple[str, int], int] = {}
        self._first: dict[tuple[str, int], int] = {}
        # librdkafka calls these within poll() and close() only, so never while a transaction is open, and
        # hands the partitions over itself: all at once, or some where the group's protocol is cooperative.
        consumer.subscribe(
            [*topics], on_assign=self._on_assign, on_revoke=self._on_revoke, on_lost=self._on_revoke
        )

    def read(self) -> tuple[Sequence[Message], Any]:
        """Read records to deal with next, if there are any; also return as which member of the group.

        Records that were read before and are not `mark_processed` are among them, unless their partitions are
        gone. They are kept, not sought: librdkafka forgets a seek() when a rebalance comes before the next
        record.

        Raises:
            GaveUpError: the consumer goes back in a partition.
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
        # A broker takes offsets that name no member from anyone, as from old clients. The id is asked for
        # last: one that was lost is given anew only after poll() has told of it.
        return (self._batch if self._consumer.memberid() else []), metadata

    def mark_processed(self, count: int) -> None:
        """So many of the records that were read are dealt with, the first ones."""
        self._batch = self._batch[count:]

    def _take(self, message: Message) -> None:
        # An answer to an old question where a partition begins, of before it was lost and got again, has
        # librdkafka 2.16 ask again half a second later, and start the partition there once more.
        at = record_place(message)
        of = at.topic, at.partition
        if of not in self._next:
            self._first[of] = at.offset
        elif at.offset < self._next[of]:
            raise _goes_back(of, at.offset, self._next[of])
        self._batch.append(message)
        self._next[of] = at.offset + 1

    def _begins_as_committed(self) -> bool:
        """Return whether partitions begin behind what is committed of them.

        False if that cannot be known yet.
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
    """Return where a record is."""
    topic, partition, offset = message.topic(), message.partition(), message.offset()
    assert topic is not None
    assert partition is not None
    assert offset is not None
    return TopicPartition(topic, partition, offset)


def following(messages: Iterable[Message]) -> list[TopicPartition]:
    """Return where to go on after these, in each partition."""
    lasts = {(last.topic, last.partition): last for last in map(record_place, messages)}
    return [TopicPartition(last.topic, last.partition, last.offset + 1) for last in lasts.values()]


def _numbers(places: Iterable[TopicPartition]) -> list[str]:
    return [f"{place.topic}/{place.partition}" for place in places]


def _usable(message: Message) -> bool:
    """Return whether this is a record; False for an error after which reading goes on, others are raised."""
    error = message.error()
    if error is None:
        return True
    if not error.retriable() and error.code() not in _READ_ON:
        raise KafkaException(error)
    if error.code() != KafkaError._PARTITION_EOF:
        log.warning("reading: %s", error)
    return False
