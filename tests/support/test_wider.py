"""Which tests the quick tier leaves out, and which files it may run with fewer cases: CI runs them again."""

import pytest

from tests.support.tiers import ROOT, depends_on_tier, pytest_ignore_collect

TIERS = "from tests.support.tiers import sample\n"


@pytest.mark.parametrize(
    ("text", "wider"),
    [
        ("import pytest\n", False),
        ("from tests.support.records import lag\n", False),
        ("# from tests.support.tiers import sample\n", False),
        (TIERS, True),
        ("if True:\n    " + TIERS, True),
        ("import tests.support.tiers\n", True),
        ("from tests.support import prerequisites, tiers\n", True),
        ("from tests.support import (\n    prerequisites,\n    tiers,\n)\n", True),
        ("from tests.support.golden import cases\n", True),
        ("from tests.assignors.optimal.groups import GROUPS\n", True),
    ],
)
def test_a_file_is_wider_that_imports_the_tiers_itself_or_through_others(tmp_path, text, wider):
    path = tmp_path / "test_it.py"
    path.write_text(text)
    assert depends_on_tier(path) == wider


def test_two_files_may_import_each_other(tmp_path, monkeypatch):
    monkeypatch.setattr("tests.support.tiers.ROOT", tmp_path)
    (tmp_path / "tests").mkdir()
    for one, other in [("a", "b"), ("b", "a")]:
        (tmp_path / "tests" / f"{one}.py").write_text(f"from tests import {other}\n")
    assert not depends_on_tier(tmp_path / "tests" / "a.py")


def test_the_file_of_the_tiers_is_where_it_is_looked_for():
    assert (ROOT / "tests" / "support" / "tiers.py").is_file()


@pytest.mark.parametrize(
    ("tier", "folder", "left_out"),
    [("quick", "docs", True), ("quick", "tools", None), ("test", "docs", None)],
)
def test_folders_of_pages_are_left_out_of_the_quick_tier(monkeypatch, tier, folder, left_out):
    monkeypatch.setattr("tests.support.tiers._tier", tier)
    assert pytest_ignore_collect(ROOT / "tests" / folder) is left_out
