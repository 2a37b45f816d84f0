"""Define the settings, the faults and the result of `simulate_delivery`."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from math import inf
from typing import Literal

from copartition.models.producer.idempotence import WINDOW, Verdict
from copartition.models.producer.settings import INT_MAX, LATEST_MS, LONG_MAX, check_bounds
from copartition.models.producer.tuning import Client
from partitioning.errors import InvalidConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliverySettings:
    """Holds the producer's delivery settings under Kafka's names, with the defaults of Kafka 4.x.

    Names that end with `_ms` are milliseconds; `retries` counts attempts after the first one.

    Raises:
        InvalidConfigError: the Java client refuses a value or a combination of values (ConfigException).

    >>> DeliverySettings(enable_idempotence=False, acks="1").retries
    2147483647
    """

    enable_idempotence: bool = True
    acks: Literal["all", "1", "0"] = "all"
    max_in_flight_requests_per_connection: int = 5
    retries: int = 2**31 - 1
    retry_backoff_ms: float = 100.0
    request_timeout_ms: float = 30_000.0
    delivery_timeout_ms: float = 120_000.0

    def __post_init__(self) -> None:
        if self.acks not in {"all", "1", "0"}:
            raise InvalidConfigError(f"acks is {self.acks!r}; give 'all', '1' or '0'")
        in_flight = self.max_in_flight_requests_per_connection
        check_bounds("max.in.flight.requests.per.connection", in_flight, 1, INT_MAX)
        check_bounds("retries", self.retries, 0, INT_MAX)
        check_bounds("retry.backoff.ms", self.retry_backoff_ms, 0, LONG_MAX)
        check_bounds("request.timeout.ms", self.request_timeout_ms, 0, INT_MAX)
        check_bounds("delivery.timeout.ms", self.delivery_timeout_ms, 0, INT_MAX)
        # The checks below are the three conditions of the Java client for idempotence.
        if not self.enable_idempotence:
            return
        if self.acks != "all":
            raise InvalidConfigError(f"enable.idempotence needs acks=all, not {self.acks}")
        # A retried batch must be among those that the leader remembers; otherwise it is appended twice.
        if in_flight > WINDOW:
            raise InvalidConfigError(
                f"enable.idempotence needs max.in.flight.requests.per.connection of at most {WINDOW}, as the "
                f"leader remembers {WINDOW} batches, not {in_flight}"
            )
        if self.retries < 1:
            raise InvalidConfigError("enable.idempotence needs retries of at least 1")


def delivery_settings(
    client: Client,
    *,
    acks: Literal["all", "1", "0"] = "all",
    idempotence: bool | None = None,
    in_flight: int | None = None,
    retries: int | None = None,
    delivery_timeout_ms: float | None = None,
) -> DeliverySettings:
    """Return the settings of a producer of this client if only some of them are given.

    By default Java's producer is idempotent, unless `acks` or `retries` do not allow it
    (`ProducerConfig.postProcessAndValidateIdempotenceConfigs`). librdkafka's producer is idempotent only if
    that is asked for.

    Args:
        client: the client whose defaults apply.
        acks: `acks`.
        idempotence: `enable.idempotence`; None for the client's default.
        in_flight: `max.in.flight.requests.per.connection`; None for the client's default.
        retries: `retries`; None for the client's default.
        delivery_timeout_ms: `delivery.timeout.ms`, or librdkafka's `message.timeout.ms`; None for the
            client's default.

    Raises:
        InvalidConfigError: the Java client refuses a value or a combination of values.

    >>> delivery_settings("java", acks="1").enable_idempotence
    False
    """
    java = client == "java"
    retries = INT_MAX if retries is None else retries
    # Java's default is no idempotence if `retries` is 0, because idempotence only matters for a second
    # attempt.
    if idempotence is None:
        idempotence = java and acks == "all" and retries > 0
    if in_flight is None:
        in_flight = WINDOW if java or idempotence else 1_000_000
    if delivery_timeout_ms is None:
        delivery_timeout_ms = 120_000 if java else 300_000
    return DeliverySettings(
        enable_idempotence=idempotence,
        acks=acks,
        max_in_flight_requests_per_connection=in_flight,
        retries=retries,
        delivery_timeout_ms=delivery_timeout_ms,
        # Java refuses a `delivery.timeout.ms` below the time-out of a request (configureDeliveryTimeout), and
        # librdkafka shortens the request's time-out to it (rd_kafka_ProduceRequest). Here the request's
        # time-out is shortened for both clients, so that a short delivery time-out is no error.
        request_timeout_ms=min(30_000 if java else 60_000, delivery_timeout_ms),
    )


class Fault(Enum):
    """A fault that can hit one request.

    >>> Fault("request lost")
    <Fault.REQUEST_LOST: 'request lost'>
    """

    REFUSED = "refused"
    REFUSED_AFTER_APPEND = "refused after append"
    REQUEST_LOST = "request lost"
    ACK_LOST = "acknowledgement lost"


@dataclass(frozen=True, slots=True, kw_only=True)
class Faults:
    """Holds the faults of a run: shares of requests, single requests, and times at which brokers fail.

    Attributes:
        refused: share of requests that the leader answers with a retriable error and does not append
            (NOT_ENOUGH_REPLICAS); with `acks=0` it closes the connection instead of answering.
        refused_after_append: share of requests that the leader appends and still answers with a retriable
            error (NOT_ENOUGH_REPLICAS_AFTER_APPEND).
        request_lost: share of requests whose connection breaks before the leader reads them.
        ack_lost: share of requests whose connection breaks after the append, before the answer.
        scripted: number of a request -> its fault, which takes precedence over the shares. Requests are
            numbered from 0 in the order in which they reach the leader, and retries count. Requests that a
            client sends over a broken connection do not reach the leader.
        leader_changes: times in ms at which a follower becomes the leader; batches that are not replicated
            by then are lost.
        followers_gone_ms: the time in ms from which no follower copies from the leader; infinite if they
            always do.
        replica_lag_time_max_ms: the time in ms from `followers_gone_ms` until the leader counts the followers
            as out of sync. From then on the leader answers `acks=all` alone (`min.insync.replicas=1`), and a
            change of leader is an unclean one.
        pauses: (start, end) in ms of each stretch of time in which the leader stands still, with its
            connections open.

    Raises:
        InvalidConfigError: a share is below 0, the shares are above 1 together, or a time is out of range.

    >>> Faults(ack_lost=0.01).shares
    (0.0, 0.0, 0.0, 0.01)
    """

    refused: float = 0.0
    refused_after_append: float = 0.0
    request_lost: float = 0.0
    ack_lost: float = 0.0
    scripted: Mapping[int, Fault] = field(default_factory=dict)
    leader_changes: Sequence[float] = ()
    followers_gone_ms: float = inf
    replica_lag_time_max_ms: float = 30_000.0
    pauses: Sequence[tuple[float, float]] = ()

    def __post_init__(self) -> None:
        if not all(share >= 0 for share in self.shares) or sum(self.shares) > 1:
            raise InvalidConfigError(
                f"the shares of faulty requests are {self.shares}; they must add up to 0 .. 1"
            )
        for turn in self.scripted:
            check_bounds("a request of scripted", turn, 0, INT_MAX)
        for turn, time in enumerate(self.leader_changes):
            check_bounds(f"time {turn} of leader_changes", time, 0, LATEST_MS)
        check_bounds("followers_gone_ms", self.followers_gone_ms, 0, inf)
        check_bounds("replica_lag_time_max_ms", self.replica_lag_time_max_ms, 0, LATEST_MS)
        for turn, (since, until) in enumerate(self.pauses):
            check_bounds(f"the start of pause {turn}", since, 0, LATEST_MS)
            check_bounds(f"the end of pause {turn}", until, since, LATEST_MS)

    @property
    def shares(self) -> tuple[float, float, float, float]:
        """Probability of each kind of `Fault`, in the order of the kinds; together at most 1."""
        return self.refused, self.refused_after_append, self.request_lost, self.ack_lost


class Outcome(Enum):
    """Names the outcome of a batch that the producer's callback gets."""

    ACKNOWLEDGED = "acknowledged"
    FAILED = "failed"
    NOT_ASKED = "not asked"  # with acks=0 the producer waits for no answer


