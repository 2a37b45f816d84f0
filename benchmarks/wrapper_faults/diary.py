"""What callbacks said of a producer's records, written down at once: a killed process leaves it, too."""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple, Self

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from benchmarks.faults.checking import ReadRecord

KEYS = 40


def place_of(record: int) -> tuple[int, int]:
    """The key of a record, and its number among the records of that key."""
    return record % KEYS, record // KEYS


def is_watched(record: int) -> bool:
    """Whether a record has a delivery callback; a lost one without is raised by `flush`."""
    return not record % 2


class Diary:
    """Written by one life of a process; use it as a context manager."""

    def __init__(self, folder: Path, life: str) -> None:
        self._file = os.open(folder / f"diary-{life}", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def note(self, what: str, number: int) -> None:
        """Write down that a record was produced, delivered or failed; or that so many were lost."""
        os.write(self._file, f"{what} {number}\n".encode())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._file)


class Life(NamedTuple):
    """What a diary says.

    Attributes:
        produced: records given to the producer.
        delivered: records whose delivery callback got no error.
        failed: records whose delivery callback got an error.
        raised: how many records without a callback were raised as lost.
        ended: whether the last `flush` returned 0, so that each record has a report.
    """

    produced: frozenset[int]
    delivered: frozenset[int]
    failed: frozenset[int]
    raised: int
    ended: bool


def read_lives(folder: Path) -> dict[str, Life]:
    """Every diary of a run, by the name of the life."""
    lives = {}
    for path in sorted(folder.glob("diary-*")):
        notes: dict[str, list[int]] = {}
        for line in path.read_text().splitlines():
            what, number = line.split()
            notes.setdefault(what, []).append(int(number))
        records = (frozenset(notes.get(what, ())) for what in ("produced", "delivered", "failed"))
        lives[path.name.removeprefix("diary-")] = Life(
            *records, sum(notes.get("raised", ())), "ended" in notes
        )
    return lives


class Verdict(NamedTuple):
    """What became of the records.

    Attributes:
        lost: acknowledged, or without any report though `flush` returned 0, and not there.
        told: lost, as a callback or an exception said.
        doubled: there once more than produced, each copy counted.
        misplaced: in a partition that is none of the key's, each copy counted.
        out_of_order: behind a later one of their key in one partition, each copy counted.
    """

    lost: int
    told: int
    doubled: int
    misplaced: int
    out_of_order: int


def judge(lives: Mapping[str, Life], found: Iterable[ReadRecord], homes: Mapping[str, set[int]]) -> Verdict:
    """Compare what callbacks said with what a reader found.

    Args:
        lives: of the run.
        found: the records of the topic, those of each partition in the order of their offsets.
        homes: for each key its partitions: several where the topic grew.

    Raises:
        ValueError: a record that nobody produced.
    """
    copies: Counter[tuple[str, int]] = Counter()
    latest: dict[tuple[int, str], int] = {}
    misplaced = out_of_order = 0
    for partition, key, number in found:
        copies[key, number] += 1
        misplaced += partition not in homes[key]
        out_of_order += number < latest.get((partition, key), 0)
        latest[partition, key] = max(number, latest.get((partition, key), 0))
    lost = told = 0
    for name, life in lives.items():
        named = {record: _name_record(name, record) for record in life.produced}
        missing = {record for record, identity in named.items() if identity not in copies}
        unwatched = sum(not is_watched(record) for record in missing)
        told += len(life.failed) + life.raised
        lost += len(missing & life.delivered)
        if life.ended:
            lost += sum(
                is_watched(record) and record not in life.delivered | life.failed for record in life.produced
            )
            lost += max(0, unwatched - life.raised)
    everyone = {_name_record(name, record) for name, life in lives.items() for record in life.produced}
    if strangers := copies.keys() - everyone:
        raise ValueError(f"nobody produced {min(strangers)}, which the topic holds")
    return Verdict(lost, told, copies.total() - len(copies), misplaced, out_of_order)


def _name_record(life: str, record: int) -> tuple[str, int]:
    key, number = place_of(record)
    return f"{life}-{key}", number
