"""Read a group of any kind for as long as it is watched."""

from collections.abc import Mapping
from typing import Any

from copartition.groups.kinds.model import ShareGroupState, StreamsGroupState
from copartition.groups.kinds.wire import ask_share_group, ask_streams_group
from copartition.groups.live import reader
from partitioning.errors import OtherGroupKindError, SourceError


class AnyGroupReader:
    """Reads a consumer group as `GroupReader` does, or a share or Streams group; a missing group is no error.

    The kind of a group is known only while the group exists. A group that is gone may come back as another
    kind.

    Attributes:
        _consumers: reads a group with owners; for a group of another kind, it raises an error with the kind.
        _kind: "share" or "streams" once the group is known to be of that kind; None before, after the group
            is gone, and for a consumer group.
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
            For a consumer group, a `GroupState` and that of its target or None. For another group, its
            `ShareGroupState` or `StreamsGroupState` and None. A missing group is a `GroupState` with the
            status "Dead".

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
        """Return the consumer group of this name, and forget the kind that the group had before.

        Raises:
            OtherGroupKindError: the group of this name is a share group or a Streams group.
            SourceError: no broker answers, or one refuses this user.
        """
        states = self._consumers()
        self._kind = None
        return states
