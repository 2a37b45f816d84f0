"""What becomes of a partition's batches when requests, answers and leaders are lost.

One producer, one partition, its leader: a discrete-event model of the Java client's `Sender` and of the
leader's log, deterministic for a seed. It tells what is appended twice, out of order or not at all.
"""

from __future__ import annotations

import heapq
from collections import Counter, deque
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from itertools import count, takewhile
from typing import TYPE_CHECKING, Literal

import numpy as np

from partitioning.errors import InvalidConfigError
from partitioning.producer.idempotence import WINDOW, ProducerState, SequencedBatch, Verdict
from partitioning.producer.settings import INT_MAX, LATEST_MS, LONG_MAX, check_bounds

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

REQUESTS = 1_000_000
REQUESTS_EACH = 1_200
"""A run sends so many requests, and so many for each batch, as where it is refused for two minutes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliverySettings:
    """The producer's delivery settings under Kafka's names, with the defaults of 4.x.

    Raises:
        InvalidConfigError: a value or a combination the Java client refuses with a ConfigException.
    """

    enable_idempotence: bool = True
    acks: Literal["all", "1", "0"] = "all"
    max_in_flight_requests_per_connection: int = 5
    retries: int = 2**31 - 1
    retry_backoff_ms: float = 100.0
    delivery_timeout_ms: float = 120_000.0

    def __post_init__(self) -> None:
        if self.acks not in {"all", "1", "0"}:
            raise InvalidConfigError(f"acks is {self.acks!r}; give 'all', '1' or '0'")
        in_flight = self.max_in_flight_requests_per_connection
        check_bounds("max.in.flight.requests.per.connection", in_flight, 1, INT_MAX)
        check_bounds("retries", self.retries, 0, INT_MAX)
        check_bounds("retry.backoff.ms", self.retry_backoff_ms, 0, LONG_MAX)
        check_bounds("delivery.timeout.ms", self.delivery_timeout_ms, 0, INT_MAX)
        if not self.enable_idempotence:
            return
        if self.acks != "all":
            raise InvalidConfigError(f"enable.idempotence needs acks=all, not {self.acks}")
        if in_flight > WINDOW:
            raise InvalidConfigError(
                f"enable.idempotence needs max.in.flight.requests.per.connection of at most {WINDOW}, as the "
                f"leader remembers {WINDOW} batches, not {in_flight}"
            )
        if self.retries < 1:
            raise InvalidConfigError("enable.idempotence needs retries of at least 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Faults:
    """What goes wrong, as the share of requests it happens to, and when leaders change.

    Attributes:
        refused: the leader answers with a retriable error and appends nothing (NOT_ENOUGH_REPLICAS).
        refused_after_append: it appends and answers with a retriable error
            (NOT_ENOUGH_REPLICAS_AFTER_APPEND).
        request_lost: the connection breaks before the leader reads the request.
        ack_lost: the connection breaks after the append, before the answer.
        leader_changes: times in ms at which a follower takes over without what was not replicated yet.
    """

    refused: float = 0.0
    refused_after_append: float = 0.0
    request_lost: float = 0.0
    ack_lost: float = 0.0
    leader_changes: Sequence[float] = ()

    def __post_init__(self) -> None:
        shares = self.refused, self.refused_after_append, self.request_lost, self.ack_lost
        if not all(share >= 0 for share in shares) or sum(shares) > 1:
            raise InvalidConfigError(
                f"the shares of faulty requests are {shares}; they must add up to 0 .. 1"
            )
        for turn, time in enumerate(self.leader_changes):
            check_bounds(f"time {turn} of leader_changes", time, 0, LATEST_MS)


class Outcome(Enum):
    """What the producer's callback says of a batch."""

    ACKNOWLEDGED = "acknowledged"
    FAILED = "failed"
    NOT_ASKED = "not asked"  # acks=0 waits for no answer


