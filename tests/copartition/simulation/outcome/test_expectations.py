"""Figures of a run held against limits in a test."""

import re
from dataclasses import replace

import numpy as np
import pytest

from copartition.simulation import Runs
from partitioning.errors import ScenarioError
from tests.support.results import a_loaded_result, a_result


@pytest.mark.parametrize(
    "expected",
    [
        {"longest_pause": "<48s"},
        {"longest_pause_ms": "<=47s"},
        {"longest_pause": "47 s"},
        {"longest_pause": "==47000ms"},
        {"longest_pause": " < 1 min "},
        {"longest_pause": ">= 0.01 h"},
        {"double_read": 0},
        {"double_read_ms": "0"},
        {"moved_partitions": 1},
        {"moved_partitions": "!=2", "rebalances": "< 1_000", "detection": ">44.9s"},
    ],
)
def test_what_is_as_expected_passes(expected):
    assert a_result().assert_(**expected) is None


@pytest.mark.parametrize(
    "expected",
    [
        {"longest_pause": "<47s"},
        {"longest_pause_ms": "<=46999ms"},
        {"longest_pause": "1 min"},
        {"longest_pause": ">1 min"},
        {"double_read": ">0"},
        {"moved_partitions": 0},
        {"rebalances": "!=1"},
    ],
)
def test_what_is_not_fails(expected):
    with pytest.raises(AssertionError):
        a_result().assert_(**expected)


def test_every_failure_is_told_with_what_is_to_blame():
    with pytest.raises(AssertionError) as failure:
        a_loaded_result().assert_(
            longest_pause="<5s", rebalances=1, detection="<1s", barrier="<1s", duplicates=0, recovery="<1 min"
        )
    assert str(failure.value).splitlines() == [
        "deploy with cooperative-sticky, seed 0:",
        "  longest_pause is 47.0 s (47000 ms), expected <5s; orders-0 from 1.0 s to 48.0 s: a crashed",
        "  detection is 45.0 s (45000 ms), expected <1s; 45.0 s of it over 1 partition: a crashed",
        "  barrier is 3.0 s (3000 ms), expected <1s; 2.0 s of it over 2 partitions: b was slow",
        "  duplicates is 12, expected 0",
        "  recovery is never, expected <1 min",
    ]


def test_another_pause_of_the_partition_is_not_to_blame():
    result = a_result()
    timeline = replace(result.timeline, partition=np.array([0, 0, 0, 0, 0, 0, 1], np.int32))
    timeline = replace(
        timeline,
        start=np.array([0, 1_000, 46_000, 48_000, 50_000, 55_000, 0], np.float64),
        end=np.array([1_000, 46_000, 48_000, 50_000, 55_000, 60_000, 60_000], np.float64),
        phase=np.array([1, 3, 2, 1, 1, 2, 1], np.int8),
    )
    with pytest.raises(AssertionError, match=r"to 48\.0 s: a crashed$"):
        replace(result, recording=lambda: timeline).assert_(longest_pause="<5s")


def test_a_pause_of_several_causes_blames_each_once():
    result = a_result()
    timeline = replace(result.timeline, cause=np.array([-1, 1, 0, -1, -1, 1, -1], np.int32))
    with pytest.raises(AssertionError, match=r"48\.0 s: b was slow, a crashed$"):
        replace(result, recording=lambda: timeline).assert_(longest_pause="<5s")


