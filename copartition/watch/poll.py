"""Looks at a group at intervals."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from copartition.groups.snapshot import Step
from partitioning.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from assignors.state import GroupState

    Reading = tuple[GroupState, GroupState | None]


class Looks:
    """What a group comes to, step by step, for as long as somebody looks.

    The first look must succeed. A later one that fails is repeated; each cause is reported once
    until a look succeeds.

    Args:
        read: reads the group; gives the same object as before where nothing has changed.
        interval_s: from the begin of one look to that of the next.
        for_s: how long to look; None for ever.
        count: how many times to look; None for any.
        tell: hears what has gone wrong, and None when a look has succeeded again.
        clock: seconds since 1970.
        sleep: waits for so many seconds.

    Attributes:
        successes: looks that succeeded so far.
        begun: when the first one was answered.
        ended: when the last one was answered.
        blind_s: the longest time from one look to the answer of the next; what came and went in it was not
            seen.
    """

    def __init__(
        self,
        read: Callable[[], Reading],
        *,
        interval_s: float,
        for_s: float | None = None,
        count: int | None = None,
        tell: Callable[[str | None], None],
        clock: Callable[[], float] | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._read = read
        self._interval_s = interval_s
        self._for_s = for_s
        self._count = count
        self._tell = tell
        self._clock = clock or _steady_clock()
        self._sleep = sleep
        self._reported: set[str] = set()
        self.successes = 0
        self.begun = self.ended = self.blind_s = 0.0

    def __iter__(self) -> Iterator[Step]:
        """The steps; looks that show nothing new give none."""
        latest: Reading | None = None
        since: float | None = None
        tried = 0
        start = self._clock()
        while True:
            asked_s = self._clock()
            reading = self._look(required=latest is None)
            tried += 1
            if reading is not None:
                self.ended = self._clock()
                self.begun = self.begun or self.ended
                self.successes += 1
                self.blind_s = max(self.blind_s, self.ended - (asked_s if since is None else since))
                if reading is not latest:
                    yield Step(self.ended, since, *reading)
                # The answer is no older than the question.
                latest, since = reading, asked_s
            wait_s = max(asked_s + self._interval_s - self._clock(), 0)
            last = tried == self._count
            if last or (self._for_s is not None and self._clock() + wait_s > start + self._for_s):
                return
            self._sleep(wait_s)

    def _look(self, *, required: bool) -> Reading | None:
        try:
            reading = self._read()
        except SourceError as error:
            if required:
                raise
            if str(error) not in self._reported:
                self._reported.add(str(error))
                self._tell(str(error))
            return None
        if self._reported:
            self._reported.clear()
            self._tell(None)
        return reading


def _steady_clock() -> Callable[[], float]:
    """A clock that nobody sets while it runs, as an hour more or less would be in every duration."""
    offset = time.time() - time.monotonic()
    return lambda: offset + time.monotonic()
