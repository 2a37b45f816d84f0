"""Read, or name, what other tools tell of groups: JSON of web interfaces, metrics, and tables without owners.

A description of a group in JSON is read whatever tool gave it, by what its fields hold: members with their
partitions, or partitions with their members. Whatever has no members is refused by the name of its tool, as
no answer about who reads what can stand on it.
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
"""Characters of a text in which these are looked for: to look through all of a long one takes seconds."""
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
                # The group's name is in the notice, or the first word below the header.
                below = start[start.find("\n", head.end() - 1) :].split(None, 1)
                return kind, head[1] if head.re.groups else next(iter(below), "the group")
    return None


def check_kind(text: str) -> None:
    """Refuse the output of Kafka's tools for share groups and Streams groups, and snapshots of such groups.

    Raises:
        OtherGroupKindError: it is such an output; the message says what the group is, and what to use.
    """
    # These outputs have rows that look like those of a consumer group. Read as such, one member could seem to
    # own what several members read.
    if (found := find_kind(text)) is not None:
        kind, name = found
        raise OtherGroupKindError(OTHER_KINDS[kind].format(group=name), kind)


def refuse_text(text: str) -> None:
    """Refuse a text that is no capture, by the name of the tool that printed it.

    Raises:
        SourceError: always; its words depend on what the text shows.
    """
    if listed := _LIST.search(text):
        rows = [line.split() for line in text[listed.end() :].splitlines() if len(line.split()) == 3]
        kinds = ", ".join(f"{name} ({kind.lower()})" for name, kind, _ in rows[:_NAMED]) or "none"
        more = f" and {len(rows) - _NAMED} more" if len(rows) > _NAMED else ""
        raise SourceError(
            f"this is a list of groups: {kinds}{more}; name one: live:GROUP with `bootstrap_servers`"
        )
    # A text is named by its tool, so that the error can say what to capture in its place.
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
"""Groups of a list that an error names."""
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
        SourceError: the JSON is cut, or has no group with members and partitions, or has several and none is
            asked for; the message names its tool if known.
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
    """Return the JSON value of a text, or the values of its lines as a list.

    Raises:
        SourceError: the text or one of its lines is cut; if the first line tells which tool wrote it and that
            it has no members, the message says that.
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
    """Return what a JSON is that tells of a group and names no members; None for any other.

    Tools are told by keys that only their answers have. The first object of a list stands for all of them.
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
"""The names of facts in tools' JSON, in small letters, without `_` and `-`, in the order of trying."""
_STATUSES = {
    name.upper(): name
    for name in ("Stable", "Empty", "Dead", "PreparingRebalance", "CompletingRebalance", "Assigning")
} | {"RECONCILING": "Reconciling"}
"""Kafka's names of states by their letters in capitals, as web interfaces print them."""


class _Place(NamedTuple):
    """A partition in a list, its lag (`UNKNOWN_LAG`), and the entry that it stands in."""

    topic: str
    partition: int
    lag: int
    entry: Mapping[str, Any]


def _find_groups(value: Any) -> Iterator[GroupState]:
    """Yield the groups that a JSON describes: objects with members that have partitions, or the other way.

    Groups are found at any depth, as each tool wraps them in objects of its own. An object that describes a
    group is not searched further, so that its parts do not count as groups of their own.
    """
    if isinstance(value, dict):
        flat = {re.sub(r"[_-]", "", key.lower()): content for key, content in value.items()}
        members = [content for content in flat.values() if _are_members(content)]
        # Beside members, partitions need not name theirs: they tell the lag.
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
    """Return True for a list of members, each with an id and a list of partitions.

    An id alone is no sign of a member, as topics and brokers have ids, too: a client id or a host must stand
    beside it.
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
    """Return True for a list of partitions, each with a topic and a number of its own.

    An empty list is none: it would not show whether it is about partitions or about something else.
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
        facts: the object that describes it, its keys in small letters.
        members: its members, each with its partitions; empty if it lists none.
        partitions: its partitions, each with its member if it has one; empty if it lists none.

    Raises:
        SourceError: a partition or a member is there twice or is none.
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
    # If members are listed, they have told their partitions already; entries of partitions only add the lag.
    owners = {} if members else {id(place.entry): _identity(place.entry) for place in places if _owner(place)}
    for identity in dict.fromkeys(owners.values()):
        rows.member(identity)
    for place in places:
        if place[:2] not in held:
            owner = owners.get(id(place.entry))
            rows.partition(place.topic, place.partition, owner and owner.id, place.lag)
    # Partitions show no idle member. A count of members tells how many there are, if it is not below those
    # that are seen: else it counts something else.
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
    """Return the member that an entry names, without the slash that Kafka prints before a host.

    A fact that the entry does not have is None; a missing id is "", of which `Rows` refuses a
    second one.
    """
    host = _text(_first(entry, _HOST))
    return MemberIdentity(
        _text(_first(entry, _MEMBER)) or "",
        _text(_first(entry, _INSTANCE)),
        _text(_first(entry, _CLIENT)),
        host and host.removeprefix("/"),
    )


def _places(value: Any) -> Iterator[_Place]:
    """Yield the partitions of a list, of one entry of it, or of an object of lists by topic.

    Raises:
        SourceError: a topic, a number or a lag that none can be.
    """
    # Lists may lie in lists: of topics, each with a list of its partitions.
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
        # A lag that cannot be is as good as none: who reads the partition is known all the same.
        known = isinstance(lag, int) and abs(lag) <= MAX_OFFSET
        yield _Place(topic, number, lag if known else UNKNOWN_LAG, entry)


def _text(value: Any) -> str | None:
    """Return a text that is not empty, of `MAX_ID` characters at most; None for anything else.

    A dash is a tool's sign for an empty cell, and counts as none.
    """
    return value[:MAX_ID] if isinstance(value, str) and value not in {"", "-"} else None
