"""Reports for a terminal."""

import re
from dataclasses import replace
from functools import partial

import pytest

from assignors.explanation import Explainer
from copartition.assignment_diff import diff
from copartition.assignment_diff.report.markdown import diff_markdown
from copartition.assignment_diff.report.model import SHOWN, View
from copartition.assignment_diff.report.text import print_diff, print_stat
from tests.copartition.reported import a_crowd, orders, plan_anew
from tests.support.drawing import drawn
from tests.support.tiers import sample

ID = "-9ac4-401a-9ac4-e81ad2c37e78"

# The picture of the design notes, by hand.
GROWN = """\
30 of 120 partitions moved; 2 members joined.
group   6 -> 8 members   120 partitions   matched by member-id

  MEMBER    BEFORE  AFTER  DELTA  KEPT
  worker-0      20     15     -5    15  ===============-----
  worker-1      20     15     -5    15  ===============-----
  worker-2      20     15     -5    15  ===============-----
  worker-3      20     15     -5    15  ===============-----
  worker-4      20     15     -5    15  ===============-----
  worker-5      20     15     -5    15  ===============-----
  worker-6       0     15    +15     0  +++++++++++++++       new
  worker-7       0     15    +15     0  +++++++++++++++       new

  FROM      TO        N  PARTITIONS
  worker-0  worker-6  5  orders:15-19
  worker-1  worker-6  5  orders:35-39
  worker-2  worker-6  5  orders:55-59
  worker-3  worker-7  5  orders:75-79
  worker-4  worker-7  5  orders:95-99
  worker-5  worker-7  5  orders:115-119

avoidable moves 0 of 30 (30 needed)   fullest 15 (15 needed)   spread 0 -> 0   idle 0 -> 0   lag moved unknown
"""


def test_a_diff_is_members_flows_and_a_verdict(grown):
    assert drawn(print_diff, grown) == GROWN.splitlines()


def test_no_difference_is_two_lines(unchanged):
    assert drawn(print_diff, unchanged) == [
        "Nothing changed: 3 partitions kept.",
        "group   2 -> 2 members   3 partitions   matched by member-id",
    ]


def test_unchanged_members_are_counted_or_shown(odd, unchanged):
    assert [line.split()[:2] for line in drawn(print_diff, unchanged, view=View(every=True))[4:6]] == [
        ["a", "2"],
        ["b", "1"],
    ]


def test_what_is_unusual_is_said(odd):
    text = "\n".join(drawn(print_diff, odd))
    assert "! orders-0 has two owners: <b>|*, zombie -> <b>|*" in text
    assert "old is taken for new: they share 100 % of their partitions" in text
    assert "nobody" in text
    assert " gone" in text
    assert " idle" in text


def test_reasons_part_the_flows_when_asked_for(planned):
    lines = drawn(print_diff, planned, view=View(reasons=True))
    start = lines.index("  FROM    TO     BECAUSE     N  PARTITIONS")
    assert lines[start + 1 : start + 4] == [
        "  a       new-0  over quota  2  orders:4-5",
        "  gone    new-0  filled      1  orders:6",
        "  nobody  new-0  filled      1  orders:7",
    ]


def test_reasons_of_a_side_that_was_not_planned_are_unknown(grown):
    assert "  worker-0  worker-6  unknown  5  orders:15-19" in drawn(
        print_diff, grown, view=View(reasons=True)
    )


def test_name_status_and_warnings_are_shown(named):
    lines = drawn(print_diff, named)
    assert lines[1] == "billing   Stable   1 -> 1 member   1 partition   matched by client-id"
    assert lines[-1] == "note: half of it is missing"


def test_a_group_of_nothing_is_shown(empty_diff):
    assert drawn(print_diff, empty_diff)[0] == "Nothing changed: 0 partitions kept."


def test_members_keep_to_the_narrowest_width(grown):
    lines = drawn(print_diff, grown, width=40)
    assert max(len(line) for line in lines if line.startswith("  worker")) <= 40


@pytest.mark.parametrize("width", sample([60, 80, 120], 2))
@pytest.mark.parametrize("by", ["member", "topic", "partition"])
@pytest.mark.parametrize("group", sample(["grown", 3, 12, 60], 2))
def test_everything_keeps_to_the_width(grown, group, by, width):
    shown = grown if group == "grown" else a_crowd(group)
    assert max(map(len, drawn(print_diff, shown, view=View(by=by), width=width))) <= width


