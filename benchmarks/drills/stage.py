"""A group of real consumers on a broker of its own, and an operator who asks about it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from benchmarks.consumers.clients import LIBRDKAFKA, Client
from benchmarks.consumers.process import Member
from benchmarks.drills.judging import Answer
from tests.support.broker import CLUSTER_ID, Broker, BrokerError, Kafka

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

PATIENCE_S = 180
Owners = dict[tuple[str, int], str]
Settings = dict[str, str | int]
UNIFORM: Settings = {"group.protocol": "consumer", "group.remote.assignor": "uniform"}


def strategies(*names: str) -> Settings:
    """The setting of a classic member with these strategies, the preferred one first."""
    return {"partition.assignment.strategy": ",".join(names)}


class OldCluster(Broker):
    """A broker of a cluster whose feature `group.version` is 0, as before an upgrade is finalized."""

    def _format_storage(self, node: int, settings: Path, controllers: str) -> None:
        command = ("kafka.tools.StorageTool", "format", controllers, "-t", CLUSTER_ID)
        feature = ("--feature", "group.version=0", "-c", settings)
        if self._launch(node, *command, *feature).wait():
            raise BrokerError("a cluster without KIP-848 could not be formatted")


class Stage:
    """The group of a drill, its topics and its members; use it as a context manager.

    Args:
        broker: the drill's own, or one that drills share.
        folder: where members write, and where the commands' files go.
        number: makes the names of the group and of its topics unlike those of other drills.

    Attributes:
        group: its name.
        live: its name as a source of the commands.
        answers: what the commands said so far, in the order in which they were asked.
        topics: the partitions of each topic.
        running: the members by `client.id`.
    """

    def __init__(self, broker: Broker, folder: Path, number: int) -> None:
        self.broker, self.folder, self._number = broker, folder, number
        self.group = f"billing{number}"
        self.live = f"live:{self.group}"
        self.servers = broker.bootstrap_servers
        self.kafka = Kafka(self.servers)
        self.admin = AdminClient({"bootstrap.servers": self.servers, "log_level": 0})
        self.answers: list[Answer] = []
        self.topics: dict[str, int] = {}
        self.running: dict[str, Member] = {}
        self.members: list[Member] = []  # the ones that are over, too

    # What is built -----------------------------------------------------------------------------------

    def create(self, partitions: int, name: str = "orders") -> str:
        """Create a topic, to which all members subscribe; its name is this one and the drill's number."""
        topic = f"{name}{self._number}"
        self.topics[topic] = partitions
        return self.kafka.create_topic(partitions, name=topic)

    def grow(self, partitions: int) -> None:
        """Give the first topic more partitions."""
        topic = next(iter(self.topics))
        self.kafka.grow_topic(topic, partitions)
        self.topics[topic] = partitions

    def write(self, records: int) -> None:
        """Write so many records to the first topic, to its partitions in turn."""
        topic, partitions = next(iter(self.topics.items()))
        producer = Producer({"bootstrap.servers": self.servers, "log_level": 0})
        for number in range(records):
            producer.produce(topic, b"", partition=number % partitions)
            producer.poll(0)
        producer.flush(60)

    def commit(self, offset: int) -> None:
        """Commit this offset in all partitions, while the group has no member."""
        consumer = Consumer({"bootstrap.servers": self.servers, "group.id": self.group})
        consumer.commit(
            offsets=[TopicPartition(*place, offset) for place in self._places()], asynchronous=False
        )
        consumer.close()

    def start(self, name: str, settings: Mapping[str, str | int] = {}, client: Client = LIBRDKAFKA) -> Member:
        """Let a member join, and return at once; `settle` waits for the group."""
        config = {"bootstrap.servers": self.servers, "group.id": self.group, "client.id": name, **settings}
        folder = self.folder / f"member-{len(self.members)}"
        folder.mkdir()
        listened = {"topics": list(self.topics), "config": client.own_names(config)}
        member = Member(name, listened, folder, client.command())
        self.members.append(member)
        self.running[name] = member
        member.wait_until_ready()
        member.tell("start")
        return member

    def form(
        self, names: Sequence[str], settings: Mapping[str, str | int] = {}, client: Client = LIBRDKAFKA
    ) -> None:
        """Let members join one after the other, so that each is a generation; wait after each."""
        for name in names:
            self.start(name, settings, client)
            self.settle()

    def form_static(self, names: Sequence[str], settings: Mapping[str, str | int]) -> None:
        """Let static members join one after the other; each has its name as `group.instance.id`."""
        for name in names:
            self.form([name], {**settings, "group.instance.id": name})

    def close(self, name: str) -> None:
        """Let a member leave in order."""
        member = self.running.pop(name)
        member.tell("close")
        member.wait_until_over()

    def kill(self, name: str) -> None:
        """Kill a member's process; it says no word to the group."""
        self.running.pop(name).signal("kill")

    def roll(self, settings: Mapping[str, str | int], client: Client = LIBRDKAFKA) -> str | None:
        """Restart all members one after the other with these settings; what went wrong, None if nothing."""
        for name in list(self.running):
            self.close(name)
            if fault := self.attempt([name], settings, client):
                return fault
        return None

    def stop_and_start(self, settings: Mapping[str, str | int], client: Client = LIBRDKAFKA) -> str | None:
        """Stop all members, wait until the group is empty, start them anew; what went wrong, or None."""
        names = list(self.running)
        for name in names:
            if self.running[name].over:
                self.running.pop(name)
            else:
                self.close(name)
        return self.attempt(names, settings, client)

    def attempt(
        self, names: Sequence[str], settings: Mapping[str, str | int], client: Client = LIBRDKAFKA
    ) -> str | None:
        """Let members join as `form` does; what went wrong in one line, None if nothing did."""
        try:
            self.form(names, settings, client)
        except (RuntimeError, TimeoutError) as error:
            lines = str(error).splitlines()
            return next((line for line in lines if "Exception" in line), lines[0])
        return None

    # What is seen ------------------------------------------------------------------------------------

    def settle(self) -> Owners:
        """Wait until the running members, and no others, have all partitions, twice in a second.

        Raises:
            RuntimeError: a member ended, or got an error that it does not get over.
            TimeoutError: the group does not settle within `PATIENCE_S`.
        """
        deadline, last = time.monotonic() + PATIENCE_S, None
        while time.monotonic() < deadline:
            self.check_members()
            found = self.admin.describe_consumer_groups([self.group], request_timeout=PATIENCE_S)[self.group]
            if found.exception(2 * PATIENCE_S) is None:
                group = found.result()
                whole = {member.client_id for member in group.members} == set(self.running)
                owners = self._owners(group) if whole and group.state.name == "STABLE" else {}
                if owners.keys() == set(self._places()):
                    if owners == last:
                        return owners
                    last = owners
            time.sleep(1.0)
        raise TimeoutError(f"the group did not settle within {PATIENCE_S} s")

    def check_members(self) -> None:
        """Raise RuntimeError if a member has ended or got an error that ends its work."""
        for name, member in self.running.items():
            if member.over:
                raise RuntimeError(f"{name} ended: {member.last_words()}")
            fatal = [
                event["error"]
                for event in member.output()
                if event["event"] == "error" and event["error"] in {"INCONSISTENT_GROUP_PROTOCOL", "_FATAL"}
            ]
            if fatal:
                raise RuntimeError(f"{name} got the error {fatal[0]}")

    def revocations(self, name: str) -> list[list[int]]:
        """The partitions of each revocation of a member, in order, but those of its own closing."""
        found = []
        for member in self.members:
            for event in member.output() if member.name == name else ():
                if event["event"] == "close":
                    break
                if event["event"] in {"revoke", "lost"}:
                    found.append(event["partitions"])
        return found

    def _owners(self, group: Any) -> Owners:
        return {
            (place.topic, place.partition): member.client_id
            for member in group.members
            for place in member.assignment.topic_partitions
        }

    def _places(self) -> Iterator[tuple[str, int]]:
        return ((name, number) for name, count in self.topics.items() for number in range(count))

    # What is asked -----------------------------------------------------------------------------------

    def command(self, *arguments: str, servers: str | None = None) -> list[str]:
        """The command line of a question about this cluster."""
        return [str(Path(sys.executable).with_name("copartition")), *arguments, "-b", servers or self.servers]

    def ask(self, *arguments: str, servers: str | None = None, on_cluster: bool = True) -> Answer:
        """Ask `copartition`, and keep the answer.

        Args:
            arguments: of the command.
            servers: the address of another listener.
            on_cluster: whether the command takes an address at all.
        """
        command = self.command(*arguments, servers=servers)
        run = subprocess.run(
            command if on_cluster else command[:-2],
            capture_output=True,
            text=True,
            check=False,
            cwd=self.folder,
            env={**os.environ, "COLUMNS": "120"},
            timeout=600,
        )
        return self.keep_answer(" ".join(arguments), run.returncode, run.stdout + run.stderr)

    def keep_answer(self, command: str, code: int, said: str) -> Answer:
        """Keep an answer, without what is of this machine only."""
        answer = Answer(self._clean(command), code, self._clean(said))
        self.answers.append(answer)
        return answer

    def _clean(self, text: str) -> str:
        return re.sub(r"127\.0\.0\.1:\d+", "BROKER", text).replace(f"{self.folder}/", "")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for member in self.members:
            member.events()
