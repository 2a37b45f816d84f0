"""Makes one test of a parametrized one: its rows run in turn, and a failure shows the first ten that fail.

pytest takes milliseconds for each test, to prepare it and to report it; most rows take microseconds. Rows
stay tests of their own if they are live or long, or if what they ask for is made anew for each test, such as
a folder. Those that may share it all the same are marked `rows_share`. With `--rows-apart` all stay apart.
"""

from __future__ import annotations

import inspect
from functools import wraps
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.tiers import LIVE_FIXTURES, LIVE_MARKERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

Row = dict[str, Any]

MOST_ROWS = 10
"""A failing test ends after this many failing rows: the first ones show what they have in common."""
WIDTH = 110
"""Characters of a row's values that a failure shows; what is longer is cut and says so."""
APART = LIVE_MARKERS | {"live", "heavy", "slow", "nightly"}
"""Markers of tests whose rows stay tests of their own."""
CASE = type(pytest.param())


def add_options(parser: pytest.Parser) -> None:
    """Add the option that leaves rows apart, to choose some of them by `-k`."""
    parser.addoption("--rows-apart", action="store_true", help="see tests/support/tables.py")


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(
    collector: pytest.Collector, name: str, obj: Any
) -> list[pytest.Function] | None:
    """Make one test of a function with rows, if its rows can share all that it asks for."""
    tables = [mark for mark in getattr(obj, "pytestmark", ()) if mark.name == "parametrize"]
    if (
        not tables
        or collector.config.getoption("rows_apart")
        or not isinstance(collector, pytest.Module)
        or not inspect.isfunction(obj)
        or hasattr(obj, "hypothesis")
        or not all(map(_is_plain, tables))
    ):
        return None
    in_one = run_in_turn(obj, tables)
    items = collector.ihook.pytest_pycollect_makeitem(collector=collector, name=name, obj=in_one)
    if not all(map(_may_share, items)):
        return None
    for item in items:
        item.obj = in_one  # it looked up the name in its module
    return items


def run_in_turn(test: Callable[..., None], tables: Sequence[pytest.Mark]) -> Callable[..., None]:
    """A test that runs another one with each combination of the rows of its tables."""
    rows = [
        {name: value for row in combination for name, value in row.items()}
        for combination in product(*map(_rows_of, tables))
    ]

    @wraps(test)
    def in_turn(**fixtures: Any) -> None:
        failures, skipped = list[str](), None
        for row in rows:
            try:
                test(**row, **fixtures)
            except pytest.skip.Exception as skip:
                skipped = skip
            except (Exception, SystemExit, pytest.fail.Exception) as failure:  # noqa: BLE001 - shown below
                failures.append(_screen(row, failure))
                if len(failures) == MOST_ROWS:
                    break
        if failures:
            pytest.fail(
                f"{len(failures)} of {len(rows)} rows fail\n\n" + "\n\n".join(failures), pytrace=False
            )
        if skipped:
            raise skipped

    signature = inspect.signature(test)
    asked = [parameter for name, parameter in signature.parameters.items() if name not in rows[0]]
    in_turn.__signature__ = signature.replace(parameters=asked)
    in_turn.pytestmark = [mark for mark in test.pytestmark if mark not in tables]
    return in_turn


def _is_plain(table: pytest.Mark) -> bool:
    """Whether a table has rows, all of them without marks, for parameters of the test itself."""
    if len(table.args) != 2 or not table.kwargs.keys() <= {"ids"} or inspect.isgenerator(table.args[1]):
        return False
    rows = list(table.args[1])
    return bool(rows) and not any(isinstance(row, CASE) and row.marks for row in rows)


def _may_share(item: pytest.Function) -> bool:
    """Whether rows of a test are neither live nor long, and may share what the test asks for."""
    markers = {mark.name for mark in item.iter_markers()}
    made = item._fixtureinfo.name2fixturedefs
    if not APART.isdisjoint(markers) or not LIVE_FIXTURES.isdisjoint(made):
        return False
    return "rows_share" in markers or (
        "request" not in item._fixtureinfo.argnames
        and all(definitions[-1].scope != "function" for definitions in made.values())
    )


def _rows_of(table: pytest.Mark) -> Iterator[Row]:
    names, rows = table.args
    names = [name.strip() for name in names.split(",")] if isinstance(names, str) else names
    for row in rows:
        values = row.values if isinstance(row, CASE) else row if len(names) > 1 else (row,)
        yield dict(zip(names, values, strict=True))


def _screen(row: Row, failure: BaseException) -> str:
    """What a row has and where it fails, without the lines of this module."""
    failure.__traceback__ = failure.__traceback__ and failure.__traceback__.tb_next
    values = ", ".join(f"{name}={value!r}" for name, value in row.items())
    shown = values if len(values) <= WIDTH else f"{values[:WIDTH]} ... ({len(values)} characters)"
    return f"{shown}\n{pytest.ExceptionInfo.from_exception(failure).getrepr(style='short')}"
