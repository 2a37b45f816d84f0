"""What has to agree before a version is tagged."""

from pathlib import Path

import pytest

import partitioning
from tools.release import ROOT, faults

PROJECT = """\
[project]
name = "copartition"
version = "0.2.0"
[tool.hatch.metadata.hooks.custom]
repository = "{}"
install = "{}"
"""
TOLD = "# Changelog\n\n## Unreleased\n\n## 0.2.0 - 2026-12-01\n\n### Added\n\n- More.\n\n## 0.1.0\n\n- All.\n"
UNTOLD = "# Changelog\n\n## Unreleased\n\n- More.\n\n## 0.1.0\n\n- All.\n"


@pytest.mark.parametrize(
    ("tag", "installed", "changelog", "expected"),
    [
        ("v0.2.0", "0.2.0", TOLD, []),
        ("0.2.0", "0.2.0", TOLD, ["it must be v0.2.0"]),
        ("v0.2.1", "0.2.0", TOLD, ["it must be v0.2.0"]),
        ("v0.2.0", "0.1.0", TOLD, ["__version__ is 0.1.0"]),
        ("v0.2.0", "0.2.0", UNTOLD, ["tells nothing of 0.2.0", "under 'Unreleased'"]),
        ("v0.2.0", "0.2.0", "# Changelog\n\n## 0.2.0\n\n## 0.1.0\n\n- All.\n", ["tells nothing of 0.2.0"]),
        ("v0.2.0", "0.2.0", TOLD.replace("0.2.0", "0.2.0rc1"), ["tells nothing of 0.2.0"]),
    ],
)
def test_what_does_not_agree_is_named(
    tmp_path: Path, tag: str, installed: str, changelog: str, expected: list[str]
) -> None:
    (tmp_path / "pyproject.toml").write_text(PROJECT.format("https://example.org", "copartition"))
    (tmp_path / "CHANGELOG.md").write_text(changelog)
    found = faults(tag, tmp_path, installed)
    assert len(found) == len(expected)
    assert all(text in fault for text, fault in zip(expected, found, strict=True))


def test_a_release_needs_the_address_of_the_repository(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(PROJECT.format("", "copartition"))
    (tmp_path / "CHANGELOG.md").write_text(TOLD)
    [fault] = faults("v0.2.0", tmp_path, "0.2.0")
    assert "no address under 'repository'" in fault


def test_a_release_is_installed_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(PROJECT.format("https://example.org", "."))
    (tmp_path / "CHANGELOG.md").write_text(TOLD)
    [fault] = faults("v0.2.0", tmp_path, "0.2.0")
    assert "install = '.'" in fault


def test_the_packages_say_the_version_of_the_project() -> None:
    found = faults("no tag", ROOT, partitioning.__version__)
    assert not any("__version__" in fault for fault in found)
