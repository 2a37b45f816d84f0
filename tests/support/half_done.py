"""A transaction whose end nobody learns of, as brokers that are restarted can leave one."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from kafka.protocol.producer import InitProducerIdRequest

from tests.support.raw_requests import ask, connect, offset_request, produce_request
from tests.support.waiting import GENEROUS_S

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
    with connect(servers) as broker:
        asked = InitProducerIdRequest[4](transactional_id=transactional_id, transaction_timeout_ms=9000)
        end = time.monotonic() + GENEROUS_S
        while (own := ask(broker, asked)).error_code:  # it begins, or ends an earlier transaction
            assert time.monotonic() < end, own
            time.sleep(0.1)
        who = {
            "transactional_id": transactional_id,
            "producer_id": own.producer_id,
            "producer_epoch": own.producer_epoch,
        }
        if values:
            written = ask(broker, produce_request(topic, values, **who))
            assert written.responses[0].partition_responses[0].error_code == 0
        if group is not None:
            committed = ask(broker, offset_request(topic, 0, group=group, **who))
            assert committed.topics[0].partitions[0].error_code == 0
