"""A page with the verdict on a join: topics as rows of partitions, and the keys they share as bands between.

A key that is at the same partition number in both is part of a straight, pale band; one that is not, of a
band that crosses over.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from copartition.check.planned import GrowthPlan
from copartition.check.proof import KeyPairs
from copartition.check.report import (
    MARKS,
    JoinReport,
    example_table,
    growth_table,
    plan_sentences,
    plan_table,
    topic_table,
)
from copartition.kit.page import render
from copartition.kit.words import count, list_names

WIDTH = 100.0
"""Of the picture, in its own units: it is as wide as there is room."""
HEIGHT = 150.0
"""Between two rows, in pixels."""

_MOST_BOXES = 48
"""A row of more partitions has several in a box."""
_MOST_LABELS = 12
"""More numbers than these do not fit under each other's boxes on a telephone."""
_MOST_BANDS = 800
_THINNEST = 0.25
"""So wide is a band that crosses over at least: one key among millions must be seen."""
_GAP = 0.12
"""Share of a box that bands leave free, so that one can tell the boxes apart."""


class Row(NamedTuple):
    """A topic in equally wide boxes, each for a partition or for several that follow each other.

    Attributes:
        topic: its name.
        text: how many partitions it has, in words.
        boxes: (what the box has inside, maybe nothing; which partitions it stands for), from left to right.
    """

    topic: str
    text: str
    boxes: tuple[tuple[str, str], ...]


class Band(NamedTuple):
    """Keys of a box above and of a box below.

    Attributes:
        apart: whether the keys are at different partition numbers.
        path: the shape, in SVG's words and the picture's units.
        title: how many keys they are, and of which boxes.
    """

    apart: bool
    path: str
    title: str


class Gap(NamedTuple):
    """The space between two rows: bands, the crossing ones last, and a sentence on them.

    Attributes:
        bands: at most `_MOST_BANDS`, the crossing ones first among those that are kept.
        text: how many keys are at different partition numbers.
        left_out: how many bands are not drawn.
    """

    bands: tuple[Band, ...]
    text: str
    left_out: int


class Picture(NamedTuple):
    """Rows from top to bottom, and one gap fewer.

    Attributes:
        rows: one for each topic.
        gaps: between each row and the next.
        together: keys at the same partition number, summed over the gaps.
        apart: keys at different ones, likewise.
    """

    rows: tuple[Row, ...]
    gaps: tuple[Gap, ...]
    together: int
    apart: int

    @property
    def summary(self) -> str:
        """The picture in sentences, for readers who do not see it."""
        return " ".join(gap.text for gap in self.gaps)


def join_picture(topics: Sequence[tuple[str, int]], pairs: Sequence[KeyPairs]) -> Picture:
    """Return the picture of topics (name, partition count) and of the keys that each shares with the next."""
    same = [int(pair.keys[pair.one == pair.other].sum()) for pair in pairs]
    total = [int(pair.keys.sum()) for pair in pairs]
    return Picture(
        tuple(_row(*topic) for topic in topics),
        tuple(
            _gap(one, other, between) for one, other, between in zip(topics, topics[1:], pairs, strict=False)
        ),
        sum(same),
        sum(total) - sum(same),
    )


