"""Steps of a group as a file: NDJSON, a snapshot a line with its times."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from assignors.files import read_text
from copartition.groups.snapshot import decode_snapshot, make_snapshot, snapshot_states
from partitioning.errors import SourceError
from partitioning.kit.extras import needs

if TYPE_CHECKING:
    from os import PathLike

    from assignors.state import GroupState
    from copartition.groups.snapshot import Snapshot

with needs("a record of a group", "cli"):
    import msgspec

SUFFIX = ".ndjson"


class Step(NamedTuple):
    """A state of the group, and when it came about: later than `since`, no later than `at`.

    Times are seconds since 1970.

    Attributes:
        at: when it was first seen.
        since: when the state before it was last seen; None for the first step.
        state: the group.
        target: what it is on its way to, if it is one with targets (KIP-848).
    """

    at: float
    since: float | None
    state: GroupState
    target: GroupState | None = None


def record_line(step: Step) -> str:
    """The step as a line; each is a snapshot by itself."""
    snapshot = make_snapshot(step.state, step.target)
    snapshot.at = datetime.fromtimestamp(step.at, UTC)
    snapshot.since = None if step.since is None else datetime.fromtimestamp(step.since, UTC)
    return msgspec.json.encode(snapshot).decode() + "\n"


def read_record(path: str | PathLike[str]) -> list[Step]:
    """The steps of a record; a last line that was not written to its end is left out.

    Raises:
        SourceError: the file cannot be read, or a line is no snapshot with a time; the message names both.
    """
    try:
        text = read_text(path)
    except OSError as error:
        raise SourceError(f"{path}: {error.strerror}") from error
    except SourceError as error:
        raise SourceError(f"{path}: {error}") from error
    steps = []
    for number, line in enumerate(text.split("\n")[:-1], 1):
        try:
            steps.append(_step(decode_snapshot(line)))
        except SourceError as error:
            raise SourceError(f"{path}: line {number}: {error}") from error
    if not steps:
        raise SourceError(f"{path}: the record is empty")
    return steps


def _step(snapshot: Snapshot) -> Step:
    if snapshot.at is None:
        raise SourceError("the snapshot has no time `at`; copartition watch --record writes it")
    if snapshot.since is not None and snapshot.since > snapshot.at:
        raise SourceError("the snapshot's time `since` is after `at`")
    since = None if snapshot.since is None else snapshot.since.timestamp()
    return Step(snapshot.at.timestamp(), since, *snapshot_states(snapshot))
