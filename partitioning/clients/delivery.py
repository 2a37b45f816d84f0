"""Waits for the delivery of a producer's records, with a time limit, and reports lost ones.

Spark's executors get this module by value. So it uses nothing of this package except errors, and no global
name refers to a class of confluent-kafka, which cannot be pickled.
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
"""The seconds that librdkafka may exceed its own limit, because its timers and a last request take time."""

_LIMITS = ("delivery.timeout.ms", "message.timeout.ms")  # two names of one setting
_LIMIT_MS = 300_000
_MOST_MS = 2**31 - 1
_DURATION = re.compile(r" \(after [^()]*(?:error\(s\) suppressed)?\)")
PURGED = (confluent_kafka.KafkaError._PURGE_QUEUE, confluent_kafka.KafkaError._PURGE_INFLIGHT)
TAKEN_ALONG = (*PURGED, confluent_kafka.KafkaError._FATAL)
"""Error codes of records that failed because of a fatal error."""

UNTOLD = "a fatal error of which Python lost the reason; librdkafka has logged it"


def patience_s(config: Mapping[str, Any]) -> float:
    """Return the seconds that a record may wait for its broker, by `delivery.timeout.ms`; inf for no limit.

    Raises InvalidConfigError if the setting is invalid.
    """
    # If both names are set, the longer time counts, because waiting too long does less harm than too short.
    # For librdkafka 0 means "no limit".
    given = (time_setting(config, name, _LIMIT_MS, _MOST_MS) for name in _LIMITS if name in config)
    return max(given, default=_LIMIT_MS) / 1000 or math.inf


class Deliveries:
    """Counts the records of one producer that were not acknowledged, with the reason of the first.

    Args:
        config: the producer's configuration.
        records: the noun for these records in error messages.

    Attributes:
        fatal: the error after which the producer delivers nothing more; None if there is none.
        _lost: how many records without a callback of the caller failed since the last `check`.
        _first: the text of the first of these failures.
        _purged: how many records were purged since the last `check`. They count as lost only if a fatal error
            purged them.
        _reports: how many reports have reached `on_delivery` in all.
        _passed_on: for how many of these reports the callback has returned. The callbacks of the others were
            cut off by a fatal error.

    Raises:
        InvalidConfigError: the delivery timeout in the configuration is invalid.
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
        """Return a delivery callback that passes reports on, and counts those that a fatal error cuts off.

        Args:
            on_error: called with the topic and the error of each record that failed.
            watcher: the caller's own delivery callback. If it is None, failures are counted for `check`.
        """
        receive = watcher or self.report

        def on_delivery(error: KafkaError | None, message: Message) -> None:
            if error is None and watcher is None:
                return
            # After a fatal error the first call in a callback raises it. So the report is counted before any
            # call.
            self._reports += 1
            if error is not None and (topic := message.topic()) is not None:
                on_error(topic, error)
            receive(error, message)
            self._passed_on += 1

        return on_delivery

    def report(self, error: KafkaError | None, message: Message) -> None:
        """Count a failed record; this is a delivery callback."""
        if error is None:
            return
        # A purge was requested by the caller, unless a fatal error caused it. `check` distinguishes the two.
        if error.code() in PURGED:
            self._purged += 1
            return
        first = f"topic {message.topic()!r} partition {message.partition()}: {describe_error(error)}"
        self._first = self._first or first
        self._lost += 1

    def serve(self, call: Callable[[float], Any], seconds: float) -> int:
        """Call a producer's `poll` or `flush` and return its result; keep a fatal error for `check`.

        The reports of the records that fail because of a fatal error come after that error, so it is not
        raised here.
        """
        try:
            return call(seconds) or 0
        except (confluent_kafka.KafkaException, SystemError) as error:
            fatal = _fatal_in(error)
            # The first fatal error has the reason. Later fatal errors only say that there was one before.
            self.fatal = self.fatal or fatal
            return 0

    def waits(
        self, call: Callable[[float], int], left: Callable[[], int], within_s: float = math.inf
    ) -> Iterator[int]:
        """Serve a producer, a second at a time, until no record is left; yield how many are left each time.

        Args:
            call: the producer's `poll` or `flush`, called with a timeout in seconds.
            left: returns how many records have no report yet.
            within_s: the seconds after which waiting ends without an error.

        Raises:
            DeliveryError: records have no report although `delivery.timeout.ms` is over. Normally librdkafka
                reports them as failed in time, but once it did not, after a broker was gone.
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
        """Raise DeliveryError in a forked process.

        Such a process has none of librdkafka's threads. A lock that such a thread held is never released in
        it.
        """
        if os.getpid() != self._process:
            raise DeliveryError(
                f"this producer belongs to process {self._process}, from which this one was forked, and only "
                "that one can send its records: create a producer in each process"
            )

    def check(self, *, outstanding: int = 0, given_up: Exception | None = None) -> None:
        """Raise if records were lost since the last call, or for a fatal error that was not raised before.

        Records that the caller purged are not lost. After a fatal error librdkafka itself purges records,
        which count as lost, as do records whose report was cut off by that error.

        Args:
            outstanding: how many records have no report yet.
            given_up: the reason why no more reports are waited for; None if there is none.

        Raises:
            DeliveryError: records were lost.
            Exception: `given_up`, or the fatal error at its first check, if no record was lost.
        """
        fatal = self.fatal
        lost, self._lost = self._lost, 0
        purged, self._purged = self._purged, 0
        why, self._first = [self._first] * bool(self._first), ""
        # If there is a fatal error, or an error that gave the records up, the purge was not requested by the
        # caller.
        if fatal is not None or given_up is not None:
            lost += purged
        if given_up is not None or (fatal is not None and not outstanding):
            # A record whose report did not reach its callback counts as lost, because nobody knows whether it
            # was delivered.
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
    """Return the fatal error of a call, even if Python hides it behind a SystemError; raise any other error.

    confluent-kafka leaves a fatal error pending while it calls the callbacks of the records that failed with
    it. Python then makes this error the cause of a SystemError. In rare cases a callback clears the error,
    and the call ends "without setting an exception". Only a fatal error can be lost in this way, because
    confluent-kafka keeps an exception of a callback separately.
    """
    cause = error.__cause__ or error
    if isinstance(error, SystemError) and cause is error and "without" in str(error):
        code = confluent_kafka.KafkaError._FATAL
        return confluent_kafka.KafkaException(confluent_kafka.KafkaError(code, UNTOLD, fatal=True))
    if not is_fatal(cause):
        raise cause from None
    return cause


def is_fatal(error: BaseException) -> TypeGuard[KafkaException]:
    """Return whether this error is fatal: the producer that raised it delivers nothing more."""
    return isinstance(error, confluent_kafka.KafkaException) and error.args[0].fatal()


def why_failed(producer: Any, error: KafkaError) -> KafkaError:
    """Return the reason why a transaction failed, even if a call only reported an invalid state.

    A transaction can fail between calls, for instance when brokers refuse one of its records. Then the error
    of the next call says only that the call is not allowed in the transaction's state. But an attempt to
    begin another transaction fails with the reason.

    Args:
        producer: the producer of the transaction. The caller must abort the transaction next.
        error: the error that a call of the producer raised.
    """
    if error.name() != "_STATE":
        return error
    try:
        # The transaction has failed, so this call cannot succeed. Its error has the reason of the failure.
        producer.begin_transaction()
    except confluent_kafka.KafkaException as failed:
        error = failed.args[0]
    return error


def describe_error(error: KafkaError) -> str:
    """Return the text of an error of librdkafka, with an explanation if it is hard to understand."""
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
    """Return the texts of librdkafka's errors, each once.

    An error is reported at each try with another duration, so durations are removed.
    """
    return "; ".join(dict.fromkeys(_DURATION.sub("", error.str()) for error in errors))


def time_setting(config: Mapping[str, Any], name: str, default: int, most: int, least: int = 0) -> int:
    """Return a time from librdkafka's settings, in milliseconds.

    Args:
        config: the settings.
        name: the name of the setting.
        default: its value if it is not set.
        most: the greatest value that is allowed.
        least: the smallest value that is allowed.

    Raises:
        InvalidConfigError: the value is not a whole number, or out of bounds.
    """
    text = str(config.get(name, default)).strip()
    # Python's `int` accepts 1_000, but librdkafka would read only the 1. A text that is not a number becomes
    # a number out of bounds, so both faults have the same message.
    number = int(text) if re.fullmatch("-?[0-9]{1,10}", text) else least - 1
    if not least <= number <= most:
        raise InvalidConfigError(f"{name!r} is {text[:40]!r}; give milliseconds, {least} to {most}")
    return number
