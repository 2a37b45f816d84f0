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
"""The cost of a row that is explained by a candidate with half of the largest count, if a missed row costs 1.

After a topic's count has doubled, the old count explains all rows of a low partition, also the new ones. So
its rows cost a little, and a run of rows that the larger count explains, too, goes to the larger count. Rows
from before stay with the old count, because the larger one explains only every second of them, by chance.
"""

WELL_EXPLAINED = 0.9
"""A range counts as explained if its candidate explains at least this share of its keyed rows.

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
        records: n records of any partitions, at least one.
        hits: whether each candidate explains each record, shape (n, c); False for a record without a key.
        shift: how many low bits of an offset its block ignores.
    """
    place, at, written_ms = records.partition.astype(np.int64), records.offset, records.timestamp_ms
    number = at >> shift
    # A block may come in several parts here, because records of different partitions alternate;
    # `merge_blocks` joins them.
    starts = np.flatnonzero(np.append(True, (np.diff(place) != 0) | (np.diff(number) != 0)))
    keyless = records.keys.empty
    missed = ~keyless[:, None] & ~hits
    # To compute the two columns of misses takes most of the time. In most batches no record is missed, and
    # then they are not computed.
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

    The shift is the given one, or a greater one if that gives too many blocks. Blocks of different partitions
    are never merged. If there are more partitions than `limit`, each gets one block that covers all its
    offsets.

    Args:
        parts: blocks under the same candidates, from one or more counts of the topic.
        shift: at least the greatest shift of the parts.
        limit: the most blocks; it should be at least the number of partitions.
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
        blocks: the blocks under fewer candidates.
        numbers: for each candidate that the blocks have, its index among the new ones; all are different.
        width: how many candidates there are now.
    """
    where = [*numbers]
    shape = (len(blocks.rows), width)
    # A candidate that explains nothing misses all keyed rows. Which rows have keys is no longer known, so the
    # block's first and last row stand for the first and last missed one.
    keyed = (blocks.rows > blocks.keyless)[:, None]
    explained = np.zeros(shape, np.int64)
    first = np.broadcast_to(np.where(keyed, blocks.first[:, None], NEVER), shape).copy()
    last = np.broadcast_to(np.where(keyed, blocks.last[:, None], -1), shape).copy()
    explained[:, where] = blocks.explained
    first[:, where] = blocks.first_missed
    last[:, where] = blocks.last_missed
    return blocks._replace(explained=explained, first_missed=first, last_missed=last)


def explained_ranges(blocks: Blocks, counts: Sequence[int]) -> Iterator[CandidateRange]:
    """Yield the ranges of every partition, by partition and offset.

    Args:
        blocks: the blocks by partition and offset, at least one.
        counts: the partition count of each candidate, shape (c,).
    """
    # If candidates explain a partition equally well, the one that explains more of the topic is right.
    total = blocks.explained.sum(axis=0)
    bias = (total.max() - total) / (total.max() + 1) / 2
    bounds = np.flatnonzero(np.diff(blocks.partition)) + 1
    # A divisor of a count puts the keys of low partitions into the same partitions as the count. So in low
    # partitions a divisor explains the rows, too, and a common divisor of two counts explains the rows from
    # before and after a growth. High partitions are better evidence, so they are cut first. A candidate that
    # no higher partition needed is taken only if it saves more than the cuts between the candidates that were
    # needed. And a count that is smaller than theirs is weaker evidence for a row, so its rows cost a little.
    size = np.log2(counts)
    explained = np.zeros(len(total), np.bool_)
    turned: list[list[CandidateRange]] = []
    for rows in reversed(np.split(np.arange(len(blocks.rows)), bounds)):
        own = Blocks(*(column[rows] for column in blocks))
        vague = VAGUE * np.maximum(max(size[explained], default=0) - size, 0)
        pieces = _cut(own, bias + np.where(explained, 0, SWITCH * explained.sum()), vague)
        if any(piece.explained < WELL_EXPLAINED * (piece.rows - piece.keyless) for piece in pieces):
            # Several clients wrote at once. So the partition becomes one range, and its candidate is the one
            # that misses the fewest rows.
            best = int(np.argmin(own.missed.sum(axis=0) + bias))
            pieces = [_range(own, 0, len(own.rows), best)]
        explained[[piece.candidate for piece in pieces if piece.explained]] = True
        turned.append(pieces)
    for pieces in reversed(turned):
        yield from pieces


def _cut(blocks: Blocks, bias: NDArray[np.float64], vague: NDArray[np.float64]) -> list[CandidateRange]:
    """Return the cheapest ranges of one partition: a missed row costs 1, one more range `SWITCH`.

    The cheapest ranges are the cheapest path through a table of blocks and candidates, found from the first
    block to the last (dynamic programming, as in Viterbi's algorithm). `cost` has the cost of the cheapest
    path that ends at each candidate. `came_from` has, for each block and candidate, the candidate that this
    path has at the block before. At the end, the path is read backwards from `came_from`.

    Args:
        blocks: the blocks of the partition, by offset.
        bias: what a range of each candidate costs besides, shape (c,).
        vague: what a row costs that each candidate explains, shape (c,).
    """
    missed = blocks.missed + vague * blocks.explained
    alone = np.add.accumulate(np.vstack([missed[0] + bias, missed[1:]]))[-1]
    if alone.min() + 1e-6 < missed.min(axis=1).sum() + 2 * bias.min() + SWITCH:  # cheaper than any two ranges
        return [_range(blocks, 0, len(missed), int(np.argmin(alone)))]
    # There are only a few candidates, and for so few numbers lists are faster than NumPy's arrays.
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

    The cost of rows by `VAGUE` has decided how many ranges there are. Here it only decides between boundaries
    with equally many misses. Otherwise it could move the boundary so that rows that the first range explains
    become strays of the second.

    Args:
        missed: rows that each candidate misses, shape (b, c).
        cost: `missed` plus the cost of explained rows by `VAGUE`, shape (b, c).
        before: first block, block after the last, and candidate of the first range.
        after: first block, block after the last, and candidate of the second range.
    """
    (begin, _, old), (_, end, new) = before, after

    def at_each(counts: NDArray[Any]) -> NDArray[Any]:
        return np.cumsum(counts[begin : end - 1, old] - counts[begin : end - 1, new])

    cut = begin + 1 + int(np.lexsort((at_each(cost), at_each(missed)))[0])
    return [(begin, cut, old), (cut, end, new)]


def _range(blocks: Blocks, begin: int, end: int, candidate: int) -> CandidateRange:
    """Return the blocks `begin` to `end` - 1 as one range that a candidate explains.

    Of the rows that the candidate misses, only the first and the last offset in each block are known.
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
        blocks: the blocks of the partition.
        middle: the number of the first block of the second range.
        old: the candidate of the first range.
        new: the candidate of the second range.
        before: the first range.
        after: the second range.
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
    """Return a range with `rows` and `explained` added to its counts; both may be negative."""
    return range_._replace(rows=range_.rows + rows, explained=range_.explained + explained)
