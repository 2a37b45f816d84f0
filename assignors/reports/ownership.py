"""Picture 1: who owns which partition before and after, drawn so that moves stand out.

Partitions are lined up by their owner before, then by their owner after, so every flow is one block, however
many partitions there are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from assignors.partition_list import PartitionList
from assignors.reports.ranges import count, partition_ranges
from assignors.reports.visible import visible

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from assignors.diff import AssignmentDiff

WIDTH = 1000.0
COLOURS = 8
"""Colours in the style sheet (Okabe and Ito's, safe for colour-blind readers); members take them in turn."""
_LETTER = 6.4
"""Width of a letter of a label, in pixels."""


class Block(NamedTuple):
    """Neighbouring partitions with the same owner before and the same owner after."""

    x: float
    width: float
    before: int | None
    """Colour, None for nobody."""
    after: int | None
    kept: bool
    label: str
    """The owner after, where it changed and the name fits."""
    hint: str


class Label(NamedTuple):
    """A name over the blocks of one owner before."""

    x: float
    text: str


class Ownership(NamedTuple):
    """The picture, in pixels from the left."""

    width: float
    blocks: tuple[Block, ...]
    labels: tuple[Label, ...]
    partitions: int
    summary: str


def ownership(diff: AssignmentDiff) -> Ownership:
    """Lay the picture out."""
    names = [*(visible(member.name) for member in diff.members), "nobody"]
    nobody = len(diff.members)
    source, target = (np.where(side < 0, nobody, side) for side in (diff.source, diff.target))
    order = np.lexsort((diff.partition, diff.topic, target, source))
    pair = (source.astype(np.int64) * (nobody + 1) + target)[order]
    pairs, starts, times = np.unique(pair, return_index=True, return_counts=True)
    scale = WIDTH / max(1, len(order))
    blocks = []
    for one, start, number in zip(pairs.tolist(), starts.tolist(), times.tolist(), strict=True):
        before, after = divmod(one, nobody + 1)
        rows = order[start : start + number]
        places = partition_ranges(PartitionList(diff.topics, diff.topic[rows], diff.partition[rows]))
        width = number * scale
        kept = before == after
        blocks.append(
            Block(
                start * scale,
                width,
                _colour(before, nobody),
                _colour(after, nobody),
                kept,
                "" if kept else _fit(names[after], width),
                f"{count(number, 'partition')}, "
                + (f"kept by {names[after]}" if kept else f"{names[before]} → {names[after]}")
                + f": {places}",
            )
        )
    numbers = diff.summary
    return Ownership(
        WIDTH,
        tuple(blocks),
        _labels(source[order], names, scale),
        len(order),
        f"{numbers.kept} of {count(numbers.partitions, 'partition')} keep their owner, {numbers.moved} move "
        f"to another, {numbers.assigned + numbers.added} gain one, {numbers.unassigned} lose theirs.",
    )


def _colour(member: int, nobody: int) -> int | None:
    return None if member == nobody else member % COLOURS


def _labels(source: NDArray[np.int64], names: list[str], scale: float) -> tuple[Label, ...]:
    owners, starts, times = np.unique(source, return_index=True, return_counts=True)
    labels = (
        Label((start + number / 2) * scale, _fit(names[owner], number * scale))
        for owner, start, number in zip(owners.tolist(), starts.tolist(), times.tolist(), strict=True)
    )
    return tuple(label for label in labels if label.text)


def _fit(name: str, width: float) -> str:
    """The name, its end where only that fits, or nothing."""
    room = int(width / _LETTER)
    if len(name) <= room:
        return name
    return "…" + name[1 - room :] if room >= 4 else ""
