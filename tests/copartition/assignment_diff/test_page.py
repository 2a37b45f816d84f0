"""What a diff's page shows, for few members and for many, and how it says what it cannot know."""

import math
import re
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from assignors.state import MemberIdentity
from copartition.assignment_diff import Missing, WhatIf, diff, plan
from copartition.assignment_diff.load_picture import load
from copartition.assignment_diff.owner_pictures import heat, member_groups, ownership
from copartition.assignment_diff.page import ROWS, diff_html, timeline
from copartition.assignment_diff.report.model import Shown, named_places
from copartition.assignment_diff.report.verdict import fates, notes
from tests.copartition.assignment_diff.states import group
from tests.copartition.reported import made_stops
from tests.support.diffs import joined, shuffled, state
from tests.support.pages import Page


def stopping(found, *stops):
    """The diff with these stops."""
    copy = replace(found)
    copy.__dict__["stops"] = stops
    return copy


@pytest.mark.heavy
def test_a_page_of_the_largest_group_is_small(large):
    assert len(diff_html(large).encode()) < 200_000


def test_fates_are_all_partitions(odd):
    shown = {fate.label: fate.number for fate in fates(odd)}
    assert shown == {"kept": 4, "gained an owner": 1, "lost their owner": 2, "with two owners": 1}
    assert sum(fate.percent for fate in fates(odd)) == pytest.approx(100)


def test_partitions_nobody_ever_had_are_told():
    found = diff(state([0, -1]), state([0, -1]))
    assert [(fate.number, fate.label) for fate in fates(found)] == [(1, "kept"), (1, "owned by nobody")]


@pytest.mark.parametrize(("moved", "told"), [(1, "< 0.1 %"), (4_999, "> 99.9 %"), (2_500, "50.0 %")])
def test_a_share_is_never_rounded_to_none_or_all(moved, told):
    before = np.arange(5_000) % 2
    after = np.where(np.arange(5_000) < moved, 1 - before, before)
    (fate,) = [
        candidate for candidate in fates(diff(state(before), state(after))) if candidate.label == "moved"
    ]
    assert fate.share == told


def test_what_the_numbers_rest_on_stands_before_them():
    after = state([1, 0], assumed=("all read all",), warnings=("half is missing",))
    text = Page(diff_html(diff(state([0, 1]), after, match="member-id"))).text
    assert text.index("all read all") < text.index("half is missing") < text.index("avoidable moves")


def test_many_notes_are_counted():
    found = diff(state([0]), state([0], warnings=tuple(f"warning {number}" for number in range(20))))
    assert [text for _, text in notes(found)][-2:] == ["warning 11", "and 8 more."]


def test_needed_moves_that_are_a_bound_are_told_as_one(grown):
    inexact = replace(grown, summary=replace(grown.summary, needed_moves=7, needed_moves_exact=False))
    exact = replace(grown, summary=replace(grown.summary, needed_moves=7, needed_moves_exact=True))
    assert "of 30; at least 7 needed" in Page(diff_html(inexact)).text
    assert "of 30; 7 needed" in Page(diff_html(exact)).text


@pytest.mark.parametrize(("exact", "told"), [(True, "moved7waiting"), (False, "movedat least 7waiting")])
def test_records_moved_that_are_a_bound_are_told_as_one(grown, exact, told):
    numbers = replace(grown.summary, lag_moved=7, lag_moved_exact=exact)
    text = Page(diff_html(replace(grown, summary=numbers))).text
    assert told in text


def test_numbers_that_cannot_be_known_are_told_as_unknown(grown):
    unknown = replace(
        grown, summary=replace(grown.summary, needed_moves=None, avoidable_moves=None, idle_before=None)
    )
    text = Page(diff_html(unknown)).text
    assert "of 30; unknown needed" in text
    assert "? → 0" in text


def ends(picture):
    """Where ribbons begin and where they end, in pixels from above, those of each side sorted."""
    # A path is M0 top C50 top 50 other-top 100 other-top V other-low C50 other-low 50 low 0 low z.
    places = [[float(number) for number in re.findall(r"\d+\.\d", ribbon.path)] for ribbon in picture.ribbons]
    begins = sorted((corners[0], corners[-1]) for corners in places)
    return begins, sorted((corners[2], corners[5]) for corners in places)


