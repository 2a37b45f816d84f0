"""Simulate a producer, its partition's leader and the connection between them, event by event.

This is a discrete-event model of one producer's sender and of one leader's log, for one partition. It is
deterministic for a seed.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count, takewhile
from math import inf
from typing import NamedTuple

import numpy as np

from copartition.models.events import EventQueue
from copartition.models.producer.delivery import DeliveryResult, DeliverySettings, Fault, Faults, Outcome
from copartition.models.producer.idempotence import ProducerState, SequencedBatch, Verdict
from copartition.models.producer.settings import INT_MAX, LATEST_MS, check_bounds
from copartition.models.producer.tuning import Client
from partitioning.errors import InvalidConfigError

REQUESTS = 150_000
REQUESTS_EACH = 1_200
"""A run sends at most `REQUESTS` requests, and `REQUESTS_EACH` more for each batch.

A batch that is refused every 100 ms for two minutes needs about `REQUESTS_EACH`.
"""


def simulate_delivery(
    batches: Sequence[int],
    *,
    settings: DeliverySettings | None = None,
    faults: Faults | None = None,
    interval_ms: float = 1.0,
    round_trip_ms: float = 5.0,
    replication_ms: float = 5.0,
    seed: int = 0,
    client: Client = "java",
) -> DeliveryResult:
    """Return what is duplicated, reordered, refused or lost when these batches are produced to one partition.

    Idempotence does not cover a producer's first batch: a leader that knows nothing of the producer accepts
    whichever batch comes first. So if only the first batch is refused, its retries are out of order.

    Args:
        batches: the number of records in each batch.
        settings: the producer's settings; None for the defaults of Kafka 4.x.
        faults: the faults of the run; None for none.
        interval_ms: time from the creation of one batch to that of the next.
        round_trip_ms: time from sending a request to its answer, without replication.
        replication_ms: time until the leader knows that the followers have what it appended. They have it
            after half of that, and report it with their next fetch.
        seed: decides which requests the faults hit; equal arguments give equal results.
        client: the client whose rules for retried batches apply. Without idempotence, the Java client
            reverses the order of the batches of a lost connection. librdkafka keeps their order, but prepares
            one more request than may be in flight. With idempotence, librdkafka takes the acknowledgement of
            a later batch also for that of an earlier batch that waits for its retry. If a leader has lost
            acknowledged batches, librdkafka fails all batches that follow, and the Java client goes on with a
            new epoch.

    Raises:
        InvalidConfigError: a batch, time or seed is out of range, or the run does not end within `REQUESTS`
            requests and `REQUESTS_EACH` for each batch.

    >>> lost_answer = Faults(scripted={0: Fault.ACK_LOST})
    >>> settings = DeliverySettings(enable_idempotence=False)
    >>> simulate_delivery([1, 1], settings=settings, faults=lost_answer).duplicated
    (0,)
    """
    for number, records in enumerate(batches):
        check_bounds(f"the number of records in batch {number}", records, 1, INT_MAX)
    check_bounds("interval_ms", interval_ms, 0, LATEST_MS)
    check_bounds("round_trip_ms", round_trip_ms, 0, LATEST_MS)
    check_bounds("replication_ms", replication_ms, 0, LATEST_MS)
    check_bounds("seed", seed, 0, 2**64 - 1)
    if client not in {"java", "librdkafka"}:
        raise InvalidConfigError(f"client is {client!r}; give 'java' or 'librdkafka'")
    faults = faults or Faults()
    run = _Run(
        records=tuple(batches),
        settings=settings or DeliverySettings(),
        faults=faults,
        one_way_ms=round_trip_ms / 2,
        replication_ms=replication_ms,
        librdkafka=client == "librdkafka",
        next_fault=_faults_in_turn(faults, seed),
    )
    return run.to_end(interval_ms)


def _faults_in_turn(faults: Faults, seed: int) -> Callable[[], Fault | None]:
    """Return a function that returns the fault of the next request at the leader; None for no fault.

    Args:
        faults: scripted faults take precedence over those drawn by shares.
        seed: the seed of the draws. A scripted request also makes its draw, so a script does not change the
            other draws.
    """
    kinds: tuple[Fault | None, ...] = (*Fault, None)
    bounds = np.cumsum(faults.shares).tolist()
    random = np.random.Generator(np.random.Philox(seed))
    turns = count()

    def next_fault() -> Fault | None:
        drawn = kinds[bisect_right(bounds, random.random())]
        return faults.scripted.get(next(turns), drawn)

    return next_fault


@dataclass(slots=True, eq=False)
class _Batch:
    """Holds a batch as the sender sees it.

    `number` is the batch's index among the batches produced. `attempts` counts how often it was sent, and
    `sent_ms` is when that last happened. A retry is not sent before `not_before_ms`. `sequence` is None until
    the batch is first sent, again after a new epoch has begun, and always without idempotence.
    """

    number: int
    attempts: int = 0
    sent_ms: float = 0.0
    not_before_ms: float = 0.0
    sequence: SequencedBatch | None = None


class _Request(NamedTuple):
    """Holds a batch on its way, the sequence with which it was sent, and the number of its connection."""

    batch: _Batch
    sent: SequencedBatch | None
    link: int


@dataclass(slots=True, kw_only=True)
class _Run:
    """Holds the state of one simulation: the client's side, then the leader's.

    Times are milliseconds, sequences are those of `SequencedBatch`, and connections are counted from 0.
    `_events` has the clock and the events to come.

    On the client's side, a batch without an outcome is in one of three places: `_queue` (it waits; in the
    order of numbers, unless the Java client reverses it), `_ready` (librdkafka's request that may not be sent
    yet), or `_in_flight` (in the order of sending). With acks=0 a batch has its outcome as soon as it is
    sent.

    On the leader's side, `_inbox` has requests that arrived and are not read yet, `_busy` is True while a
    request waits for replication, connections up to number `_broken` are closed, and `_log` has (time, batch
    number, sequence) of each append.
    """

    records: tuple[int, ...]
    settings: DeliverySettings
    faults: Faults
    one_way_ms: float
    replication_ms: float
    librdkafka: bool
    next_fault: Callable[[], Fault | None]

    _events: EventQueue = field(default_factory=EventQueue)

    _queue: deque[_Batch] = field(default_factory=deque)
    _ready: list[_Batch] = field(default_factory=list)
    _in_flight: list[_Batch] = field(default_factory=list)
    _connection: int = 0
    _epoch: int = 0
    _next_sequence: int = 0
    _last_acknowledged: int = -1
    _epoch_bump_due: bool = False
    _fatal: bool = False
    _outcomes: dict[int, Outcome] = field(default_factory=dict)
    _attempts: Counter[int] = field(default_factory=Counter)
    _requests: int = 0
    _watching: bool = False

    _followers_gone_ms: float = inf
    _inbox: deque[_Request] = field(default_factory=deque)
    _busy: bool = False
    _broken: int = -1
    _log: list[tuple[float, int, SequencedBatch | None]] = field(default_factory=list)
    _state: ProducerState = field(default_factory=ProducerState)
    _verdicts: Counter[Verdict] = field(default_factory=Counter)

    def to_end(self, interval_ms: float) -> DeliveryResult:
        """Produce a batch every `interval_ms`, run until nothing is left to happen, and return the result.

        Raises:
            InvalidConfigError: there are more requests than `REQUESTS` and `REQUESTS_EACH` for each batch.
        """
        self._followers_gone_ms = self.faults.followers_gone_ms
        most = REQUESTS + REQUESTS_EACH * len(self.records)
        for number in range(len(self.records)):
            # The creation of batches is planned before the faults, so that of two events at the same time the
            # batch is created first.
            self._events.at(number * interval_ms, partial(self._producer_creates, number))
        for time in self.faults.leader_changes:
            self._events.at(time, self._leader_changes)
        for _, until in self.faults.pauses:
            self._events.at(until, self._leader_reads)
        while self._events:
            self._events.let_next_happen()
            self._producer_sends()
            if self._requests > most:
                raise self._endless()
        return DeliveryResult(
            tuple(number for _, number, _ in self._log),
            tuple(self._outcomes[number] for number in range(len(self.records))),
            tuple(self._attempts[number] for number in range(len(self.records))),
            self._verdicts,
        )

    def _endless(self) -> InvalidConfigError:
        """Return the error for a run without an end; it names the batch that was sent most often."""
        batch, attempts = self._attempts.most_common(1)[0]
        return InvalidConfigError(
            f"after {self._requests} requests for {len(self.records)} batches, at {self._events.now} ms, "
            f"there is no end: batch {batch} has been sent {attempts} times; make faults rarer, "
            f"retry_backoff_ms ({self.settings.retry_backoff_ms}) longer, or delivery_timeout_ms "
            f"({self.settings.delivery_timeout_ms}) or retries ({self.settings.retries}) smaller"
        )

    # The methods from here on model the producer.

    def _producer_creates(self, number: int) -> None:
        """Put a batch into the queue and start its `delivery.timeout.ms`.

        After a fatal error the batch fails at once.
        """
        batch = _Batch(number)
        if self._fatal:
            self._fail(batch)
            return
        self._queue.append(batch)
        self._events.at(self._events.now + self.settings.delivery_timeout_ms, partial(self._expires, batch))

    def _producer_sends(self) -> None:
        """Send as many requests as may be in flight, the oldest batch first; called after every event."""
        while self._may_send():
            batch = self._ready.pop() if self._ready else self._queue.popleft()
            batch.attempts += 1
            batch.sent_ms = self._events.now
            self._requests += 1
            self._attempts[batch.number] += 1
            if self.settings.enable_idempotence and batch.sequence is None:
                batch.sequence = SequencedBatch(self._epoch, self._next_sequence, self.records[batch.number])
                self._next_sequence = (batch.sequence.last + 1) % 2**31
            request = _Request(batch, batch.sequence, self._connection)
            # The client waits for no answer, so the batch is done when it is sent.
            if self.settings.acks == "0":
                self._outcomes[batch.number] = Outcome.NOT_ASKED
            else:
                self._in_flight.append(batch)
                self._watch_requests()
            self._events.at(self._events.now + self.one_way_ms, partial(self._arrives, request))
        if self._makes_ready():
            self._ready.append(self._queue.popleft())

    def _makes_ready(self) -> bool:
        """Return whether librdkafka makes the next request although it may not send it yet.

        From then on no retry comes before that request (`rd_kafka_broker_outbufs_space`). An idempotent
        producer takes the request back (`rd_kafka_broker_bufq_purge_by_toppar`), so for an idempotent
        producer the answer is always False.
        """
        if not self.librdkafka or self.settings.enable_idempotence or self._ready or not self._queue:
            return False
        full = len(self._in_flight) >= self.settings.max_in_flight_requests_per_connection
        return full and self._queue[0].not_before_ms <= self._events.now

    def _may_send(self) -> bool:
        """Return whether the next batch may be sent now; a new epoch begins here if one is due."""
        if self._epoch_bump_due and not self._in_flight:
            self._bump_epoch()
        if not (self._queue or self._ready) or self._epoch_bump_due:
            return False
        if len(self._in_flight) >= self.settings.max_in_flight_requests_per_connection:
            return False
        if self._connection > 0 and self._is_paused():
            return False  # a paused leader does not answer the ApiVersions request of a new connection
        if self._ready:
            return True
        head = self._queue[0]
        if head.not_before_ms > self._events.now:
            return False
        # An idempotent producer sends a retried batch only when no other request is in flight, so that no
        # later batch can arrive before it (KAFKA-5494).
        retried = head.sequence is not None
        return not (retried and self._in_flight)

    def _take_answer(self, request: _Request, verdict: Verdict | None, *, retriable: bool) -> None:
        """Handle the leader's answer to a request.

        An answer over an older connection, or for a batch that has expired, is dropped.

        Args:
            request: the request.
            verdict: the leader's verdict on the batch's sequence; None without idempotence, or if the request
                was refused.
            retriable: whether the leader answered with a retriable error.
        """
        batch = request.batch
        # Since the request was sent, the client has closed its connection, or has failed the batch because
        # the batch expired.
        if request.link != self._connection or batch not in self._in_flight:
            return
        self._in_flight.remove(batch)
        if verdict is Verdict.OUT_OF_ORDER_SEQUENCE_NUMBER:
            # Unless the batch follows the last acknowledged one, the client expects that an earlier batch
            # still gets through (TransactionManager.canRetry). A true gap ends the epoch (KIP-360).
            sequence = batch.sequence
            # The gap is true if the batch follows the last acknowledged one: then no request is on its way
            # that could still fill it.
            gap = sequence is not None and sequence.first == self._last_acknowledged + 1
            if gap and self.librdkafka:
                self._ends_fatally(batch)
                return
            self._epoch_bump_due |= gap
            self._retry(batch)
        elif verdict is Verdict.INVALID_PRODUCER_EPOCH:
            self._fail(batch)
        elif retriable:
            self._retry(batch)
        else:
            self._acknowledge(batch)

    def _acknowledge(self, batch: _Batch) -> None:
        """Record that a batch is acknowledged."""
        self._outcomes[batch.number] = Outcome.ACKNOWLEDGED
        if batch.sequence is None:
            return
        self._last_acknowledged = max(self._last_acknowledged, batch.sequence.last)
        if self.librdkafka:
            # librdkafka reasons that a leader that took this batch must have taken all batches before it
            # (`rd_kafka_dr_implicit_ack`). This is wrong for a producer's first batches, because a leader
            # that does not know the producer accepts any sequence.
            while (
                self._queue and self._queue[0].sequence is not None and self._queue[0].number < batch.number
            ):
                self._outcomes[self._queue.popleft().number] = Outcome.ACKNOWLEDGED

    def _watch_requests(self) -> None:
        """Plan the time-out of the oldest request, unless one is planned already."""
        if self._in_flight and not self._watching:
            self._watching = True
            self._events.at(self._oldest_times_out_ms(), self._requests_time_out)

    def _oldest_times_out_ms(self) -> float:
        """Return when the oldest request times out; at least one request must be in flight.

        `_in_flight` is in the order of sending, so its first batch is that of the oldest request.
        """
        return self._in_flight[0].sent_ms + self.settings.request_timeout_ms

    def _requests_time_out(self) -> None:
        """Close the connection if a request had no answer for too long (NetworkClient, rdkafka_broker.c)."""
        self._watching = False
        if self._in_flight and self._oldest_times_out_ms() <= self._events.now:
            self._disconnect(self._connection)
        self._watch_requests()

    def _expires(self, batch: _Batch) -> None:
        """Fail a batch whose delivery time-out is over, wherever it is (Sender.getExpiredInflightBatches)."""
        for place in (self._queue, self._ready, self._in_flight):
            if batch in place:
                place.remove(batch)
                self._fail(batch)

    def _disconnect(self, link: int) -> None:
        """Let the client learn that a connection is closed; its requests are retried, the oldest first."""
        if link != self._connection:
            return
        # From here on, answers over the old connection are dropped.
        self._connection += 1
        failed, self._in_flight = self._in_flight, []
        unsent, self._ready = self._ready, []
        for batch in failed:
            self._retry(batch)
        for batch in unsent:
            self._put_back(batch)

    def _retry(self, batch: _Batch) -> None:
        """Put a batch back for one more attempt after the backoff; if no attempt is left, the batch fails."""
        # `attempts` includes the first attempt, which is not a retry.
        if batch.attempts > self.settings.retries:
            self._fail(batch)
            return
        batch.not_before_ms = self._events.now + self.settings.retry_backoff_ms
        # The event itself does nothing, but after every event the producer tries to send.
        self._events.at(batch.not_before_ms, lambda: None)
        self._put_back(batch)

    def _put_back(self, batch: _Batch) -> None:
        """Put a batch back into the queue, in the order of numbers; the Java client puts it at the head."""
        if self.settings.enable_idempotence or self.librdkafka:
            older = takewhile(lambda other: other.number < batch.number, self._queue)
            self._queue.insert(sum(1 for _ in older), batch)
        else:
            self._queue.appendleft(batch)  # without idempotence the Java client does not look at the order

    def _fail(self, batch: _Batch) -> None:
        """Record that a batch's callback gets an error; an idempotent producer then needs a new epoch."""
        self._outcomes[batch.number] = Outcome.FAILED
        self._epoch_bump_due |= self.settings.enable_idempotence and batch.sequence is not None

    def _ends_fatally(self, batch: _Batch) -> None:
        """Fail all batches that librdkafka has or will get: it takes a true gap for a mistake of its own."""
        self._fatal = True
        # `_ready` is empty: librdkafka makes no request ahead with idempotence (`_makes_ready`).
        for unsent in (batch, *self._in_flight, *self._queue):
            self._fail(unsent)
        self._in_flight.clear()
        self._queue.clear()

    def _bump_epoch(self) -> None:
        """Start a new epoch at sequence 0, once no request of the old one is under way (KIP-360)."""
        self._epoch += 1
        self._next_sequence = 0
        self._last_acknowledged = -1
        self._epoch_bump_due = False
        # Sequences of the old epoch are void; batches get new ones when they are sent.
        for batch in self._queue:
            batch.sequence = None

    # The methods from here on model the leader.

    def _is_paused(self) -> bool:
        """Return whether the leader stands still now."""
        return any(since <= self._events.now < until for since, until in self.faults.pauses)

    def _arrives(self, request: _Request) -> None:
        """Let a request arrive at the leader; it is lost if its connection has broken meanwhile."""
        if request.link > self._broken:
            self._inbox.append(request)
            self._leader_reads()

    def _leader_reads(self) -> None:
        """Read requests one by one; a broker mutes a connection while it works on one (SocketServer)."""
        while self._inbox and not self._busy and not self._is_paused():
            self._serve(self._inbox.popleft())

    def _serve(self, request: _Request) -> None:
        """Let the leader work on a request, with the fault that hits it."""
        fault = self.next_fault()
        # The connection breaks before the leader has read the request, so nothing is appended.
        if fault is Fault.REQUEST_LOST:
            self._breaks(request.link)
            return
        verdict = None if fault is Fault.REFUSED else self._append(request)
        failed = fault in {Fault.REFUSED, Fault.REFUSED_AFTER_APPEND}
        given_up = request.link != self._connection  # the client has closed it, so the leader reads no more
        # With acks=0 there is no answer, so a broker reports an error by closing the connection (KafkaApis).
        if fault is Fault.ACK_LOST or given_up or (failed and self.settings.acks == "0"):
            self._breaks(request.link)
        elif self.settings.acks != "0":
            self._busy = True
            waits = self.settings.acks == "all" and fault is not Fault.REFUSED
            answer_ms = self._in_sync_ms() if waits else self._events.now
            self._events.at(answer_ms, partial(self._leader_answers, request, verdict, retriable=failed))

    def _in_sync_ms(self) -> float:
        """Return the time in ms at which all in-sync replicas have a batch that is appended now."""
        # If the followers stop copying before they confirm this append, the leader waits until it counts them
        # as out of sync, and then answers alone.
        confirmed = self._events.now + self.replication_ms
        gone = self._followers_gone_ms
        return (
            confirmed
            if confirmed <= gone
            else max(self._events.now, gone + self.faults.replica_lag_time_max_ms)
        )

    def _append(self, request: _Request) -> Verdict | None:
        """Return the verdict on a batch, and append the batch if the verdict allows it.

        Without idempotence every batch is appended, and the result is None.
        """
        if request.sent is None:
            self._log.append((self._events.now, request.batch.number, None))
            return None
        verdict, self._state = self._state.receive(request.sent)
        self._verdicts[verdict] += 1
        if verdict is Verdict.APPENDED:
            self._log.append((self._events.now, request.batch.number, request.sent))
        return verdict

    def _leader_answers(self, request: _Request, verdict: Verdict | None, *, retriable: bool) -> None:
        """Send the answer, and read the next request; a connection that broke meanwhile gets no answer."""
        if request.link <= self._broken:
            return
        self._busy = False
        self._events.at(
            self._events.now + self.one_way_ms,
            partial(self._take_answer, request, verdict, retriable=retriable),
        )
        self._leader_reads()

    def _breaks(self, link: int) -> None:
        """Close a connection at the leader; answers that are on their way still arrive, all else is lost."""
        self._broken = max(self._broken, link)
        while self._inbox and self._inbox[0].link <= link:  # requests of later connections come later
            self._inbox.popleft()
        self._busy = False
        self._events.at(self._events.now + self.one_way_ms, partial(self._disconnect, link))

    def _leader_changes(self) -> None:
        """Let a follower take over, with only the batches that were replicated.

        The new leader rebuilds its memory of the producer from the batches in its own log, as a real one
        does.
        """
        # The followers have a batch half of `replication_ms` after its append. In the other half they report
        # to the leader, with their next fetch, that they have it.
        until = min(self._events.now, self._followers_gone_ms)
        if self._followers_gone_ms <= self._events.now:
            self._followers_gone_ms = inf  # one of the followers leads now, and has followers of its own
        replicated = [entry for entry in self._log if entry[0] + self.replication_ms / 2 <= until]
        self._log = replicated
        # The new leader knows only the producer's batches that are in its own log.
        self._state = ProducerState()
        for _, _, sent in replicated:
            if sent is not None:
                _, self._state = self._state.receive(sent)
        self._breaks(self._connection)
