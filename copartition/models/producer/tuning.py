"""Find the `linger.ms` and `batch.size` with the fewest requests that keep a producer's latency low."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from copartition.models.producer.batching import BatchingResult, BrokerTimes, simulate_batching
from copartition.models.producer.librdkafka import LibrdkafkaSettings, simulate_librdkafka
from copartition.models.producer.settings import LATEST_MS, BatchingSettings
from partitioning.errors import InvalidConfigError
from partitioning.sticky import Sticky, StickyByTime
from partitioning.strategy import seeded_source

Client = Literal["java", "librdkafka"]

DEFAULT_LINGER_MS = 5.0
"""The `linger.ms` of the Java client since 4.0, and of librdkafka."""

_LINGERS = (
    *(0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 7.0, 10.0, 12.0, 15.0, 17.0, 20.0, 30.0, 40.0, 50.0, 70.0),
    *(100.0, 150.0, 200.0, 300.0, 500.0, 700.0, 1000.0, 2000.0, 5000.0),
)
"""The values of `linger.ms` that are tried, in ms."""
_DEFAULT_SIZES = {"java": 16_384, "librdkafka": 1_000_000}
"""The default of `batch.size` by client, in bytes."""
_SIZES = (16_384, 65_536, 262_144, 1_000_000)
"""The values of `batch.size` that are tried besides the default, in bytes."""


class Trial(NamedTuple):
    """Holds a pair of settings, and the figures of the records under these settings.

    Attributes:
        linger_ms: `linger.ms`, which librdkafka also calls `queue.buffering.max.ms`.
        batch_size: `batch.size`, in bytes.
        latency_ms: the time from the call of `send()` to the acknowledgement, at the percentile asked for;
            infinite if no record was acknowledged.
        median_ms: the median of that time.
        requests: the number of produce requests.
        requests_per_s: the number of produce requests per second of the stream.
        records_per_request: records in a request, on average.
        refused: the number of records that the producer refused with an error, because it had no room for
            them.
        keeps: whether the latency is within the limit, and no record was refused.
    """

    linger_ms: float
    batch_size: int
    latency_ms: float
    median_ms: float
    requests: int
    requests_per_s: float
    records_per_request: float
    refused: int
    keeps: bool


@dataclass(frozen=True, slots=True)
class Tuning:
    """Holds the settings that were tried for a client, and the best of them.

    Attributes:
        client: the client whose rules apply.
        limit_ms: the limit of the latency.
        percentile: the percentile to which the limit applies, above 0 and up to 100.
        trials: all trials, sorted by `linger_ms`, then by `batch_size`.
        default: the trial of the client's defaults.
        best: the trial with the fewest requests of those that keep the limit; None if no trial keeps it.
    """

    client: Client
    limit_ms: float
    percentile: float
    trials: tuple[Trial, ...]
    default: Trial
    best: Trial | None


def tune_producer(
    times_ms: ArrayLike,
    value_bytes: ArrayLike,
    partitions: ArrayLike = -1,
    *,
    limit_ms: float,
    leaders: Sequence[int],
    brokers: Sequence[BrokerTimes],
    percentile: float = 99.0,
    client: Client = "java",
    key_bytes: ArrayLike = -1,
    seed: int = 0,
) -> Tuning:
    """Find the `linger.ms` and `batch.size` with the fewest requests that keep a latency under a limit.

    If several pairs have the fewest requests, the pair nearest to the client's default `batch.size` is best,
    and of these the pair with the lowest latency. A `linger.ms` that is not below the limit is not tried,
    except the default. A `batch.size` that would give the same result as another one is not tried, either.

    Args:
        times_ms: when the application sends each record, ascending, shape (n,).
        value_bytes: bytes of each value, or one number for all.
        partitions: partition of each record; -1 leaves the choice to the client, as for records without a
            key. Java then uses its sticky partitioner; librdkafka changes the partition after some time.
        limit_ms: the latency to keep, above 0.
        leaders: index into `brokers` of each partition's leader.
        brokers: the brokers.
        percentile: the percentile of the latency, above 0 and up to 100.
        client: the client whose rules and defaults apply: "java" (4.x) or "librdkafka" (2.x).
        key_bytes: bytes of each key, -1 for null, or one number for all.
        seed: the seed of the partitions that sticky partitioners draw.

    Raises:
        InvalidConfigError: there are no records, the client is unknown, or a limit, percentile, time or size
            is out of range.
        InvalidLayoutError: a partition or leader does not exist.

    >>> times = list(range(0, 200, 2))
    >>> tuning = tune_producer(times, 100, 0, limit_ms=20, leaders=[0], brokers=[BrokerTimes(latency_ms=1.0)])
    >>> tuning.best.linger_ms
    17.0
    """
    _check(limit_ms, percentile, client)
    times = np.asarray(times_ms)
    if not times.size:
        raise InvalidConfigError("there are no records; give at least one")
    seconds = max(float(times[-1] - times[0]), 1.0) / 1000

    records = times_ms, value_bytes, partitions
    shared: dict[str, Any] = {"leaders": leaders, "brokers": brokers, "key_bytes": key_bytes}

    def run(linger_ms: float, batch_size: int) -> BatchingResult:
        if client == "java":
            sticky = Sticky(batch_size=batch_size, random=seeded_source(seed)).for_topic("topic")
            settings = BatchingSettings(linger_ms=linger_ms, batch_size=batch_size)
            return simulate_batching(*records, **shared, unkeyed=sticky, settings=settings)
        # By default librdkafka sticks to a partition for twice as long as it lingers.
        by_time = StickyByTime(linger_ms=2 * linger_ms, random=seeded_source(seed)).for_topic("topic")
        own = LibrdkafkaSettings(queue_buffering_max_ms=linger_ms, batch_size=batch_size)
        return simulate_librdkafka(*records, **shared, unkeyed=by_time, settings=own)

    usual = _DEFAULT_SIZES[client]
    # `room` is the most bytes that a record may add to a batch. 100 of them are for the overhead of the
    # record and of the batch.
    room = int(np.max(value_bytes)) + max(int(np.max(key_bytes)), 0) + 100
    trials: list[Trial] = []

    def attempt(linger_ms: float, batch_size: int) -> int:
        """Try one pair of settings, and return the bytes of the largest batch."""
        # Each trial has new strategies with the same seed, so that trials differ only by their settings.
        result = run(linger_ms, batch_size)
        refused, requests = result.timed_out, result.requests
        nothing_sent = refused == len(result.batch)
        median, latency = [np.inf] * 2 if nothing_sent else result.latency_ms([50, percentile]).tolist()
        trials.append(
            Trial(
                linger_ms,
                batch_size,
                latency,
                median,
                requests,
                requests / seconds,
                len(result.batch) / requests,
                refused,
                keeps=latency <= limit_ms and not refused,
            )
        )
        return int(result.size.max())

    for linger_ms in sorted({linger for linger in _LINGERS if linger < limit_ms} | {DEFAULT_LINGER_MS}):
        # A larger `batch.size` changes the result only if a batch was full with the last size that was tried,
        # and a smaller one only if some batch is larger than it. All other sizes need no trial.
        largest = filled = attempt(linger_ms, usual)
        for batch_size in _SIZES:
            if batch_size < min(usual, largest):
                attempt(linger_ms, batch_size)
            elif batch_size > usual and filled + room > trials[-1].batch_size:
                filled = attempt(linger_ms, batch_size)
    trials.sort(key=lambda trial: (trial.linger_ms, trial.batch_size))
    return Tuning(
        client,
        limit_ms,
        percentile,
        tuple(trials),
        # The defaults are always among the trials: the default `linger.ms` is tried even above the limit, for
        # comparison.
        next(trial for trial in trials if trial.linger_ms == DEFAULT_LINGER_MS and trial.batch_size == usual),
        min(
            (trial for trial in trials if trial.keeps),
            key=lambda trial: (trial.requests, abs(trial.batch_size - usual), trial.latency_ms),
            default=None,
        ),
    )


def _check(limit_ms: float, percentile: float, client: str) -> None:
    """Raise `InvalidConfigError` if a limit or a percentile is out of range, or the client is unknown."""
    for name, value, highest in (("limit_ms", limit_ms, LATEST_MS), ("percentile", percentile, 100)):
        if not 0 < value <= highest:
            raise InvalidConfigError(f"{name} is {value}; give more than 0, up to {highest}")
    if client not in _DEFAULT_SIZES:
        raise InvalidConfigError(f"client is {client!r}; give 'java' or 'librdkafka'")
