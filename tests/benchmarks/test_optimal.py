"""What `python -m benchmarks.optimal` measures."""

from __future__ import annotations

from collections import Counter

import pytest

from benchmarks.optimal.__main__ import gather
from benchmarks.optimal.lives import SHAPES
from benchmarks.optimal.measuring import Counts, measure_group
from benchmarks.optimal.page import page
from benchmarks.optimal.picture import picture

pytestmark = pytest.mark.slow

GROUPS = 8
OURS = [(shape, name) for shape in SHAPES for name in ("optimal", "cooperative-optimal")]


@pytest.fixture(scope="module")
def counts() -> Counts:
    return gather(map(measure_group, range(GROUPS)))


@pytest.mark.parametrize("figure", ["failed", "loads", "fullest", "avoidable"])
def test_the_optimal_assignors_are_never_beaten(counts: Counts, figure: str) -> None:
    assert {place: set(counts[figure][place]) for place in OURS} == {place: {0} for place in OURS}


def test_a_cooperative_optimal_group_rests_after_two_rounds(counts: Counts) -> None:
    rounds = [counts["rounds"][shape, "cooperative-optimal"] for shape in SHAPES]
    assert set().union(*rounds) == {1, 2}


def test_every_assignor_lives_the_same_lives(counts: Counts) -> None:
    lives = Counter(shape for shape, _ in counts["failed"])
    assert lives == dict.fromkeys(SHAPES, 5)
    for shape in SHAPES:
        assert len({counts["failed"][place].total() for place in counts["failed"] if place[0] == shape}) == 1


def test_kafkas_assignors_move_more_than_they_must(counts: Counts) -> None:
    assert max(counts["avoidable"]["unequal", "sticky"]) > 0


def test_the_page_and_the_picture_tell_it(counts: Counts) -> None:
    assert f"this page: {GROUPS} groups" in page(GROUPS, counts)
    assert "uniform and optimal: none" in picture(counts)
