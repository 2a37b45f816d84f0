"""Assigns as the sticky strategies do if subscriptions differ.

First members keep the partitions they own. Then each free partition goes to its subscriber with the fewest
partitions. Then partitions move until no move makes the assignment more balanced. A member is its rank here
(its position in ascending order of member id), because ranks break ties.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from heapq import heapify, heappush
from itertools import chain, compress, count, groupby, pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from assignors.columnar.filling import lightest, rounds
from assignors.columnar.numbering import IdRank, Numbering, OddGroup, OwnerRows, PartitionId, Racks
from assignors.columnar.sticky_structures import Claims
from assignors.rules.sticky_structures import PartitionMovements, balance_score
from partitioning.kit.columns import group_rows
from partitioning.topic_partition import TopicPartition

# Topic -> ids of its partitions. Topics are in the order in which they are examined.
Batches: TypeAlias = dict[int, PartitionId]


def assign_general(numbering: Numbering, claims: Claims, racks: Racks | None) -> OwnerRows:
    """Return the owners if members subscribe to different topics.

    Args:
        numbering: the numbering of the group.
        claims: the partitions that members own; each is claimed at most once.
        racks: the racks of members and replicas; None if they do not change the answer.

    Raises:
        OddGroup: a partition would move back to a member that takes no part in balancing, with which the JVM
            fails; or balancing never ends.
    """
    readers = Subscribers.of(numbering)
    distribution = distribute(numbering, claims, racks, readers)
    reassignment = Reassignment(numbering, claims, readers, distribution)
    before = reassignment.imbalance()
    shared = [topic for topic in readers.order if readers.potential[topic] >= 2]
    # As in the JVM, at first only partitions that had no owner may move; but if a member had to give up a
    # partition, this step is skipped.
    if not distribution.revokes:
        reassignment.run((topic, distribution.unassigned[topic].tolist()) for topic in shared)
    starts = numbering.starts.tolist()
    moved = reassignment.run((topic, range(starts[topic], starts[topic + 1])) for topic in shared)
    # As in the JVM, all moves are undone if members kept partitions and the moves did not reduce the
    # imbalance.
    if moved and distribution.kept and reassignment.imbalance() >= before:
        rank, ids = distribution.rank, distribution.id
    else:
        rank, ids = reassignment.rows()
    return OwnerRows(numbering.by_id[rank], numbering.topic_of[ids], numbering.number_of[ids])


@dataclass(frozen=True, slots=True)
class Subscribers:
    """Holds the subscribers of a group's topics.

    An audience is an index into `members`, and a subscription an index into `topics` and `of_subscription`.

    Attributes:
        subscription: the subscription of each rank.
        topics: the existing topics of each subscription.
        members: the ranks in each audience, ascending.
        of_topic: the audience of each topic.
        of_subscription: for each subscription, the audiences that its members belong to.
        potential: how many subscribers each topic has.
        order: the topics in the order in which they are examined: those with the fewest subscribers first,
            then by topic.
    """

    subscription: list[int]
    topics: list[list[int]]
    members: list[IdRank]
    of_topic: list[int]
    of_subscription: list[list[int]]
    potential: list[int]
    order: list[int]

    @classmethod
    def of(cls, numbering: Numbering) -> Subscribers:
        """Return the subscribers of a group's topics."""
        subscriptions, index = numbering.subscriptions, numbering.index
        audiences = subscriptions.audiences(numbering.topics, numbering.by_id)
        members = [numbering.id_rank[subscribers] for subscribers in audiences.members]
        potential = [len(members[audience]) for audience in audiences.of_topic]
        return cls(
            subscription=subscriptions.of_member[numbering.by_id].tolist(),
            topics=[[index[name] for name in names if name in index] for names in subscriptions.lists],
            members=members,
            of_topic=audiences.of_topic,
            of_subscription=audiences.of_subscription,
            potential=potential,
            order=sorted(range(len(potential)), key=lambda topic: (potential[topic], topic)),
        )


@dataclass(frozen=True, slots=True)
class Distribution:
    """Lists every partition with its member, one a row; the rows of a member are in the order of its list.

    Attributes:
        rank: the member of each row.
        id: the partition of each row.
        kept: the first `kept` rows are partitions that stay with their member.
        unassigned: the partitions of the other rows, by topic.
        revokes: True if some member lost a partition that it claimed.
    """

    rank: IdRank
    id: PartitionId
    kept: int
    unassigned: Batches
    revokes: bool


