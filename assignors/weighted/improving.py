"""Lowers the peak by moves and swaps that take from the fullest member.

A partition is its flat index, and a member an index into `NumberedGroup.members`. A load is a sum of units of
`Problem.weight`; a ratio is a load divided by the member's capacity; the peak is the greatest ratio. The
fullest member is the one with the greatest ratio, not the one with the greatest load.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assignors.assignment import Certificate
from assignors.weighted.placing import place
from assignors.weighted.problem import Problem, least_peak, least_peak_within
from partitioning.errors import InvalidConfigError
from partitioning.kit.columns import sorted_by

CLOSE = 1 + 2.0**-10
"""The search ends if the peak is at most this many times the bound."""

_LIGHTEST = 32
"""How many members with the lowest ratios a step tries first as takers; later batches have up to 256."""
_FEW = 32
"""If a member has at most this many partitions, all are tried, without a search for equal ones."""
_SAMPLE = 64
"""How many partitions of a member a step tries first; if none helps, it tries all of them."""
_CELLS = 1 << 22
"""After this many pairs of partitions a step tries no more members, which limits the time of a step."""


class MoveLimits(NamedTuple):
    """Limits the moves of one answer.

    Attributes:
        moves: how many partitions may leave their holder at most; None for any number.
        gain: how far the peak must fall for each move, on average, as a fraction of the mean ratio; 0 or
            more.
        worth: all moves together must lower the peak to at most this fraction of the first peak; in (0, 1].
    """

    moves: int | None
    gain: float
    worth: float = 1.0

    @classmethod
    def of(cls, max_moves: int | None, min_gain: float) -> MoveLimits:
        """Return the limits of the settings `max_moves` and `min_gain`.

        Raises:
            InvalidConfigError: `max_moves` is neither None nor a whole number of 0 or more, or `min_gain` is
                not a finite number of 0 or more.
        """
        if max_moves is not None and (type(max_moves) is not int or max_moves < 0):
            raise InvalidConfigError(f"max_moves is {max_moves!r}; give a whole number from 0 on, or None")
        if type(min_gain) not in (int, float) or not 0 <= min_gain < inf:
            raise InvalidConfigError(f"min_gain is {min_gain!r}; give a finite number, 0 or more")
        return cls(max_moves, min_gain)


_Changes = list[tuple[int, int]]
"""The (partition, member that gets it) pairs of one step: one pair for a move, two for a swap."""


def improve(problem: Problem, owner: NDArray[np.intp], bound: float, limits: MoveLimits) -> None:
    """Lower the peak step by step, at most down to `bound`; `owner` is changed in place.

    Each step takes from the fullest member and makes no other member as full. The result is the state after
    the step with the least peak whose moves `limits` allow. Partitions without a holder are searched first,
    because they cost no move; then all partitions are searched.

    Args:
        problem: the weights, capacities and holders.
        owner: the member of each partition, all 0 or more.
        bound: a lower bound for the peak of any answer, in units divided by capacity.
        limits: the limits for moves.
    """
    # Partitions of weight 0 cannot lower the peak, so they are left out of the search.
    heavy, free = problem.weight > 0, problem.reading.holder < 0
    if free.any():
        _Search(problem, owner, bound, limits, np.flatnonzero(heavy & free)).run()
    if not free.all():
        _Search(problem, owner, bound, limits, np.flatnonzero(heavy)).run()


class _Search:
    """A search in which only the partitions `rows` may move. The others stay, but count for loads.

    Between two steps, `_load` and `_ratio` are those of `_owner`; `_rows` has, for each member, those of its
    partitions that may move; and `_left` is the number of moves that are still allowed. `_distinct` caches
    the results of `_own` until a partition of the member moves.
    """

    def __init__(
        self,
        problem: Problem,
        owner: NDArray[np.intp],
        bound: float,
        limits: MoveLimits,
        rows: NDArray[np.intp],
    ) -> None:
        self._problem, self._owner, self._bound, self._limits = problem, owner, bound, limits
        self._weight, self._capacity = problem.weight, problem.capacity
        self._holder = problem.reading.holder
        self._topic = problem.reading.topic_of
        self._kind = problem.reading.readers.of_member
        self._load = problem.loads(owner)
        self._ratio = self._load / self._capacity
        self._left = inf if limits.moves is None else limits.moves
        ends = np.cumsum(np.bincount(owner[rows], minlength=len(self._load)))
        self._rows = np.split(rows[sorted_by(owner[rows])], ends[:-1])
        self._distinct: dict[int, NDArray[np.intp]] = {}

    def run(self) -> None:
        """Take steps until none lowers the peak or the bound is near; then return to the best state."""
        moves = 0
        least = first = self._ratio.max(initial=0.0)
        price = self._limits.gain * self._problem.mean
        # `undo` has the steps since the best state. Steps are undone only at the end, because a later step
        # can gain enough for an earlier one that was not worth its moves.
        undo: list[tuple[int, int]] = []
        while self._ratio.max(initial=0.0) > self._bound * CLOSE:
            fullest = int(self._ratio.argmax())
            step = self._step(fullest)
            if step is None:
                break
            cost = self._cost(step)
            moves += cost
            self._left -= cost
            undo += [(row, int(self._owner[row])) for row, _ in step]
            self._apply(step)
            peak = self._ratio.max()
            # Steps that return partitions to their holder can make `moves` negative. Then no gain is
            # required.
            worth = moves <= 0 or peak <= first * self._limits.worth
            if peak < least and worth and first - peak >= price * moves:
                least = peak
                undo.clear()
        for row, member in reversed(undo):
            self._owner[row] = member

    def _cost(self, changes: Sequence[tuple[int, int]]) -> int:
        """Return by how much the number of partitions away from their holder changes; may be negative."""
        return sum(
            int(self._owner[row] == self._holder[row]) - int(member == self._holder[row])
            for row, member in changes
            if self._holder[row] >= 0
        )

    def _apply(self, changes: Sequence[tuple[int, int]]) -> None:
        """Give the partitions to their new members and bring loads, ratios and lists up to date."""
        for row, member in changes:
            before = int(self._owner[row])
            self._owner[row] = member
            for holder, sign in ((before, -1), (member, 1)):
                self._load[holder] += sign * self._weight[row]
                self._ratio[holder] = self._load[holder] / self._capacity[holder]
                self._distinct.pop(holder, None)
            # The list of each member is updated here. To search `_owner` for it in each step would cost more,
            # because a step needs the lists of a few members only.
            self._rows[before] = self._rows[before][self._rows[before] != row]
            self._rows[member] = np.append(self._rows[member], row)

    def _own(self, member: int) -> NDArray[np.intp]:
        """Return the partitions of a member that a step may take, but only one of several equal ones.

        Partitions with the same topic, weight and holder are equal: it makes no difference which of them
        moves.
        """
        distinct = self._distinct.get(member)
        if distinct is None:
            rows = np.sort(self._rows[member])
            if len(rows) <= _FEW:
                self._distinct[member] = rows
                return rows
            sort = np.stack([self._weight[rows], self._topic[rows], self._holder[rows]])
            order = np.lexsort(sort)
            new = np.ones(len(rows), np.bool_)
            new[1:] = (sort[:, order[1:]] != sort[:, order[:-1]]).any(axis=0)
            distinct = self._distinct[member] = rows[order[new]]
        return distinct

    def _step(self, giver: int) -> _Changes | None:
        """Return the best step that takes from the fullest member and makes no other as full, or None.

        Only a sample of each member's partitions is tried first. If that finds no step, all are tried.
        """
        return self._look(giver, _SAMPLE) or self._look(giver, len(self._weight))

    def _look(self, giver: int, most: int) -> _Changes | None:
        """Return the best step among at most `most` partitions of each member; None if there is none.

        Takers are tried in batches, those with the lowest ratios first. The first batch with a step decides.
        """
        # `own` are partitions of the fullest member. `others` are members that may get at least one of them.
        own = _some(self._own(giver), most)
        kinds = np.logical_or.reduce(self._problem.reads[:, np.unique(self._topic[own])], axis=1)
        open_to = kinds[self._kind]
        open_to[giver] = False
        others = np.flatnonzero(open_to)
        others = others[np.argsort(self._ratio[others], kind="stable")]
        at, size, cells = 0, _LIGHTEST, 0
        while at < len(others) and cells < _CELLS:
            exchange, looked = self._best(giver, own, others[at : at + size], most)
            if exchange is not None:
                return exchange
            at, size, cells = at + size, min(size * 4, 256), cells + looked
        return None

    def _best(
        self, giver: int, own: NDArray[np.intp], takers: NDArray[np.intp], most: int
    ) -> tuple[_Changes | None, int]:
        """Return the best step between the fullest member and some takers, and the number of candidates.

        A candidate is a cell of a matrix. Each row is a partition that `giver` can give. Each column is a
        partition that a taker can give back; one more column (-1) for each taker stands for giving none back.
        """
        lists = [_some(self._own(taker), most) for taker in takers.tolist()]
        sizes = np.array([len(partitions) for partitions in lists], np.intp)
        back = np.concatenate([*lists, np.full(len(takers), -1)])
        taker = np.concatenate([np.repeat(takers, sizes), takers])
        swaps = back >= 0
        load, capacity, kind, holder = self._load, self._capacity, self._kind, self._holder
        # A candidate must leave the taker's ratio below the present peak. Otherwise the peak would only move
        # to another member.
        limit = float(self._ratio[giver])
        moved = self._weight[own][:, None] - np.where(swaps, self._weight[back], 0)
        fits = (moved > 0) & (moved <= limit * capacity[taker] - load[taker])
        reads = self._problem.reads
        fits &= reads[kind[giver], self._topic[back]] | ~swaps
        fits &= reads[kind[taker]][:, self._topic[own]].T
        row, column = np.nonzero(fits)
        gives, takes, returns, moves = own[row], taker[column], back[column], moved[row, column]
        worst = np.maximum((load[giver] - moves) / capacity[giver], (load[takes] + moves) / capacity[takes])
        # A partition that leaves its holder costs one move; one that returns to its holder saves one.
        cost = (holder[gives] == giver).astype(np.int64) - (holder[gives] == takes)
        swapped = returns >= 0
        cost += swapped & (holder[returns] == takes)
        cost -= swapped & (holder[returns] == giver)
        # The value of a step is how far it brings the fuller of the two members below the peak, divided by
        # the moves that it costs. A gain below the bound does not count, so of two steps that reach the bound
        # the cheaper one is chosen.
        value = (limit - np.maximum(worst, self._bound * CLOSE)) / (1 + np.maximum(cost, 0))
        value[(worst >= limit) | (cost > self._left)] = 0.0
        if not value.any():
            return None, fits.size
        best = int(value.argmax())
        changes = [(int(gives[best]), int(takes[best]))]
        if swapped[best]:
            changes.append((int(returns[best]), giver))
        return changes, fits.size


def _some(rows: NDArray[np.intp], most: int) -> NDArray[np.intp]:
    """Return at most `most` of these partitions, evenly spaced, from the first one."""
    return rows[:: -(-len(rows) // most) or 1]


def decide(problem: Problem, limits: MoveLimits) -> tuple[NDArray[np.intp], Certificate]:
    """Return the owner of each partition, never -1, and a certificate of how near that is to the best answer.

    First partitions without a holder are placed. Then partitions move to lower the peak, within `limits`.
    """
    bound = least_peak(problem)
    owner = problem.reading.holder.copy()
    place(problem, owner)
    improve(problem, owner, bound, limits)
    return owner, certify(problem, owner, bound)


def certify(problem: Problem, owner: NDArray[np.intp], bound: float) -> Certificate:
    """Return the certificate of an answer: its peak and its bounds, as multiples of the mean ratio.

    Args:
        problem: the weights, capacities and holders.
        owner: the member of each partition in the answer.
        bound: a lower bound for the peak of any answer, in units divided by capacity (`least_peak`).
    """
    holder = problem.reading.holder
    moves = int(np.count_nonzero((holder >= 0) & (owner != holder)))
    peak = float((problem.loads(owner) / problem.capacity).max(initial=0.0))
    within = max(bound, least_peak_within(problem, moves))
    mean = problem.mean or 1.0
    return Certificate(peak / mean, bound / mean, within / mean, moves)
