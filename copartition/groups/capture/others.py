"""Read the JSON that other tools print of groups, or refuse a text with an error that names its tool.

A JSON description of a group is read, whatever tool it comes from. It is recognized by its structure: members
with their partitions, or partitions with their members. A text without members, such as metrics or a table of
offsets, does not tell who reads what. It is refused; the error names its tool if that is known.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

from assignors.state import UNKNOWN_LAG, GroupState, MemberIdentity
from copartition.groups.capture.connect import connector_answer
from copartition.groups.capture.table import AGAIN
from copartition.groups.kinds import OTHER_KINDS
from copartition.groups.rows import Rows
from partitioning.errors import OtherGroupKindError, SourceError
from partitioning.kit.formats import decode_json
from partitioning.kit.limits import (
    MAX_GROUP_MEMBERS,
    MAX_ID,
    MAX_OFFSET,
    MAX_PARTITION,
    MAX_TOPIC_NAME,
    check_partitions,
)
from partitioning.kit.near import listing
from partitioning.kit.packages import read_toml

ASK_FOR_MEMBERS = (
    "capture the group with kafka-consumer-groups.sh --describe --group GROUP > group.txt and "
    "kafka-consumer-groups.sh --describe --members --verbose --group GROUP >> group.txt, or ask the cluster: "
    "live:GROUP with `bootstrap_servers`"
)
"""The ways to a capture that shows who has which partition."""

_HEAD = 2**16
"""Number of characters at the start of a text that `find_kind` searches; a long text would take seconds."""
_LIST = re.compile(r"(?m)^ *GROUP +TYPE +PROTOCOL *$")
"""The header of kafka-groups --list."""

_ROW = re.compile(r"(?m)^\S+ +\S+ +(?:\d+ +(?:\d+|-) +(?:\d+|-) +(?:\d+|-) +\S+ +/\S+|/\S+ +\S+ +\d+ )")
"""A row of the table of offsets or of members."""


@cache
def _patterns() -> dict[str, Any]:
    """Return the content of `others.toml`; its comments say what is in it."""
    return read_toml(__package__, "others.toml")


def find_kind(text: str) -> tuple[str, str] | None:
    """Return the kind and the name of the group whose tool printed a text; None for any other text.

    The kind is "share" or "streams"; the name is "the group" if the text shows none.
    """
    start = text[:_HEAD]
    for kind, patterns in _patterns()["kinds"].items():
        for pattern in patterns:
            if head := re.search(rf"(?m)^[ >|]*{pattern}", start):
                # The group's name is in the notice, or it is the first word below the header.
                below = start[start.find("\n", head.end() - 1) :].split(None, 1)
                return kind, head[1] if head.re.groups else next(iter(below), "the group")
    return None


def check_kind(text: str) -> None:
    """Raise OtherGroupKindError for the output of Kafka's tools for share groups and Streams groups.

    The message says what kind of group it is, and which command to use.
    """
    # The rows of these outputs look like those of a consumer group. If they were read as such rows, one
    # member would seem to own a partition that several members read.
    if (found := find_kind(text)) is not None:
        kind, name = found
        raise OtherGroupKindError(OTHER_KINDS[kind].format(group=name), kind)


def refuse_text(text: str) -> None:
    """Refuse a text that is not a capture.

    Raises:
        SourceError: always. The message names the tool that printed the text, if that is known.
    """
    if listed := _LIST.search(text):
        rows = [line.split() for line in text[listed.end() :].splitlines() if len(line.split()) == 3]
        kinds = ", ".join(f"{name} ({kind.lower()})" for name, kind, _ in rows[:_NAMED]) or "none"
        more = f" and {len(rows) - _NAMED} more" if len(rows) > _NAMED else ""
        raise SourceError(
            f"this is a list of groups: {kinds}{more}; name one: live:GROUP with `bootstrap_servers`"
        )
    # If the tool is known, the error says what to capture instead.
    for row in _patterns()["texts"]:
        if re.search(row["pattern"], text):
            raise SourceError(f"{row['what']}; {ASK_FOR_MEMBERS}")
    if _ROW.search(text):
        raise SourceError(
            "these are rows of kafka-consumer-groups --describe without their header; copy the line that "
            "begins with GROUP (TOPIC in old releases), too"
        )
    raise SourceError(NO_OUTPUT)


_NAMED = 5
"""The most groups of a list that an error names."""
NO_OUTPUT = (
    "this is no output of kafka-consumer-groups --describe or rpk group describe: no line has the columns of "
    f"their headers; {ASK_FOR_MEMBERS}"
)
NO_GROUP = (
    "this JSON is no group snapshot, scenario, status of connectors or description of a group with its "
    f"members and partitions; {ASK_FOR_MEMBERS}"
)


def parse_json(text: str, group: str | None = None) -> GroupState:
    """Return the group that another tool's JSON describes.

    Args:
        text: one JSON value, or one in each line.
        group: which group; None if the JSON has only one.

    Raises:
        SourceError: the JSON is cut off, has no group with members and partitions, or has several groups and
            `group` is None; the message names its tool if that is known.
    """
    value = _whole_json(text)
    if (connector := connector_answer(value)) is not None:
        return connector
    if what := _tool_without_members(value):
        raise SourceError(f"this is {what}; {ASK_FOR_MEMBERS}")
    groups = [*_find_groups(value)]
    asked = groups if group is None else [state for state in groups if state.name in (group, None)]
    held = listing([state.name or "one without a name" for state in groups])
    if groups and not asked:
        raise SourceError(f"the JSON holds no group {group!r} but: {held}")
    if len(asked) > 1:
        raise SourceError(f"the JSON holds {len(asked)} groups ({held}); name one with `group`")
    if not asked:
        raise SourceError(NO_GROUP)
    return asked[0]


def _whole_json(text: str) -> Any:
    """Return the JSON value of a text, or the list of values if each line is a value.

    Raises:
        SourceError: the text or one of its lines is cut off. If the first line is of a tool whose JSON has no
            members, the message says that instead.
    """
    try:
        return decode_json(text)
    except ValueError as error:
        values = []
        try:
            for line in filter(str.strip, text.split("\n")):
                values.append(decode_json(line))  # noqa: PERF401 - the values before a cut line are looked at
        except ValueError:
            if values and (what := _tool_without_members(values[0])):
                raise SourceError(f"this is {what}; {ASK_FOR_MEMBERS}") from error
            raise SourceError(f"no whole JSON: {error}; {AGAIN}") from error
        return values


def _tool_without_members(value: Any) -> str | None:
    """Return a description of a JSON value if it is of a tool whose JSON has no members; None otherwise.

    A tool is recognized by keys that only its JSON has. In a list, only the first object is looked at.
    """
    first = value[0] if isinstance(value, list) and value else value
    if not isinstance(first, dict):
        return None
    keys, status = first.keys(), first.get("status")
    known = {
        "librdkafka's statistics, which tell of one member and not of the group": (
            {"type", "topics"} <= keys and "members" not in keys
        ),
        "an answer of Prometheus, which counts lags and names no members": (
            status in ("success", "error") and "data" in keys
        ),
        "Burrow's answer about a consumer, which has hosts in place of members": (
            (isinstance(status, dict) and "partitions" in status) or {"error", "message", "request"} <= keys
        ),
        "a plan of kafka-reassign-partitions: replicas of partitions, no members": (
            {"version", "partitions"} <= keys and "groupId" not in keys
        ),
        "a part of a group from Confluent's REST API, whose .../consumer-groups/GROUP/lags has all of it": (
            str(first.get("kind")).startswith("KafkaConsumer") and "consumer_group_id" in keys
        ),
        "the output of kt group, which has offsets and no members": {"name", "topic", "offsets"} <= keys,
    }
    return next((what for what, fits in known.items() if fits), None)


_MEMBER = ("consumerid", "memberid", "id", "name")
_CLIENT = ("clientid",)
_HOST = ("host", "clienthost")
_INSTANCE = ("groupinstanceid", "instanceid")
_TOPIC = ("topic", "topicname", "name")
_PARTITION = ("partition", "partitionid", "id")
_LAG = ("lag", "consumerlag", "messagesbehind", "currentlag", "offsetlag")
_LISTS = ("assignments", "assignment", "assignedpartitions", "topicpartitions", "partitions")
_GROUP = ("groupid", "group", "groupname", "consumergroupid", "id", "name")
_STATE = ("state", "groupstate", "status")
_STRATEGY = ("partitionassignor", "assignor", "balancer", "protocol")
"""The tuples above hold the names that tools' JSON has for a fact, in the order in which they are tried.

