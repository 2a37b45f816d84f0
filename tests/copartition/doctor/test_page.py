"""The page of `copartition doctor`: findings first, names as text, what is unknown, and the members."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from click.testing import CliRunner

from assignors.state import GroupState, MemberIdentity
from copartition.doctor.checks import findings
from copartition.doctor.command import doctor
from copartition.doctor.examination import Examination, Offsets
from copartition.doctor.observing import Limits
from copartition.doctor.report import MOST_MEMBERS, doctor_html
from copartition.groups import snapshot_bytes
from tests.support.pages import Page

if TYPE_CHECKING:
    from pathlib import Path

EVIL = "<b>&\"bil'ling"


def group(owners: list[int], *, members: int = 2, name: str = "billing") -> GroupState:
    """One topic; `owners` has an owner a partition, the members are c0, c1, .."""
    count = len(owners)
    return GroupState(
        tuple(MemberIdentity(f"m{n}", client_id=f"c{n}", topics=("orders",)) for n in range(members)),
        ("orders",),
        np.array(owners, np.int32),
        np.zeros(count, np.int32),
        np.arange(count, dtype=np.int32),
        complete=True,
        name=name,
        status="Stable",
        strategy="range",
        protocol="classic",
        clients=("java",),
    )


def live(state: GroupState, committed: int = 90, end: int = 100) -> Examination:
    """As a cluster shows it; nothing is behind by more than it was."""
    places = [("orders", number) for number in state.partition.tolist()]
    looks = [
        Offsets(dict.fromkeys(places, committed + more), dict.fromkeys(places, end + more)) for more in (0, 1)
    ]
    return Examination(state, *looks, elapsed_ms=10_000)


def html(examination: Examination) -> str:
    return doctor_html(examination, findings(examination, Limits(lag=5)))


def text(examination: Examination) -> str:
    return Page(html(examination)).text


def test_findings_come_first_problems_before_warnings() -> None:
    page = text(live(group([0, 0, 0, 0])))
    order = [
        page.index(part)
        for part in ("findings. ", "lag problem", "idle warning", "Every check", "How to know the rest")
    ]
    assert order == sorted(order)
    assert "Next: See load and subscriptions" in page
    assert "owners of 4 partitions in the coordinator's answer" in page
    assert "joined: name them with --join A,B" in page
    assert "assumed: members commit more often than every 10.0 s (standstill)" in page


def test_a_group_without_findings_has_nothing_to_do() -> None:
    page = text(live(group([0, 1]), end=92))
    assert "What to do" not in page
    assert "Nothing is wrong as far as can be told" in page


def test_names_are_text() -> None:
    state = group([0, 1], name=EVIL)
    page = html(live(replace(state, members=(state.members[0], state.members[1]._replace(client_id=EVIL)))))
    assert '<b>&"' not in page
    assert Page(page).text.count(EVIL) >= 2
    assert not re.search(r"<(script|link|img|iframe)|@import|url\((?!#)", page)


def test_what_a_capture_does_not_tell_is_unknown() -> None:
    page = text(Examination(replace(group([0, 1]), status=None)))
    assert "the source does not say in which state the group is" in page
    assert "Nothing is known to be wrong." in page
    assert "records behind" not in page


def test_members_are_those_with_most_partitions_first() -> None:
    page = Page(html(live(group([1, 1, 1, 0, -1]))))
    assert page.cells("")[1:3] == [["c1", "", "3", "30"], ["c0", "", "1", "10"]]


@pytest.mark.parametrize(("end", "waiting"), [(100, "unknown"), (0, "0")])
def test_what_waits_where_nothing_is_committed_is_unknown_unless_it_is_empty(end: int, waiting: str) -> None:
    look = Offsets({("orders", 0): 90}, {("orders", 0): 100, ("orders", 1): end})
    page = Page(html(Examination(group([0, 1]), look, look, elapsed_ms=10_000)))
    assert page.cells("")[1:3] == [["c0", "", "1", "10"], ["c1", "", "1", waiting]]


def test_a_large_group_shows_its_heaviest_members() -> None:
    page = Page(html(live(group([*range(MOST_MEMBERS + 7), MOST_MEMBERS + 6], members=MOST_MEMBERS + 7))))
    assert page.cells("")[1] == [f"c{MOST_MEMBERS + 6}", "", "2", "20"]
    assert "And 7 members with as many partitions or fewer." in page.text


@pytest.mark.parametrize(("owners", "code"), [([0, 1], 0), ([0, 0], 1)])
def test_the_command_writes_the_page_beside_its_answer(owners: list[int], code: int, tmp_path: Path) -> None:
    path, page = tmp_path / "billing.json", tmp_path / "billing.html"
    path.write_bytes(snapshot_bytes(replace(group(owners), lag=np.full(2, 5, np.int64))))
    answer = CliRunner().invoke(doctor, [str(path), "--html", str(page)])
    assert (answer.exit_code, answer.stderr) == (code, "")
    assert "CHECK" in answer.stdout
    assert "What is wrong with billing?" in Page(page.read_text(encoding="utf-8")).text
