"""The table of members: who is in the group, and with `--verbose` what each has and is to have."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from assignors.state import MemberIdentity
from copartition.groups.capture.table import AGAIN
from partitioning.kit.limits import MAX_PARTITION, MAX_TOPIC_NAME
from partitioning.topic_partition import MAX_PARTITIONS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from copartition.groups.capture.table import Table

_NUMBERS = "([0-9]{1,10}(?:,[0-9]{1,10})*)"
_TOPIC = "[A-Za-z0-9._-]"
_FORMS = {
    ";": re.compile(rf"({_TOPIC}{{1,{MAX_TOPIC_NAME}}}):{_NUMBERS}"),  # from 4.0 on
    ", ": re.compile(rf"({_TOPIC}{{0,{MAX_TOPIC_NAME}}})\({_NUMBERS}\)"),  # 3.8 and 3.9 without the topic
}


class Given(NamedTuple):
    """Partitions of members, as columns; without topics where the tool does not name them."""

    topics: tuple[str, ...]
    member: NDArray[np.int32]
    topic: NDArray[np.int32]
    partition: NDArray[np.int32]


class Roster(NamedTuple):
    """The members of a group.

    Attributes:
        table: where they stand, one a row.
        identities: who they are.
        counts: how many partitions each has.
        current: what each has, where that is listed.
        target: what each is to have, where the group is of KIP-848.
        protocol: "classic" or "consumer", where the table tells it.
    """

    table: Table
    identities: tuple[MemberIdentity, ...]
    counts: NDArray[np.int64]
    current: Given | None
    target: Given | None
    protocol: str | None


def identities(table: Table) -> tuple[tuple[MemberIdentity, ...], NDArray[np.int32]]:
    """The consumers of a table in the order of their first rows, and the index of each row's, -1 for none.

    Raises:
        SourceError: a consumer without a host, which is a row cut off, or one id that is two consumers.
    """
    consumers = table.texts("CONSUMER-ID")
    rows = np.flatnonzero(consumers.codes >= 0)
    codes = consumers.codes[rows]
    _, index = np.unique(codes, return_index=True)
    first = rows[index]
    columns = {name: table.texts(name) for name in ("GROUP-INSTANCE-ID", "CLIENT-ID", "HOST")}
    for name, column in columns.items():
        other = np.flatnonzero(column.codes[rows] != column.codes[first[codes]])
        if len(other):
            row = int(rows[other[0]])
            was = int(first[consumers.codes[row]])
            raise table.fault(
                row,
                f"member {consumers.of_row(row)!r} has {name} {column.of_row(row)!r}, in line "
                f"{table.numbers[was]} {column.of_row(was)!r}; two members cannot have one id, {AGAIN}",
            )
    hostless = np.flatnonzero(columns["HOST"].codes[first] < 0)
    if len(hostless):
        row = int(first[hostless[0]])
        raise table.fault(row, f"member {consumers.of_row(row)!r} has no HOST: the row is cut off; {AGAIN}")
    instances, clients, hosts = columns.values()
    members = tuple(
        MemberIdentity(
            name,
            instances.of_row(row),
            clients.of_row(row),
            (hosts.of_row(row) or "").removeprefix("/"),
        )
        for name, row in zip(consumers.values, first.tolist(), strict=True)
    )
    return members, consumers.codes


def read_members(table: Table) -> Roster:
    """The members that a table lists.

    Raises:
        SourceError: a row that does not fit, is cut off or lists other partitions than it counts.
    """
    members, codes = identities(table)
    for row, code in enumerate(codes.tolist()):
        if code < 0:
            raise table.fault(row, f"CONSUMER-ID is missing; {AGAIN}")
        if code != row:
            raise table.fault(row, f"a second member {members[code].id!r}; {AGAIN}")
    counts = table.integers("#PARTITIONS", 0, MAX_PARTITIONS, -1)
    named = next((name for name in ("CURRENT-ASSIGNMENT", "ASSIGNMENT") if name in table.columns), None)
    current = named and _given(table, named)
    if current:
        listed = np.bincount(current.member, minlength=len(counts))
        for row in np.flatnonzero((counts >= 0) & (listed != counts))[:1].tolist():
            raise table.fault(
                row,
                f"{members[row].id} has {counts[row]} partitions but {listed[row]} are listed; "
                f"the capture is cut off, take it again",
            )
    epochs = table.texts("TARGET-EPOCH").values
    target = _given(table, "TARGET-ASSIGNMENT") if epochs else None
    protocol = (
        "consumer" if epochs else "classic" if "TARGET-EPOCH" in table.columns and len(counts) else None
    )
    _check_end(table)
    table.check_others("CONSUMER-ID", "#PARTITIONS")
    return Roster(table, members, counts, current or None, target, protocol)


def _check_end(table: Table) -> None:
    """The last row must be whole, though the file ends without a newline."""
    if not table.unfinished:
        return
    row = len(table.lines) - 1
    last = [*table.columns][-1]
    value = table.texts(last).of_row(row)
    whole = {
        "ASSIGNMENT": True,  # its brackets are closed and its partitions counted
        "UPGRADED": value in {None, "true", "false"},
        "TARGET-ASSIGNMENT": value is None,
    }
    padded = table.width > table.columns[last] + len(last)
    if len(table.lines[row]) < table.width if padded else not whole.get(last):
        raise table.fault(row, f"the file ends within {last}, or lacks its last newline; {AGAIN}")


def _given(table: Table, column: str) -> Given:
    texts = table.texts(column)
    topics: dict[str, int] = {}
    members: list[int] = []
    numbers: list[int] = []
    of_topic: list[int] = []
    for row, code in enumerate(texts.codes.tolist()):
        for topic, partitions in _parse(table, row, column, texts.values[code]) if code >= 0 else ():
            members += [row] * len(partitions)
            of_topic += [topics.setdefault(topic, len(topics))] * len(partitions)
            numbers += partitions
    arrays = (np.array(column, np.int32) for column in (members, of_topic, numbers))
    return Given(tuple(topics), *arrays)


def _parse(table: Table, row: int, column: str, text: str) -> list[tuple[str, list[int]]]:
    separator = ", " if text.endswith(")") else ";"
    given = []
    for part in text.split(separator):
        found = _FORMS[separator].fullmatch(part)
        if found is None:
            raise table.fault(row, f"cannot read the assignment {text[:200]!r} in {column}; {AGAIN}")
        partitions = [int(number) for number in found[2].split(",")]
        if max(partitions) > MAX_PARTITION:
            raise table.fault(
                row, f"{column} is {str(max(partitions))!r}, not a number from 0 to {MAX_PARTITION}; {AGAIN}"
            )
        if len(set(partitions)) < len(partitions):
            raise table.fault(row, f"{column} lists a partition of {found[1] or 'a topic'} twice; {AGAIN}")
        given.append((found[1], partitions))
    return given
