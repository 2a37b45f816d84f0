"""Rows of a table run in turn as one test, and a failure names those that fail."""

import sys

import pytest

from tests.support.tables import MOST_ROWS, WIDTH, run_in_turn
from tests.support.test_tiers import pytest_run


def failure_of(test, **fixtures):
    """What a failing test of rows says, by paragraph: how many rows fail, then each of them."""
    with pytest.raises(pytest.fail.Exception) as caught:
        run_in_turn(test, test.pytestmark)(**fixtures)
    return str(caught.value).split("\n\n")


def test_each_row_of_each_table_runs_with_the_fixtures():
    ran = []

    @pytest.mark.parametrize(("a", "b"), [(1, 2), pytest.param(3, 4, id="three")])
    @pytest.mark.parametrize("c", "xy")
    def test(a, b, c, fixture):
        fixture.append((a, b, c))

    run_in_turn(test, test.pytestmark)(fixture=ran)
    assert sorted(ran) == [(1, 2, "x"), (1, 2, "y"), (3, 4, "x"), (3, 4, "y")]


def test_a_failure_shows_the_rows_that_fail_and_where():
    @pytest.mark.parametrize("number", [1, 2, 3])
    def test(number):
        assert number == 2, "another number"

    count, first, second = failure_of(test)
    assert count == "2 of 3 rows fail"
    assert [text.splitlines()[0] for text in (first, second)] == ["number=1", "number=3"]
    assert "in test\n    assert number == 2" in first
    assert "AssertionError: another number" in first
    assert "support/tables.py" not in first


def test_a_test_ends_after_ten_failing_rows():
    ran = []

    @pytest.mark.parametrize("number", range(99))
    def test(number):
        ran.append(number)
        sys.exit(number)

    assert len(failure_of(test)) == 1 + MOST_ROWS == 1 + len(ran)


def test_a_long_row_is_cut():
    @pytest.mark.parametrize("text", ["x" * 1000])
    def test(text):
        pytest.fail(text[:3])

    _, shown = failure_of(test)
    assert shown.splitlines()[0].endswith(" ... (1007 characters)")
    assert len(shown.splitlines()[0]) < WIDTH + 30


def test_a_row_that_is_skipped_keeps_no_other_from_being_run():
    ran = []

    @pytest.mark.parametrize("number", [1, 2])
    def test(number):
        ran.append(number)
        pytest.skip("here")

    with pytest.raises(pytest.skip.Exception):
        run_in_turn(test, test.pytestmark)()
    assert ran == [1, 2]


TESTS = """
import pytest
from hypothesis import given, strategies

ROWS = pytest.mark.parametrize("number", [1, 2, 3])

@pytest.fixture(scope="module", params="ab")
def letter(request):
    return request.param

@ROWS
def test_in_turn(number):
    assert number != 2

@ROWS
def test_in_turn_by_letter(number, letter):
    pass

@ROWS
def test_apart(number, tmp_path):
    pass

@ROWS
@pytest.mark.rows_share
def test_share(number, tmp_path):
    pass

@ROWS
@pytest.mark.live
def test_live(number):
    pass

@pytest.mark.parametrize("number", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_marked_rows(number):
    pass

@pytest.mark.parametrize("number", [])
def test_no_rows(number):
    pass

@ROWS
@given(strategies.none())
def test_property(number, nothing):
    pass
"""


@pytest.mark.live
@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "counted"),
    [((), "1 failed, 14 passed, 1 skipped"), (("--rows-apart",), "1 failed, 22 passed, 1 skipped")],
)
def test_rows_that_need_something_of_their_own_stay_apart(tmp_path, options, counted):
    _, output = pytest_run(tmp_path, "--tier", "ci", *options, tests=TESTS)
    assert counted in output, output
