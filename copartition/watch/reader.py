"""Reads a group of any kind for as long as it is watched."""

from collections.abc import Mapping
from typing import Any

from copartition.groups.kinds.model import ShareGroupState, StreamsGroupState
from copartition.groups.kinds.wire import ask_share_group, ask_streams_group
from copartition.groups.live import reader
from partitioning.errors import OtherGroupKindError, SourceError


class AnyGroupReader:
    """Read a consumer group as `GroupReader` does, or a share or Streams group; a missing group is no error.

    Which kind a group is shows once it exists; a group that is gone may come back as another kind.

    Attributes:
        _consumers: reads a group with owners, and says of another which kind it is.
        _kind: "share" or "streams" once the group was found to be so; None before, and after it is gone.
        _latest: the last answer; returned again if nothing has changed.
    """

    def __init__(self, group: str, config: Mapping[str, str]) -> None:
        self._group = group
        self._config = config
        self._consumers = reader.GroupReader(group, config)
        self.ends, self.committed_offsets = self._consumers.ends, self._consumers.committed_offsets
        self._kind: str | None = None
        self._latest: tuple[Any, None] | None = None

    def __call__(self) -> tuple[Any, Any]:
        """Return the group and its target, if it has owners; the same object as before if nothing changed.

        Returns:
            A `GroupState` and its target or None; or a `ShareGroupState` or `StreamsGroupState`, and None. A
            group that is not there is a dead `GroupState`.

        Raises:
            SourceError: no broker answers, or one refuses this user.
        """
        if self._kind is None:
            try:
                return self._consumers()
            except OtherGroupKindError as error:
                self._kind = error.kind
        try:
            if self._kind == "share":
                state: ShareGroupState | StreamsGroupState = ask_share_group(self._group, self._config)[0]
            else:
                state = ask_streams_group(self._group, self._config)
        except SourceError as failure:
            # Either the group is gone or the broker cannot be reached; the list of groups tells which.
            try:
                return self._look_anew()
            except OtherGroupKindError as error:
                # The group is still there. Its kind is kept, so that the next look need not ask for the list
                # first.
                self._kind = error.kind
                raise failure from None
        # A coordinator may also describe a group that is gone as dead, without an error.
        if state.status == "Dead":
            return self._look_anew()
        if self._latest is None or state != self._latest[0]:
            self._latest = (state, None)
        return self._latest

    def _look_anew(self) -> tuple[Any, Any]:
        """Look for a group of consumers of this name, and forget of which kind the group was before."""
        states = self._consumers()
        self._kind = None
        return states
