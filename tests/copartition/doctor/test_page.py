"""The page of `copartition doctor`: every check, what to do where one finds something, and the members' load."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from assignors.state import MemberIdentity
from copartition.cli.doctor import doctor
from copartition.doctor.checks import CHECKS, findings
from copartition.doctor.examination import Examination
from copartition.groups import snapshot_bytes
from copartition.reports.doctor import MOST_MEMBERS, doctor_html
from tests.copartition.doctor.test_checks import FAULTS, HEALTHY, JOINED, PLACES, group, members, with_state
from tests.support.pages import Page

if TYPE_CHECKING:
    from pathlib import Path


def page(examination: Examination) -> Page:
    return Page(doctor_html(examination, findings(examination, JOINED)))


def load(examination: Examination) -> list[list[str]]:
    """The rows of the table of members, without the bars and the header."""
    return [[row[0], *row[2:]] for row in page(examination).cells("member")[1:]]


def test_a_healthy_group_has_nothing_to_do() -> None:
    text = page(HEALTHY).text
    assert "Nothing is wrong. 0 checks of 19 unknown." in text
    assert "What to do" not in text


@pytest.mark.parametrize(("name", "examination"), FAULTS)
def test_a_finding_is_there_with_why_and_what_to_do(name: str, examination: Examination) -> None:
    (check,) = (each for each in CHECKS if each.name == name)
    text = page(examination).text
    assert f"{check.why}Next: {check.action}" in text


def test_problems_come_before_warnings() -> None:
    text = page(with_state(group((0, 0, 0, -1)))).text
    assert text.index("unread problem") < text.index("idle warning")


def test_every_check_is_listed() -> None:
    listed = [each["text"] for each in page(HEALTHY).all("b")]
    assert [name for name in listed if name in {check.name for check in CHECKS}] == [
        check.name for check in CHECKS
    ]


def test_what_is_unknown_is_not_called_fine() -> None:
    text = page(replace(HEALTHY, retention_ms=None, coordinator=None)).text
    assert "Nothing is wrong as far as can be told. 1 check of 19 unknown." in text


def test_members_have_their_partitions_and_what_waits_for_them() -> None:
    assert load(with_state(group((0, 0, 0, 1)))) == [["c0", "3", "15"], ["c1", "1", "5"]]


def test_without_a_commit_what_waits_is_unknown() -> None:
    last = HEALTHY.last
    assert last is not None
    some = replace(last, committed={place: 195 for place in PLACES if place != ("orders", 0)})
    assert load(replace(HEALTHY, last=some)) == [["c1", "2", "10"], ["c0", "2", "unknown"]]
    empty = replace(some, ends={**some.ends, ("orders", 0): 0})
    assert load(replace(HEALTHY, last=empty)) == [["c1", "2", "10"], ["c0", "2", "5"]]


def test_a_source_without_lag_has_no_column_of_it() -> None:
    assert load(Examination(group())) == [["c0", "2"], ["c1", "2"]]


def test_of_a_big_group_it_shows_the_members_with_most_partitions() -> None:
    many = tuple(MemberIdentity(f"m{number}") for number in range(MOST_MEMBERS + 7))
    examination = with_state(replace(group(), members=many))
    assert len(load(examination)) == MOST_MEMBERS
    assert "And 7 more members, none with more partitions." in page(examination).text


def test_names_are_text() -> None:
    examination = with_state(replace(members(client_id="<b>x</b>"), name="<script>"))
    html = doctor_html(examination, findings(examination, JOINED))
    assert "<script>" not in html
    assert "<b>x</b>" not in html


def test_the_command_writes_it(tmp_path: Path) -> None:
    source, target = tmp_path / "billing.json", tmp_path / "billing.html"
    source.write_bytes(snapshot_bytes(group()))
    arguments = [str(source), "--html", str(target)]
    answer = CliRunner().invoke(doctor, arguments, env={"KAFKA_BOOTSTRAP_SERVERS": ""})
    assert answer.stderr == ""
    assert Page(target.read_text(encoding="utf-8")).all("h1")[0]["text"] == "What is wrong with billing?"