def distribute(
    numbering: Numbering, claims: Claims, racks: Racks | None, readers: Subscribers
) -> Distribution:
    """Keep claimed partitions, and give each other partition to its subscriber with the fewest partitions.

    A member keeps a claimed partition if it subscribes to the topic. If racks decide, a member does not keep
    a partition that is far from it, and partitions first go to subscribers that are near them.

    Args:
        numbering: the numbering of the group.
        claims: the partitions that members own.
        racks: the racks of members and replicas; None if they do not change the answer.
        readers: the subscribers of the topics.
    """
    stays = numbering.subscribed[numbering.subscriptions.of_member[claims.member], claims.topic]
    if racks is not None:
        stays &= ~racks.mismatch(claims.member, claims.id)
    rank, ids = numbering.id_rank[claims.member[stays]], claims.id[stays]
    is_kept = np.zeros(numbering.total, np.bool_)
    is_kept[ids] = True
    starts = numbering.starts.tolist()
    unassigned = {
        topic: np.flatnonzero(~is_kept[starts[topic] : starts[topic + 1]]) + starts[topic]
        for topic in readers.order
    }

    size = np.bincount(rank, minlength=len(numbering.members))
    batches = unassigned
    ranks, handed_out = [rank], [ids]
    if racks is not None:
        rack_of = racks.member[numbering.by_id]
        near, near_ids, batches = _hand_out_nearby(unassigned, readers, racks, rack_of, size)
        ranks.append(near)
        handed_out.append(near_ids)
    # Neighbouring topics with the same audience are one batch: while they are given out, the number of
    # partitions of every member outside the audience stays the same.
    for audience, topics in groupby(batches, key=readers.of_topic.__getitem__):
        partitions = np.concatenate([batches[topic] for topic in topics])
        ranks.append(fill(size, readers.members[audience], len(partitions)))
        handed_out.append(partitions)
    return Distribution(
        rank=np.concatenate(ranks),
        id=np.concatenate(handed_out),
        kept=len(ids),
        unassigned=unassigned,
        revokes=not stays.all(),
    )


def fill(size: NDArray[np.int64], members: IdRank, partitions: int) -> IdRank:
    """Give each of the next partitions to the member with the fewest; return these members, update `size`.

    The lowest rank wins a tie.

    Args:
        size: how many partitions each rank has, int64 of shape (ranks,); changed in place.
        members: the ranks of the audience, ascending; not empty if `partitions` is above 0.
        partitions: how many partitions are given out.

    Returns:
        The rank that gets each partition, in order, of shape (partitions,).
    """
    have = size[members]
    # The sort is stable and `members` ascends, so the lowest rank comes first among equal sizes.
    order = np.argsort(have, kind="stable")
    in_rounds = [
        np.tile(np.sort(order[:reached]), times) for reached, times in rounds(have[order], partitions)
    ]
    receivers: IdRank = members[np.concatenate([order[:0], *in_rounds])[:partitions]]
    size += np.bincount(receivers, minlength=len(size))
    return receivers


def _hand_out_nearby(
    batches: Batches,
    readers: Subscribers,
    racks: Racks,
    rack_of: NDArray[np.int32],
    size: NDArray[np.int64],
) -> tuple[IdRank, PartitionId, Batches]:
    """Give each partition to the subscriber with the fewest partitions that is near it or has no rack.

    Args:
        batches: the ids of unassigned partitions by topic; topics in the order in which they are examined.
        readers: the subscribers of each topic, as ranks.
        racks: the racks of members (by join position) and replicas.
        rack_of: the rack of the member of each rank; -1 for none.
        size: how many partitions the member of each rank has; changed in place.

    Returns:
        The receivers; the partitions that they get, in the same order; and the batches that are left.
    """
    members = len(size)
    sizes = size.tolist()
    # -1 stands for members without a rack. Every partition is near them.
    near = [[-1, *np.flatnonzero(row).tolist()] for row in racks.inside]
    heaps: dict[tuple[int, int], list[int]] = {}
    for audience, subscribers in enumerate(readers.members):
        for rack in np.unique(rack_of[subscribers]).tolist():
            heaps[audience, rack] = (size[subscribers] * members + subscribers)[
                rack_of[subscribers] == rack
            ].tolist()
            heapify(heaps[audience, rack])
    receivers, handed_out = [], []
    rest: Batches = {}
    for topic, partitions in batches.items():
        audience = readers.of_topic[topic]
        far = []
        for partition, pattern in zip(partitions.tolist(), racks.pattern[partitions].tolist(), strict=True):
            choice = [heaps[audience, rack] for rack in near[pattern] if (audience, rack) in heaps]
            if not choice:
                far.append(partition)
                continue
            nearest = [member for heap in choice if (member := lightest(heap, sizes)) is not None]
            receiver = min(nearest, key=lambda member: (sizes[member], member))
            receivers.append(receiver)
            handed_out.append(partition)
            sizes[receiver] += 1
        rest[topic] = np.array(far, np.int64)
    size[:] = sizes
    return np.array(receivers, np.int64), np.array(handed_out, np.int64), rest


