"""What the ids of members are made of."""

from __future__ import annotations

import re

_CLASSIC = re.compile(r"(.+)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.DOTALL)


def name_in(member_id: str) -> str | None:
    """The client id in an id of the classic protocol, or of a static member the instance id.

    A coordinator puts a random UUID behind it; None for an id of another form.
    """
    made = _CLASSIC.fullmatch(member_id)
    return made[1] if made else None
