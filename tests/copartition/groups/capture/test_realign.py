"""Captures whose rows no longer line up with their headers."""

import re
from pathlib import Path

import pytest

from copartition.assignment_diff import diff
from copartition.groups import parse_capture
from partitioning.errors import SourceError
from tools.fuzz.runner import attempt

CAPTURES = Path(__file__).parents[1] / "captures"
MEMBERS = (
    "GROUP CONSUMER-ID GROUP-INSTANCE-ID HOST CLIENT-ID #PARTITIONS CURRENT-EPOCH CURRENT-ASSIGNMENT "
    "TARGET-EPOCH TARGET-ASSIGNMENT\n"
    "billing worker-0-2b52 /127.0.0.1 worker-0 1 - orders:2 - -\n"
    "billing pod-4-5be8 pod-4 /127.0.0.1 worker-4 2 - clicks:0;orders:0 - -\n"
)
OFFSETS = (
    "GROUP TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG CONSUMER-ID HOST CLIENT-ID\n"
    "billing orders 0 - 0 - a-1 /127.0.0.1 a\n"
    "billing legacy 0 0 0 0 - - -\n"
)


@pytest.mark.parametrize("how", [" ", "\t", "    "])
@pytest.mark.parametrize(
    "name", ["offsets-3.7.2.txt", "offsets-4.4.0.txt", "members-3.7.2.txt", "state-4.4.0.txt"]
)
def test_what_was_squeezed_is_the_same_group(name, how):
    text = (CAPTURES / "offsets-4.4.0.txt").read_text() if name == "state-4.4.0.txt" else ""
    text += (CAPTURES / name).read_text()
    text = "\n".join(line for line in text.split("\n") if "slow worker" not in line)
    if "#PARTITIONS" in text or name == "state-4.4.0.txt":
        text = re.sub(r"(Stable +)5", r"\g<1>3", text)
    squeezed = "\n".join(
        how.join(line.replace(" (", "~(").split()).replace("~(", " (") for line in text.split("\n")
    )
    state, target = parse_capture(squeezed)
    same, _ = parse_capture(text)
    assert squeezed != text
    assert diff(same, state, match="member-id").same
    assert target is None
    assert [member.id for member in same.members] == [member.id for member in state.members]
    assert "split at blanks, only one reading is possible" in state.warnings[-1]


def test_an_empty_cell_is_found_by_what_others_hold():
    state, _ = parse_capture(MEMBERS)
    told = [(member.id, member.instance_id, member.client_id, member.host) for member in state.members]
    assert told == [
        ("worker-0-2b52", None, "worker-0", "127.0.0.1"),
        ("pod-4-5be8", "pod-4", "worker-4", "127.0.0.1"),
    ]
    assert (state.member >= 0).sum() == 3


@pytest.mark.parametrize(
    "text",
    [
        OFFSETS.replace("a-1 /127.0.0.1 a", "slow a-1 /127.0.0.1 slow a"),  # a name with a blank
        OFFSETS.replace(" /127.0.0.1 a", " /127.0.0.1"),  # a row that was cut
        OFFSETS.replace("orders 0 -", "orders"),
        OFFSETS.replace(" - 0 - a-1", " x 0 - a-1"),
    ],
)
def test_what_can_be_read_in_no_way_or_in_several_is_refused(text):
    with pytest.raises(SourceError, match=r"line 2: the row|line 2: "):
        parse_capture(text)


def test_a_table_that_lines_up_is_not_touched():
    for name in ("members-4.4.0.txt", "offsets-4.4.0.txt"):
        state, _ = parse_capture((CAPTURES / name).read_text())
        assert not any("line up" in warning for warning in state.warnings)


@pytest.mark.parametrize("text", [OFFSETS, (CAPTURES / "offsets-4.4.0.txt").read_text()])
def test_fences_of_markdown_are_no_rows(text):
    fenced, _ = parse_capture(f"```text\n{text}```\n")
    plain, _ = parse_capture(text)
    assert (fenced.members, fenced.topics) == (plain.members, plain.topics)
    assert len(fenced.partition) == len(plain.partition)


@pytest.mark.heavy
def test_a_long_list_of_assignments_is_read_by_words_once():
    """Each of its ends was tried, each with a copy of what stands before it."""
    lists = ", ".join(f"t{number}(0)" for number in range(60_000))
    text = f"GROUP CONSUMER-ID HOST CLIENT-ID #PARTITIONS ASSIGNMENT\ng c /h c 60000 {lists}\n"
    assert attempt(parse_capture, text) is None
