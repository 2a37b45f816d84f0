"""Short names of a group's members, the same for as long as the group is followed."""

from collections import Counter
from collections.abc import Sequence
from itertools import chain, count

from assignors.state import MemberIdentity


class Names:
    """Short names, no two members in the group with the same; one that comes back gets the one it had."""

    def __init__(self) -> None:
        self._of: dict[str, str] = {}

    def of(self, members: Sequence[MemberIdentity]) -> list[str]:
        """Return the names of the members that are in the group now."""
        names_in_use = {self._of[member.id] for member in members if member.id in self._of}
        clients = Counter(member.client_id for member in members)
        for member in members:
            if member.id not in self._of:
                client = member.client_id if clients[member.client_id] == 1 else None
                numbered = (f"{member.id or 'member'} ({number})" for number in count(2))
                names = chain((member.instance_id, client, member.id), numbered)
                self._of[member.id] = next(name for name in names if name and name not in names_in_use)
                names_in_use.add(self._of[member.id])
        return [self._of[member.id] for member in members]