@dataclass(frozen=True, slots=True)
class DeliveryResult:
    """The final leader's log and what the producer believes of it.

    Attributes:
        log: batch numbers in log order.
        outcomes: what the producer was told of each batch.
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
        """Batches that a consumer first reads after one that was produced later."""
        late, newest = [], -1
        for batch in dict.fromkeys(self.log):
            if batch < newest:
                late.append(batch)
            newest = max(newest, batch)
        return tuple(sorted(late))

    @property
    def lost(self) -> tuple[int, ...]:
        """Batches that are not in the log although nobody told the producer so."""
        written = set(self.log)
        told = [batch for batch, outcome in enumerate(self.outcomes) if outcome is not Outcome.FAILED]
        return tuple(batch for batch in told if batch not in written)

    @property
    def failed(self) -> tuple[int, ...]:
        """Batches whose callback got an error; they may be in the log all the same."""
        return tuple(batch for batch, outcome in enumerate(self.outcomes) if outcome is Outcome.FAILED)


def simulate_delivery(
    batches: Sequence[int],
    *,
    settings: DeliverySettings | None = None,
    faults: Faults | None = None,
    interval_ms: float = 1.0,
    round_trip_ms: float = 5.0,
    replication_ms: float = 5.0,
    seed: int = 0,
) -> DeliveryResult:
    """What is duplicated, reordered, refused or lost when these batches are produced to one partition.

    Idempotence does not cover a producer's first batch: a leader that knows nothing of the producer takes
    whichever comes first, so where only the first is refused, the client's retries of it are out of order.

    Args:
        batches: records of each batch.
        settings: the producer's; the defaults of 4.x where None.
        faults: what goes wrong; nothing where None.
        interval_ms: a batch is ready to be sent this long after the one before.
        round_trip_ms: time from sending a request to its answer, replication aside.
        replication_ms: time until the followers have what the leader appended.
        seed: decides which requests the faults hit; equal arguments give equal results.

    Raises:
        InvalidConfigError: a batch, time or seed out of range, or a run that does not end within
            `REQUESTS` requests and `REQUESTS_EACH` for each batch.
    """
    for number, records in enumerate(batches):
        check_bounds(f"the number of records in batch {number}", records, 1, INT_MAX)
    check_bounds("interval_ms", interval_ms, 0, LATEST_MS)
    check_bounds("round_trip_ms", round_trip_ms, 0, LATEST_MS)
    check_bounds("replication_ms", replication_ms, 0, LATEST_MS)
    check_bounds("seed", seed, 0, 2**64 - 1)
    run = _Run(
        tuple(batches),
        settings or DeliverySettings(),
        faults or Faults(),
        round_trip_ms / 2,
        replication_ms,
        seed,
    )
    return run.to_end(interval_ms)


@dataclass(slots=True, eq=False)
class _Batch:
    """A batch as the sender sees it."""

    number: int
    created_ms: float
    attempts: int = 0
    not_before_ms: float = 0.0
    sequence: SequencedBatch | None = None


class _Fate(Enum):
    FINE = 0
    REFUSED = 1
    REFUSED_AFTER_APPEND = 2
    REQUEST_LOST = 3
    ACK_LOST = 4


@dataclass(slots=True)
class _Run:
    """The state of one simulation: the client's side, then the leader's."""

    records: tuple[int, ...]
    settings: DeliverySettings
    faults: Faults
    one_way_ms: float
    replication_ms: float
    seed: int

    now: float = 0.0
    _events: list[tuple[float, int, Callable[[], None]]] = field(default_factory=list)
    _tie: count[int] = field(default_factory=count)

    _queue: deque[_Batch] = field(default_factory=deque)
    _in_flight: list[_Batch] = field(default_factory=list)
    _connection: int = 0
    _epoch: int = 0
    _next_sequence: int = 0
    _last_acknowledged: int = -1
    _epoch_bump_due: bool = False
    _outcomes: dict[int, Outcome] = field(default_factory=dict)
    _attempts: Counter[int] = field(default_factory=Counter)
    _requests: int = 0

    _log: list[tuple[float, int, SequencedBatch | None]] = field(default_factory=list)
    _state: ProducerState = field(default_factory=ProducerState)
    _verdicts: Counter[Verdict] = field(default_factory=Counter)

    def to_end(self, interval_ms: float) -> DeliveryResult:
        shares = (
            self.faults.refused,
            self.faults.refused_after_append,
            self.faults.request_lost,
            self.faults.ack_lost,
        )
        bounds = np.cumsum(shares)
        random = np.random.Generator(np.random.Philox(self.seed))
        fates = (_Fate.REFUSED, _Fate.REFUSED_AFTER_APPEND, _Fate.REQUEST_LOST, _Fate.ACK_LOST, _Fate.FINE)

        def draw() -> _Fate:
            return fates[int(np.searchsorted(bounds, random.random(), side="right"))]

        most = REQUESTS + REQUESTS_EACH * len(self.records)
        for number in range(len(self.records)):
            self._at(number * interval_ms, partial(self._producer_creates, number))
        for time in self.faults.leader_changes:
            self._at(time, self._leader_changes)
        while self._events:
            self.now, _, event = heapq.heappop(self._events)
            event()
            self._producer_sends(draw)
            if self._requests > most:
                raise self._endless()
        return DeliveryResult(
            tuple(number for _, number, _ in self._log),
            tuple(self._outcomes[number] for number in range(len(self.records))),
            tuple(self._attempts[number] for number in range(len(self.records))),
            self._verdicts,
        )

    def _endless(self) -> InvalidConfigError:
        batch, attempts = self._attempts.most_common(1)[0]
        return InvalidConfigError(
            f"after {self._requests} requests for {len(self.records)} batches, at {self.now} ms, there is no "
            f"end: batch {batch} has been sent {attempts} times; make faults rarer, retry_backoff_ms "
            f"({self.settings.retry_backoff_ms}) longer, or delivery_timeout_ms "
            f"({self.settings.delivery_timeout_ms}) or retries ({self.settings.retries}) smaller"
        )

    def _at(self, time: float, event: Callable[[], None]) -> None:
        heapq.heappush(self._events, (time, next(self._tie), event))

    # The producer.

    def _producer_creates(self, number: int) -> None:
        self._queue.append(_Batch(number, created_ms=self.now))

    def _producer_sends(self, draw: Callable[[], _Fate]) -> None:
        while self._may_send():
            batch = self._queue.popleft()
            if self.now - batch.created_ms >= self.settings.delivery_timeout_ms:
                self._fail(batch)
                continue
            batch.attempts += 1
            self._requests += 1
            self._attempts[batch.number] += 1
            if self.settings.enable_idempotence and batch.sequence is None:
                batch.sequence = SequencedBatch(self._epoch, self._next_sequence, self.records[batch.number])
                self._next_sequence = (batch.sequence.last + 1) % 2**31
            if self.settings.acks == "0":
                self._outcomes[batch.number] = Outcome.NOT_ASKED
            else:
                self._in_flight.append(batch)
            self._request(batch, draw())

    def _request(self, batch: _Batch, fate: _Fate) -> None:
        sent, link = batch.sequence, self._connection
        self._at(self.now + self.one_way_ms, lambda: self._leader_reads(batch, sent, link, fate))

    def _may_send(self) -> bool:
        if self._epoch_bump_due and not self._in_flight:
            self._bump_epoch()
        if not self._queue or self._epoch_bump_due:
            return False
        if len(self._in_flight) >= self.settings.max_in_flight_requests_per_connection:
            return False
        head = self._queue[0]
        if head.not_before_ms > self.now:
            return False
        # A batch that is sent again waits until it is the oldest without an answer (KAFKA-5494).
        retried = head.sequence is not None
        return not (retried and self._in_flight)

    def _answered(self, batch: _Batch, link: int, verdict: Verdict | None, *, retriable: bool) -> None:
        if link != self._connection or batch not in self._in_flight:
            return
        self._in_flight.remove(batch)
        if verdict is Verdict.OUT_OF_ORDER_SEQUENCE_NUMBER:
            # Unless it follows the last acknowledged one, the client hopes that an earlier batch still gets
            # through (TransactionManager.canRetry); a true gap ends the epoch (KIP-360).
            sequence = batch.sequence
            self._epoch_bump_due |= sequence is not None and sequence.first == self._last_acknowledged + 1
            self._retry(batch)
        elif verdict is Verdict.INVALID_PRODUCER_EPOCH:
            self._fail(batch)
        elif retriable:
            self._retry(batch)
        else:
            self._outcomes[batch.number] = Outcome.ACKNOWLEDGED
            if batch.sequence is not None:
                self._last_acknowledged = max(self._last_acknowledged, batch.sequence.last)

    def _disconnected(self, link: int) -> None:
        """The connection ends: what is on its way either way is lost; requests fail, the oldest first."""
        if link != self._connection:
            return
        self._connection += 1
        failed, self._in_flight = self._in_flight, []
        for batch in failed:
            self._retry(batch)

    def _retry(self, batch: _Batch) -> None:
        expired = self.now - batch.created_ms >= self.settings.delivery_timeout_ms
        if expired or batch.attempts > self.settings.retries:
            self._fail(batch)
            return
        batch.not_before_ms = self.now + self.settings.retry_backoff_ms
        self._at(batch.not_before_ms, _nothing)  # a chance to send when the backoff is over
        if self.settings.enable_idempotence:
            older = takewhile(
                lambda other: other.sequence is not None and other.number < batch.number, self._queue
            )
            self._queue.insert(sum(1 for _ in older), batch)
        else:
            self._queue.appendleft(batch)  # the Java client does not look at the order here

    def _fail(self, batch: _Batch) -> None:
        self._outcomes[batch.number] = Outcome.FAILED
        self._epoch_bump_due |= self.settings.enable_idempotence and batch.sequence is not None

    def _bump_epoch(self) -> None:
        """Start a new epoch at sequence 0, once no request of the old one is under way (KIP-360)."""
        self._epoch += 1
        self._next_sequence = 0
        self._last_acknowledged = -1
        self._epoch_bump_due = False
        for batch in self._queue:
            batch.sequence = None

    # The leader.

    def _leader_reads(self, batch: _Batch, sent: SequencedBatch | None, link: int, fate: _Fate) -> None:
        if link != self._connection:
            return
        if fate is _Fate.REQUEST_LOST:
            self._disconnected(link)
            return
        if fate is _Fate.REFUSED:
            self._answer(batch, link, None, retriable=True)
            return
        verdict = self._append(batch.number, sent)
        if fate is _Fate.ACK_LOST:
            self._disconnected(link)
        else:
            self._answer(batch, link, verdict, retriable=fate is _Fate.REFUSED_AFTER_APPEND)

    def _append(self, number: int, sent: SequencedBatch | None) -> Verdict | None:
        if sent is None:
            self._log.append((self.now, number, None))
            return None
        verdict, self._state = self._state.receive(sent)
        self._verdicts[verdict] += 1
        if verdict is Verdict.APPENDED:
            self._log.append((self.now, number, sent))
        return verdict

    def _answer(self, batch: _Batch, link: int, verdict: Verdict | None, *, retriable: bool) -> None:
        if self.settings.acks == "0":
            return
        wait = self.replication_ms if self.settings.acks == "all" else 0.0
        self._at(
            self.now + wait + self.one_way_ms,
            lambda: self._answered(batch, link, verdict, retriable=retriable),
        )

    def _leader_changes(self) -> None:
        replicated = [entry for entry in self._log if entry[0] + self.replication_ms <= self.now]
        self._log = replicated
        self._state = ProducerState()
        for _, _, sent in replicated:
            if sent is not None:
                _, self._state = self._state.receive(sent)
        self._disconnected(self._connection)


def _nothing() -> None:
    pass