The names are in lower case and without `_` and `-`.
"""
_STATUSES = {
    name.upper(): name
    for name in ("Stable", "Empty", "Dead", "PreparingRebalance", "CompletingRebalance", "Assigning")
} | {"RECONCILING": "Reconciling"}
"""A state in capital letters, as web interfaces print it -> Kafka's name of the state."""


class _Place(NamedTuple):
    """Holds a partition of a list, its lag (`UNKNOWN_LAG` if unknown), and its entry in the JSON."""

    topic: str
    partition: int
    lag: int
    entry: Mapping[str, Any]


def _find_groups(value: Any) -> Iterator[GroupState]:
    """Yield the groups in a JSON value: objects in which members list partitions or partitions name members.

    Groups are found at any depth, because each tool wraps them in other objects. An object that describes a
    group is not searched further, so that its parts do not count as groups of their own.
    """
    if isinstance(value, dict):
        flat = {re.sub(r"[_-]", "", key.lower()): content for key, content in value.items()}
        members = [content for content in flat.values() if _are_members(content)]
        # If members are listed, partitions need not name their members: then they only tell the lags.
        listed = [content for content in flat.values() if _are_partitions(content)]
        partitions = [content for content in listed if members or _are_owned(content)]
        if members or partitions:
            yield _group(flat, members[0] if members else (), partitions[0] if partitions else ())
        else:
            for content in value.values():
                yield from _find_groups(content)
    elif isinstance(value, list):
        if _are_owned(value):
            yield _group(_flat(value[0]), (), value)
        for content in value:
            yield from _find_groups(content)


