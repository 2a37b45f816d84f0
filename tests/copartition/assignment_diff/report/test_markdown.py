"""Reports for pull requests."""

import re

import pytest

from copartition.assignment_diff.report.markdown import diff_markdown
from copartition.assignment_diff.report.model import View
from copartition.kit.markdown import MOST_CHARACTERS
from tests.copartition.reported import a_crowd


def test_the_verdict_comes_first_and_the_long_part_is_folded(grown):
    lines = diff_markdown(grown).splitlines()
    assert lines[0].startswith("**30 of 120 partitions moved; 2 members joined.**")
    assert "<details><summary>Flows</summary>" in lines
    assert "| worker-0 | worker-6 | 5 | orders:15-19 |" in lines


def test_tables_have_as_many_cells_as_their_header(odd):
    rows = [line for line in diff_markdown(odd).splitlines() if line.startswith("|")]
    cells = [row.replace("\\|", "").count("|") for row in rows]
    assert set(cells) == {7, 5}


def test_reasons_part_the_flows_when_asked_for(planned):
    lines = diff_markdown(planned, View(reasons=True)).splitlines()
    assert "| from | to | because | partitions | which |" in lines
    assert "| a | new-0 | over quota | 2 | orders:4-5 |" in lines


def test_names_are_not_markup(odd):
    text = diff_markdown(odd)
    assert "<b>" not in text
    assert "&lt;b>\\|\\*" in text


def test_no_difference_has_no_tables(unchanged):
    assert "|" not in diff_markdown(unchanged)


@pytest.mark.parametrize("by", ["member", "topic", "partition"])
@pytest.mark.parametrize("members", [3, 300, pytest.param(2_000, marks=pytest.mark.heavy)])
def test_a_report_fits_into_a_comment(members, by):
    crowd = a_crowd(members, 50 if members < 2_000 else 10, shuffled=True)
    text = diff_markdown(crowd, View(by=by))
    assert len(text) <= MOST_CHARACTERS
    assert text.count("<details>") == text.count("</details>")


def test_what_does_not_fit_is_counted():
    text = diff_markdown(a_crowd(2_000, 10))
    tables = re.findall(r"<summary>(.*?)</summary>(.*?)</details>", text, re.DOTALL)
    shown = {title: table.count("\n| ") - 2 for title, table in tables}
    more = {title: re.findall(r"and ([\d,]+) more (\w+)", table) for title, table in tables}
    assert more == {
        "Members": [(f"{2_000 - shown['Members']:,}", "members")],
        "Flows": [(f"{2_000 - shown['Flows']:,}", "flows")],
    }


def test_a_report_of_long_names_fits_too():
    crowd = a_crowd(400, 4, prefix="a|*_[]" * 100)
    assert len(diff_markdown(crowd)) <= MOST_CHARACTERS


def test_what_is_assumed_is_told(assuming):
    assert diff_markdown(assuming).splitlines()[:3] == [
        "**Nothing changed: 2 partitions kept.**",
        "",
        "- assumed: everybody subscribes to orders",
    ]


def test_costs_and_lag_are_told(with_stops):
    text = diff_markdown(with_stops)
    assert "Crash w (nothing but waiting takes time): 5,500 to 5,580 partition-seconds" in text
    assert "lag moved unknown" in text


def test_rows_are_topics_when_asked_for():
    assert "| orders | 40 | 0 | 40 | 0 | 0 | 0 | 0 | 0 | 400 |" in diff_markdown(a_crowd(4), View(by="topic"))


def test_a_filter_is_said(grown):
    assert "only topics matching ord are shown" in diff_markdown(grown, View(topic=re.compile("ord")))
