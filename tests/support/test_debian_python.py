"""Where Debian's packages cannot be had; `python -m tools.matrix python-3.14` tests that they work."""

from pathlib import Path

import pytest

from tests.support.debian_python import DebianPythonError, debian_python


def programs(folder: Path, **texts: str) -> str:
    """A PATH with nothing but these shell scripts."""
    for name, text in texts.items():
        program = folder / name.replace("_", "-")
        program.write_text(f"#!/bin/sh\n{text}\n")
        program.chmod(0o755)
    return str(folder)


@pytest.mark.live
@pytest.mark.parametrize(
    ("apt", "told"),
    [
        ({}, "no Python 3.14 here, and no apt-get"),
        ({"apt_get": ""}, "packages are not Debian's"),
        ({"apt_get": "echo it is broken >&2; exit 100"}, "apt-get failed:\nit is broken"),
    ],
    ids=["no apt-get", "no Debian", "broken"],
)
def test_it_says_why_there_is_no_such_python_and_leaves_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, apt: dict[str, str], told: str
) -> None:
    monkeypatch.setenv("PATH", programs(tmp_path, **apt))
    with pytest.raises(DebianPythonError, match=told):
        debian_python("3.14", tmp_path / "cache" / "python")
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_folder_that_is_there_is_not_fetched_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert debian_python("3.14", tmp_path) == tmp_path / "usr" / "bin" / "python3.14"
