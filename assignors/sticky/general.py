"""Sticky assignment where subscriptions differ.

Members keep what they own; what is left goes to whoever subscribes to it and has the fewest; then partitions
move until no move makes the assignment more balanced.
"""

from __future__ import annotations

from itertools import chain, count
from typing import TYPE_CHECKING

import numpy as np

from assignors.columns import group_rows
from assignors.errors import AssignorError
from assignors.sticky.audiences import Audiences
from assignors.sticky.balance import Balance, IndexedBalance, LiteralBalance
from assignors.sticky.load import Load
from assignors.sticky.movements import Movements
from assignors.sticky.outcome import Outcome
from assignors.sticky.ownership import NO_GENERATION

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence
    from typing import TypeAlias

    from numpy.typing import NDArray

    from assignors.sticky.catalogue import Catalogue
    from assignors.sticky.ownership import Ownership
    from assignors.sticky.racks import Racks

    # Topics and some of their partitions, in the order they are looked at.
    Batches: TypeAlias = list[tuple[int, Sequence[int]]]

_USUAL_LAPS = 8  # more are suspicious


def assign_general(catalogue: Catalogue, owned: Ownership, racks: Racks | None) -> Outcome:
    """Assigns the partitions of members that subscribe to different topics.

    Raises:
        AssignorError: balancing meets a member that takes no part in it (NullPointerException).
    """
    general = _General(catalogue, owned, racks)
    general.distribute()
    general.rebalance()
    return general.outcome()


