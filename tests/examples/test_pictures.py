"""The picture of the demo's simulated restarts, which stands without a page around it."""

from xml.etree import ElementTree as ET

import pytest

from assignors.group import Topic
from copartition import simulate
from copartition.kit.words import visible
from copartition.simulation import Consumer, Crash, Scenario, SimulationResult, Stall
from examples.flights.pictures import LINE, availability_svg, place_keys

SVG = "{http://www.w3.org/2000/svg}"
TWO = "two readers, one of which"


def a_run(*events: Crash | Stall, name: str = "a run") -> SimulationResult:
    return simulate(Scenario((Topic("t", 4),), (Consumer("a"), Consumer("b")), events, name=name))


def test_it_has_a_style_of_its_own_and_says_what_happened() -> None:
    picture = ET.fromstring(availability_svg([a_run()]))
    assert picture.find(f"{SVG}style") is not None
    assert "0 rebalances" in picture.attrib["aria-label"]


def test_the_legend_names_two_readers_only_where_there_are() -> None:
    assert TWO not in availability_svg([a_run(Crash(1_000, "a"))])
    assert TWO in availability_svg([a_run(Stall(1_000, "a", 90_000))])


def test_a_key_that_finds_no_room_begins_another_line() -> None:
    first, second, third = place_keys({"a": "x" * 100, "b": "y" * 100, "c": "z"})
    assert (first.x, first.y, second.x, second.y) == (0, 0, 0, LINE)
    assert third.y == LINE
    assert third.x > second.x


@pytest.mark.parametrize(
    "name", ["\x1b[31mred", "\u202egpj.exe", "<b>&amp;", '"quoted", 2', "no UTF-8 \udcff"], ids=ascii
)
def test_names_are_shown_safely(name: str) -> None:
    """Two scenarios, so that titles name them."""
    picture = availability_svg([a_run(name=name), a_run(name="other")])
    assert all(line.isprintable() for line in picture.split("\n"))
    assert visible(name) in "".join(ET.fromstring(picture).itertext())
