"""Waits for a producer's records with patience, and reports the ones that were lost.

Spark's executors get this module by value, so it needs nothing of this package but errors, and names no class
of confluent-kafka's, which cannot be pickled.
"""

from __future__ import annotations

import math
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeGuard

import confluent_kafka

from partitioning.errors import DeliveryError, InvalidConfigError

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, KafkaException, Message

WAIT_S = 1.0
SLACK_S = 60.0
"""Seconds that librdkafka may take beyond its own limit; its timers and a last request have their own."""

_LIMITS = ("delivery.timeout.ms", "message.timeout.ms")  # two names of one setting
_LIMIT_MS = 300_000
_MOST_MS = 2**31 - 1
_DURATION = re.compile(r" \(after [^()]*(?:error\(s\) suppressed)?\)")
PURGED = (confluent_kafka.KafkaError._PURGE_QUEUE, confluent_kafka.KafkaError._PURGE_INFLIGHT)
TAKEN_ALONG = (*PURGED, confluent_kafka.KafkaError._FATAL)
"""Error codes of records that a fatal error took along."""

UNTOLD = "a fatal error of which Python lost the reason; librdkafka has logged it"


def patience_s(config: Mapping[str, Any]) -> float:
    """Return the seconds that a record may wait for its broker, by `delivery.timeout.ms`; inf for no limit.

    InvalidConfigError if the setting has no meaning.
    """
    # The longer one if both names are given: patience that is too long does less harm than too short a one.
    # librdkafka takes 0 for "no limit".
    given = (time_setting(config, name, _LIMIT_MS, _MOST_MS) for name in _LIMITS if name in config)
    return max(given, default=_LIMIT_MS) / 1000 or math.inf


class Deliveries:
    """The records of one producer, which errors call `records`: how many were not acknowledged, and why.

    InvalidConfigError if the configuration's delivery timeout has no meaning.

    Attributes:
        fatal: the error after which the producer delivers nothing more; None while there is none.
        _lost: failed records since the last `check` that nobody else watched.
        _first: text of the first of these failures.
        _purged: records since the last `check` that were purged; lost only if a fatal error purged them.
        _reports: reports that reached `on_delivery`, in all.
        _passed_on: those whose callback returned. The difference is what a fatal error cut off.
    """

    def __init__(self, config: Mapping[str, Any], records: str = "records") -> None:
        self._patience_s = patience_s(config) + SLACK_S
        self._process = os.getpid()
        self._records = records
        self._lost = 0
        self._first = ""
        self._purged = 0
        self._reports = 0
        self._passed_on = 0
        # The error after which the producer delivers nothing more.
        self.fatal: KafkaException | None = None
        self._fatal_is_told = False

    def watch(
        self,
        on_error: Callable[[str, KafkaError], None],
        watcher: Callable[[KafkaError | None, Message], None] | None = None,
    ) -> Callable[[KafkaError | None, Message], None]:
        """Return a delivery callback that passes each report on, and counts what a fatal error cut off.

        `on_error` is called with the topic of a record that failed. Nobody watches the record if `watcher` is
        None.
        """
        receive = watcher or self.report

        def on_delivery(error: KafkaError | None, message: Message) -> None:
            if error is None and watcher is None:
                return
            # A report that follows a fatal error ends at the first call, so the count comes before any.
            self._reports += 1
            if error is not None and (topic := message.topic()) is not None:
                on_error(topic, error)
            receive(error, message)
            self._passed_on += 1

        return on_delivery

    def report(self, error: KafkaError | None, message: Message) -> None:
        """Take note of a record's fate; a delivery callback."""
        if error is None:
            return
        # A purge is what the caller asked for, unless a fatal error caused it; `check` tells the two apart.
        if error.code() in PURGED:
            self._purged += 1
            return
        first = f"topic {message.topic()!r} partition {message.partition()}: {describe_error(error)}"
        self._first = self._first or first
        self._lost += 1

    def serve(self, call: Callable[[float], Any], seconds: float) -> int:
        """Return what a producer's `poll` or `flush` gives; a fatal error is kept for `check`.

        The reports of the records that a fatal error took with it come after it.
        """
        try:
            return call(seconds) or 0
        except (confluent_kafka.KafkaException, SystemError) as error:
            fatal = _fatal_in(error)
            # The first one has the reason; later ones only say that there was one.
            self.fatal = self.fatal or fatal
            return 0

    def waits(
        self, call: Callable[[float], int], left: Callable[[], int], within_s: float = math.inf
    ) -> Iterator[int]:
        """Serve a producer, a second at a time, until nothing is left; gives how many records are.

        `call` is the producer's `poll` or `flush`, `left` gives how many records have no report yet; after
        `within_s` waiting ends without an error. DeliveryError: librdkafka gives records up in time, but has
        been seen, once, never to do so after a broker went away.
        """
        since = time.monotonic()
        while True:
            waited = time.monotonic() - since
            self.serve(call, max(0.0, min(WAIT_S, within_s - waited)))
            yield (count := left())
            if not count or waited >= within_s:
                return
            if waited > self._patience_s:
                raise DeliveryError(
                    f"{count} records were neither acknowledged nor given up within {self._patience_s:g} s, "
                    "although 'delivery.timeout.ms' is over: is the broker gone?"
                )

    def refuse_forked(self, *_: object, **__: object) -> None:
        """Raise in a forked process: it has none of librdkafka's threads, but maybe a lock that they held."""
        if os.getpid() != self._process:
            raise DeliveryError(
                f"this producer belongs to process {self._process}, from which this one was forked, and only "
                "that one can send its records: create a producer in each process"
            )

    def check(self, *, outstanding: int = 0, given_up: Exception | None = None) -> None:
        """Raise for records that were lost since the last time, or a fatal error that was not raised before.

        What the caller purged is not lost. After a fatal error librdkafka purges, which no caller asked for;
        and a report that came together with the error may never have reached its callback. `outstanding`
        records have no report yet; `given_up` says why they were given up, if they were.
        """
        fatal = self.fatal
        lost, self._lost = self._lost, 0
        purged, self._purged = self._purged, 0
        why, self._first = [self._first] * bool(self._first), ""
        # No caller asked for the purge in these cases.
        if fatal is not None or given_up is not None:
            lost += purged
        if given_up is not None or (fatal is not None and not outstanding):
            # A report that never reached its callback counts as lost: whether its record arrived is not
            # known.
            lost += self._reports - self._passed_on + outstanding
            self._reports = self._passed_on
        news = given_up or (None if self._fatal_is_told else fatal)
        self._fatal_is_told = fatal is not None
        if fatal is not None:
            why.append(describe_error(fatal.args[0]))
        if given_up is not None:
            why.append(str(given_up))
        if lost:
            cause = fatal or given_up
            raise DeliveryError(
                f"{lost} {self._records} were not acknowledged; the first: {'; '.join(why)}"
            ) from cause
        if news is not None:
            raise news


