"""Find out which tool printed a text, and have the reader for that tool read it."""

from contextlib import suppress
from dataclasses import replace

from assignors.state import GroupState
from copartition.groups.capture import connect
from copartition.groups.capture.group import describe
from copartition.groups.capture.scan import MOST_NOTICES, NO_OUTPUT, Scanned, is_header, realign, scan
from partitioning.errors import SourceError

_JSON_KEYS = ('"group-snapshot"', '"members"', '"consumers"')
"""Keys of the JSON of snapshots and scenarios; one of them stands near the start."""


def parse_capture(text: str, group: str | None = None) -> tuple[GroupState, GroupState | None]:
    """Return the group that a capture shows, and its target assignment if the capture holds one (KIP-848).

    It may hold several tables of the group in any order, which complete each other: if members are listed
    without topics (Kafka 3.8 and 3.9), the table of offsets names the topics; the table of the state tells
    the
    strategy.

    Args:
        text: output of `kafka-consumer-groups --describe` or `rpk group describe`, or Connect's answer to
            `GET /connectors?expand=status`.
        group: which group, if the text holds several, as with `--all-groups`.

    Raises:
        SourceError: no such output, not that group, several groups and none is named, a row that does not fit
            or is cut off, or tables that contradict each other or do not tell who has which partition.
    """
    try:
        return _parse(text, group)
    except SourceError:
        # Columns get lost when output is pasted into a ticket. The first error stays if the words do not help
        # either.
        again = realign(text)
        if again is None:
            raise
        with suppress(SourceError):
            state, target = _parse(again, group)
            return _reread(state), None if target is None else _reread(target)
        raise


def _reread(state: GroupState) -> GroupState:
    """Return the state with a warning that its rows had lost their columns."""
    remark = "the rows do not line up with their header; they were read by words, which has one way only"
    return replace(state, warnings=(*state.warnings, remark))


def _parse(text: str, group: str | None) -> tuple[GroupState, GroupState | None]:
    """Return the group of a text whose columns are in place, and its target assignment."""
    if connect.is_status(text):
        return connect.parse_status(text), None
    groups = scan(text)
    name = _pick(groups, group)
    scanned = groups[name]
    # "Dead" is Kafka's word for a group that does not exist; an empty state would look like an idle group.
    if scanned.status == "Dead":
        raise SourceError(f"the capture says that group {name!r} does not exist")
    if not scanned.tables and scanned.status == "Empty":
        return GroupState.without_partitions(name=name, status="Empty"), None
    state, target = describe(scanned, name)
    if group is not None and name is None:
        state = replace(state, assumed=(*state.assumed, f"the capture names no group; taken for {group!r}"))
    return state, target


def check_head(text: str) -> None:
    """Refuse, judged by its beginning, a text that is neither JSON that is read here nor output of a tool.

    A pipe is read only this far before a wrong input is refused.

    Raises:
        SourceError: no reader knows such a text.
    """
    if connect.is_status(text):
        return
    if text.lstrip().startswith("{"):
        if not any(key in text for key in _JSON_KEYS):
            raise SourceError("this JSON is no group snapshot, scenario or status of connectors")
    elif not any(is_header(line) for line in text.split("\n", MOST_NOTICES)[:MOST_NOTICES]):
        raise SourceError(NO_OUTPUT)


def _pick(groups: dict[str | None, Scanned], group: str | None) -> str | None:
    """Return the name of the group to read; None for a group that the capture does not name.

    Raises:
        SourceError: the capture has no group, not the group that is asked for, or several and none is asked
            for.
    """
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
