"""The time axis of pictures."""

from itertools import pairwise

import pytest

from copartition.kit.page import Window, number_ticks, ticks
from copartition.kit.words import clock

STEPS = {
    *(1, 2, 5, 10, 20, 50, 100, 200, 500),
    *(number * unit for unit in (1_000, 60_000, 3_600_000) for number in (1, 2, 5, 10, 15, 30)),
}


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [
        (0, "0 s"),
        (850, "850 ms"),
        (12_926, "12.926 s"),
        (100_000, "1 min 40 s"),
        (120_000, "2 min"),
        (3_600_000, "1 h"),
        (7_500_000, "2 h 5 min"),
        (3_600_200, "1 h 0.2 s"),
    ],
)
def test_a_moment_is_called_what_it_is(milliseconds, text):
    assert clock(milliseconds) == text


SPANS = [1, 9, 70, 999, 3_000, 45_000, 130_000, 620_523, 1_000_000, 7.3e6, 9e7, 4e9, 2**53]


@pytest.mark.parametrize("span", SPANS)
def test_ticks_are_where_their_label_says(span):
    window = Window(span / 7, span / 7 + span)
    units = {"ms": 1, "s": 1_000, "min": 60_000, "h": 3_600_000}
    for tick in ticks(window):
        parts = tick.text.replace(",", "").split()
        said = sum(float(number) * units[unit] for number, unit in zip(parts[::2], parts[1::2], strict=True))
        assert window.at(tick.x) == pytest.approx(said, rel=1e-9)


@pytest.mark.parametrize("span", [seconds for seconds in SPANS if 12 <= seconds <= 2e8])
def test_ticks_are_at_times_people_count_in(span):
    window = Window(0, span)
    marks = ticks(window)
    assert 5 <= len(marks) <= 13
    assert {round(window.at(after.x) - window.at(before.x)) for before, after in pairwise(marks)} <= STEPS


def test_a_few_whole_numbers_have_a_mark_each():
    assert [tick.text for tick in number_ticks(Window(11, 19), least=1)] == [str(n) for n in range(11, 20)]
    assert [tick.text for tick in number_ticks(Window(0, 120), least=1)] == [
        "0",
        "20",
        "40",
        "60",
        "80",
        "100",
        "120",
    ]
