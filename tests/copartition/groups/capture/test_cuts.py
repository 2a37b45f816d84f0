"""Captures that end too early: refused, or read with a note, and never as another group without a word."""

from pathlib import Path

import numpy as np
import pytest

from copartition.groups import parse_capture
from partitioning.errors import SourceError
from tests.support.tiers import sample

CAPTURES = Path(__file__).parents[1] / "captures"
NAMES = [
    *(f"{kind}-{release}" for kind in ("offsets", "members") for release in ("3.7.2", "3.9.1", "4.4.0")),
    *(f"tables-{release}" for release in ("3.7.2", "3.9.1", "4.4.0")),
    *("ahead-4.4.0", "empty-4.4.0", "offsets-verbose-4.4.0", "reconciling-4.4.0", "tables-reconciling-4.4.0"),
    "rpk",
]
NAMES.remove("members-3.9.1")
NOTES = ("newline", "empty line, which is missing")


def text(name):
    return (CAPTURES / f"{name}.txt").read_text()


def facts(state):
    """All that a state says but its warnings."""
    arrays = (state.member, state.topic, state.partition, np.array([]) if state.lag is None else state.lag)
    rows = [array.tolist() for array in arrays]
    return rows, state.members, state.topics, state.name, state.status, state.strategy, state.protocol


def sides(content):
    return [state for state in parse_capture(content) if state is not None]


def ends(content):
    """Every end within the last line that has something, from its second character on."""
    last = content.rstrip()
    return range(last.rindex("\n") + 2, len(content))


@pytest.mark.parametrize("name", NAMES)
def test_a_capture_cut_within_its_last_line_is_refused_or_the_same_with_a_note(name):
    whole = text(name)
    expected = [facts(state) for state in sides(whole)]
    for end in sample(ends(whole), 14):
        try:
            cut = sides(whole[:end])
        except SourceError:
            continue
        assert [facts(state) for state in cut] == expected, whole[:end][-80:]
        if not whole[:end].endswith("\n"):
            assert any(note in warning for note in NOTES for warning in cut[0].warnings), whole[:end][-80:]


@pytest.mark.parametrize("name", ["members-3.9.1", "state-4.4.0"])
def test_what_cannot_be_read_is_not_readable_when_cut(name):
    whole = text(name)
    for end in sample(ends(whole), 4):
        with pytest.raises(SourceError):
            parse_capture(whole[:end])


@pytest.mark.parametrize(
    "words", ["GROUP        empty", "STATE        Empty", "TOTAL-LAG    0\n\nTOPIC   PARTITION"]
)
def test_another_group_that_is_cut_at_its_head_is_refused(words):
    whole = text("rpk-groups")
    with pytest.raises(SourceError, match=r"ends within a header|holds 3 groups"):
        parse_capture(whole[: whole.rindex(words) + len(words)])


OFFSETS = text("tables-3.9.1").split("\nGROUP")[1]
OWNED = [line for line in OFFSETS.splitlines() if "worker" in line]


HEAD = f"GROUP{OFFSETS.splitlines()[0]}\n"


@pytest.mark.parametrize("row", [row for row in OWNED if "pod-4" not in row])
def test_a_row_of_a_dynamic_member_is_whole_or_refused(row):
    for end in sample(range(1, len(row)), 4):
        with pytest.raises(SourceError):
            parse_capture(HEAD + row[:end])
    assert facts(sides(HEAD + row)[0]) == facts(sides(f"{HEAD}{row}\n")[0])


@pytest.mark.parametrize("row", [row for row in OWNED if "pod-4" in row])
def test_the_client_id_of_a_static_member_is_all_that_may_be_cut_and_is_told(row):
    start = row.rindex(" ") + 1
    for end in sample(range(1, start + 1), 4):
        with pytest.raises(SourceError):
            parse_capture(HEAD + row[:end])
    for end in range(start + 1, len(row) + 1):
        (state,) = sides(HEAD + row[:end])
        assert state.members[0].client_id == row[start:end]
        assert any(f"CLIENT-ID {row[start:end]!r} may be cut off" in note for note in state.warnings)
