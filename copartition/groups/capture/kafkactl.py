"""What `kafkactl describe consumer-group` prints, as text, YAML or JSON.

It names no member ids, hides members without partitions, and of those with some it hides the topics to which
the group committed nothing. So what it does not show may exist, and the state says so.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from assignors.state import UNKNOWN_LAG, MemberIdentity
from copartition.groups.capture.table import AGAIN, beyond_end
from copartition.groups.rows import Rows
from partitioning.errors import SourceError
from partitioning.kit.extras import needs
from partitioning.kit.formats import MAX_SLOW_BYTES, decode_json, decode_yaml
from partitioning.kit.limits import MAX_ID, MAX_OFFSET, MAX_PARTITION, MAX_TOPIC_NAME

if TYPE_CHECKING:
    from collections.abc import Mapping

    from assignors.state import GroupState
    from copartition.groups.capture.table import Table

with needs("the output of kafkactl", "cli"):
    import msgspec

YAML = re.compile(r"group:\n  name: .*\n  protocoltype: ")
"""How the YAML begins."""
_HIDES = (
    "kafkactl shows neither members without partitions nor topics without a commit, and no member ids: "
    "members are distinguished by instance id, client id, host and what they have"
)
_NUMBERS = re.compile("[0-9]{1,10}(?:,[0-9]{1,10})*")

_Partition = Annotated[int, msgspec.Meta(ge=0, le=MAX_PARTITION)]
_Offset = Annotated[int, msgspec.Meta(ge=-MAX_OFFSET, le=MAX_OFFSET)]
_Id = Annotated[str, msgspec.Meta(max_length=MAX_ID)]
_Topic = Annotated[str, msgspec.Meta(pattern=rf"^[A-Za-z0-9._-]{{1,{MAX_TOPIC_NAME}}}\Z")]


class _Committed(msgspec.Struct):
    partition: _Partition
    consumeroffset: _Offset
    lag: _Offset


class _Read(msgspec.Struct):
    name: _Topic
    totallag: _Offset
    partitions: list[_Committed] | None = None


class _Owned(msgspec.Struct):
    name: _Topic
    partitions: list[_Partition] | None


class _Member(msgspec.Struct):
    clienthost: _Id
    clientid: _Id
    assignedpartitions: list[_Owned]
    groupinstanceid: _Id = ""


class _Group(msgspec.Struct):
    name: _Id
    protocoltype: str


class _Description(msgspec.Struct):
    group: _Group
    protocol: str
    state: str
    topics: list[_Read] | None = None
    members: list[_Member] | None = None


class _Owner(NamedTuple):
    host: str
    client_id: str
    instance_id: str
    partitions: dict[str, list[int]]


def parse_object(text: str) -> GroupState:
    """The group of its YAML or JSON."""
    as_json = text.lstrip().startswith("{")
    if not as_json and len(text) > MAX_SLOW_BYTES:
        raise SourceError(
            f"more than {MAX_SLOW_BYTES:,} bytes of YAML; take -o json, which is read at any size"
        )
    if text.rstrip().endswith(":"):
        raise SourceError(f"the file ends within a list: it is cut off; {AGAIN}")
    try:
        value = decode_json(text) if as_json else decode_yaml(text)
        described = msgspec.convert(_lower(value), _Description)
    except (ValueError, msgspec.MsgspecError) as error:
        raise SourceError(f"no whole output of kafkactl describe consumer-group: {error}; {AGAIN}") from error
    owners = [
        _Owner(
            member.clienthost,
            member.clientid,
            member.groupinstanceid,
            {owned.name: owned.partitions or [] for owned in member.assignedpartitions},
        )
        for member in described.members or ()
    ]
    lags = {
        (topic.name, each.partition): each.lag if each.consumeroffset >= 0 else UNKNOWN_LAG
        for topic in described.topics or ()
        for each in topic.partitions or ()
    }
    state = _state(owners, lags)
    if not text.endswith("}\n" if as_json else "\n\n"):
        state = replace(
            state,
            warnings=(
                *state.warnings,
                "kafkactl ends its output with an empty line, which is missing; members may be, too",
            ),
        )
    return replace(
        state,
        members_complete=described.state == "Empty",
        name=described.group.name,
        status=described.state or None,
        strategy=described.protocol or None,
    )


def parse_tables(tables: Mapping[str, Table]) -> GroupState:
    """The group of its two tables, or of the members alone."""
    if "kafkactl members" not in tables:
        raise SourceError("kafkactl printed no members; describe the group with them")
    owners = _owners(tables["kafkactl members"])
    offsets = tables.get("kafkactl offsets")
    state = _state(owners, {} if offsets is None else _lags(offsets))
    if not any(len(owner.partitions) > 1 and not owner.instance_id for owner in owners):
        return state
    return replace(state, assumed=("rows of one client id and host are one member; kafkactl -o json tells",))


def _owners(table: Table) -> list[_Owner]:
    """The members of a table, which has a row for each topic of each, in the order of their names."""
    if table.unfinished:
        raise SourceError(f"the file ends within ASSIGNED_PARTITIONS, or lacks its last newline; {AGAIN}")
    names = ("CLIENT_HOST", "CLIENT_ID", "GROUP_INSTANCE_ID", "TOPIC", "ASSIGNED_PARTITIONS")
    columns = [table.texts(name) for name in names]
    owners: list[_Owner] = []
    for row in range(len(table.lines)):
        host, client, instance, topic, numbers = (column.of_row(row) or "" for column in columns)
        if not _NUMBERS.fullmatch(numbers):
            raise table.fault(
                row, f"ASSIGNED_PARTITIONS is {numbers[:40]!r}, no numbers of partitions; {AGAIN}"
            )
        partitions = [int(number) for number in numbers.split(",")]
        if max(partitions) > MAX_PARTITION:
            raise table.fault(
                row, f"{topic}-{max(partitions)} is above {MAX_PARTITION}, the last there can be; {AGAIN}"
            )
        last = owners[-1] if owners else None
        if last is None or last[:3] != (host, client, instance) or topic <= max(last.partitions):
            owners.append(_Owner(host, client, instance, {}))
        owners[-1].partitions[topic] = partitions
    return owners


def _lags(table: Table) -> dict[tuple[str, int], int]:
    topics, partitions = table.texts("TOPIC"), table.partitions().tolist()
    committed = table.integers("CONSUMER_OFFSET", -1, MAX_OFFSET, -1).tolist()
    lags = table.lags().tolist()
    table.check_others("TOPIC", "PARTITION", "CONSUMER_OFFSET", "LAG")
    return {
        (topics.of_row(row) or "", partition): lag if offset >= 0 else UNKNOWN_LAG
        for row, (partition, offset, lag) in enumerate(zip(partitions, committed, lags, strict=True))
    }


def _lower(value: Any) -> Any:
    """The value with keys in lower case: JSON and YAML of kafkactl differ in that alone."""
    if isinstance(value, dict):
        return {str(key).lower(): _lower(each) for key, each in value.items()}
    return [_lower(entry) for entry in value] if isinstance(value, list) else value


def _state(owners: list[_Owner], lags: dict[tuple[str, int], int]) -> GroupState:
    rows = Rows()
    free = dict(lags)
    names = [owner.instance_id or f"{owner.client_id}@{owner.host}" for owner in owners]
    often = Counter(names)
    for owner, called in zip(owners, names, strict=True):
        name = called
        if often[called] > 1:  # what a member has tells it from others with its names
            lists = [f"{topic}-{min(numbers)}" for topic, numbers in owner.partitions.items() if numbers]
            name = f"{called} with {min(lists, default='nothing')}"
        rows.member(
            MemberIdentity(
                name, owner.instance_id or None, owner.client_id or None, owner.host.removeprefix("/") or None
            )
        )
        for topic, numbers in owner.partitions.items():
            waiting = [free.pop((topic, number), UNKNOWN_LAG) for number in numbers]
            rows.partitions(topic, numbers, name, waiting)
    for (topic, number), lag in free.items():
        rows.partition(topic, number, None, lag)
    beyond = [(topic, number, lag) for (topic, number), lag in lags.items() if UNKNOWN_LAG < lag < 0]
    warnings = (
        _HIDES,
        *(beyond_end(f"{topic}-{number}", lag, len(beyond)) for topic, number, lag in beyond[:1]),
    )
    return rows.state(members_complete=False, warnings=warnings)
