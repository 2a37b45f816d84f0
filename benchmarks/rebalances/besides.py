"""What `coordinator.json` shows, beside what the simulator does: a section of `benchmarks/rebalances.md`."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assignors import Topic
from benchmarks.rebalances.predicting import COSTS
from copartition.simulation import Consumer, Leave, Reassign, Scenario, simulate

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

ANSWERS = Path(__file__).parent / "coordinator.json"
"""Written by `python -m benchmarks.rebalances.coordinator`."""
ASSIGNORS = {"classic": "range", "consumer": "uniform"}
NAMES = {"classic": "classic", "consumer": "KIP-848"}

HEAD = """\
## What a coordinator does besides

`python -m benchmarks.rebalances.coordinator` asks brokers what no roll shows, and these rows are its answers.
"Held" is whether the simulator does the same. Groups have two members and four partitions.

| question | asked of | answer | the simulator | held |
|---|---|---|---|---|
"""

TAIL = """
A change of replicas' racks is one event in the simulator. The real one was a reassignment, which first adds
the new replicas and then removes the old ones, so that the racks changed more than once. A coordinator that
waits before it writes is no part of the simulator: since the wait adapts by default, a quiet one answers as
fast as with none. For one with a wait of 5 or 10 ms, add that to `network_ms`. The growing topic under
`auto.offset.reset=latest` has [a page of its own](growth.md).
"""

Row = tuple[str, str, str, str, bool]
"""A question, whom it was asked of, the answer, what the simulator does, and whether that is the same."""


def section(answers: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """Return the section, a row for each answer; equal answers of several runs are one row."""
    rows: list[Row] = [
        *_epochs(answers["epochs"]),
        *_racks(answers["racks"]),
        *_close(answers["close"]),
        *_linger(answers["linger"]),
    ]
    lines = [
        f"| {question} | {asked} | {answer}{f' ({times} of {times})' if times > 1 else ''} | {model} "
        f"| {'yes' if held else 'no'} |"
        for (question, asked, answer, model, held), times in Counter(rows).items()
    ]
    return HEAD + "\n".join(lines) + "\n" + TAIL


def read_saved() -> dict[str, list[dict[str, Any]]]:
    """Return the answers that were measured."""
    return dict(json.loads(ANSWERS.read_text(encoding="utf-8")))


def _epochs(answers: Sequence[Mapping[str, Any]]) -> Iterator[Row]:
    """Yield a row for each broker that was asked by which epochs a member may commit (KIP-1251)."""
    for answer in answers:
        first, last = answer["group epochs"]
        kept, gave_up = answer["accepted"]["kept"], answer["accepted"]["gave up"]
        # Both epochs for what it has kept since the first; only the present one for what it gave up.
        accepts = kept == list(range(first, last + 1)) and gave_up == [last]
        yield (
            "by which epochs may a member commit what it kept, and what it gave up? (KIP-1251)",
            f"{answer['version']}, a member of epoch {last} that kept two partitions of epoch {first}",
            f"kept: {', '.join(map(str, kept))}; gave up: {', '.join(map(str, gave_up))}",
            "refuses none; what a member gives up it commits before it says so",
            accepts,
        )


def _racks(answers: Sequence[Mapping[str, Any]]) -> Iterator[Row]:
    """Yield a row for each protocol of a group whose topic's replicas moved (KIP-1101, KIP-881)."""
    here, there = (("a",),) * 4, (("b",),) * 4
    consumers = tuple(Consumer(name, rack="a", client="librdkafka") for name in ("one", "two"))
    for answer in answers:
        protocol = answer["protocol"]
        run = simulate(
            Scenario((Topic("t", 4, here),), consumers, (Reassign(60_000, "t", there),), ASSIGNORS[protocol])
        )
        yield (
            "does a change of replicas' racks alone rebalance a group? (KIP-1101, KIP-881)",
            f"{answer['version']}, {NAMES[protocol]}, members with a rack",
            f"yes, rebalances: {answer['rebalances']}" if answer["rebalances"] else "no",
            f"yes, rebalances: {len(run.rebalances)}" if run.rebalances else "no",
            bool(answer["rebalances"]) == bool(run.rebalances),
        )


def _close(answers: Sequence[Mapping[str, Any]]) -> Iterator[Row]:
    """Yield a row for each way in which a consumer of Java closed (KIP-1092)."""
    words = {True: "it leaves", False: "its session ends"}
    for answer in answers:
        how, static = answer["close"].lower().replace("_", "-"), answer["static"]
        kind = "static" if static else "dynamic"
        consumers = tuple(Consumer(name, static=static, close=how) for name in ("one", "two"))
        run = simulate(
            Scenario((Topic("t", 4),), consumers, (Leave(60_000, "two"),), ASSIGNORS[answer["protocol"]])
        )
        leaves = all(entry.what != "session-expired" for entry in run.log)
        yield (
            "how is a member removed that closes with an option? (KIP-1092)",
            f"{answer['version']} with Java's client, {NAMES[answer['protocol']]}, {kind}, {answer['close']}",
            words[answer["said that it leaves"]],
            words[leaves],
            answer["said that it leaves"] == leaves != answer["session expired"],
        )


def _linger(answers: Sequence[Mapping[str, Any]]) -> Iterator[Row]:
    """Yield a row for each linger of the coordinator's writes (KAFKA-19791)."""
    for answer in answers:
        linger, took_ms = answer["linger"], answer["fastest_tenth_ms"]
        yield (
            "how long does a commit take by `group.coordinator.append.linger.ms`? (KAFKA-19791)",
            f"{answer['version']}, {linger}, the fastest tenth of 300",
            f"{took_ms:.1f} ms",
            f"`network_ms`, here {COSTS.network_ms:g} ms",
            took_ms <= COSTS.network_ms,
        )
