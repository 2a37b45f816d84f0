"""Count records in blocks of offsets, and cut a topic into ranges of offsets, for `audit`; without Spark.

The records of a partition are counted in blocks of offsets under every candidate at once. A candidate is a
rule over a partition count. Blocks are as small as a bounded number of them allows, whatever the size of the
topic. Then each partition is cut into the few ranges of offsets that single candidates explain best.

Candidates are numbered 0 to c - 1, and blocks 0 to b - 1 by partition and offset. The last offset of a range
or block is included; `begin` and `end` of block numbers are as in Python slices.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from operator import add
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from copartition.audit.topic_audit import Records

SWITCH = 12
"""One more range must explain this many rows more than the ranges next to it would."""

VAGUE = 0.25
"""The cost of a row explained by a candidate of half the possible count, if a missed row costs 1.

When the count has doubled, the new count explains every second row of before by chance. So a row that only a
smaller count explains costs a little, and a run of rows that the larger count explains decides.
"""

WELL_EXPLAINED = 0.9
"""From this share of its keyed rows on, a range counts as explained.

Below it, several kinds of clients wrote at the same time, and further cuts would follow noise.
"""

EXAMPLES = 10

NEVER = np.iinfo(np.int64).max
"""An offset or a time that no row has."""


class Blocks(NamedTuple):
    """Counts of b blocks under c candidates, by partition and offset; all columns are int64.

    A block is the rows of one partition with the same `offset >> shift`; the shift is stored elsewhere.
    """

    partition: NDArray[np.int64]
    first: NDArray[np.int64]  # lowest offset
    last: NDArray[np.int64]  # highest offset
    rows: NDArray[np.int64]
    keyless: NDArray[np.int64]  # rows without a key, or with an empty one, which no rule places
    explained: NDArray[np.int64]  # keyed rows that are where the candidate puts them; shape (b, c)
    first_missed: NDArray[np.int64]  # lowest offset of a keyed row elsewhere, else `NEVER`; shape (b, c)
    last_missed: NDArray[np.int64]  # highest offset of such a row, else -1; shape (b, c)
    first_ms: NDArray[np.int64]  # lowest timestamp, `NEVER` if no row has one
    last_ms: NDArray[np.int64]  # highest timestamp, -1 if no row has one

    @property
    def missed(self) -> NDArray[np.int64]:
        """Keyed rows that are not where the candidate puts them; shape (b, c)."""
        missed: NDArray[np.int64] = (self.rows - self.keyless)[:, None] - self.explained
        return missed


_COMBINE = (
    np.minimum, np.minimum, np.maximum, np.add, np.add, np.add, np.minimum, np.maximum,
    np.minimum, np.maximum,
)  # fmt: skip
"""For each column of `Blocks`, the function that combines the values of two blocks into one."""


class CandidateRange(NamedTuple):
    """Offsets of one partition and the candidate that explains them best; counts as in `Blocks`."""

    partition: int
    first: int
    last: int
    rows: int
    keyless: int
    explained: int
    candidate: int
    missed: list[int]
    first_ms: int
    last_ms: int


def count_hits(records: Records, hits: NDArray[np.bool_], shift: int = 0) -> Blocks:
    """Return records, in any order, as blocks; neighbours with one partition and `offset >> shift` share one.

    Args:
        records: of any partitions.
        hits: whether each candidate explains each record, shape (n, c); False without a key.
        shift: how many low bits of an offset its block ignores.
    """
    place, at, written_ms = records.partition.astype(np.int64), records.offset, records.timestamp_ms
    number = at >> shift
    # A block may come in several parts here, because records of different partitions alternate;
    # `merge_blocks` joins them.
    starts = np.flatnonzero(np.append(True, (np.diff(place) != 0) | (np.diff(number) != 0)))
    keyless = records.keys.empty
    missed = ~keyless[:, None] & ~hits
    # The two columns of misses take most of the time. In most batches no record is missed, and then they are
    # not computed.
    some = missed.any()
    shape = (len(starts), hits.shape[1])

    def sums(column: NDArray[np.bool_]) -> NDArray[np.int64]:
        total: NDArray[np.int64] = np.add.reduceat(column, starts, axis=0, dtype=np.int64)
        return total

    return Blocks(
        partition=place[starts],
        first=np.minimum.reduceat(at, starts),
        last=np.maximum.reduceat(at, starts),
        rows=np.diff(np.append(starts, len(at))),
        keyless=sums(keyless),
        explained=sums(hits) if shape[1] else np.zeros(shape, np.int64),
        first_missed=np.minimum.reduceat(np.where(missed, at[:, None], NEVER), starts, axis=0)
        if some
        else np.full(shape, NEVER),
        last_missed=np.maximum.reduceat(np.where(missed, at[:, None], -1), starts, axis=0)
        if some
        else np.full(shape, -1),
        first_ms=np.minimum.reduceat(np.where(written_ms < 0, NEVER, written_ms), starts),
        last_ms=np.maximum.reduceat(written_ms, starts),
    )


def merge_blocks(parts: Sequence[Blocks], shift: int, limit: int) -> tuple[Blocks, int]:
    """Return the blocks of all parts, at most `limit` of them, and their shift.

    The shift is the given one or a greater one. `limit` is at least the number of partitions. If there are
    more partitions than that, the blocks stop growing when each covers all offsets.

    Args:
        parts: under the same candidates.
        shift: at least the greatest shift of the parts.
        limit: the most blocks.
    """
    blocks = Blocks(*map(np.concatenate, zip(*parts, strict=True)))
    while len(blocks.rows):
        order = np.lexsort((blocks.first, blocks.partition))
        blocks = Blocks(*(column[order] for column in blocks))
        number = blocks.first >> shift
        starts = np.flatnonzero(np.append(True, (np.diff(blocks.partition) != 0) | (np.diff(number) != 0)))
        blocks = Blocks(*(how.reduceat(column, starts) for how, column in zip(_COMBINE, blocks, strict=True)))
        if len(starts) <= limit or shift >= 62:
            break
        shift += 1
    return blocks, shift


def widen_blocks(blocks: Blocks, numbers: Iterable[int], width: int) -> Blocks:
    """Return the blocks under more candidates; the added ones explain nothing.

    Args:
        blocks: under fewer candidates.
        numbers: the new number of each candidate that the blocks have, all different.
        width: the new number of candidates.
    """
    where = [*numbers]
    shape = (len(blocks.rows), width)
    # A candidate that explains nothing misses all keyed rows; the block's first and last row stand for these.
    keyed = (blocks.rows > blocks.keyless)[:, None]
    explained = np.zeros(shape, np.int64)
    first = np.broadcast_to(np.where(keyed, blocks.first[:, None], NEVER), shape).copy()
    last = np.broadcast_to(np.where(keyed, blocks.last[:, None], -1), shape).copy()
    explained[:, where] = blocks.explained
    first[:, where] = blocks.first_missed
    last[:, where] = blocks.last_missed
    return blocks._replace(explained=explained, first_missed=first, last_missed=last)


def explained_ranges(blocks: Blocks, counts: Sequence[int]) -> Iterator[CandidateRange]:
    """Yield the ranges of every partition, in order.

    Args:
        blocks: at least one, by partition and offset.
        counts: the partition count of each candidate, shape (c,).
    """
    # If candidates explain a partition equally well, the one that explains more of the topic is right.
    total = blocks.explained.sum(axis=0)
    bias = (total.max() - total) / (total.max() + 1) / 2
    bounds = np.flatnonzero(np.diff(blocks.partition)) + 1
    # A key that a count puts into a low partition is in the same one under a divisor of the count. So a
    # divisor explains low partitions, too, and a common divisor those from before and after a growth. High
    # partitions are better evidence, so they come first. A candidate that none of them needed must save more
    # than the cuts between the candidates that they did need. And a smaller count than theirs says less about
    # a row, so its rows cost a little.
    size = np.log2(counts)
    explained = np.zeros(len(total), np.bool_)
    turned: list[list[CandidateRange]] = []
    for rows in reversed(np.split(np.arange(len(blocks.rows)), bounds)):
        own = Blocks(*(column[rows] for column in blocks))
        vague = VAGUE * np.maximum(max(size[explained], default=0) - size, 0)
        pieces = _cut(own, bias + np.where(explained, 0, SWITCH * explained.sum()), vague)
        if any(piece.explained < WELL_EXPLAINED * (piece.rows - piece.keyless) for piece in pieces):
            # Several clients wrote at once, so the partition becomes one range, of the candidate that misses
            # least.
            best = int(np.argmin(own.missed.sum(axis=0) + bias))
            pieces = [_range(own, 0, len(own.rows), best)]
        explained[[piece.candidate for piece in pieces if piece.explained]] = True
        turned.append(pieces)
    for pieces in reversed(turned):
        yield from pieces


def _cut(blocks: Blocks, bias: NDArray[np.float64], vague: NDArray[np.float64]) -> list[CandidateRange]:
    """Return the cheapest ranges of one partition: a missed row costs 1, one more range `SWITCH`.

    A range of a candidate also costs its `bias`, and a row that the candidate explains its `vague`; both have
    shape (c,).

    The costs are those of a path through a table of blocks and candidates, found from the first block to the
    last (dynamic programming, as in Viterbi's algorithm). `cost` has the cheapest path that ends at each
    candidate. `came_from` has the candidate at the block before, from which the path is read backwards.
    """
    missed = blocks.missed + vague * blocks.explained
    alone = np.add.accumulate(np.vstack([missed[0] + bias, missed[1:]]))[-1]
    if alone.min() + 1e-6 < missed.min(axis=1).sum() + 2 * bias.min() + SWITCH:  # cheaper than any two ranges
        return [_range(blocks, 0, len(missed), int(np.argmin(alone)))]
    # Lists are faster than NumPy's arrays if there are few candidates.
    cost, further = (missed[0] + bias).tolist(), bias.tolist()
    came_from = [[*range(len(cost))]]
    for row in missed[1:].tolist():
        cheapest = cost.index(min(cost))
        switched = [cost[cheapest] + SWITCH + more for more in further]
        came_from.append([cheapest if switched[at] < cost[at] else at for at in range(len(cost))])
        cost = [*map(add, map(min, switched, cost), row)]
    candidate, end, cuts = int(np.argmin(cost)), len(missed), []
    for turn in range(len(missed) - 1, -1, -1):
        before = came_from[turn][candidate]
        if turn == 0 or before != candidate:
            cuts.append((turn, end, candidate))
            candidate, end = before, turn
    cuts.reverse()
    for number in range(1, len(cuts)):
        cuts[number - 1 : number + 1] = _best_split(blocks.missed, missed, *cuts[number - 1 : number + 1])
    whole = [_range(blocks, *cut) for cut in cuts]
    for number, ((_, middle, old), (_, _, new)) in enumerate(pairwise(cuts)):
        whole[number : number + 2] = _meet(blocks, middle, old, new, *whole[number : number + 2])
    return whole


def _best_split(
    missed: NDArray[np.int64],
    cost: NDArray[np.float64],
    before: tuple[int, int, int],
    after: tuple[int, int, int],
) -> list[tuple[int, int, int]]:
    """Return two ranges with the boundary between them at which both together miss the fewest rows.

    The cost of vague rows has decided how many ranges there are. Here it only decides between boundaries with
    equally many misses, because it must not turn rows into strays that the range before explains.

    Args:
        missed: rows that each candidate misses, shape (b, c).
        cost: the same plus the cost of vague rows.
        before: first block, the block after the last, and candidate of the first range.
        after: the same of the range that follows it.
    """
    (begin, _, old), (_, end, new) = before, after

    def at_each(counts: NDArray[Any]) -> NDArray[Any]:
        return np.cumsum(counts[begin : end - 1, old] - counts[begin : end - 1, new])

    cut = begin + 1 + int(np.lexsort((at_each(cost), at_each(missed)))[0])
    return [(begin, cut, old), (cut, end, new)]


def _range(blocks: Blocks, begin: int, end: int, candidate: int) -> CandidateRange:
    """Return the blocks from `begin` to before `end` as one range, explained by a candidate.

    Of the rows that it misses, only the first and the last offset in each block are known.
    """
    where = np.flatnonzero(blocks.missed[begin:end, candidate]) + begin
    missed = np.union1d(blocks.first_missed[where, candidate], blocks.last_missed[where, candidate])
    return CandidateRange(
        partition=int(blocks.partition[begin]),
        first=int(blocks.first[begin]),
        last=int(blocks.last[end - 1]),
        rows=int(blocks.rows[begin:end].sum()),
        keyless=int(blocks.keyless[begin:end].sum()),
        explained=int(blocks.explained[begin:end, candidate].sum()),
        candidate=candidate,
        missed=missed[:EXAMPLES].tolist(),
        first_ms=int(blocks.first_ms[begin:end].min()),
        last_ms=int(blocks.last_ms[begin:end].max()),
    )


def _meet(
    blocks: Blocks, middle: int, old: int, new: int, before: CandidateRange, after: CandidateRange
) -> tuple[CandidateRange, CandidateRange]:
    """Return the two ranges around block `middle`, with their boundary moved into a block with rows of both.

    The block `middle` is the first of the new candidate. It may still contain rows of the old candidate, and
    the end of the block before may contain rows of the new one. If all rows of the old candidate come before
    those of the new one, the boundary is put between them.

    Args:
        blocks: of the partition.
        middle: the number of the block.
        old: the candidate before it.
        new: the candidate from there on.
        before: the range before.
        after: the range after.
    """
    for block, own in ((middle, new), (middle - 1, old)):
        last_old = int(blocks.last_missed[block, new])
        first_new = int(blocks.first_missed[block, old])
        missed = int(blocks.missed[block, own])
        if not missed or last_old >= first_new:
            continue
        boundary = last_old if block == middle else first_new - 1
        first, last, rows = int(blocks.first[block]), int(blocks.last[block]), int(blocks.rows[block])
        moving = boundary - first + 1 if block == middle else last - boundary
        if rows != last - first + 1 or blocks.keyless[block]:
            moving = missed  # offsets are missing, so it is unknown whose the other rows are: they stay
        both = moving - missed  # rows that both candidates explain
        if block == middle:
            before, after = _move_rows(before, moving, moving), _move_rows(after, -moving, -both)
        else:
            before, after = _move_rows(before, -moving, -both), _move_rows(after, moving, moving)
        strays = [[at for at in side.missed if not first <= at <= last] for side in (before, after)]
        return (
            before._replace(last=boundary, missed=strays[0]),
            after._replace(first=boundary + 1, missed=strays[1]),
        )
    return before, after


def _move_rows(range_: CandidateRange, rows: int, explained: int) -> CandidateRange:
    """Return a range with this many rows, and explained rows, more; negative numbers mean less."""
    return range_._replace(rows=range_.rows + rows, explained=range_.explained + explained)
