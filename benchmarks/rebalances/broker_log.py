"""A real broker with the intervals of production that writes down every request, and what it wrote down."""

from __future__ import annotations

import json
import re
import time
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.support.broker import Broker

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

# Heartbeats and delays are Kafka's defaults; sessions end after 8 s instead of 45 s, which is no multiple of
# either heartbeat interval.
SETTINGS = """
group.initial.rebalance.delay.ms=3000
group.consumer.heartbeat.interval.ms=5000
group.consumer.session.timeout.ms=8000
"""

LOGGED = (
    "-Dorg.slf4j.simpleLogger.log.kafka.request.logger=debug",
    "-Dorg.slf4j.simpleLogger.log.org.apache.kafka.coordinator.group=info",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd'T'HH:mm:ss.SSSZ",
)

REQUEST = re.compile(rb"(\S+) .* kafka\.request\.logger - Completed request:(\{.*\})$")
DECISION = re.compile(rb"(\S+) .*(?:INFO|WARN) org\.apache\.kafka\.coordinator\.group\S* - (.*)$")


class Request(NamedTuple):
    """A request as the broker saw it: `time.monotonic()` at its arrival and when it was answered."""

    at: float
    answered: float
    client: str
    api: str
    request: dict[str, Any]
    response: dict[str, Any]


class Decision(NamedTuple):
    """What the group coordinator says it did."""

    at: float
    what: str


def recording_broker(settings: str = "", racks: Sequence[str] = ("rack0",), version: str = "") -> Broker:
    """A broker that logs every request with its answer, and what the group coordinator decides.

    Args:
        settings: more of them.
        racks: one of each node; several nodes write a log each.
        version: of Kafka; empty: the one of tests.
    """
    return Broker(SETTINGS + settings, LOGGED, racks, version)


def read_log(log: Path, apis: frozenset[str] | None = None) -> Iterator[Request | Decision]:
    """What a recording broker wrote down, in the order of its writing: of requests only these APIs, or all.

    The log is read while the broker writes, so its last line may be half a line; that one is left out.
    """
    start = time.monotonic() - time.time()
    wanted = None if apis is None else re.compile(rb'"requestApiKeyName":"(?:%s)"' % "|".join(apis).encode())
    with log.open("rb") as lines:
        for line in lines:
            if not line.endswith(b"\n"):
                continue
            if (found := REQUEST.match(line)) is not None:
                if wanted is None or wanted.search(line):
                    yield _request(start + _seconds(found[1]), json.loads(found[2]))
            elif (found := DECISION.match(line)) is not None:
                yield Decision(round(start + _seconds(found[1]), 4), found[2].decode())


def _request(answered: float, logged: dict[str, Any]) -> Request:
    header = logged["requestHeader"]
    return Request(
        round(answered - logged["totalTimeMs"] / 1000, 4),
        round(answered, 4),
        header["clientId"],
        header["requestApiKeyName"],
        logged["request"],
        logged["response"],
    )


def _seconds(stamp: bytes) -> float:
    return datetime.strptime(stamp.decode(), "%Y-%m-%dT%H:%M:%S.%f%z").timestamp()