def test_ribbons_fill_their_rows_and_lie_beside_each_other(grown):
    picture = ownership(grown)
    for side, heights in zip(ends(picture), ("before", "after"), strict=True):
        rows = [(row.y, getattr(row, heights)) for row in picture.rows if getattr(row, heights)]
        for top, height in rows:
            inside = [edge for edge in side if top - 0.1 <= edge[0] < top + height]
            assert inside[0][0] == pytest.approx(top, abs=0.11)
            assert inside[-1][1] == pytest.approx(top + height, abs=0.11)
            assert all(later[0] == pytest.approx(earlier[1], abs=0.11) for earlier, later in pairwise(inside))
        assert len(rows) == {"before": 6, "after": 8}[heights]


def test_rows_of_a_picture_never_overlap():
    picture = ownership(joined(29, 400))
    assert all(later.middle - earlier.middle >= 17 for earlier, later in pairwise(picture.rows))
    assert len({row.name for row in picture.rows}) == 30


def test_ribbons_are_told_by_who_came_and_went(planned):
    assert {(label, number) for _, number, label in ownership(planned).keys} == {
        ("kept", 4),
        ("from a member that left", 1),
        ("to a member that joined", 2),
        ("from or to nobody", 1),
    }


def test_partitions_with_two_owners_are_not_called_kept(odd):
    assert [(label, number) for _, number, label in ownership(odd).keys] == [
        ("kept", 4),
        ("from or to nobody", 3),
        ("with two owners", 1),
    ]


def test_names_that_begin_alike_are_told_by_their_ends():
    names = member_groups(
        diff(*[state([0, 1], name="a-very-long-deployment-7d9f-x{}")] * 2), np.arange(2), 30
    )
    assert names.names == ("…x0", "…x1", "nobody")
    assert names.shared == "a-very-long-deployment-7d9f-"


def test_a_name_that_is_too_long_loses_its_middle():
    (name, _) = member_groups(diff(*[state([0], name="x" * 30 + "-{}")] * 2), np.arange(1), 30).names
    assert name == "xxxxxxxxxxx…xxxxxxxxxx-0"


@pytest.mark.parametrize(("members", "ribbons"), [(2, True), (30, True), (31, False)])
def test_more_than_thirty_members_have_a_table_of_shades(members, ribbons):
    page = Page(diff_html(joined(members - 1, 3)))
    assert bool(page.cells("to members after")) is not ribbons
    assert ("owners" in [figure.get("class") for figure in page.all("figure")]) is ribbons


def test_a_tangle_of_ribbons_is_a_table_of_shades():
    assert Page(diff_html(shuffled(20, 380))).cells("to members after")


def test_a_table_of_shades_has_all_that_changed_owners_and_nothing_else():
    found = heat(joined(40, 6))
    assert found.columns == ("m-40 (new)",)
    assert [(row.name, row.total) for row in found.rows] == [(f"m-{number}", 1) for number in range(40)]
    assert found.totals == (40,)


def test_a_table_of_shades_begins_with_those_that_gave_and_got_the_most():
    before = np.arange(120) // 3
    after = before.copy()
    after[[30, 31, 32, 0]] = [5, 5, 6, 6]
    found = heat(diff(state(before), state(after, members=40), match="member-id"))
    assert [(row.name, row.total) for row in found.rows] == [("m-10 (idle)", 3), ("m-0", 1)]
    assert list(zip(found.columns, found.totals, strict=True)) == [("m-5", 2), ("m-6", 2)]


@pytest.mark.heavy
def test_a_table_of_shades_takes_members_together(large):
    found = heat(large)
    assert found.ranges == (100, 100)
    assert [row.name for row in found.rows][:2] == ["m-0 to 99", "m-100 to 199"]
    assert sum(row.total for row in found.rows) == sum(found.totals) == large.summary.moved


