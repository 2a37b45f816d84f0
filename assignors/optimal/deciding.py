"""Who gets what: the best loads, then the fewest moves, then what these members would get from nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from assignors.optimal.grouping import first_of_each, rounds, sorted_by, sums
from assignors.optimal.keeping import Claims, keep
from assignors.optimal.levels import find_levels
from assignors.optimal.spreading import Pairs, spread_topics
from partitioning.columns import ranges

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from assignors.optimal.reading import Reading


EXACT_PAIRS = 20_000
"""Up to how many pairs of a member and a topic that it may get topics are spread as evenly as can be."""


def decide(reading: Reading, *, spread: bool = True) -> NDArray[np.intp]:
    """The member that gets each partition.

    Args:
        reading: the group.
        spread: whether topics are spread as evenly as can be, where there are not too many pairs.
    """
    return _Task(reading, spread=spread).decide()


class _Task:
    """A group with what its best loads are.

    Its parts are those of the levels. Where all members of a part may get all of its partitions, counting is
    enough; about the others, which are open, a flow decides. Members are in one club if they may get the same
    partitions.
    """

    def __init__(self, reading: Reading, *, spread: bool) -> None:
        self._reading = reading
        self._levels = levels = find_levels(reading.counts, reading.readers)
        kind = reading.readers.of_member
        self._high = levels.of_kind[kind]
        self._low = np.maximum(self._high - 1, 0)
        self._part = levels.part_of_topic[reading.topic_of]
        self._part_of_member = levels.part_of_kind[kind]
        self._open = ~levels.complete[self._part]
        parts = len(levels.complete)
        self._is_open = ~levels.complete[self._part_of_member]
        self._club = np.where(self._is_open, parts + kind, self._part_of_member)
        self._clubs = parts + len(levels.of_kind)
        readers = levels.readers
        row = ~levels.complete[levels.part_of_topic[readers.topic]]
        self._readers = readers._replace(kind=readers.kind[row], topic=readers.topic[row])
        self._spread = spread and int(readers.members[readers.kind].sum()) <= EXACT_PAIRS

    def decide(self) -> NDArray[np.intp]:
        """The member that gets each partition."""
        holder = self._reading.holder
        fits = (holder >= 0) & (self._part_of_member[holder] == self._part) if len(holder) else holder >= 0
        nobody = np.full(len(holder), -1, np.intp)
        if not fits.any():
            return self._give(nobody, nobody)
        holder = np.where(fits, holder, -1)
        load = self._loads(holder)
        if fits.all() and (load >= self._low).all() and (load <= self._high).all():
            return holder
        return self._give(holder, self._give(nobody, nobody))

    def _loads(self, owner: NDArray[np.intp]) -> NDArray[np.intp]:
        return np.bincount(owner[owner >= 0], minlength=len(self._low))

    def _give(self, holder: NDArray[np.intp], fresh: NDArray[np.intp]) -> NDArray[np.intp]:
        """The member that gets each partition.

        Args:
            holder: the one that had it and may keep it, or -1.
            fresh: the one that would get it from nothing, or -1.
        """
        if self._spread:
            return self._spread_out(holder, fresh)
        owner = np.full(len(holder), -1, np.intp)
        club = self._part.copy()
        rows = np.flatnonzero(~self._open & ((holder >= 0) | (fresh >= 0)))
        if len(rows):
            owner[rows] = self._keep_by_counting(holder[rows], fresh[rows])
        rows = np.flatnonzero(self._open)
        if len(rows):
            owner[rows], club[rows] = self._keep_by_flow(rows, holder[rows], fresh[rows])
        pool = np.flatnonzero(owner < 0)
        owner[pool] = self._fill(club[pool], fresh[pool], self._loads(owner))
        return owner

    def _spread_out(self, holder: NDArray[np.intp], fresh: NDArray[np.intp]) -> NDArray[np.intp]:
        """The same with topics spread as evenly as can be."""
        readers, topic, members = self._levels.readers, self._reading.topic_of, len(self._low)
        of_class = np.argsort(readers.of_member, kind="stable")
        sizes = readers.members[readers.kind]
        member = of_class[ranges((np.cumsum(readers.members) - readers.members)[readers.kind], sizes)]
        keys = np.sort(np.repeat(readers.topic, sizes) * members + member)
        cell_of_holder = np.searchsorted(keys, topic * members + holder)
        cell_of_fresh = np.searchsorted(keys, topic * members + fresh)
        free = (holder < 0) & (fresh >= 0)
        held = np.bincount(cell_of_holder[holder >= 0], minlength=len(keys))
        back = np.bincount(cell_of_fresh[free], minlength=len(keys))
        of_topic, member = np.divmod(keys, members)
        given = spread_topics(
            self._reading.counts, Pairs(member, of_topic, held, back), self._low, self._high
        )

        keeps = np.minimum(given, held)
        gets = np.minimum(given - keeps, back)
        left = given - keeps - gets
        dear = _reluctance(holder, fresh, sums(member, left, members) > 0)
        owner = _granted(holder, fresh, (cell_of_holder, keeps, dear), (cell_of_fresh, gets))
        pool = np.flatnonzero((owner < 0) & (fresh >= 0))
        own = pool[first_of_each(cell_of_fresh[pool], left)]
        owner[own] = fresh[own]
        left -= np.bincount(cell_of_fresh[own], minlength=len(keys))
        owner[owner < 0] = np.repeat(member, left)
        return owner

    def _keep_by_counting(self, holder: NDArray[np.intp], fresh: NDArray[np.intp]) -> NDArray[np.intp]:
        """Who keeps what it has, or gets what nobody has and would be its own from nothing; -1 for nobody."""
        has = self._loads(holder)
        back = self._loads(np.where(holder < 0, fresh, -1))
        # Greater loads go first to those who would lose one more, then to those who would get one less back.
        last = np.where(has >= self._high, 0, np.where(has + back >= self._high, 1, 2))
        parts = len(self._levels.complete)
        greater = np.bincount(self._part, minlength=parts) - sums(self._part_of_member, self._low, parts)
        load = self._low + first_of_each(self._part_of_member, greater, last, levels=3)
        keeps = np.minimum(has, load)
        dear = _reluctance(holder, fresh, load > has + back)
        return _granted(holder, fresh, (holder, keeps, dear), (fresh, load - keeps))

    def _keep_by_flow(
        self, rows: NDArray[np.intp], holder: NDArray[np.intp], fresh: NDArray[np.intp]
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The same for open parts, and the clubs that the others of these partitions go to.

        A move costs more than all that could be gained for it by giving back what nobody has.
        """
        topics, topic = self._readers.topics, self._reading.topic_of[rows]
        held = holder >= 0
        wish = np.where(held, holder, fresh)
        wished = wish >= 0
        # A member that has nothing, as one that has restarted, is the first to get what would be its own.
        newcomer = np.append(self._loads(self._reading.holder) == 0, False)
        heir = np.where(held & newcomer[fresh], fresh, -1)
        members = len(self._low)
        kinds, group, amount = np.unique(
            (((wish * topics + topic) * 2 + held) * (members + 1) + heir + 1)[wished],
            return_inverse=True,
            return_counts=True,
        )
        claim = np.zeros(len(rows), np.intp)
        claim[wished] = group
        kinds, heirs = np.divmod(kinds, members + 1)
        claims = Claims(
            *np.divmod(kinds // 2, topics), amount, np.where(kinds % 2, len(rows) + 1, 1), heirs - 1
        )
        kept = keep(
            np.bincount(topic, minlength=topics),
            self._readers,
            claims,
            np.where(self._is_open, self._low, 0),
            np.where(self._is_open, self._high, 0),
        )
        assert kept is not None, "the levels are loads that some assignment has"
        short = sums(claims.member, kept.amount, members) < self._low
        dear = _reluctance(holder, fresh, short)
        owner = _granted(holder, fresh, (claim, kept.amount, dear), (claim, kept.amount))
        willed = np.flatnonzero((owner < 0) & (heir >= 0))
        willed = willed[first_of_each(claim[willed], kept.inherited)]
        owner[willed] = heir[willed]
        return owner, self._clubs_of_others(np.flatnonzero(owner < 0), topic, fresh, kept.placed)

    def _clubs_of_others(
        self,
        pool: NDArray[np.intp],
        topic: NDArray[np.intp],
        fresh: NDArray[np.intp],
        placed: NDArray[np.int64],
    ) -> NDArray[np.intp]:
        """The club of each partition of a pool, first that of the member that would get it from nothing."""
        kind, readers = self._reading.readers.of_member, self._readers
        chosen = np.full(len(topic), -1, np.intp)
        wished = pool[fresh[pool] >= 0]
        pairs = readers.kind * readers.topics + readers.topic
        pair = np.searchsorted(pairs, kind[fresh[wished]] * readers.topics + topic[wished])
        first = first_of_each(pair, placed)
        chosen[wished[first]] = readers.kind[pair[first]]
        left = placed - np.bincount(pair[first], minlength=len(pairs))
        by_topic = sorted_by(readers.topic)
        chosen[pool[chosen[pool] < 0]] = np.repeat(readers.kind[by_topic], left[by_topic])
        return chosen + len(self._levels.complete)

    def _fill(
        self, club: NDArray[np.intp], fresh: NDArray[np.intp], load: NDArray[np.intp]
    ) -> NDArray[np.intp]:
        """The members of their clubs that get the partitions that nobody keeps.

        Args:
            club: the club of each partition.
            fresh: the member that would get it from nothing, or -1.
            load: how many partitions each member has.
        """
        wishes = np.flatnonzero(fresh >= 0)
        wishes = wishes[self._club[fresh[wishes]] == club[wishes]]
        wished = self._loads(fresh[wishes])
        need = np.maximum(self._low - load, 0)
        greater = np.bincount(club, minlength=self._clubs) - np.bincount(
            self._club, need, self._clubs
        ).astype(np.int64)
        # A member that could get one of its own more goes before others, one that has no room behind all.
        last = np.where(load + need < self._high, np.where(wished > need, 0, 1), 2)
        need += first_of_each(self._club, greater, last, levels=3)
        owner = np.full(len(club), -1, np.intp)
        own = wishes[first_of_each(fresh[wishes], need)]
        owner[own] = fresh[own]
        need -= self._loads(owner)
        # The rest is dealt in rounds, so that a topic's partitions go to different members.
        rest = np.flatnonzero(owner < 0)
        seats = rounds(need)
        owner[rest[sorted_by(club[rest])]] = seats[sorted_by(self._club[seats])]
        return owner


def _reluctance(
    holder: NDArray[np.intp], fresh: NDArray[np.intp], short: NDArray[np.bool_]
) -> NDArray[np.intp]:
    """How readily a member gives each up: last its own from nothing, first those of one that is short."""
    return np.where(fresh == holder, 0, 1 + np.append(short, False)[fresh])


def _granted(
    holder: NDArray[np.intp],
    fresh: NDArray[np.intp],
    keeps: tuple[NDArray[np.intp], NDArray[np.int64], NDArray[np.intp]],
    gets: tuple[NDArray[np.intp], NDArray[np.int64]],
) -> NDArray[np.intp]:
    """Who keeps what it has, or gets what would be its own from nothing and nobody has; -1 for nobody.

    Args:
        holder: the member that has each partition, or -1.
        fresh: the one that would get it from nothing, or -1.
        keeps: of each partition that somebody has the group, how many of each group are kept, and which are
            given up last.
        gets: of each other partition the group, and how many of each group are given.
    """
    owner = np.full(len(holder), -1, np.intp)
    group, quota, dear = keeps
    held = np.flatnonzero(holder >= 0)
    held = held[first_of_each(group[held], quota, dear[held], levels=3)]
    owner[held] = holder[held]
    group, quota = gets
    free = np.flatnonzero((holder < 0) & (fresh >= 0))
    free = free[first_of_each(group[free], quota)]
    owner[free] = fresh[free]
    return owner
