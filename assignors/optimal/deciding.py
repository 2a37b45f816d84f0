"""Decides the owner of each partition, with the best loads and the fewest moves.

If several owners are equally good, a partition goes to the member that would get it if no member had any
partition.

Index spaces, the same in the whole file: a partition is a row of the arrays `holder`, `fresh` and `owner`
(its flat index, `NumberedGroup.starts[topic] + number`); a member is an index into `NumberedGroup.members`,
and -1 stands for no member; a topic is an index into `NumberedGroup.topics`, or a kind of `Kinds` if racks
matter. Three arrays have a member for each partition: `holder` is the member that had the partition and may
keep it, `fresh` the member that would get it if no member had any partition, `owner` the member that gets it.
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
    """Lists the pairs of a member and a topic that it may get, with the bounds on each member's load.

    Rows are ordered by topic, then by member. `member`, `topic`, `held` and `back` have a value for each
    pair, `size` for each topic, `low` and `high` for each member. All counts are partitions.

    Attributes:
        member: the member of each pair.
        topic: the topic of each pair.
        held: partitions of the topic that the member had and may keep.
        back: unowned partitions of the topic that the member would get if no member had any partition.
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
    minimum-cost flow moves partitions away from members whose loads are too great.

    The flow starts from the numbers of this first placement. A pair has one arc for each of the `window`
    partitions below its number and for each of the `window` above it. One more arc in each direction stands
    for all partitions farther away. The cost of those two arcs is right for their first unit only.
    """
    start, window = _evenly(pairs), 2
    # The answer is exact if neither of the two outer arcs of a pair carries a second unit. If one does, its
    # cost was too low, and the flow is solved again with a wider window.
    while True:
        amounts, enough = _flow(pairs, start, window)
        if enough:
            return amounts
        window *= 4


def _evenly(pairs: Pairs) -> NDArray[np.int64]:
    """Return how many partitions each pair would get if loads had no bounds, int64 of shape (pairs,).

    Each topic is filled up to the highest level that fits its size. Without `before_moves` a pair never gets
    fewer partitions than it held, because even topics are not worth a move then. The sum over a topic's pairs
    is the topic's size.
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
    # The rest of a topic goes to its pairs, one partition each, the lowest rank first: pairs that would lose
    # a partition (0), pairs that would get an unowned one back (1), then others (2). A pair above the level
    # has more than its share already and comes last (3).
    last = np.where(levels < pairs.held, 0, np.where(levels < pairs.held + pairs.back, 1, 2))
    last[levels > level] = 3
    return levels + first_of_each(pairs.topic, size - sums(pairs.topic, levels, topics), last, levels=4)


