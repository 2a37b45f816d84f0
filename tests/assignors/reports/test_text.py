"""Reports for a terminal."""

import pytest

from assignors.reports.text import print_diff
from tests.support.drawing import drawn

# The picture of the design notes, by hand.
GROWN = """\
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

avoidable moves 0 of 30 (30 needed)   spread 0 -> 0   idle 0 -> 0
30 moved, 90 kept, 0 unassigned. On join, eager stops 120 partitions for 737 ms, \
cooperative stops 30 partitions for 3.0 s, consumer stops 30 partitions for 2.5 s on average.
"""


def test_a_diff_is_members_flows_and_a_verdict(grown):
    assert drawn(print_diff, grown) == GROWN.splitlines()


def test_no_difference_is_two_lines(unchanged):
    assert drawn(print_diff, unchanged) == [
        "group   2 -> 2 members   3 partitions   matched by member-id",
        "Nothing changed: 3 partitions kept.",
    ]


def test_unchanged_members_are_counted_or_shown(odd, unchanged):
    assert [line.split()[:2] for line in drawn(print_diff, unchanged, every=True)[3:5]] == [
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
    lines = drawn(print_diff, planned, reasons=True)
    start = lines.index("  FROM    TO     BECAUSE     N  PARTITIONS")
    assert lines[start + 1 : start + 4] == [
        "  a       new-0  over quota  2  orders:4-5",
        "  gone    new-0  filled      1  orders:6",
        "  nobody  new-0  filled      1  orders:7",
    ]


def test_reasons_of_a_side_that_was_not_planned_are_unknown(grown):
    assert "  worker-0  worker-6  unknown  5  orders:15-19" in drawn(print_diff, grown, reasons=True)


def test_name_status_and_warnings_are_shown(named):
    lines = drawn(print_diff, named)
    assert lines[0] == "billing   Stable   1 -> 1 member   1 partition   matched by client-id"
    assert lines[-1] == "note: half of it is missing"


def test_a_group_of_nothing_is_shown(empty_diff):
    assert drawn(print_diff, empty_diff)[-1] == "Nothing changed: 0 partitions kept."


@pytest.mark.parametrize("width", [40, 80])
def test_tables_keep_to_the_width(grown, width):
    members = [line for line in drawn(print_diff, grown, width=width) if line.startswith("  ")]
    assert max(map(len, members)) <= width
