"""Decides the owner of each partition: best loads first, then fewest moves, then the empty group's answer.

Index spaces, the same in the whole file: a partition is a row of the arrays `holder`, `fresh` and `owner`
(its flat index, `NumberedGroup.starts[topic] + number`); a member is an index into `NumberedGroup.members`,
and -1 stands for no member; a topic is an index into `NumberedGroup.topics`, or a kind of `Kinds` if racks
matter. Three arrays say what may become of a partition: `holder` is the member that had it and may keep it,
`fresh` the member that would get it if no member had any partition, `owner` the member that gets it.
"""

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assignors.columnar.filling import turns
from assignors.optimal.keeping import KeepingProblem, RankedClaims
from assignors.optimal.levels import find_levels
from assignors.optimal.network import UNLIMITED, Arcs, Network
from assignors.optimal.racks import Kinds
from assignors.optimal.reading import NumberedGroup
from partitioning.errors import InvalidGroupError
from partitioning.kit.columns import first_of_each, group_by_keys, in_order, range_numbers, sorted_by, sums


class Pairs(NamedTuple):
    """Lists each member beside each topic it may get, one pair a row, and the bounds that must be met.

    Rows are ordered by topic, then by member. `member`, `topic`, `held` and `back` have a value for each
    pair, `size` for each topic, `low` and `high` for each member. All counts are partitions.

    Attributes:
        member: the member of each pair.
        topic: the topic of each pair.
        held: partitions of the topic that the member had and may keep.
        back: unowned partitions of the topic that the member would get if the group started empty.
        size: partitions of each topic; all of them must find a member.
        low: the least load of each member.
        high: the greatest load of each member, `low + 1` or `low`.
        before_moves: True if even topics are worth moves; False if a move costs more than any unevenness.
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
    """Return how many partitions each pair gets, int64 of shape (pairs,).

    The n-th partition of a topic at a member costs `2 n - 1`, so n of them cost `n * n` together, and the sum
    is least if the topic is spread evenly. A partition that stays with its member costs less: much less, or
    with `before_moves` a little less. First each topic is placed as if loads did not matter; then a
    minimum-cost flow moves what is too much at one member to others.

    A pair has one arc for each of the `window` partitions below and above its start, and one arc each way for
    all partitions beyond that. The price of an arc beyond is right for its first unit only.
    """
    start, window = _evenly(pairs), 2
    # The answer is exact if no arc beyond the window carries a second unit. Otherwise a wider window decides.
    while True:
        amounts, enough = _flow(pairs, start, window)
        if enough:
            return amounts
        window *= 4


def _evenly(pairs: Pairs) -> NDArray[np.int64]:
    """Return how many partitions each pair gets if members had no bounds on their loads.

    Each topic is filled up to the highest level that fits its size. Without `before_moves` a pair never gets
    less than it held, because no evenness is worth a move. The sum over a topic's pairs is its size.
    """
    size, topics = pairs.size, len(pairs.size)
    certain = np.zeros_like(pairs.held) if pairs.before_moves else pairs.held
    least, most = np.zeros(topics, np.int64), size + 1
    # Search by halving for the highest level that each topic's partitions can fill: `least` fits, `most` does
    # not.
    while (most - least > 1).any():
        level = (least + most) // 2
        fits = sums(pairs.topic, np.maximum(certain, level[pairs.topic]), topics) <= size
        least, most = np.where(fits, level, least), np.where(fits, most, level)
    level = least[pairs.topic]
    levels = np.maximum(certain, level)
    # Who gets the rest, one partition each, lowest rank first: pairs that would lose a partition (0), pairs
    # that would get an unowned one back (1), others (2). A pair above the level has its share already (3).
    last = np.where(levels < pairs.held, 0, np.where(levels < pairs.held + pairs.back, 1, 2))
    last[levels > level] = 3
    return levels + first_of_each(pairs.topic, size - sums(pairs.topic, levels, topics), last, levels=4)


def _flow(pairs: Pairs, start: NDArray[np.int64], window: int) -> tuple[NDArray[np.int64], bool]:
    """Return how many partitions each pair gets, and whether the window had arcs enough to be exact.

    Nodes are the topics, then the members, then the sink of all loads. A pair is an arc from its topic to its
    member; a member's arc to the sink keeps its load between `low` and `high`.
    """
    size, low, high = pairs.size, pairs.low, pairs.high
    topics, members = len(size), len(low)
    # Three wishes share one integer cost, so that the weaker ones never outweigh the stronger. The weakest,
    # 1, is to give an unowned partition to its `fresh` member. No path has more than `longest` arcs, so a
    # factor above `longest` times the weaker cost is enough: own < evenness < move, or own < move < evenness.
    longest = 2 * (topics + members) + 2
    if pairs.before_moves:
        move = longest + 1
        even = move * (longest + 1)
    else:
        even = longest + 1
        move = even * longest * (2 * int(size.max(initial=0)) + 2)

    def cost(number: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the cost of each pair's `number`-th partition, counted from 1."""
        kept, own = number <= pairs.held, number <= pairs.held + pairs.back
        return even * (2 * number - 1) - np.where(kept, move, np.where(own, 1, 0))

    tail, head = pairs.topic, topics + pairs.member
    rows, arcs = [], []
    # Steps up to 0 are partitions that the pair has at the start: their flow can only be taken back.
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

    # A load beyond its bounds is an excess (or a lack) at the member's node, which the flow takes away.
    load = sums(pairs.member, start, members)
    counted = np.clip(load, low, high)
    everyone = np.full(members, topics + members)
    arcs.append(Arcs.of(topics + np.arange(members), everyone, high - counted, counted - low))
    excess = np.concatenate([np.zeros(topics, np.int64), load - counted, [counted.sum() - size.sum()]])
    # Arcs can cost less than 0 (a partition that stays). With the cheapest next partition of a topic as its
    # potential no arc does, which the network needs for its first search.
    potential = np.zeros(len(excess), np.int64)
    potential[:topics] = np.iinfo(np.int64).max
    np.minimum.at(potential, pairs.topic, cost(start + 1))
    network = Network(excess, arcs, potential)
    network.flow()
    assert not network.excess.any(), "the levels are loads that some assignment has"

    # `rows` has no entry for the arcs to the sink: they are the last piece, which `zip` leaves out.
    used_now = np.split(network.flow_by_arc(), np.cumsum([len(arcs) for arcs in rows]))
    amounts = start.copy()
    for row, now, arc in zip(rows, used_now, arcs, strict=False):
        amounts[row] += now - arc.used
    return amounts, bool((used_now[-3] >= below[some] - 1).all() and (used_now[-2] <= 1).all())


