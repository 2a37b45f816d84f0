"""Captures of public reports: each gets the answer that its table says, and the page is that of the table."""

import json
from pathlib import Path

import pytest

from benchmarks.capture_reports.__main__ import PAGE, page
from copartition.shell.main import copartition
from tests.support.commands import invoker

FOLDER = Path(__file__).parents[2] / "benchmarks" / "capture_reports"
REPORTS = json.loads((FOLDER / "reports.json").read_text())
run = invoker(copartition)


@pytest.mark.parametrize("report", REPORTS, ids=lambda report: report["input"])
def test_a_report_gets_its_answer(report):
    found = run("diff", FOLDER / "inputs" / report["input"])
    assert (found.exit_code, " ".join(report["answer"].split()) in " ".join(found.output.split())) == (
        report["exit_code"],
        True,
    ), found.output


def test_every_input_has_a_row():
    assert {path.name for path in (FOLDER / "inputs").iterdir()} == {report["input"] for report in REPORTS}


def test_the_page_is_that_of_the_table():
    assert PAGE.read_text() == page(REPORTS)