def _fatal_in(error: KafkaException | SystemError) -> KafkaException:
    """Return the fatal error that a call met, where Python hides it behind a SystemError.

    Raises any other error.

    confluent-kafka leaves a fatal error pending, and calls the callbacks of the records it took along. Python
    then makes it the cause of a SystemError; or, seldom, a callback clears it, and the call ends "without
    setting an exception". Only a fatal error can be lost so: an exception of a callback is kept apart.
    """
    cause = error.__cause__ or error
    if isinstance(error, SystemError) and cause is error and "without" in str(error):
        code = confluent_kafka.KafkaError._FATAL
        return confluent_kafka.KafkaException(confluent_kafka.KafkaError(code, UNTOLD, fatal=True))
    if not is_fatal(cause):
        raise cause from None
    return cause


def is_fatal(error: BaseException) -> TypeGuard[KafkaException]:
    """Return whether the producer that raised this delivers nothing more."""
    return isinstance(error, confluent_kafka.KafkaException) and error.args[0].fatal()


def why_failed(producer: Any, error: KafkaError) -> KafkaError:
    """Return why a transaction failed, where librdkafka says only that a call does not fit its state.

    A transaction fails by itself, for instance when the brokers refuse one of its records. A call at
    that moment tells of the state only; an attempt to begin another transaction fails with the reason.

    Args:
        producer: whose transaction failed; abort the transaction next.
        error: what a call of the producer raised.
    """
    if error.name() != "_STATE":
        return error
    try:
        # Fails with the reason of the transaction's own failure; it begins none.
        producer.begin_transaction()
    except confluent_kafka.KafkaException as failed:
        error = failed.args[0]
    return error


def describe_error(error: KafkaError) -> str:
    """Return what librdkafka says, and what it means where that is hard to guess."""
    text: str = error.str()
    if error.code() == error.TOPIC_AUTHORIZATION_FAILED:
        text += ". This user needs Write on the topic"
    if error.code() == error.CLUSTER_AUTHORIZATION_FAILED:
        text += (
            ". This user may write to no topic, so the cluster refuses it an idempotent producer: "
            "give it the permission to write"
        )
    return text


def describe_errors(errors: Iterable[KafkaError]) -> str:
    """Return what librdkafka says, each fault once: it comes once a try, each time with another duration."""
    return "; ".join(dict.fromkeys(_DURATION.sub("", error.str()) for error in errors))


def time_setting(config: Mapping[str, Any], name: str, default: int, most: int, least: int = 0) -> int:
    """Return a time among librdkafka's settings.

    InvalidConfigError unless a whole number within its bounds.
    """
    text = str(config.get(name, default)).strip()
    # Not as Python reads it: librdkafka would stop at the first sign of 1_000 that is no digit.
    # What is no number gets one that is out of bounds, so that both faults have one message.
    number = int(text) if re.fullmatch("-?[0-9]{1,10}", text) else least - 1
    if not least <= number <= most:
        raise InvalidConfigError(f"{name!r} is {text[:40]!r}; give milliseconds, {least} to {most}")
    return number
