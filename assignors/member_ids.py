"""What the ids of members are made of."""

from __future__ import annotations

import re

_RANDOM = re.compile(r"-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_LENGTH = 37


def name_in(member_id: str) -> str | None:
    """The client id in an id of the classic protocol, or of a static member the instance id.

    A coordinator puts a random UUID behind it; None for an id of another form.
    """
    match = _RANDOM.fullmatch(member_id, len(member_id) - _LENGTH)
    return member_id[:-_LENGTH] or None if match else None
