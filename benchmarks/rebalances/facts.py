"""What clients do by themselves, measured for the model: `python -m benchmarks.rebalances.facts`.

Quiet groups show how late heartbeats are and how far the members of a group drift apart; some cells under
librdkafka and the Java client show how long each hand-over takes, what goes out at a close, what an
application that does not poll brings about, and what a process does that slept through its session.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from random import Random
from statistics import fmean, median, quantiles
from typing import TYPE_CHECKING, Any

from benchmarks.consumers.clients import AIOKAFKA, JAVA, KAFKA_PYTHON, LIBRDKAFKA
from benchmarks.consumers.process import Member
from benchmarks.rebalances import scenarios
from benchmarks.rebalances.broker_log import Decision, Request, read_log, recording_broker
from benchmarks.rebalances.cell import Cell, Ran, run_all
from benchmarks.rebalances.measure import GROUP_APIS, HALTS, as_row, lateness, says_nothing
from benchmarks.rebalances.producer import SteadyProducer
from benchmarks.rebalances.scenarios import PARTITIONS, PROTOCOLS
from tests.support.broker import Kafka

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from benchmarks.rebalances.scenarios import Scenario

FACTS = Path(__file__).parent / "facts.json"
QUIET_SECONDS = 300
QUIET_MEMBERS = 5
CLASSIC: dict[str, str | int] = {"session.timeout.ms": 10_000, "heartbeat.interval.ms": 3_000}
KIP848: dict[str, str | int] = {"group.protocol": "consumer"}
QUIET = {
    "librdkafka-classic": (LIBRDKAFKA, CLASSIC),
    "kafka-python-classic": (KAFKA_PYTHON, CLASSIC),
    "aiokafka-classic": (AIOKAFKA, CLASSIC),
    "java-classic": (JAVA, CLASSIC),
    "librdkafka-kip848": (LIBRDKAFKA, KIP848),
    "java-kip848": (JAVA, KIP848),
}
CELLS: dict[str, Callable[[Random], Scenario]] = {
    "slow poll": scenarios.slow_poll,
    "stall": scenarios.stall,
    "join while busy": scenarios.join_while_busy,
    "close": scenarios.close,
    "static close": scenarios.static_short,
}
APIS = GROUP_APIS | {"OFFSET_FETCH", "LIST_OFFSETS"}
Log = dict[str, list[Request]]


def main() -> None:
    facts = {"heartbeats": heartbeats(), **disturbances()}
    FACTS.write_text(json.dumps(facts, indent=1) + "\n")


def heartbeats() -> dict[str, Any]:
    """Heartbeats of quiet groups whose members read records."""
    with (
        tempfile.TemporaryDirectory(prefix="rebalances-") as folder,
        recording_broker() as broker,
        SteadyProducer(broker.bootstrap_servers) as producer,
    ):
        kafka = Kafka(broker.bootstrap_servers)
        members = []
        for group, (client, config) in QUIET.items():
            topic = kafka.create_topic(PARTITIONS)
            producer.begin(topic, PARTITIONS)
            for number in range(QUIET_MEMBERS):
                names = {
                    "bootstrap.servers": broker.bootstrap_servers,
                    "group.id": group,
                    "client.id": f"{group}/c{number}",
                }
                settings = {"topics": [topic], "config": {**names, **config}}
                members.append(Member(f"c{number}", settings, Path(folder), client.command()))
        for member in members:
            member.wait_until_ready()
        for member in members:
            member.tell("start")
        time.sleep(QUIET_SECONDS)
        log = _by_client(read_log(broker.logs[0], APIS))
        for member in members:
            member.events()
    return {group: _beats(group, config, log) for group, (_, config) in QUIET.items()}


def _beats(group: str, config: dict[str, str | int], log: Log) -> dict[str, Any]:
    """How late the beats of a group that settled are, and how much further apart its members get by that."""
    members = [requests for client, requests in log.items() if client.startswith(f"{group}/")]
    settled = [_settling_time(requests) for requests in members]
    beats = [[request.at for request in requests if "HEARTBEAT" in request.api] for requests in members]
    first = [min(at for at in own if at > since) - since for own, since in zip(beats, settled, strict=True)]
    # The second of leave passes over heartbeats that acknowledge the assignment.
    quiet = [[at for at in own if at > max(settled) + 1] for own in beats]
    late = [[1000 * beat for beat in lateness(own, 5 if config is KIP848 else 3)] for own in quiet]
    count = min(len(own) for own in late)
    return {
        "first_beat_after_assignment_ms": [round(1000 * wait, 1) for wait in first],
        "late_ms": _spread([beat for own in late for beat in own]),
        "mean_late_ms_of_each_member": [round(fmean(own), 2) for own in late],
        "further_apart_ms_after_beats": {
            beat: round(max(drifted) - min(drifted), 1)
            for beat in (10, 20, 40, 80)
            if beat <= count
            for drifted in [[sum(own[:beat]) for own in late]]
        },
    }


def _settling_time(requests: Iterable[Request]) -> float:
    """When a member was last told an assignment."""
    news = [
        request.answered
        for request in requests
        if request.api == "SYNC_GROUP" or request.response.get("assignment") is not None
    ]
    return max(news, default=0.0)


def disturbances() -> dict[str, Any]:
    """What clients do in some of the cells."""
    cells = [
        Cell(
            f"{client.name}/{name}/{protocol}".replace(" ", "-"),
            protocol,
            replace(drawn(Random(name)), client=client),
        )
        for client in (LIBRDKAFKA, JAVA)
        for name, drawn in CELLS.items()
        for protocol in PROTOCOLS
    ]
    ran, entries = run_all(cells, 3, APIS)
    log = _by_client(entries)
    return {
        "handover_ms": _handovers(cells, ran, log),
        "disturbed": {one.name: _disturbed_consumer(of, log) for one, of in zip(cells, ran, strict=True)},
    }


def _handovers(cells: Sequence[Cell], ran: Sequence[Ran], log: Log) -> dict[str, Any]:
    """From an answer to the assign callback, and from there to the first record of each partition."""
    found: dict[str, list[float]] = defaultdict(list)
    for one, of in zip(cells, ran, strict=True):
        who = f"{one.scenario.client.name} {one.protocol}: "
        for client, events in of.members.items():
            owned: set[int] = set()
            for position, event in enumerate(events):
                if event["event"] in {"revoke", "lost"}:
                    owned.difference_update(event["partitions"])
                if event["event"] != "assign" or not event["partitions"]:
                    continue
                at = event["t"]
                answers = [asked for asked in log[client] if asked.answered < at + 0.002 and _assigns(asked)]
                if answers:
                    found[f"{who}{answers[-1].api} answered to assign callback"].append(
                        at - answers[-1].answered
                    )
                reset = any(asked.api == "LIST_OFFSETS" and 0 < asked.at - at < 1 for asked in log[client])
                start = "no committed offset" if reset else "reads others" if owned else "reads nothing yet"
                first = _first_reads(events[position + 1 :], set(event["partitions"]))
                found[f"{who}assign callback to first record, {start}"] += [
                    begun - at for begun in first.values()
                ]
                owned.update(event["partitions"])
    return {what: _spread([1000 * took for took in times]) for what, times in sorted(found.items())}


def _assigns(answered: Request) -> bool:
    """Whether an answer brings an assignment, or ends the wait for one."""
    if answered.api == "CONSUMER_GROUP_HEARTBEAT":
        return answered.response.get("assignment") is not None
    return answered.api in {"JOIN_GROUP", "SYNC_GROUP"} and answered.response["errorCode"] == 0


def _first_reads(events: Iterable[dict[str, Any]], partitions: set[int]) -> dict[int, float]:
    """When each of these partitions was first read, before anything else happened."""
    first: dict[int, float] = {}
    for event in events:
        if event["event"] == "read":
            for partition in partitions & set(map(int, event["offsets"])):
                first.setdefault(partition, event["t"])
        elif event["event"] != "commit":
            break
    return first


def _disturbed_consumer(ran: Ran, log: Log) -> dict[str, Any]:
    """What the disturbed consumer did, and asked with effect, in seconds from the event on."""
    rows: list[list[Any]] = []
    begun: float | None = None
    resumed = False
    handed_on = 0
    for client, events in ran.members.items():
        if not client.rpartition("/")[2].startswith("c2."):
            continue
        for event in events:
            what = event["event"]
            if what in HALTS and begun is None:
                begun = event["t"]
            elif what in {"free", "continue"}:
                resumed = True
            elif what in {"assign", "revoke", "lost"}:
                resumed = False
            elif what == "read" and resumed:
                handed_on += sum(last - first + 1 for first, last in event["offsets"].values())
            if what not in {"read", "commit"} or event.get("error") is not None:
                rows.append(
                    [event["t"], what, *(event[key] for key in ("partitions", "error") if key in event)]
                )
        asked = [(request.at, as_row(request)) for request in log[client] if request.api in GROUP_APIS]
        rows += [[at, *row] for at, row in asked if not says_nothing(row) or row[0] == "OFFSET_COMMIT"]
    assert begun is not None
    since = [[round(at - begun, 4), *row] for at, *row in rows if at >= begun]
    return {"handed_on_before_it_heard": handed_on, "told": sorted(since, key=lambda row: row[0])}


def _by_client(entries: Iterable[Request | Decision]) -> Log:
    """The requests of each process, in the order of their answers."""
    log: Log = defaultdict(list)
    for entry in entries:
        if isinstance(entry, Request):
            log[entry.client].append(entry)
    return log


def _spread(values: Sequence[float]) -> dict[str, float]:
    """How many values there are, their median, and what a tenth of them is below and above."""
    tenths = quantiles(values, n=10) if len(values) > 1 else [*values, *values]
    rounded = {"median": median(values), "p10": tenths[0], "p90": tenths[-1]}
    return {"count": len(values), **{name: round(value, 1) for name, value in rounded.items()}}


if __name__ == "__main__":
    main()