def test_shades_are_in_proportion():
    before = np.zeros(200, np.int32)
    after = np.repeat(np.arange(5), [100, 10, 20, 30, 40])
    found = heat(diff(state(before, members=5), state(after), match="member-id"))
    assert found.rows[0].cells == ((40, 5), (30, 4), (20, 3), (10, 2))


def test_the_table_of_shades_shows_its_numbers():
    rows = Page(diff_html(joined(40, 6))).cells("to members after")
    assert rows[0] == ["from \\ to", "m-40 (new)", "lost"]
    assert rows[1] == ["m-0", "1", "1"]
    assert rows[-1] == ["gained", "40", "40"]


def two_topics(*topics):
    """Two members with a topic each, and what they read."""
    plain = state([0, 0, 0, 1, 1, 1])
    members = tuple(member._replace(topics=read) for member, read in zip(plain.members, topics, strict=True))
    return replace(plain, topics=("orders", "pay"), topic=plain.member, members=members)


READ = {
    "unknown": ((None, None), "If every member reads every topic, which is unknown here, a fair share is 3"),
    "one unknown": ((("orders", "pay"), None), "If every member reads every topic, which is unknown here"),
    "the same": ((("orders", "pay"), ("other", "pay", "orders")), "A fair share is 3 partitions after."),
    "unequal": ((("orders",), ("pay",)), "Members read different topics, so there is no share that is fair"),
}


@pytest.mark.parametrize(("topics", "told"), READ.values(), ids=READ)
def test_the_fair_share_says_what_it_rests_on(topics, told):
    group = two_topics(*topics)
    assert load(diff(group, group)).fair.startswith(told)


def test_members_that_may_be_missing_leave_no_fair_share():
    seen = state([0, 1], members_complete=False)
    drawn = load(diff(seen, seen))
    assert drawn.band is None
    assert drawn.fair == "Members without partitions may not have been seen, so a fair share is unknown."


def test_the_fair_share_is_counted():
    drawn = load(diff(state([0, 0, 0, 1, 1]), state([0, 0, 0, 0, 1]), match="member-id"))
    assert drawn.fair.endswith("a fair share is 2 or 3 partitions after.")
    assert drawn.summary == "2 of 2 members had it before, 0 of 2 members have it after."


def test_dots_lie_where_their_numbers_are(planned):
    page = diff_html(planned)
    numbers = {row[0]: row[-1] for row in Page(page).cells("Partitions of each member")}
    assert numbers["a"] == "6 → 4"
    mark = r'class="(\w+)" style="left:([\d.]+)%'
    drawn = {
        name: {kind: float(place) for kind, place in re.findall(mark, track)}
        for name, track in re.findall(r'<th scope="row">([^<]+)</th><td><div class="track">(.+?)</div>', page)
    }
    assert drawn["gone (gone)"].keys() & {"disc", "ring", "way"} == {"ring"}
    assert drawn["new-0 (new)"].keys() & {"disc", "ring", "way"} == {"disc"}
    window = load(planned).window
    after, before = (pytest.approx(float(window.x(number)) / 10, abs=0.006) for number in (4, 6))
    assert (drawn["a"]["way"], drawn["a"]["disc"], drawn["a"]["ring"]) == (after, after, before)


def test_the_loads_of_many_are_two_histograms():
    before, after = load(joined(100, 5)).spreads
    assert (before.facts, before.top) == ("5 each", 100)
    assert (after.facts, after.top) == ("4 to 100, median 4, half of the members from 4 to 4", 100)


def test_idle_members_of_many_are_counted():
    group = state(np.arange(50), members=60)
    assert load(diff(group, group)).spreads[0].facts.endswith(", 10 idle")


def test_stops_are_lanes_over_one_axis_from_least_to_most(grown):
    found = stopping(
        grown,
        made_stops("crash w", seconds=(900.0, 1_000.0), longest_ms=(45_000.0, 50_000.0), at_once=120.0),
        made_stops("leave w", seconds=(30.0, 360.0), longest_ms=(3_000.0, 3_000.0), at_once=30.0),
    )
    drawn = timeline(found)
    assert [way.happens for way in drawn.ways] == ["crash w", "leave w"]
    assert 0 < len(drawn.ticks) <= 4
    wide = re.findall(r'<i class="(detection|barrier)" style="width:([\d.]+)%">', diff_html(found))
    assert [kind for kind, _ in wide] == ["barrier", "detection", "barrier"]
    least, more, other = (float(width) for _, width in wide)
    assert least == pytest.approx(9 * more, abs=0.05)
    assert least == pytest.approx(15 * other, abs=0.1)


