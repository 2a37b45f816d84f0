"""Decides who gets what: best loads first, then fewest moves, then what an empty group would get."""

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assignors.columnar.filling import turns
from assignors.optimal.keeping import Claims, KeepingProblem
from assignors.optimal.levels import find_levels
from assignors.optimal.network import UNLIMITED, Arcs, Network
from assignors.optimal.racks import Kinds
from assignors.optimal.reading import Reading
from partitioning.errors import InvalidGroupError
from partitioning.kit.columns import first_of_each, groups, in_order, ranges, sorted_by, sums


class Pairs(NamedTuple):
    """A member and a topic it may get in each row, ordered by topic; and what topics and members must have.

    `held` is how many of the topic's partitions the member had; `back` is how many partitions that nobody had
    would be its own from nothing. Topics have `size` partitions, and loads are between `low` and `high`. With
    `before_moves` topics are spread evenly first, and moves are counted second.
    """

    member: NDArray[np.intp]
    topic: NDArray[np.intp]
    held: NDArray[np.int64]
    back: NDArray[np.int64]
    size: NDArray[np.int64]
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    before_moves: bool


def spread_topics(pairs: Pairs) -> NDArray[np.int64]:
    """Return how many partitions each pair gets.

    The n-th partition of a topic at a member costs `2 n - 1`, so that together they cost its square, and much
    less if it stays there, or with `before_moves` a little less. Topics first go where they are cheapest,
    each on its own; then a flow sends what is too much at one member to others. A pair has an arc for each of
    the partitions around what it has, and one each way for all others, which may be used once; if that is not
    enough, there are more.
    """
    start, window = _evenly(pairs), 2
    while True:
        amounts, enough = _flow(pairs, start, window)
        if enough:
            return amounts
        window *= 4


def _evenly(pairs: Pairs) -> NDArray[np.int64]:
    """Return what each pair gets if loads do not matter; what it had for certain, but with `before_moves`."""
    size, topics = pairs.size, len(pairs.size)
    certain = np.zeros_like(pairs.held) if pairs.before_moves else pairs.held
    least, most = np.zeros(topics, np.int64), size + 1
    while (most - least > 1).any():  # up to which level each topic can be filled
        level = (least + most) // 2
        fits = sums(pairs.topic, np.maximum(certain, level[pairs.topic]), topics) <= size
        least, most = np.where(fits, level, least), np.where(fits, most, level)
    level = least[pairs.topic]
    levels = np.maximum(certain, level)
    last = np.where(levels < pairs.held, 0, np.where(levels < pairs.held + pairs.back, 1, 2))
    last[levels > level] = 3
    return levels + first_of_each(pairs.topic, size - sums(pairs.topic, levels, topics), last, levels=4)


def _flow(pairs: Pairs, start: NDArray[np.int64], window: int) -> tuple[NDArray[np.int64], bool]:
    """Return how many partitions each pair gets, and whether there were arcs enough for that."""
    size, low, high = pairs.size, pairs.low, pairs.high
    topics, members = len(size), len(low)
    # On a way through all nodes what was its own counts less than evenness, and that less than one move; or
    # less than one move, and all moves of the way less than evenness.
    longest = 2 * (topics + members) + 2
    if pairs.before_moves:
        move = longest + 1
        even = move * (longest + 1)
    else:
        even = longest + 1
        move = even * longest * (2 * int(size.max(initial=0)) + 2)

    def cost(number: NDArray[np.int64]) -> NDArray[np.int64]:
        kept, own = number <= pairs.held, number <= pairs.held + pairs.back
        return even * (2 * number - 1) - np.where(kept, move, np.where(own, 1, 0))

    tail, head = pairs.topic, topics + pairs.member
    rows, arcs = [], []
    for step in range(1 - window, window + 1):
        number = start + step
        real = np.flatnonzero(number > 0)
        used = int(step <= 0)
        rows.append(real)
        arcs.append(Arcs.of(tail[real], head[real], 1 - used, used, cost(number)[real]))
    below = start - window
    some = np.flatnonzero(below > 0)
    arcs.append(Arcs.of(tail[some], head[some], 0, below[some], cost(below)[some]))
    arcs.append(Arcs.of(tail, head, UNLIMITED, 0, cost(start + window + 1)))
    rows += [some, np.arange(len(start))]

    load = sums(pairs.member, start, members)
    counted = np.clip(load, low, high)
    everyone = np.full(members, topics + members)
    arcs.append(Arcs.of(topics + np.arange(members), everyone, high - counted, counted - low))
    excess = np.concatenate([np.zeros(topics, np.int64), load - counted, [counted.sum() - size.sum()]])
    potential = np.zeros(len(excess), np.int64)
    potential[:topics] = np.iinfo(np.int64).max
    np.minimum.at(potential, pairs.topic, cost(start + 1))
    network = Network(excess, arcs, potential)
    network.flow()
    assert not network.excess.any(), "the levels are loads that some assignment has"

    used_now = np.split(network.flow_by_arc(), np.cumsum([len(arcs) for arcs in rows]))
    amounts = start.copy()
    for row, now, arc in zip(rows, used_now, arcs, strict=False):
        amounts[row] += now - arc.used
    return amounts, bool((used_now[-3] >= below[some] - 1).all() and (used_now[-2] <= 1).all())


