"""How `benchmarks.rebalances` turns what was said into who read what, and who did not."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from benchmarks.rebalances.broker_log import Decision, Request, read_log
from benchmarks.rebalances.cell import Cell, Ran
from benchmarks.rebalances.measure import (
    Reading,
    as_row,
    decisions,
    outages,
    read_twice,
    readings,
    rounds,
    says_nothing,
    without_joining,
)
from benchmarks.rebalances.record import record
from benchmarks.rebalances.scenarios import PARTITIONS, Scenario

if TYPE_CHECKING:
    from pathlib import Path

Event = dict[str, Any]


def assign(t: float, *partitions: int) -> Event:
    return {"t": t, "event": "assign", "partitions": list(partitions)}


def revoke(t: float, *partitions: int, what: str = "revoke") -> Event:
    return {"t": t, "event": what, "partitions": list(partitions)}


def read(t: float, *partitions: int, first: int = 0, last: int = 0) -> Event:
    return {"t": t, "event": "read", "offsets": {str(partition): [first, last] for partition in partitions}}


def halt(t: float, what: str) -> Event:
    return {"t": t, "event": what}


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        pytest.param([assign(1, 0), read(2, 0), read(3, 0)], [(0, 2, 10)], id="from the first record on"),
        pytest.param([assign(1, 0)], [], id="not before a record"),
        pytest.param([assign(1, 0), read(2, 0), revoke(5, 0)], [(0, 2, 5)], id="until the callback"),
        pytest.param(
            [assign(1, 0, 1), read(2, 0, 1), revoke(5, 1)],
            [(1, 2, 5), (0, 2, 10)],
            id="what is not taken away is read on",
        ),
        pytest.param(
            [assign(1, 0), read(2, 0), revoke(5, 0), read(5, 0)],
            [(0, 2, 5)],
            id="records handed over with the revocation",
        ),
        pytest.param(
            [assign(1, 0), read(2, 0), revoke(5, 0), assign(6, 0), read(7, 0)],
            [(0, 2, 5), (0, 7, 10)],
            id="given back",
        ),
        pytest.param([assign(1, 0), read(2, 0), halt(4, "kill")], [(0, 2, 4)], id="until it dies"),
        pytest.param(
            [assign(1, 0), read(2, 0), halt(4, "close"), revoke(4.5, 0)], [(0, 2, 4)], id="until it closes"
        ),
        pytest.param(
            [
                assign(1, 0),
                read(2, 0),
                halt(4, "stop"),
                halt(8, "continue"),
                read(8, 0),
                revoke(9, 0, what="lost"),
            ],
            [(0, 2, 4), (0, 8, 9)],
            id="a zombie reads until it hears",
        ),
        pytest.param(
            [assign(1, 0), read(2, 0), halt(4, "busy"), halt(6, "free"), read(6, 0)],
            [(0, 2, 4), (0, 6, 10)],
            id="nothing while busy",
        ),
        pytest.param([assign(1, 0), read(2, 0), read(11, 0), halt(11, "kill")], [(0, 2, 10)], id="the end"),
    ],
)
def test_what_a_process_reads(events: list[Event], expected: list[tuple[int, float, float]]) -> None:
    assert readings("c0", events, until=10) == [Reading(p, "c0", start, end) for p, start, end in expected]


@pytest.mark.parametrize(
    ("read", "gaps"),
    [
        pytest.param([(0, 10)], [], id="always"),
        pytest.param([], [(1, 10)], id="never"),
        pytest.param([(0, 3), (5, 10)], [(3, 5)], id="a gap"),
        pytest.param([(0, 6), (5, 10)], [], id="two readers at once"),
        pytest.param([(0, 9), (2, 3), (9, 10)], [], id="one within another"),
        pytest.param([(2, 4)], [(1, 2), (4, 10)], id="before and after"),
    ],
)
def test_when_a_partition_has_no_reader(
    read: list[tuple[float, float]], gaps: list[tuple[float, float]]
) -> None:
    found = outages([Reading(7, "c0", *times) for times in read], {7: 1.0}, until=10)
    assert found.gaps.get(7, []) == gaps


@pytest.mark.parametrize(
    ("joins", "expected"),
    [
        ([(3, 5)], [(0, 3), (5, 9)]),
        ([(3, 5), (5.5, 6)], [(0, 3), (5, 5.5), (6, 9)]),
        ([(-2, -1), (8, 12)], [(0, 8)]),
        ([(-2, 1), (9, 12)], [(1, 9)]),
        ([(3, None)], [(0, 3)]),
    ],
)
def test_kafka_python_reads_nothing_while_it_joins(
    joins: list[tuple[float, float | None]], expected: list[tuple[float, float]]
) -> None:
    requests: list[list[Any]] = [[4, 4.1, "c1.1", "JOIN_GROUP", None, 0]]  # another one's
    for at, answered in joins:  # refused the first time
        requests += [
            [at, at + 0.1, "c0.1", "JOIN_GROUP", None, 79],
            [at + 0.1, 9, "c0.1", "JOIN_GROUP", None, 0],
        ]
        requests.append([at + 0.2, at + 0.2, "c0.1", "SYNC_GROUP", 3, 27])
        if answered is not None:
            requests.append([answered - 0.1, answered, "c0.1", "SYNC_GROUP", 3, 0])
    found = without_joining([Reading(7, "c0.1", 0, 9)], requests, 20)
    assert found == [Reading(7, "c0.1", *span) for span in expected]


def test_partition_seconds_and_the_longest_gap() -> None:
    found = outages([Reading(0, "a", 0, 3), Reading(0, "b", 5, 10), Reading(1, "b", 4, 10)], {0: 0, 1: 0}, 10)
    assert (found.partition_seconds, found.longest, found.still) == (6, 4, [])


def test_a_partition_without_a_reader_at_the_end_is_named() -> None:
    assert outages([Reading(0, "a", 0, 3)], {0: 0}, until=10).still == [0]


def test_records_read_twice_are_counted_from_the_event_on() -> None:
    members = {
        "a": [read(1, 0, first=0, last=9)],
        "b": [read(2, 0, first=5, last=9), read(4, 0, first=8, last=12)],
    }
    assert read_twice(members, since=3) == 2


def decision(what: str) -> str:
    return (
        f"2026-01-01T00:00:01.000+0000 [event] INFO org.apache.kafka.coordinator.group.Some - [id=1] {what}"
    )


def completed(api: str, took: float) -> str:
    request = {
        "requestHeader": {"clientId": "g/c0.1", "requestApiKeyName": api},
        "request": {"generationId": 3},
        "response": {"errorCode": 27},
        "totalTimeMs": took,
    }
    return (
        "2026-01-01T00:00:03.000+0000 [network] DEBUG kafka.request.logger - "
        f"Completed request:{json.dumps(request, separators=(',', ':'))}"
    )


@pytest.fixture
def log(tmp_path: Path) -> list[Request | Decision]:
    path = tmp_path / "broker.log"
    lines = [
        decision("Stabilized group g generation 3 with 2 members."),
        decision("[GroupId h] Bumped group epoch to 8 with metadata hash 1."),
        completed("HEARTBEAT", 250),
        completed("FETCH", 1),
        completed("HEARTBEAT", 1)[:-20],  # the broker still writes this one
    ]
    path.write_text("\n".join(lines))
    return list(read_log(path, frozenset({"HEARTBEAT"})))


def test_a_request_arrived_before_it_was_answered(log: list[Request | Decision]) -> None:
    (request,) = (entry for entry in log if isinstance(entry, Request))
    assert (request.client, request.api, round(request.answered - request.at, 3)) == (
        "g/c0.1",
        "HEARTBEAT",
        0.25,
    )


def test_decisions_are_those_of_one_group(log: list[Request | Decision]) -> None:
    assert [decided[1:] for decided in decisions("g", log)] == [("stabilized", 3)]


def test_rounds_are_counted_from_the_event_on() -> None:
    assert rounds([(1, "stabilized", 1), (3, "prepares", 1), (4, "stabilized", 2), (5, "bumped", 8)], 2) == 2


@pytest.mark.parametrize(
    ("error", "answered", "assignment", "nothing"),
    [
        (0, 7, None, True),
        (25, 0, None, False),
        (0, 8, None, False),
        (0, 7, {"topicPartitions": [{"partitions": [3, 1]}]}, False),
    ],
)
def test_a_heartbeat_without_news(
    error: int, answered: int, assignment: dict[str, Any] | None, nothing: bool
) -> None:
    response = {"errorCode": error, "memberEpoch": answered, "assignment": assignment}
    request = {"memberEpoch": 7, "topicPartitions": None}
    row = as_row(Request(1, 2, "g/c0.1", "CONSUMER_GROUP_HEARTBEAT", request, response))
    assert says_nothing(row) == nothing


def test_a_run_is_recorded_from_the_events_begin_on() -> None:
    cell = Cell("g", "eager", Scenario(steps=[], begins=10, ends=20))
    said = [assign(101, *range(PARTITIONS)), read(102, *range(PARTITIONS)), halt(112, "kill")]
    heartbeat = {"generationId": 1}
    log = [
        Decision(101, "Stabilized group g generation 1 with 1 members."),
        Request(111, 111.5, "g/c0.1", "HEARTBEAT", heartbeat, {"errorCode": 0}),
        Request(113, 113.5, "g/c0.1", "HEARTBEAT", heartbeat, {"errorCode": 27}),
        Request(113, 113.5, "h/c0.1", "HEARTBEAT", heartbeat, {"errorCode": 0}),
        Decision(114, "Stabilized group g generation 2 with 1 members."),
    ]
    recorded = record(cell, Ran(100, {"g/c0.1": said}, None), log)
    expected = {
        "partition_seconds": 8 * PARTITIONS,
        "rounds": 1,
        "detected": 4,
        "decisions": [[-9, "stabilized", 1], [4, "stabilized", 2]],
        "beats": {"c0.1": [1]},
        "requests": [[3, 3.5, "c0.1", "HEARTBEAT", 1, 27, None, None, None]],
    }
    assert {key: recorded[key] for key in expected} == expected
