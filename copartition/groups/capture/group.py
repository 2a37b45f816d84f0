"""Make a group of the tables that kafka-consumer-groups or rpk print of it: offsets, members and state.

Rows of a table are counted from 0, and members are numbered in the order of their first rows. Nothing is
guessed: tables that contradict each other, or that are cut off, are refused.
"""

import re
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assignors.group import name_in
from assignors.state import UNKNOWN_LAG, GroupState, MemberIdentity, strategy_name
from copartition.groups.capture.scan import GroupTables
from copartition.groups.capture.table import AGAIN, CapturedTable, beyond_end
from copartition.kit.words import count
from partitioning.errors import SourceError
from partitioning.kit.limits import MAX_GROUP_MEMBERS, MAX_PARTITION, MAX_TOPIC_NAME, parse_number
from partitioning.topic_partition import MAX_PARTITIONS

_NUMBERS = "([0-9]{1,10}(?:,[0-9]{1,10})*)"
_TOPIC = "[A-Za-z0-9._-]"
_FORMS = {
    ";": re.compile(rf"({_TOPIC}{{1,{MAX_TOPIC_NAME}}}):{_NUMBERS}"),  # from 4.0 on
    ", ": re.compile(rf"({_TOPIC}{{0,{MAX_TOPIC_NAME}}})\({_NUMBERS}\)"),  # 3.8 and 3.9 without the topic
}
_LISTS = re.compile(r"(?<=\)), ?")
"""The comma between the lists of two topics. A comma within a list is preceded by a digit."""


class Roster(NamedTuple):
    """Holds the content of a table "members", with members in its order.

    Attributes:
        table: the table, with a row for each member.
        identities: the members.
        counts: number of partitions of each member; -1 if the row does not tell it.
        current: the members with their partitions, whose topic is "" if the tool does not name topics; None
            if the table does not list partitions.
        target: the members with their target assignment in place of their partitions; None unless the group
            is a KIP-848 group.
        protocol: "classic" or "consumer"; None if the table does not show it.
    """

    table: CapturedTable
    identities: tuple[MemberIdentity, ...]
    counts: NDArray[np.int64]
    current: GroupState | None
    target: GroupState | None
    protocol: str | None


def identities(table: CapturedTable) -> tuple[tuple[MemberIdentity, ...], NDArray[np.int32]]:
    """Return the consumers of a table, and for each row the number of its consumer.

    Consumers are numbered by their first rows; a row without a consumer has -1.

    Raises:
        SourceError: a consumer has no host, as in a row that is cut off, or one id has two clients or
            hosts.
    """
    consumers = table.texts("CONSUMER-ID")
    rows = np.flatnonzero(consumers.codes >= 0)
    codes = consumers.codes[rows]
    # Codes count from 0 without gaps, so np.unique returns the first row of each consumer in their order.
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


def read_members(table: CapturedTable) -> Roster:
    """Return the members that a table lists.

    Raises:
        SourceError: a row is cut off, a member is listed twice, or a row lists another number of partitions
            than its column #PARTITIONS says.
    """
    members, codes = identities(table)
    for row, code in enumerate(codes.tolist()):
        if code < 0:
            raise table.fault(row, f"CONSUMER-ID is missing; {AGAIN}")
        if code != row:
            raise table.fault(row, f"a second member {members[code].id!r}; {AGAIN}")
    counts = table.integers("#PARTITIONS", 0, MAX_PARTITIONS, -1)
    # Kafka 4 calls the column CURRENT-ASSIGNMENT; 3.8 and 3.9 call it ASSIGNMENT.
    named = next((name for name in ("CURRENT-ASSIGNMENT", "ASSIGNMENT") if name in table.columns), None)
    current = named and _assigned_partitions(table, named, members)
    if current:
        listed = np.bincount(current.member, minlength=len(counts))
        # The tool prints the number of partitions beside the list. If the list has another length, it was cut
        # off.
        for row in np.flatnonzero((counts >= 0) & (listed != counts))[:1].tolist():
            raise table.fault(
                row,
                f"{members[row].id} has {counts[row]} partitions but {listed[row]} are listed; "
                f"the capture is cut off, take it again",
            )
    epochs = table.texts("TARGET-EPOCH").values
    target = _assigned_partitions(table, "TARGET-ASSIGNMENT", members) if epochs else None
    protocol = (
        "consumer" if epochs else "classic" if "TARGET-EPOCH" in table.columns and len(counts) else None
    )
    _check_last_row(table)
    table.check_others("CONSUMER-ID", "#PARTITIONS")
    members = _with_protocols(table, members, protocol)
    return Roster(table, members, counts, current or None, target, protocol)


