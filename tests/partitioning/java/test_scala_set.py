"""The order in which a broker lists the topics that a client asks for."""

from __future__ import annotations

import socket
import struct
from typing import TYPE_CHECKING

import pytest

from assignors.protocol import FieldWriter, Reader
from partitioning.java import scala_set_order

if TYPE_CHECKING:
    from tests.support.broker import Kafka


def test_few_stay_as_they_come_and_many_are_the_same_however_they_come() -> None:
    assert scala_set_order(["d", "a", "d", "c", "b"]) == ["d", "a", "c", "b"]
    many = [f"topic-{number}" for number in range(200)]
    assert scala_set_order(many) == scala_set_order(reversed(many))
    assert sorted(scala_set_order(many)) == sorted(many)
    assert scala_set_order(many) != sorted(many)


def test_equal_hashes_stay_as_they_come() -> None:
    alike = ["AaAa", "BBBB", "AaBB", "BBAa"]  # Java's hash of each is the same
    assert [name for name in scala_set_order([*alike, "x"]) if name != "x"] == alike


@pytest.mark.parametrize("count", [3, 5, 12, 20])
def test_a_broker_lists_topics_in_this_order(broker: Kafka, count: int) -> None:
    names = [broker.create_topic() for _ in range(count)]
    assert _listed(broker.bootstrap_servers, names) == scala_set_order(names)


def _listed(servers: str, names: list[str]) -> list[str]:
    """The topics of a Metadata answer, version 1. Since Kafka 4.4 missing topics are in another order."""
    writer = FieldWriter("a request")
    writer.int16(3)
    writer.int16(1)
    writer.int32(0)
    writer.nullable_string("test")
    writer.int32(len(names))
    for name in names:
        writer.string(name)
    host, port = servers.split(",", 1)[0].rsplit(":", 1)
    with socket.create_connection((host, int(port))) as connection, connection.makefile("rb") as stream:
        connection.sendall(struct.pack(">i", len(writer.bytes())) + writer.bytes())
        answer = Reader(stream.read(struct.unpack(">i", stream.read(4))[0]), "an answer")
    answer.int32()
    for _ in range(answer.length()):
        answer.int32()
        answer.string()
        answer.int32()
        answer.nullable_string()
    answer.int32()
    topics = []
    for _ in range(answer.length()):
        answer.int16()
        topics.append(answer.string())
        answer._take(1)  # whether it is internal
        for _ in range(answer.length()):
            answer.int16()
            for _ in ("partition", "leader"):
                answer.int32()
            for _ in ("replicas", "replicas in sync"):
                answer._take(4 * answer.length())
    return topics