def _flat(entry: Any) -> dict[str, Any]:
    """Return an object with its keys in small letters and without `_` and `-`; {} for anything else."""
    if not isinstance(entry, dict):
        return {}
    return {re.sub(r"[_-]", "", key.lower()): content for key, content in entry.items()}


def _first(entry: Mapping[str, Any], names: Iterable[str]) -> Any:
    """Return the first of these fields that the object has; None if it has none of them.

    Args:
        entry: the object, its keys as `_flat` returns them.
        names: the names to try, in this order; a field that is null does not count.
    """
    return next((entry[name] for name in names if entry.get(name) is not None), None)


def _are_members(value: Any) -> bool:
    """Return True for a list of members, each with an id, a client id or host, and a list of partitions.

    An id alone would not be enough, because topics and brokers have ids, too.
    """
    if not (isinstance(value, list) and value):
        return False
    return all(
        isinstance(_first(entry, _MEMBER), str)
        and isinstance(_first(entry, _CLIENT + _HOST), str)
        and isinstance(_first(entry, _LISTS), list | dict)
        for entry in map(_flat, value)
    )


def _are_partitions(value: Any) -> bool:
    """Return True for a list of partitions, each with a topic and a number.

    An empty list does not count, because it may be a list of anything.
    """
    if not (isinstance(value, list) and value):
        return False
    return all(
        isinstance(_first(entry, _TOPIC), str) and isinstance(_first(entry, _PARTITION), int)
        for entry in map(_flat, value)
    )


def _are_owned(value: Any) -> bool:
    """Return True for a list of partitions, of which at least one names its member."""
    return _are_partitions(value) and any(_text(_first(_flat(entry), _MEMBER[:2])) for entry in value)