_USUAL_LAPS = 8
"""Laps after which states are remembered, to detect that balancing repeats itself and never ends."""


class Reassignment:
    """Holds the assignment while partitions move. A member is a rank, from 0 to the number of members - 1.

    Attributes:
        _owner: the rank that owns each partition, by partition id.
        _lists: the partition ids of each rank, in list order. The ids are keys of a dict, because a dict
            removes a key in constant time.
        _load: how many partitions each rank has, with heaps that find the rank with the fewest.
        _previous: partition id -> the rank that owned it in an earlier generation.
        _movements: the moves so far. Topics have names there, because Java's hash order decides.
        _balance: decides whether a partition may still move.
    """

    def __init__(
        self, numbering: Numbering, claims: Claims, readers: Subscribers, distribution: Distribution
    ) -> None:
        self._readers = readers
        rank, ids = distribution.rank, distribution.id
        members = len(numbering.members)
        owner = np.empty(numbering.total, np.int64)
        owner[ids] = rank
        self._owner: list[int] = owner.tolist()
        rows, starts = group_rows(rank, members)
        grouped, bounds = ids[rows].tolist(), starts.tolist()
        self._lists: list[dict[int, None]] = [
            dict.fromkeys(grouped[start:end]) for start, end in pairwise(bounds)
        ]
        size = np.diff(starts)
        full = _full(numbering, readers)
        shared = np.array(readers.potential)[numbering.topic_of[ids]] >= 2
        takes_part = (size < full) | (np.bincount(rank[shared], minlength=members) > 0)
        self._load = LoadHeaps(size, takes_part, readers)
        self._previous = _previous_owners(numbering, claims)
        self._topics, self._starts = numbering.topics, numbering.starts.tolist()
        self._movements = PartitionMovements()
        self._balance = Balance(numbering, readers, self._load, self._owner, full.tolist())

    def imbalance(self) -> int:
        """Return the JVM's balance score: the sum of size differences over all pairs of members."""
        return self._load.imbalance()

    def rows(self) -> tuple[IdRank, PartitionId]:
        """Return the current columns `rank` and `id`, as in `Distribution`."""
        sizes = [len(partitions) for partitions in self._lists]
        ids = np.fromiter(chain.from_iterable(self._lists), np.int64, sum(sizes))
        return np.repeat(np.arange(len(sizes)), sizes), ids

    def run(self, batches: Iterable[tuple[int, Sequence[int]]]) -> bool:
        """Go over the partitions again and again until none moves; return whether any partition moved.

        Quirk: a partition can move in place of another one, and such moves can repeat without end. The JVM
        then never returns. Here a state that occurs twice raises OddGroup.

        Args:
            batches: pairs (topic, ids of its partitions), in the order in which they are examined.
        """
        batches = list(batches)
        moved = False
        states: set[Hashable] = set()
        for lap in count():
            if not self._lap(batches):
                break
            moved = True
            if lap < _USUAL_LAPS:
                continue
            state = tuple(self._owner), self._movements.state()
            if state in states:
                raise OddGroup
            states.add(state)
        return moved

    def _lap(self, batches: Iterable[tuple[int, Sequence[int]]]) -> bool:
        """Go over the partitions once, or until the assignment is balanced; return whether any moved."""
        balance, load, owner, previous = self._balance, self._load, self._owner, self._previous
        size = load.size
        if balance.is_balanced():
            return False
        moved = False
        for topic, partitions in batches:
            limit = balance.limit(topic)
            for partition in partitions:
                # Most partitions stay, so this cheap comparison comes first.
                if size[owner[partition]] <= limit and partition not in previous:
                    continue
                if self._goes_back(partition):
                    destination = previous[partition]
                elif size[owner[partition]] > limit:
                    lightest = load.lightest(self._readers.of_topic[topic])
                    assert lightest is not None
                    destination = lightest
                else:
                    continue
                self._move(partition, topic, destination)
                moved = True
                if balance.is_balanced():
                    return True
                limit = balance.limit(topic)
        return moved

    def _goes_back(self, partition: int) -> bool:
        """Return whether a previous owner of the partition has at least two fewer than its present owner.

        Quirk: the previous owner may no longer subscribe to the topic.
        """
        previous = self._previous.get(partition)
        if previous is None:
            return False
        if not self._load.takes_part[previous]:
            raise OddGroup  # the JVM fails
        return self._load.size[previous] + 1 < self._load.size[self._owner[partition]]

    def _move(self, partition: int, topic: int, destination: int) -> None:
        """Move this partition to `destination`, or another partition of its topic in its place.

        Updates all attributes. Another partition moves if it moved the opposite way before (see
        `PartitionMovements`).
        """
        start = self._starts[topic]
        moved = self._movements.actual_partition_to_be_moved(
            TopicPartition(self._topics[topic], partition - start), self._owner[partition], destination
        )
        instead = start + moved.partition
        source = self._owner[instead]
        self._movements.move_partition(moved, source, destination)
        del self._lists[source][instead]
        self._lists[destination][instead] = None
        self._owner[instead] = destination
        self._load.move(source, destination)
        self._balance.count_move(topic, source, destination)