class _General:
    """One assignment in the making; members are ranks, see `Audiences`."""

    def __init__(self, catalogue: Catalogue, owned: Ownership, racks: Racks | None) -> None:
        self._catalogue = catalogue
        self._owned = owned
        self._racks = racks
        self._audiences = Audiences.of(catalogue)
        topics, numbers = owned.phantoms
        first = np.repeat(catalogue.starts[:-1], catalogue.counts)
        self._number_of = np.concatenate([np.arange(catalogue.total) - first, numbers])
        self._topic_of = np.concatenate([np.repeat(np.arange(len(catalogue.topics)), catalogue.counts), topics])
        potential = self._audiences.potential
        self._by_id = catalogue.by_id
        self._order = sorted(range(len(potential)), key=lambda topic: (potential[topic], topic))
        self._keep()
        self._load = Load([len(each) for each in self._lists], self._audiences)

    def _keep(self) -> None:
        """Members keep what they own, unless they do not subscribe to it or, with racks, it is far away."""
        owned, audiences = self._owned, self._audiences
        member = audiences.rank[owned.member]
        stays = audiences.subscribed[np.array(audiences.subscription)[member], owned.topic]
        if self._racks is not None:
            stays &= ~self._racks.mismatch(owned.member, owned.id)
        if owned.valid is not None:
            self._revokes = bool((owned.valid & ~stays).any())
            stays &= owned.valid
        else:
            self._revokes = not stays.all()
        member, ids = member[stays], owned.id[stays]
        rows, starts = group_rows(member, len(audiences.rank))
        grouped, ends = ids[rows].tolist(), starts.tolist()
        # Each member's partitions in the order it got them; ~p stands for a p that is in the list already.
        self._lists: list[dict[int, None]] = [
            dict.fromkeys(grouped[start:end]) for start, end in zip(ends, ends[1:], strict=False)
        ]
        owner = np.full(len(self._topic_of), -1)  # phantoms included
        owner[ids] = member
        self._owner: list[int] = owner[: self._catalogue.total].tolist()
        # Members that keep a partition which then is assigned once more.
        self._ghosts: dict[int, int] = {}
        self._initializing = not len(ids)
        self._unassigned = self._free(owner >= 0)

    def _free(self, kept: NDArray[np.bool_]) -> Batches:
        """Partitions that nobody keeps, those of the topics with the fewest potential members first.

        Quirk: the JVM walks all partitions and the kept ones side by side, so at the first kept partition that
        does not exist it stops recognising kept ones, and takes all that follow for free.
        """
        total, starts = self._catalogue.total, self._catalogue.starts.tolist()
        phantoms = np.flatnonzero(kept[total:]) + total
        beyond = self._number_of[phantoms] >= 0
        before, after = set(self._topic_of[phantoms[~beyond]]), set(self._topic_of[phantoms[beyond]])
        self._has_phantoms = len(phantoms) > 0
        walking = True
        batches: Batches = []
        for topic in self._order:
            start, end = starts[topic], starts[topic + 1]
            walking = walking and topic not in before
            if walking:
                batches.append((topic, (np.flatnonzero(~kept[start:end]) + start).tolist()))
            else:
                batches.append((topic, range(start, end)))
            walking = walking and topic not in after
        return batches

    def distribute(self) -> None:
        """Everything unassigned goes to the subscriber with the fewest partitions, near ones first."""
        batches = self._unassigned
        if self._racks is not None:
            batches = self._distribute_near(batches, self._racks)
        for topic, partitions in batches:
            receivers = self._load.serve(self._audiences.of_topic[topic], len(partitions))
            for partition, receiver in zip(partitions, receivers, strict=True):
                self._give(partition, receiver)

    def _distribute_near(self, batches: Batches, racks: Racks) -> Batches:
        """Gives partitions to members near them or without a rack; returns the others."""
        load, audiences = self._load, self._audiences
        rack_of = racks.member[self._by_id].tolist()
        near = [[-1, *np.flatnonzero(row).tolist()] for row in racks.inside]
        heaps: dict[tuple[int, int], list[int]] = {}
        for audience, members in enumerate(audiences.members):
            for rack in {rack_of[member] for member in members}:
                heaps[audience, rack] = load.heap(member for member in members if rack_of[member] == rack)
        rest: Batches = []
        for topic, partitions in batches:
            audience = audiences.of_topic[topic]
            far = []
            for partition, pattern in zip(partitions, racks.pattern[partitions].tolist(), strict=True):
                heads = [load.top(heaps[audience, rack]) for rack in near[pattern] if (audience, rack) in heaps]
                receiver = min((head for head in heads if head is not None), key=load.key, default=None)
                if receiver is None:
                    far.append(partition)
                else:
                    load.size[receiver] += 1
                    self._give(partition, receiver)
            rest.append((topic, far))
        return rest

    def _give(self, partition: int, receiver: int) -> None:
        if self._owner[partition] >= 0:
            self._ghosts[partition] = self._owner[partition]
        self._owner[partition] = receiver
        partitions = self._lists[receiver]
        partitions[~partition if partition in partitions else partition] = None

    def rebalance(self) -> None:
        """Moves partitions while that helps, unless the outcome is no better than before."""
        load, starts = self._load, self._catalogue.starts.tolist()
        shared = [members >= 2 for members in self._audiences.potential]
        full = self._full()
        load.retire(self._settled(full, shared))
        self._movements = Movements(self._catalogue)
        self._previous = self._previous_owners()
        self._balance: Balance
        if self._has_phantoms:
            self._balance = LiteralBalance(
                self._catalogue, load, self._audiences, self._owner, self._ghosts, full, self._is_near
            )
        else:
            audience_of = np.repeat(self._audiences.of_topic, self._catalogue.counts)
            self._balance = IndexedBalance(load, self._audiences, audience_of, self._owner, full)

        imbalance = load.imbalance()
        before = None if self._initializing else [partitions.copy() for partitions in self._lists]
        if not self._revokes:
            self._reassign([batch for batch in self._unassigned if shared[batch[0]]])
        moved = self._reassign(
            [(topic, range(starts[topic], starts[topic + 1])) for topic in self._order if shared[topic]]
        )
        if moved and before is not None and load.imbalance() >= imbalance:
            self._lists = before

    def _full(self) -> list[int]:
        """The most partitions each member can have, as the JVM counts: a topic named twice counts twice."""
        counts = self._catalogue.counts.tolist()
        full = [
            self._catalogue.total if len(topics) == len(counts) else sum(counts[topic] for topic in topics)
            for topics in self._audiences.topics
        ]
        return [full[subscription] for subscription in self._audiences.subscription]

    def _settled(self, full: list[int], shared: list[bool]) -> list[int]:
        """Members that have all they can have, none of it shared with others."""
        size = self._load.size
        settled = []
        for member, partitions in enumerate(self._lists):
            if size[member] >= full[member]:
                ids = np.array([max(each, ~each) for each in partitions], np.int64)
                if not any(shared[topic] for topic in np.unique(self._topic_of[ids]).tolist()):
                    settled.append(member)
        return settled

    def _previous_owners(self) -> dict[int, int]:
        """Who owned a partition in the latest generation before the highest."""
        owned = self._owned
        generation = [NO_GENERATION if each is None else each for each in owned.generation]
        late = np.array([each < owned.highest for each in generation])
        rows = np.flatnonzero(late[owned.member] & (owned.id < self._catalogue.total))
        if not len(rows):
            return {}
        turn = np.empty(len(late), np.int64)
        turn[self._catalogue.by_hash] = np.arange(len(turn))
        rows = rows[np.argsort(turn[owned.member[rows]], kind="stable")]
        latest: dict[int, tuple[int, int]] = {}
        for partition, member in zip(owned.id[rows].tolist(), owned.member[rows].tolist(), strict=True):
            known = latest.get(partition)
            if known is None or generation[member] > known[0]:
                latest[partition] = generation[member], member
        return {partition: int(self._audiences.rank[member]) for partition, (_, member) in latest.items()}

    def _is_near(self, member: int, partition: int) -> bool:
        return self._racks is not None and self._racks.is_near(self._by_id[member], partition)

    def _reassign(self, batches: Batches) -> bool:
        """Goes over partitions again and again until none moves; whether any did.

        Quirk: moves of one partition in place of another can go round in a circle, which the JVM follows for
        ever. A state that comes back gives it away.
        """
        moved = False
        states: set[Hashable] = set()
        for lap in count():
            if not self._lap(batches):
                return moved
            moved = True
            if lap < _USUAL_LAPS:
                continue
            state = tuple(self._owner), self._movements.state()
            if state in states:
                raise AssignorError(
                    "balancing never ends: the same partitions go round in a circle, and a JVM leader hangs here; "
                    "let members subscribe to the same topics, or use another assignor"
                )
            states.add(state)
        raise AssertionError("counting never ends")

    def _lap(self, batches: Batches) -> bool:
        """Goes over partitions once, or until the assignment is balanced; whether any moved."""
        balance, load, owner, previous = self._balance, self._load, self._owner, self._previous
        moved = False
        for topic, partitions in batches:
            audience = self._audiences.of_topic[topic]
            for partition in partitions:
                if balance.is_balanced():
                    return moved
                back = previous.get(partition)
                if back is not None and self._goes_back(partition, topic, back):
                    self._move(partition, topic, back)
                    moved = True
                elif balance.has_lighter(partition, topic, owner[partition]):
                    lightest = load.lightest(audience)
                    assert lightest is not None
                    self._move(partition, topic, lightest)
                    moved = True
        return moved

    def _goes_back(self, partition: int, topic: int, previous: int) -> bool:
        if not self._load.takes_part(previous):
            member = self._catalogue.members[self._by_id[previous]].id
            raise AssignorError(
                f"{self._catalogue.topics[topic]}-{int(self._number_of[partition])} may go back to its previous owner "
                f"{member!r}, which can take no part in balancing any more; drop that member's older claims",
                jvm_exception="NullPointerException",
            )
        return self._load.size[previous] + 1 < self._load.size[self._owner[partition]]

    def _move(self, partition: int, topic: int, destination: int) -> None:
        instead = self._movements.instead_of(partition, topic, self._owner[partition], destination)
        source = self._owner[instead]
        self._movements.record(instead, topic, source, destination)
        given = self._lists[source]
        twice = ~instead in given
        del given[next(each for each in given if each in {instead, ~instead}) if twice else instead]
        taken = self._lists[destination]
        taken[~instead if instead in taken else instead] = None
        self._owner[instead] = destination
        self._load.move(source, destination)
        self._balance.moved(topic, source, destination)

    def outcome(self) -> Outcome:
        """The lists as rows."""
        sizes = [len(partitions) for partitions in self._lists]
        ids = np.fromiter(chain.from_iterable(self._lists), np.int64, sum(sizes))
        ids = np.maximum(ids, ~ids)
        member = np.repeat(np.array(self._by_id), sizes)
        return Outcome(member, self._topic_of[ids], self._number_of[ids], None)
