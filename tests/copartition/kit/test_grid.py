"""Tables of any size and width."""

import pytest
from rich.cells import cell_len

from copartition.kit.grid import Grid, GridColumn, shorten
from tests.support.drawing import drawn

COLUMNS = [GridColumn("NAME", "name"), GridColumn("N"), GridColumn("", "word"), GridColumn("WHICH", "list")]


def lines(*rows, width=80, full=False, columns=COLUMNS):
    grid = Grid(columns, rows, full=full)
    return drawn(lambda console: console.print(grid, crop=False), width=width)


def test_numbers_are_flush_right_and_a_column_without_content_is_left_out():
    assert lines(("a", "1", "", "t:0"), ("bcd", "1,000", "", "t:1")) == [
        "  NAME      N  WHICH",
        "  a         1  t:0",
        "  bcd   1,000  t:1",
    ]


def test_a_column_without_a_title_is_shown_where_it_says_something():
    assert lines(("a", "1", "new", "t:0")) == ["  NAME  N       WHICH", "  a     1  new  t:0"]


def test_a_list_is_broken_after_its_commas_and_blanks():
    assert lines(("a", "1", "", "orders:1,3,5,7-9 payments:2"), width=26) == [
        "  NAME  N  WHICH",
        "  a     1  orders:1,3,5,",
        "           7-9 payments:2",
    ]


def test_of_a_long_list_three_lines_are_shown_and_a_mark():
    long = ",".join(map(str, range(100, 160, 2)))
    few, all_ = (lines(("a", "30", "", long), width=40, full=full) for full in (False, True))
    assert len(few) == 4
    assert few[-1].endswith(",..")
    assert "".join(line.split()[-1] for line in all_[1:]) == long


@pytest.mark.parametrize("width", [30, 40, 50])
def test_names_give_way_where_there_is_no_room(width):
    columns = [GridColumn("FROM", "name"), GridColumn("TO", "name"), GridColumn("N")]
    row = ("consumer-of-orders-1", "consumer-of-orders-2", "1")
    assert max(map(len, lines(row, width=width, columns=columns))) <= width


def test_what_is_too_wide_is_not_lost():
    columns = [GridColumn("A"), GridColumn("B"), GridColumn("C")]
    assert lines(("1" * 20, "2" * 20, "3" * 20), width=40, columns=columns)[1].split() == [
        "1" * 20,
        "2" * 20,
        "3" * 20,
    ]


@pytest.mark.parametrize(
    ("name", "width", "shown"),
    [
        ("consumer-1", 10, "consumer-1"),
        ("consumer-10", 10, "cons..r-10"),
        ("consumer-10", 8, "con..-10"),
        ("中中中中中中", 10, "中中..中中"),
    ],
)
def test_a_long_name_keeps_its_beginning_and_its_end(name, width, shown):
    assert shorten(name, width) == shown
    assert cell_len(shown) <= width


def test_no_cell_steers_the_terminal():
    assert lines(("a\x1b[31m\u202e", "1", "", "b\u202e\udc80"))[1].split() == [
        r"a\x1b[31m\u202e",
        "1",
        r"b\u202e\udc80",
    ]
