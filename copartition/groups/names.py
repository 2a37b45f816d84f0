"""Give a group's members short names, the same for as long as the group is followed."""

from collections import Counter
from collections.abc import Sequence
from itertools import chain, count

from assignors.state import MemberIdentity


class Names:
    """Short names of members; no two members in the group have the same name at a time.

    The map from member id to name only grows: a member that comes back gets the name that it had, so that a
    line of an earlier report still means the same member.
    """

    def __init__(self) -> None:
        self._of: dict[str, str] = {}

    def of(self, members: Sequence[MemberIdentity]) -> list[str]:
        """Return the names of the members that are in the group now, in their order.

        The first of these that is not in use: the instance id, the client id if no other member has it, the
        member id, and the member id with a number from 2 on.
        """
        names_in_use = {self._of[member.id] for member in members if member.id in self._of}
        clients = Counter(member.client_id for member in members)
        for member in members:
            if member.id not in self._of:
                # Most programs give all members one client id; then it names none of them.
                client = member.client_id if clients[member.client_id] == 1 else None
                numbered = (f"{member.id or 'member'} ({number})" for number in count(2))
                names = chain((member.instance_id, client, member.id), numbered)
                self._of[member.id] = next(name for name in names if name and name not in names_in_use)
                names_in_use.add(self._of[member.id])
        return [self._of[member.id] for member in members]
