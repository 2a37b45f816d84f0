"""What a leader on librdkafka assigns: a real confluent-kafka consumer, led to believe it leads this group.

A coordinator of ours answers its JoinGroup with members that we made up, and reads their assignments in its
SyncGroup. librdkafka can crash at that, so every scenario has a process of its own, which writes each group
before it asks: `python -m tools.oracle.assignors.librdkafka STRATEGY FAMILY NUMBER`.
"""

from __future__ import annotations

import json
import os
import socket
import struct
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from random import Random
from typing import TYPE_CHECKING, Any

from confluent_kafka import Consumer, libversion

from assignors.protocol import FieldWriter, Reader, Subscription, decode_assignment, encode_subscription
from partitioning.topic_partition import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Json = dict[str, Any]

PATIENCE_S = 200.0
_API_VERSIONS = 18
_VERSIONS = {0: (0, 7), 1: (0, 11), 2: (0, 2), 3: (1, 1), 8: (1, 7), 9: (1, 5), 10: (0, 0), 11: (5, 5)} | {
    12: (3, 3),
    13: (1, 1),
    14: (3, 3),
    18: (0, 3),
}
"""Which versions of which requests the coordinator speaks; none of them is flexible but ApiVersions."""


# A coordinator that has one group ----------------------------------------------------------------------


class _Coordinator:
    """Answers a consumer until it has sent the assignments of the group, which `assignments` gives out."""

    def __init__(self, group: Json, strategy: str) -> None:
        self._group, self._strategy = group, strategy
        self.assignments: SimpleQueue[dict[str, bytes]] = SimpleQueue()
        racks = {
            rack
            for topic in group["topics"]
            for partition_racks in topic.get("racks", ())
            for rack in partition_racks
        }
        self._brokers = {rack: number for number, rack in enumerate([None, *sorted(racks)])}
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._socket.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=self._serve, args=self._socket.accept()[:1], daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with suppress(OSError, struct.error), connection, connection.makefile("rb") as stream:
            while True:
                (size,) = struct.unpack(">i", stream.read(4))
                request = Reader(stream.read(size), "a request")
                key, asked, correlation = request.int16(), request.int16(), request.int32()
                request.nullable_string()
                answer = struct.pack(">i", correlation) + self._answer(key, asked, request)
                connection.sendall(struct.pack(">i", len(answer)) + answer)

    def _answer(self, key: int, asked: int, request: Reader) -> bytes:
        if key == _API_VERSIONS:
            keys = b"".join(struct.pack(">hhhB", api_key, *span, 0) for api_key, span in _VERSIONS.items())
            if asked < 3:
                keys = b"".join(struct.pack(">hhh", api_key, *span) for api_key, span in _VERSIONS.items())
                return struct.pack(">hi", 0, len(_VERSIONS)) + keys + (b"\0" * 4 if asked else b"")
            return struct.pack(">hB", 0, len(_VERSIONS) + 1) + keys + b"\0" * 5
        writer = FieldWriter("an answer")
        match key:
            case 3:  # Metadata
                wanted = request.int32()
                self._metadata(writer, None if wanted < 0 else {request.string() for _ in range(wanted)})
            case 10:  # FindCoordinator
                writer.int16(0)
                self._node(writer, 0)
            case 11:  # JoinGroup
                self._join(writer)
            case 14:  # SyncGroup
                self._sync(request)
                writer.int32(0)
                writer.int16(0)
                writer.data(b"")
            case _:  # heartbeats and leaving
                writer.int32(0)
                writer.int16(0)
        return writer.bytes()

    def _node(self, writer: FieldWriter, number: int) -> None:
        writer.int32(number)
        writer.string("127.0.0.1")
        writer.int32(self.port)

    def _metadata(self, writer: FieldWriter, wanted: set[str] | None) -> None:
        writer.int32(len(self._brokers))
        for rack, number in self._brokers.items():
            self._node(writer, number)
            writer.nullable_string(rack)
        writer.int32(0)
        topics = [topic for topic in self._group["topics"] if wanted is None or topic["name"] in wanted]
        writer.int32(len(topics))
        for topic in topics:
            writer.int16(0)
            writer.string(topic["name"])
            writer._parts.append(b"\0")  # is_internal, a boolean
            writer.int32(topic["partitions"])
            for partition in range(topic["partitions"]):
                racks = topic["racks"][partition] if "racks" in topic else ()
                replicas = sorted(self._brokers[rack] for rack in racks) or [0]
                writer.int16(0)
                writer.int32(partition)
                writer.int32(replicas[0])
                for _ in ("replicas", "in sync"):
                    writer.int32(len(replicas))
                    for replica in replicas:
                        writer.int32(replica)

    def _join(self, writer: FieldWriter) -> None:
        members = self._group["members"]
        leader = next(member["id"] for member in members if member["topics"])
        writer.int32(0)
        writer.int16(0)
        writer.int32(self._group["generation"])
        for text in (self._strategy, leader, leader):
            writer.string(text)
        writer.int32(len(members))
        for member in members:
            writer.string(member["id"])
            writer.nullable_string(member.get("instance_id"))
            owned = [
                TopicPartition(topic, number) for topic, *numbers in member["owned"] for number in numbers
            ]
            about = Subscription(member["topics"], b"", owned, member.get("generation"), member.get("rack"))
            writer.data(encode_subscription(about))

    def _sync(self, request: Reader) -> None:
        request.string()
        request.int32()
        request.string()
        request.nullable_string()
        self.assignments.put({request.string(): request.data() or b"" for _ in range(request.int32())})


