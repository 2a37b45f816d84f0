"""The counting and cutting behind `audit`: NumPy only, without Spark.

Rows of a partition are counted in blocks of offsets, once under every candidate. Blocks are as small as a
bounded number of them allows, whatever the size of the topic. Then each partition is cut into the few ranges
of offsets that single candidates explain best.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from partitioning.hashing.modulo import partitions_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from partitioning.hashing.modulo import SignRule

SWITCH = 12
"""A further range must explain this many rows more than the ranges beside it would."""

VAGUE = 0.25
"""What a row costs that half the possible count explains, where a missed row costs 1. The count of
a doubled topic explains every other row of before by chance, so a run of rows that it explains is telling."""

WELL_EXPLAINED = 0.9
"""Share of its keyed rows from which on a range counts as explained; below it, clients of several kinds wrote
at the same time, and cutting further would cut noise."""

EXAMPLES = 10

_NEVER = np.iinfo(np.int64).max


class Candidate(NamedTuple):
    """A client's rule over a partition count."""

    kernel: Callable[[NDArray[np.integer], NDArray[np.uint8]], NDArray[np.int32]]
    sign: SignRule
    num_partitions: int


class Blocks(NamedTuple):
    """Counts of b blocks under c candidates, by partition and offset; all columns int64.

    A block is the rows of one partition whose `offset >> shift` is the same; the shift is kept beside this.

    Attributes:
        partition: the partition.
        first: lowest offset.
        last: highest offset.
        rows: how many rows.
        keyless: how many of them have no key, or an empty one, which no rule places.
        framed: how many have a key that begins like a schema registry's.
        explained: keyed rows that are where the candidate puts them; shape (b, c).
        first_missed: lowest offset of a keyed row that is elsewhere; shape (b, c).
        last_missed: highest offset of a keyed row that is elsewhere, -1 where none is; shape (b, c).
    """

    partition: NDArray[np.int64]
    first: NDArray[np.int64]
    last: NDArray[np.int64]
    rows: NDArray[np.int64]
    keyless: NDArray[np.int64]
    framed: NDArray[np.int64]
    explained: NDArray[np.int64]
    first_missed: NDArray[np.int64]
    last_missed: NDArray[np.int64]

    @property
    def missed(self) -> NDArray[np.int64]:
        """Keyed rows that are not where the candidate puts them; shape (b, c)."""
        missed: NDArray[np.int64] = (self.rows - self.keyless)[:, None] - self.explained
        return missed


_COMBINE = (
    np.minimum, np.minimum, np.maximum, np.add, np.add, np.add, np.add, np.minimum, np.maximum
)  # fmt: skip
"""How two blocks become one, column by column."""


class Range(NamedTuple):
    """Offsets of one partition and the candidate that explains them best; counts as in `Blocks`."""

    partition: int
    first: int
    last: int
    rows: int
    keyless: int
    framed: int
    explained: int
    candidate: int
    missed: list[int]


def count_rows(
    partition: NDArray[np.integer],
    offset: NDArray[np.integer],
    key_offsets: NDArray[np.integer],
    key_data: NDArray[np.uint8],
    candidates: Sequence[Candidate],
) -> Blocks:
    """Each of n rows as a block of its own.

    Args:
        partition: where each row is; shape (n,).
        offset: at which offset.
        key_offsets: n + 1 bounds of the keys in `key_data`; a null key is empty.
        key_data: the bytes of all keys.
        candidates: what is tried.
    """
    place, at = partition.astype(np.int64), offset.astype(np.int64)
    keyed = np.diff(key_offsets) > 0
    hits = np.zeros((len(at), len(candidates)), dtype=np.bool_)
    for kernel in {candidate.kernel: None for candidate in candidates}:
        try:
            hashes = kernel(key_offsets, key_data)
        except ValueError:  # it hashes text, and these keys are not all text
            continue
        for number, candidate in enumerate(candidates):
            if candidate.kernel is kernel:
                hits[:, number] = partitions_of(hashes, candidate.num_partitions, candidate.sign) == place
    hits &= keyed[:, None]
    missed = keyed[:, None] & ~hits
    return Blocks(
        partition=place,
        first=at,
        last=at,
        rows=np.ones(len(at), np.int64),
        keyless=(~keyed).astype(np.int64),
        framed=_framed(key_offsets, key_data).astype(np.int64),
        explained=hits.astype(np.int64),
        first_missed=np.where(missed, at[:, None], _NEVER),
        last_missed=np.where(missed, at[:, None], -1),
    )


