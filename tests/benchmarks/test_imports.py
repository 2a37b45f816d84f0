"""Every program beside the packages can be imported: no test runs all of them, and names move."""

from __future__ import annotations

from importlib import import_module
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
