"""Runs share groups on a real broker, and makes a JSON object of what each showed."""

from __future__ import annotations

import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from confluent_kafka import Producer, libversion
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)

from benchmarks.consumers.process import Member
from benchmarks.share_groups.cells import SESSION_MS
from tests.support.broker import Broker, Kafka

if TYPE_CHECKING:
    from collections.abc import Mapping

    from copartition.models.share_groups.run import ShareGroup


Run = dict[str, Any]

SETTINGS = f"""
group.coordinator.rebalance.protocols=classic,consumer,streams,share
group.share.min.record.lock.duration.ms=1000
group.share.min.heartbeat.interval.ms=500
group.share.heartbeat.interval.ms=500
group.share.min.session.timeout.ms=1000
group.share.session.timeout.ms={SESSION_MS}
"""
PATIENCE_S = 120
WARM_MS = 300
"""What a record takes with which members show that they are there."""


def run_cells(cells: Mapping[str, ShareGroup], at_a_time: int) -> list[Run]:
    """What each group showed, by its name."""
    with (
        tempfile.TemporaryDirectory(prefix="share-groups-") as folder,
        Broker(SETTINGS) as broker,
        ThreadPoolExecutor(at_a_time) as side_by_side,
    ):
        return list(
            side_by_side.map(lambda name: _Group(name, cells[name], broker, Path(folder)).run(), cells)
        )


class _Group:
    """A group that is run."""

    def __init__(self, name: str, cell: ShareGroup, broker: Broker, folder: Path) -> None:
        self._name, self._cell = name, cell
        self._servers, self._kafka, self._folder = broker.bootstrap_servers, broker.version, folder
        self._topic = Kafka(self._servers).create_topic()
        self._members: list[Member] = []
        self._warm = 0

    def run(self) -> Run:
        self._configure()
        for _ in range(self._cell.members):
            self._start()
        try:
            self._wait_for_members()
            self._produce()
            return self._watch()
        finally:
            for member in self._members:
                member.events()

    def _configure(self) -> None:
        config = {
            "share.auto.offset.reset": "earliest",
            "share.record.lock.duration.ms": round(self._cell.lock_ms),
            "share.partition.max.record.locks": self._cell.max_locks,
        }
        entries = [
            ConfigEntry(name, str(value), incremental_operation=AlterConfigOpType.SET)
            for name, value in config.items()
        ]
        group = ConfigResource(ResourceType.GROUP, self._name, incremental_configs=entries)
        admin = AdminClient({"bootstrap.servers": self._servers})
        for done in admin.incremental_alter_configs([group]).values():
            done.result(30)

    def _start(self) -> None:
        name = f"{self._name}-{len(self._members)}"
        settings = {
            "topics": [self._topic],
            "process_ms": self._cell.process_ms,
            "each": self._cell.each,
            "config": {
                "bootstrap.servers": self._servers,
                "group.id": self._name,
                "client.id": name,
                "max.poll.records": self._cell.max_poll_records,
            },
        }
        command = [sys.executable, "-m", "benchmarks.share_groups.member"]
        self._members.append(Member(name, settings, self._folder, command))
        self._members[-1].wait_until_ready()
        self._members[-1].tell("start")

    def _wait_for_members(self) -> None:
        """Send records until each member has processed one, and all are acknowledged."""
        producer = Producer({"bootstrap.servers": self._servers})
        deadline = time.monotonic() + PATIENCE_S
        while not all(_polls_after(member.output(), 0) for member in self._members):
            if time.monotonic() > deadline:
                raise TimeoutError(f"{self._name}: not all members got a record within {PATIENCE_S} s")
            producer.produce(self._topic, str(WARM_MS).encode())
            producer.flush()
            self._warm += 1
            time.sleep(0.15)
        while len(_acceptances(self._events(), 0)) < self._warm:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{self._name}: not all was acknowledged within {PATIENCE_S} s")
            time.sleep(0.05)

    def _produce(self) -> None:
        batches = {"batch.num.messages": self._cell.max_poll_records, "linger.ms": 50}
        producer = Producer({"bootstrap.servers": self._servers, **batches})
        for number in range(self._cell.records):
            producer.produce(self._topic, str(self._cell.special.get(number, "x")).encode())
        producer.flush()

    def _watch(self) -> Run:
        """Do to members what is to be done, until every record has come to its end."""
        cell, deadline = self._cell, time.monotonic() + PATIENCE_S
        acts = sorted(
            [(at, "kill", member) for member, at in cell.killed.items()]
            + [(at, "stop", member) for member, at in cell.stopped.items()]
        )
        crashed: dict[Member, float] = {}
        while True:
            said = self._events()
            polls = _polls_after(said, self._warm)
            now, last = time.monotonic(), max((event["t"] for event in said), default=0.0)
            if polls and acts and now >= polls[0]["t"] + acts[0][0] / 1_000:
                _, what, number = acts.pop(0)
                self._members[number].signal(what)
            for member in list(self._members):
                if member.over and member not in crashed and not member.done:
                    crashed[member] = now
                elif now > crashed.get(member, now) + cell.restart_ms / 1_000:
                    crashed[member] = float("inf")
                    self._start()
            if len(_acceptances(said, self._warm)) == cell.records:
                break
            if polls and now > last + cell.lock_ms / 1_000 + cell.restart_ms / 1_000 + 2:
                break
            if now > deadline:
                raise TimeoutError(f"{self._name}: not over within {PATIENCE_S} s")
            time.sleep(0.02)
        return self._result()

    def _events(self) -> list[dict[str, Any]]:
        said = [event for member in self._members for event in member.output()]
        return sorted(said, key=lambda event: event["t"])

    def _result(self) -> Run:
        said = self._events()
        polls = _polls_after(said, self._warm)
        began = polls[0]["t"]
        deliveries = [record for poll in polls for record in poll["records"]]
        accepted = _acceptances(said, self._warm)
        for number, kind in self._cell.special.items():
            if isinstance(kind, str):  # its acknowledgement is no acceptance
                accepted.pop(number + self._warm, None)
        for member in self._members:
            accepted.update(_acceptances_without_answer(member, polls))
        return {
            "cell": self._name,
            "kafka": self._kafka,
            "librdkafka": libversion()[0],
            "seconds": round(max(_processing_times(said, accepted)) - began, 3),
            "accepted": len(accepted),
            "deliveries": len(deliveries),
            "redeliveries": sum(count > 1 for _, _, count in deliveries),
            "special": {
                str(offset - self._warm): [
                    [round(poll["t"] - began, 3), count]
                    for poll in polls
                    for _, at, count in poll["records"]
                    if at == offset
                ]
                for offset in (self._warm + number for number in self._cell.special)
            },
            "polls": [
                [
                    round(poll["t"] - began, 3),
                    len(poll["records"]),
                    sum(count > 1 for _, _, count in poll["records"]),
                ]
                for poll in polls
            ],
        }


