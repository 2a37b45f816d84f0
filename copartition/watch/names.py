"""What the members of a watched group are called: the same name for as long as it is the same member."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assignors.state import MemberIdentity


class Names:
    """Short names, no two members in the group with the same; one that comes back gets the one it had."""

    def __init__(self) -> None:
        self._of: dict[str, str] = {}

    def of(self, members: Sequence[MemberIdentity]) -> list[str]:
        """The names of the members that are in the group now."""
        taken = {self._of[member.id] for member in members if member.id in self._of}
        clients = Counter(member.client_id for member in members)
        for member in members:
            if member.id not in self._of:
                client = member.client_id if clients[member.client_id] == 1 else None
                self._of[member.id] = next(
                    name for name in (member.instance_id, client, member.id) if name and name not in taken
                )
                taken.add(self._of[member.id])
        return [self._of[member.id] for member in members]
