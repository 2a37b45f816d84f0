"""Tell which topics are not reshaped, by their names and keys, and why."""

import re
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from partitioning.kit.packages import read_toml


class _Kind(NamedTuple):
    """A kind of topics in `refused.toml`.

    Attributes:
        name: the pattern that must match the whole name of the topic.
        why: why such a topic is not reshaped, a clause.
        keys: the pattern that must match the beginning of keys; None if keys do not matter.
        share: the least share of the keys that must match, above 0 and at most 1.
    """

    name: re.Pattern[str]
    why: str
    keys: re.Pattern[bytes] | None
    share: float


@cache
def _kinds() -> tuple[_Kind, ...]:
    """Return the kinds of topics that are refused, in the order in which they are tried."""
    return tuple(
        _Kind(
            re.compile(row["name"]),
            row["why"],
            re.compile(row["keys"].encode()) if "keys" in row else None,
            row.get("share", 1.0),
        )
        for row in read_toml(__package__, "refused.toml")["topics"]
    )


def why_not_reshaped(topic: str, keys: Sequence[bytes] = ()) -> str | None:
    """Return why a topic is not reshaped, a clause; None if nothing speaks against it.

    >>> why_not_reshaped("orders") is None, why_not_reshaped("__consumer_offsets").partition(",")[0]
    (True, 'it holds the committed offsets of all groups')

    Args:
        topic: the topic's name.
        keys: some keys of the topic; if there are none, only its name is looked at.
    """
    # Entries are tried in the order of the file: if several fit, the first one has the reason that says most.
    for kind in _kinds():
        if kind.name.fullmatch(topic) is None:
            continue
        if kind.keys is None:
            return kind.why
        # One such key is not enough: an application may have a key that looks like one of Kafka Connect's.
        if keys and sum(kind.keys.match(key) is not None for key in keys) >= kind.share * len(keys):
            return kind.why
    return None