def _flow(pairs: Pairs, start: NDArray[np.int64], window: int) -> tuple[NDArray[np.int64], bool]:
    """Return how many partitions each pair gets, and whether the window was wide enough to be exact.

    Nodes are the topics, then the members, then the sink of all loads. A pair is an arc from its topic to its
    member; a member's arc to the sink keeps its load between `low` and `high`.
    """
    size, low, high = pairs.size, pairs.low, pairs.high
    topics, members = len(size), len(low)
    # Three goals share one integer cost, and a weaker goal must never outweigh a stronger one. The weakest
    # goal has weight 1: an unowned partition goes to its `fresh` member. No path has more than `longest`
    # arcs, so each goal weighs more than `longest` times the next weaker one. The order is own < evenness <
    # move, or own < move < evenness with `before_moves`.
    longest = 2 * (topics + members) + 2
    if pairs.before_moves:
        move = longest + 1
        even = move * (longest + 1)
    else:
        even = longest + 1
        move = even * longest * (2 * int(size.max(initial=0)) + 2)

    def cost(number: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the cost of the `number`-th partition of each pair, counted from 1; shape (pairs,)."""
        kept, own = number <= pairs.held, number <= pairs.held + pairs.back
        return even * (2 * number - 1) - np.where(kept, move, np.where(own, 1, 0))

    tail, head = pairs.topic, topics + pairs.member
    rows, arcs = [], []
    # The partitions at steps up to 0 are those that a pair has at the start. Their arcs are full: flow can
    # only be taken back from them.
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

    # A load outside its bounds becomes an excess at the member's node (a negative one if the load is too
    # small), and the flow removes it.
    load = sums(pairs.member, start, members)
    counted = np.clip(load, low, high)
    everyone = np.full(members, topics + members)
    arcs.append(Arcs.of(topics + np.arange(members), everyone, high - counted, counted - low))
    excess = np.concatenate([np.zeros(topics, np.int64), load - counted, [counted.sum() - size.sum()]])
    # An arc for a partition that stays can have a negative cost, which `Network` does not allow in its first
    # search. With the cost of a topic's cheapest next partition as the topic's potential, no reduced cost is
    # negative.
    potential = np.zeros(len(excess), np.int64)
    potential[:topics] = np.iinfo(np.int64).max
    np.minimum.at(potential, pairs.topic, cost(start + 1))
    network = Network(excess, arcs, potential)
    network.flow()
    assert not network.excess.any(), "the levels are loads that some assignment has"

    # `rows` has no entry for the arcs to the sink. These are the last piece of the flow, and `zip` drops it.
    used_now = np.split(network.flow_by_arc(), np.cumsum([len(arcs) for arcs in rows]))
    amounts = start.copy()
    for row, now, arc in zip(rows, used_now, arcs, strict=False):
        amounts[row] += now - arc.used
    return amounts, bool((used_now[-3] >= below[some] - 1).all() and (used_now[-2] <= 1).all())


EXACT_PAIRS = 20_000
"""`spread` is exact in groups with at most this many pairs of a member and a topic that the member may get.

In larger groups topics are spread roughly, because the time of the exact flow grows with the pairs.
"""


class Task:
    """Holds one group and its best loads; `decide` returns the owner of each partition.

    A task never changes after `__init__`.

    A part is a piece of the group whose best loads do not depend on the other pieces (`Levels`). A part is
    complete if all of its members may get all of its partitions; counting is enough there. Every other part
    is open, and a flow decides there. If racks matter, a part is also open if one of its members can be far
    from one of its partitions.

    A club is a set of members that may get the same partitions. The members of a complete part are one club,
    which has the part's number. In open parts each class of members is a club of its own, with the number
    `parts + class`.

    Args:
        reading: the group in numbers.
        spread: True if topics are spread over members as evenly as the fewest moves allow; "before-moves" if
            even topics are worth moves. True has no effect if racks matter, or if there are more than
            `EXACT_PAIRS` pairs of a member and a topic.
        near: the kinds of partitions, which say which partitions are far from which members; None if racks do
            not matter.
        near_first: True if more moves are accepted for fewer far partitions.

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
        """Return the member that gets each partition, intp of shape (partitions,); -1 for none."""
        holder = self._holder
        # A holder from another part cannot keep the partition, because a topic's partitions go to members of
        # its own part only.
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
        """Return the `fresh` member of each partition: the one that gets it if no member had any partition.

        The answer does not depend on previous owners, so a member that restarts gets the same partitions
        again.
        """
        nobody = np.full(len(self._holder), -1, np.intp)
        if self._spread or not self._levels.complete.all():
            return self._give(nobody, nobody)
        return self._fill(self._part, nobody, np.zeros(len(self._low), np.intp))

    def _can_be_nearer(self) -> bool:
        """Return whether moves could make fewer partitions far: `near_first` is set and a holder is far."""
        return self._near is not None and self._near_first and bool(self._near.far_from(self._holder).any())

    def _loads(self, owner: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return how many of these partitions each member owns, intp of shape (members,).

        An owner of -1 counts for no member.
        """
        return np.bincount(owner + 1, minlength=len(self._low) + 1)[1:]

    def _give(self, holder: NDArray[np.intp], fresh: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the member that gets each partition, given its `holder` and its `fresh` member.

        First it is decided which partitions stay with their holder or return to their `fresh` member. The
        others form the pool, which is then given out club by club.
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
        """Return the owner of each partition, -1 in the pool, and the club that gets each pool partition.

        Complete parts are decided by counting and open parts by a flow. In open parts the flow also says how
        many pool partitions each class gets: with other numbers, loads would not be the best.
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

        A cell is a (topic, member) pair such that the member may get the topic. Cells are numbered in the
        order of `Pairs`. See `_give` for `holder` and `fresh`.
        """
        readers, topic, members = self._levels.readers, self._topic, len(self._low)
        of_class = np.argsort(readers.of_member, kind="stable")
        sizes = readers.members[readers.kind]
        member = of_class[range_numbers((np.cumsum(readers.members) - readers.members)[readers.kind], sizes)]
        # A cell's key is `topic * members + member`. The search finds some wrong cell for a holder or a
        # `fresh` member of -1; such partitions are masked out wherever these cells are used.
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
        # Partitions that a pair gets, but neither keeps nor gets back, come from other members.
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
        """Return the owner of each partition of complete parts; -1 if the partition goes to the pool.

        A member keeps the partitions that it held, up to its load. Up to its load, it also gets unowned
        partitions of which it is the `fresh` member. `holder` and `fresh` have a row for each partition of
        complete parts, and no others.
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
        """Return the owner of each partition of open parts, -1 in the pool, and the clubs of the pool.

        Costs have three magnitudes, each `unit` times the one below, so that no number of weaker gains
        outweighs a stronger loss. The weakest, 1, is for an unowned partition that does not return to its
        `fresh` member. A move and a far owner cost `unit` and `unit**2`; `near_first` decides which costs
        more. If racks do not matter, a move costs `unit`.

        Args:
            rows: the flat indices of the partitions of open parts.
            holder: the holder of each of them, in the same order; -1 for none.
            fresh: the `fresh` member of each, in the same order; -1 for none.
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
        # A member without partitions has probably restarted. If a holder has to give up a partition whose
        # `fresh` member is such a member, that member is the partition's heir and gets it for less. The
        # appended False is read for a `fresh` of -1.
        newcomer = np.append(self._loads(self._holder) == 0, False)
        heir = np.where(held & newcomer[fresh], fresh, -1)
        members = len(self._low)
        # Partitions of one topic that the same member wants to keep, and that have the same heir, are one
        # claim: the flow then has an arc for each claim, not for each partition.
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

        Args:
            pool: rows of partitions of open parts that have no owner yet.
            topic: the topic of each partition of open parts.
            fresh: the `fresh` member of each partition of open parts; -1 for none.
            placed: for each row of `self._readers`, how many partitions of its topic the flow sends to its
                class.

        Returns:
            A club for each partition of open parts. The values of partitions outside `pool` mean nothing.
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
        """Return the member that gets each partition of the pool: a member of the partition's club.

        A partition goes to its `fresh` member if that member is in the club and still needs partitions. A
        club gets as many partitions as its members lack, so all loads end between `low` and `high`.

        Args:
            club: the club of each partition of the pool.
            fresh: the `fresh` member of each partition of the pool; -1 for none.
            load: how many partitions each member has already.
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
        # The other partitions are dealt to members in turns, one partition each. A topic's partitions are
        # neighbours here, so they go to different members.
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
    """Return the owner of each partition after quotas are granted; -1 for partitions that no quota covers.

    A group here is a set of partitions that one quota counts, for example the partitions of one holder. A
    member first gives up the partitions whose `fresh` member is short, and gives up last those of which it is
    itself the `fresh` member. So as many partitions as possible end with their `fresh` member.

    Args:
        holder: the member that has each partition and may keep it; -1 for none.
        fresh: the member that would get each partition if no member had any; -1 for none.
        keeps: three arrays for partitions with a holder: the group of each partition, the size of each
            group, and how many partitions of each group are kept.
        gets: two arrays for partitions without a holder: the group of each partition, and how many
            partitions of each group go to their `fresh` members.
        short: True for each member that has fewer partitions than it needs even with those that it keeps
            and gets back.
    """
    owner = holder.copy()
    held = holder >= 0
    group, amount, quota = keeps
    loses = amount > quota
    if loses.any():
        # Only groups above their quota have to give up partitions. A `fresh` of -1 is the index of the last
        # element, a False that was appended: such a partition's member is not short.
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
