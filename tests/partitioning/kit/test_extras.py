"""A missing package is named with what needs it and the extra that brings it."""

import ast
import sys
import tomllib
from pathlib import Path

import pytest

from assignors.weighted.weights import read_weights
from partitioning.errors import MissingDependencyError


def test_a_missing_msgspec_is_told_of_whatever_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "partitioning.kit.formats", raising=False)
    monkeypatch.setitem(sys.modules, "msgspec", None)
    with pytest.raises(
        MissingDependencyError,
        match=r"^reading JSON or YAML needs the package msgspec; install it with: pip install .*\[cli\]'",
    ):
        import partitioning.kit.formats  # noqa: F401 - it is the import that fails


def test_a_missing_pyyaml_is_told_of_weights(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    path = tmp_path / "weights.yaml"
    path.write_text("orders: 1\n")
    with pytest.raises(MissingDependencyError, match=r"^reading weights from YAML needs the package yaml; "):
        read_weights(path)


ROOT = Path(__file__).parents[3]
PACKAGES = ("partitioning", "assignors", "copartition", "spark_integration")


def test_what_needs_a_package_names_an_extra_that_there_is() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    sources = [path.read_text(encoding="utf-8") for name in PACKAGES for path in (ROOT / name).rglob("*.py")]
    calls = [
        node.args
        for source in sources
        if "needs(" in source
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and getattr(node.func, "id", None) == "needs"
    ]
    assert len(calls) > 10
    for _, extra in calls:
        assert isinstance(extra, ast.Constant)
        assert extra.value in extras
