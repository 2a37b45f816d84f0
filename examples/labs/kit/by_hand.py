"""A producer whose requests are sent one by one, so that a lab can look at the cluster after each."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

from kafka.protocol.producer import (
    AddOffsetsToTxnRequest,
    AddPartitionsToTxnRequest,
    EndTxnRequest,
    InitProducerIdRequest,
    ProduceRequest,
    TxnOffsetCommitRequest,
)
from kafka.record.memory_records import MemoryRecordsBuilder

from examples.labs.kit import segments as seg

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import ExitStack


class ProducerByHand:
    """A transactional producer of one partition, with a transactional id and a group named like the topic."""

    def __init__(self, servers: str, topic: str, stack: ExitStack) -> None:
        self.topic = self.id = self.group = topic
        self.coordinator, address = seg.coordinator(servers, seg.TRANSACTION, self.id)
        _, groups = seg.coordinator(servers, seg.GROUP, self.group)
        places = (address, groups, seg.leader(servers, topic)[1])
        self._transactions, self._groups, self._leader = (
            stack.enter_context(closing(seg.Connection(each))) for each in places
        )
        self._sequence = 0

    def init(self) -> None:
        request = InitProducerIdRequest[4](transactional_id=self.id, transaction_timeout_ms=60_000)
        told = self._ask(self._transactions, request, lambda answer: answer.error_code)
        self._who = {"producer_id": told.producer_id, "producer_epoch": told.producer_epoch}

    def add_partition(self) -> None:
        topic = AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(name=self.topic, partitions=[0])
        who = {f"v3_and_below_{name}": value for name, value in self._named().items()}
        request = AddPartitionsToTxnRequest[3](**who, v3_and_below_topics=[topic])
        self._ask(
            self._transactions,
            request,
            lambda answer: (
                answer.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code
            ),
        )

    def produce(self, *values: str) -> None:
        request = produce_request(
            self.topic, values, **self._who, sequence=self._sequence, transaction=self.id
        )
        self._sequence += len(values)
        self._ask(self._leader, request, lambda answer: answer.responses[0].partition_responses[0].error_code)

    def commit_offset(self, offset: int) -> None:
        request = AddOffsetsToTxnRequest[3](**self._named(), group_id=self.group)
        self._ask(self._transactions, request, lambda answer: answer.error_code)
        topics = TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic
        place = topics.TxnOffsetCommitRequestPartition(
            partition_index=0, committed_offset=offset, committed_metadata=""
        )
        request = TxnOffsetCommitRequest[3](
            **self._named(), group_id=self.group, topics=[topics(name=self.topic, partitions=[place])]
        )
        self._ask(self._groups, request, lambda answer: answer.topics[0].partitions[0].error_code)

    def end(self, *, commit: bool) -> None:
        request = EndTxnRequest[3](**self._named(), committed=commit)
        self._ask(self._transactions, request, lambda answer: answer.error_code)

    def _named(self) -> dict[str, Any]:
        return {"transactional_id": self.id, **self._who}

    def _ask(self, broker: seg.Connection, request: Any, error: Callable[[Any], int]) -> Any:
        """The answer; asked again while the coordinator loads or still ends the transaction before."""

        def ask() -> Any:
            answer = broker.ask(request)
            return None if error(answer) else answer

        return seg.until(ask, f"an answer without an error to {type(request).__name__}")


def produce_request(
    topic: str,
    values: Sequence[str],
    *,
    producer_id: int,
    producer_epoch: int,
    sequence: int,
    transaction: str | None = None,
) -> Any:
    """A Produce request with one batch for partition 0 of a topic."""
    records = MemoryRecordsBuilder(
        2,
        0,
        1 << 16,
        0,
        transaction is not None,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=sequence,
    )
    for value in values:
        records.append(None, None, value.encode())
    records.close()
    topics = ProduceRequest.TopicProduceData
    data = [topics.PartitionProduceData(index=0, records=records.buffer())]
    return ProduceRequest[9](
        transactional_id=transaction,
        acks=-1,
        timeout_ms=9000,
        topic_data=[topics(name=topic, partition_data=data)],
    )
