"""The page of what was measured."""

from __future__ import annotations

from collections import Counter
from math import inf
from typing import TYPE_CHECKING, Any

from copartition.reshape.ways import USUAL_RATE, Copy, rate_of_copy

if TYPE_CHECKING:
    from collections.abc import Iterable

HEAD = """# A live topic is reshaped

`python -m benchmarks.reshape` writes this page. A broker (Kafka 4.4.0) holds a topic that Java, librdkafka,
kafka-python and Spark have written, of 100,000 keys at most, the low ones more often. While `reshape_copy`
copies it, the clients write on, Spark writes between rounds, and three groups read: a classic one, one of the
consumer protocol (KIP-848), and a classic one that lags. Then the writers are ended,
the groups are stopped wherever they are, the rest is copied, and the groups' positions are found and moved.

Two judges look at the result: `prove`, and a plain consumer that compares every record with the one at the
place that the copy's header names. Broker, writers, readers and Spark share two cores. Runs whose load is
shown below had these cores nearly to themselves; other programs took most of them in the other runs, whose
seconds are many times those of an idle machine.
CPU seconds are those of Spark's driver, its JVM and its Python workers.

## Lost, doubled, out of order
"""
TOPICS = (
    "topic",
    "writers",
    "records",
    "copied while they wrote",
    "lost",
    "doubled",
    "changed",
    "out of order",
    "misplaced",
    "keys in several old partitions",
)
GROUPS = ("topic", "group", "records it had not read", "missed", "read twice", "promised")
TIMES = (
    "topic",
    "first round",
    "of records",
    "rounds",
    "pause",
    "of it the switch",
    "proof",
    "stopped, copied, started",
)
PREDICTED = ("topic", "step", "rate", "predicted", "measured", "off by", "load of the machine")
LIMIT = 25
"""Percent by which a step may take longer or shorter than predicted."""
COST = ("topic", "copied by", "records", "CPU seconds", "CPU seconds a million", "seconds")


def page(runs: list[dict[str, Any]], ways_back: list[dict[str, Any]]) -> str:
    """The page, from the runs in the order of their scenarios, and those of the way back alone."""
    parts = [HEAD, *table(TOPICS, map(_topic, runs))]
    parts += [
        "",
        f"Each figure is that of `prove`; the plain consumer found {_others(runs)}. A key in several old",
        "partitions has an order within each of them only; between them the copy follows timestamps.",
        "",
        "## Groups that go on",
        "",
        *table(GROUPS, (row for run in runs for row in _groups(run))),
        "",
        "*Promised* are the repeats that were counted before the group moved.",
        "",
        "## What it takes",
        "",
        *table(TIMES, map(_times, runs)),
        "",
        "*Pause*: from the writers' end until every group has its new position, so that writers and readers",
        "may start on the new topic; the *switch* is the last copy and the positions. *Stopped, copied,",
        "started*: the first round and the pause, for so long everybody would stand still without a copy",
        "that follows.",
        "",
    ]
    compared = [run for run in runs if "connector" in run["times"]]
    if compared:
        parts += [
            "## Beside Spark's own connector",
            "",
            *table(COST, (row for run in compared for row in _cost(run))),
            "",
            "The connector copied the same records by `readStream` and `writeStream`: at least once, without",
            "the order of keys, with new timestamps.",
            "",
        ]
    if timed := [run for run in runs if "load" in run["times"]["copy"] and not run["struck"]]:
        rows = [row for run in timed for row in _predicted_rows(run)]
        parts += [
            "## Predicted and measured",
            "",
            *table(PREDICTED, rows),
            "",
            "Predicted is what `copartition reshape --copy-rate` says: the copy by the rate of another run",
            "of the same hour, switch and proof by the rate that `--copy` printed after the run's own first",
            "round, which is known before anybody stops. If the copy makes fewer than",
            f"{USUAL_RATE:,.0f} records a second, a command takes longer besides its records, too. One Spark",
            "did all steps: what a command takes to start it is left out of switch and proof.",
            "",
            _within(rows),
            "*Load* is how many processes wanted one of the two cores, on the average of the last minute.",
            "",
        ]
    if strikes := [tuple(strike) for run in (*runs, *ways_back) for strike in run["struck"]]:
        counts = Counter(strikes)
        steps, kinds = (list(dict.fromkeys(strike[at] for strike in strikes)) for at in (0, 1))
        runs_struck = sum(bool(run["struck"]) for run in (*runs, *ways_back))
        parts += [
            "## Kills",
            "",
            f"{len(strikes)} kills (SIGKILL) in {runs_struck} runs, each at a drawn moment, some while it",
            "went on after the one before; then the step was asked again.",
            "",
            *table(
                ["while it ran", *kinds],
                ([step, *(str(counts[step, kind]) for kind in kinds)] for step in steps),
            ),
            "",
            "*driver* is Python and the JVM at once, *command* Python alone, whose JVM ends by itself, maybe",
            "while the next command runs. A step is *following* if a copy was there already; *back* is",
            "`copartition reshape --back --execute`, which needs no Spark, on topics of 1,000 records. What",
            "became of the records is in the tables above.",
            undone([*runs, *ways_back]),
            "",
        ]
    return "\n".join(parts)


