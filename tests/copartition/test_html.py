"""Pages and pictures."""

import re
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from assignors.group import Topic
from copartition.assignment_diff.page import diff_html
from copartition.simulate_scenarios.page import simulation_html
from copartition.simulation import Scenario, simulate


@pytest.fixture(scope="module", params=["grown", "unchanged", "odd", "empty_diff", "named"])
def page(request):
    return diff_html(request.getfixturevalue(request.param))


@pytest.fixture(scope="module")
def run_page(runs):
    return simulation_html(runs)


def pictures(page):
    return [ET.fromstring(svg) for svg in re.findall(r"<svg.*?</svg>", page, re.DOTALL)]


def test_a_page_needs_nothing_from_elsewhere(page, run_page):
    for text in (page, run_page):
        assert not re.search(r"<(script|link|img|iframe)|@import|url\((?!#)", text)
        assert set(re.findall(r"https?://[^\"' <]+", text)) <= {"http://www.w3.org/2000/svg"}


def test_a_page_serves_light_and_dark(page):
    assert "prefers-color-scheme: dark" in page


def test_every_picture_is_well_formed_and_has_a_text_alternative(page, run_page):
    for picture in (*pictures(page), *pictures(run_page)):
        assert picture.get("role") == "img"
        assert picture.get("aria-label")


def test_names_are_not_markup(odd, runs):
    assert "<b>|*" not in diff_html(odd)
    assert "&lt;b&gt;|*" in diff_html(odd)
    assert "a &lt;crash&gt;" in simulation_html(runs)


def test_reasons_part_the_flows_when_asked_for(planned):
    assert "over quota" not in diff_html(planned)
    page = diff_html(planned, reasons=True)
    assert ">because</th>" in page
    assert "<td>new-0</td><td>over quota</td>" in page


def test_a_run_in_which_nothing_happened_has_a_picture(quiet_run):
    assert len(pictures(simulation_html([quiet_run]))) == 1


def test_a_group_that_is_empty_all_along_has_a_picture():
    assert "unread" in simulation_html([simulate(replace(Scenario((Topic("t", 2),), ()), name="empty"))])
