"""That everybody can read a diff's page: by keyboard, without seeing it, without seeing colours well."""

import re
from collections import Counter
from itertools import pairwise

import pytest

from copartition.assignment_diff.page import diff_html
from tests.support.diffs import joined
from tests.support.pages import Page

PAGES: dict[str, Page] = {}
"""Each page is made once, and no test changes it."""


@pytest.fixture(
    params=[
        *("grown", "unchanged", "odd", "empty_diff", "named", "planned", "forty"),
        pytest.param("large", marks=pytest.mark.heavy),
    ]
)
def page(request):
    name = request.param
    if name not in PAGES:
        shown = joined(40, 6) if name == "forty" else request.getfixturevalue(name)
        PAGES[name] = Page(diff_html(shown))
    return PAGES[name]


def test_a_page_has_one_main_landmark_that_holds_everything(page):
    assert len(page.all("main")) == 1
    assert all("main" in element["around"] for element in page.all("h1", "h2", "p", "table", "svg", "ul"))


def test_headings_are_in_order(page):
    levels = [int(heading["tag"][1]) for heading in page.all("h1", "h2", "h3")]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(later <= earlier + 1 for earlier, later in pairwise(levels))


def test_ids_are_unique_and_those_referred_to_exist(page):
    ids = Counter(element["id"] for element in page.elements if "id" in element)
    assert set(ids.values()) <= {1}
    assert {
        element["aria-labelledby"] for element in page.elements if "aria-labelledby" in element
    } <= ids.keys()


def test_landmarks_have_names_of_their_own(page):
    text = {element["id"]: element["text"] for element in page.elements if "id" in element}
    names = [
        element.get("aria-label") or text[element["aria-labelledby"]]
        for element in page.elements
        if element["tag"] == "section" or element.get("role") == "region"
    ]
    assert all(names)
    assert len(set(names)) == len(names)


def test_what_scrolls_is_reached_by_keyboard(page):
    scrolling = [
        element for element in page.elements if element["tag"] == "figure" or element.get("class") == "scroll"
    ]
    assert {(element.get("tabindex"), element.get("role")) for element in scrolling} <= {("0", "region")}
    assert all("div" in table["around"] for table in page.all("table"))


def test_tables_have_captions_and_headers_say_what_they_head(page):
    assert len(page.all("caption")) == len(page.all("table"))
    assert {header.get("scope") for header in page.all("th")} <= {"col", "row", "rowgroup"}


def test_nothing_is_told_by_hover(page):
    assert [element for element in page.elements if "title" in element] == []
    assert [title["around"] for title in page.all("title")] == [["html", "head"]]


def test_pictures_tell_what_they_show(page):
    assert all(picture.get("aria-label") for picture in page.all("svg") if "svg" not in picture["around"])


def luminance(colour):
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def palette(page, *, dark):
    """Colours by name; those for dark come after those for light, of each style sheet."""
    sheet = re.search(r"<style>(.*?)</style>", page, re.DOTALL)[1]
    nights = re.findall(r"@media \(prefers-color-scheme: dark\) \{(.*?\})\s*\}", sheet, re.DOTALL)
    days = re.sub(r"@media \(prefers-color-scheme: dark\) \{.*?\}\s*\}", "", sheet, flags=re.DOTALL)
    found = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", days))
    return found | dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", "".join(nights))) if dark else found


TEXT = [(ink, ground) for ink in ("ink", "dim") for ground in ("page", "card")]
TEXT += [("ink", "h1"), ("ink", "h2"), ("on-dark", "h3"), ("on-dark", "h4"), ("on-dark", "h5")]
SHAPES = ["left", "joined", "between", "free", "before", "barrier", "detection", "curve"]


@pytest.fixture(scope="module")
def grown_page(grown):
    return diff_html(grown)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize(("ink", "ground"), TEXT)
def test_text_is_told_from_its_ground(grown_page, ink, ground, dark):
    colours = palette(grown_page, dark=dark)
    assert contrast(colours[ink], colours[ground]) >= 4.5


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("shape", SHAPES)
def test_shapes_are_told_from_the_page(grown_page, shape, dark):
    colours = palette(grown_page, dark=dark)
    assert contrast(colours[shape], colours["page"]) >= 3