def _full(numbering: Numbering, readers: Subscribers) -> NDArray[np.int64]:
    """Return how many partitions each rank can have at most: all partitions of its topics."""
    full = [int(numbering.counts[topics].sum()) for topics in readers.topics]
    return np.array(full)[readers.subscription]


def _previous_owners(numbering: Numbering, claims: Claims) -> dict[int, int]:
    """Return partition id -> the rank that claims the partition with a generation below the highest one."""
    # `generation` is by member, so each member is compared once, and claims look the result up.
    late = np.array([number < claims.highest for number in claims.generation])
    rows = np.flatnonzero(late[claims.member])
    ranks = numbering.id_rank[claims.member[rows]]
    return dict(zip(claims.id[rows].tolist(), ranks.tolist(), strict=True))


class Balance:
    """Decides during reassignment whether a partition may still move, as the JVM does.

    It remembers the last possible move that it found. As long as this move is still possible, the assignment
    is not balanced, and no search is needed.

    Attributes:
        _full: the most partitions that each rank can have.
        _owners: for each audience, rank -> how many partitions of the audience's topics it owns, 1 or more.
        _counter_example: a possible move: (rank that could take a partition, audience of its topic, rank that
            could give it); None if none is known.
        _searched: the audience with which the next search begins.
    """

    def __init__(
        self, numbering: Numbering, readers: Subscribers, load: LoadHeaps, owner: list[int], full: list[int]
    ) -> None:
        self._readers = readers
        self._load = load
        self._full = full
        audience_of = np.repeat(readers.of_topic, numbering.counts)
        self._owners = _owners(audience_of, owner, len(readers.members), len(full))
        self._counter_example: tuple[int, int, int] | None = None
        self._searched = 0

    def is_balanced(self) -> bool:
        """Return whether no move would make the assignment more balanced."""
        load = self._load
        if load.most - load.least <= 1:
            return True
        if self._counter_example is not None:
            member, audience, other = self._counter_example
            if (
                load.size[member] + 1 < load.size[other]
                and other in self._owners[audience]
                and load.size[member] != self._full[member]
            ):
                return False
        self._counter_example = self._search()
        return self._counter_example is None

    def limit(self, topic: int) -> int:
        """Return how many partitions an owner of the topic may have before one of them must move.

        The limit is one more than the fewest partitions that a subscriber of the topic has.
        """
        lightest = self._load.lightest(self._readers.of_topic[topic])
        return self._load.most if lightest is None else self._load.size[lightest] + 1

    def count_move(self, topic: int, source: int, destination: int) -> None:
        """Update the counts of owners after a partition of the topic has moved; sizes are updated already."""
        owners = self._owners[self._readers.of_topic[topic]]
        owners[destination] = owners.get(destination, 0) + 1
        owners[source] -= 1
        if not owners[source]:
            del owners[source]

    def _search(self) -> tuple[int, int, int] | None:
        """Return a possible move, in the form of `_counter_example`; None if the assignment is balanced."""
        size = self._load.size
        # The search begins at the audience of the last result. The audiences before it had no possible move.
        for _ in self._owners:
            audience = self._searched
            member = self._taker(audience)
            if member is not None and size[member] + 1 < self._load.most:
                for other in self._owners[audience]:
                    if size[member] + 1 < size[other]:
                        return member, audience, other
            self._searched = (audience + 1) % len(self._owners)
        return None

    def _taker(self, audience: int) -> int | None:
        """Return the rank with the fewest partitions among those in the audience that can get more.

        None if there is no such rank.
        """
        lightest = self._load.lightest(audience)
        if lightest is None or self._load.size[lightest] != self._full[lightest]:
            return lightest
        # `lightest` is full. If it owns every partition of this audience, no other member can give one away.
        if self._owners[audience].keys() == {lightest}:
            return None
        size, full = self._load.size, self._full
        takers = (
            member
            for member in self._readers.members[audience].tolist()
            if self._load.takes_part[member] and size[member] != full[member]
        )
        return min(takers, key=lambda member: (size[member], member), default=None)


