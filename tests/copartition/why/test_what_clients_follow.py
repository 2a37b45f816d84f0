"""What a client's log says where others caused the rebalance, in forms of public threads with other names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from copartition.why.history import Cause
from copartition.why.rebalances import histories
from copartition.why.statements import read_statements

if TYPE_CHECKING:
    from pathlib import Path

HEARTBEAT = "10:00:02 kafka.coordinator Heartbeat failed for group billing because "
JOINED = "10:00:03 kafka.coordinator Successfully joined group billing with generation 3"
REBALANCING = (
    '%7|1714557607.929|REBALANCE|c1#consumer-1| [thrd:main]: Group "billing" is rebalancing (EAGER) in state '
    "up (join-state steady) with 1 assigned partition(s): rebalance in progress"
)
METADATA = '%7|1714557601.7|REJOIN|c1#consumer-1| Group "billing": subscription updated from metadata change'
UNKNOWN_MEMBER = (
    '%7|1714557663.1|HEARTBEAT|c1#consumer-1| Group "billing" heartbeat error response in state up: '
    "Broker: Unknown member"
)


@pytest.mark.parametrize(
    ("text", "cause", "member"),
    [
        pytest.param(f"{HEARTBEAT}it is rebalancing\n{JOINED}", Cause.UNKNOWN, None, id="kafka-python#1787"),
        pytest.param(REBALANCING, Cause.UNKNOWN, None, id="confluent-kafka-python#1305"),
        pytest.param(METADATA, Cause.TOPICS, "c1", id="confluent-kafka-python#559"),
        pytest.param(UNKNOWN_MEMBER, Cause.EXPIRED, "c1", id="librdkafka#1076"),
    ],
)
def test_a_clients_log_alone(text: str, cause: Cause, member: str | None, tmp_path: Path) -> None:
    path = tmp_path / "client.log"
    path.write_text(f"{text}\n")
    (found,) = histories(read_statements([str(path)]))
    assert [(rebalance.cause, rebalance.member) for rebalance in found.rebalances] == [(cause, member)]