def test_stops_are_told_in_numbers(grown):
    found = stopping(
        grown, made_stops("add 3", seconds=(3_000.0, 3_480.0), longest_ms=(2_100.0, 2_900.0), at_once=1_200.0)
    )
    page = Page(diff_html(found))
    told = page.cells("What happens and what that stops")[1]
    assert told == ["add 3", "", "2.1 s to 2.9 s", "1", "1,200", "3,000 to 3,480"]
    assert "Partition-seconds: for how long nobody reads a partition, summed over partitions." in page.text
    assert "least and most of 30 runs" in page.text


def test_a_stop_without_end_is_told(grown):
    endless = made_stops("leave w", seconds=(9.0, 9.0), longest_ms=(2_000.0, math.inf), at_once=1.0)
    page = Page(diff_html(stopping(grown, endless)))
    assert "2.0 s to never" in page.cells("What happens and what that stops")[1]


def test_what_stops_on_the_way_may_be_unknown(grown):
    missing = Missing("what stops: nobody knows", "ask somebody")
    copy = replace(grown, after=replace(grown.after, status="planned"))
    copy.__dict__["stops"] = missing
    assert timeline(copy) is None
    assert "Unknown: what stops: nobody knows; ask somebody." in Page(diff_html(copy)).text


def test_a_change_that_stops_nobody_has_no_timeline(unchanged):
    assert timeline(unchanged) is None


def test_members_that_changed_are_shown_and_the_rest_are_counted():
    before = np.arange(30) // 3
    after = before.copy()
    after[:3], after[3] = 9, 8
    page = Page(diff_html(diff(state(before), state(after, members=10), match="member-id")))
    assert [row[0] for row in page.cells("Members that changed")[1:]] == ["m-0", "m-1", "m-8", "m-9"]
    assert "6 members unchanged." in page.text


@pytest.mark.heavy
def test_long_tables_are_cut_and_say_so(large):
    flows, more, partitions = Shown(large).largest_flows(ROWS)
    assert len(flows) + more == len(large.flows)
    assert sum(len(flow.partitions) for flow in flows) + partitions == large.summary.moved
    text = Page(diff_html(large)).text
    assert "And 1,900 more members that changed, by no more. 0 members unchanged." in text
    assert f"And {more:,} more flows with {partitions:,} partitions" in text


def test_scattered_partitions_of_a_flow_are_cut_and_counted():
    before = np.tile([0, 1], 100)
    after = np.ones(200, np.int32)
    (flow,) = diff(state(before), state(after), match="member-id").flows
    places, unnamed = named_places(flow.partitions)
    assert places == "orders:" + ",".join(str(number) for number in range(0, 48, 2))
    assert (len(flow.partitions), unnamed) == (100, 76)


def test_a_page_of_an_unchanged_group_says_so(unchanged):
    page = Page(diff_html(unchanged))
    assert page.all("h1")[0]["text"] == "group: Nothing changed: 3 partitions kept."
    assert page.cells("Members that changed") == page.cells("who had them") == []


def test_a_page_of_a_deploy_that_ends_where_it_began_is_titled_by_what_it_stops():
    members = [MemberIdentity(f"{name}-0123", client_id=name, topics=("t",)) for name in "abc"]
    owned = {f"{name}-0123": [("t", 2 * place), ("t", 2 * place + 1)] for place, name in enumerate("abc")}
    before = group(members, owned, {"t": 6})
    deploy = plan(before, "range", WhatIf(deploy="rolling"))
    [title] = Page(diff_html(diff(before, deploy, match="member-id"))).all("h1")
    assert title["text"].startswith("group: The whole group stops reading 6 times, for up to ")
