"""Assignors of a stranger's that record."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from assignors import Assignment, Reason, RebalanceProtocol, registry
from assignors.interface import record_nothing
from partitioning.topic_partition import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Callable

    from assignors import Assignor, Group, Recorder


class EvenAssignor:
    """Members keep what they have up to their share; what that leaves free goes to who has the fewest."""

    name = "even"

    def __init__(self, *, cooperative: bool = False) -> None:
        self._cooperative = cooperative
        self.protocols = frozenset({RebalanceProtocol(cooperative)})

    def assign(self, group: Group) -> Assignment:
        return self.assign_recorded(group, record_nothing)

    def assign_recorded(self, group: Group, record: Recorder) -> Assignment:
        free = [TopicPartition(topic.name, n) for topic in group.topics for n in range(topic.partitions)]
        share = -(-len(free) // len(group.members))
        lists: dict[str, list[TopicPartition]] = {member.id: [] for member in group.members}
        waiting: dict[TopicPartition, str] = {}
        for member in group.members:
            for partition in member.owned:
                if len(lists[member.id]) < share:
                    lists[member.id].append(partition)
                    free.remove(partition)
                    record(partition, Reason.KEPT, member.id)
                else:
                    waiting[partition] = ""
                    record(partition, Reason.OVER_QUOTA, member.id)
        loads = {name: len(partitions) for name, partitions in lists.items()}
        for partition in free:
            receiver = min(loads, key=lambda name: loads[name])
            loads[receiver] += 1
            record(partition, Reason.FILLED, receiver)
            if self._cooperative and partition in waiting:
                waiting[partition] = receiver
                record(partition, Reason.HELD_BACK, receiver)
            else:
                lists[receiver].append(partition)
        return Assignment.for_group(group, lists, transferring=waiting if self._cooperative else None)


class MuteAssignor:
    """An assignor that does not record."""

    name = "mute"
    protocols = frozenset({RebalanceProtocol.EAGER})

    def assign(self, group: Group) -> Assignment:
        return EvenAssignor().assign(group)


@pytest.fixture
def strangers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Known by name for one test: "even", "even-in-rounds", "mute", and what the test registers itself."""
    factories: dict[str, Callable[..., Assignor]] = {
        **registry._REGISTRY.plug_ins._registered,
        "even": EvenAssignor,
        "even-in-rounds": lambda: EvenAssignor(cooperative=True),
        "mute": MuteAssignor,
    }
    monkeypatch.setattr(registry._REGISTRY.plug_ins, "_registered", factories)
