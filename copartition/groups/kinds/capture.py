"""Read what kafka-share-groups and kafka-streams-groups print: tables of offsets, members and the state.

Rows are split at blanks, because only cells of the last column contain blanks, unless a name does. A row
whose words do not fill the columns of its table is refused, and no cell is guessed; the error names its line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from copartition.groups.capture.others import find_kind
from copartition.groups.capture.table import AGAIN, NOTHING
from copartition.groups.kinds.model import (
    Numbers,
    ShareGroupState,
    ShareMemberState,
    StreamsGroupState,
    StreamsMemberState,
    Tasks,
)
from copartition.kit.places import by_topic
from partitioning.errors import SourceError
from partitioning.kit.limits import MAX_GROUP_MEMBERS, MAX_OFFSET, MAX_PARTITION, parse_number
from partitioning.kit.near import listing

_TABLES = {
    "share": {
        "offsets": {"TOPIC", "PARTITION", "START-OFFSET", "LAG"},
        "members": {"CONSUMER-ID", "HOST", "CLIENT-ID", "#PARTITIONS", "ASSIGNMENT"},
        "state": {"COORDINATOR(ID)", "STATE", "#MEMBERS"},
    },
    "streams": {
        "offsets": {"TOPIC", "PARTITION", "OFFSET-LAG"},
        "members": {"MEMBER", "PROCESS", "CLIENT-ID", "ASSIGNMENTS"},
        "state": {"COORDINATOR(ID)", "ASSIGNOR", "STATE", "#MEMBERS"},
    },
}
"""Kind of group -> name of a table -> the columns that the table has in every release from 4.1 to 4.4."""
_NAMES = {
    "share": "{} is a share group (KIP-932), shown in no table that kafka-share-groups.sh --describe prints",
    "streams": "{} is a Streams group (KIP-1071), shown in no table of kafka-streams-groups.sh --describe",
}
"""Kind of group -> beginning of the error for a group whose tables cannot be read; {} is the group's name."""
_LAST = {"ASSIGNMENT", "ASSIGNMENTS"}
"""Columns whose cells may contain blanks or be empty; each is the last column of its table."""
_NOTICE = re.compile(
    r"(?:Share|Streams) group '([^']{1,1000})' (?:has no active members|is (rebalancing|not ready))"
)
_QUOTED = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|^[>\s|]+|[\s|]+$")
"""Pattern of what a mail, a ticket or a coloured terminal adds around a line."""
_LIST = re.compile(r"([A-Za-z0-9._-]+):([0-9]+(?:,[0-9]+)*)")
_ROLE = re.compile(r"(TARGET-)?(ACTIVE|STANDBY|WARMUP):((?: [^\s:]+:\[[0-9]+(?:,[0-9]+)*\];)+)")
_TASKS = re.compile(r"([^\s:]+):\[([0-9,]+)\];")


@dataclass
class _Table:
    """Holds one group's rows of a table.

    Attributes:
        columns: the names of the columns, in order.
        rows: the rows, each as (line number from 1, column -> cell).
    """

    columns: Sequence[str]
    rows: list[tuple[int, dict[str, str]]] = field(default_factory=list)

    def integers(self, column: str, least: int = -1) -> Iterator[int]:
        """Yield a column's numbers, in row order; a dash is -1.

        Args:
            column: name of the column.
            least: -1 refuses negative numbers; a value below -1 allows all of them.

        Raises:
            SourceError: a cell is not such a number; the message names its line.
        """
        for line, cells in self.rows:
            text = cells[column]
            # `parse_number` reads digits only, so a minus is taken off first. A dash alone is an empty cell.
            negative = least < -1 and text.startswith("-") and text != NOTHING
            number = parse_number(text.removeprefix("-") if negative else text, MAX_OFFSET)
            if number is None and text != NOTHING:
                raise SourceError(f"line {line}: {column} is {text[:40]!r}, which is no number; {AGAIN}")
            yield -1 if number is None else -number if negative else number


