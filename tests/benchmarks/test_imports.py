"""Every program beside the packages can be imported: no test runs all of them, and names move."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import pytest

import benchmarks
import examples
import tools

OF_THE_SITE = "tools.site"
"""These need MkDocs and a browser's driver, which `make site` installs apart."""


@pytest.mark.slow
@pytest.mark.parametrize("package", [benchmarks, examples, tools], ids=lambda package: package.__name__)
def test_every_program_can_be_imported(package):
    names = [module.name for module in walk_packages(package.__path__, f"{package.__name__}.")]
    modules = [import_module(name) for name in names if not name.startswith(OF_THE_SITE)]
    assert modules


@pytest.mark.live
@pytest.mark.slow
def test_every_benchmark_finds_its_fixtures():
    """CI runs no benchmark, so nothing else notices that a fixture has another name."""
    plan = "-m pytest -q -p no:cacheprovider --benchmark-only --setup-plan -o python_files=bench_*.py"
    # The plug-in for benchmarks refuses to run where it sees that a worker of pytest-xdist has started it.
    alone = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_XDIST")}
    command = [sys.executable, *plan.split(), *benchmarks.__path__]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=alone)
    assert done.returncode == 0, done.stdout


def test_names_that_programs_of_real_clients_share_are_there():
    """Each of these programs runs in an environment of its client, which is not installed here."""
    folder = Path(tools.__path__[0]) / "oracle" / "clients" / "python"
    trees = {path.stem: ast.parse(path.read_text("utf-8")) for path in folder.glob("*.py")}
    bound = {
        module: {
            name
            for node in tree.body
            for name in (
                [target.id for target in node.targets if isinstance(target, ast.Name)]
                if isinstance(node, ast.Assign)
                else [getattr(node, "name", "")]
            )
        }
        for module, tree in trees.items()
    }
    shared = [
        (node.module, alias.name)
        for tree in trees.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module in trees
        for alias in node.names
    ]
    assert shared
    assert [f"{module}.{name}" for module, name in shared if name not in bound[module]] == []