EXACT_PAIRS = 20_000
"""The most pairs of a member and a topic that it may get for which `spread` is exact; beyond, it is rough."""


class Task:
    """One group and its best loads; `decide` answers who owns what. A task never changes after `__init__`.

    Part: a piece of the group with best loads of its own (`Levels`). If all members of a part may get all of
    its partitions, the part is complete and counting is enough. Other parts are open, and a flow decides
    there. If racks matter, a part with a member that can be far from a partition is open, too.

    Club: members that may get the same partitions. The members of a complete part are one club, with the
    part's number; in open parts each class of members is a club, `parts + class`.

    Args:
        reading: the group in numbers.
        spread: True if topics are spread over members as evenly as the fewest moves allow; "before-moves" if
            even topics are worth moves. True has no effect if racks matter, or if there are more than
            `EXACT_PAIRS` pairs of a member and a topic.
        near: the members that are far from each kind of partition; None if racks do not matter.
        near_first: True if fewer far partitions are worth more moves.

    Raises:
        InvalidGroupError: `spread` is "before-moves", and racks matter or there are too many pairs.
    """

    def __init__(
        self,
        reading: NumberedGroup,
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
        # Below, `kind` is the class of each member; `_high`, `_low` and `_club` have a value for each member.
        kind = all_readers.of_member
        self._high = levels.of_kind[kind]
        self._low = np.maximum(self._high - 1, 0)
        self._part = levels.part_of_topic[self._topic]
        self._part_of_member = levels.part_of_kind[kind]
        parts = len(levels.complete)
        self._is_open = ~levels.complete[self._part_of_member]
        self._club = np.where(self._is_open, parts + kind, self._part_of_member)
        self._clubs = parts + len(levels.of_kind)
        # The flow sees the readers of open parts only.
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
        """Return the member that gets each partition, intp of shape (partitions,), none -1."""
        holder = self._holder
        # A holder from another part cannot keep the partition: a topic belongs to the readers of its part
        # only.
        if len(self._levels.complete) > 1:
            holder = np.where((holder >= 0) & (self._part_of_member[holder] == self._part), holder, -1)
        held = holder >= 0
        if not held.any():
            return self._from_nothing()
        load = self._loads(holder)
        # Every partition has an owner and loads are the best: nothing moves, and no flow has to be solved.
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
        """Return the member that gets each partition if no member had any, in `fresh`'s meaning.

        The answer depends on no history, so a member that restarts gets the same partitions again.
        """
        nobody = np.full(len(self._holder), -1, np.intp)
        if self._spread or not self._levels.complete.all():
            return self._give(nobody, nobody)
        return self._fill(self._part, nobody, np.zeros(len(self._low), np.intp))

    def _can_be_nearer(self) -> bool:
        """Return whether a partition is far from its holder, and nearness is worth moves (`near_first`)."""
        return self._near is not None and self._near_first and bool(self._near.far_from(self._holder).any())

    def _loads(self, owner: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return how many of these partitions each member owns; an owner of -1 counts for no member."""
        return np.bincount(owner + 1, minlength=len(self._low) + 1)[1:]

    def _give(self, holder: NDArray[np.intp], fresh: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the member that gets each partition, given its `holder` and its `fresh` member, -1 for none.

        Members keep first; then the pool of partitions without an owner is filled in, club by club.
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
        """Return the owner of each partition so far, -1 for the pool, and the club of each in the pool.

        Complete parts are decided by counting and open parts by a flow; the clubs of open parts follow from
        the flow too, because loads are the best only if each class gets as many partitions as the flow says.
        """
        owner, club = np.full(len(holder), -1, np.intp), self._part.copy()
        is_open = ~self._levels.complete[self._part]
        rows = np.flatnonzero(~is_open)
        if len(rows):
            owner[rows] = self._keep_by_counting(holder[rows], fresh[rows])
        rows = np.flatnonzero(is_open)
        owner[rows], club[rows] = self._keep_by_flow(rows, holder[rows], fresh[rows])
        return owner, club

    def _spread_out(self, holder: NDArray[np.intp], fresh: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the member that gets each partition, with topics spread as evenly as bounds and moves allow.

        A cell is one (topic, member) pair that may be used, numbered in the order of `Pairs`. `holder` and
        `fresh` are as in `_give`.
        """
        readers, topic, members = self._levels.readers, self._topic, len(self._low)
        of_class = np.argsort(readers.of_member, kind="stable")
        sizes = readers.members[readers.kind]
        member = of_class[range_numbers((np.cumsum(readers.members) - readers.members)[readers.kind], sizes)]
        # A cell's key is `topic * members + member`; a holder of -1 finds some cell, which its mask leaves
        # out.
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
        # What a pair gets beyond what it keeps and gets back comes from other members, who give up a
        # partition.
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
        """Return the owner of each partition of complete parts, -1 for those that still go to the pool.

        A member keeps what it held, up to its load, and gets unowned partitions back of which it is the
        `fresh` member, up to its load too. The rows are partitions of complete parts only.
        """
        has = self._loads(holder)
        back = self._loads(fresh[holder < 0])
        # The members that get `high` instead of `low`: first those that would otherwise give up one more
        # partition (0), then those that would otherwise get back one fewer (1), then others (2).
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
        """Return the owner of each partition of open parts, -1 for the pool, and the clubs of the pool.

        `rows` are the partitions; `holder` and `fresh` have their values in the same order. Costs have three
        orders of magnitude, `unit` apart, so that no number of weaker gains outweighs a stronger loss: to
        give an unowned partition back to its `fresh` member (1); then a move and a far owner (`unit` and
        `unit**2`), in the order that `near_first` says.
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
        # A member without partitions has probably restarted. A holder that has to give up a partition gives
        # it to such an heir first. The appended False answers for a `fresh` of -1.
        newcomer = np.append(self._loads(self._holder) == 0, False)
        heir = np.where(held & newcomer[fresh], fresh, -1)
        members = len(self._low)
        # Partitions of one topic with the same heir and the same member to keep them are one claim: the flow
        # is as large as the number of claims, not of partitions.
        alike, starts, amount = group_by_keys(np.flatnonzero(wish >= 0), heir + 1, topic * 2 + held, wish)
        claim = np.zeros(len(rows), np.intp)
        claim[alike] = np.repeat(np.arange(len(starts)), amount)
        one = alike[starts]
        claims = RankedClaims(wish[one], topic[one], amount, np.where(held[one], move, 1), heir[one])
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
        """Return the club of each partition in `pool`: that of its `fresh` member as far as the flow allows.

        `placed` is how many of a topic's partitions the flow sends to a class, one row of the readers each;
        `topic`, `fresh` and the answer have a value for each partition of open parts.
        """
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
        """Return the member that gets each partition of the pool: a member of the club it goes to.

        `club` and `fresh` have a value for each partition of the pool, `load` for each member: how many it
        has already. The number of partitions for a club is what its members lack, so that all loads end
        between `low` and `high`. A partition goes to its `fresh` member if that one still needs it.
        """
        wishes = np.flatnonzero(fresh >= 0)
        wishes = wishes[self._club[fresh[wishes]] == club[wishes]]
        wished = self._loads(fresh[wishes])
        need = np.maximum(self._low - load, 0)
        greater = np.bincount(club, minlength=self._clubs) - np.bincount(
            self._club, need, self._clubs
        ).astype(np.int64)
        # The members that get `high` instead of `low`: first those that would get one more of their `fresh`
        # partitions (0), then others with room (1). Members without room are last (2), and never chosen.
        last = np.where(load + need < self._high, np.where(wished > need, 0, 1), 2)
        need += first_of_each(self._club, greater, last, levels=3)
        owner = np.full(len(club), -1, np.intp)
        own = wishes[first_of_each(fresh[wishes], need)]
        owner[own] = fresh[own]
        need -= self._loads(fresh[own])
        # The rest goes round the members, one partition each, so that a topic's partitions, which are
        # neighbours, go to different members.
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
    """Return the owner of each partition after quotas are granted, -1 for partitions that no quota covers.

    A group is a set of partitions that a quota counts together, such as those of one holder. A member gives
    up last the partitions of which it is the `fresh` member, and first those whose `fresh` member is short:
    so most partitions end where an empty group would put them.

    Args:
        holder: the member that has each partition and may keep it; -1 for none.
        fresh: the member that would get each partition if no member had any; -1 for none.
        keeps: for partitions with a holder: the group of each, the size of each group, and how many
            partitions of each group are kept.
        gets: for partitions without: the group of each, and how many of each group `fresh` members get.
        short: True for members that get fewer partitions of their own back than they need.
    """
    owner = holder.copy()
    held = holder >= 0
    group, amount, quota = keeps
    loses = amount > quota
    if loses.any():
        # Only members above their quota have to choose. A `fresh` of -1 reads the appended False: not short.
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