@dataclass(frozen=True, slots=True)
class DeliveryResult:
    """Holds the log of the last leader, and the outcomes that the producer got.

    Attributes:
        log: the numbers of the batches in the log, in log order; a duplicated batch is there several times.
        outcomes: the outcome of each batch for the producer.
        attempts: how often each batch was sent.
        verdicts: how often the leader gave each idempotence verdict; empty without idempotence.
    """

    log: tuple[int, ...]
    outcomes: tuple[Outcome, ...]
    attempts: tuple[int, ...]
    verdicts: Counter[Verdict]

    @property
    def duplicated(self) -> tuple[int, ...]:
        """Batches that a consumer reads more than once."""
        return tuple(sorted(batch for batch, times in Counter(self.log).items() if times > 1))

    @property
    def reordered(self) -> tuple[int, ...]:
        """Batches that a consumer first reads after a batch that was produced later."""
        late, newest = [], -1
        # Only the first copy of each batch counts; later copies are in `duplicated`.
        for batch in dict.fromkeys(self.log):
            if batch < newest:
                late.append(batch)
            newest = max(newest, batch)
        return tuple(sorted(late))

    @property
    def lost(self) -> tuple[int, ...]:
        """Batches that are not in the log although the producer got no error for them."""
        written = set(self.log)
        not_failed = [batch for batch, outcome in enumerate(self.outcomes) if outcome is not Outcome.FAILED]
        return tuple(batch for batch in not_failed if batch not in written)

    @property
    def failed(self) -> tuple[int, ...]:
        """Batches whose callback got an error; they may be in the log anyway."""
        return tuple(batch for batch, outcome in enumerate(self.outcomes) if outcome is Outcome.FAILED)

    @property
    def failed_but_written(self) -> tuple[int, ...]:
        """Batches whose callback got an error, and that a consumer reads."""
        return tuple(sorted({*self.failed} & {*self.log}))