@dataclass
class _Shown:
    """Holds what a capture shows of one group: tables by their names in `_TABLES`, and a notice's state."""

    tables: dict[str, _Table] = field(default_factory=dict)
    status: str | None = None


def parse_other_capture(
    text: str, kind: str, group: str | None = None
) -> ShareGroupState | StreamsGroupState:
    """Return the group that the output of a kind's tool shows.

    Args:
        text: one or several tables, in any order, also as people paste them: quoted, with a prompt.
        kind: "share" or "streams".
        group: the group's id; needed only if the text holds several groups.

    Raises:
        SourceError: the text does not hold the group, or holds several groups and `group` is None. Or it has
            two tables of one kind, or a row is cut off, or tables contradict each other.
    """
    shown = _scan(text, kind)
    held = listing([*shown])
    if group is None and len(shown) > 1:
        raise SourceError(f"the capture holds {len(shown)} groups ({held}); name one with `group`")
    if group is not None and group not in shown:
        raise SourceError(f"the capture holds no group {group!r} but: {held}")
    if not shown:
        # The text has a header without rows, or a layout of an unknown release. The error can still name the
        # kind of group.
        found = find_kind(text)
        name = found[1] if found else "the group"
        raise SourceError(f"{_NAMES[kind].format(name)} from Kafka 4.1 on, or none with rows; {AGAIN}")
    name = group or next(iter(shown))
    return _share_group(name, shown[name]) if kind == "share" else _streams_group(name, shown[name])


def _scan(text: str, kind: str) -> dict[str, _Shown]:
    """Return group -> its tables and notices in a text, in the order of the text.

    Raises:
        SourceError: a row has a wrong number of words, or a group has two tables of one kind.
    """
    shown: dict[str, _Shown] = {}
    heads: tuple[str, list[str]] | None = None
    begun: set[str] = set()
    for number, line in enumerate(text.splitlines(), 1):
        clean = _QUOTED.sub("", line.replace("\u00a0", " "))
        if notice := _NOTICE.search(clean):
            status = {"rebalancing": "Reconciling", "not ready": "NotReady"}.get(notice[2] or "", "Empty")
            shown.setdefault(notice[1], _Shown()).status = status
            heads = None
            continue
        # The column name "COORDINATOR (ID)" has a blank. It is removed here, so that each column is one word.
        words = re.sub(r"(\S) +\(", r"\1(", clean).replace("|", " ").split()
        if head := _head(words, kind):
            heads, begun = (head, words), set()
            continue
        # Lines outside of a table are skipped, and a blank line does not end its table.
        if heads is None or not words:
            heads = None if words else heads
            continue
        table, columns = heads
        cells = _cells(words, columns)
        # A line that does not fit is a damaged row if it begins with the name of a group of this table.
        # Otherwise it is a prompt or a remark. It ends the table, so that later lines are not taken for rows.
        if cells is None:
            if begun and words[0] in begun:
                raise SourceError(
                    f"line {number}: the row has {len(words)} words where {len(columns)} columns are; it is "
                    f"cut, wrapped, or has a name with a blank; {AGAIN}"
                )
            heads = None
            continue
        group = shown.setdefault(words[0], _Shown())
        if words[0] not in begun and table in group.tables:
            raise SourceError(
                f"line {number}: a second table of {table} of {words[0]!r}, which may be of another time; "
                "keep one capture in a file"
            )
        begun.add(words[0])
        group.tables.setdefault(table, _Table(columns)).rows.append((number, cells))
    return shown


def _head(words: Sequence[str], kind: str) -> str | None:
    """Return the name of the table whose header a line is; None for any other line."""
    if words[:1] != ["GROUP"] or len({*words}) < len(words):
        return None
    return next((name for name, columns in _TABLES[kind].items() if columns <= {*words}), None)