def _owners(
    audience_of: NDArray[np.int64], owner: list[int], audiences: int, members: int
) -> list[dict[int, int]]:
    """Return, for each audience, rank -> how many partitions of the audience's topics the rank owns.

    Ranks that own none are left out.

    Args:
        audience_of: the audience of each partition's topic, by partition id.
        owner: the rank that owns each partition, by partition id.
        audiences: the number of audiences.
        members: the number of members.
    """
    pairs, counts = np.unique(audience_of * members + np.array(owner), return_counts=True)
    owners: list[dict[int, int]] = [{} for _ in range(audiences)]
    for pair, number in zip(pairs.tolist(), counts.tolist(), strict=True):
        audience, member = divmod(pair, members)
        owners[audience][member] = number
    return owners


class LoadHeaps:
    """Counts the partitions of each member (a rank), with a heap of members for each audience.

    A key of a heap is `size * members + rank`. If a size grows, its keys become outdated; they are renewed
    when they come to the top (`filling.lightest`). If a size shrinks, new keys are pushed at once.

    Attributes:
        size: how many partitions each rank has.
        takes_part: True for the ranks that can give or get partitions.
        least: the smallest size of the ranks that take part.
        most: the greatest size of the ranks that take part.
    """

    def __init__(self, size: NDArray[np.int64], takes_part: NDArray[np.bool_], readers: Subscribers) -> None:
        self.size: list[int] = size.tolist()
        self.takes_part: list[bool] = takes_part.tolist()
        self._readers = readers
        keys = size * len(size) + np.arange(len(size))
        self._heaps: list[list[int]] = [
            keys[members[takes_part[members]]].tolist() for members in readers.members
        ]
        for heap in self._heaps:
            heapify(heap)
        self._members_of_size = Counter(size[takes_part].tolist())
        self.least = min(self._members_of_size, default=0)
        self.most = max(self._members_of_size, default=0)

    def lightest(self, audience: int) -> int | None:
        """Return the rank in the audience with the fewest partitions, the lowest rank first.

        None if no member of the audience takes part.
        """
        return lightest(self._heaps[audience], self.size)

    def move(self, source: int, destination: int) -> None:
        """Update sizes and heaps after one partition moved from `source` to `destination`."""
        # The size that grows is updated first: so `most` and `least` are always sizes that some member has.
        self._resize(destination, 1)
        self._resize(source, -1)
        # A lower size needs a new key at once, in every heap that has `source`.
        key = self.size[source] * len(self.size) + source
        for audience in self._readers.of_subscription[self._readers.subscription[source]]:
            heappush(self._heaps[audience], key)

    def imbalance(self) -> int:
        """Return the sum of size differences over all pairs of ranks that take part, as a 32-bit integer.

        The sum overflows as it does in the JVM.
        """
        return balance_score(compress(self.size, self.takes_part))

    def _resize(self, member: int, change: int) -> None:
        """Change a member's size by 1 or -1, and update `least` and `most`."""
        before = self.size[member]
        after = self.size[member] = before + change
        members = self._members_of_size
        members[before] -= 1
        members[after] += 1
        # Sizes change by one. So if the last member with the extreme size changes, its new size is the new
        # extreme.
        if after > self.most or (before == self.most and not members[before]):
            self.most = after
        if after < self.least or (before == self.least and not members[before]):
            self.least = after
