"""The docstring of a room names each of its files, so that a newcomer finds where something is decided."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PRODUCT = ("assignors", "copartition", "partitioning", "spark_integration")
SMALL = 3
"""A room with fewer files than this needs no list of them."""


def files_of(room: Path) -> set[str]:
    """The modules and rooms in a room, but for `api`, which holds names of others, and data files."""
    modules = {path.stem for path in room.glob("*.py")} - {"__init__", "api"}
    return modules | {path.parent.name for path in room.glob("*/__init__.py")}


ROOMS = [
    str(init.parent.relative_to(ROOT))
    for package in PRODUCT
    for init in sorted((ROOT / package).rglob("__init__.py"))
    if len(files_of(init.parent)) >= SMALL
]


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_names_its_files(room: str) -> None:
    docstring = ast.get_docstring(ast.parse((ROOT / room / "__init__.py").read_text(encoding="utf-8"))) or ""
    assert files_of(ROOT / room) - set(re.findall(r"`(\w+)`", docstring)) == set()