def _polls_after(said: list[dict[str, Any]], warm: int) -> list[dict[str, Any]]:
    """The polls that got records behind the first ones."""
    return [event for event in said if event["event"] == "polled" and event["records"][-1][1] >= warm]


def _acceptances_without_answer(member: Member, polls: list[dict[str, Any]]) -> dict[int, float]:
    """What a member that was killed or stopped had acknowledged without a word: it never came again."""
    again = {offset for poll in polls for _, offset, count in poll["records"] if count > 1}
    processed = [event for event in member.output() if member.done and event["event"] == "processed"]
    first = polls[0]["records"][0][1]
    return {
        offset: event["t"]
        for event in processed
        for offset in event["offsets"]
        if offset >= first and offset not in again
    }


def _processing_times(said: list[dict[str, Any]], accepted: dict[int, float]) -> list[float]:
    """When each record was processed that was accepted afterwards: acknowledgements are answered later."""
    return [
        max(
            event["t"]
            for event in said
            if event["event"] == "processed" and offset in event["offsets"] and event["t"] <= at
        )
        for offset, at in accepted.items()
    ]


def _acceptances(said: list[dict[str, Any]], warm: int) -> dict[int, float]:
    """The offsets that were acknowledged without an error, each with when that was known."""
    return {
        offset: event["t"]
        for event in said
        if event["event"] == "acknowledged" and event["error"] is None
        for offset in event["offsets"]
        if offset >= warm
    }
