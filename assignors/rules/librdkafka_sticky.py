"""librdkafka's "cooperative-sticky" is another algorithm than Java's under the same name.

librdkafka 2.14 to 2.16, so confluent-kafka, and the clients for Go, .NET, Node and others that stand on it:
`rdkafka_sticky_assignor.c`, and for step 5 `rdkafka_cgrp.c`. It follows the Java clients before 2.4, so that
it knows no quotas: who has the fewest gets the next partition, and then partitions move one by one.

1. Claims: the latest generation that claims a partition has it; none does where two claim it in the same one.
2. Sort: the order in which partitions are looked at, those without an owner last.
3. Assign: a partition without an owner goes to the subscriber that has the fewest, near ones first.
4. Balance: partitions move while somebody has two more than a subscriber that could have them.
5. Hand over: what another member owns waits until that member has given it up (KIP-429).

Texts are compared as bytes. Where librdkafka aborts, or reads memory that it has freed, this raises.
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
    """Return this round's assignment; what waits for the next one is in its `transferring`.

    The group's topics are in the order in which the broker lists them to the leader, which decides. Quirk: a
    member that subscribes to nothing is left out by the leader, what it owns included. Raises AssignorError
    where librdkafka would abort or read freed memory, or no member subscribes to anything.
    """
    leader = LibrdkafkaLeader(group, record, [member for member in group.members if member.topics])
    leader.decide()
    lists, transferring = hand_over(leader, record)
    return Assignment.for_group(group, lists, transferring=transferring)


class LibrdkafkaLeader:
    """A leader at work for these members of its group, in the order of JoinGroup.

    That of kafka-python (`assignors.rules.kafka_python`) differs in what it has itself.

    Attributes:
        owned: what each member says it owns, by member id.
        current: the assignment as it is now, by member id; members that are set aside are not in it for a
            while.
        _counts: partitions of each subscribed topic that exists, in the order of the broker's list.
        _potential: each topic's subscribers, in the order of JoinGroup.
        _most: how many partitions each member could have at most.
        _consumer_of: who has each partition now.
        _previous: who had a partition in an earlier generation, if somebody had.
        _order: (size, id as bytes, id) of the members in `current`, ascending; renewed after each move.
        _moved: partitions that moved while balancing, in order.
    """

    # In which order partitions are looked at. True: of each member the partition that it got last comes
    # first, and partitions without an owner are sorted. False: each member's partitions are sorted, and
    # partitions without an owner come in descending order.
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
        self._idle: set[str] = set()  # members that take no part and count in the score, with nothing
        self._doubled = False  # whether a partition is with two members

    def decide(self) -> None:
        """Steps 1 to 4."""
        self.settle_claims()
        order = self.sort_partitions()
        unassigned, revocation_required = self.keep_valid(order)
        self.balance(order, unassigned, revocation_required=revocation_required)

    # 1. Claims -----------------------------------------------------------------------------------------

    def settle_claims(self) -> None:
        """Step 1 (`prepopulateCurrentAssignments`).

        Quirk: the consumer of a partition is who claims it last in the order of JoinGroup, whatever its
        generation, so that balancing can take the partition from somebody who does not have it.
        Quirk: two claims of one generation spoil a later one, too.
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
        """Return who claims each partition in which generation.

        Librdkafka's maps give back first what came last.
        """
        claims: dict[TopicPartition, list[tuple[int, str]]] = {}
        for name, member in self.members.items():
            generation = -1 if member.generation is None else member.generation
            for partition in self.owned[name]:
                claims.setdefault(partition, []).append((generation, name))
        return dict(reversed(claims.items()))

    # 2. Sort -------------------------------------------------------------------------------------------

    def sort_partitions(self) -> list[TopicPartition]:
        """Step 2 (`sortPartitions`): if subscriptions differ, first what the fewest members can have.

        If they do not, one after the other of whoever has the most, first what another one had before,
        and then the partitions without an owner, of the last topic first and from the highest number down.
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
            if valid:  # what is taken first comes last
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
        """Return what no member keeps, in this order, and whether a member gives up what it could keep."""
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
        """Quirk: the empty rack, which clients on librdkafka send for none, is far from everything."""
        if self._racks.consumer_racks and self.members[name].rack == "":
            return True
        return self._racks.racks_mismatch(name, partition)

    def _assign(self, unassigned: Iterable[TopicPartition], *, near: bool) -> list[TopicPartition]:
        """Gives each to the subscriber with the fewest, only near ones where asked to; what is left."""
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
        """Steps 3 and 4 (`balance`)."""
        self._sort()
        initializing = self._order[-1][0] == 0
        left = self._assign(unassigned, near=True) if self._racks.consumer_racks else unassigned
        self._assign(left, near=False)
        # Only what two members can have moves, and only between members that can have or lose something.
        fixed = {name: self.current.pop(name) for name in list(self.current) if self._is_fixed(name)}
        self._sort()
        before = {name: list(partitions) for name, partitions in self.current.items()}
        consumer_before = dict(self._consumer_of)
        if not revocation_required:
            self._perform([partition for partition in unassigned if self._can_move(partition)])
        performed = self._perform([partition for partition in order if self._can_move(partition)])
        # Quirk: only moves of the second run lead to a look at the score, but those of both are undone.
        score = balance_score([*map(len, self.current.values()), *(0 for _ in self._idle)])
        score_before = balance_score(map(len, before.values()))
        if performed and not initializing and score >= score_before:
            self.current, self._consumer_of = before, consumer_before
            for partition in self._moved:
                self._record(partition, Reason.UNDONE, self._consumer_of[partition])
        self.current |= fixed

    def _sort(self) -> None:
        """Renew the order of the members: the fewest partitions first, ties by id.

        librdkafka, too, sorts all members after each move.
        """
        self._order = sorted((len(self.current[name]), _bytes(name), name) for name in self.current)

    def _can_move(self, partition: TopicPartition) -> bool:
        """Return whether two members subscribe to the partition's topic, between whom it can move."""
        return len(self._potential[partition.topic]) > 1

    def _is_fixed(self, name: str) -> bool:
        """Return whether a member has all that it can have and none of it can move.

        Such a member takes no part in balancing.
        """
        partitions = self.current[name]
        return len(partitions) >= self._most[name] and not any(map(self._can_move, partitions))

    def _perform(self, partitions: Sequence[TopicPartition]) -> bool:
        """Goes over the partitions again and again until none moves (`performReassignments`)."""
        performed = False
        while self._go_over(partitions):
            performed = True
        return performed

    def _go_over(self, partitions: Sequence[TopicPartition]) -> bool:
        """Look at each partition once; return whether any moved.

        A partition moves if one of its subscribers has at least two partitions less than its owner.
        """
        modified = False
        for partition in partitions:
            name = self._consumer_of[partition]
            # Quirk: the last one to claim a partition is its consumer, also if it claims it from an earlier
            # generation; such a member may have been set aside, and librdkafka looks for its list.
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
                # Quirk: whoever has fewer, near or not, the first one in order gets it.
                target = next(
                    consumer for _, _, consumer in self._order if partition.topic in self._topics_of[consumer]
                )
                reason = Reason.BALANCED
            # librdkafka asks before it looks at any partition; but one that does not move changes nothing,
            # and that a subscriber has fewer says the same.
            # Quirk: the previous consumer need not subscribe to the topic any more.
            if (target not in subscribers or self._doubled) and self._is_balanced():
                break
            if target not in self.current:
                raise _set_aside(target, f"{partition} could go to it")
            moved = self._move(partition, name, target)
            self._record(moved, reason if moved == partition else Reason.SWAPPED, target)
            modified = True
        return modified

    def _has_fewer(self, other: str, size: int) -> bool:
        """Return whether another one has at least two partitions less; one that takes no part counts so."""
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
        """Moves a partition or another one of its topic; which one (`processPartitionMovement`)."""
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
    """Notes from where to where partitions moved (`PartitionMovements`), with librdkafka's faults.

    In C, the map from a way to its list of partitions has keys that live in the record of one partition. If
    that record is freed, a later look at the key reads freed memory. Here it is an AssignorError, as what C
    does then is not defined.

    Attributes:
        of: the way that each partition has moved.
        _lists: partitions that moved each way, in order.
        _first: whose record is the key of each list.
        _freed: ways whose key has been freed while the list is still there.
    """

    def __init__(self) -> None:
        self.of: dict[TopicPartition, _Way] = {}
        self._lists: dict[_Way, list[TopicPartition]] = {}
        self._first: dict[_Way, TopicPartition] = {}  # whose record is the key of the list
        self._freed: set[_Way] = set()

    def write_down(
        self,
        partition: TopicPartition,
        source: str,
        target: str,
        consumer_of: Mapping[TopicPartition, str],
    ) -> TopicPartition:
        """Writes a move down; which partition moves.

        Where others of the topic moved the opposite way before, one of those is to move back instead.
        Quirk: it is the second of them, since librdkafka drops the first from the list that it points into.
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
        """Return the partitions that moved this way; AssignorError if their list's key has been freed."""
        if way in self._freed:
            raise _crash(next(iter(self._lists[way])))
        return self._lists.get(way, [])

    def _drop(self, partition: TopicPartition, way: _Way) -> None:
        """Quirk: the partition's own record stays."""
        partitions = self._list(way)
        if not partitions:
            raise _crash(partition)
        if partition in partitions:
            partitions.remove(partition)
        if not partitions:
            del self._lists[way]

    def _add(self, partition: TopicPartition, way: _Way) -> None:
        """Note a partition's way; a record that it had is freed, and with it maybe the key of a list."""
        before = self.of.get(partition)
        if before is not None and before in self._lists and self._first[before] == partition:
            self._freed.add(before)
        self.of[partition] = way
        partitions = self._list(way)
        if not partitions:
            self._lists[way], self._first[way] = partitions, partition
        partitions.append(partition)


class _Way(NamedTuple):
    """A move inside one topic: from which member to which."""

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
    """Return the error for a member that is looked for while balancing, and takes no part in it."""
    return AssignorError(
        f"member {name!r} takes no part in balancing, but {but}: librdkafka, kafka-python and aiokafka crash "
        "here; drop what the member claims from an earlier generation"
    )


def _bytes(text: str) -> bytes:
    """Return the bytes by which librdkafka compares a text; half of a pair of surrogates has three."""
    return text.encode(errors="surrogatepass")


def _key(partition: TopicPartition) -> tuple[bytes, int]:
    """Return the sort key of a partition: the topic's bytes, then its number."""
    return _bytes(partition.topic), partition.partition


# 5. Hand over ------------------------------------------------------------------------------------------


def hand_over(leader: LibrdkafkaLeader, record: Recorder) -> tuple[Lists, dict[TopicPartition, str]]:
    """Return what each gets now, and what waits (`rd_kafka_cooperative_protocol_adjust_assignment`).

    Each list has what the member keeps, then what nobody owns, then what it owns and nobody was assigned.
    Quirk: so partitions of a topic that is gone, or that nobody subscribes to any more, stay where they are.
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
