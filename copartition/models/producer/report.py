"""Report on producers as text and JSON: settings that were tried, and what faults did to batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from math import isfinite
from typing import TYPE_CHECKING, NamedTuple

from copartition.kit.json import dump, finite

if TYPE_CHECKING:
    from rich.console import Console

    from copartition.models.producer.assessing import BatchTally, DeliveryAssessment
    from copartition.models.producer.delivery import DeliverySettings, Faults
    from copartition.models.producer.tuning import Client, Trial, Tuning


TUNING_FORMAT_VERSION = "1.0"

BATCHING_LIMITS = (
    "no compression, no retries, no other producers, no time for the work in the producer itself and no "
    "pauses of machines: the latencies are a floor, on which a real system's tail comes"
)
"""A sentence for every report, which names the facts that the models of batching leave out."""


def verdicts(tunings: Sequence[Tuning]) -> list[str]:
    """Return a sentence for each client: what to set, and what the defaults give."""
    return [f"{tuning.client}: {_verdict(tuning)}" for tuning in tunings]


def _verdict(tuning: Tuning) -> str:
    """Return the sentence about one client.

    It names the pair of settings that keeps the limit with the fewest requests. If no pair keeps the limit,
    it names the pair with the lowest latency.
    """
    usual, best = tuning.default, tuning.best
    goal = f"p{tuning.percentile:g} under {tuning.limit_ms:g} ms"
    default = f"the defaults: {_figures(usual, tuning)}"
    if best is None:
        # The pair with the lowest latency shows how far away the limit is.
        nearest = min(tuning.trials, key=lambda trial: trial.latency_ms)
        figures = _figures(nearest, tuning)
        return f"nothing that was tried keeps {goal}; {_settings(nearest)} is nearest: {figures}"
    if best == usual:
        return f"the defaults should keep {goal} with the fewest requests: {_figures(best, tuning)}"
    figures = _figures(best, tuning)
    return f"{_settings(best)} should keep {goal} with the fewest requests: {figures}; {default}"


def _settings(trial: Trial) -> str:
    """Return a pair of settings as text, in the form of a configuration file."""
    return f"linger.ms={trial.linger_ms:g} batch.size={trial.batch_size}"


def _figures(trial: Trial, tuning: Tuning) -> str:
    """Return the latency and the number of requests a second of a trial as text."""
    return f"p{tuning.percentile:g} {trial.latency_ms:.1f} ms, {trial.requests_per_s:,.0f} requests/s"


def remark(trial: Trial, tuning: Tuning) -> str:
    """Return a remark on a trial for the last column of the table: best, default, or why it is ruled out.

    The remark is "" if none of these applies.
    """
    parts = ["best"] if trial == tuning.best else []
    parts += ["default"] if trial == tuning.default else []
    # A trial that loses records is ruled out, whatever its latency is, so only the loss is reported.
    if trial.refused:
        parts.append(f"{trial.refused:,} records refused")
    elif not trial.keeps:
        parts.append("over the limit")
    return ", ".join(parts)


def tuning_json(tunings: Sequence[Tuning], assumed: Sequence[str]) -> str:
    """Return the trials of all clients as JSON; a latency is null if no record was acknowledged.

    Args:
        tunings: the tuning of each client, all with the same limit and percentile; at least one.
        assumed: the assumptions of the figures, as sentences.
    """
    clients = [
        {
            "client": tuning.client,
            "best": None if tuning.best is None else finite(tuning.best._asdict()),
            "default": finite(tuning.default._asdict()),
            "trials": [finite(trial._asdict()) for trial in tuning.trials],
        }
        for tuning in tunings
    ]
    values = {
        "format_version": TUNING_FORMAT_VERSION,
        "limit_ms": tunings[0].limit_ms,
        "percentile": tunings[0].percentile,
        "assumed": [*assumed],
        "clients": clients,
    }
    return dump(values)


def print_tunings(tunings: Sequence[Tuning], assumed: Sequence[str], console: Console) -> None:
    """Print the verdicts, a table of all trials for each client, and the assumptions.

    Args:
        tunings: the tuning of each client.
        assumed: the assumptions of the figures, as sentences.
        console: where to print.
    """
    from copartition.kit.grid import cell, indent, note, table  # noqa: PLC0415 - JSON needs no rich

    for text in verdicts(tunings):
        console.print(cell(text, "bold"), soft_wrap=True)
    for tuning in tunings:
        shown = table(
            [
                "LINGER.MS",
                "BATCH.SIZE",
                "P50 MS",
                f"P{tuning.percentile:g} MS",
                "REQUESTS/S",
                "RECORDS/REQUEST",
                "",
            ],
            right=range(6),
        )
        for trial in tuning.trials:
            shown.add_row(
                f"{trial.linger_ms:g}",
                str(trial.batch_size),
                f"{trial.median_ms:.1f}",
                cell(f"{trial.latency_ms:.1f}", "" if trial.keeps else "red"),
                f"{trial.requests_per_s:,.1f}",
                f"{trial.records_per_request:,.1f}",
                remark(trial, tuning),
            )
        console.print()
        console.print(cell(tuning.client))
        console.print(indent(shown))
    for text in assumed:
        console.print(note(f"assumed: {text}"), soft_wrap=True)


DELIVERY_FORMAT_VERSION = "1.0"

DELIVERY_LIMITS = (
    "one producer that writes to one partition, a record a batch, at an even pace; a broken connection is "
    "there again at once, and a new leader is known at once"
)
"""A sentence for every report, which names the assumptions of the model of delivery."""


class Case(NamedTuple):
    """Holds the arguments of `assess_delivery` that a report repeats.

    Attributes:
        client: the client whose rules apply.
        settings: the settings of the producer.
        faults: the faults of a run.
        times: `interval_ms`, `round_trip_ms` and `replication_ms`, by name.
        seed: the seed of the first run.
    """

    client: Client
    settings: DeliverySettings
    faults: Faults
    times: Mapping[str, float]
    seed: int


def tallies(assessment: DeliveryAssessment) -> dict[str, BatchTally]:
    """Return the counts of an assessment by the names that reports give them, in the order of the reports."""
    return {
        "lost": assessment.lost,
        "twice": assessment.duplicated,
        "out of order": assessment.reordered,
        "failed": assessment.failed,
        "failed but written": assessment.failed_but_written,
    }


def delivery_verdict(case: Case, assessment: DeliveryAssessment) -> str:
    """Return one sentence: the settings, and how many batches were lost, doubled, out of order or failed."""
    settings = case.settings
    used = ", ".join(
        [
            f"acks={settings.acks}",
            "idempotence" if settings.enable_idempotence else "no idempotence",
            f"{settings.max_in_flight_requests_per_connection:,} in flight",
        ]
    )
    happened = [f"{tally.batches:,} {name}" for name, tally in tallies(assessment).items() if tally.batches]
    total = f"of {assessment.batches * assessment.runs:,} batches in {assessment.runs:,} runs"
    outcome = f"{total} {', '.join(happened)}" if happened else f"{total} all are written once and in order"
    return f"{case.client}, {used}: {outcome}"


def delivery_assumptions(case: Case) -> list[str]:
    """Return the assumptions of the figures, as sentences; some are made only if there are certain faults."""
    times, faults = case.times, case.faults
    pace = (
        f"a batch every {times['interval_ms']:g} ms, {times['round_trip_ms']:g} ms to the leader and back, "
        f"{times['replication_ms']:g} ms until the leader knows that followers have a batch"
    )
    texts = [DELIVERY_LIMITS, pace]
    if faults.leader_changes:
        texts.append(
            "the changes of leader are moved from run to run, in even steps over the time that a batch needs"
        )
    if isfinite(faults.followers_gone_ms):
        texts.append("the leader alone is in sync before an unclean election (min.insync.replicas=1)")
    return texts


def delivery_json(case: Case, assessment: DeliveryAssessment) -> str:
    """Return the case, its assumptions and its counts as JSON."""
    # Only faults that the command offers are shown. JSON has no infinity, so `finite` turns it into null.
    faults = finite(asdict(case.faults))
    shown = ("refused", "request_lost", "ack_lost", "leader_changes")
    values = {
        "format_version": DELIVERY_FORMAT_VERSION,
        "client": case.client,
        "settings": asdict(case.settings),
        "faults": {name: faults[name] for name in shown} | {"unclean_since_ms": faults["followers_gone_ms"]},
        **case.times,
        "seed": case.seed,
        "batches": assessment.batches,
        "runs": assessment.runs,
        "assumed": delivery_assumptions(case),
        "classes": {name.replace(" ", "_"): tally._asdict() for name, tally in tallies(assessment).items()},
    }
    return dump(values)


def print_delivery(case: Case, assessment: DeliveryAssessment, console: Console) -> None:
    """Print the verdict, a table of the numbers of faulty batches, and the assumptions.

    Args:
        case: the arguments of the model.
        assessment: its result.
        console: where to print.
    """
    from copartition.kit.grid import cell, indent, note, table  # noqa: PLC0415 - JSON needs no rich

    console.print(cell(delivery_verdict(case, assessment), "bold"), soft_wrap=True)
    shown = table(["", "BATCHES", "%", "RUNS", "MOST IN A RUN"], right=range(1, 5))
    for name, tally in tallies(assessment).items():
        # The share is in percent of the batches of all runs.
        share = 100 * tally.batches / (assessment.batches * assessment.runs)
        shown.add_row(
            name,
            cell(f"{tally.batches:,}", "red" if tally.batches else ""),
            f"{share:.2f}",
            f"{tally.runs:,}",
            f"{tally.most:,}",
        )
    console.print(indent(shown))
    for text in delivery_assumptions(case):
        console.print(note(f"assumed: {text}"), soft_wrap=True)
