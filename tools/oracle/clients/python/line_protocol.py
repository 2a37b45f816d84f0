"""How the programs here speak: keys on stdin (hex, or "null"), counts as arguments, JSON lines out."""

import json
import sys
from collections.abc import Sequence
from importlib.metadata import version


def read_keys() -> list[bytes | None]:
    """The keys to place, in order."""
    return [None if line == "null" else bytes.fromhex(line) for line in sys.stdin.read().splitlines()]


def read_counts() -> list[int]:
    """The partition counts to place them for."""
    return [int(argument) for argument in sys.argv[1:]]


def topic(count: int) -> str:
    """The topic with that many partitions, where a client is asked by really producing."""
    return f"keys-{count}"


def answer(profile: str, package: str, call: str, count: int, partitions: Sequence[int | None]) -> None:
    """One profile's partitions of all keys; None or -1 where the client does not hash."""
    client = f"{package} {version(package)}"
    line = {"profile": profile, "client": client, "call": call, "count": count, "partitions": partitions}
    sys.stdout.write(json.dumps(line) + "\n")


def answer_hashes(hash_name: str, package: str, call: str, values: Sequence[int | None]) -> None:
    """One hash function's values of all keys."""
    client = f"{package} {version(package)}"
    sys.stdout.write(json.dumps({"hash": hash_name, "client": client, "call": call, "values": values}) + "\n")