def _group(facts: Mapping[str, Any], members: Sequence[Any], partitions: Sequence[Any]) -> GroupState:
    """Return the group of one description.

    Args:
        facts: the object that describes the group, with keys as `_flat` returns them.
        members: the members that it lists, each with its partitions; empty if it lists none.
        partitions: the partitions that it lists, each with its member if it has one; empty if it lists none.

    Raises:
        SourceError: two members have the same id, a topic or a partition number is not valid, or there are
            more partitions than a group may have.
    """
    places = [place for entry in partitions for place in _places(entry)]
    rows, lags = Rows(), {(place.topic, place.partition): place.lag for place in places}
    held: set[tuple[str, int]] = set()
    for entry in map(_flat, members):
        rows.member(_identity(entry))
        for place in _places(_first(entry, _LISTS)):
            rows.partition(
                place.topic, place.partition, _identity(entry).id, lags.get(place[:2], UNKNOWN_LAG)
            )
            held.add(place[:2])
    # If members are listed, their own lists tell the owners. Entries of partitions then only add lags.
    owners = {} if members else {id(place.entry): _identity(place.entry) for place in places if _owner(place)}
    for identity in dict.fromkeys(owners.values()):
        rows.member(identity)
    for place in places:
        if place[:2] not in held:
            owner = owners.get(id(place.entry))
            rows.partition(place.topic, place.partition, owner and owner.id, place.lag)
    # A list of partitions does not show idle members. Their number follows from a count of members, if there
    # is one. A count below the number of members seen counts something else and is ignored.
    counted = _first(facts, ("members", "memberscount", "consumers"))
    listed = len({member.id for member in owners.values()})
    hidden = counted - listed if isinstance(counted, int) and listed <= counted <= MAX_GROUP_MEMBERS else 0
    state = rows.state(
        members_complete=bool(members) or (isinstance(counted, int) and counted == listed),
        name=_text(_first(facts, _GROUP)) or _text(_first(places[0].entry, _GROUP[:4]) if places else None),
        status=_STATUSES.get(re.sub(r"[_ ]", "", str(_first(facts, _STATE) or "")).upper()),
        warnings=("read from another tool's JSON, which may not show partitions without an owner",),
    )
    check_partitions(len(state.partition), SourceError, "the group")
    return replace(state, strategy=_text(_first(facts, _STRATEGY)), unlisted=0 if members else hidden)


def _owner(place: _Place) -> bool:
    """Return True if the entry of a partition names a member."""
    return bool(_text(_first(place.entry, _MEMBER[:2])))


def _identity(entry: Mapping[str, Any]) -> MemberIdentity:
    """Return the member that an entry names; a host loses the slash that Kafka prints before it.

    A missing fact is None. A missing id is ""; `Rows` refuses a second member with the same id.
    """
    host = _text(_first(entry, _HOST))
    return MemberIdentity(
        _text(_first(entry, _MEMBER)) or "",
        _text(_first(entry, _INSTANCE)),
        _text(_first(entry, _CLIENT)),
        host and host.removeprefix("/"),
    )


def _places(value: Any) -> Iterator[_Place]:
    """Yield the partitions of a JSON value.

    Args:
        value: a list of entries; one entry, with a topic and one or more partition numbers; or an object that
            maps topics to lists.

    Raises:
        SourceError: a topic or a partition number is not valid.
    """
    # A list may contain further lists: a list of topics, each with a list of its partitions.
    if isinstance(value, list):
        for entry in value:
            yield from _places(entry)
        return
    entry = _flat(value)
    topic, numbers = _first(entry, _TOPIC), _first(entry, ("partitions", *_PARTITION))
    if topic is None:
        for name, listed in value.items() if isinstance(value, dict) else ():
            yield from _places({"topic": name, "partitions": listed})
        return
    lag = _first(entry, _LAG)
    for number in numbers if isinstance(numbers, list) else [numbers]:
        if not (isinstance(topic, str) and isinstance(number, int) and 0 <= number <= MAX_PARTITION):
            raise SourceError(f"{str(topic)[:MAX_TOPIC_NAME]}-{str(number)[:40]} is no partition; {AGAIN}")
        # An impossible lag counts as unknown, because the owner of the partition is known all the same.
        known = isinstance(lag, int) and abs(lag) <= MAX_OFFSET
        yield _Place(topic, number, lag if known else UNKNOWN_LAG, entry)


def _text(value: Any) -> str | None:
    """Return a text, cut to `MAX_ID` characters; None for "", "-" (an empty cell), and other values."""
    return value[:MAX_ID] if isinstance(value, str) and value not in {"", "-"} else None
