"""One way from a strategy to another, walked by a real group: every bounce, member after member."""

from __future__ import annotations

import re
import time
from collections import Counter
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from benchmarks.consumers.clients import AIOKAFKA, JAVA, KAFKA_PYTHON, LIBRDKAFKA, STRATEGY
from benchmarks.consumers.process import Member
from benchmarks.migrations.walks import REMOTE, SPEAK
from copartition.groups import read_live
from copartition.migrate.clients import member_settings
from partitioning.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from assignors.state import GroupState
    from benchmarks.migrations.walks import Walk
    from tests.support.broker import Kafka

CLIENTS = {client.name: client for client in (JAVA, LIBRDKAFKA, KAFKA_PYTHON, AIOKAFKA)}
MEMBERS = 3
PARTITIONS = 6
PATIENCE_S = 120
REST_S, ASK_AFTER_S = 1.0, 30.0
"""How long members must have had the same, and when the coordinator is asked though they have not."""
_HARMLESS = {"UNKNOWN_TOPIC_OR_PART", "_TRANSPORT", "_ALL_BROKERS_DOWN", "REBALANCE_IN_PROGRESS"}
"""Errors that consumers get over by themselves."""


def walk(way: Walk, kafka: Kafka, folder: Path, log: Path) -> dict[str, Any]:
    """Walk a way from its first to its last list.

    Args:
        way: the way.
        kafka: the cluster, with group.initial.rebalance.delay.ms of 3 s or more.
        folder: an empty one for what the members write.
        log: what the broker writes, with the group coordinator's lines of level INFO.

    Returns:
        The way, and what became of the group. `generation`: the group's when the first member was replaced,
        None in a group of the consumer protocol. `fault`: None if all members lived and shared all
        partitions after every restart. `others`: after a fault, whether the members that got no error shared
        all partitions afterwards.
    """
    group = WalkingGroup(way, kafka, folder)
    generation, others = None, None
    try:
        group.form()
        generation = _generation(log, way.name)
        for strategies in way.lists[1:]:
            group.replace_all(strategies)
        state = group.settle(MEMBERS)
        fault = None if state.strategy == way.lists[-1][0] else f"the group ended with {state.strategy}"
    except (RuntimeError, TimeoutError) as error:
        fault = str(error).replace(way.name, "GROUP")
        others = group.others()
    finally:
        group.end()
    return {**asdict(way), "generation": generation, "fault": fault, "others": others}


def _of_members(state: GroupState) -> list[list[int]]:
    """Return the partitions of each member, by the coordinator's words."""
    return [state.partition[state.member == number].tolist() for number in range(len(state.members))]


def _generation(log: Path, group: str) -> int | None:
    """Return the last generation of a group in a broker's log."""
    found = re.findall(
        rf"tabilized group {re.escape(group)} generation (\d+)", log.read_text(errors="replace")
    )
    return int(found[-1]) if found else None


