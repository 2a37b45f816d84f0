"""A producer, its partition's leader and the connection between them, event by event.

One producer, one partition: a discrete-event model of the client's sender and of the leader's log,
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
"""A run sends at most `REQUESTS` requests, and so many more for each batch.

A batch that is refused for two minutes, every 100 ms, needs about so many.
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

    Idempotence does not cover a producer's first batch: a leader that knows nothing of the producer takes
    whichever comes first, so if only the first is refused, the client's retries of it are out of order.

    Args:
        batches: records of each batch.
        settings: the producer's; the defaults of 4.x if None.
        faults: what goes wrong; nothing if None.
        interval_ms: a batch is ready to be sent this long after the one before.
        round_trip_ms: time from sending a request to its answer, replication aside.
        replication_ms: time until the leader knows that the followers have what it appended; they have it
            after half of that, and tell with their next fetch.
        seed: decides which requests the faults hit; equal arguments give equal results.
        client: whose rules for batches that are sent again. Without idempotence the Java client turns the
            order of a lost connection around; librdkafka keeps it, but has one more request ready than may
            be in flight. With idempotence librdkafka takes a later batch's acknowledgement for that of a
            batch that waits to be sent again, and fails all that follows if a leader has lost batches
            that were acknowledged; the Java client goes on with a new epoch.

    Raises:
        InvalidConfigError: a batch, time or seed out of range, or a run that does not end within
            `REQUESTS` requests and `REQUESTS_EACH` for each batch.

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
    """Return a function that is called for each request that comes to the leader, and tells its fault.

    Args:
        faults: scripted ones come before those that are drawn by shares.
        seed: of the draws. A draw is made for a scripted request, too, so that a script moves no other draw.
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
    """A batch as the sender sees it.

    `number` is its place among the batches produced, from 0 on; times are ms. `sequence` is None until it is
    sent first, and again after a new epoch began.
    """

    number: int
    attempts: int = 0
    sent_ms: float = 0.0
    not_before_ms: float = 0.0
    sequence: SequencedBatch | None = None


class _Request(NamedTuple):
    """A batch on its way, with the sequence that it was sent with and the number of its connection."""

    batch: _Batch
    sent: SequencedBatch | None
    link: int


@dataclass(slots=True, kw_only=True)
class _Run:
    """The state of one simulation: the client's side, then the leader's.

    Times are ms, sequences those of `SequencedBatch`, connections count from 0. `_events` has the clock and
    what will happen.

    On the client's side a batch is in one of `_queue` (waits, by number unless the Java client turns it
    around), `_ready` (librdkafka's request that may not leave yet) and `_in_flight` (in the order of
    sending), or it has an outcome. With acks=0 it has its outcome as soon as it is sent.

    On the leader's side `_inbox` has what arrived and was not read, `_busy` is True while a request waits for
    replication, connections up to `_broken` are closed, and `_log` has (time, batch number, sequence) of each
    append.
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
            InvalidConfigError: more requests than `REQUESTS` and `REQUESTS_EACH` for each batch.
        """
        self._followers_gone_ms = self.faults.followers_gone_ms
        most = REQUESTS + REQUESTS_EACH * len(self.records)
        for number in range(len(self.records)):
            # Planned before the faults: at one time a batch is created before something happens to the
            # leader.
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
        """Return the error of a run without an end; it names the batch that was sent most often."""
        batch, attempts = self._attempts.most_common(1)[0]
        return InvalidConfigError(
            f"after {self._requests} requests for {len(self.records)} batches, at {self._events.now} ms, "
            f"there is no end: batch {batch} has been sent {attempts} times; make faults rarer, "
            f"retry_backoff_ms ({self.settings.retry_backoff_ms}) longer, or delivery_timeout_ms "
            f"({self.settings.delivery_timeout_ms}) or retries ({self.settings.retries}) smaller"
        )

    # The producer.

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
            # No answer is waited for, so the batch is done when it is sent.
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

        No retry comes before it any more (`rd_kafka_broker_outbufs_space`); an idempotent producer takes it
        back (`rd_kafka_broker_bufq_purge_by_toppar`).
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
            return False  # nobody answers the ApiVersions request with which a new connection begins
        if self._ready:
            return True
        head = self._queue[0]
        if head.not_before_ms > self._events.now:
            return False
        # A batch that is sent again waits until it is the oldest without an answer (KAFKA-5494).
        retried = head.sequence is not None
        return not (retried and self._in_flight)

    def _take_answer(self, request: _Request, verdict: Verdict | None, *, retriable: bool) -> None:
        """Take the leader's answer to a request.

        An answer over an older connection, or for a batch that has expired, does not count.

        Args:
            request: the request.
            verdict: of the leader on its sequence; None without idempotence, or if it was refused.
            retriable: whether the leader answered with a retriable error.
        """
        batch = request.batch
        if request.link != self._connection or batch not in self._in_flight:
            return
        self._in_flight.remove(batch)
        if verdict is Verdict.OUT_OF_ORDER_SEQUENCE_NUMBER:
            # Unless it follows the last acknowledged one, the client hopes that an earlier batch still gets
            # through (TransactionManager.canRetry); a true gap ends the epoch (KIP-360).
            sequence = batch.sequence
            # It follows the last batch that was acknowledged, so nothing is under way that could still fill
            # the gap.
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
        """Note that a batch is acknowledged."""
        self._outcomes[batch.number] = Outcome.ACKNOWLEDGED
        if batch.sequence is None:
            return
        self._last_acknowledged = max(self._last_acknowledged, batch.sequence.last)
        if self.librdkafka:
            # A leader that took this one must have taken those before (`rd_kafka_dr_implicit_ack`); of a
            # producer's first batches that is not so.
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
        """Return when the oldest request times out.

        Batches are in flight in the order in which they were sent, so the oldest is the first.
        """
        return self._in_flight[0].sent_ms + self.settings.request_timeout_ms

    def _requests_time_out(self) -> None:
        """Close the connection if a request had no answer for too long (NetworkClient, rdkafka_broker.c)."""
        self._watching = False
        if self._in_flight and self._oldest_times_out_ms() <= self._events.now:
            self._disconnect(self._connection)
        self._watch_requests()

    def _expires(self, batch: _Batch) -> None:
        """Fail a batch whose time is over, wherever it is (Sender.getExpiredInflightBatches)."""
        for place in (self._queue, self._ready, self._in_flight):
            if batch in place:
                place.remove(batch)
                self._fail(batch)

    def _disconnect(self, link: int) -> None:
        """Learn, as the client, that a connection is no more; its requests fail, the oldest first."""
        if link != self._connection:
            return
        # Answers over the old connection that are still on their way count no more.
        self._connection += 1
        failed, self._in_flight = self._in_flight, []
        unsent, self._ready = self._ready, []
        for batch in failed:
            self._retry(batch)
        for batch in unsent:
            self._put_back(batch)

    def _retry(self, batch: _Batch) -> None:
        """Put a batch back for one more attempt after the backoff; without an attempt left it fails."""
        if batch.attempts > self.settings.retries:
            self._fail(batch)
            return
        batch.not_before_ms = self._events.now + self.settings.retry_backoff_ms
        self._events.at(batch.not_before_ms, lambda: None)  # a chance to send when the backoff is over
        self._put_back(batch)

    def _put_back(self, batch: _Batch) -> None:
        """Put a batch back into the queue: at its place by number, or at the head as the Java client does."""
        if self.settings.enable_idempotence or self.librdkafka:
            older = takewhile(lambda other: other.number < batch.number, self._queue)
            self._queue.insert(sum(1 for _ in older), batch)
        else:
            self._queue.appendleft(batch)  # the Java client does not look at the order here

    def _fail(self, batch: _Batch) -> None:
        """Note that a batch's callback gets an error; an idempotent producer then needs a new epoch."""
        self._outcomes[batch.number] = Outcome.FAILED
        self._epoch_bump_due |= self.settings.enable_idempotence and batch.sequence is not None

    def _ends_fatally(self, batch: _Batch) -> None:
        """Fail all that librdkafka has and will be given: it takes such a gap for a fault of its own."""
        self._fatal = True
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
        # Batches get new sequences when they are sent, as those of the old epoch are void.
        for batch in self._queue:
            batch.sequence = None

    # The leader.

    def _is_paused(self) -> bool:
        """Return whether the leader stands still now."""
        return any(since <= self._events.now < until for since, until in self.faults.pauses)

    def _arrives(self, request: _Request) -> None:
        """Let a request come to the leader; one of a closed connection is lost."""
        # What was sent over a connection that broke meanwhile is lost.
        if request.link > self._broken:
            self._inbox.append(request)
            self._leader_reads()

    def _leader_reads(self) -> None:
        """Read a connection's requests in turn: a broker mutes it while it works (SocketServer)."""
        while self._inbox and not self._busy and not self._is_paused():
            self._serve(self._inbox.popleft())

    def _serve(self, request: _Request) -> None:
        """Let the leader work on a request, with the fault that hits it."""
        fault = self.next_fault()
        if fault is Fault.REQUEST_LOST:
            self._breaks(request.link)
            return
        verdict = None if fault is Fault.REFUSED else self._append(request)
        failed = fault in {Fault.REFUSED, Fault.REFUSED_AFTER_APPEND}
        given_up = request.link != self._connection  # the client has closed it, so nothing more is read
        # Where there is no answer, a broker tells of an error by closing the connection (KafkaApis).
        if fault is Fault.ACK_LOST or given_up or (failed and self.settings.acks == "0"):
            self._breaks(request.link)
        elif self.settings.acks != "0":
            self._busy = True
            waits = self.settings.acks == "all" and fault is not Fault.REFUSED
            answer_ms = self._in_sync_ms() if waits else self._events.now
            self._events.at(answer_ms, partial(self._leader_answers, request, verdict, retriable=failed))

    def _in_sync_ms(self) -> float:
        """Return when all replicas in sync have what is appended now."""
        confirmed = self._events.now + self.replication_ms
        gone = self._followers_gone_ms
        return (
            confirmed
            if confirmed <= gone
            else max(self._events.now, gone + self.faults.replica_lag_time_max_ms)
        )

    def _append(self, request: _Request) -> Verdict | None:
        """Return the verdict on a batch, and append the batch if the verdict allows that.

        Without idempotence every batch is appended, and there is no verdict.
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
        """Send the answer, and read the next request; a connection that broke meanwhile gets none."""
        if request.link <= self._broken:
            return
        self._busy = False
        self._events.at(
            self._events.now + self.one_way_ms,
            partial(self._take_answer, request, verdict, retriable=retriable),
        )
        self._leader_reads()

    def _breaks(self, link: int) -> None:
        """End a connection at the leader: answers sent before still get there, all else is lost."""
        self._broken = max(self._broken, link)
        while self._inbox and self._inbox[0].link <= link:  # requests of later connections come later
            self._inbox.popleft()
        self._busy = False
        self._events.at(self._events.now + self.one_way_ms, partial(self._disconnect, link))

    def _leader_changes(self) -> None:
        """Let a follower take over, with only what was replicated.

        Its memory of the producer is made of the batches in its own log, as a real follower's is.
        """
        # Followers have an append after half of `replication_ms`; the other half is the fetch with which they
        # tell.
        until = min(self._events.now, self._followers_gone_ms)
        if self._followers_gone_ms <= self._events.now:
            self._followers_gone_ms = inf  # one of them leads now, and has followers of its own
        replicated = [entry for entry in self._log if entry[0] + self.replication_ms / 2 <= until]
        self._log = replicated
        self._state = ProducerState()
        for _, _, sent in replicated:
            if sent is not None:
                _, self._state = self._state.receive(sent)
        self._breaks(self._connection)