def _with_protocols(
    table: CapturedTable, members: tuple[MemberIdentity, ...], protocol: str | None
) -> tuple[MemberIdentity, ...]:
    """Return the members with the protocol that each speaks, if the group's protocol is "consumer" (KIP-848).

    The tool prints the column UPGRADED only while the group still has a member of the classic protocol.
    """
    if protocol != "consumer":
        return members
    upgraded = table.texts("UPGRADED")
    told = {"true": "consumer", "false": "classic", None: None if upgraded.values else "consumer"}
    return tuple(
        member._replace(protocol=told.get(upgraded.of_row(row))) for row, member in enumerate(members)
    )


def _check_last_row(table: CapturedTable) -> None:
    """Raise SourceError if the file ends without a newline and its last row may be cut off.

    The row is complete if it is as long as the header, which some tools pad with blanks, or if its last cell
    cannot be longer than it is.
    """
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


def _assigned_partitions(
    table: CapturedTable, column: str, identities: tuple[MemberIdentity, ...]
) -> GroupState:
    """Return the members of a table with the partitions that the cells of a column list, in their order."""
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
    owner, topic_of, number = (np.array(values, np.int32) for values in (members, of_topic, numbers))
    return GroupState(identities, tuple(topics), owner, topic_of, number)


def _parse(table: CapturedTable, row: int, column: str, text: str) -> list[tuple[str, list[int]]]:
    """Return the (topic, partitions) pairs of one cell, in its order.

    The form of Kafka 3.8 and 3.9 ends with ")", that of 4.0 with a digit.

    Raises:
        SourceError: the cell has another form, a number is too large, or a partition is listed twice.
    """
    form, parts = (";", text.split(";"))
    if text.endswith(")"):  # some copies have lost the blank behind the comma
        form, parts = (", ", _LISTS.split(text))
    lists = []
    for part in parts:
        match = _FORMS[form].fullmatch(part)
        if match is None:
            raise table.fault(row, f"cannot read the assignment {text[:200]!r} in {column}; {AGAIN}")
        partitions = [int(number) for number in match[2].split(",")]
        if max(partitions) > MAX_PARTITION:
            raise table.fault(
                row, f"{column} is {str(max(partitions))!r}, not a number from 0 to {MAX_PARTITION}; {AGAIN}"
            )
        if len(set(partitions)) < len(partitions):
            raise table.fault(row, f"{column} lists a partition of {match[1] or 'a topic'} twice; {AGAIN}")
        lists.append((match[1], partitions))
    return lists


_PROTOCOLS = {
    "Assigning": "consumer",
    "Reconciling": "consumer",
    "PreparingRebalance": "classic",
    "CompletingRebalance": "classic",
}
"""State that only groups of one protocol have -> that protocol."""
_LASTING = {None, "Stable", "Empty"}
"""States in which the owners will not change by themselves, and None for an unknown state."""


class _About(NamedTuple):
    """Holds facts about the group as a whole; a fact is None if no table or notice tells it.

    Attributes:
        status: Kafka's name of the state.
        strategy: the coordinator's name of the strategy.
        protocol: "classic" or "consumer".
        members: number of members.
    """

    status: str | None
    strategy: str | None
    protocol: str | None
    members: int | None