@pytest.mark.parametrize("width", sample([60, 80], 2))
def test_no_word_is_broken(width):
    crowd = a_crowd(12, 200, shuffled=True)
    narrow, wide = (
        {
            *re.findall(
                r"[^\s,]*[^\s,=+-][^\s,]*",
                "\n".join(drawn(print_diff, crowd, view=View(every=True), width=columns)),
            )
        }
        for columns in (width, 5_000)
    )
    assert narrow == wide


def test_a_list_that_goes_on_is_cut_after_three_lines_unless_all_is_asked_for():
    crowd = a_crowd(2, 400, shuffled=True)
    few, all_ = (drawn(print_diff, crowd, view=View(every=full), width=80) for full in (False, True))
    assert sum(line.endswith("..") for line in few) == 2
    assert not any(line.endswith("..") for line in all_)


def test_what_all_names_begin_with_is_told_once():
    lines = drawn(print_diff, a_crowd(3))
    assert lines[3] == "  .. stands for billing-service-prod-7f9c4d8b6-"
    assert sum("billing-service" in line for line in lines) == 1
    assert lines[6].startswith("  ..0000      20     20      0     0")


@pytest.mark.parametrize(("width", "shown"), [(120, "app-5a0a4010.."), (1_000, f"app-5a0a4010{ID}")])
def test_member_ids_are_cut_where_there_is_little_room(width, shown):
    before = {f"app-5a0a401{number}{ID}": orders([number]) for number in range(2)}
    after = {f"app-5a0a401{number}{ID}": orders([1 - number]) for number in range(2)}
    rows = drawn(print_diff, diff(before, after), width=width)
    assert [row.split()[0] for row in rows[4:5]] == [shown]


@pytest.mark.parametrize(
    ("view", "rows", "more"),
    [
        (View(), SHOWN, ["  20 more members (--all shows them)"]),
        (View(every=True), 60, []),
        (View(by="partition"), SHOWN, ["  1,160 more partitions (--all shows them)"]),
        (View(by="topic"), 2, []),
    ],
)
def test_of_many_rows_the_first_are_shown_and_the_others_counted(view, rows, more):
    lines = drawn(print_diff, a_crowd(60), view=view)
    start = next(place for place, line in enumerate(lines) if re.match("  (MEMBER|TOPIC)", line)) + 1
    assert lines[start + rows : lines.index("", start)] == more


def test_of_many_members_the_largest_changes_come_first():
    before = {f"m-{number}": orders([number, 100 + number]) for number in range(50)}
    after = {f"m-{number}": orders([(number + 1) % 50, 100 + number]) for number in range(50)}
    after["m-49"] += orders(range(200, 210))
    first, second = drawn(print_diff, diff(before, after))[4:6]
    assert (first.split()[:4], second.split()[:4]) == (["m-49", "2", "12", "+10"], ["m-0", "2", "2", "0"])


@pytest.mark.parametrize("shuffled", sample([True, False], 2))
def test_a_large_group_is_told_in_a_hundred_lines(shuffled):
    assert len(drawn(print_diff, a_crowd(2_000, 50, shuffled=shuffled), width=120)) < 110


def test_what_is_assumed_is_said_last(assuming):
    lines = drawn(print_diff, assuming)
    assert (lines[0], lines[-1]) == (
        "Nothing changed: 2 partitions kept.",
        "assumed: everybody subscribes to orders",
    )


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        ({"needed_moves_exact": False}, "avoidable moves at most 0 of 30 (at least 30 needed) "),
        ({"needed_moves": None, "avoidable_moves": None}, "avoidable moves unknown, of 30 "),
        (
            {"needed_moves": None, "avoidable_moves": None},
            "  Unknown: how many moves were needed; capture the group when it is stable",
        ),
        ({"members_after": None}, "group   6 -> at least 8 members "),
        (
            {"members_after": None},
            "  Unknown: members without partitions after; add a table: kafka-consumer-groups.sh",
        ),
        ({"spread_after": None, "idle_after": None}, "spread 0 -> unknown   idle 0 -> unknown "),
        ({"lag_moved": 1_234_567, "lag_moved_exact": True}, "lag moved 1,234,567"),
        ({"lag_moved": 1_234_567, "lag_moved_exact": False}, "lag moved at least 1,234,567"),
    ],
)
def test_numbers_that_are_not_known_are_told(grown, numbers, said):
    changed = replace(grown, summary=replace(grown.summary, **numbers))
    assert said in "\n".join(drawn(print_diff, changed))