EXACT_PAIRS = 20_000
"""Up to how many pairs of a member and a topic that it may get topics are spread as evenly as can be."""


class Task:
    """A group with what its best loads are.

    Its parts are those of the levels. Where all members of a part may get all of its partitions, counting is
    enough; about the others, which are open, a flow decides. Members are in one club if they may get the same
    partitions. Where racks matter, everything here that is said of topics is done with kinds, and parts with
    members that can be far from a partition are open, too.

    `near` says who is far from what, None if racks do not matter; `near_first`: fewer far partitions are
    worth more moves. `spread` has no effect where racks matter or there are too many pairs; "before-moves"
    raises InvalidGroupError then.
    """

    def __init__(
        self,
        reading: Reading,
        *,
        spread: bool | Literal["before-moves"] = True,
        near: Kinds | None = None,
        near_first: bool = False,
    ) -> None:
        self._holder = reading.holder
        self._near, self._near_first = near, near_first
        self._size, self._topic = reading.counts, reading.topic_of
        all_readers = reading.readers
        if near is not None:
            self._size, self._topic, all_readers = near.size, near.of_partition, near.readers
        self._levels = levels = find_levels(self._size, all_readers)
        if near is not None:
            far = near.far(levels.readers.topic, levels.readers.kind)
            levels.complete[levels.part_of_topic[levels.readers.topic[far]]] = False
        kind = all_readers.of_member
        self._high = levels.of_kind[kind]
        self._low = np.maximum(self._high - 1, 0)
        self._part = levels.part_of_topic[self._topic]
        self._part_of_member = levels.part_of_kind[kind]
        parts = len(levels.complete)
        self._is_open = ~levels.complete[self._part_of_member]
        self._club = np.where(self._is_open, parts + kind, self._part_of_member)
        self._clubs = parts + len(levels.of_kind)
        readers = levels.readers
        row = ~levels.complete[levels.part_of_topic[readers.topic]]
        self._readers = readers._replace(kind=readers.kind[row], topic=readers.topic[row])
        pairs = int(readers.members[readers.kind].sum())
        self._spread = bool(spread) and near is None and pairs <= EXACT_PAIRS
        self._spread_first = spread == "before-moves"
        if self._spread_first and not self._spread:
            raise InvalidGroupError(
                f"spread='before-moves' takes up to {EXACT_PAIRS:,} pairs of a member and a topic that it "
                f"reads; this group has {pairs:,}; pass spread=True"
                if near is None
                else "spread='before-moves' is not exact where members can be far from what they read; "
                "pass racks='ignore', or spread=True"
            )

    def decide(self) -> NDArray[np.intp]:
        """Return the member that gets each partition."""
        holder = self._holder
        if len(self._levels.complete) > 1:
            holder = np.where((holder >= 0) & (self._part_of_member[holder] == self._part), holder, -1)
        held = holder >= 0
        if not held.any():
            return self._from_nothing()
        load = self._loads(holder)
        if (
            held.all()
            and (load >= self._low).all()
            and (load <= self._high).all()
            and not self._can_be_nearer()
            and not self._spread_first
        ):
            return holder
        return self._give(holder, self._from_nothing())

    def _from_nothing(self) -> NDArray[np.intp]:
        """Return the member that gets each partition if nobody had any."""
        nobody = np.full(len(self._holder), -1, np.intp)
        if self._spread or not self._levels.complete.all():
            return self._give(nobody, nobody)
        return self._fill(self._part, nobody, np.zeros(len(self._low), np.intp))

    def _can_be_nearer(self) -> bool:
        """Return whether moves are worth it although loads are the best, because owners are far."""
        return self._near is not None and self._near_first and bool(self._near.far_from(self._holder).any())

    def _loads(self, owner: NDArray[np.intp]) -> NDArray[np.intp]:
        return np.bincount(owner + 1, minlength=len(self._low) + 1)[1:]

    def _give(self, holder: NDArray[np.intp], fresh: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the member that gets each partition.

        `holder` had it and may keep it, `fresh` would get it from nothing; -1 for nobody.
        """
        if self._spread:
            return self._spread_out(holder, fresh)
        if self._levels.complete.all():
            owner, club = self._keep_by_counting(holder, fresh), self._part
        else:
            owner, club = self._keep_in_parts(holder, fresh)
        pool = np.flatnonzero(owner < 0)
        owner[pool] = self._fill(club[pool], fresh[pool], self._loads(owner))
        return owner

    def _keep_in_parts(
        self, holder: NDArray[np.intp], fresh: NDArray[np.intp]
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return who keeps what it has or gets its share of an empty group, and the clubs of the others."""
        owner, club = np.full(len(holder), -1, np.intp), self._part.copy()
        is_open = ~self._levels.complete[self._part]
        rows = np.flatnonzero(~is_open)
        if len(rows):
            owner[rows] = self._keep_by_counting(holder[rows], fresh[rows])
        rows = np.flatnonzero(is_open)
        owner[rows], club[rows] = self._keep_by_flow(rows, holder[rows], fresh[rows])
        return owner, club

    def _spread_out(self, holder: NDArray[np.intp], fresh: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the member that gets each partition, topics being spread as evenly as can be."""
        readers, topic, members = self._levels.readers, self._topic, len(self._low)
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
        loads = self._size, self._low, self._high
        amounts = spread_topics(Pairs(member, of_topic, held, back, *loads, self._spread_first))
        keeps = np.minimum(amounts, held)
        gets = np.minimum(amounts - keeps, back)
        left = amounts - keeps - gets
        short = sums(member, left, members) > 0
        owner = _grant(holder, fresh, (cell_of_holder, held, keeps), (cell_of_fresh, gets), short)
        pool = np.flatnonzero((owner < 0) & (fresh >= 0))
        own = pool[first_of_each(cell_of_fresh[pool], left)]
        owner[own] = fresh[own]
        left -= np.bincount(cell_of_fresh[own], minlength=len(keys))
        owner[owner < 0] = np.repeat(member, left)
        return owner

    def _keep_by_counting(self, holder: NDArray[np.intp], fresh: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return who keeps what it has, or gets what nobody has and would be its own from nothing.

        -1 for nobody.
        """
        has = self._loads(holder)
        back = self._loads(fresh[holder < 0])
        # Greater loads go first to those who would lose one more, then to those who would get one less back.
        last = np.where(has >= self._high, 0, np.where(has + back >= self._high, 1, 2))
        parts = len(self._levels.complete)
        greater = sums(self._levels.part_of_topic, self._size, parts) - sums(
            self._part_of_member, self._low, parts
        )
        load = self._low + first_of_each(self._part_of_member, greater, last, levels=3)
        keeps = np.minimum(has, load)
        return _grant(holder, fresh, (holder, has, keeps), (fresh, load - keeps), load > has + back)

    def _keep_by_flow(
        self, rows: NDArray[np.intp], holder: NDArray[np.intp], fresh: NDArray[np.intp]
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return who keeps or gets back what in open parts, and the clubs that other partitions go to.

        A move costs more than all that could be gained for it by giving back what nobody has. An owner that
        is far costs more than that, too, and less than a move, or more than all moves.
        """
        topics, topic = self._readers.topics, self._topic[rows]
        unit = len(rows) + 1
        move, far = (unit, unit**2) if self._near_first else (unit**2, unit)
        giving = None
        if self._near is None:
            move = unit
        else:
            giving = np.where(self._near.far(self._readers.topic, self._readers.kind), far, 0)
        held = holder >= 0
        wish = np.where(held, holder, fresh)
        # A member that has nothing, as one that has restarted, is the first to get what would be its own.
        newcomer = np.append(self._loads(self._holder) == 0, False)
        heir = np.where(held & newcomer[fresh], fresh, -1)
        members = len(self._low)
        alike, starts, amount = groups(np.flatnonzero(wish >= 0), heir + 1, topic * 2 + held, wish)
        claim = np.zeros(len(rows), np.intp)
        claim[alike] = np.repeat(np.arange(len(starts)), amount)
        one = alike[starts]
        claims = Claims(wish[one], topic[one], amount, np.where(held[one], move, 1), heir[one])
        kept = KeepingProblem(
            np.bincount(topic, minlength=topics),
            self._readers,
            claims,
            np.where(self._is_open, self._low, 0),
            np.where(self._is_open, self._high, 0),
            giving,
        ).solve()
        assert kept is not None, "the levels are loads that some assignment has"
        short = sums(claims.member, kept.amount, members) < self._low
        owner = _grant(holder, fresh, (claim, amount, kept.amount), (claim, kept.amount), short)
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
        """Return each pool partition's club, first of the member that would get it in an empty group."""
        kind, readers = self._readers.of_member, self._readers
        chosen = np.full(len(topic), -1, np.intp)
        wished = pool[fresh[pool] >= 0]
        pairs = readers.kind * readers.topics + readers.topic
        pair = np.searchsorted(pairs, kind[fresh[wished]] * readers.topics + topic[wished])
        first = first_of_each(pair, placed)
        chosen[wished[first]] = readers.kind[pair[first]]
        left = placed - np.bincount(pair[first], minlength=len(pairs))
        by_topic = sorted_by(readers.topic)
        rest = pool[chosen[pool] < 0]
        chosen[in_order(rest, topic[rest])] = np.repeat(readers.kind[by_topic], left[by_topic])
        return chosen + len(self._levels.complete)

    def _fill(
        self, club: NDArray[np.intp], fresh: NDArray[np.intp], load: NDArray[np.intp]
    ) -> NDArray[np.intp]:
        """Return the members of their clubs that get the partitions nobody keeps, the `fresh` ones first."""
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
        need -= self._loads(fresh[own])
        # The rest is dealt in rounds, so that a topic's partitions go to different members.
        rest = np.flatnonzero(owner < 0)
        seats = turns(need)
        owner[in_order(rest, club[rest])] = in_order(seats, self._club[seats])
        return owner


def _grant(
    holder: NDArray[np.intp],
    fresh: NDArray[np.intp],
    keeps: tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.int64]],
    gets: tuple[NDArray[np.intp], NDArray[np.int64]],
    short: NDArray[np.bool_],
) -> NDArray[np.intp]:
    """Return who keeps what it has, or gets what would be its own from nothing and nobody has; -1 for nobody.

    A member gives up last what would be its own from nothing, and first what would be of one that is short.

    `holder` is the member that has each partition, `fresh` the member that would get the partition if nobody
    had any; -1 is nobody. `keeps` is about partitions with a holder: the group of each, the size of each
    group, and how many of each group are kept. `gets` is about the others: the group of each, and how many of
    each group are given. `short` marks members that get fewer of their own partitions back than they need.
    """
    owner = holder.copy()
    held = holder >= 0
    group, amount, quota = keeps
    loses = amount > quota
    if loses.any():
        doubt = np.flatnonzero(loses[group] & held)
        heir = fresh[doubt]
        reluctance = np.where(heir == holder[doubt], 0, 1 + np.append(short, False)[heir])
        owner[doubt[~first_of_each(group[doubt], quota, reluctance, levels=3)]] = -1
    group, quota = gets
    free = np.flatnonzero(~held)
    free = free[fresh[free] >= 0]
    free = free[first_of_each(group[free], quota)]
    owner[free] = fresh[free]
    return owner