_ASKED: list[Consumer] = []


def ask(group: Json, strategy: str) -> list[list[Any]]:
    """What a leader on librdkafka gives each member, as a golden file lists it."""
    coordinator = _Coordinator(group, strategy)
    consumer = Consumer(  # it is never closed: librdkafka sometimes hangs at that
        {
            "bootstrap.servers": f"127.0.0.1:{coordinator.port}",
            "group.id": "asked",
            "partition.assignment.strategy": strategy,
            "log_level": 0,
        }
    )
    _ASKED.append(consumer)
    try:
        consumer.subscribe([topic["name"] for topic in group["topics"]])
        for _ in range(int(PATIENCE_S / 0.02)):
            consumer.poll(0.02)
            with suppress(Empty):
                given = coordinator.assignments.get_nowait()
                break
        else:
            raise TimeoutError(f"no assignments: {group}")
    finally:
        coordinator.close()
    return [[name, _runs(decode_assignment(data)[0])] for name, data in given.items()]


def _runs(partitions: Any) -> list[list[Any]]:
    runs: list[list[Any]] = []
    for topic, partition in partitions:
        if not runs or runs[-1][0] != topic:
            runs.append([topic])
        runs[-1].append(partition)
    return runs


# Groups ------------------------------------------------------------------------------------------------


def _member(rng: Random, topics: list[str], family: str) -> Json:
    if "unequal" in family or family == "claims":
        topics = rng.sample(topics, rng.randint(1, len(topics)))
    member: Json = {"id": f"{rng.choice('abC')}-{rng.getrandbits(32):08x}", "topics": topics, "owned": []}
    if "racks" in family and rng.random() < 0.8:
        member["rack"] = rng.choice(["", "r1", "r2", "r3"])
    if family == "static" and rng.random() < 0.6:
        member["instance_id"] = f"i{rng.getrandbits(32):08x}"
    return member


def _topic(rng: Random, name: str, partitions: int, family: str) -> Json:
    topic: Json = {"name": name, "partitions": partitions}
    if "racks" in family:
        topic["racks"] = [rng.sample(["r1", "r2", "r3"], rng.randint(0, 3)) for _ in range(partitions)]
    return topic


def _claim(rng: Random, group: Json) -> None:
    """Members claim what they please: of three generations, some twice, some that is not there."""
    for member in group["members"]:
        member["generation"] = rng.randint(3, 5)
        member["owned"] = [
            [topic["name"], *numbers]
            for topic in sorted(group["topics"], key=lambda topic: topic["name"])
            if (numbers := [number for number in range(topic["partitions"] + 1) if rng.random() < 0.35])
        ]