def describe(scanned: GroupTables, name: str | None) -> tuple[GroupState, GroupState | None]:
    """Return the group of these tables, and its target assignment if they hold one (KIP-848).

    Args:
        scanned: the tables of one group.
        name: the group's id; None if the capture does not name the group.

    Raises:
        SourceError: the tables lack owners, are cut off, or contradict each other.
    """
    about = _about(scanned)
    # The table of members shows idle members, that of offsets shows lags. If both exist, they must agree.
    roster = read_members(scanned.tables["members"]) if "members" in scanned.tables else None
    offsets = scanned.tables.get("offsets")
    if offsets is not None:
        held = _from_offsets(offsets)
        held = held if roster is None else _with_roster(held, roster)
    elif roster is not None:
        held = _from_roster(roster)
    else:
        raise SourceError("the capture shows only the state of the group; describe its partitions, too")
    members = len(held.members)
    members_complete = held.members_complete or about.members == members
    # The table of offsets shows only members with partitions. If it shows fewer than the table of the state
    # counts, the others are idle.
    idle_hidden = not members_complete and about.members is not None and members < about.members
    # Any other difference means that the tables are from different times.
    if about.members not in {None, members} and not idle_hidden:
        raise SourceError(
            f"by its state the group has {about.members} members, but {members} are listed: the tables "
            "were not captured at the same time; capture them again together"
        )
    protocol = about.protocol or (roster and roster.protocol)
    current = replace(
        held,
        members_complete=members_complete,
        unlisted=about.members - members if idle_hidden and about.members is not None else 0,
        name=name,
        status=about.status,
        strategy=strategy_name(about.strategy, protocol),
        protocol=protocol,
        warnings=(
            *_warn_of_hidden(held, offsets is not None, members_complete),
            *held.warnings,
            *_notes(scanned, about),
        ),
    )
    if roster is None or roster.target is None:
        return current, None
    return current, _target(current, roster.target, offsets is not None)


def _about(scanned: GroupTables) -> _About:
    """Return the facts of the table "state"; if there is none, those of notices and of rpk's summary."""
    table = scanned.tables.get("state")
    if table is None:
        offsets = scanned.tables.get("offsets")
        facts = offsets.facts if offsets is not None else {}
        members = (
            0 if scanned.status == "Empty" else parse_number(facts.get("MEMBERS", ""), MAX_GROUP_MEMBERS)
        )
        protocol = _PROTOCOLS.get(scanned.status or "")
        return _About(scanned.status, facts.get("BALANCER") or None, protocol, members)
    if len(table.lines) != 1:
        raise SourceError(f"line {table.header}: {len(table.lines)} states of one group; {AGAIN}")
    status = table.texts("STATE").of_row(0)
    protocol = _PROTOCOLS.get(status or "")
    if "GROUP-EPOCH" in table.columns:
        protocol = "consumer" if table.texts("GROUP-EPOCH").values else "classic"
    members = int(table.integers("#MEMBERS", 0, MAX_GROUP_MEMBERS, -1)[0])
    strategy = table.texts("ASSIGNMENT-STRATEGY").of_row(0)
    table.check_others("STATE", "GROUP-EPOCH", "#MEMBERS", "ASSIGNMENT-STRATEGY")
    # The number of members is the end of the line. If the file ends there without a newline, digits may be
    # missing.
    return _About(status, strategy, protocol, None if table.unfinished or members < 0 else members)


def _warn_of_hidden(held: GroupState, described: bool, members_complete: bool) -> tuple[str, ...]:
    """Return the warnings about members and partitions that `--describe` does not show."""
    if not described:
        return ()
    if not (held.member >= 0).any():
        return ("no partition has an owner: the group had no active members or was rebalancing",)
    gaps = _gaps(held)
    if members_complete:
        return (*gaps, "--describe does not show partitions without an owner and a commit")
    return (*gaps, "--describe shows neither idle members nor partitions without an owner and a commit")


def _gaps(held: GroupState) -> tuple[str, ...]:
    """Return a warning if partitions below the highest one of a topic have no row; () if none is missing.

    Either no member reads them and nothing is committed there, or the capture is an excerpt. The capture does
    not show which.
    """
    missing = 0
    for topic in range(len(held.topics)):
        numbers = np.unique(held.partition[held.topic == topic])
        missing += int(numbers[-1]) + 1 - len(numbers) if len(numbers) else 0
    if not missing:
        return ()
    have = "has" if missing == 1 else "have"
    rest = "nobody reads or committed there, unless the capture is an excerpt"
    return (f"{count(missing, 'partition')} below the highest {have} no row: {rest}",)


