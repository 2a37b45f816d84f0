"""Read the group that the name of a source stands for: a file, a step of a file, or a live group."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from assignors.files import read_text
from assignors.state import GroupState, MemberIdentity
from copartition.groups.capture import check_head, find_kind, is_json, parse_capture, parse_captures
from copartition.groups.kinds.capture import parse_other_capture
from copartition.groups.kinds.live import read_other_live
from copartition.groups.kinds.model import (
    ShareGroupState,
    StreamsGroupState,
    check_no_other_snapshot,
    is_other_snapshot,
    parse_other_group,
)
from copartition.groups.live import read_live
from copartition.groups.snapshot import SUFFIX, parse_snapshot, read_record
from copartition.simulation import Consumer, Scenario, SimulationResult, simulate
from partitioning.errors import OtherGroupKindError, SourceError
from partitioning.kit.limits import parse_number
from partitioning.topic_partition import MAX_PARTITIONS


def step_state(result: SimulationResult, step: int) -> GroupState:
    """Return the group after a rebalance of a simulated run.

    Args:
        result: the run.
        step: the number of the rebalance: 0 is the first assignment, -1 the last.

    Raises:
        SourceError: the run has no such step.
    """
    steps = result.steps
    name = result.scenario.name
    if not -len(steps) <= step < len(steps):
        raise SourceError(f"{name}#{step}: the run has {len(steps)} steps, 0 to {len(steps) - 1}")
    rebalance = steps[step]
    assigned = GroupState.of(rebalance.assignment)
    members = []
    for member in assigned.members:
        consumer = rebalance.consumers[member.id]
        # A static consumer of a scenario has its name as instance id.
        instance_id = consumer.name if consumer.static else None
        topics = _topics_read_by(consumer, result.scenario, assigned)
        members.append(MemberIdentity(member.id, instance_id, consumer.name, topics=topics))
    return replace(assigned, members=tuple(members), name=name, status=f"generation {rebalance.generation}")


def _topics_read_by(consumer: Consumer, scenario: Scenario, now: GroupState) -> tuple[str, ...]:
    """Return the topics that a simulated consumer reads.

    If it subscribes by a pattern, these are the topics that exist now and match, as for a client of Kafka.
    """
    if consumer.pattern is not None:
        return tuple(name for name in now.topics if re.fullmatch(consumer.pattern, name))
    if consumer.topics is not None:
        return consumer.topics
    return tuple(topic.name for topic in scenario.topics)


def check_any_head(text: str) -> None:
    """Raise SourceError if a text begins like no group of any kind; see `check_head`."""
    if find_kind(text) is None and not is_other_snapshot(text):
        check_head(text)


_SCENARIOS = {".yaml", ".yml", ".toml"}
_SCENARIO_KEYS = re.compile(r'(?s)(?!.*"(?:members|groupId|fetch_state)"\s*:).*"topics"\s*:\s*[{\[]')
"""Matches the JSON of a scenario, but not that of a group of another tool."""


class OtherSource(NamedTuple):
    """Holds a share group or a Streams group; `first` is an earlier look at it, if the source has one."""

    state: ShareGroupState | StreamsGroupState
    first: ShareGroupState | StreamsGroupState | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """Holds a group that was read, with everything else that its source tells.

    Attributes:
        state: the group; the first state if the source has several.
        target: the group's target assignment; None if it has none (KIP-848).
        last: the last state, if the source is a whole scenario, a whole record, or several captures.
        live: whether it was read from a cluster.
    """

    state: GroupState
    target: GroupState | None = None
    last: GroupState | None = None
    live: bool = False


def read_source(
    name: str, config: Mapping[str, str] | None = None, *, group: str | None = None, several: bool = False
) -> Source:
    """Return the group that a source names.

    Args:
        name: the path of a snapshot, a capture, a scenario or a record; "-" for standard input; `live:GROUP`;
            `scenario.yaml#STEP`, `record.ndjson#STEP`, or `capture.txt#STEP` if a text has several captures
            of the group. A scenario or record without a step stands for its first one.
        config: librdkafka settings for `live:GROUP`.
        group: the name of the group, if a file has several.
        several: whether a text may have several captures of the group. If True, the result has the first and
            the last one. If False, such a text is refused, because it is unknown which capture is meant.

    Raises:
        SourceError: the source cannot be read. The message names it, and says what to do.
        ScenarioError: the source is a scenario that cannot be run.
    """
    kind, colon, rest = name.partition(":")
    if colon and kind == "live":
        return Source(*read_live(rest, config or {}), live=True)
    if colon and kind == "plan":
        raise SourceError(f"{name} plans from the other side; name a group for that side")
    return _file_source(name, None, group, several=several)


def read_any_source(
    name: str, config: Mapping[str, str] | None = None, *, group: str | None = None
) -> Source | OtherSource:
    """Return the group of any kind that a source names.

    Args:
        name: as for `read_source`. It may also be a file with output of kafka-share-groups or
            kafka-streams-groups, or with one or more snapshots of such a group, one on each line; then the
            first and the last of them are returned.
        config: librdkafka settings for `live:GROUP`.
        group: the name of the group, if a file has several.

    Raises:
        SourceError: as for `read_source`.
        ScenarioError: as for `read_source`.
    """
    if name.startswith("live:"):
        try:
            return read_source(name, config)
        except OtherGroupKindError as error:
            return OtherSource(read_other_live(name.removeprefix("live:"), config or {}, error.kind))
    if name != "-" and not Path(name).is_file():
        return read_source(name, config, group=group)
    text = _read(name, check_any_head)
    if find_kind(text) is None and not is_other_snapshot(text):
        return _file_source(name, text, group, several=False)
    try:
        return _other_source(text, group)
    except SourceError as error:
        raise type(error)(f"{source_label(name)}: {error}") from error


def _other_source(text: str, group: str | None) -> OtherSource:
    """Return the share group or Streams group of a capture, or of snapshots, one on each line."""
    if (found := find_kind(text)) is not None:
        return OtherSource(parse_other_capture(text, found[0], group))
    looks = [parse_other_group(line) for line in text.split("\n") if line.strip()]
    last = looks[-1]
    if any(look.name != last.name or type(look) is not type(last) for look in looks):
        raise SourceError("the snapshots are of different groups")
    if group is not None and last.name not in {None, group}:
        raise SourceError(f"the file holds the group {last.name!r}, not {group!r}")
    return OtherSource(last, looks[0] if len(looks) > 1 else None)


def _file_source(name: str, text: str | None, group: str | None, *, several: bool) -> Source:
    """Return the group of a file, of one of its steps, or of standard input.

    Args:
        name: see `read_source`; neither `live:GROUP` nor `plan:ASSIGNOR`.
        text: the text of the file or of standard input; None if it is not read yet.
        group: see `read_source`.
        several: see `read_source`.
    """
    path, hash_, step = name.rpartition("#")
    # "#" may be part of any file's name, so it begins a step only after a suffix that has steps.
    if hash_ and Path(path).suffix.lower() in {*_SCENARIOS, ".json"}:
        number = _step_number(path, step)
        return Source(step_state(simulate(Scenario.from_file(path)), number))
    if hash_ and Path(path).suffix.lower() == SUFFIX:
        return _record_step(path, step)
    # A capture may have any suffix, so "#" begins a step if there is no file with the whole name.
    if hash_ and step and Path(path).is_file() and not Path(name).exists():
        return _capture_step(path, step, group)
    if Path(name).suffix.lower() == SUFFIX:
        steps = read_record(name)
        return Source(steps[0].state, steps[0].target, last=steps[-1].state)
    return _of_text(name, _read(name, check_head) if text is None else text, group, several)


def _read(name: str, check: Callable[[str], None]) -> str:
    """Return the text of a file, or of standard input for "-"; `check` refuses a text by its beginning."""
    try:
        return read_text(None if name == "-" else name, check_head=check)
    except FileNotFoundError:
        raise SourceError(
            f"{name}: no such file; a source is a file, '-', live:GROUP, plan:ASSIGNOR, scenario.yaml#STEP, "
            "record.ndjson#STEP or capture.txt#STEP"
        ) from None
    except OSError as error:
        raise SourceError(f"{name}: {error.strerror}") from error
    except SourceError as error:
        raise type(error)(f"{source_label(name)}: {error}") from error


def _of_text(name: str, text: str, group: str | None, several: bool) -> Source:
    """Return the group that the text of a file or of standard input holds.

    The kind of text is recognized by its content. Only a scenario is recognized by the suffix of its name.
    """
    # A snapshot may have any suffix, even .json as scenarios have, so it is recognized by its tag.
    snapshot = '"group-snapshot"' in text
    suffix = Path(name).suffix.lower()
    # Other JSON belongs to another tool. The reader of scenarios would refuse it with a misleading error.
    if suffix in _SCENARIOS or (suffix == ".json" and not snapshot and _SCENARIO_KEYS.match(text)):
        result = simulate(Scenario.from_file(name))
        return Source(step_state(result, 0), last=step_state(result, -1))
    try:
        check_no_other_snapshot(text)
        if snapshot:
            return _one_group(Source(*parse_snapshot(text)), group)
        if is_json(text):
            return _one_group(Source(*parse_capture(text)), group)
        # `parse_capture` refuses a text with several captures of the group: the first may be of another day.
        if not several:
            return Source(*parse_capture(text, group))
        times = parse_captures(text, group)
        return Source(*times[0], last=times[-1][0] if len(times) > 1 else None)
    except SourceError as error:
        raise type(error)(f"{source_label(name)}: {error}") from error


def _capture_step(path: str, step: str, group: str | None) -> Source:
    """Return one of several captures of a group in a file: step 0 is the first one, -1 the last."""
    number = _step_number(path, step)
    try:
        times = parse_captures(read_text(path, check_head=check_head), group)
    except SourceError as error:
        raise type(error)(f"{path}: {error}") from error
    if not -len(times) <= number < len(times):
        raise SourceError(
            f"{path}#{step}: it holds {len(times)} captures of the group, 0 to {len(times) - 1}"
        )
    return Source(*times[number])


def _one_group(source: Source, group: str | None) -> Source:
    """Return the source; raise SourceError if its group has another name than the user asked for."""
    name = source.state.name
    # A snapshot without a name may be of any group, so it is accepted.
    if group is not None and name not in {None, group}:
        raise SourceError(f"the file holds the group {name!r}, not {group!r}")
    return source


def source_label(name: str) -> str:
    """Return the name of a source for an error message."""
    return "standard input" if name == "-" else name


def _record_step(path: str, step: str) -> Source:
    """Return a step of a record: 0 is the first step, -1 the last."""
    number = _step_number(path, step)
    steps = read_record(path)
    if not -len(steps) <= number < len(steps):
        raise SourceError(f"{path}#{step}: the record has {len(steps)} steps, 0 to {len(steps) - 1}")
    return Source(steps[number].state, steps[number].target)


def _step_number(path: str, step: str) -> int:
    """Return the number of a step; it is negative if steps are counted from the end.

    Raises:
        SourceError: the text after "#" is not a number.
    """
    number = parse_number(step.removeprefix("-"), MAX_PARTITIONS)
    if number is None:
        raise SourceError(f"{path}#{step}: a step is a number, 0 the first and -1 the last")
    return -number if step.startswith("-") else number
