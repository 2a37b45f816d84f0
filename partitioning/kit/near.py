"""Make hints for a name that does not exist: the nearest names, or the names that exist."""

from collections.abc import Iterable
from difflib import get_close_matches

LISTED = 20
"""The most names that one hint lists."""
_COMPARED = 1_000
"""The most names that are compared with the wrong one: a cluster may have a hundred thousand topics."""


def near(name: object, names: Iterable[str], most: int = 3) -> str:
    """Return the hint for a name that is not one of `names`: the nearest ones, or else the first 20 of them.

    Args:
        name: the wrong name; a value of another type has no near name.
        names: the valid names; the first 20 are listed.
        most: how many near names the hint has at most, 1 or more.

    >>> near("lags", ["lag", "members"])
    'did you mean lag?'
    >>> near("bytes", ["lag", "members"])
    'there are lag, members'
    """
    candidates = list(names)
    close = get_close_matches(name, candidates[:_COMPARED], n=most) if isinstance(name, str) else []
    return f"did you mean {', '.join(close)}?" if close else f"there are {listing(candidates)}"


def listing(names: list[str]) -> str:
    """Return the first 20 names, and how many more there are; "none" if there is no name.

    >>> listing(["lag", "members"]), listing([])
    ('lag, members', 'none')
    """
    more = f" and {len(names) - LISTED:,} more" if len(names) > LISTED else ""
    return f"{', '.join(names[:LISTED]) or 'none'}{more}"