@pytest.mark.parametrize(
    ("expected", "fault"),
    [
        ({"longest_paus": 0}, "a run has no figure 'longest_paus'; did you mean longest_pause?"),
        ({"rebalances_ms": 0}, "a run has no figure 'rebalances_ms'; did you mean rebalances?"),
        ({"x": 0}, "there are seed, duration, rebalances,"),
        ({"lost": 0}, "lost needs records; give the scenario a load"),
        ({"longest_pause": "fast"}, "longest_pause='fast' is no limit; give one such as '<5s', '<=10' or 0"),
        ({"longest_pause": "<5 days"}, "is no limit"),
        ({"rebalances": "<1_"}, "is no limit"),
        ({"rebalances": True}, "rebalances=True is no limit"),
        ({"rebalances": None}, "rebalances=None is no limit"),
        ({"rebalances": float("nan")}, "rebalances=nan is no limit"),
        ({"longest_pause": 5}, "longest_pause is a time; give a unit, ms, s, min, h"),
        ({"longest_pause": "<5"}, "longest_pause is a time; give a unit, ms, s, min, h"),
        ({"rebalances": "<5 s"}, "rebalances is no time; leave 's' out"),
    ],
)
def test_what_cannot_be_asked_is_an_error(expected, fault):
    with pytest.raises(ScenarioError, match=re.escape(fault)):
        a_result().assert_(**expected)


def test_a_run_without_a_pause_has_nobody_to_blame():
    result = a_result(longest_pause_ms=0)
    quiet = replace(
        result.timeline,
        **{
            name: getattr(result.timeline, name)[:1]
            for name in ("partition", "start", "end", "phase", "consumer", "cause")
        },
    )
    with pytest.raises(AssertionError, match=r"longest_pause is 0 ms \(0 ms\), expected >1s$"):
        replace(result, recording=lambda: quiet).assert_(longest_pause=">1s")


def test_a_pause_without_end_blames_what_is_still_unread():
    result = a_result(longest_pause_ms=np.inf)
    timeline = replace(result.timeline, phase=np.array([1, 3, 2, 1, 1, 1, 2], np.int8))
    timeline = replace(timeline, cause=np.array([-1, 0, 0, -1, -1, -1, 1], np.int32))
    with pytest.raises(
        AssertionError, match=r"longest_pause is never, .*; orders-1 from 48\.0 s on: b was slow$"
    ):
        replace(result, recording=lambda: timeline).assert_(longest_pause="<1h")


def runs():
    """Pauses of 1 s to 20 s, duplicates in the last two runs."""
    return Runs(
        a_loaded_result().scenario,
        [
            replace(a_loaded_result().summary, seed=n, longest_pause_ms=n * 1_000, duplicates=float(n > 18))
            for n in range(1, 21)
        ],
    )


@pytest.mark.parametrize(
    "expected",
    [
        {"longest_pause_p95": "<=19s", "longest_pause_p100": "20 s", "longest_pause_p50": "10 s"},
        {"longest_pause_ms_p95": "19 s", "longest_pause": "<21s"},
        {"duplicates_p90": 0, "duplicates": "<=1"},
    ],
)
def test_a_limit_holds_for_a_percentile_of_the_runs_or_for_each(expected):
    assert runs().assert_(**expected) is None


def test_what_most_runs_are_not_is_told_with_the_first_seed():
    with pytest.raises(AssertionError) as failure:
        runs().assert_(longest_pause_p95="<5s", longest_pause="<5s", duplicates=0, moved_partitions=1)
    assert str(failure.value).splitlines() == [
        "deploy with cooperative-sticky, 20 runs:",
        "  longest_pause_p95 is 19.0 s (19000 ms), expected <5s",
        "  longest_pause is 5.0 s (5000 ms), expected <5s; in 16 of 20 runs, first with seed 5",
        "  duplicates is 1, expected 0; in 2 of 20 runs, first with seed 19",
    ]


@pytest.mark.parametrize(
    ("expected", "fault"),
    [
        ({"longest_paus_p95": 0}, "a run has no figure 'longest_paus'; did you mean longest_pause?"),
        ({"longest_pause_p101": 0}, "a run has no figure 'longest_pause_p101'"),
        ({"longest_pause_p95": 5}, "longest_pause_p95 is a time; give a unit"),
    ],
)
def test_a_limit_of_runs_that_cannot_be_is_an_error(expected, fault):
    with pytest.raises(ScenarioError, match=re.escape(fault)):
        runs().assert_(**expected)


def test_one_run_has_no_percentiles():
    with pytest.raises(ScenarioError, match="no figure 'longest_pause_p95'"):
        a_result().assert_(longest_pause_p95="<5s")
