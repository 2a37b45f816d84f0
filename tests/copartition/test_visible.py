"""Names that would steer a terminal, a spreadsheet or a page, in every report."""

import csv
import html
import io
import json
import re
from functools import cache
from html.parser import HTMLParser

import numpy as np
import pytest
from rich.console import Console

from assignors.group import Topic
from assignors.state import GroupState, MemberIdentity
from copartition.assignment_diff import diff
from copartition.assignment_diff.page import diff_html
from copartition.assignment_diff.report.json import diff_csv, diff_json, diff_lines
from copartition.assignment_diff.report.markdown import diff_markdown
from copartition.assignment_diff.report.model import View
from copartition.assignment_diff.report.text import print_diff, print_stat
from copartition.kit.words import visible
from copartition.simulate_scenarios.page import simulation_html
from copartition.simulate_scenarios.report import simulation_json
from copartition.simulate_scenarios.report_text import print_runs, print_simulation
from copartition.simulation import Consumer, Crash, Runs, Scenario, simulate
from tests.support.tiers import sample

ESCAPED = {
    "\x1b[31mred": r"\x1b[31mred",
    "\x1b]0;title\x07": r"\x1b]0;title\x07",
    "\x9b2J": r"\x9b2J",
    "a\x08\x7f": r"a\x08\x7f",
    "\x00": r"\x00",
    "one\ntwo": r"one\ntwo",
    "one\r|two": r"one\r|two",
    "\t=1": r"\t=1",
    "\x0b\x0c\x1c\x85\u2028": r"\x0b\x0c\x1c\x85\u2028",
    "\u202egpj.exe": r"\u202egpj.exe",
    "\u2066a\u2069": r"\u2066a\u2069",
    "a\u200bb\ufeff": r"a\u200bb\ufeff",
    "\U000e0041": r"\U000e0041",
    "\uffff": r"\uffff",
    "no UTF-8 \udcff": r"no UTF-8 \udcff",
    "half a pair \ud83d": r"half a pair \ud83d",
}
MARKUP = ["=1+1", "+1", "-1", "@SUM(A1)", "\uff1d1", "a|b", "a\\|b", "[red]x[/]", "<b>&amp;", '"quoted", 2']
PLAIN = ["orders", "grüße-中文", "a b", "C:\\x1b", "😀", "e\u0301"]

each_name = pytest.mark.parametrize("name", sample([*ESCAPED, *MARKUP, *PLAIN], 14), ids=ascii)


@cache
def a_diff(name):
    """A group, members and a topic of this name: moves, a rename, a conflict, a warning."""
    words = {"name": name, "status": name, "warnings": (name,)}
    stays, moves, leaves, joins = (MemberIdentity(f"{name}{number}", host=name) for number in range(4))
    return diff(
        GroupState((stays, moves, leaves), (name,), *columns([0, 0, 1, 2], [0] * 4, [0, 1, 1, 2]), **words),
        GroupState((stays, moves, joins), (name,), *columns([1, 0, 2], [0] * 3, [0, 1, 2]), **words),
    )


def columns(*lists):
    return [np.array(numbers, np.int32) for numbers in lists]


@cache
def a_run(name):
    consumers = (Consumer(name), Consumer("other"))
    return [simulate(Scenario((Topic("t", 4),), consumers, (Crash(1_000, name),), name=name))]


def many_runs(name):
    return [Runs(result.scenario, [result.summary]) for result in a_run(name)]


def painted(draw, what):
    console = Console(file=io.StringIO(), width=1_000)
    draw(what, console)
    return console.file.getvalue()


