"""An invented topic as a cluster would show it, and groups that read it."""

from copy import copy
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from assignors.state import GroupState, MemberIdentity
from copartition.audit.topic_audit import Records
from copartition.reshape.observed import KeySample, ObservedTopic, ReadingGroup
from partitioning import key_column
from tests.copartition.check.invented import Topic, compared

KEYS = tuple(f"user-{number}".encode() for number in range(2_000))


@cache
def by_java(count: int = 12, keys: tuple[bytes, ...] = KEYS) -> Topic:
    """A topic that Java's clients wrote, each key twice."""
    return Topic("orders", (("java", count, keys + keys),), count)


def observed(topic: Topic | None = None, **changes: Any) -> ObservedTopic:
    """The topic as it was seen: read as a whole, without groups and transactions, but for `changes`."""
    seen = _seen(topic or by_java())
    return replace(seen, **{"sample": copy(seen.sample), **changes})


@cache
def _seen(topic: Topic) -> ObservedTopic:
    sample, records = KeySample(), topic.records
    order = np.lexsort((records.offset, records.partition))
    keys = [*records.keys]
    partition = records.partition[order]
    # Offsets of each partition from 0 on, as a broker would have given them.
    first = np.searchsorted(partition, partition)
    sample.add(
        Records(
            partition,
            np.arange(len(order), dtype=np.int64) - first,
            records.timestamp_ms[order],
            key_column([keys[row] for row in order]),
        )
    )
    sizes = np.bincount(partition, minlength=topic.count).tolist()
    return ObservedTopic(
        name=topic.name,
        replicas=3,
        settings={"cleanup.policy": "delete", "retention.ms": "604800000", "min.insync.replicas": "2"},
        own_settings=("min.insync.replicas",),
        bounds={number: (0, size) for number, size in enumerate(sizes)},
        audit=topic.real_audit,
        sample=sample,
        scattered=compared([topic]),
        written_per_s=100.0,
        looked_s=2.0,
        transactions=(),
        groups=(),
        others={"payments": 12, "__consumer_offsets": 50},
        target_partitions=None,
    )


def group(
    name: str = "billing", *, lag: int | None = 0, kind: str = "classic", running: bool = False, **state: Any
) -> ReadingGroup:
    """A group that reads the topic, of two members if it is running: then the simulator runs its switch."""
    members = {
        MemberIdentity(f"{name}-{number}", topics=("orders",)): [
            ("orders", partition) for partition in range(6 * number, 6 * number + 6)
        ]
        for number in range(2)
    }
    shown = GroupState.of({member.id: places for member, places in members.items()})
    fields = {"name": name, "status": "Stable", "strategy": "range", "protocol": "classic", "complete": True}
    shown = replace(shown, members=tuple(members), **{**fields, **state})
    if not running:
        shown = replace(shown, members=(), member=np.full_like(shown.member, -1))
    return ReadingGroup(name, kind, shown, dict.fromkeys(range(12), 0), lag)
