"""Count over many runs how often faults lose, duplicate or reorder records."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

from copartition.models.producer.delivering import simulate_delivery
from copartition.models.producer.delivery import DeliverySettings, Faults
from copartition.models.producer.settings import INT_MAX, check_bounds
from copartition.models.producer.tuning import Client

MOST_BATCHES = 1_000_000
"""The most batches that are simulated over all runs; so many batches take some minutes."""


class BatchTally(NamedTuple):
    """Counts the batches to which something happened, such as a loss.

    Attributes:
        batches: the number of these batches over all runs.
        runs: the number of runs that have at least one such batch.
        most: the highest number of such batches in one run.
    """

    batches: int
    runs: int
    most: int


@dataclass(frozen=True, slots=True)
class DeliveryAssessment:
    """Counts what happened to the batches of all runs.

    Attributes:
        batches: batches produced in each run.
        runs: the number of runs.
        lost: batches that are not in the log although the producer got no error for them.
        duplicated: batches that are more than once in the log.
        reordered: batches whose first copy in the log comes after a batch that was produced later.
        failed: batches whose callback got an error.
        failed_but_written: failed batches that are in the log anyway.
    """

    batches: int
    runs: int
    lost: BatchTally
    duplicated: BatchTally
    reordered: BatchTally
    failed: BatchTally
    failed_but_written: BatchTally


def assess_delivery(
    batches: int,
    runs: int,
    *,
    settings: DeliverySettings | None = None,
    faults: Faults | None = None,
    interval_ms: float = 1.0,
    round_trip_ms: float = 5.0,
    replication_ms: float = 5.0,
    seed: int = 0,
    client: Client = "java",
) -> DeliveryAssessment:
    """Simulate a delivery many times, and count the batches that are lost, doubled, out of order or failed.

    Run i has the seed `seed + i`. Because a fault may come at any moment of a delivery, the times of brokers'
    faults are moved from run to run, in even steps over the time that a batch needs.

    See `simulate_delivery` for an explanation of settings, faults, client and the times in milliseconds.

    Args:
        batches: batches of each run, to one partition, 1 or more.
        runs: the number of runs, 1 or more.
        settings: the producer's settings; None for the defaults of Kafka 4.x.
        faults: the faults of each run; None for none.
        interval_ms: time from one batch to the next.
        round_trip_ms: time to the leader and back.
        replication_ms: time until the leader knows that followers have a batch.
        seed: the seed of the first run.
        client: the client whose rules apply.

    Raises:
        InvalidConfigError: what `simulate_delivery` refuses, or more than `MOST_BATCHES` over all runs.

    >>> assess_delivery(10, 2).lost
    BatchTally(batches=0, runs=0, most=0)
    """
    check_bounds("batches", batches, 1, INT_MAX)
    check_bounds("runs", runs, 1, INT_MAX)
    check_bounds("batches over all runs", batches * runs, 1, MOST_BATCHES)
    # The times of faults are moved over this time in even steps, so that they hit every phase of a delivery.
    needed_ms = interval_ms + round_trip_ms + replication_ms
    results = [
        simulate_delivery(
            [1] * batches,
            settings=settings,
            faults=_delay_faults(faults or Faults(), needed_ms * run / runs),
            interval_ms=interval_ms,
            round_trip_ms=round_trip_ms,
            replication_ms=replication_ms,
            seed=seed + run,
            client=client,
        )
        for run in range(runs)
    ]
    return DeliveryAssessment(
        batches,
        runs,
        lost=_tally(result.lost for result in results),
        duplicated=_tally(result.duplicated for result in results),
        reordered=_tally(result.reordered for result in results),
        failed=_tally(result.failed for result in results),
        failed_but_written=_tally(result.failed_but_written for result in results),
    )


def _delay_faults(faults: Faults, by_ms: float) -> Faults:
    """Return the faults with the times of brokers' faults moved by `by_ms`; shares of requests stay."""
    return replace(
        faults,
        leader_changes=[time + by_ms for time in faults.leader_changes],
        followers_gone_ms=faults.followers_gone_ms + by_ms,
        pauses=[(since + by_ms, until + by_ms) for since, until in faults.pauses],
    )


def _tally(batches_of_runs: Iterable[tuple[int, ...]]) -> BatchTally:
    """Return the number of batches, the number of runs with at least one, and the highest number in a run."""
    counts = [*map(len, batches_of_runs)]
    return BatchTally(sum(counts), sum(map(bool, counts)), max(counts))
