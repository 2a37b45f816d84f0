"""What is written: topics by one client and by two, grown and not, and keys of every form."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

RECORDS = 900
"""How many records a phase has."""

UNRULED = ("librdkafka-random", "kafka-go-round-robin")
"""Clients whose settings do not place records by their keys; no profile has a rule for them."""

PLACED_AS = {"sarama-murmur2": "java"}
"""A client's setting that has no profile of its own, and the profile that places as it does."""

PYTHON = (
    *("librdkafka", "librdkafka-consistent", "librdkafka-murmur2", "librdkafka-murmur2-random"),
    *("librdkafka-fnv1a", "librdkafka-fnv1a-random", "librdkafka-random", "kafka-python", "aiokafka"),
)
NODE = ("kafkajs", "kafkajs-legacy", "platformatic", "platformatic-compatible")
GO = (
    *("franz-go", "sarama", "sarama-reference", "sarama-crc32", "sarama-consistent-crc", "sarama-murmur2"),
    *("kafka-go-round-robin", "kafka-go-hash", "kafka-go-reference", "kafka-go-crc32"),
    *("kafka-go-crc32-consistent", "kafka-go-murmur2", "kafka-go-murmur2-consistent"),
)
CLIENTS = ("java", *PYTHON, *GO, *NODE)


@dataclass(frozen=True, slots=True)
class Phase:
    """Some time of a topic.

    Attributes:
        partitions: how many the topic has.
        shares: of each client that writes, how many of ten records are its.
    """

    partitions: int
    shares: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Cell:
    """A topic.

    Attributes:
        kind: what is special about it.
        phases: its life.
        keys: one of `KEYS`.
        compacted: whether it is, and some of its orders are deleted in the end.
        transactional: whether its clients write in transactions, every third of which is aborted.
    """

    kind: str
    phases: tuple[Phase, ...]
    keys: str = "text"
    compacted: bool = field(default=False, kw_only=True)
    transactional: bool = field(default=False, kw_only=True)

    @property
    def topic(self) -> str:
        """Its name."""
        lived = [
            "-".join([*(f"{client}{share if share < 10 else ''}" for client, share in phase.shares.items())])
            + f".{phase.partitions}"
            for phase in self.phases
        ]
        special = self.keys if self.keys != "text" else self.kind
        return "_".join([special.replace(",", "").replace(" ", "-"), *lived])


def _alone(kind: str, client: str, *counts: int, keys: str = "text", **special: bool) -> Cell:
    return Cell(kind, tuple(Phase(count, {client: 10}) for count in counts), keys, **special)


def _turns(*phases: tuple[str, int]) -> Cell:
    return Cell("taken over", tuple(Phase(count, {client: 10}) for client, count in phases))


def _mix(partitions: int, one: str, other: str, share: int) -> Cell:
    return Cell("mixed", (Phase(partitions, {one: 10 - share, other: share}),))


CELLS = [
    *(_alone("one client", client, 6) for client in CLIENTS),
    # Where the count is a power of two, or 1, some rules are the same.
    *(_alone("one client", client, 8) for client in ("java", "platformatic", "sarama", "librdkafka")),
    *(_alone("one client", client, 2) for client in ("sarama", "sarama-reference", "sarama-crc32", "java")),
    *(_alone("one client", client, 1) for client in ("java", "librdkafka")),
    *(
        _alone("grown", client, *counts)
        for client, counts in product(
            ("java", "librdkafka", "sarama", "kafkajs-legacy"), ((6, 12), (6, 10), (3, 6, 12), (4, 6, 9))
        )
    ),
    *(_alone("grown", client, 6, 10) for client in ("kafka-python", "aiokafka", "franz-go", "kafka-go-hash")),
    _alone("grown", "java", 1, 6),
    _alone("grown", "java", 8, 16),
    _turns(("java", 6), ("librdkafka", 6)),
    _turns(("librdkafka", 6), ("java", 12)),
    _turns(("kafkajs-legacy", 6), ("kafkajs", 6)),
    _turns(("sarama", 6), ("franz-go", 10)),
    _turns(("java", 6), ("kafka-python", 6)),
    *(
        _mix(6, *pair, share)
        for pair, share in product(
            (
                ("java", "librdkafka"),
                ("java", "sarama"),
                ("librdkafka", "kafka-go-hash"),
                ("kafkajs", "kafkajs-legacy"),
                ("aiokafka", "platformatic"),
                ("java", "kafka-python"),
            ),
            (1, 5),
        )
    ),
    _mix(8, "java", "platformatic", 5),
    Cell("mixed", (Phase(6, {"java": 10}), Phase(12, {"java": 5, "librdkafka": 5}))),
    *(_alone("keys", client, 6, keys="one schema id") for client in ("java", "librdkafka", "kafkajs")),
    _alone("keys", "java", 6, keys="another schema id"),
    *(_alone("keys", client, 6, keys="two schema ids") for client in ("java", "librdkafka")),
    *(
        _alone("keys", "java", 6, keys=keys)
        for keys in ("decimal", "int32", "int64", "json", "json, two spellings", "uuid", "uuid as text")
    ),
    *(
        _alone("few keys", "java", 6, keys=keys)
        for keys in ("half without", "none", "one order", "three orders", "ten orders")
    ),
    _alone("compacted", "java", 6, compacted=True),
    _alone("compacted", "librdkafka", 6, 12, compacted=True),
    _alone("transactional", "java", 6, transactional=True),
    _alone("transactional", "librdkafka-murmur2-random", 6, 10, transactional=True),
]