def _notes(scanned: GroupTables, about: _About) -> list[str]:
    """Return warnings if the group was in a rebalance, or if the end of the capture may be cut off.

    In both cases the answer may still be right, so they are not errors.
    """
    notes = []
    if about.status not in _LASTING:
        notes.append(f"the group is {about.status}, what it has may not last")
    if any(table.unfinished for table in scanned.tables.values()):
        notes.append(
            "the capture ends without a newline, as in Kafka 3.8 and 3.9; if it is cut, rows are missing"
        )
    return notes


def _from_roster(roster: Roster) -> GroupState:
    """Return the group by the table of members alone.

    Raises:
        SourceError: that table lists no partitions, or lists them without their topics.
    """
    if roster.current is None:
        raise SourceError(
            "the capture lists members without their partitions; add --verbose, or describe without --members"
        )
    if "" in roster.current.topics:
        # All members are listed in this form; the error names the first one with partitions.
        row = int(roster.current.member[0])
        text = roster.table.texts("ASSIGNMENT").of_row(row)
        raise roster.table.fault(
            row,
            f"{text!r} does not name its topics (Kafka 3.8 and 3.9 print it so); capture --describe without "
            "--members instead, or append that to this file",
        )
    return replace(roster.current, members=roster.identities)


def _from_offsets(table: CapturedTable) -> GroupState:
    """Return the group by the table of offsets alone.

    Raises:
        SourceError: a row lacks its topic or partition, or may be cut off.
    """
    topics = table.texts("TOPIC")
    partition = table.partitions()
    members, consumers = identities(table)
    lag = table.lags()
    with_lag = lag != UNKNOWN_LAG
    table.check_others("CONSUMER-ID", "GROUP-INSTANCE-ID", "CLIENT-ID", "HOST", "TOPIC", "PARTITION", "LAG")
    for name, missing in (
        ("TOPIC", (topics.codes < 0) & (partition >= 0)),
        ("PARTITION", (topics.codes >= 0) & (partition < 0)),
    ):
        for row in np.flatnonzero(missing)[:1].tolist():
            raise table.fault(row, f"{name} is missing; {AGAIN}")
    warnings = _check_end(table, members, consumers) if table.unfinished else ()
    rows = partition >= 0
    # A lag below 0 means that the commit is beyond the end. That is possible, so it is only a warning.
    beyond = np.flatnonzero(rows & with_lag & (lag < 0))
    if len(beyond):
        row = int(beyond[0])
        warnings += (beyond_end(f"{topics.of_row(row)}-{partition[row]}", int(lag[row]), len(beyond)),)
    # kafka-consumer-groups of Kafka 0.10.2 to 1.0 prints a row of dashes for each member without partitions
    # (KAFKA-3144): one such row shows that no member is missing.
    with_idle = bool(((consumers >= 0) & ~rows).any())
    return GroupState(
        members,
        topics.values,
        consumers[rows],
        topics.codes[rows],
        partition[rows],
        lag[rows] if with_lag[rows].any() else None,
        members_complete=with_idle,
        warnings=warnings,
    )


def _check_end(
    table: CapturedTable, members: tuple[MemberIdentity, ...], consumers: NDArray[np.int32]
) -> tuple[str, ...]:
    """Check whether the file ends in the middle of the name at the end of its last row.

    The tools of 3.8 and 3.9 print no newline at the end, so a missing newline alone proves nothing. The name
    is complete if the same member has an earlier row, or if its member id consists of this name and a UUID.
    It is cut if the name in the member id is longer. If the member id has another name, as that of a static
    member does, the name may be cut or complete.

    Returns:
        A warning if the name may be cut; otherwise ().

    Raises:
        SourceError: the member id shows that the name is cut; or the last column is not CLIENT-ID; or its
            last cell is empty.
    """
    last = int(consumers[-1])
    # `identities` has checked that an earlier row of the same member has the same name.
    if last < 0 or last in consumers[:-1]:
        return ()
    member = members[last]
    name = [*table.columns][-1]
    named = name_in(member.id) or ""
    if name == "CLIENT-ID" and named == member.client_id:
        return ()
    if name != "CLIENT-ID" or not member.client_id or named.startswith(member.client_id):
        raise table.fault(
            len(table.lines) - 1, f"the file ends within {name}: {AGAIN}, or add a newline if that is whole"
        )
    return (f"line {table.numbers[-1]} has no newline, its CLIENT-ID {member.client_id!r} may be cut off",)


