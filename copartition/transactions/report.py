"""Transactions of a cluster: text and JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from copartition.kit.json import attributes_of, dump, utc_time
from copartition.kit.words import count, duration
from copartition.transactions.looks import Finding, owners_of

if TYPE_CHECKING:
    from rich.console import Console

    from copartition.transactions.looks import Look, OpenProducer, PartitionLook, Transaction

    Owners = Mapping[tuple[int, tuple[str, int]], Transaction]

FORMAT_VERSION = "1.0"
ASSUMED = "ages are by the clock of this machine"


def transactions_json(look: Look, problems: Sequence[Finding], group: str | None) -> str:
    """All that is known, for programs; times are ISO 8601, offsets numbers, and what is unknown null."""
    owners = owners_of(look)
    return dump(
        {
            "format_version": FORMAT_VERSION,
            "kind": "transactions",
            "at": utc_time(look.at_ms / 1000),
            "transactions": [_transaction(each) for each in look.transactions],
            "group": group,
            "partitions": [_partition(each, owners) for each in look.partitions],
            "findings": [{**each._asdict(), "partitions": _names(each.partitions)} for each in problems],
            "unanswered": list(look.unanswered),
            "assumed": [ASSUMED],
        }
    )


def _transaction(each: Transaction) -> dict[str, Any]:
    return {
        **each._asdict(),
        "started": None if each.started_ms is None else utc_time(each.started_ms / 1000),
        "partitions": _names(sorted(each.partitions)),
    }


def _partition(each: PartitionLook, owners: Owners) -> dict[str, Any]:
    lag = None if each.committed is None or each.end is None else max(each.end - each.committed, 0)
    readable = None if each.committed is None or each.stable is None else max(each.stable - each.committed, 0)
    return {
        **attributes_of(each, "topic", "partition", "committed"),
        "last_stable_offset": each.stable,
        "end": each.end,
        "held": each.behind,
        "lag": lag,
        "lag_read_committed": readable,
        "held_by": None
        if each.producers is None
        else [_holder(one, owners.get((one.producer, each.place))) for one in each.producers],
    }


def _holder(producer: OpenProducer, owner: Transaction | None) -> dict[str, Any]:
    return {**producer._asdict(), "id": None if owner is None else owner.id}


def _names(partitions: Sequence[tuple[str, int]]) -> list[str]:
    return [f"{topic}-{number}" for topic, number in partitions]


def print_transactions(look: Look, problems: Sequence[Finding], console: Console, *, full: bool) -> None:
    """What is open, where readers stop, what is wrong and what ends it."""
    from copartition.kit.grid import Column, Grid, cell, note  # noqa: PLC0415 - JSON does without rich

    opened = [each for each in look.transactions if each.open]
    ids = count(len(look.transactions), "transactional id")
    console.print(cell(f"{ids}   {len(opened)} open   {count(len(problems), 'finding')}", "bold"))
    shown = look.transactions if full else opened
    if shown:
        titles = [
            Column("TRANSACTIONAL ID", "name"),
            Column("PRODUCER"),
            Column("EPOCH"),
            Column("STATE", "word"),
            Column("OPEN FOR"),
            Column("TIMEOUT"),
            Column("PARTITIONS", "list"),
        ]
        console.print(Grid(titles, [_transaction_row(each, look) for each in shown], full=full))
    held = [each for each in look.partitions if each.behind or each.committed is not None]
    if held:
        console.print()
        titles = [
            Column("PARTITION", "name"),
            *map(Column, ("COMMITTED", "STABLE", "END", "LAG", "READABLE", "HELD")),
            Column("HELD BY", "list"),
        ]
        owners = owners_of(look)
        console.print(Grid(titles, [_partition_row(each, owners) for each in held], full=full))
    for each in problems:
        console.print()
        console.print(note(each.what, "yellow"))
        console.print(note(f"next: {each.action}"))
    for text in look.unanswered:
        console.print(note(f"unknown: {text}", "red"))
    if opened:
        console.print(note(f"assumed: {ASSUMED}"))


def _transaction_row(each: Transaction, look: Look) -> tuple[str, ...]:
    age = "" if each.started_ms is None else duration(max(look.at_ms - each.started_ms, 0))
    partitions = ", ".join(_names(sorted(each.partitions)))
    timeout = duration(each.timeout_ms)
    return each.id, str(each.producer), str(each.epoch), each.state, age, timeout, partitions


def _partition_row(each: PartitionLook, owners: Owners) -> tuple[str, ...]:
    row = _partition(each, owners)
    numbers = ("committed", "last_stable_offset", "end", "lag", "lag_read_committed", "held")
    holders = (
        "unknown"
        if row["held_by"] is None
        else ", ".join(one["id"] or f"producer {one['producer']}" for one in row["held_by"])
    )
    shown = ("" if row[name] is None else f"{row[name]:,}" for name in numbers)
    return f"{each.topic}-{each.partition}", *shown, holders
