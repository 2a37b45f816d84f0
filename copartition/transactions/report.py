"""Report on the transactions of a cluster, as text and JSON.

Both show the last look, and the findings of two looks. What is unknown is null in JSON, and empty or
"unknown" in tables; it is never 0. Offsets and lags also count transaction markers, which are not records.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from copartition.kit.json import attributes_of, dump, ground_fields, utc_time
from copartition.kit.words import count, duration
from copartition.transactions.judging import TransactionFault, open_transactions

if TYPE_CHECKING:
    from rich.console import Console

    from copartition.transactions.judging import Judgement
    from copartition.transactions.looks import Look, OpenProducer, PartitionLook, Transaction

    # (producer id, (topic, partition number)) -> the transaction that its coordinator knows to be open there.
    Owners = Mapping[tuple[int, tuple[str, int]], Transaction]

FORMAT_VERSION = "1.0"
"""Version of the JSON document: a minor version adds fields and renames none."""


def transactions_json(look: Look, answer: Judgement, group: str | None) -> str:
    """Return the JSON document: all transactional ids, the partitions, the findings, and what is missing.

    Args:
        look: the last look.
        answer: the judgement on both looks.
        group: the group whose commits and lag are shown; None if none was named.

    Returns:
        JSON text with a newline at its end. Times are ISO 8601 in UTC, offsets are numbers, and unknown
        values are null. Transactions are sorted by their ids, partitions by topic and number.
    """
    owners = open_transactions(look)
    return dump(
        {
            "format_version": FORMAT_VERSION,
            "kind": "transactions",
            "at": utc_time(look.at_ms / 1000),
            "transactions": [_transaction(transaction) for transaction in look.transactions],
            "group": group,
            "partitions": [_partition(place, owners) for place in look.partitions],
            "findings": [_finding_data(finding) for finding in answer.findings],
            "evidence": list(answer.ground.sources),
            "assumed": list(answer.ground.assumed),
            "missing": list(answer.missing),
        }
    )


def _finding_data(finding: TransactionFault) -> dict[str, Any]:
    """Return a finding in the form of the JSON document, its partitions as TOPIC-PARTITION."""
    own = attributes_of(finding, "kind", "id", "producer", "what", "action")
    return {**own, "partitions": _names(finding.partitions), **ground_fields(finding.ground)}


def _transaction(transaction: Transaction) -> dict[str, Any]:
    """Return a transactional id for the JSON document; `started` is a time, or null if none is open."""
    return {
        **transaction._asdict(),
        "started": None if transaction.started_ms is None else utc_time(transaction.started_ms / 1000),
        "partitions": _names(sorted(transaction.partitions)),
    }


def _partition(place: PartitionLook, owners: Owners) -> dict[str, Any]:
    """Return a partition in the form of the JSON document; the table on a terminal uses the same values.

    `lag` is the distance from the group's commit to the end, and `lag_read_committed` the distance to the
    last stable offset. `held` is the distance between end and last stable offset. All are offsets, at least
    0, and null if one of the two ends is unknown.
    """
    # The lag is at least 0: if a topic was recreated, a commit may be beyond the end, and then nothing waits.
    lag = None if place.committed is None or place.end is None else max(place.end - place.committed, 0)
    readable = (
        None if place.committed is None or place.stable is None else max(place.stable - place.committed, 0)
    )
    return {
        **attributes_of(place, "topic", "partition", "committed"),
        "last_stable_offset": place.stable,
        "end": place.end,
        "held": place.behind,
        "lag": lag,
        "lag_read_committed": readable,
        "held_by": None
        if place.producers is None
        else [_holder(one, owners.get((one.producer, place.place))) for one in place.producers],
    }


def _holder(producer: OpenProducer, owner: Transaction | None) -> dict[str, Any]:
    """Return a producer with an open transaction; its transactional id is null if no coordinator knows it."""
    return {**producer._asdict(), "id": None if owner is None else owner.id}


def _names(partitions: Sequence[tuple[str, int]]) -> list[str]:
    """Return partitions as TOPIC-PARTITION, in the given order."""
    return [f"{topic}-{number}" for topic, number in partitions]


def print_transactions(look: Look, answer: Judgement, console: Console, *, full: bool) -> None:
    """Print the open transactions, where readers stop, the findings, and what could not be seen.

    Args:
        look: the last look.
        answer: the judgement on both looks.
        console: the console on which this prints.
        full: True to list every transactional id, also without an open transaction, and every cell uncut.
    """
    from copartition.kit.grid import Grid, GridColumn, cell, note  # noqa: PLC0415 - JSON needs no rich

    opened = [transaction for transaction in look.transactions if transaction.open]
    ids = count(len(look.transactions), "transactional id")
    head = [ids, f"{len(opened)} open", count(len(answer.findings), "finding")]
    head += [f"{len(answer.missing)} unknown"] * bool(answer.missing)
    console.print(cell("   ".join(head), "bold"))
    shown = look.transactions if full else opened
    if shown:
        titles = [
            GridColumn("TRANSACTIONAL ID", "name"),
            GridColumn("PRODUCER"),
            GridColumn("EPOCH"),
            GridColumn("STATE", "word"),
            GridColumn("OPEN FOR"),
            GridColumn("TIMEOUT"),
            GridColumn("PARTITIONS", "list"),
        ]
        console.print(Grid(titles, [_transaction_row(transaction, look) for transaction in shown], full=full))
    # The table has only partitions that hold readers back, or in which the group has a commit.
    held = [place for place in look.partitions if place.behind or place.committed is not None]
    if held:
        console.print()
        titles = [
            GridColumn("PARTITION", "name"),
            *map(GridColumn, ("COMMITTED", "STABLE", "END", "LAG", "READABLE", "HELD")),
            GridColumn("HELD BY", "list"),
        ]
        owners = open_transactions(look)
        console.print(Grid(titles, [_partition_row(place, owners) for place in held], full=full))
    for finding in answer.findings:
        console.print()
        console.print(note(finding.what, "yellow"))
        console.print(note(f"next: {finding.action}"))
        console.print(note(f"read from: {'; '.join(finding.ground.sources)}"))
    if answer.findings or answer.missing:
        console.print()
    for missing in answer.missing:
        console.print(note(f"unknown: {missing.what}", "red"))
        console.print(note(f"to know it: {missing.remedy}"))
    console.print(note(f"read from: {'; '.join(answer.ground.sources)}"))
    # Several findings may share an assumption, such as the clock; it is printed once.
    own = (text for finding in answer.findings for text in finding.ground.assumed)
    for text in dict.fromkeys((*own, *answer.ground.assumed)):
        console.print(note(f"assumed: {text}"))


def _transaction_row(transaction: Transaction, look: Look) -> tuple[str, ...]:
    """Return the cells of a transactional id; the age is empty if no transaction is open."""
    # The broker's clock may be ahead of this machine's; a negative age is shown as 0.
    age = "" if transaction.started_ms is None else duration(max(look.at_ms - transaction.started_ms, 0))
    partitions = ", ".join(_names(sorted(transaction.partitions)))
    timeout = duration(transaction.timeout_ms)
    return (
        transaction.id,
        str(transaction.producer),
        str(transaction.epoch),
        transaction.state,
        age,
        timeout,
        partitions,
    )


def _partition_row(place: PartitionLook, owners: Owners) -> tuple[str, ...]:
    """Return the cells of a partition; the cell of an unknown number is empty.

    A producer whose transaction no coordinator knows is shown by its producer id.
    """
    row = _partition(place, owners)
    numbers = ("committed", "last_stable_offset", "end", "lag", "lag_read_committed", "held")
    holders = (
        "unknown"
        if row["held_by"] is None
        else ", ".join(one["id"] or f"producer {one['producer']}" for one in row["held_by"])
    )
    shown = ("" if row[name] is None else f"{row[name]:,}" for name in numbers)
    return f"{place.topic}-{place.partition}", *shown, holders
