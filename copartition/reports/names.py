"""Names of members where there is little room for them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

CUT = ".."
"""Stands for the part of a name that is not shown."""

_ID = re.compile(r"\b([0-9a-f]{8})(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$")

_WORTH_CUTTING = 10
"""A shorter prefix is left in place: a line that tells it would take more room than it saves."""


def shared_start(names: Collection[str]) -> str:
    """What all names begin with, letter for letter."""
    # All names lie between the first and the last, so they begin with what these begin with.
    first, last = min(names), max(names)
    differs = (place for place, pair in enumerate(zip(first, last, strict=False)) if pair[0] != pair[1])
    return first[: next(differs, len(first))]


def common_prefix(names: Collection[str]) -> str:
    """What all names begin with, up to the end of a word; nothing where that is short."""
    if len(names) < 3:
        return ""
    prefix = shared_start(names)
    if prefix in names:  # of that one nothing would be left
        prefix = prefix[:-1]
    words = re.match(r".*[-._:/@]", prefix, re.DOTALL)
    return words[0] if words is not None and len(words[0]) >= _WORTH_CUTTING else ""


def without_ids(names: dict[str, str]) -> dict[str, str]:
    """The values, of an id at the end (a member id is a client id and a UUID) only the first part."""
    short = {key: _ID.sub(rf"\1{CUT}", name) for key, name in names.items()}
    return short if len(set(short.values())) == len(set(names.values())) else names
