"""What the package index shows of README.md, and the addresses beside it."""

import shutil

import pytest
from hatchling.metadata.core import ProjectMetadata
from hatchling.plugin.manager import PluginManager

from tools.metadata import with_absolute_links
from tools.release import ROOT

HOME = "https://example.org/copartition"


@pytest.fixture
def released(tmp_path):
    """The metadata of a project whose repository has an address."""
    for name in ("README.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / "tools").mkdir()
    shutil.copy(ROOT / "tools" / "metadata.py", tmp_path / "tools")
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    (tmp_path / "pyproject.toml").write_text(text.replace('repository = ""', f'repository = "{HOME}"'))
    return ProjectMetadata(str(tmp_path), PluginManager()).core


def test_a_release_has_its_addresses_from_one_line(released):
    assert released.urls["Repository"] == HOME
    assert all(address.startswith(HOME) for address in released.urls.values())


def test_every_link_of_the_readme_leads_somewhere_from_the_package_index(released):
    assert f"{HOME}/blob/v{released.version}/docs/spark.md" in released.readme
    assert f"{HOME}/raw/v{released.version}/docs/deploy.svg" in released.readme
    assert "](docs/" not in released.readme


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[a](docs/a.md)", "[a](h/blob/v1/docs/a.md)"),
        ("![a [b]](docs/a.svg)", "![a [b]](h/raw/v1/docs/a.svg)"),
        ("[a](https://x/y) [b](#c)", "[a](https://x/y) [b](#c)"),
        ("[a](b.md#c)", "[a](h/blob/v1/b.md#c)"),
    ],
)
def test_only_relative_links_are_changed(text, expected):
    assert with_absolute_links(text, "h", "1") == expected