def _cells(words: Sequence[str], columns: Sequence[str]) -> dict[str, str] | None:
    """Return the cells of a row by column; None if the words do not fill the columns."""
    if columns[-1] not in _LAST:
        return dict(zip(columns, words, strict=True)) if len(words) == len(columns) else None
    # The last column lists partitions or tasks, with blanks, or is empty for an idle member.
    if len(words) < len(columns) - 1:
        return None
    rest = " ".join(words[len(columns) - 1 :])
    return dict(zip(columns, [*words[: len(columns) - 1], rest], strict=True))


def _share_group(name: str, shown: _Shown) -> ShareGroupState:
    """Return the share group that tables and a notice show.

    Raises:
        SourceError: a cell cannot be read, or the tables contradict each other.
    """
    members: tuple[ShareMemberState, ...] | None = None
    if (table := shown.tables.get("members")) is not None:
        members = tuple(_share_member(line, cells) for line, cells in table.rows)
        for (line, _), member, wanted in zip(table.rows, members, table.integers("#PARTITIONS"), strict=True):
            # The tool prints the number of partitions beside the list. A list of another length was cut off.
            if sum(map(len, member.partitions.values())) != wanted:
                raise SourceError(
                    f"line {line}: {member.id} has {wanted} partitions, and others are listed; {AGAIN}"
                )
    status, counted = _state(shown, members)
    return ShareGroupState(
        name=name,
        status=status,
        group_epoch=_epoch(shown, "GROUP-EPOCH"),
        assignment_epoch=_epoch(shown, "ASSIGNMENT-EPOCH"),
        members=() if members is None and counted == 0 else members,
        positions=_numbers(shown, "START-OFFSET", keep_unset=True),
        lag=_numbers(shown, "LAG"),
    )


def _share_member(line: int, cells: Mapping[str, str]) -> ShareMemberState:
    """Return the member of a row; SourceError, which names the line, if its partitions cannot be read."""
    listed = cells["ASSIGNMENT"]
    partitions: dict[str, list[int]] = {}
    for part in () if listed in {"", NOTHING} else listed.split(";"):
        match = _LIST.fullmatch(part.strip())
        if match is None:
            raise SourceError(f"line {line}: cannot read the assignment {listed[:200]!r}; {AGAIN}")
        partitions[match[1]] = _partitions(line, match[2])
    return ShareMemberState(
        cells["CONSUMER-ID"],
        cells["CLIENT-ID"],
        cells["HOST"].removeprefix("/"),
        epoch=_int(cells.get("MEMBER-EPOCH")),
        partitions=partitions,
    )


def _streams_group(name: str, shown: _Shown) -> StreamsGroupState:
    """Return the Streams group that tables and a notice show; SourceError as in `_share_group`."""
    members: tuple[StreamsMemberState, ...] | None = None
    if (table := shown.tables.get("members")) is not None:
        members = tuple(_streams_member(line, cells) for line, cells in table.rows)
    status, counted = _state(shown, members)
    state = shown.tables.get("state")
    return StreamsGroupState(
        name=name,
        status=status,
        strategy=state.rows[0][1]["ASSIGNOR"] if state is not None else None,
        group_epoch=_epoch(shown, "GROUP-EPOCH"),
        assignment_epoch=_epoch(shown, "TARGET-ASSIGNMENT-EPOCH"),
        members=() if members is None and counted == 0 else members,
        positions=_numbers(shown, "CURRENT-OFFSET", keep_unset=True),
        ends=_numbers(shown, "LOG-END-OFFSET"),
        lag=_numbers(shown, "OFFSET-LAG"),
    )


