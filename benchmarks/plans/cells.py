"""What is run: six assignors, members with and without instance ids, three shapes of a group."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

EVENTS = ("leave", "growth", "join")
"""What happens to each group, in this order: a member leaves, the first topic grows, a member joins.

The join comes last, so that it takes from lists that are no longer sorted: "sticky" might heed order.
"""
RESTARTED = "alike"
"""The shape whose members are restarted in the end, one after the other."""


@dataclass(frozen=True, slots=True)
class Consumer:
    """A consumer of a group.

    Attributes:
        name: its `client.id`.
        topics: what it subscribes to, by the names that topics have in a shape.
        instance: its `group.instance.id`, where members are static; the order of these is not that of names.
        rack: its `client.rack`.
    """

    name: str
    topics: str
    instance: str
    rack: str | None = None


@dataclass(frozen=True, slots=True)
class Shape:
    """A group.

    Attributes:
        topics: partition counts.
        consumers: those it begins with, in the order they start.
        joins: the one that joins.
        leaves: the name of the one that leaves.
        grown: how many partitions the first topic has in the end.
    """

    topics: Mapping[str, int]
    consumers: tuple[Consumer, ...]
    joins: Consumer
    leaves: str
    grown: int


def _alike(racks: str | None = None) -> Shape:
    rack = racks or [None] * 6
    return Shape(
        {"a": 7, "b": 6},
        (
            Consumer("kiwi", "ab", "pod-2", rack[0]),
            Consumer("apple", "ab", "pod-4", rack[1]),
            Consumer("mango", "ab", "pod-1", rack[2]),
            Consumer("banana", "ab", "pod-5", rack[3]),
            Consumer("cherry", "ab", "pod-6", rack[4]),
        ),
        Consumer("grape", "ab", "pod-3", rack[5]),
        leaves="banana",
        grown=10,
    )


SHAPES = {
    "alike": _alike(),
    "unequal": Shape(
        {"a": 7, "b": 6, "c": 4},
        (
            Consumer("kiwi", "abc", "pod-2"),
            Consumer("apple", "a", "pod-4"),
            Consumer("mango", "bc", "pod-1"),
            Consumer("banana", "ac", "pod-5"),
            Consumer("cherry", "ab", "pod-6"),
        ),
        Consumer("grape", "abc", "pod-3"),
        leaves="banana",
        grown=10,
    ),
    "racks": _alike("xyzxyz"),
}
RACKS = ("x", "y", "z")
REPLICAS = 2

CLASSIC = ("range", "roundrobin", "sticky", "cooperative-sticky")
CONSUMER = ("uniform", "broker-range")
"""The broker's own assignors under KIP-848; `broker-range` is what this project calls its `range`."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A group under an assignor, which lives through all events.

    Attributes:
        assignor: one of `CLASSIC` or `CONSUMER`.
        static: whether members have instance ids.
        shape: one of `SHAPES`.
    """

    assignor: str
    static: bool
    shape: str

    @property
    def events(self) -> tuple[str, ...]:
        """What happens to it."""
        return (*EVENTS, "restart") if self.shape == RESTARTED else EVENTS

    @property
    def group(self) -> str:
        """Its group id."""
        return f"{self.assignor}-{'static' if self.static else 'dynamic'}-{self.shape}"

    def config(self) -> dict[str, str | int]:
        """Settings of its consumers, in librdkafka's words."""
        if self.assignor in CONSUMER:
            return {
                "group.protocol": "consumer",
                "group.remote.assignor": self.assignor.removeprefix("broker-"),
            }
        return {
            "partition.assignment.strategy": self.assignor,
            "session.timeout.ms": 6000,
            "heartbeat.interval.ms": 500,
        }


CELLS = [Cell(*combination) for combination in product((*CLASSIC, *CONSUMER), (False, True), SHAPES)]
