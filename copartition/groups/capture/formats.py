"""Find out which tool printed a text, and have the reader for that tool read it."""

import re
from dataclasses import replace

from assignors.state import GroupState
from copartition.groups.capture import connect
from copartition.groups.capture.group import describe
from copartition.groups.capture.others import NO_GROUP, check_kind, parse_json, refuse_text
from copartition.groups.capture.paste import realign, shows_header, straighten
from copartition.groups.capture.scan import MOST_NOTICES, GroupTables, refuse_short_lines, scan
from partitioning.errors import SourceError
from partitioning.kit.near import listing

_JSON_KEYS = ('"group-snapshot"', '"members"', '"consumers"', "artition")
"""Every JSON text of a snapshot, scenario or group has one of these words near its start."""


State = tuple[GroupState, GroupState | None]
"""A group, and its target assignment if it has one (KIP-848)."""


def parse_capture(text: str, group: str | None = None) -> State:
    """Return the group that a capture shows, and its target assignment if the capture shows one (KIP-848).

    The capture may have several tables of the group, in any order, which complete each other. For example,
    Kafka 3.8 and 3.9 list members without topics, which the table of offsets adds. The table of the state
    adds the strategy.

    Args:
        text: output of `kafka-consumer-groups --describe` or `rpk group describe`, or Connect's answer to
            `GET /connectors?expand=status`.
        group: the group's name; needed only if the text holds several groups, as with `--all-groups`.

    Raises:
        SourceError: the text is no output of these tools, does not hold the group, holds several groups while
            `group` is None, or holds several captures of the group; a row is damaged; tables contradict each
            other; or no table tells the owners of partitions.
    """
    times = parse_captures(text, group)
    if len(times) > 1:
        raise SourceError(
            f"the text holds {len(times)} captures of the group {times[0][0].name or 'without a name'!r}, "
            "taken at different times; add #0 to the file's name for the first, #-1 for the last"
        )
    return times[0]


def parse_captures(text: str, group: str | None = None) -> list[State]:
    """Return the group for each time at which it was captured, in the order of the text; one at least.

    Args:
        text: as for `parse_capture`.
        group: as for `parse_capture`.

    Raises:
        SourceError: as for `parse_capture`, but several captures of one group are no error here.
    """
    # The kind of the text is found by its beginning. A reader for another kind would raise a wrong error.
    if connect.is_status(text):
        return [(connect.parse_status(text), None)]
    if is_json(text):
        return [(parse_json(text, group), None)]
    refuse_short_lines(text)
    check_kind(text)
    paste = straighten(text)
    # Rows are read by columns first. If they were read by words, a row that was cut off might look complete.
    try:
        times = _parse(paste.text, group)
    except SourceError as error:
        times = _parse_words(paste.text, group, error)
    return [
        (_with_warnings(state, paste.notes), target and _with_warnings(target, paste.notes))
        for state, target in times
    ]


def _parse_words(text: str, group: str | None, error: SourceError) -> list[State]:
    """Return the groups of a text whose columns do not line up any more, for example after it was pasted.

    Args:
        text: the text.
        group: which group; None if the text has only one.
        error: the error of the reader that reads by columns.

    Raises:
        SourceError: a row cannot be read by words either; the message names the first such row.
    """
    again = realign(text)
    if isinstance(again, str):
        remark = "the columns do not line up; split at blanks, only one reading is possible"
        return [
            (_with_warnings(state, (remark,)), target and _with_warnings(target, (remark,)))
            for state, target in _parse(again, group)
        ]
    # The reader by columns may have failed at an earlier row that can be read by words. The error must name
    # the row that cannot be read either way.
    misfit = _MISFIT.match(str(error))
    if again is not None and misfit is not None and int(misfit[1]) < again:
        raise SourceError(
            f"line {again}: the cells of the row do not fit the columns of the header, or fit in two ways; "
            "capture the output again without reformatting it"
        ) from None
    raise error


_MISFIT = re.compile(r"line (\d+): the row does not line up")


def _with_warnings(state: GroupState, notes: tuple[str, ...]) -> GroupState:
    """Return the state with further warnings about its text; the same object if there are none."""
    return replace(state, warnings=(*state.warnings, *notes)) if notes else state


def _parse(text: str, group: str | None) -> list[State]:
    """Return the group of a text whose columns line up, for each time at which it was captured."""
    groups = scan(text)
    if not groups:
        refuse_text(text)
    name = _pick(groups, group)
    return [_state(scanned, name, group) for scanned in groups[name]]


def _state(scanned: GroupTables, name: str | None, group: str | None) -> State:
    """Return the group of one capture.

    Args:
        scanned: the group's part of the text.
        name: the group's name in the capture; None if the capture does not name the group.
        group: the name that the user asked for; None if none was given.
    """
    # "Dead" is Kafka's word for a group that does not exist. A state without members would look like an idle
    # group.
    if scanned.status == "Dead":
        raise SourceError(f"the capture says that group {name!r} does not exist")
    if not scanned.tables and scanned.status == "Empty":
        return GroupState.without_partitions(name=name, status="Empty"), None
    state, target = describe(scanned, name)
    # The file does not show that it is about the group that was asked for. The state names that assumption.
    if group is not None and name is None:
        state = replace(state, assumed=(*state.assumed, f"the capture names no group; taken for {group!r}"))
    return state, target


def is_json(text: str) -> bool:
    """Return True if a text is JSON by its beginning: an object, or a list of objects."""
    return re.match(r"\s*(?:\{|\[\s*\{)", text) is not None


def check_head(text: str) -> None:
    """Raise SourceError if no reader knows a text, judged by its beginning only.

    So a wrong input from a pipe is refused before all of it is read.
    """
    if connect.is_status(text):
        return
    if is_json(text):
        if not any(key in text for key in _JSON_KEYS):
            raise SourceError(NO_GROUP)
    elif not shows_header(text.split("\n", MOST_NOTICES)[:MOST_NOTICES]):
        check_kind(text)
        refuse_text(text)


def _pick(groups: dict[str | None, list[GroupTables]], group: str | None) -> str | None:
    """Return the name of the group to read; None for a group that the capture does not name.

    Raises:
        SourceError: the capture does not have the group that is asked for; or it has several groups, and none
            is asked for.
    """
    held = listing(["one without a name" if name is None else name for name in groups])
    # A single group without a name may be the one that is asked for, because older tools print no name.
    if [*groups] == [None]:
        return None
    if group is not None and group not in groups:
        raise SourceError(f"the capture holds no group {group!r} but: {held}")
    if group is None and len(groups) > 1:
        raise SourceError(f"the capture holds {len(groups)} groups ({held}); name one with `group`")
    return next(iter(groups)) if group is None else group