def test_costs_are_told_with_what_happens(with_stops):
    told = " ".join(" ".join(drawn(print_diff, with_stops)).split())
    assert (
        "Crash w (nothing but waiting takes time): 5,500 to 5,580 partition-seconds, 1 rebalance (eager), "
        "at most 120 partitions not read at once, longest pause 44.0 s to 46.5 s (least and most of 30 runs)."
    ) in told
    assert "longest pause without end" in told
    assert told.count("Partition-seconds: for how long nobody reads a partition") == 1


def test_a_filter_narrows_the_tables_and_is_said(grown):
    lines = drawn(print_diff, grown, view=View(member=re.compile("6$")))
    assert [line.split()[0] for line in lines[4:5]] == ["worker-6"]
    assert sum("worker-6  5" in line for line in lines) == 3
    assert not any("worker-7" in line for line in lines)
    assert lines[0] == "30 of 120 partitions moved; 2 members joined."
    assert lines[-1] == (
        "note: only members matching 6$ are shown; the verdict and the exit code are of the whole group"
    )


def test_members_are_counted_in_the_topics_that_are_shown():
    lines = drawn(print_diff, a_crowd(4), view=View(topic=re.compile("payments")))
    assert lines[6].split()[:5] == ["..0000", "0", "20", "+20", "0"]


def test_reasons_are_counted_below_a_plan_for_whom_asks(planned, grown):
    asked = View(reasons=True)
    lines = drawn(print_diff, planned, view=asked)
    assert any(line.endswith("   because 2 over quota, 2 filled") for line in lines)
    assert "because" not in "".join(drawn(print_diff, grown, view=asked))


@pytest.mark.usefixtures("strangers")
@pytest.mark.parametrize("report", sample([partial(drawn, print_diff), diff_markdown], 2))
def test_the_assignor_is_not_asked_again_for_reasons_that_nobody_wants(monkeypatch, report):
    def refuse(*_):
        raise AssertionError("asked")

    monkeypatch.setattr(Explainer, "explain", refuse)
    assert "because" not in "".join(report(plan_anew()))


def test_topics_are_told_with_their_lag():
    assert drawn(print_diff, a_crowd(4), view=View(by="topic"))[3:6] == [
        "  TOPIC     PARTITIONS  KEPT  MOVED  LAG MOVED",
        "  orders            40     0     40        400",
        "  payments          40     0     40        400",
    ]


def test_partitions_are_told_with_their_reason(planned):
    lines = drawn(print_diff, planned, view=View(by="partition", reasons=True))
    start = lines.index("  TOPIC   PARTITION  CHANGE  FROM    TO     BECAUSE")
    assert lines[start : start + 3] == [
        "  TOPIC   PARTITION  CHANGE  FROM    TO     BECAUSE",
        "  orders          4  move    a       new-0  over quota",
        "  orders          5  move    a       new-0  over quota",
    ]


def test_statistics_are_a_line_a_member_and_the_verdict(grown):
    lines = drawn(print_stat, grown)
    assert lines[0] == "30 of 120 partitions moved; 2 members joined."
    assert lines[1] == "  worker-0  |   5  -----"
    assert lines[7:] == ["  worker-6  |  15  +++++++++++++++", "  worker-7  |  15  +++++++++++++++"]


def test_statistics_are_a_line_a_topic():
    lines = drawn(print_stat, a_crowd(4), view=View(by="topic"), width=60)
    assert lines[1] == "  orders    |  40  ----------------------------------------"


def test_statistics_tell_a_filter_and_what_to_know(named):
    lines = drawn(print_stat, named, view=View(topic=re.compile("nothing")))
    assert lines[-2].startswith("note: only topics matching nothing are shown")
    assert lines[-1] == f"note: {named.warnings[0]}"


def test_statistics_tell_renamed_members(odd):
    line = "  old is taken for new: they share 100 % of their partitions"
    assert line in drawn(print_stat, odd)


def test_statistics_of_nothing_are_the_verdict(unchanged):
    assert drawn(print_stat, unchanged) == ["Nothing changed: 3 partitions kept."]
