"""The table of mutations does not rot between runs of `make mutations`, and samples leave out no package."""

import re
import tomllib
from pathlib import Path

import pytest

from tools.mutations.__main__ import check_rows
from tools.mutations.sample import PACKAGES
from tools.mutations.table import MUTATIONS, Mutation

ROOT = Path(__file__).parents[3]
GOOD = Mutation("Makefile", "PYTHON ?= python3", "PYTHON ?= python", "tests/conftest.py")


@pytest.mark.heavy
@pytest.mark.parametrize("path", sorted({mutation.path for mutation in MUTATIONS}))
def test_the_rows_of_a_file_are_about_it(path: str) -> None:
    check_rows([mutation for mutation in MUTATIONS if mutation.path == path], ROOT)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"old": "no such text"}, "0 times, not once"),
        ({"old": "make"}, "not once"),
        ({"new": GOOD.old}, "it changes nothing"),
        ({"tests": "tests/conftest.py tests/no_such_test.py::test_it"}, "no tests/no_such_test.py"),
    ],
)
def test_a_row_that_has_rotted_is_named(change: dict[str, str], fault: str) -> None:
    check_rows([GOOD], ROOT)
    with pytest.raises(SystemExit, match=fault):
        check_rows([GOOD._replace(**change)], ROOT)


def test_a_sample_is_drawn_from_every_package_with_tests() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    packages = project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    assert [package for package in packages if (ROOT / "tests" / package).is_dir()] == PACKAGES
    (loop,) = re.findall(r"for package in (.+); do", (ROOT / "Makefile").read_text(encoding="utf-8"))
    assert loop.split() == PACKAGES