REPORTS = {
    "text": lambda name: painted(print_diff, a_diff(name)),
    "text by topic": lambda name: painted(lambda *args: print_diff(*args, View(by="topic")), a_diff(name)),
    "text by partition": lambda name: painted(
        lambda *args: print_diff(*args, View(by="partition", topic=re.compile(re.escape(name)))), a_diff(name)
    ),
    "statistics": lambda name: painted(print_stat, a_diff(name)),
    "text of a run": lambda name: painted(print_simulation, a_run(name)),
    "text of many runs": lambda name: painted(print_runs, many_runs(name)),
    "markdown": lambda name: diff_markdown(a_diff(name)),
    "markdown by partition": lambda name: diff_markdown(a_diff(name), View(by="partition")),
    "csv by member": lambda name: diff_csv(a_diff(name), View(by="member")),
    "csv": lambda name: diff_csv(a_diff(name), View(every=True)),
    "html": lambda name: diff_html(a_diff(name)),
    "html of a run": lambda name: simulation_html(a_run(name)),
}


class Page(HTMLParser):
    """What a browser shows and holds in attributes, and the elements it makes."""

    def __init__(self, page):
        super().__init__()
        self.texts, self.tags = [], []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, *(name for name, _ in attributes)))
        self.texts += [value for _, value in attributes if value]

    def handle_data(self, data):
        self.texts.append(data)


@cache
def plain_page(report):
    """The page of a name that is no markup anywhere."""
    return Page(REPORTS[report]("plain"))


@pytest.mark.parametrize(("name", "shown"), ESCAPED.items(), ids=ascii)
def test_what_cannot_be_seen_is_escaped_once(name, shown):
    assert visible(name) == visible(visible(name)) == shown


@pytest.mark.parametrize("name", [*MARKUP, *PLAIN])
def test_what_can_be_seen_is_left_alone(name):
    assert visible(name) is name


@each_name
@pytest.mark.parametrize("report", REPORTS)
def test_nothing_unseen_is_in_a_report(report, name):
    lines = REPORTS[report](name).split("\n")
    assert [line for line in lines if not line.isprintable()] == []


@each_name
@pytest.mark.parametrize("report", ["text", "text of a run"])
def test_text_shows_the_name(report, name):
    assert visible(name) in REPORTS[report](name)


@each_name
@pytest.mark.parametrize("report", ["html", "html of a run"])
def test_a_page_shows_the_name_and_gains_no_element_and_no_attribute(report, name):
    page = Page(REPORTS[report](name))
    assert any(visible(name) in text for text in page.texts)
    assert page.tags == plain_page(report).tags


@each_name
def test_markdown_tables_keep_their_cells(name):
    rows, plain = (table_rows(REPORTS["markdown"](label)) for label in (name, "plain"))
    assert [len(row) for row in rows] == [len(row) for row in plain]
    assert visible(name) + "0" in [row[0] for row in rows]


def table_rows(report):
    """Cells as a browser shows them: a backslash takes the sign after it as it is."""
    return [
        [
            html.unescape(re.sub(r"\\(.)", r"\1", cell)).strip()
            for cell in re.findall(r"(?:\\.|[^\\|])+", line)
        ]
        for line in report.split("\n")
        if line.startswith("|")
    ]


@each_name
def test_no_cell_of_a_csv_is_computed(name):
    header, *rows = csv.reader(io.StringIO(REPORTS["csv"](name), newline=""))
    assert {len(row) for row in rows} == {len(header)}
    cells = [cell for row in rows for cell in row]
    assert [cell for cell in cells if cell[:1] in "=+-@\t\r\uff1d" and cell] == []
    assert visible(name) in {cell.removeprefix("'") for cell in cells}


def test_a_minus_before_a_name_is_told_from_a_formula():
    assert "'-pods," in REPORTS["csv"]("-pods")


@each_name
def test_json_and_its_lines_carry_the_true_name_in_ascii(name):
    report, lines = diff_json(a_diff(name)), "".join(diff_lines(a_diff(name)))
    changes = json.loads(report)["changes"]
    assert (report + lines).isascii()
    assert [json.loads(line) for line in lines.splitlines()] == changes
    assert {name} == {change["topic"] for change in changes}
    assert json.loads(simulation_json(a_run(name)))["runs"][0]["scenario"] == name
