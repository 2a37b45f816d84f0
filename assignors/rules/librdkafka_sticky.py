"""The rule of librdkafka's "cooperative-sticky", which is a different algorithm from Java's of the same name.

This is the rule of librdkafka 2.14 to 2.16, in `rdkafka_sticky_assignor.c`, and in `rdkafka_cgrp.c` for
step 5. So it is also that of confluent-kafka and of the clients for Go, .NET, Node and others that use
librdkafka. It follows the Java clients before 2.4, which had no quotas: the member with the fewest partitions
gets the next partition, and then partitions move one by one.

1. Claims: of the claims on a partition, that of the latest generation counts. If two claims have the same
   generation, none counts.
2. Sort: partitions get the order in which they are examined; those without an owner come last.
3. Assign: a partition without an owner goes to the subscriber with the fewest partitions; members near the
   partition come first.
4. Balance: a partition moves if a subscriber has at least two partitions fewer than its owner.
5. Hand over: a partition that another member owns is held back until that member has revoked it (KIP-429).

Texts are compared as bytes. If librdkafka aborts or reads memory that it has freed, this rule raises
AssignorError.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar, NamedTuple

from assignors.assignment import Assignment
from assignors.group import Group, Member
from assignors.interface import Reason, Recorder, record_nothing
from assignors.partition_list import PartitionList
from assignors.rules.sticky_structures import RackInfo, balance_score
from partitioning.errors import AssignorError
from partitioning.topic_partition import TopicPartition

Lists = dict[str, list[TopicPartition]]
"""The partitions of each member, by id."""


def assign_librdkafka_cooperative_sticky(group: Group, record: Recorder = record_nothing) -> Assignment:
    """Return the assignment, with partitions that another member must revoke first in `transferring`.

    The topics of `group` must be in the order in which the broker lists them to the leader, because that
    order changes the answer.

    Quirk: the leader ignores a member without a subscription, and the partitions that this member owns.

    Raises:
        AssignorError: librdkafka would abort or read freed memory, or no member has a subscription.
    """
    leader = LibrdkafkaLeader(group, record, [member for member in group.members if member.topics])
    leader.decide()
    lists, transferring = hand_over(leader, record)
    return Assignment.for_group(group, lists, transferring=transferring)


class LibrdkafkaLeader:
    """A leader that decides for the given members of its group, in the order in which they joined.

    The leader of kafka-python (`assignors.rules.kafka_python`) overrides some of the methods.

    Attributes:
        owned: the partitions that each member reports as its own, by member id.
        current: the assignment so far, by member id. Members that take no part in balancing are removed
            during step 4.
        _counts: the partition count of each subscribed topic that exists, in the order of the broker's list.
        _potential: the subscribers of each topic, in JoinGroup order.
        _most: how many partitions each member can have at most.
        _consumer_of: the member that has each partition now.
        _previous: the member that had a partition in an earlier generation, if there is one.
        _order: (number of partitions, id as bytes, id) of each member in `current`, ascending; sorted again
            after each move.
        _moved: the partitions that moved while balancing, in order.
    """

    # The order in which partitions are examined. If True, each member's partitions come in reverse order, the
    # one that the member got last first, and partitions without an owner are sorted. If False, each member's
    # partitions are sorted, and partitions without an owner come in descending order.
    from_the_last: ClassVar[bool] = False

    def __init__(self, group: Group, record: Recorder, members: Sequence[Member]) -> None:
        self.members = {member.id: member for member in members}
        if not self.members:
            raise AssignorError("the group has no member with a subscription; add one")
        self.owned = {name: PartitionList.of(member.owned) for name, member in self.members.items()}
        self.current: Lists = {name: [] for name in self.members}
        self._record = record
        self._topics_of = {name: set(member.topics) for name, member in self.members.items()}
        self._potential = {
            topic.name: consumers
            for topic in group.topics
            if (consumers := [name for name in self.members if topic.name in self._topics_of[name]])
        }
        topics = [topic for topic in group.topics if topic.name in self._potential]
        self._counts = {topic.name: topic.partitions for topic in topics}
        self._most = {
            name: sum(self._counts.get(topic, 0) for topic in self._topics_of[name]) for name in self.members
        }
        self._racks = RackInfo(topics, self.members.values())
        self._consumer_of: dict[TopicPartition, str] = {}
        self._previous: dict[TopicPartition, str] = {}
        self._order: list[tuple[int, bytes, str]] = []
        self._movements = _Movements()
        self._moved: dict[TopicPartition, None] = {}
        self._idle: set[str] = set()  # members that take no part, but count in the score without partitions
        self._doubled = False  # True once two members have the same partition

    def decide(self) -> None:
        """Take steps 1 to 4; the result is in `current`."""
        self.settle_claims()
        order = self.sort_partitions()
        unassigned, revocation_required = self.keep_valid(order)
        self.balance(order, unassigned, revocation_required=revocation_required)

    # 1. Claims -----------------------------------------------------------------------------------------

    def settle_claims(self) -> None:
        """Step 1: decide which claims count (`prepopulateCurrentAssignments`).

        Quirk: the last member in JoinGroup order that claims a partition becomes its consumer, whatever its
        generation. So balancing can later take the partition from a member that does not have it.
        Quirk: two claims of the same generation also invalidate a claim of a later generation.
        """
        for partition, claims in self._claims().items():
            self._consumer_of[partition] = claims[-1][1]
            claimants = sorted(claims, key=lambda claim: claim[0])
            if len({generation for generation, _ in claimants}) < len(claimants):
                del self._consumer_of[partition]
                for _, name in claimants:
                    self._record(partition, Reason.CONTESTED, name)
                continue
            *outdated, (_, latest) = claimants
            self.current[latest].append(partition)
            if outdated:
                self._previous[partition] = outdated[-1][1]
            for _, name in outdated:
                self._record(partition, Reason.OUTDATED, name)

    def _claims(self) -> dict[TopicPartition, list[tuple[int, str]]]:
        """Return the (generation, member id) claims on each partition.

        Partitions are in reverse order, because librdkafka's maps return the last entry first.
        """
        claims: dict[TopicPartition, list[tuple[int, str]]] = {}
        for name, member in self.members.items():
            generation = -1 if member.generation is None else member.generation
            for partition in self.owned[name]:
                claims.setdefault(partition, []).append((generation, name))
        return dict(reversed(claims.items()))

    # 2. Sort -------------------------------------------------------------------------------------------

    def sort_partitions(self) -> list[TopicPartition]:
        """Step 2: return all partitions in the order in which they are examined (`sortPartitions`).

        If subscriptions differ, partitions of topics with the fewest subscribers come first. If subscriptions
        are equal, the next partition is always taken from the member that has the most partitions left. Of
        one member's partitions, those that another member had before come first. Partitions without an owner
        come last: the last topic of the broker's list first, and in a topic the highest number first. With
        `from_the_last` they come in ascending order.
        """
        everything = [
            TopicPartition(topic, number) for topic, count in self._counts.items() for number in range(count)
        ]
        if not self._subscriptions_identical():
            return sorted(
                everything,
                key=lambda partition: (len(self._potential[partition.topic]), _key(partition)),
            )
        left: list[tuple[int, bytes, list[TopicPartition]]] = []
        for name, partitions in self.current.items():
            if not self.from_the_last:
                partitions.sort(key=_key)
            in_turn = reversed(partitions) if self.from_the_last else partitions
            valid = [partition for partition in in_turn if self._exists(partition)]
            if valid:  # reversed below, because `pop` takes from the end
                valid.sort(key=lambda partition: partition not in self._previous)
                insort(left, (len(valid), _bytes(name), valid[::-1]))
        order: dict[TopicPartition, None] = {}
        while left:
            size, name_bytes, partitions = left.pop()
            order[partitions.pop()] = None
            if size > 1:
                insort(left, (size - 1, name_bytes, partitions))
        if not order:
            return sorted(everything, key=_key)
        rest = sorted(everything, key=_key) if self.from_the_last else reversed(everything)
        order.update(dict.fromkeys(rest))
        return list(order)

    def _subscriptions_identical(self) -> bool:
        """Return whether every member subscribes to every topic that has partitions."""
        topics = [topic for topic, count in self._counts.items() if count]
        return all(len(self._potential[topic]) == len(self.members) for topic in topics)

    def _exists(self, partition: TopicPartition) -> bool:
        """Return whether a topic with a subscriber has this partition."""
        return 0 <= partition.partition < self._counts.get(partition.topic, 0)

    # 3. Assign -----------------------------------------------------------------------------------------

    def keep_valid(self, order: Sequence[TopicPartition]) -> tuple[list[TopicPartition], bool]:
        """Let members keep their valid partitions.

        Returns:
            The partitions that no member keeps, in the given order; and whether a member gives up a partition
            that exists.
        """
        unassigned = dict.fromkeys(order)
        revocation_required = False
        for name, partitions in self.current.items():
            kept = []
            for partition in partitions:
                reason = Reason.KEPT
                if not self._exists(partition):
                    reason = Reason.UNSUBSCRIBED
                    self._consumer_of.pop(partition, None)
                elif partition.topic not in self._topics_of[name]:
                    reason, revocation_required = Reason.UNSUBSCRIBED, True
                elif self._is_far(name, partition):
                    reason, revocation_required = Reason.FAR, True
                else:
                    kept.append(partition)
                    unassigned.pop(partition, None)
                self._record(partition, reason, name)
            partitions[:] = kept
        return list(unassigned), revocation_required

    def _is_far(self, name: str, partition: TopicPartition) -> bool:
        """Return whether racks forbid that the member has the partition.

        Quirk: clients on librdkafka send an empty rack if they have none, and it is far from every partition.
        """
        if self._racks.consumer_racks and self.members[name].rack == "":
            return True
        return self._racks.racks_mismatch(name, partition)

    def _assign(self, unassigned: Iterable[TopicPartition], *, near: bool) -> list[TopicPartition]:
        """Give each partition to its subscriber with the fewest partitions; return those without a receiver.

        With `near`, only subscribers that are not far from the partition are considered.
        """
        left = []
        for partition in unassigned:
            for place, (size, key, name) in enumerate(self._order):
                subscribed = partition.topic in self._topics_of[name]
                if subscribed and not (near and self._is_far(name, partition)):
                    del self._order[place]
                    insort(self._order, (size + 1, key, name))
                    self.current[name].append(partition)
                    self._consumer_of[partition] = name
                    is_near = self._racks.is_near(name, partition)
                    self._record(partition, Reason.NEAR if is_near else Reason.FILLED, name)
                    break
            else:
                left.append(partition)
        return left

    # 4. Balance ----------------------------------------------------------------------------------------

    def balance(
        self,
        order: Sequence[TopicPartition],
        unassigned: Sequence[TopicPartition],
        *,
        revocation_required: bool,
    ) -> None:
        """Steps 3 and 4: assign partitions without an owner, then move partitions (`balance`)."""
        self._sort()
        initializing = self._order[-1][0] == 0
        left = self._assign(unassigned, near=True) if self._racks.consumer_racks else unassigned
        self._assign(left, near=False)
        # Members that can neither get nor lose a partition take no part in balancing.
        fixed = {name: self.current.pop(name) for name in list(self.current) if self._is_fixed(name)}
        self._sort()
        before = {name: list(partitions) for name, partitions in self.current.items()}
        consumer_before = dict(self._consumer_of)
        if not revocation_required:
            self._perform([partition for partition in unassigned if self._can_move(partition)])
        performed = self._perform([partition for partition in order if self._can_move(partition)])
        # Quirk: the score is compared only if the second run moved a partition; then the moves of both runs
        # are undone.
        score = balance_score([*map(len, self.current.values()), *(0 for _ in self._idle)])
        score_before = balance_score(map(len, before.values()))
        if performed and not initializing and score >= score_before:
            self.current, self._consumer_of = before, consumer_before
            for partition in self._moved:
                self._record(partition, Reason.UNDONE, self._consumer_of[partition])
        self.current |= fixed

    def _sort(self) -> None:
        """Sort the members again: those with the fewest partitions first, ties by id.

        librdkafka also sorts all members after each move.
        """
        self._order = sorted((len(self.current[name]), _bytes(name), name) for name in self.current)

    def _can_move(self, partition: TopicPartition) -> bool:
        """Return whether at least two members subscribe to the partition's topic."""
        return len(self._potential[partition.topic]) > 1

    def _is_fixed(self, name: str) -> bool:
        """Return whether a member has every partition that it can have, and none of them can move.

        Such a member takes no part in balancing.
        """
        partitions = self.current[name]
        return len(partitions) >= self._most[name] and not any(map(self._can_move, partitions))

    def _perform(self, partitions: Sequence[TopicPartition]) -> bool:
        """Go over the partitions again and again until none moves (`performReassignments`).

        Returns whether any partition moved.
        """
        performed = False
        while self._go_over(partitions):
            performed = True
        return performed

    def _go_over(self, partitions: Sequence[TopicPartition]) -> bool:
        """Look at each partition once; return whether any moved.

        A partition moves if one of its subscribers has at least two partitions fewer than its owner.
        """
        modified = False
        for partition in partitions:
            name = self._consumer_of[partition]
            # Quirk: the last member that claims a partition is its consumer, even if its claim is of an
            # earlier generation. If that member takes no part in balancing, librdkafka looks in vain for its
            # list.
            if name not in self.current:
                if self._is_balanced():
                    break
                raise _set_aside(name, f"{partition} is taken to be its own")
            size = len(self.current[name])
            subscribers = self._potential[partition.topic]
            target, reason = self._previous.get(partition), Reason.STOLEN_BACK
            if target is None or not self._has_fewer(target, size):
                if not any(self._has_fewer(other, size) for other in subscribers):
                    continue
                # Quirk: the first subscriber in order gets the partition, no matter which subscriber was
                # found to have fewer, and no matter which subscribers are near.
                target = next(
                    consumer for _, _, consumer in self._order if partition.topic in self._topics_of[consumer]
                )
                reason = Reason.BALANCED
            # librdkafka asks whether the group is balanced before each partition. Here it is asked only if
            # the answer can be yes: if a subscriber of the partition has fewer, the group is not balanced.
            # Quirk: the previous consumer may no longer subscribe to the topic.
            if (target not in subscribers or self._doubled) and self._is_balanced():
                break
            if target not in self.current:
                raise _set_aside(target, f"{partition} could go to it")
            moved = self._move(partition, name, target)
            self._record(moved, reason if moved == partition else Reason.SWAPPED, target)
            modified = True
        return modified

    def _has_fewer(self, other: str, size: int) -> bool:
        """Return whether another member has at least two partitions fewer than `size`.

        A member that takes no part in balancing counts as a member that has fewer.
        """
        return other not in self.current or len(self.current[other]) + 1 < size

    def _is_balanced(self) -> bool:
        """Return whether no member could take a partition from a member with more (`isBalanced`)."""
        if self._order[0][0] >= self._order[-1][0] - 1:
            return True
        owners = {partition: name for name in reversed(self.current) for partition in self.current[name]}
        for size, _, name in self._order:
            if size == self._most[name]:
                continue
            own = set(self.current[name])
            for partition, owner in owners.items():
                wanted = partition.topic in self._topics_of[name] and partition not in own
                if wanted and size < len(self.current[owner]):
                    return False
        return True

    def _move(self, partition: TopicPartition, source: str, target: str) -> TopicPartition:
        """Move a partition, or another partition of its topic in its place; return the one that moved.

        In librdkafka this is `processPartitionMovement`.
        """
        moved = self._movements.write_down(partition, source, target, self._consumer_of)
        self.current[target].append(moved)
        if moved in self.current[source]:
            self.current[source].remove(moved)
        else:
            self._doubled = True
        self._consumer_of[moved] = target
        self._moved[moved] = None
        self._sort()
        return moved


