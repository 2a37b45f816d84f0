"""Give a group's members short names, which stay the same for as long as the group is followed."""

from collections import Counter
from collections.abc import Sequence
from itertools import chain, count

from assignors.state import MemberIdentity


class Names:
    """Gives members short names; no two members that are in the group at one time have the same name.

    The map from member id to name only grows. So a member that comes back gets the name that it had, and a
    line of an earlier report still means the same member.
    """

    def __init__(self) -> None:
        self._of: dict[str, str] = {}

    def of(self, members: Sequence[MemberIdentity]) -> list[str]:
        """Return the names of the members that are in the group now, in their order.

        A new member gets the first of these names that no member in the group has: its instance id, its
        client id if no other member has that, its member id, and its member id with a number from 2 on.
        """
        names_in_use = {self._of[member.id] for member in members if member.id in self._of}
        clients = Counter(member.client_id for member in members)
        for member in members:
            if member.id not in self._of:
                # Most programs give all members the same client id, which then cannot tell them apart.
                client = member.client_id if clients[member.client_id] == 1 else None
                numbered = (f"{member.id or 'member'} ({number})" for number in count(2))
                names = chain((member.instance_id, client, member.id), numbered)
                self._of[member.id] = next(name for name in names if name and name not in names_in_use)
                names_in_use.add(self._of[member.id])
        return [self._of[member.id] for member in members]
