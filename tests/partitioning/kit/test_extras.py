"""A missing package is named with what needs it and the extra that brings it."""

import sys
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
