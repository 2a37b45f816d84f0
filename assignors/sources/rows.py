"""Collects a group state row by row, from inputs that come that way."""

from __future__ import annotations

import numpy as np

from assignors.diff.state import GroupState, MemberIdentity


class Rows:
    """Members and partitions as they are read; members and topics are numbered at first sight."""

    def __init__(self) -> None:
        self._members: dict[str, MemberIdentity] = {}
        self._number: dict[str, int] = {}
        self._topics: dict[str, int] = {}
        self._rows: list[tuple[int, int, int, int]] = []

    def member(self, identity: MemberIdentity) -> None:
        """A member that is in the group, whether or not it has partitions."""
        if self._members.setdefault(identity.id, identity) is identity:
            self._number[identity.id] = len(self._number)

    def partition(self, topic: str, partition: int, owner: str | None, lag: int = -1) -> None:
        """A partition and who has it."""
        member = -1 if owner is None else self._number[owner]
        self._rows.append((member, self._topics.setdefault(topic, len(self._topics)), partition, lag))

    def state(
        self,
        *,
        complete: bool = False,
        name: str | None = None,
        status: str | None = None,
        warnings: tuple[str, ...] = (),
    ) -> GroupState:
        """What was collected."""
        member, topic, partition, lag = np.array(self._rows, np.int64).reshape(-1, 4).T
        return GroupState(
            tuple(self._members.values()),
            tuple(self._topics),
            member.astype(np.int32),
            topic.astype(np.int32),
            partition.astype(np.int32),
            lag if (lag >= 0).any() else None,
            complete=complete,
            name=name,
            status=status,
            warnings=warnings,
        )