def _row(topic: str, partitions: int) -> Row:
    """Return a topic's row; with more partitions than `_MOST_BOXES`, several share a box."""
    boxes = min(partitions, _MOST_BOXES)
    # The first partition of each box: partition p is in box p * boxes // partitions, as in `_gap`.
    firsts = [-(-box * partitions // boxes) for box in range(boxes + 1)]
    # Every so many boxes one has a number.
    every = -(-boxes // _MOST_LABELS)
    return Row(
        topic,
        count(partitions, "partition"),
        tuple(
            (
                str(first) if box % every == 0 else "",
                f"{topic}-{first}" if after == first + 1 else f"{topic}-{first} to {after - 1}",
            )
            for box, (first, after) in enumerate(pairwise(firsts))
        ),
    )


def _gap(one: tuple[str, int], other: tuple[str, int], pairs: KeyPairs) -> Gap:
    """Return the bands from one topic to the next, as wide as their share of the fullest box."""
    above, below = (min(partitions, _MOST_BOXES) for _, partitions in (one, other))
    apart = pairs.one != pairs.other
    # A band is the keys of a box above, of a box below, and of one kind.
    number = ((pairs.one * above // one[1]) * below + pairs.other * below // other[1]) * 2 + apart
    bands, where = np.unique(number, return_inverse=True)
    keys = np.bincount(where.ravel(), weights=pairs.keys).astype(np.int64)
    crossing, (top, bottom) = bands % 2 == 1, np.divmod(bands // 2, below)
    crossed = int(pairs.keys[apart].sum())
    text = (
        f"{count(crossed, 'key')} of {int(pairs.keys.sum()):,} that {one[0]} and {other[0]} share "
        f"{'is' if crossed == 1 else 'are'} at different partition numbers."
    )
    if not len(bands):
        return Gap((), f"{one[0]} and {other[0]} share no key that was read.", 0)
    starts, ends = (
        _places(box, boxes, beside, keys, crossing)
        for box, boxes, beside in ((top, above, bottom), (bottom, below, top))
    )
    # Crossing bands come first, so that the ones left out are those that are as they should be.
    kept = np.lexsort((-keys, ~crossing))[:_MOST_BANDS]
    # Drawn last, crossing bands lie above the others.
    kept = kept[np.argsort(crossing[kept], kind="stable")]
    drawn = tuple(
        Band(
            bool(crossing[band]),
            _path(*starts[:, band], *ends[:, band]),
            f"{count(int(keys[band]), 'key')}: {one[0]} box {top[band]}, {other[0]} box {bottom[band]}"
            if max(one[1], other[1]) > _MOST_BOXES
            else f"{count(int(keys[band]), 'key')} in {one[0]}-{top[band]} and {other[0]}-{bottom[band]}",
        )
        for band in kept.tolist()
    )
    return Gap(drawn, text, len(bands) - len(drawn))


def _places(
    box: NDArray[np.int64],
    boxes: int,
    beside: NDArray[np.int64],
    keys: NDArray[np.int64],
    crossing: NDArray[np.bool_],
) -> NDArray[np.float64]:
    """Return where each band begins and ends along a row: side by side within its box; shape (2, bands)."""
    width = WIDTH / boxes
    fullest = np.bincount(box, weights=keys).max()
    wide = width * (1 - _GAP) * keys / fullest
    # Only crossing bands: a pale one that is too thin to be seen says nothing that matters.
    wide = np.where(crossing, np.maximum(wide, _THINNEST), wide)
    order = np.lexsort((beside, box))
    ends = np.cumsum(wide[order])
    first = np.searchsorted(box[order], np.arange(boxes))
    # The running sum of widths at the first band of each box: what is left of it begins the box.
    before = np.append(0.0, ends)[first][box[order]]
    total = np.bincount(box, weights=wide, minlength=boxes)[box[order]]
    left = box[order] * width + (width - total) / 2 + ends - wide[order] - before
    places = np.empty((2, len(box)))
    places[:, order] = left, left + wide[order]
    return places


def _path(left: float, right: float, below_left: float, below_right: float) -> str:
    """Return a band from the upper row to the lower, as SVG's path: both its sides are curves."""
    middle = HEIGHT / 2
    return (
        f"M{left:.2f} 0C{left:.2f} {middle:g} {below_left:.2f} {middle:g} {below_left:.2f} {HEIGHT:g}"
        f"H{below_right:.2f}C{below_right:.2f} {middle:g} {right:.2f} {middle:g} {right:.2f} 0Z"
    )


def join_html(report: JoinReport) -> str:
    """Return a page with the verdict on a join and a picture of the shared keys, or with a plan."""
    verdict = report.verdict
    if isinstance(verdict, GrowthPlan):
        return render(
            "check/page.html.j2",
            report=report,
            sentences=plan_sentences(verdict),
            joins=plan_table(verdict),
            growth=growth_table(verdict),
        )
    picture = None
    if report.pairs:
        counts = [audit.num_partitions for audit in report.audits] or report.invented_counts
        picture = join_picture([*zip(verdict.topics, counts, strict=True)], report.pairs)
    proof, drawn = verdict.proof, (picture.together, picture.apart) if picture else (0, 0)
    together, apart = drawn if proof is None else (proof.common - proof.apart, proof.apart)
    return render(
        "check/page.html.j2",
        report=report,
        names=list_names(verdict.topics),
        marks=MARKS,
        picture=picture,
        together=together,
        apart=apart,
        picture_height=HEIGHT,
        invented=not report.audits,
        counts_unknown=any(reason.code == "counts" and reason.weight == "open" for reason in verdict.reasons),
        examples=example_table(verdict),
        topics=topic_table(report.audits),
    )
