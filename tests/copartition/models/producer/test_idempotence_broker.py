"""A real leader gives every batch of a table the verdict that the model gives it."""

from __future__ import annotations

import random
import socket
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from kafka.protocol.parser import KafkaProtocol
from kafka.protocol.producer import ProduceRequest
from kafka.record.memory_records import MemoryRecordsBuilder

from copartition.models import ProducerState, SequencedBatch, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.broker import Kafka

LARGEST = 2**31 - 1
ERRORS = {45: Verdict.OUT_OF_ORDER_SEQUENCE_NUMBER, 47: Verdict.INVALID_PRODUCER_EPOCH}


def batches(*numbers: int, epoch: int = 0) -> list[SequencedBatch]:
    """Batches of ten records; number n starts at sequence 10 * n."""
    return [SequencedBatch(epoch, 10 * number, 10) for number in numbers]


def one(first: int, records: int = 10, epoch: int = 0) -> list[SequencedBatch]:
    return [SequencedBatch(epoch, first, records)]


CASES = {
    "in_order": batches(0, 1, 2),
    "the_last_five_again": batches(*range(7), 6, 5, 4, 3, 2, 7),
    "the_sixth_again": batches(*range(7), 1, 7),
    "all_of_seven_again": batches(*range(7), *range(7)),
    "a_gap": batches(0, 2, 1, 2),
    "a_gap_of_one_record": [*one(0), *one(11), *one(10)],
    "an_overlap_of_one_record": [*one(0), *one(9), *one(10)],
    "the_first_part_of_a_batch_again": [*one(0), *one(0, 5), *one(10)],
    "the_last_part_of_a_batch_again": [*one(0), *one(5, 5), *one(10)],
    "two_batches_again_as_one": [*batches(0, 1), *one(0, 20), *batches(2)],
    "one_batch_again_as_two": [*one(0, 20), *batches(0, 1, 2)],
    "an_unknown_producer_starts_late": batches(7, 8),
    "its_first_batch_was_refused": batches(1, 0, 2, 0),
    "only_its_third_batch_came_through": batches(2, 0, 1, 3),
    "an_unknown_producer_with_a_later_epoch": [*one(0, epoch=3), *one(10, epoch=3)],
    "an_unknown_producer_starts_late_with_a_later_epoch": [*one(50, epoch=3), *one(60, epoch=3)],
    "a_new_epoch": [*batches(0, 1), *batches(0, 1, epoch=1)],
    "a_new_epoch_that_skips_some": [*batches(0), *batches(0, epoch=5), *batches(1, epoch=5)],
    "a_new_epoch_that_goes_on_counting": [*batches(0, 1), *batches(2, epoch=1), *batches(2)],
    "a_new_epoch_that_does_not_start_at_zero": [*batches(0, 1), *batches(7, epoch=1), *batches(0, epoch=1)],
    "an_old_epoch": [*batches(0), *batches(0, epoch=1), *batches(1), *batches(0), *batches(1, epoch=1)],
    "a_batch_of_the_old_epoch_again": [*batches(0, 1), *batches(0, epoch=1), *batches(1)],
    "the_same_sequence_in_a_new_epoch": [*batches(0), *batches(0, 0, epoch=1)],
    "an_old_duplicate_after_a_new_epoch": [*batches(0, 1, 2), *batches(0, 0, 1, 1, epoch=1)],
    "a_batch_ends_at_the_largest": [*one(LARGEST - 9), *one(0), *one(LARGEST - 9), *one(10)],
    "a_batch_goes_past_the_largest": [*one(LARGEST - 4), *one(5), *one(LARGEST - 4), *one(15)],
    "after_the_largest_comes_not_one": [*one(LARGEST - 9), *one(1), *one(0)],
    "single_records": [batch for first in range(8) for batch in one(first, 1)] + one(7, 1) + one(2, 1),
}


class Leader:
    """A topic's only partition, asked with produce requests of our own."""

    def __init__(self, broker: Kafka) -> None:
        host, port = broker.bootstrap_servers.split(",")[0].rsplit(":", 1)
        self._connection = socket.create_connection((host, int(port)), timeout=600)
        self._protocol = KafkaProtocol(client_id="idempotence")
        self._topic = broker.create_topic()

    def close(self) -> None:
        self._connection.close()

    def receive(self, producer_id: int, batch: SequencedBatch) -> tuple[int, int]:
        """The leader's error code and base offset for a batch."""
        partition = ProduceRequest.TopicProduceData.PartitionProduceData(
            index=0, records=_bytes(producer_id, batch)
        )
        request = ProduceRequest[11](
            transactional_id=None,
            acks=-1,
            timeout_ms=10_000,
            topic_data=[ProduceRequest.TopicProduceData(name=self._topic, partition_data=[partition])],
        )
        self._protocol.send_request(request)
        self._connection.sendall(self._protocol.send_bytes())
        answers: list[tuple[int, Any]] = []
        while not answers:
            data = self._connection.recv(1 << 16)
            assert data, "the broker closed the connection"
            answers = self._protocol.receive_bytes(data)
        answer = answers[0][1].responses[0].partition_responses[0]
        return answer.error_code, answer.base_offset


def _bytes(producer_id: int, batch: SequencedBatch) -> bytes:
    builder = MemoryRecordsBuilder(
        2, 0, 1 << 20, producer_id=producer_id, producer_epoch=batch.epoch, base_sequence=batch.first
    )
    for number in range(batch.records):
        builder.append(timestamp=1_000, key=None, value=b"%d" % number)
    builder.close()
    return bytes(builder.buffer())


@pytest.fixture(scope="module")
def leader(broker: Kafka) -> Iterator[Leader]:
    with closing(Leader(broker)) as leader:
        yield leader


@pytest.mark.parametrize("sent", CASES.values(), ids=CASES.keys())
def test_the_leader_gives_the_verdicts_of_the_model(leader: Leader, sent: list[SequencedBatch]) -> None:
    producer_id = random.randrange(1 << 40, 1 << 60)  # one the cluster has not seen
    state = ProducerState()
    told, expected = [], []
    offsets: dict[SequencedBatch, int] = {}
    for batch in sent:
        verdict, state = state.receive(batch)
        expected.append(verdict)
        error, offset = leader.receive(producer_id, batch)
        if error:
            told.append(ERRORS.get(error, error))
        elif offset == offsets.get(batch):
            told.append(Verdict.DUPLICATE)
        else:
            assert offset > max(offsets.values(), default=-1)
            offsets[batch] = offset
            told.append(Verdict.APPENDED)
    assert told == expected
