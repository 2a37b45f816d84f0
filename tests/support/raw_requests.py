"""Requests that no client would send alone, over a connection of our own to one broker."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any

from kafka.protocol.parser import KafkaProtocol
from kafka.protocol.producer import ProduceRequest, TxnOffsetCommitRequest
from kafka.record.memory_records import MemoryRecordsBuilder

from tests.support.waiting import GENEROUS_S

if TYPE_CHECKING:
    from collections.abc import Sequence


def connect(address: str) -> socket.socket:
    """A connection to the broker at host:port."""
    host, port = address.rsplit(":", 1)
    return socket.create_connection((host, int(port)), timeout=GENEROUS_S)


def send(broker: socket.socket, request: Any) -> KafkaProtocol:
    """Send a request; with what is returned its answer can be read."""
    protocol = KafkaProtocol(client_id="by-hand")
    protocol.send_request(request)
    broker.sendall(protocol.send_bytes())
    return protocol


def ask(broker: socket.socket, request: Any) -> Any:
    """The broker's answer to a request."""
    protocol = send(broker, request)
    answers: list[Any] = []
    while not answers:
        data = broker.recv(1 << 16)
        if not data:
            raise ConnectionError("the broker closed the connection")
        answers = protocol.receive_bytes(data)
    return answers[0][1]


def produce_request(
    topic: str,
    values: Sequence[bytes],
    *,
    producer_id: int,
    producer_epoch: int,
    transactional_id: str | None = None,
    sequence: int = 0,
) -> Any:
    """A Produce request with one batch for partition 0, whose first record has this sequence number."""
    transactional = transactional_id is not None
    records = MemoryRecordsBuilder(2, 0, 1 << 20, 0, transactional, producer_id, producer_epoch, sequence)
    for value in values:
        records.append(None, None, value)
    records.close()
    topics = ProduceRequest.TopicProduceData
    data = [topics.PartitionProduceData(index=0, records=records.buffer())]
    return ProduceRequest[9](
        transactional_id=transactional_id,
        acks=-1,
        timeout_ms=9000,
        topic_data=[topics(name=topic, partition_data=data)],
    )


def offset_request(
    topic: str, offset: int, *, group: str, transactional_id: str, producer_id: int, producer_epoch: int
) -> Any:
    """A TxnOffsetCommit request for partition 0."""
    topics = TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic
    place = topics.TxnOffsetCommitRequestPartition(
        partition_index=0, committed_offset=offset, committed_metadata=""
    )
    return TxnOffsetCommitRequest[3](
        transactional_id=transactional_id,
        group_id=group,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        topics=[topics(name=topic, partitions=[place])],
    )
