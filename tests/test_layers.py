"""Who may import whom: the contracts in pyproject.toml, and what a core package may import with no extra."""

import ast
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from importlinter import cli

ROOT = Path(__file__).parent.parent
CORE = {"numpy", "mmh3"}
"""What every installation has."""
PACKAGES = ("partitioning", "assignors", "copartition")


def test_no_package_imports_from_one_above_it(capsys, monkeypatch):
    # It disables every logger there is, and later tests would hear nothing of theirs.
    monkeypatch.setattr(cli.logging_config, "dictConfig", lambda _: None)
    exit_code = cli.lint_imports(no_cache=True)
    assert exit_code == 0, capsys.readouterr().out


@pytest.mark.parametrize("package", PACKAGES)
def test_the_names_of_a_core_package_need_no_extra(package):
    importer = {f"{package}.api": ""}
    waiting = [*importer]
    while waiting:
        module = waiting.pop()
        for name in names_loaded_with(module):
            if name not in importer:
                importer[name] = module
                waiting.append(name)
    extras = {
        f"{importer[name]} imports {name}"
        for name in importer
        if name.partition(".")[0] not in {*PACKAGES, *CORE, *sys.stdlib_module_names}
    }
    assert extras == set()
    assert len(importer) > 20


@cache
def names_loaded_with(module: str) -> list[str]:
    """What is imported where this module is; a package and those above it meet many of the same modules."""
    return [*imported_when_loaded(module)]


@cache
def file_of(module: str) -> Path | None:
    """The file of one of our modules."""
    path = ROOT.joinpath(*module.split("."))
    return next((file for file in (path / "__init__.py", path.with_suffix(".py")) if file.is_file()), None)


def imported_when_loaded(module: str) -> Iterator[str]:
    """What is imported where this module is, not later in a function.

    Packages come with their modules, and with a package its `api`, which has its names.
    """
    file = file_of(module)
    if file is None:
        return
    statements = ast.parse(file.read_text("utf-8")).body
    while statements:
        statement = statements.pop()
        if isinstance(statement, ast.Import):
            names = [alias.name for alias in statement.names]
        elif isinstance(statement, ast.ImportFrom):
            inside = ["api", *(alias.name for alias in statement.names)]
            below = [f"{statement.module}.{name}" for name in inside]
            names = [str(statement.module), *filter(file_of, below)]
        else:
            names = []
            if isinstance(statement, ast.With | ast.Try | ast.ClassDef):
                statements += statement.body
        for name in names:
            parts = name.split(".")
            yield from (".".join(parts[:end]) for end in range(1, len(parts) + 1))