class WalkingGroup:
    """The members of a way, each a process."""

    def __init__(self, way: Walk, kafka: Kafka, folder: Path) -> None:
        self._way, self._kafka, self._folder = way, kafka, folder
        self.topic = kafka.create_topic(PARTITIONS)
        self.partitions = PARTITIONS
        self.running: dict[int, Member] = {}
        self._gone: list[Member] = []
        self._started = 0
        self._settings: dict[int, dict[str, str | int]] = {}

    def form(self) -> None:
        """Let all members join: at once for generation 1, else one after the other."""
        first = self._way.lists[0]
        if self._way.generation == 1:
            self.start_all(first)
            return
        for number in range(MEMBERS):
            self.start(number, first)
            self.settle(number + 1)

    def start_all(self, strategies: Sequence[str]) -> None:
        """Let all members join within the coordinator's delay of a first rebalance."""
        members = {number: self._process(number, strategies) for number in range(MEMBERS)}
        for member in members.values():
            member.wait_until_ready()
        for member in members.values():
            member.tell("start")
        self.running |= members
        self.settle(MEMBERS)

    def replace_all(self, strategies: Sequence[str]) -> None:
        """Give all members these strategies, in the manner of the way."""
        if self._way.how == "stop":
            for number in [*self.running]:
                self.close(number)
            self.start_all(strategies)
            return
        for number in [*self.running]:
            if self._way.how == "surge":
                # The new member has the old one's client, as it takes its place.
                self.start(number + MEMBERS, strategies)
                self.settle(MEMBERS + 1)
                self.close(number)
            elif self._way.how == "slow":
                self.close(number)
                self.settle(MEMBERS - 1)
                self.start(number, strategies)
            else:
                self.restart(number, strategies)
            self.settle(MEMBERS)

    def others(self) -> str:
        """Say what becomes of the members that got no error, once the others are gone."""
        failed = [number for number in self.running if self._fault(number)]
        for number in failed:
            self._gone.append(self.running.pop(number))
            self._gone[-1].events()
        try:
            self.settle(len(self.running))
        except (RuntimeError, TimeoutError) as error:
            return str(error).replace(self._way.name, "GROUP")
        return f"{len(self.running)} shared all partitions" if self.running else "no member was left"

    def start(self, number: int, strategies: Sequence[str]) -> None:
        """Let a member join with these strategies."""
        member = self._process(number, strategies)
        self.running[number] = member
        try:
            member.wait_until_ready()
        except RuntimeError:  # its message has the whole stack of calls
            raise RuntimeError(self._fault(number)) from None
        member.tell("start")

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
        told = (line for member in members for line in member.output() if line["event"] in {"revoke", "lost"})
        return Counter(partition for line in told for partition in line["partitions"])

    def settle(self, members: int) -> GroupState:
        """The group, once so many members live and share all partitions, and a second later still do.

        Raises:
            RuntimeError: a member has ended or got an error.
            TimeoutError: the group does not settle.
        """
        begun = time.monotonic()
        state, shared, since = None, None, begun
        while (now := time.monotonic()) < begun + PATIENCE_S:
            self._check_members()
            told = self._owners()
            if told != shared:
                shared, since = told, now
            # Asking the coordinator costs more than all members do, so they must have come to rest before.
            # What a member says is a shortcut only: after a while the coordinator is asked all the same.
            resting = self._is_shared(list(told.values()), members) and now > since + REST_S
            if resting or now > begun + ASK_AFTER_S:
                with suppress(SourceError):  # a coordinator that has not heard of the group yet
                    state, _ = read_live(self._way.name, {"bootstrap.servers": self._kafka.bootstrap_servers})
                    shares = state.status == "Stable" and self._is_shared(_of_members(state), members)
                    if shares and (resting or told == self._owners()):
                        return state
                time.sleep(1.0)
            time.sleep(0.1)
        found = "nobody" if state is None else f"{state.status}, {len(state.members)} members"
        raise TimeoutError(f"the group does not settle: {found}")

    def _is_shared(self, lists: Sequence[Sequence[int]], members: int) -> bool:
        """Whether so many members have something, and each partition is one member's."""
        everything = sorted(partition for owned in lists for partition in owned)
        return len(lists) == members and all(lists) and everything == [*range(self.partitions)]

    def _owners(self) -> dict[int, tuple[int, ...]]:
        """Return what each running member has by its own words, by the member's number."""
        found: dict[int, set[int]] = {}
        for number, member in self.running.items():
            owned = found.setdefault(number, set())
            for event in member.output():
                if event["event"] == "assign":
                    owned |= {*event["partitions"]}
                elif event["event"] in {"revoke", "lost"}:
                    owned -= {*event["partitions"]}
        return {number: tuple(sorted(owned)) for number, owned in found.items()}

    def end(self) -> None:
        """End what still runs."""
        for member in (*self.running.values(), *self._gone):
            member.events()

    def _check_members(self) -> None:
        for number in self.running:
            if fault := self._fault(number):
                raise RuntimeError(fault)

    def _fault(self, number: int) -> str | None:
        """Say what is wrong with a member; None if nothing is."""
        member, client = self.running[number], self._client(number)
        told = [event for event in member.output() if event["event"] == "error"]
        if faults := [event for event in told if event["error"] not in _HARMLESS]:
            return f"a {client} member got {faults[0]['error']}: {faults[0]['text']}"
        return f"a {client} member ended: {member.last_words()}" if member.over else None

    def _client(self, number: int) -> str:
        return self._way.clients[number % MEMBERS % len(self._way.clients)]

    def _process(self, number: int, strategies: Sequence[str]) -> Member:
        client = CLIENTS[self._client(number)]
        self._started += 1
        folder = self._folder / self._way.name / str(self._started)
        folder.mkdir(parents=True)
        config = self._settings[number % MEMBERS] = self._new_settings(number, tuple(strategies))
        settings = {"topics": [self.topic], "config": client.own_names(config)}
        return Member(f"m{number}", settings, folder, client.command())

    def _new_settings(self, number: int, strategies: tuple[str, ...]) -> dict[str, str | int]:
        """Return the settings of a member, which `copartition migrate` says, on those that it had before."""
        client = self._client(number)
        config = dict(
            self._settings.get(number % MEMBERS)
            or {
                "bootstrap.servers": self._kafka.bootstrap_servers,
                "group.id": self._way.name,
                "topic.metadata.refresh.interval.ms": 3000,
                "heartbeat.interval.ms": 1_000,  # rebalances are noticed sooner than after 3 s
            }
        )
        config["client.id"] = f"m{number}"
        if client in SPEAK:
            if number % MEMBERS not in self._settings:  # what people set, and what has to go
                config["session.timeout.ms"] = 45_000
            was_remote = config.get("group.protocol") == "consumer"
            for name, value in member_settings(client, strategies, was_remote=was_remote).items():
                config.pop(name, None)
                config |= {} if value is None else {name: value}
        elif strategies[0] in REMOTE:  # which no Python client has; tried to see what happens
            config.pop(STRATEGY, None)
            config["group.protocol"] = "consumer"
        else:
            # Their settings are classes, which their processes find by these names.
            config[STRATEGY] = ",".join(f"own:{name}" for name in strategies)
        return config
