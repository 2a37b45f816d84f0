"""Groups partitions whose replicas are in the same racks, and members that are in the same rack (KIP-881)."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assignors.columnar.numbering import replica_patterns
from assignors.group import Group
from assignors.optimal.network import Ints
from assignors.optimal.reading import ClassTopics, NumberedGroup


class Kinds(NamedTuple):
    """Groups partitions into kinds: partitions of one topic whose replicas are in the same racks.

    A partition is far from a member if the member's rack is known and has no replica of the partition. A
    partition whose replicas' racks are unknown is far from no member.

    Attributes:
        of_partition: the kind of each partition, by flat index.
        size: the number of partitions of each kind.
        readers: the kinds that each class may get. The members of a class have one rack and equal
            subscriptions.
        rack: the rack of each class, as an index into the second axis of `elsewhere`; -1 if it has none.
        elsewhere: True if a kind is far from a rack, bool of shape (kinds, racks + 1). The last column stands
            for no rack and is all False; a rack of -1 selects it.
    """

    of_partition: NDArray[np.intp]
    size: NDArray[np.int64]
    readers: ClassTopics
    rack: NDArray[np.intp]
    elsewhere: NDArray[np.bool_]

    def far(self, kind: Ints, readers: Ints) -> NDArray[np.bool_]:
        """Return, for each pair of a kind and a class, whether the kind is far from the members of the class.

        Args:
            kind: the kind of each pair.
            readers: the class of each pair, of the same shape as `kind` and the result.
        """
        far: NDArray[np.bool_] = self.elsewhere[kind, self.rack[readers]]
        return far

    def far_from(self, owner: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Return whether each partition is far from its owner; False if it has none (-1)."""
        far = np.zeros(len(owner), np.bool_)
        assigned = np.flatnonzero(owner >= 0)
        far[assigned] = self.far(self.of_partition[assigned], self.readers.of_member[owner[assigned]])
        return far


def find_kinds(group: Group, reading: NumberedGroup) -> Kinds | None:
    """Return the kinds of a group's partitions; None if no member can be far from a partition that it reads.

    Each class of `reading` is divided into one class for each rack of its members.

    Args:
        group: the group, for the racks of replicas and members.
        reading: the same group in numbers. Kinds are numbered in the order of its topics, and inside a topic
            by pattern (the set of racks that replicas are in).
    """
    racks: dict[str, int] = {}
    members = [group.members[row].rack for row in reading.members.tolist()]
    rack = np.array([racks.setdefault(name, len(racks)) if name else -1 for name in members], np.intp)
    if not racks:
        return None
    patterns: dict[frozenset[str], int] = {}
    row = {name: number for number, name in enumerate(reading.topics)}
    pattern = np.empty(len(reading.topic_of), np.intp)
    for topic in group.topics:
        if topic.name in row:
            start = reading.starts[row[topic.name]]
            pattern[start : start + topic.partitions] = replica_patterns(topic, patterns)
    # The empty pattern stands for unknown racks. If there is no other pattern, no partition is far from a
    # member.
    if not any(patterns):
        return None
    pairs, of_partition, size = np.unique(
        reading.topic_of * len(patterns) + pattern, return_inverse=True, return_counts=True
    )
    topic_of, pattern_of = np.divmod(pairs, len(patterns))
    inside = np.zeros((len(patterns), len(racks) + 1), np.bool_)
    for names, number in patterns.items():
        inside[number, [racks[name] for name in names if name in racks]] = True
        # An unknown rack may be any rack, so such a partition is near every member.
        inside[number] |= not names
    elsewhere = ~inside[pattern_of]
    # A member without a rack has the rack -1, which selects the last column: no partition is far from it.
    elsewhere[:, -1] = False

    classes, of_member = np.unique(
        reading.readers.of_member * (len(racks) + 1) + rack + 1, return_inverse=True
    )
    subscription, rack_of = np.divmod(classes, len(racks) + 1)
    by_topic = np.split(np.arange(len(pairs)), np.searchsorted(topic_of, np.arange(1, len(reading.topics))))
    of_class = np.split(
        reading.readers.topic,
        np.searchsorted(reading.readers.kind, np.arange(1, len(reading.readers.members))),
    )
    lists = [
        np.concatenate([np.empty(0, np.intp), *(by_topic[topic] for topic in of_class[kind].tolist())])
        for kind in subscription.tolist()
    ]
    readers = ClassTopics.of_classes(of_member, lists, len(pairs))
    kinds = Kinds(of_partition, size.astype(np.int64), readers, rack_of - 1, elsewhere)
    return kinds if kinds.far(readers.topic, readers.kind).any() else None