def table(head: Iterable[str], rows: Iterable[Iterable[Any]]) -> list[str]:
    """A table of Markdown; numbers with commas between thousands."""
    names = [*head]
    lines = [f"| {' | '.join(names)} |", f"|{'---|' * len(names)}"]
    for row in rows:
        cells = [f"{cell:,}" if isinstance(cell, int | float) else str(cell) for cell in row]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _topic(run: dict[str, Any]) -> list[Any]:
    proof = run["proof"]
    faults = [proof[name] for name in ("lost", "doubled", "changed", "out_of_order", "misplaced")]
    first = run["rounds"][0]["copied"]
    writers = ", ".join([*run["writers"], "spark"])
    return [run["name"], writers, run["records"], run["records"] - first, *faults, proof["strays"]]


def _others(runs: list[dict[str, Any]]) -> str:
    agree = all(run["proof"][name] == count for run in runs for name, count in run["seen"].items())
    return "the same" if agree else "others: see `measured.json`"


def undone(runs: list[dict[str, Any]]) -> str:
    """What a consumer saw of commits after each way back; "" if nobody looked."""
    differences = [left for run in runs for left in run.get("undone", [])]
    if not differences:
        return ""
    ways, found = len(differences), sum(differences)
    return f"After {ways} ways back, {found} commits of groups differed from those before the switch."


def _groups(run: dict[str, Any]) -> list[list[Any]]:
    return [
        [run["name"], group, found["lag"], found["missed"], found["repeats"], found["promised"]]
        for group, found in run["groups"].items()
    ]


def _times(run: dict[str, Any]) -> list[Any]:
    times, first = run["times"], run["rounds"][0]
    last = [f"{times[step]['s']:.0f} s" for step in ("switch", "prove")]
    return [
        run["name"],
        f"{first['s']:.0f} s",
        first["copied"],
        len(run["rounds"]),
        f"{run['pause_s']:.0f} s",
        *last,
        f"{first['s'] + run['pause_s']:.0f} s",
    ]


def _predicted_rows(run: dict[str, Any]) -> Iterable[list[Any]]:
    """A row a step: what the plan says with a rate that was measured, and what was.

    The copy is predicted by the rate of another run, so without such a rate it has no row. Switch and proof
    come after the first round of the run itself, whose rate is known by then.
    """
    first, other_first = run["rounds"][0], run["rate_from"]
    unread = max((group["lag"] for group in run["groups"].values()), default=None)

    def copy_at_rate_of(done: dict[str, Any]) -> Copy:
        rate = rate_of_copy(done["copied"], done["s"])
        return Copy(first["copied"], rate, False, first["behind"] / first["s"], unread)

    own = copy_at_rate_of(first)
    # Only the copy meets a Spark that has just started.
    said = {"switch": (own, own.rest_s - own.start_s), "prove": (own, own.proof_s - own.start_s)}
    measured = {"copy": first["s"], **{step: run["times"][step]["s"] for step in said}}
    if other_first:
        other = copy_at_rate_of(other_first)
        said = {"copy": (other, other.seconds or inf), **said}
    for step, (copy, seconds) in said.items():
        off = f"{measured[step] / seconds - 1:+.0%}"
        load = f"{run['times'][step]['load']:.0f}"
        yield [run["name"], step, round(copy.rate), f"{seconds:.0f} s", f"{measured[step]:.0f} s", off, load]


def _within(rows: list[list[Any]]) -> str:
    """How many of these predictions are within `LIMIT`, and which are not."""
    outside = [f"{name} ({step})" for name, step, *_, off, _ in rows if abs(int(off[:-1])) > LIMIT]
    others = f"; these are not: {', '.join(outside)}" if outside else ""
    return f"{len(rows) - len(outside)} of {len(rows)} predictions are within {LIMIT}%{others}."


def _cost(run: dict[str, Any]) -> list[list[Any]]:
    # All rounds of the copy have more records than the connector had.
    sizes = {"connector": run["rounds"][0]["copied"], "copy": sum(done["copied"] for done in run["rounds"])}
    names = {"connector": 'format("kafka")', "copy": "reshape_copy"}
    return [
        [
            run["name"],
            names[way],
            size,
            run["times"][way]["cpu_s"],
            round(run["times"][way]["cpu_s"] / size * 1e6, 1),
            run["times"][way]["s"],
        ]
        for way, size in sizes.items()
    ]