class _Movements:
    """Records between which members partitions moved (`PartitionMovements`), with librdkafka's faults.

    A way is a pair of members, inside one topic. In C, the map from a way to its list of partitions has keys
    that are part of the record of one partition. If that record is freed, a later lookup reads freed memory.
    Here such a lookup raises AssignorError, because the behaviour of C is undefined.

    Attributes:
        of: the way of each partition that moved.
        _lists: the partitions that moved each way, in order.
        _first: for each list, the partition whose record holds the key.
        _freed: the ways whose key has been freed although the list still exists.
    """

    def __init__(self) -> None:
        self.of: dict[TopicPartition, _Way] = {}
        self._lists: dict[_Way, list[TopicPartition]] = {}
        self._first: dict[_Way, TopicPartition] = {}
        self._freed: set[_Way] = set()

    def write_down(
        self,
        partition: TopicPartition,
        source: str,
        target: str,
        consumer_of: Mapping[TopicPartition, str],
    ) -> TopicPartition:
        """Record a move, and return the partition that moves.

        If partitions of the topic moved the opposite way before, one of them moves back instead.
        Quirk: the second of them moves back, because librdkafka removes the first one from the list, and its
        pointer then refers to the second.
        """
        topic = partition.topic
        opposite = self._list(_Way(topic, target, source))
        if opposite:
            if consumer_of[opposite[0]] != source:
                raise _crash(partition)
            self._drop(opposite[0], _Way(topic, target, source))
            if not opposite:
                raise _crash(partition)
            return opposite[0]
        way = _Way(topic, source, target)
        if (before := self.of.get(partition)) is not None:
            if before.target != source:
                raise _crash(partition)
            self._drop(partition, before)
            way = _Way(topic, before.source, target)
        if way.source != target:
            self._add(partition, way)
        return partition

    def _list(self, way: _Way) -> list[TopicPartition]:
        """Return the partitions that moved this way; raise AssignorError if the list's key has been freed."""
        if way in self._freed:
            raise _crash(next(iter(self._lists[way])))
        return self._lists.get(way, [])

    def _drop(self, partition: TopicPartition, way: _Way) -> None:
        """Remove a partition from the list of a way.

        Quirk: the partition's own record stays.
        """
        partitions = self._list(way)
        if not partitions:
            raise _crash(partition)
        if partition in partitions:
            partitions.remove(partition)
        if not partitions:
            del self._lists[way]

    def _add(self, partition: TopicPartition, way: _Way) -> None:
        """Record a partition's way; an earlier record is freed, and with it perhaps the key of a list."""
        before = self.of.get(partition)
        if before is not None and before in self._lists and self._first[before] == partition:
            self._freed.add(before)
        self.of[partition] = way
        partitions = self._list(way)
        if not partitions:
            self._lists[way], self._first[way] = partitions, partition
        partitions.append(partition)


