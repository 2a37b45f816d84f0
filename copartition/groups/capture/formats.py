"""Tells which tool printed a text, and hands it to who reads that; Kafka Connect's status is read here."""

import re
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from typing import Annotated

from assignors.rules.connect import CONNECTOR
from assignors.state import CONNECT, GroupState, MemberIdentity
from copartition.groups.capture.group import describe
from copartition.groups.capture.scan import MOST_NOTICES, NO_OUTPUT, Scanned, is_header, realign, scan
from copartition.groups.capture.table import AGAIN
from copartition.groups.rows import Rows
from copartition.words import first_of
from partitioning.errors import SourceError
from partitioning.kit.formats import decode_json
from partitioning.kit.limits import MAX_ID, MAX_PARTITION, MAX_TOPIC_NAME, check_partitions
from partitioning.kit.packages import needs

with needs("the status of Kafka Connect's connectors", "cli"):
    import msgspec

_JSON_KEYS = ('"group-snapshot"', '"members"', '"consumers"')
"""One of them is in the JSON of a snapshot or scenario, and not far from its start."""


def parse_capture(text: str, group: str | None = None) -> tuple[GroupState, GroupState | None]:
    """The group that a capture shows, and the target assignment where the capture holds one (KIP-848).

    It may hold several tables of the group in any order, which complete each other: where members are listed
    without topics (Kafka 3.8 and 3.9), the offsets name them; the state tells the strategy.

    Args:
        text: what `kafka-consumer-groups --describe` or `rpk group describe` printed, or what Connect
            answers to `GET /connectors?expand=status`.
        group: which group, where it holds several, as with `--all-groups`.

    Raises:
        SourceError: no such output, not that group, several groups and none is named, a row that does not fit
            or is cut off, or tables that contradict each other or do not tell who has which partition.
    """
    try:
        return _parse(text, group)
    except SourceError:
        again = realign(text)
        if again is None:
            raise
        with suppress(SourceError):
            state, target = _parse(again, group)
            return _reread(state), None if target is None else _reread(target)
        raise


def _reread(state: GroupState) -> GroupState:
    remark = "the rows do not line up with their header; they were read by words, which has one way only"
    return replace(state, warnings=(*state.warnings, remark))


def _parse(text: str, group: str | None) -> tuple[GroupState, GroupState | None]:
    if is_status(text):
        return parse_status(text), None
    groups = scan(text)
    name = _pick(groups, group)
    scanned = groups[name]
    if scanned.status == "Dead":
        raise SourceError(f"the capture says that group {name!r} does not exist")
    if not scanned.tables and scanned.status == "Empty":
        return GroupState.without_partitions(name=name, status="Empty"), None
    state, target = describe(scanned, name)
    if group is not None and name is None:
        state = replace(state, assumed=(*state.assumed, f"the capture names no group; taken for {group!r}"))
    return state, target


def check_head(text: str) -> None:
    """Refuse, from how it begins, what is neither JSON of a kind that is read nor the output of a tool."""
    if is_status(text):
        return
    if text.lstrip().startswith("{"):
        if not any(key in text for key in _JSON_KEYS):
            raise SourceError("this JSON is no group snapshot, scenario or status of connectors")
    elif not any(is_header(line) for line in text.split("\n", MOST_NOTICES)[:MOST_NOTICES]):
        raise SourceError(NO_OUTPUT)


def _pick(groups: dict[str | None, Scanned], group: str | None) -> str | None:
    if not groups:
        raise SourceError(NO_OUTPUT)
    held = ", ".join("one without a name" if name is None else name for name in groups)
    if [*groups] == [None]:
        return None
    if group is not None and group not in groups:
        raise SourceError(f"the capture holds no group {group!r} but: {held}")
    if group is None and len(groups) > 1:
        raise SourceError(f"the capture holds {len(groups)} groups ({held}); name one with --group")
    return next(iter(groups)) if group is None else group


_HEAD = re.compile(r'\s*\{\s*"(?:[^"\\]|\\.){1,300}"\s*:\s*\{\s*"(?:status|info)"\s*:\s*\{')
_NOBODYS = {"UNASSIGNED", "DESTROYED"}
"""States in which the worker that is named runs it no more."""

_Id = Annotated[str, msgspec.Meta(max_length=MAX_ID)]


class _Connector(msgspec.Struct):
    state: str
    worker_id: _Id


class _Task(_Connector):
    id: Annotated[int, msgspec.Meta(ge=0, le=MAX_PARTITION)]


class _Status(msgspec.Struct):
    name: Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_TOPIC_NAME - len(CONNECTOR))]
    connector: _Connector
    tasks: list[_Task]


class _Expanded(msgspec.Struct):
    status: _Status


def is_status(text: str) -> bool:
    """Whether a text is such an answer, by its beginning."""
    return bool(_HEAD.match(text))


def parse_status(text: str) -> GroupState:
    """The workers, and which connectors and tasks each runs; a text cut off or a task named twice fails."""
    try:
        answer = msgspec.convert(decode_json(text), dict[str, _Expanded])
    except (ValueError, msgspec.MsgspecError) as error:
        raise SourceError(f"no whole answer to GET /connectors?expand=status: {error}; {AGAIN}") from error
    statuses = [expanded.status for expanded in answer.values()]
    check_partitions(sum(1 + len(status.tasks) for status in statuses), SourceError, "the Connect cluster")
    rows, troubled = Rows(), []
    running = [each for status in statuses for each in (status.connector, *status.tasks)]
    for worker in dict.fromkeys(each.worker_id for each in running if each.state not in _NOBODYS):
        rows.member(MemberIdentity(worker))
    for status in statuses:
        instance = (f"{CONNECTOR}{status.name}", 0, status.connector)
        numbers = [task.id for task in status.tasks]
        if twice := [number for number, count in Counter(numbers).items() if count > 1]:
            raise SourceError(f"connector {status.name!r} has task {twice[0]} twice; {AGAIN}")
        for topic, number, each in (instance, *((status.name, task.id, task) for task in status.tasks)):
            rows.partition(topic, number, None if each.state in _NOBODYS else each.worker_id)
            if each.state not in {"RUNNING", "PAUSED", "STOPPED", *_NOBODYS}:
                troubled.append(f"{topic}-{number} is {each.state}")
    warnings = (f"{first_of(troubled, 5)}; counted as their worker's all the same",) if troubled else ()
    state = rows.state(complete=True, members_complete=False, warnings=warnings)
    return replace(state, protocol=CONNECT)