def merged(parts: Sequence[Blocks], shift: int, limit: int) -> tuple[Blocks, int]:
    """The blocks of all parts, at most `limit` of them, and their shift: the given one or a greater.

    Args:
        parts: blocks of that shift or of smaller ones.
        shift: the greatest of the parts' shifts.
        limit: at least the number of partitions; beyond that, blocks stay as they are when they cover all
            offsets.
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


def ranges(blocks: Blocks, counts: Sequence[int]) -> Iterator[Range]:
    """The ranges of every partition, in order.

    Args:
        blocks: all blocks of a topic, as `merged` gives them.
        counts: the candidates' partition counts.
    """
    # Where candidates explain a partition equally well, the one that explains more of the topic is right.
    total = blocks.explained.sum(axis=0)
    bias = (total.max() - total) / (total.max() + 1) / 2
    bounds = np.flatnonzero(np.diff(blocks.partition)) + 1
    # A count explains the low partitions of its multiples too, and a common divisor those before and after a
    # growth. High partitions know better, so they come first: what none of them needed must spare more than
    # cuts between what they did need, and a smaller count than theirs says less about a row.
    size = np.log2(counts)
    known = np.zeros(len(total), np.bool_)
    turned: list[list[Range]] = []
    for rows in reversed(np.split(np.arange(len(blocks.rows)), bounds)):
        own = Blocks(*(column[rows] for column in blocks))
        vague = VAGUE * np.maximum(max(size[known], default=0) - size, 0)
        found = _cut(own, bias + np.where(known, 0, SWITCH * known.sum()), vague)
        if any(each.explained < WELL_EXPLAINED * (each.rows - each.keyless) for each in found):
            best = int(np.argmin(own.missed.sum(axis=0) + bias))
            found = [_range(own, 0, len(own.rows), best)]
        known[[each.candidate for each in found if each.explained]] = True
        turned.append(found)
    for found in reversed(turned):
        yield from found


def _cut(blocks: Blocks, bias: NDArray[np.float64], vague: NDArray[np.float64]) -> list[Range]:
    """The cheapest ranges of one partition.

    A missed row costs 1, a further range `SWITCH`.

    Args:
        blocks: those of the partition.
        bias: what a range by each candidate costs besides; shape (c,).
        vague: what a row costs that each candidate explains; shape (c,).
    """
    missed = blocks.missed + vague * blocks.explained
    cost = missed[0] + bias
    came_from = np.tile(np.arange(missed.shape[1]), (len(missed), 1))
    for turn in range(1, len(missed)):
        cheapest = int(np.argmin(cost))
        switch = cost[cheapest] + SWITCH + bias < cost
        came_from[turn, switch] = cheapest
        cost = np.where(switch, cost[cheapest] + SWITCH + bias, cost) + missed[turn]
    candidate, end, found = int(np.argmin(cost)), len(missed), []
    for turn in range(len(missed) - 1, -1, -1):
        before = int(came_from[turn, candidate])
        if turn == 0 or before != candidate:
            found.append((turn, end, candidate))
            candidate, end = before, turn
    found.reverse()
    whole = [_range(blocks, *each) for each in found]
    for number, ((_, middle, old), (_, _, new)) in enumerate(pairwise(found)):
        whole[number : number + 2] = _meet(blocks, middle, old, new, *whole[number : number + 2])
    return whole


def _range(blocks: Blocks, begin: int, end: int, candidate: int) -> Range:
    where = np.flatnonzero(blocks.missed[begin:end, candidate]) + begin
    missed = np.union1d(blocks.first_missed[where, candidate], blocks.last_missed[where, candidate])
    return Range(
        partition=int(blocks.partition[begin]),
        first=int(blocks.first[begin]),
        last=int(blocks.last[end - 1]),
        rows=int(blocks.rows[begin:end].sum()),
        keyless=int(blocks.keyless[begin:end].sum()),
        framed=int(blocks.framed[begin:end].sum()),
        explained=int(blocks.explained[begin:end, candidate].sum()),
        candidate=candidate,
        missed=missed[:EXAMPLES].tolist(),
    )


def _meet(
    blocks: Blocks, middle: int, old: int, new: int, before: Range, after: Range
) -> tuple[Range, Range]:
    """The two ranges around block `middle`, their boundary moved into a block that holds rows of both."""
    for block in (middle, middle - 1):
        last_old = int(blocks.last_missed[block, new])
        first_new = int(blocks.first_missed[block, old])
        missed = int(blocks.missed[block, new if block == middle else old])
        if not missed or last_old >= first_new:
            continue
        boundary = last_old if block == middle else first_new - 1
        first, last, rows = int(blocks.first[block]), int(blocks.last[block]), int(blocks.rows[block])
        moving = boundary - first + 1 if block == middle else last - boundary
        if rows != last - first + 1 or blocks.keyless[block]:
            moving = missed  # there are gaps, so the others cannot be told apart: they stay
        both = moving - missed  # rows that both explain
        to_before, to_after = (moving, -moving) if block == middle else (-moving, moving)
        gained, lost = (moving, -both) if block == middle else (-both, moving)
        return (
            before._replace(
                last=boundary,
                rows=before.rows + to_before,
                explained=before.explained + gained,
                missed=[at for at in before.missed if not first <= at <= last],
            ),
            after._replace(
                first=boundary + 1,
                rows=after.rows + to_after,
                explained=after.explained + lost,
                missed=[at for at in after.missed if not first <= at <= last],
            ),
        )
    return before, after


def _framed(key_offsets: NDArray[np.integer], key_data: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Whether each key begins with a zero byte and a schema id from 1 up, and is no eight-byte number."""
    sizes = np.diff(key_offsets)
    framed: NDArray[np.bool_] = (sizes > 5) & (sizes != 8)
    header = key_data[key_offsets[:-1][framed][:, None] + np.arange(5)]
    framed[framed] = (header[:, 0] == 0) & header[:, 1:].any(axis=1)
    return framed