class _Way(NamedTuple):
    """A pair of members between which partitions of one topic move."""

    topic: str
    source: str
    target: str


def _crash(partition: TopicPartition) -> AssignorError:
    """Return the error for a move at which librdkafka aborts or reads freed memory."""
    return AssignorError(
        f"to balance the group, {partition} would cross the way of partitions that moved before, and there "
        "librdkafka aborts or reads memory that it has freed; let members subscribe to the same topics"
    )


def _set_aside(name: str, but: str) -> AssignorError:
    """Return the error for a member that librdkafka looks up, but that takes no part in balancing."""
    return AssignorError(
        f"member {name!r} takes no part in balancing, but {but}: librdkafka, kafka-python and aiokafka crash "
        "here; drop what the member claims from an earlier generation"
    )


def _bytes(text: str) -> bytes:
    """Return the bytes by which librdkafka compares a text; a lone surrogate becomes three bytes."""
    return text.encode(errors="surrogatepass")


def _key(partition: TopicPartition) -> tuple[bytes, int]:
    """Return the sort key of a partition: the topic's bytes, then its number."""
    return _bytes(partition.topic), partition.partition


# 5. Hand over ------------------------------------------------------------------------------------------


def hand_over(leader: LibrdkafkaLeader, record: Recorder) -> tuple[Lists, dict[TopicPartition, str]]:
    """Return each member's partitions in this rebalance, and the receiver of each partition held back.

    This is `rd_kafka_cooperative_protocol_adjust_assignment`. A member's list begins with the partitions that
    the member keeps. New partitions without an owner follow, and then the partitions that the member owns and
    that were assigned to no member.

    Quirk: because of this last kind, partitions of deleted topics, or of topics without a subscriber, stay
    with their owner.
    """
    assigned = {partition: name for name in leader.members for partition in leader.current[name]}
    owner = {partition: name for name in leader.members for partition in leader.owned[name]}
    lists: Lists = {name: [] for name in leader.members}
    transferring = {}
    for partition, name in assigned.items():
        if owner.get(partition) == name:
            lists[name].append(partition)
        elif partition in owner:
            transferring[partition] = name
            record(partition, Reason.HELD_BACK, name)
    for partition, name in assigned.items():
        if partition not in owner:
            lists[name].append(partition)
    for partition, name in owner.items():
        if partition not in assigned:
            lists[name].append(partition)
    return lists, transferring
