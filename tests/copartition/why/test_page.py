"""The page of `copartition why`: a lane a member, what its table says, and nothing from elsewhere."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner

from copartition.shell.main import copartition
from copartition.why.history import Cause, GroupHistory, LoggedRebalance
from copartition.why.page import MOST_LANES, MOST_ROWS, picture_of, why_html
from copartition.why.statements import Line
from tests.support.pages import Page

LOGS = Path(__file__).parents[2] / "golden" / "logs"
SVG = "{http://www.w3.org/2000/svg}"
LINE = Line("server.log", 7)


def rebalance(at: float, cause: Cause, member: str | None, **more: object) -> LoggedRebalance:
    """Two seconds of joining, then one until the assignment."""
    times = {"began": at, "joined": at + 2, "ended": at + 3}
    return LoggedRebalance(int(at), cause, member, "", LINE, **times | more)  # type: ignore[arg-type]


LIFE = [
    rebalance(10, Cause.JOINED, "a"),
    rebalance(20, Cause.JOINED, "b"),
    rebalance(30, Cause.TOPICS, None),
    rebalance(40, Cause.EXPIRED, "b"),
    rebalance(50, Cause.LEFT, "a", also=((Cause.LEFT, "c"),), members=0),
]


def html(*rebalances: LoggedRebalance, name: str = "billing") -> str:
    return why_html([(GroupHistory(name, "classic", rebalances, (), ("times without a zone are UTC",)), [])])


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page of a recorded group, as the command writes it."""
    path = tmp_path_factory.mktemp("why") / "why.html"
    logs = sorted(map(str, (LOGS / "java-range").glob("*.log.gz")))
    result = CliRunner().invoke(copartition, ["why", *logs, "--html", str(path)])
    assert (result.exit_code, result.stderr) == (1, "")
    return path.read_text(encoding="utf-8")


def stays(name: str, *rebalances: LoggedRebalance) -> list[tuple[float, float]]:
    """When a member was in the group."""
    picture = picture_of(rebalances)
    assert picture is not None
    (lane,) = [lane for lane in picture.lanes if lane.name == name]
    return list(lane.stays)


def test_the_page_needs_nothing_from_elsewhere(page: str) -> None:
    assert not re.search(r"<(script|link|img|iframe)|@import|url\((?!#)", page)
    assert set(re.findall(r"https?://[^\"' <]+", page)) <= {"http://www.w3.org/2000/svg"}
    assert "prefers-color-scheme: dark" in page


def test_the_picture_is_well_formed_and_has_a_text_alternative(page: str) -> None:
    (picture,) = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
    assert ET.fromstring(picture).get("role") == "img"
    assert "10 rebalances" in ET.fromstring(picture).get("aria-label", "")


def test_each_member_has_a_lane_and_each_rebalance_a_row(page: str) -> None:
    text = Page(page).text
    for label in ("c0: in the group", "c1: poll interval exceeded, 02:48:26, generation 7"):
        assert label in page
    assert "10 rebalances in 1 min 56 s, 4 because 3 members joined classic, 10 rebalances in" in text
    row = [
        "7",
        "2026-11-25 02:48:26",
        "poll interval exceeded",
        "c1",
        "1.8 s",
        "11 ms",
        "1",
        "",
        "broker.log.gz:30",
    ]
    assert row in Page(page).cells("")


def test_what_avoids_rebalances_is_on_the_page_with_its_price(page: str) -> None:
    text = Page(page).text
    assert "lower max.poll.records, or raise max.poll.interval.ms" in text
    assert "Price: what a crashed member had stays unread until its session ends." in text


def test_a_lane_begins_when_its_member_joins_and_ends_when_it_goes() -> None:
    assert stays("b", *LIFE) == [(20, 40)]
    assert stays("a", *LIFE) == [(10, 50)]


def test_a_member_that_leaves_and_never_joined_was_there_before() -> None:
    ((begin, end),) = stays("c", *LIFE)
    assert (begin < 10, end) == (True, 50)


def test_a_member_that_nobody_saw_leave_stays() -> None:
    ((_, end),) = stays("b", *LIFE[:2])
    assert end > 23


def test_a_name_that_two_members_have_stays_until_both_are_gone() -> None:
    lives = [rebalance(at, Cause.JOINED, "x") for at in (10, 20)]
    lives += [rebalance(at, Cause.LEFT, "x") for at in (30, 40)]
    assert stays("x", *lives) == [(10, 40)]


def test_nobody_stays_in_an_empty_group() -> None:
    assert stays("a", LIFE[0], rebalance(20, Cause.LEFT, "b", members=0)) == [(10, 20)]


def test_what_no_member_caused_has_a_lane_of_its_own() -> None:
    picture = picture_of(LIFE)
    assert picture is not None
    assert [lane.name for lane in picture.lanes] == ["a", "b", None, "c"]
    assert "the whole group: topics changed, 00:00:30, generation 30" in html(*LIFE)


def test_a_band_shows_how_long_members_were_waited_for() -> None:
    (picture,) = re.findall(r"<svg.*?</svg>", html(*LIFE), re.DOTALL)
    bands = [band for band in ET.fromstring(picture).iter(f"{SVG}rect") if "band" in band.get("class", "")]
    join, sync = bands[:2]
    assert (join.get("class"), sync.get("class")) == ("band barrier", "band handover")
    assert join.findtext(f"{SVG}title") == "generation 10: joined; members joined within 2.0 s"
    widths = [float(band.get("width", "").rstrip("%")) for band in (join, sync)]
    assert widths[0] == pytest.approx(2 * widths[1], rel=0.01)


def test_without_times_there_is_a_table_and_no_picture() -> None:
    page = html(rebalance(1, Cause.UNKNOWN, None, began=None, joined=None, ended=None))
    assert "<svg" not in page
    assert "unknown" in Page(page).text


def test_a_group_without_rebalances_says_so() -> None:
    assert "classic, 0 rebalances" in Page(html()).text


def test_a_long_life_stays_a_page_and_says_what_is_left_out() -> None:
    many = [rebalance(10 * number, Cause.JOINED, f"m{number % 99}") for number in range(1, 2_000)]
    page = html(*many)
    text = Page(page).text
    assert len(page) < 400_000
    assert f"{len(many) - MOST_ROWS:,} earlier rebalances not shown" in text
    assert f"{99 - MOST_LANES} members that caused fewer rebalances are left out" in text


def test_names_are_not_markup() -> None:
    page = html(rebalance(1, Cause.JOINED, "<b>\u202e"), name="<i>")
    assert "<b>\\" not in page
    assert "&lt;b&gt;\\u202e" in page
    assert "<title>Why did it rebalance? &lt;i&gt;</title>" in page