def _streams_member(line: int, cells: Mapping[str, str]) -> StreamsMemberState:
    """Return the member of a row, with its tasks by role; SourceError if the tasks cannot be read.

    Args:
        line: number of the row's line.
        cells: column -> cell.
    """
    listed = cells["ASSIGNMENTS"]
    roles: dict[str, Tasks] = {}
    end = 0
    # Every character of the cell must belong to a role. Otherwise tasks that are written in an unknown way
    # would be lost without an error.
    for match in _ROLE.finditer(listed):
        if listed[end : match.start()].strip():
            break
        tasks = {name: _partitions(line, numbers) for name, numbers in _TASKS.findall(match[3])}
        roles[f"{'target_' if match[1] else ''}{match[2].lower()}"] = tasks
        end = match.end()
    if listed[end:].strip() not in {"", NOTHING}:
        raise SourceError(f"line {line}: cannot read the tasks {listed[:200]!r}; {AGAIN}")
    # Only the verbose table has this column, and with it the members' target assignments.
    verbose = "TARGET-ASSIGNMENT-EPOCH" in cells
    return StreamsMemberState(
        cells["MEMBER"],
        cells["CLIENT-ID"],
        epoch=_int(cells.get("MEMBER-EPOCH")),
        process=cells["PROCESS"],
        topology_epoch=_int(cells.get("TOPOLOGY-EPOCH")),
        classic=cells.get("MEMBER-PROTOCOL") == "classic",
        active=roles.get("active", {}),
        standby=roles.get("standby", {}),
        warmup=roles.get("warmup", {}),
        target_active=roles.get("target_active", {}) if verbose else None,
        target_standby=roles.get("target_standby", {}) if verbose else None,
    )


def _partitions(line: int, text: str) -> list[int]:
    """Return the partition numbers of a list, sorted; SourceError if one is too large, or is there twice."""
    # Numbers are cut to 12 digits, because `int` refuses texts of thousands of digits. Twelve are enough to
    # see that a number is too large.
    numbers = [int(number[:12]) for number in text.split(",") if number]
    if max(numbers) > MAX_PARTITION or len({*numbers}) < len(numbers):
        raise SourceError(
            f"line {line}: {text[:60]!r} lists a partition twice, or one that cannot be; {AGAIN}"
        )
    return sorted(numbers)


def _state(
    shown: _Shown, members: tuple[ShareMemberState, ...] | tuple[StreamsMemberState, ...] | None
) -> tuple[str | None, int | None]:
    """Return the state of a group and its number of members, each None if nothing tells it.

    Raises:
        SourceError: the table of the state has another number of members than are listed, so the tables are
            from different times.
    """
    table = shown.tables.get("state")
    if table is None:
        return shown.status, 0 if shown.status == "Empty" else None
    counted = next(table.integers("#MEMBERS"))
    if members is not None and 0 <= counted <= MAX_GROUP_MEMBERS and counted != len(members):
        raise SourceError(
            f"by its state the group has {counted} members, but {len(members)} are listed: the tables were "
            "not captured at the same time; capture them again together"
        )
    return table.rows[0][1]["STATE"], counted


def _epoch(shown: _Shown, column: str) -> int | None:
    """Return an epoch in the table of the state; None if there is no such table or column."""
    table = shown.tables.get("state")
    return None if table is None else _int(table.rows[0][1].get(column))


def _int(text: str | None) -> int | None:
    """Return the number of a cell; None for a missing cell, a dash, or a number that is too large."""
    return parse_number(text, 2**31 - 1) if text is not None else None


def _numbers(shown: _Shown, column: str, *, keep_unset: bool = False) -> Numbers | None:
    """Return a column of the table of offsets by topic and partition; None if no table has it.

    Args:
        shown: the group's tables.
        column: name of the column.
        keep_unset: whether a dash means "no offset is kept" and becomes -1. If not, it means "unknown": the
            partition is left out.
    """
    table = shown.tables.get("offsets")
    if table is None or column not in table.columns:
        return None
    numbers = zip(table.rows, table.integers("PARTITION"), table.integers(column, -2), strict=True)
    return by_topic(
        {
            (cells["TOPIC"], partition): number
            for (_, cells), partition, number in numbers
            if keep_unset or cells[column] != NOTHING
        }
    )
