"""How messages are found: as a whole, where their words begin, in a time that grows with the text only."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from copartition.why.messages import ANYWHERE, MOST_PLACES, concerns_a_group, find, messages
from copartition.why.statements import Kind, read_statements
from partitioning.kit.packages import read_toml
from tests.support.tiers import sample

TABLES = read_toml("copartition.why", "patterns.toml")
TEMPLATES = [
    (program, template)
    for program, rows in TABLES.items()
    if isinstance(rows, list)
    for row in rows
    for template in row["messages"]
]
ALL = [(program, message) for program, found in messages().items() for message in found]
SAMPLES = {
    "generation": "7",
    "count": "3",
    "change": "changing coordinator 1 -> 2",
    "timed": "session timed out",
}
SAMPLES |= {
    "text": "rebalance in progress",
    "hash": "-9",
    "again": "is rebalancing",
    "ollow": "ollow-up",
    "cooperation": "EAGER",
}
SAMPLES |= {
    "exceeded": "maximum poll interval (9ms) exceeded",
    "owned": " 3 partition(s)",
    "first": "Set(m-1)",
}


def written(template: str, *, optional: bool) -> str:
    """A message as its program writes it, with or without the parts that not every version has."""
    text = re.sub(r"\{\?(.*?)\?\}", r"\1" if optional else "", template.removeprefix(ANYWHERE))
    return re.sub(
        r"\{(\w*)\}", lambda field: SAMPLES.get(field[1], "x 1" if field[1] == "member" else "x"), text
    )


@pytest.mark.parametrize("program", sorted(messages()))
def test_each_message_is_found_as_it_is_written(program: str) -> None:
    texts = [
        written(template, optional=optional)
        for name, template in TEMPLATES
        for optional in ([True, False] if "{?" in template else [False])
        if name == program
    ]
    assert texts
    kinds = {message.kind for message in messages()[program]}
    for text in texts:
        match = find(program, f"[2026-01-01 10:00:00,000] INFO {text}, module-7 host=b1")
        assert match is not None, text
        assert match.kind in kinds, text
        assert Kind(match.kind)


@pytest.mark.parametrize(("program", "template"), sample(TEMPLATES, 4))
def test_a_line_with_a_message_is_not_skipped(program: str, template: str, tmp_path: Path) -> None:
    prefix = {"java": "[Consumer clientId=c, groupId=g] ", "librdkafka": "c#consumer-1: "}.get(
        program, "" if program == "python" else "[GroupCoordinator 1]: "
    )
    path = tmp_path / "a.log"
    before = "Words " if template.startswith(ANYWHERE) else ""
    message = f"{prefix}{before}{written(template, optional=False)}; more"
    path.write_text(json.dumps({"message": message}) + "\n")
    statements = read_statements([str(path)]).statements
    assert len(statements) == 1 or '"subscribed"' in f'"{messages_kind(program, template)}"'


def messages_kind(program: str, template: str) -> str:
    """The kind of a message of the file."""
    return next(row["kind"] for row in TABLES[program] if template in row["messages"])


def repeats(tree: Any, held: bool = False) -> list[bool]:
    """Of each part of a pattern that may repeat without end: whether it never gives back what it took."""
    found = []
    for operation, value in tree:
        name = str(operation)
        if name in {"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"}:
            endless = str(value[1]) == "MAXREPEAT"
            kept = held or name == "POSSESSIVE_REPEAT"
            found += ([kept] if endless else []) + repeats(value[2], kept)
        elif name == "ATOMIC_GROUP":
            found += repeats(value, True)
        elif name == "SUBPATTERN":
            found += repeats(value[3], held)
        elif name == "BRANCH":
            found += [kept for branch in value[1] for kept in repeats(branch, held)]
        elif name in {"ASSERT", "ASSERT_NOT"}:
            found += repeats(value[1], held)
    return found


def test_no_part_of_a_message_gives_back_what_it_took() -> None:
    for program, message in sample(ALL, 4):
        tree = re._parser.parse(message.pattern.pattern)  # type: ignore[attr-defined]
        assert all(repeats(tree)), (program, message.pattern.pattern)


def test_the_check_of_patterns_sees_one_that_goes_back() -> None:
    assert not all(repeats(re._parser.parse(r"a .*b (\S+) c")))  # type: ignore[attr-defined]


REASON = "Adding new member a b-1 with group instance id None; client reason: 'x (y (z))' (E)"
OPENING = "Preparing to rebalance group my group in state S with old generation 3 (__consumer_offsets-9)"
EPOCH = (
    "[GroupId g][MemberId m] Bumped streams group epoch to 4 with metadata hash -5 and validated topic epoch"
)


@pytest.mark.parametrize(
    "words",
    [
        *("rebalances", "Re-balancing", "will rejoin", "re-join", "m joined", "is joining", "m has failed"),
        *(
            "m was fenced",
            "m expired",
            "m left",
            "m leaves: leave",
            "is leaving",
            "LeaveGroup",
            "generation 3",
        ),
        "m is evicted",
    ],
)
def test_words_of_a_group_that_changes_are_seen(words: str) -> None:
    assert concerns_a_group(f"of the group g {words} now")


class Counted(str):
    """A text that counts how often a place in it is looked for."""

    asked = 0

    def find(self, *arguments: Any) -> int:
        Counted.asked += 1
        return super().find(*arguments)


@pytest.mark.parametrize("program", sorted(messages()))
def test_a_text_that_repeats_its_first_words_is_not_tried_for_ever(program: str) -> None:
    Counted.asked = 0
    text = Counted(" ".join(message.start for message in messages()[program]) * 20)
    find(program, text)
    assert Counted.asked <= (MOST_PLACES + 1) * len(messages()[program])


@pytest.mark.parametrize(
    ("program", "text"),
    [
        ("python", "is rebalancing, so a rejoin is needed, groupId: cg"),
        ("python", "prefix(Re-)joining group g"),
        ("classic", "Member of the group g has failed to say anything"),
        ("classic", "Stabilized group billing generation " + "9" * 40),
        ("consumer", "[GroupId g] Member m left the share group."),
    ],
)
def test_words_of_other_programs_are_no_message(program: str, text: str) -> None:
    assert find(program, text) is None


@pytest.mark.parametrize(
    ("program", "text", "fields"),
    [
        (
            "classic",
            f"{OPENING} (reason: {REASON}) (kafka.x.Y) host=b",
            {"group": "my group", "generation": "3", "text": REASON},
        ),
        (
            "classic",
            "Preparing to rebalance group g with old generation 3 (reason: it (cut",
            {"group": "g", "generation": "3", "text": "it"},
        ),
        ("classic", "Stabilized group g generation 14 (x)", {"group": "g", "generation": "14", "text": None}),
        ("python", "(Re-)joining group g, base-ensure_active_group-267", {"group": "g"}),
        ("streams", f"{EPOCH} 3.", {"group": "g", "generation": "4", "text": "-5"}),
    ],
)
def test_the_fields_of_a_message(program: str, text: str, fields: dict[str, str | None]) -> None:
    match = find(program, text)
    assert match is not None
    assert match.fields == fields
