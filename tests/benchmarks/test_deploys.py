"""Twelve deploys, as all commands answer and as they were measured."""

import re

import pytest

from benchmarks.deploys import MEASURED, PAGE, answers, deploys, group, migrations, options, page
from benchmarks.measured import read_runs
from copartition.groups import snapshot_bytes

TEXT = PAGE.read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_page_is_what_the_commands_say_today():
    assert page(deploys(), migrations()) == TEXT


def test_all_commands_say_what_the_page_says_of_a_deploy(tmp_path):
    run = next(run for run in read_runs(MEASURED, "runs") if run["scenario"] == "rolling static")
    (file := tmp_path / "group.json").write_bytes(snapshot_bytes(group(run), None))
    said = set(answers(str(file), options(run)))
    words = " to ".join(f"{seconds:.1f}" for seconds in said.pop())
    assert not said
    assert f"| rolling static | eager | {words} | {words} | {words} | yes |" in TEXT


def test_the_page_claims_what_its_rows_show():
    rows = re.findall(r"^\| (?:[\w-]+ )?rolling.*$|^\| rolling.*$", TEXT, re.MULTILINE)
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    assert len(cells) == 12
    assert f"alike for {sum(row[5] == 'yes' for row in cells)} of 12 deploys" in " ".join(TEXT.split())
    assert f"inside the range for {sum(row[7] == 'yes' for row in cells)} of 12" in " ".join(TEXT.split())
