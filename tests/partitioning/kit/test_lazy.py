"""Packages load what is in them when it is asked for."""

import subprocess
import sys
from importlib import import_module, metadata

import pytest

import partitioning
import partitioning.hashing


def printed(code):
    return subprocess.check_output([sys.executable, "-c", code], text=True).split()


@pytest.mark.live
@pytest.mark.parametrize("package", ["partitioning", "assignors"])
def test_a_package_alone_loads_no_numpy(package):
    assert "numpy" not in printed(f"import sys, {package}; print(*sys.modules)")


@pytest.mark.live
def test_modules_are_found_in_their_package():
    assert printed("import partitioning.hashing\nprint(partitioning.hashing.__name__)") == [
        "partitioning.hashing"
    ]


def test_a_name_that_is_not_there_is_told():
    with pytest.raises(AttributeError, match="module 'partitioning' has no attribute 'partitoner'"):
        partitioning.partitoner  # noqa: B018


def test_a_name_that_was_replaced_stays_so(monkeypatch):
    monkeypatch.setattr(partitioning, "murmur2", None)
    partitioning.hashing  # noqa: B018 - a module, for which the package looks at its names again
    assert partitioning.murmur2 is None


@pytest.mark.parametrize("package", ["partitioning", "assignors", "spark_integration"])
def test_a_package_tells_the_version_that_is_installed(monkeypatch, package):
    monkeypatch.setattr(metadata, "version", {"copartition": "1.2.3"}.__getitem__)
    assert import_module(package).__version__ == "1.2.3"