def _with_roster(held: GroupState, roster: Roster) -> GroupState:
    """Return the group with every member of the roster; both must show the same partitions of each member.

    Raises:
        SourceError: the two tables were captured at different times.
    """
    number = {member.id: index for index, member in enumerate(roster.identities)}
    of_roster = np.array([number.get(member.id, -1) for member in held.members] or [-1], np.int32)
    owned = held.member >= 0
    member = np.where(owned, of_roster[held.member], -1).astype(np.int32)
    if (member[owned] < 0).any():
        stranger = next(member.id for member in held.members if member.id not in number)
        raise _disagree(stranger)
    listed = roster.current
    if listed is None:
        wrong = roster.counts != np.bincount(member[owned], minlength=len(number))
    else:
        topics = {name: index for index, name in enumerate(held.topics)}
        # If the roster does not name topics, only partition numbers can be compared: all topics become 0.
        unnamed = "" in listed.topics
        of_topic = np.array([topics.get(name, -1) for name in listed.topics] or [-1], np.int32)
        ours = member[owned], held.topic[owned] * (not unnamed), held.partition[owned]
        theirs = listed.member, of_topic[listed.topic] * (not unnamed), listed.partition
        wrong = _differing(ours, theirs, len(number))
    for row in np.flatnonzero(wrong)[:1].tolist():
        raise _disagree(roster.identities[row].id)
    return replace(held, members=roster.identities, member=member, members_complete=True)


def _differing(
    ours: tuple[NDArray[np.int32], ...], theirs: tuple[NDArray[np.int32], ...], members: int
) -> NDArray[np.bool_]:
    """Return for each member whether its rows differ between two sets of columns.

    Args:
        ours: columns (member, topic, partition) of one length.
        theirs: the columns to compare with, of the same form; their length may differ.
        members: the number of members.
    """
    sides = []
    for columns in (ours, theirs):
        rows = np.stack(columns, axis=1)
        sides.append(rows[np.lexsort(columns[::-1])])
    # Sorted rows can be compared one by one only if each member has as many rows on both sides.
    wrong = np.not_equal(*(np.bincount(columns[0], minlength=members) for columns in (ours, theirs)))
    if not wrong.any():
        wrong[sides[0][(sides[0] != sides[1]).any(axis=1), 0]] = True
    return wrong


def _disagree(member: str) -> SourceError:
    """Return the error for a member of which two tables show different partitions."""
    return SourceError(
        f"the tables show different partitions of member {member!r}: they were not captured at the same "
        "time; capture them again together"
    )


def _target(current: GroupState, target: GroupState, described: bool) -> GroupState:
    """Return the group with its target assignment.

    Partitions of the current state that the target does not list have no owner. Lags are those of the current
    state.

    Args:
        current: the group as it is now, with the same members.
        target: the target assignment of each member.
        described: whether the capture has the table of offsets. Without it, partitions outside the target are
            unknown.
    """
    number = {name: index for index, name in enumerate(current.topics)}
    for name in target.topics:
        number.setdefault(name, len(number))
    topic = np.array([number[name] for name in target.topics], np.int32)[target.topic]
    # Topic and partition are packed into one integer, so that rows can be compared and searched.
    current_rows = current.topic.astype(np.int64) << 32 | current.partition
    wanted = topic.astype(np.int64) << 32 | target.partition
    free = np.flatnonzero(~np.isin(current_rows, wanted)) if described else np.empty(0, np.int64)
    lag = None
    if current.lag is not None:
        order = np.argsort(current_rows)
        # For a partition that only the target has, searchsorted returns the place of another partition. The
        # comparison below finds such places, and the lag becomes unknown.
        at = order[np.searchsorted(current_rows, wanted, sorter=order).clip(max=len(current_rows) - 1)]
        lag = np.where(current_rows[at] == wanted, current.lag[at], UNKNOWN_LAG)
        lag = np.concatenate([lag, current.lag[free]])
    return replace(
        current,
        topics=tuple(number),
        member=np.concatenate([target.member, np.full(len(free), -1, np.int32)]),
        topic=np.concatenate([topic, current.topic[free]]),
        partition=np.concatenate([target.partition, current.partition[free]]),
        lag=lag,
    )