def _change(rng: Random, group: Json, family: str) -> None:
    """Something happens to the group: nobody or somebody joins or leaves, or a topic grows."""
    happens = rng.choice(["join", "join", "leave", "leave", "grow", "nothing", "both"])
    names = [topic["name"] for topic in group["topics"]]
    if happens in {"leave", "both"} and len(group["members"]) > 2:
        group["members"].remove(rng.choice(group["members"]))
    if happens in {"join", "both"}:
        group["members"].append(_member(rng, names, family))
    if happens == "grow":
        topic = rng.choice(group["topics"])
        topic.update(_topic(rng, topic["name"], topic["partitions"] + rng.randint(1, 4), family))


def steps(family: str, number: int, answer: Callable[[Json], list[list[Any]]]) -> None:
    """The rebalances of one group, each asked by `answer`; members carry on what they got."""
    rng = Random(f"{family}/{number}")
    names = rng.sample(["orders", "payments", "Clicks", "audit", "b.2", "users"], rng.randint(1, 4))
    topics = [_topic(rng, name, rng.randint(1, 12), family) for name in names]
    group: Json = {"topics": topics, "members": [], "generation": 1}
    group["members"] = [_member(rng, names, family) for _ in range(rng.randint(1, 6))]
    for generation in range(1, 2 if family == "claims" else 7):
        group["generation"] = generation
        if family == "claims":
            _claim(rng, group)
        given = dict(answer(group))
        held = sum(len(runs) - 1 for lists in given.values() for runs in lists)
        _carry(group, given, generation)
        if held == sum(topic["partitions"] for topic in topics if _read(group, topic["name"])):
            _change(rng, group, family)


def _read(group: Json, topic: str) -> bool:
    return any(topic in member["topics"] for member in group["members"])


def _carry(group: Json, given: dict[str, list[list[Any]]], generation: int) -> None:
    """What members got is what they own when they next join, by topic and number."""
    for member in group["members"]:
        numbers: dict[str, list[int]] = {}
        for topic, *partitions in given.get(member["id"], ()):
            numbers.setdefault(topic, []).extend(partitions)
        member["owned"] = [[topic, *sorted(numbers[topic])] for topic in sorted(numbers)]
        member["generation"] = generation


FAMILIES = {"equal": 40, "unequal": 40, "equal_racks": 24, "unequal_racks": 30, "claims": 60, "static": 10}
"""How many groups of each kind there are."""
STRATEGY = "cooperative-sticky"
AT_A_TIME = 3


def scenarios(family: str) -> Iterator[Json]:
    """The groups of a family with librdkafka's answers."""
    with ThreadPoolExecutor(AT_A_TIME) as side_by_side:
        yield from side_by_side.map(partial(scenario, STRATEGY, family), range(FAMILIES[family]))


def scenario(strategy: str, family: str, number: int) -> Json:
    """One group's life, in a process of its own; where librdkafka crashed, an error is its end."""
    command = [sys.executable, "-m", "tools.oracle.assignors.librdkafka", strategy, family, str(number)]
    run = subprocess.run(command, capture_output=True, check=False)
    lines = [json.loads(line) for line in run.stdout.decode().splitlines()]
    if run.returncode > 0 or len(lines) % 2 > (run.returncode < 0):
        raise RuntimeError(run.stderr.decode())
    told = [{**group, "assignment": given} for group, given in zip(lines[::2], lines[1::2], strict=False)]
    if run.returncode < 0 and len(lines) % 2:
        told.append({**lines[-1], "error": {"exception": None, "message": f"signal {-run.returncode}"}})
    return {"name": f"{family}-{number}", "steps": told}


def versions() -> Json:
    """Whose answers these are."""
    return {"librdkafka": libversion()[0]}


def main(strategy: str, family: str, number: str) -> None:
    """Writes each group and, once it is there, its assignments."""

    def answer(group: Json) -> list[list[Any]]:
        write({key: value for key, value in group.items() if key != "generation"})
        given = ask(group, strategy)
        write(given)
        return given

    def write(line: Any) -> None:
        sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.flush()

    steps(family, int(number), answer)


if __name__ == "__main__":
    main(*sys.argv[1:])
    os._exit(0)
