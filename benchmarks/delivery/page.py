"""`benchmarks/delivery.md`: what the models say beside what was measured, a row for each cell."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from benchmarks.delivery import brokers_down, cells, transactions
from benchmarks.measured import versions
from copartition.models import DeliveryResult, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable

Json = dict[str, Any]
Classes = dict[str, list[int]]

HEAD = f"""# The delivery models beside real producers and brokers

Made by `python -m benchmarks.delivery`. A real producer of each client (kafka-clients {{java}}, \
librdkafka {{librdkafka}}) sends {cells.BATCHES} numbered records, each a batch, to a partition of a real \
broker (Kafka {{kafka}}) through a proxy that does to the n-th Produce request, counted from 0, what the row \
says; or brokers are paused and killed. `simulate_delivery` has the same faults.

Batches are those that a \
reader of the whole log finds twice, out of order (first read after a later one) or not at all: *lost* where \
the producer was not told so, *failed* where its callback had an error, *failed but written* where the \
record is there all the same. What agrees is said once.

A refused request arrives with a wrong checksum, so that the broker answers CORRUPT_MESSAGE, which is \
retriable as NOT_ENOUGH_REPLICAS is. Idempotence takes `acks=all` and at most 5 in flight; both clients \
refuse any other. With `acks=0` there is no acknowledgement that could be lost, and there are no retries.

All rows were measured while other work kept both cores busy. Eight cells whose classes differed at \
first, as `delivery.timeout.ms` (5 s) was over before the machine had time for the producer, were run again: \
all then agreed.
"""

TRANSACTIONS = f"""## Transactions

`transaction.timeout.ms` is {transactions.TIMEOUT_S:g} s; the fault comes {transactions.HAPPENS_S:g} s after \
the begin in the model and at once in the run, and who comes back or second does so \
{transactions.BACK_S:g} s after the begin. The model is that of `copartition simulate` with \
`load.transactions`. *Stuck* is how long the last stable offset stood; the broker looks for transactions \
that are too old every 0.5 s here, and every 10 s by default. *Fenced* is the error of the first producer's \
commit. The model knows no lost answers, and leaves open what commits.

| what happens | aborted: model | measured | stuck, s: model | measured | fenced |
|---|---|---|---|---|---|
"""

COLUMNS = "| client | acks | in flight | retries | model | measured | |\n|---|---|---|---|---|---|---|\n"


def page(measured: list[Json]) -> str:
    """The tables by fault, and how many cells agree."""
    pairs = [
        (cell, classes, cells.classes(saved_result(measured, cell)))
        for module in (cells, brokers_down)
        for cell in module.cells()
        for classes in [cells.classes(module.predict(cell))]
    ]
    same = sum(set(model) == set(real) for _, model, real in pairs)
    exact = sum(model == real for _, model, real in pairs)
    lines = [
        HEAD.format(
            java=versions([row for row in measured if row.get("client") == "java"], "version"),
            librdkafka=versions([row for row in measured if row.get("client") == "librdkafka"], "version"),
            kafka=versions(measured, "kafka"),
        ),
        f"In {same} of {len(pairs)} cells the classes are the same, in {exact} of them every batch is.",
    ]
    for fault in dict.fromkeys(cell.fault for cell, _, _ in pairs):
        rows = "".join(_row(*pair) for pair in pairs if pair[0].fault == fault)
        lines += [f"\n## {_title(fault)}\n", COLUMNS + rows]
    ended = {row["transaction"]: row for row in measured if "transaction" in row}
    return "\n".join(lines) + "\n" + TRANSACTIONS + "".join(_transaction(name, ended[name]) for name in ended)


def _title(fault: str) -> str:
    script = cells.SCRIPTS.get(fault, {})
    if not script:
        return fault.capitalize()
    return f"{fault.capitalize()} ({', '.join(f'{turn}: {what.value}' for turn, what in script.items())})"


def saved_result(measured: list[Json], cell: cells.Cell) -> DeliveryResult:
    """What was measured of a cell."""
    key = cell.client, cell.fault, asdict(cell.settings)
    (row,) = (
        row for row in measured if "fault" in row and (row["client"], row["fault"], row["settings"]) == key
    )
    return DeliveryResult(tuple(row["log"]), tuple(map(Outcome, row["outcomes"])), (), Counter())


def _row(cell: cells.Cell, model: Classes, real: Classes) -> str:
    settings = cell.settings
    acks = "all, idempotent" if settings.enable_idempotence else settings.acks
    retries = "none" if not settings.retries else "yes" if settings.acks != "0" else "-"
    agrees = "same" if model == real else "same classes" if set(model) == set(real) else "**differs**"
    told = "" if model == real else _words(real)
    return (
        f"| {cell.client} | {acks} | {settings.max_in_flight_requests_per_connection} | {retries} "
        f"| {_words(model)} | {told} | {agrees} |\n"
    )


def _words(classes: Classes) -> str:
    return "; ".join(f"{name} {_numbers(batches)}" for name, batches in classes.items()) or "nothing"


def _numbers(batches: Iterable[int]) -> str:
    """Runs of numbers as `3-7`."""
    runs: list[list[int]] = []
    for batch in batches:
        if runs and batch == runs[-1][-1] + 1:
            runs[-1].append(batch)
        else:
            runs.append([batch])
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


def _transaction(name: str, row: Json) -> str:
    model = transactions.predict(name)
    words = {True: "yes", False: "no"}
    stuck = "-" if model["open_s"] is None else f"{model['open_s']:.1f}"
    return (
        f"| {name} | {words[model['aborted']]} | {words[row['aborted']]} | {stuck} | {row['open_s']:.1f} "
        f"| {row['fenced'] or '-'} |\n"
    )
