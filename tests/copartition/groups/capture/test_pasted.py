"""Captures of real tools as people paste them: each is the same group, or refused where a cell was torn."""

from itertools import product
from pathlib import Path

import pytest

from copartition.groups.capture import parse_captures
from partitioning.errors import SourceError
from tests.support.tiers import sample

CAPTURES = Path(__file__).parents[1] / "captures"
NAMES = [
    *(f"{kind}-{release}" for kind in ("offsets", "tables") for release in ("3.7.2", "3.9.1", "4.4.0")),
    *("members-3.7.2", "members-4.4.0", "tables-reconciling-4.4.0", "tables-mixed-4.4.0"),
    *("empty-4.4.0", "offsets-verbose-4.4.0", "rpk"),
]


def text(name):
    """The capture, with the newline that Kafka 3.9 does not print."""
    content = (CAPTURES / f"{name}.txt").read_text()
    return content if content.endswith("\n") else f"{content}\n"


def prefixed(content, prefix):
    return "".join(f"{prefix(number)}{line}\n" for number, line in enumerate(content.splitlines()))


def wrapped(content, width):
    return "".join(
        f"{line[start : start + width]}\n"
        for line in content.splitlines()
        for start in range(0, max(len(line), 1), width)
    )


def facts(content):
    """All that the last capture of a text says but its warnings."""
    state = parse_captures(content)[-1][0]
    lag = None if state.lag is None else state.lag.tolist()
    rows = (state.places, state.member.tolist(), lag)
    return rows, state.members, state.topics, state.name, state.status, state.strategy, state.protocol


WAYS = {
    "in a quote": lambda content: prefixed(content, lambda _: "> "),
    "in Markdown's code": lambda content: prefixed(content, lambda _: "    "),
    "from docker compose": lambda content: prefixed(content, lambda _: "kafka-1  | "),
    "with times": lambda content: prefixed(content, lambda number: f"2026-01-01T10:00:{number:02}.5Z "),
    "at a prompt": lambda content: f"$ kafka-consumer-groups --describe --all-groups\n{content}[a@b ~]$ \n",
    "by kubectl": lambda content: f"{content}pod \"x\" deleted\n",
    "in a ticket": lambda content: f"```\n{content}```\nDoes anyone know?\nThanks!\n",
    "with two line ends": lambda content: content.replace("\n", "\n\n"),
    "of Windows": lambda content: content.replace("\n", "\r\n"),
    "twice": lambda content: content + content,
}  # fmt: skip


@pytest.mark.parametrize(("name", "way"), sample([*product(NAMES, WAYS)], 7))
def test_a_capture_is_the_same_group_however_it_was_pasted(name, way):
    assert facts(WAYS[way](text(name))) == facts(text(name))


@pytest.mark.parametrize(("name", "width"), sample([*product(NAMES, [80, 100, 120, 140, 160, 200])], 7))
def test_a_wrapped_capture_is_the_same_group_or_refused(name, width):
    try:
        found = facts(wrapped(text(name), width))
    except SourceError:
        return
    assert found == facts(text(name))


@pytest.mark.parametrize("name", ["offsets-3.7.2", "offsets-4.4.0", "tables-3.7.2", "members-3.7.2"])
def test_a_capture_that_was_wrapped_at_120_is_read(name):
    assert facts(wrapped(text(name), 120)) == facts(text(name))


def test_a_row_is_a_row_whatever_its_client_is_called():
    rows = [
        "GROUP TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG CONSUMER-ID HOST CLIENT-ID",
        "g orders 0 1 1 0 a-1 /10.0.0.1 a",
        "g orders 1 1 1 0 job-deleted-1 /10.0.0.2 job-deleted",
    ]
    [(state, _)] = parse_captures("\n".join(rows) + "\n")
    assert len(state.members) == 2
