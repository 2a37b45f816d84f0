"""A producer whose requests are sent one by one, so that a lab can look at the cluster after each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafka.protocol.producer import (
    AddOffsetsToTxnRequest,
    AddPartitionsToTxnRequest,
    EndTxnRequest,
    InitProducerIdRequest,
)

from examples.labs.kit import segments as seg
from tests.support.raw_requests import ask, connect, offset_request, produce_request

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable
    from contextlib import ExitStack


class ProducerByHand:
    """A transactional producer of one partition, with a transactional id and a group named like the topic."""

    def __init__(self, servers: str, topic: str, stack: ExitStack) -> None:
        self.topic = self.id = self.group = topic
        self.coordinator, address = seg.coordinator(servers, seg.TRANSACTION, self.id)
        _, groups = seg.coordinator(servers, seg.GROUP, self.group)
        places = (address, groups, seg.leader(servers, topic)[1])
        self._transactions, self._groups, self._leader = (
            stack.enter_context(connect(place)) for place in places
        )
        self._who: dict[str, Any] = {"transactional_id": self.id}
        self._sequence = 0

    def init(self) -> None:
        request = InitProducerIdRequest[4](**self._who, transaction_timeout_ms=60_000)
        told = _ask(self._transactions, request, lambda answer: answer.error_code)
        self._who |= {"producer_id": told.producer_id, "producer_epoch": told.producer_epoch}

    def add_partition(self) -> None:
        topic = AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(name=self.topic, partitions=[0])
        who = {f"v3_and_below_{name}": value for name, value in self._who.items()}
        request = AddPartitionsToTxnRequest[3](**who, v3_and_below_topics=[topic])

        def error(answer: Any) -> int:
            (result,) = answer.results_by_topic_v3_and_below[0].results_by_partition
            return result.partition_error_code

        _ask(self._transactions, request, error)

    def produce(self, *values: str) -> None:
        encoded = [value.encode() for value in values]
        request = produce_request(self.topic, encoded, **self._who, sequence=self._sequence)
        self._sequence += len(values)
        _ask(self._leader, request, lambda answer: answer.responses[0].partition_responses[0].error_code)

    def commit_offset(self, offset: int) -> None:
        request = AddOffsetsToTxnRequest[3](**self._who, group_id=self.group)
        _ask(self._transactions, request, lambda answer: answer.error_code)
        request = offset_request(self.topic, offset, group=self.group, **self._who)
        _ask(self._groups, request, lambda answer: answer.topics[0].partitions[0].error_code)

    def end(self, *, commit: bool) -> None:
        request = EndTxnRequest[3](**self._who, committed=commit)
        _ask(self._transactions, request, lambda answer: answer.error_code)


def _ask(broker: socket.socket, request: Any, error: Callable[[Any], int]) -> Any:
    """The answer; asked again while the coordinator loads or still ends the transaction before."""

    def try_once() -> Any:
        answer = ask(broker, request)
        return None if error(answer) else answer

    return seg.until(try_once, f"an answer without an error to {type(request).__name__}")
