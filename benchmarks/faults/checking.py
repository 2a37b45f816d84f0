"""What a reader finds in a topic, compared with what was written to it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


class ReadRecord(NamedTuple):
    """A record as a reader got it: its partition, its key, and its number among the records of that key."""

    partition: int
    key: str
    number: int


@dataclass(frozen=True)
class Verdict:
    """Records that are not as they should be; all zero where each landed in its place once and in order.

    Attributes:
        lost: written, and not found.
        doubled: found once more than written, each copy counted.
        misplaced: found in a partition that is not the key's, each copy counted.
        out_of_order: found behind a later one of their key, each copy counted; so a reader that follows a key
            goes back here, whether the record is a copy or not.
    """

    lost: int = 0
    doubled: int = 0
    misplaced: int = 0
    out_of_order: int = 0


def check(found: Iterable[ReadRecord], written: Mapping[str, int], homes: Mapping[str, int]) -> Verdict:
    """Compare.

    Args:
        found: the records of a topic, those of each partition in the order of their offsets.
        written: for each key how many records were written; they are numbered from 0.
        homes: for each key its partition.

    Raises:
        ValueError: a record that nobody wrote, so topic and comparison do not belong together.
    """
    copies: Counter[tuple[str, int]] = Counter()
    latest: dict[str, int] = {}
    misplaced = out_of_order = 0
    for partition, key, number in found:
        if not 0 <= number < written.get(key, 0):
            raise ValueError(
                f"nobody wrote record {number} of key {key!r}, which partition {partition} holds"
            )
        copies[key, number] += 1
        misplaced += partition != homes[key]
        out_of_order += number < latest.get(key, 0)
        latest[key] = max(number, latest.get(key, 0))
    return Verdict(
        lost=sum(written.values()) - len(copies),
        doubled=copies.total() - len(copies),
        misplaced=misplaced,
        out_of_order=out_of_order,
    )
