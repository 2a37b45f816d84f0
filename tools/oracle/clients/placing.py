"""Have a client place every key, and fold its answers into golden files."""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from tools.oracle.clients import golden, programs
from tools.oracle.clients.keys import PARTITION_COUNTS, corpus, is_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tools.oracle.clients.golden import Json
    from tools.oracle.clients.programs import Command

KEYS = corpus()
TEXT = tuple(index for index, key in enumerate(KEYS) if is_text(key))

# Null and empty are asked again and again, after the keys: a client that answers differently does not hash.
REPEATED: tuple[bytes | None, ...] = (None, b"")
TIMES = 24


class ContradictionError(RuntimeError):
    """A client hashes a key for some partition counts only, or answers with no partition."""


def write_keys() -> None:
    """Write the keys that every golden file speaks of."""
    golden.write("keys", [{"keys": [_hex(key) for key in KEYS], "text": TEXT}])


def place(command: Command, *, text: bool = False, **environment: str) -> None:
    """Ask a program; write a file for each profile and each hash function that it answers for.

    Args:
        command: what runs the program.
        text: ask the keys that are UTF-8 text only.
        environment: variables of the program's environment.
    """
    keys = [KEYS[index] for index in TEXT] if text else KEYS
    lines = ["null" if key is None else key.hex() for key in (*keys, *REPEATED * TIMES)]
    answers = programs.ask([*command, *map(str, PARTITION_COUNTS)], lines, **environment)
    for answer in answers:
        answer["keys"] = "text" if text else "all"
        if "hash" in answer:
            golden.write(f"hashes/{answer['hash']}", [{**answer, "values": answer["values"][: len(keys)]}])
    placed = sorted((answer for answer in answers if "profile" in answer), key=itemgetter("profile"))
    for profile, group in groupby(placed, key=itemgetter("profile")):
        golden.write(f"profiles/{profile}", _fold(list(group), keys))


def _fold(answers: Sequence[Json], keys: Sequence[bytes | None]) -> list[Json]:
    """The answers without the repeated questions, null for the keys that the client does not hash."""
    every = [answer["partitions"] for answer in answers]
    unhashed = {key for key in REPEATED if any(_varies(partitions, keys, key) for partitions in every)}
    folded = []
    for answer in answers:
        placed = zip(keys, answer["partitions"], strict=False)
        partitions = [None if key in unhashed else partition for key, partition in placed]
        wrong = [
            (key, partition)
            for key, partition in zip(keys, partitions, strict=True)
            if key not in unhashed and (partition is None or not 0 <= partition < answer["count"])
        ]
        if wrong:
            raise ContradictionError(f"{answer['profile']}, {answer['count']} partitions: {wrong[:3]}")
        folded.append({**answer, "partitions": partitions})
    return folded


def _varies(partitions: Sequence[int | None], keys: Sequence[bytes | None], key: bytes | None) -> bool:
    """Does a key get several partitions, or none?"""
    repeats = partitions[len(keys) + REPEATED.index(key) :: len(REPEATED)]
    seen = {partitions[keys.index(key)], *repeats}
    return len(seen) > 1 or not seen.isdisjoint((None, -1))


def _hex(key: bytes | None) -> str | None:
    return None if key is None else key.hex()
