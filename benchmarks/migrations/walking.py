"""One way from a strategy to another, walked by a real group: every bounce, member after member."""

from __future__ import annotations

import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from benchmarks.consumers.clients import AIOKAFKA, JAVA, KAFKA_PYTHON, LIBRDKAFKA
from benchmarks.consumers.process import Member
from copartition.groups import read_live
from partitioning.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from assignors.state import GroupState
    from copartition.migrate.migration import Migration
    from tests.support.broker import Kafka

CLIENTS = {each.name: each for each in (JAVA, LIBRDKAFKA, KAFKA_PYTHON, AIOKAFKA)}
MEMBERS = 3
PARTITIONS = 6
PATIENCE_S = 60
_REMOTE = {"uniform": "uniform", "broker-range": "range"}
_HARMLESS = {"UNKNOWN_TOPIC_OR_PART", "_TRANSPORT", "_ALL_BROKERS_DOWN", "REBALANCE_IN_PROGRESS"}
"""Errors that consumers get over by themselves."""


@dataclass(frozen=True, slots=True)
class Walk:
    """A way to walk.

    Attributes:
        clients: the kinds of clients, which the members take in turn.
        before: the strategy that all members have.
        after: the strategy that they are to have.
    """

    clients: tuple[str, ...]
    before: str
    after: str

    @property
    def name(self) -> str:
        """The group's name."""
        return f"{'+'.join(self.clients)}-{self.before}-{self.after}"


def walk(way: Walk, migration: Migration, kafka: Kafka, folder: Path) -> dict[str, Any]:
    """What became of the group: `fault` is None where all members lived and read everything in the end."""
    group = WalkingGroup(way, kafka, folder)
    try:
        lists = [(way.before,), *(bounce.strategies for bounce in migration.bounces)]
        for number in range(MEMBERS):
            group.start(number, lists[0])
            group.settled(number + 1)
        for strategies in lists[1:]:
            for number in range(MEMBERS):
                group.restart(number, strategies)
                group.settled(MEMBERS)
        state = group.settled(MEMBERS)
        fault = None if state.strategy == way.after else f"the group ended with {state.strategy}"
    except (RuntimeError, TimeoutError) as error:
        fault = str(error)
    finally:
        group.end()
    return {"clients": way.clients, "before": way.before, "after": way.after, "fault": fault}


class WalkingGroup:
    """The members of a way, each a process."""

    def __init__(self, way: Walk, kafka: Kafka, folder: Path) -> None:
        self._way, self._kafka, self._folder = way, kafka, folder
        self.topic = kafka.create_topic(PARTITIONS)
        self.partitions = PARTITIONS
        self.running: dict[int, Member] = {}
        self._gone: list[Member] = []
        self._started = 0

    def start(self, number: int, strategies: Sequence[str]) -> None:
        """Let a member join with these strategies."""
        member = self._process(number, strategies)
        member.wait_until_ready()
        member.tell("start")
        self.running[number] = member

    def restart(self, number: int, strategies: Sequence[str]) -> None:
        """Close a member, and let it come back with these strategies."""
        self.close(number)
        self.start(number, strategies)

    def close(self, number: int) -> None:
        """Let a member leave."""
        member = self.running.pop(number)
        member.tell("close")
        member.wait_until_over()
        self._gone.append(member)

    def grow(self, partitions: int) -> None:
        """Give the topic more partitions."""
        self._kafka.grow_topic(self.topic, partitions)
        self.partitions = partitions

    def given_up(self) -> Counter[int]:
        """How often each partition was revoked or lost so far, by the members' own words."""
        members = (*self.running.values(), *self._gone)
        told = (each for member in members for each in member.output() if each["event"] in {"revoke", "lost"})
        return Counter(partition for each in told for partition in each["partitions"])

    def settled(self, members: int) -> GroupState:
        """The group, once so many members live and share all partitions, and a second later still do.

        Raises:
            RuntimeError: a member has ended or got an error.
            TimeoutError: the group does not settle.
        """
        deadline = time.monotonic() + PATIENCE_S
        state, shared = None, None
        while time.monotonic() < deadline:
            self._check_members()
            with suppress(SourceError):  # a coordinator that has not heard of the group yet
                state, _ = read_live(self._way.name, {"bootstrap.servers": self._kafka.bootstrap_servers})
                owners = state.member[state.member >= 0].tolist()
                even = (len(set(owners)), len(owners)) == (members, self.partitions)
                now = (state.generation, state.members, owners) if even and state.status == "Stable" else None
                if now is not None and now == shared:
                    return state
                shared = now
            time.sleep(1.0 if shared else 0.2)
        told = "nobody" if state is None else f"{state.status}, {len(state.members)} members"
        raise TimeoutError(f"the group does not settle: {told}")

    def end(self) -> None:
        """End what still runs."""
        for member in (*self.running.values(), *self._gone):
            member.events()

    def _check_members(self) -> None:
        for number, member in self.running.items():
            client = self._client(number)
            told = [each["error"] for each in member.output() if each["event"] == "error"]
            if faults := [each for each in told if each not in _HARMLESS]:
                raise RuntimeError(f"a {client} member got the error {faults[0]}")
            if member.over:
                raise RuntimeError(f"a {client} member ended: {member.last_words()}")

    def _client(self, number: int) -> str:
        return self._way.clients[number % len(self._way.clients)]

    def _process(self, number: int, strategies: Sequence[str]) -> Member:
        client = CLIENTS[self._client(number)]
        self._started += 1
        config: dict[str, str | int] = {
            "bootstrap.servers": self._kafka.bootstrap_servers,
            "group.id": self._way.name,
            "client.id": f"m{number}",
            "topic.metadata.refresh.interval.ms": 3000,
        }
        if strategies[0] in _REMOTE:
            config |= {"group.protocol": "consumer", "group.remote.assignor": _REMOTE[strategies[0]]}
        else:
            own = "own:" if client in (KAFKA_PYTHON, AIOKAFKA) else ""
            config["partition.assignment.strategy"] = ",".join(f"{own}{name}" for name in strategies)
        folder = self._folder / self._way.name / str(self._started)
        folder.mkdir(parents=True)
        settings = {"topics": [self.topic], "config": client.named(config)}
        return Member(f"m{number}", settings, folder, client.command())
