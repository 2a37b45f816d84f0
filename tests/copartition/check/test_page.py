"""The picture of a join: rows of partitions, and bands of the keys they share."""

import re
from itertools import pairwise

import numpy as np
import pytest

from copartition.check.page import WIDTH, join_html, join_picture
from copartition.check.planned import invented_pairs, judge_writers
from copartition.check.proof import KeyPairs
from copartition.check.report import JoinReport
from copartition.check.writers import parse_writer


def pairs(*rows):
    return KeyPairs(*(np.array(column, np.int64) for column in zip(*rows, strict=True)))


NOTHING = KeyPairs(*(np.empty(0, np.int64) for _ in range(3)))


def ends(band):
    """Left and right of a band, above and below."""
    left, below_left, below_right, right = re.fullmatch(
        r"M(\S+) 0C\S+ \S+ \S+ \S+ (\S+) \S+H([\d.]+)C\S+ \S+ \S+ \S+ (\S+) 0Z", band.path
    ).groups()
    return tuple(map(float, (left, right, below_left, below_right)))


def test_keys_at_the_same_number_are_together_and_others_apart():
    picture = join_picture([("a", 3), ("b", 3)], [pairs((0, 0, 70), (1, 2, 30))])
    assert (picture.together, picture.apart) == (70, 30)
    assert [band.apart for band in picture.gaps[0].bands] == [False, True]
    assert picture.summary == "30 keys of 100 that a and b share are at different partition numbers."


def test_a_band_goes_from_its_box_to_its_box():
    picture = join_picture([("a", 4), ("b", 2)], [pairs((3, 0, 5), (0, 1, 5), (0, 0, 5))])
    assert [len(row.boxes) for row in picture.rows] == [4, 2]
    by_title = {band.title: ends(band) for band in picture.gaps[0].bands}
    left, right, below_left, below_right = by_title["5 keys in a-3 and b-0"]
    assert 75 <= left < right <= 100
    assert 0 <= below_left < below_right <= 50


def test_bands_of_a_box_do_not_overlap():
    picture = join_picture([("a", 2), ("b", 4)], [pairs(*((0, other, 10) for other in range(4)))])
    above = sorted(ends(band)[:2] for band in picture.gaps[0].bands)
    assert all(right <= left + 0.011 for (_, right), (left, _) in pairwise(above))


def test_one_key_among_millions_is_seen():
    picture = join_picture([("a", 2), ("b", 2)], [pairs((0, 0, 5_000_000), (1, 0, 1))])
    left, right, *_ = ends(picture.gaps[0].bands[-1])
    assert right - left == pytest.approx(0.25, abs=0.02)


def test_many_partitions_share_boxes_and_none_is_lost():
    picture = join_picture([("a", 1000), ("b", 1000)], [pairs((0, 0, 3), (1, 1, 3), (0, 1, 1))])
    assert len(picture.rows[0].boxes) == 48
    assert picture.rows[0].boxes[0] == ("0", "a-0 to 20")
    assert picture.rows[0].boxes[-1] == ("", "a-980 to 999")
    assert [(band.apart, band.title) for band in picture.gaps[0].bands] == [
        (False, "6 keys: a box 0, b box 0"),
        (True, "1 key: a box 0, b box 0"),
    ]


def test_of_too_many_bands_those_that_cross_are_kept():
    rows = [(one, other, 1 + (one == other)) for one in range(40) for other in range(40)]
    gap = join_picture([("a", 40), ("b", 40)], [pairs(*rows)]).gaps[0]
    assert (len(gap.bands), gap.left_out) == (800, 800)
    assert all(band.apart for band in gap.bands)


def test_topics_that_share_no_key():
    picture = join_picture([("a", 1), ("b", 2), ("c", 2)], [NOTHING, pairs((1, 1, 2))])
    assert picture.gaps[0] == ((), "a and b share no key that was read.", 0)
    assert len(picture.gaps[1].bands) == 1


@pytest.mark.parametrize("partitions", [1, 2, 12, 13, 48, 49, 5000])
def test_boxes_fill_the_row(partitions):
    boxes = join_picture([("a", partitions), ("b", 1)], [NOTHING]).rows[0].boxes
    assert len(boxes) == min(partitions, 48)
    clients = [parse_writer("a=java"), parse_writer("b=java")]
    counts = {"a": partitions, "b": partitions}
    shown, pairs_of_both = invented_pairs(clients, counts)
    page = join_html(JoinReport(judge_writers(clients, counts), pairs=pairs_of_both, invented_counts=shown))
    places = re.findall(r'<rect class="box" x="([\d.]+)%" y="0" width="([\d.]+)%"', page)
    assert len(places) == 2 * len(boxes)
    assert sum(map(float, places[-1])) == pytest.approx(WIDTH, abs=0.01)
    assert sum(bool(label) for label, _ in boxes) <= 12
