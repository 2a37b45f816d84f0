"""Text that `kafka-consumer-groups --describe` printed, with or without `--members --verbose`.

Columns are found by where the header's words begin: the tool pads header and rows alike, fields may be blank,
and client ids may hold blanks. A row that does not fit the header is refused rather than guessed.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from assignors.diff.state import MemberIdentity
from assignors.errors import SourceError
from assignors.limits import MAX_OFFSET, MAX_PARTITION, parse_number
from assignors.sources.rows import Rows
from partitioning.topic_partition import MAX_PARTITIONS

if TYPE_CHECKING:
    from assignors.diff.state import GroupState

_NOTHING = "-"
_WORDS = {"TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "HOST", "#PARTITIONS"}
"""Columns that cannot hold a blank; group, client and member ids can."""
_NEVER_BLANK = {"PARTITION", "CONSUMER-ID"}
"""Columns in which the tool prints a dash where there is nothing."""
_MOST_NOTICES = 1_000
"""Lines, such as warnings of the tool, in which the header is looked for."""
_STATUSES = {
    "has no active members": "Empty",
    "is rebalancing": "PreparingRebalance",
}
_ABSENT = re.compile(
    r"[Cc]onsumer group '(.*)' does not exist|GroupIdNotFoundException: Group (.*) not found"
)
_NUMBERS = "[0-9]+(?:,[0-9]+)*"
_WITH_TOPICS = (
    re.compile(rf"([A-Za-z0-9._-]+)\(({_NUMBERS})\)(?:, )?"),  # before 3.8
    re.compile(rf"([A-Za-z0-9._-]+):({_NUMBERS})(?:;|$)"),  # from 4.0 on
)
_WITHOUT_TOPICS = re.compile(rf"\({_NUMBERS}\)(, \({_NUMBERS}\))*")  # 3.8 and 3.9


class _Row(NamedTuple):
    line: int
    fields: dict[str, str]

    def get(self, column: str) -> str | None:
        """The field, None where it is blank or a dash."""
        value = self.fields.get(column, "")
        return None if value in {"", _NOTHING} else value

    def need(self, column: str) -> str:
        value = self.get(column)
        if value is None:
            raise SourceError(f"line {self.line}: {column} is missing; capture the output again")
        return value

    def number(self, column: str, most: int) -> int | None:
        value = self.get(column)
        return None if value is None else self.parse(value, column, most)

    def parse(self, text: str, column: str, most: int) -> int:
        number = parse_number(text, most)
        if number is None:
            raise SourceError(
                f"line {self.line}: {column} is {text[:40]!r}, not a number from 0 to {most}; "
                "capture the output again"
            )
        return number


def parse_capture(text: str) -> tuple[GroupState, GroupState | None]:
    """The group that a capture shows, and the target assignment where the capture holds one (KIP-848).

    Raises:
        SourceError: no such output, more than one group, a row that does not fit, or an output that does not
            name topics (`--members --verbose` of Kafka 3.8 and 3.9).
    """
    columns, rows, notices = _read_table(text)
    status = next((state for words, state in _STATUSES.items() if words in notices), None)
    groups = sorted({row.get("GROUP") or "" for row in rows})
    if len(groups) > 1:
        raise SourceError(
            f"the capture holds {len(groups)} groups ({', '.join(groups)}); capture one with --group"
        )
    name = groups[0] or None if groups else None
    if "TOPIC" in columns:
        return _described(rows, name, status), None
    if "CURRENT-ASSIGNMENT" in columns:
        current = _members(rows, "CURRENT-ASSIGNMENT", name, status)
        if all(row.get("TARGET-EPOCH") is None for row in rows):
            return current, None
        return current, _members(rows, "TARGET-ASSIGNMENT", name, status)
    if "ASSIGNMENT" in columns:
        return _members(rows, "ASSIGNMENT", name, status), None
    raise SourceError(
        "the capture lists members without what they have; add --verbose, or describe without --members"
    )


def _read_table(text: str) -> tuple[tuple[str, ...], list[_Row], str]:
    columns: dict[str, int] = {}
    rows: list[_Row] = []
    notices: list[str] = []
    for line, content in enumerate(text.splitlines(), 1):
        words = content.split()
        if "CONSUMER-ID" in words and ("HOST" in words or "TOPIC" in words):
            found = {word.group(): word.start() for word in re.finditer(r"\S+", content)}
            if columns and [*columns] != [*found]:
                raise SourceError(f"line {line}: a second table of another kind; keep one capture per file")
            columns = found
        elif gone := _ABSENT.search(content, 0, 500):
            raise SourceError(
                f"line {line}: the capture says that group {gone[1] or gone[2]!r} does not exist"
            )
        elif any(notice in content for notice in _STATUSES):
            notices.append(content)
        elif line > _MOST_NOTICES and not columns:
            break
        elif words and columns:
            rows.append(_Row(line, _slice(line, content, columns)))
        elif words:
            notices.append(content)
    if not columns and not any(notice in "\n".join(notices) for notice in _STATUSES):
        raise SourceError(
            "this is no output of kafka-consumer-groups --describe: no header with TOPIC or CONSUMER-ID"
        )
    return tuple(columns), rows, "\n".join(notices)


def _slice(line: int, content: str, columns: dict[str, int]) -> dict[str, str]:
    starts = [*columns.values(), len(content) + 1]
    fields: dict[str, str] = {}
    for index, name in enumerate(columns):
        field = content[starts[index] : max(starts[index], starts[index + 1] - 1)]
        boundary = content[starts[index] - 1 : starts[index]] if index else " "
        shifted = boundary.strip() or field.strip() != field.rstrip()
        if shifted or (name in _WORDS and len(field.split()) > 1):
            raise SourceError(
                f"line {line}: the row does not line up with the header at {name}; "
                "capture the output again without reformatting it"
            )
        fields[name] = field.strip()
        if name in _NEVER_BLANK and not fields[name]:
            raise SourceError(f"line {line}: the row ends before {name}; capture the output again")
    return fields


def _identity(row: _Row) -> MemberIdentity:
    host = row.get("HOST")
    return MemberIdentity(
        row.need("CONSUMER-ID"),
        instance_id=row.get("GROUP-INSTANCE-ID"),
        client_id=row.get("CLIENT-ID"),
        host=host.removeprefix("/") if host else None,
    )


def _described(rows: list[_Row], name: str | None, status: str | None) -> GroupState:
    collected = Rows()
    owned = False
    for row in rows:
        owner = row.get("CONSUMER-ID")
        if owner is not None:
            owned = True
            collected.member(_identity(row))
        partition = row.number("PARTITION", MAX_PARTITION)
        if partition is not None:
            lag = row.number("LAG", MAX_OFFSET)
            collected.partition(row.need("TOPIC"), partition, owner, -1 if lag is None else lag)
    warnings = ["--describe shows neither idle members nor partitions without an owner and a commit"]
    if not owned:
        warnings = ["no partition has an owner: the group had no active members or was rebalancing"]
    return collected.state(members_complete=False, name=name, status=status, warnings=tuple(warnings))


def _members(rows: list[_Row], column: str, name: str | None, status: str | None) -> GroupState:
    collected = Rows()
    for row in rows:
        identity = _identity(row)
        collected.member(identity)
        given = _parse_assignment(row, column)
        listed = row.number("#PARTITIONS", MAX_PARTITIONS)
        if column != "TARGET-ASSIGNMENT" and listed not in {None, len(given)}:
            raise SourceError(
                f"line {row.line}: {identity.id} has {listed} partitions but {len(given)} "
                "are listed; the capture is cut off, take it again"
            )
        for topic, partition in given:
            collected.partition(topic, partition, identity.id)
    return collected.state(name=name, status=status)


def _parse_assignment(row: _Row, column: str) -> list[tuple[str, int]]:
    text = row.get(column)
    if text is None:
        return []
    if _WITHOUT_TOPICS.fullmatch(text):
        raise SourceError(
            f"line {row.line}: {text!r} does not name its topics (Kafka 3.8 and 3.9 print it so); "
            "capture --describe without --members instead"
        )
    for form in _WITH_TOPICS:
        parts: list[re.Match[str]] = []
        end = 0
        while part := form.match(text, end):
            parts.append(part)
            end = part.end()
        if end == len(text):
            return [
                (part[1], row.parse(number, column, MAX_PARTITION))
                for part in parts
                for number in part[2].split(",")
            ]
    raise SourceError(f"line {row.line}: cannot read the assignment {text[:200]!r}; capture the output again")
