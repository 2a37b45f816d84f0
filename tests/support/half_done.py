"""A transaction whose end nobody is told, as brokers that are restarted can leave one."""

from __future__ import annotations

import socket
import time
from typing import TYPE_CHECKING, Any

from kafka.protocol.parser import KafkaProtocol
from kafka.protocol.producer import InitProducerIdRequest, ProduceRequest, TxnOffsetCommitRequest
from kafka.record.memory_records import MemoryRecordsBuilder

if TYPE_CHECKING:
    from collections.abc import Sequence

UNVERIFIED = "transaction.partition.verification.enable=false\n"
"""With this setting a broker takes records and offsets of transactions that its coordinator does not know."""


def leave_half_done(
    servers: str, transactional_id: str, group: str | None, topic: str, values: Sequence[bytes]
) -> None:
    """Write into partition 0 in a transaction that the coordinator does not know, and so never ends.

    Args:
        servers: host:port of a broker that is all of a cluster and `UNVERIFIED`, and has its coordinators.
        transactional_id: whose transaction.
        group: for which it commits an offset of the partition, if for any.
        topic: where to.
        values: of the records, if any.
    """
    host, port = servers.split(":")
    with socket.create_connection((host, int(port)), timeout=10) as broker:
        asked = InitProducerIdRequest[4](transactional_id=transactional_id, transaction_timeout_ms=9000)
        deadline = time.monotonic() + 20
        while (own := _ask(broker, asked)).error_code:  # it begins, or ends an earlier transaction
            assert time.monotonic() < deadline, own
            time.sleep(0.1)
        if values:
            _produce(broker, own, transactional_id, topic, values)
        if group is not None:
            _commit(broker, own, transactional_id, group, topic)


def _produce(
    broker: socket.socket, own: Any, transactional_id: str, topic: str, values: Sequence[bytes]
) -> None:
    records = MemoryRecordsBuilder(
        2, 0, 1 << 20, 0, True, own.producer_id, own.producer_epoch, base_sequence=0
    )
    for value in values:
        records.append(None, None, value)
    records.close()
    topics = ProduceRequest.TopicProduceData
    data = [topics.PartitionProduceData(index=0, records=records.buffer())]
    written = _ask(
        broker,
        ProduceRequest[9](
            transactional_id=transactional_id,
            acks=-1,
            timeout_ms=9000,
            topic_data=[topics(name=topic, partition_data=data)],
        ),
    )
    assert written.responses[0].partition_responses[0].error_code == 0


def _commit(broker: socket.socket, own: Any, transactional_id: str, group: str, topic: str) -> None:
    topics = TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic
    places = [
        topics.TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=0, committed_metadata="")
    ]
    committed = _ask(
        broker,
        TxnOffsetCommitRequest[3](
            transactional_id=transactional_id,
            group_id=group,
            producer_id=own.producer_id,
            producer_epoch=own.producer_epoch,
            topics=[topics(name=topic, partitions=places)],
        ),
    )
    assert committed.topics[0].partitions[0].error_code == 0


def _ask(broker: socket.socket, request: Any) -> Any:
    protocol = KafkaProtocol(client_id="half-done")
    protocol.send_request(request)
    broker.sendall(protocol.send_bytes())
    answers: list[Any] = []
    while not answers:
        answers = protocol.receive_bytes(broker.recv(1 << 16))
    return answers[0][1]
