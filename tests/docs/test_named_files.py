"""Every file that the texts name is there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def missing_files(page):
    """The files and folders that are not there; a name may follow another one from the same folder."""
    folder = ROOT
    for name in re.findall(r"`([\w./-]+(?:\.py|\.xml|\.yaml|/))`", page.read_text(encoding="utf-8")):
        path = next((base / name for base in (ROOT, page.parent, folder) if (base / name).exists()), None)
        if path is None:
            yield name
        else:
            folder = path.parent


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_named_files_are_there(page):
    assert list(missing_files(page)) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_the_architecture_names_every_room():
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    packages = ("partitioning", "assignors", "copartition", "spark_integration", "pyspark_copartition")
    rooms = {path.parent.relative_to(ROOT) for package in packages for path in (ROOT / package).rglob("*.py")}
    assert [str(room) for room in sorted(rooms) if f"{room}/ " not in text] == []
