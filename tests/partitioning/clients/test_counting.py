"""How lost records are counted, by reports and errors as librdkafka gives them, without a producer."""

from __future__ import annotations

import math
import os
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from partitioning.clients.delivery import (
    SLACK_S,
    TAKEN_ALONG,
    WAIT_S,
    Deliveries,
    describe_error,
    describe_errors,
    patience_s,
    time_setting,
    why_failed,
)
from partitioning.errors import DeliveryError, InvalidConfigError

TIMED_OUT = KafkaError(KafkaError._MSG_TIMED_OUT, "too late")
FATAL = KafkaException(KafkaError(KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER, "a gap", fatal=True))


def record(partition: int = 3) -> Any:
    return SimpleNamespace(topic=lambda: "orders", partition=lambda: partition)


@pytest.fixture
def deliveries() -> Deliveries:
    return Deliveries({})


def failed(deliveries: Deliveries) -> None:
    def call(_: float) -> int:
        raise FATAL

    assert deliveries.serve(call, 0) == 0


def test_what_arrives_is_not_lost(deliveries: Deliveries) -> None:
    deliveries.report(None, record())
    deliveries.check()


def test_lost_records_are_counted_once_and_the_first_is_told(deliveries: Deliveries) -> None:
    deliveries.report(TIMED_OUT, record(3))
    deliveries.report(KafkaError(KafkaError._UNKNOWN_TOPIC, "gone"), record(4))
    with pytest.raises(DeliveryError, match=r"^2 records were not .*: topic 'orders' partition 3: too late$"):
        deliveries.check()
    deliveries.check()  # the next version begins at nothing
    deliveries.report(TIMED_OUT, record(5))
    with pytest.raises(DeliveryError, match=r"^1 records were not .* partition 5: too late$"):
        deliveries.check()


def test_errors_call_records_by_their_name() -> None:
    named = Deliveries({}, "dead letters")
    named.report(TIMED_OUT, record())
    with pytest.raises(DeliveryError, match=r"^1 dead letters were not"):
        named.check()


@pytest.mark.parametrize("code", [KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT])
def test_what_the_caller_purges_is_not_lost_and_what_a_fatal_error_purges_is(
    deliveries: Deliveries, code: int
) -> None:
    deliveries.report(KafkaError(code), record())
    deliveries.check()
    deliveries.report(KafkaError(code), record())
    deliveries.report(KafkaError(code), record())
    failed(deliveries)
    with pytest.raises(DeliveryError, match=r"^2 records were not acknowledged; the first: a gap$"):
        deliveries.check()
    assert code in TAKEN_ALONG
    assert KafkaError._FATAL in TAKEN_ALONG


def test_what_is_given_up_is_lost_with_what_was_purged_and_why(deliveries: Deliveries) -> None:
    deliveries.report(KafkaError(KafkaError._PURGE_QUEUE), record())
    why = DeliveryError("they took too long")
    with pytest.raises(DeliveryError, match=r"^4 records were not .*: they took too long$") as caught:
        deliveries.check(outstanding=3, given_up=why)
    assert caught.value.__cause__ is why


def test_what_gives_up_is_raised_where_every_record_was_told(deliveries: Deliveries) -> None:
    why = DeliveryError("they took too long")
    with pytest.raises(DeliveryError) as caught:
        deliveries.check(given_up=why)
    assert caught.value is why


def test_a_fatal_error_without_a_lost_record_is_raised_once(deliveries: Deliveries) -> None:
    failed(deliveries)
    with pytest.raises(KafkaException) as caught:
        deliveries.check()
    assert caught.value is FATAL
    deliveries.check()


def test_the_first_fatal_error_has_the_reason(deliveries: Deliveries) -> None:
    failed(deliveries)

    def call(_: float) -> int:
        raise KafkaException(KafkaError(KafkaError._FATAL, "there was one", fatal=True))

    deliveries.serve(call, 0)
    assert deliveries.fatal is FATAL


def test_records_that_wait_for_a_report_are_not_yet_lost_by_a_fatal_error(deliveries: Deliveries) -> None:
    failed(deliveries)
    with pytest.raises(KafkaException):
        deliveries.check(outstanding=2)


def test_a_report_that_a_fatal_error_cut_off_is_a_lost_record(deliveries: Deliveries) -> None:
    def interrupted(error: Any, message: Any) -> None:
        raise SystemError

    on_delivery = deliveries.watch(lambda *_: None, interrupted)
    with pytest.raises(SystemError):
        on_delivery(None, record())
    failed(deliveries)
    with pytest.raises(DeliveryError, match=r"^1 records were not acknowledged; the first: a gap$"):
        deliveries.check()
    deliveries.check()


def test_a_callback_gets_every_report_and_the_topic_of_a_failure_is_told(deliveries: Deliveries) -> None:
    told: list[Any] = []
    got: list[Any] = []
    on_delivery = deliveries.watch(
        lambda topic, error: told.append((topic, error)), lambda *args: got.append(args)
    )
    fine, lost = record(), record()
    on_delivery(None, fine)
    on_delivery(TIMED_OUT, lost)
    on_delivery(TIMED_OUT, SimpleNamespace(topic=lambda: None, partition=lambda: 0))
    assert [message for _, message in got][:2] == [fine, lost]
    assert told == [("orders", TIMED_OUT)]
    deliveries.check()  # who watches counts by itself


def test_without_a_callback_failures_are_counted_and_told(deliveries: Deliveries) -> None:
    told: list[str] = []
    on_delivery = deliveries.watch(lambda topic, _: told.append(topic))
    on_delivery(None, record())
    on_delivery(TIMED_OUT, record())
    assert told == ["orders"]
    with pytest.raises(DeliveryError, match=r"^1 records"):
        deliveries.check()


def test_serving_gives_what_the_call_gives_and_hands_the_time_on(deliveries: Deliveries) -> None:
    assert deliveries.serve(int, 7) == 7
    assert deliveries.serve(lambda _: None, 7) == 0


def test_a_fatal_error_whose_reason_python_lost_is_kept(deliveries: Deliveries) -> None:
    def call(_: float) -> int:
        raise SystemError("error return without exception set")

    deliveries.serve(call, 0)
    assert deliveries.fatal is not None
    assert deliveries.fatal.args[0].fatal()


@pytest.mark.parametrize(
    "error", [KafkaException(TIMED_OUT), SystemError("something else"), SystemError("without")]
)
def test_other_errors_of_a_call_are_raised(deliveries: Deliveries, error: Exception) -> None:
    cause = ValueError("of a callback")

    def call(_: float) -> int:
        raise error from (cause if str(error) == "without" else None)

    with pytest.raises(ValueError if str(error) == "without" else type(error)):
        deliveries.serve(call, 0)
    assert deliveries.fatal is None


def test_waiting_ends_when_nothing_is_left_and_each_turn_is_short(deliveries: Deliveries) -> None:
    turns: list[float] = []
    left = iter([2, 1, 0])
    counts = [*deliveries.waits(lambda seconds: turns.append(seconds) or 0, lambda: next(left))]
    assert counts == [2, 1, 0]
    assert turns == [WAIT_S] * 3


def test_waiting_ends_with_its_time_and_without_an_error(deliveries: Deliveries) -> None:
    turns: list[float] = []
    assert [*deliveries.waits(lambda seconds: turns.append(seconds) or 0, lambda: 5, 0)] == [5]
    assert turns == [0.0]


def test_waiting_beyond_librdkafkas_own_limit_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter([0.0, 0.0, SLACK_S, SLACK_S + 1.5])
    monkeypatch.setattr("partitioning.clients.delivery.time.monotonic", lambda: next(now))
    waiting = Deliveries({"delivery.timeout.ms": 1000}).waits(lambda _: 0, lambda: 4)
    assert [next(waiting), next(waiting), next(waiting)] == [4, 4, 4]
    with pytest.raises(DeliveryError, match=r"^4 records were neither .* within 61 s"):
        next(waiting)


def test_another_process_may_not_use_it(deliveries: Deliveries, monkeypatch: pytest.MonkeyPatch) -> None:
    deliveries.refuse_forked()
    child = os.getpid() + 1
    monkeypatch.setattr("partitioning.clients.delivery.os.getpid", lambda: child)
    with pytest.raises(DeliveryError, match="create a producer in each process"):
        deliveries.refuse_forked()


@pytest.mark.parametrize(
    ("config", "seconds"),
    [
        ({}, 300),
        ({"delivery.timeout.ms": 1000}, 1),
        ({"message.timeout.ms": "2000"}, 2),
        ({"message.timeout.ms": 2000, "delivery.timeout.ms": 1000}, 2),
        ({"delivery.timeout.ms": 0}, math.inf),
        ({"delivery.timeout.ms": 2**31 - 1}, (2**31 - 1) / 1000),
    ],
)
def test_patience_is_the_longer_of_two_names_of_one_setting(config: dict[str, Any], seconds: float) -> None:
    assert patience_s(config) == seconds


@pytest.mark.parametrize("value", ["", "1_000", "1e3", -1, 2**31, "9" * 11, " x ", True])
def test_a_time_that_librdkafka_reads_otherwise_is_refused(value: Any) -> None:
    with pytest.raises(
        InvalidConfigError, match=r"'delivery.timeout.ms' is .*; give milliseconds, 0 to 2147483647"
    ):
        patience_s({"delivery.timeout.ms": value})


@pytest.mark.parametrize(("value", "fits"), [(4, False), (5, True), (" 9 ", True), (10, False)])
def test_a_time_has_a_least_and_a_most(value: Any, fits: bool) -> None:
    if fits:
        assert time_setting({"a": value}, "a", 7, 9, 5) == int(value)
    else:
        with pytest.raises(InvalidConfigError, match="5 to 9"):
            time_setting({"a": value}, "a", 7, 9, 5)
    assert time_setting({}, "a", 7, 9, 5) == 7


def test_why_a_transaction_failed_is_asked_where_only_the_state_is_told() -> None:
    def begin() -> None:
        raise KafkaException(TIMED_OUT)

    failing = SimpleNamespace(begin_transaction=begin)
    silent = SimpleNamespace(begin_transaction=lambda: None)
    state = KafkaError(KafkaError._STATE)
    assert why_failed(failing, state) is TIMED_OUT
    assert why_failed(silent, state) is state
    assert why_failed(failing, other := KafkaError(KafkaError._TRANSPORT)) is other


@pytest.mark.parametrize(
    ("code", "advice"),
    [
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, "needs Write on the topic"),
        (KafkaError.CLUSTER_AUTHORIZATION_FAILED, "may write to no topic"),
        (KafkaError._TRANSPORT, ""),
    ],
)
def test_errors_of_rights_say_what_to_grant(code: int, advice: str) -> None:
    text = describe_error(KafkaError(code, "said"))
    assert text.startswith("said")
    assert advice in text
    assert ("This user" in text) == bool(advice)


def test_one_fault_of_many_tries_is_told_once() -> None:
    tries = [
        KafkaError(KafkaError._TRANSPORT, f"refused (after {ms}ms in state CONNECT{more})")
        for ms, more in ((0, ""), (7, ", 3 identical error(s) suppressed"))
    ]
    assert describe_errors([*tries, KafkaError(KafkaError._SSL, "no TLS")]) == "refused; no TLS"


def test_a_report_that_was_cut_off_and_records_without_one_are_lost_when_they_are_given_up(
    deliveries: Deliveries,
) -> None:
    def ends(_: object, __: object) -> None:
        raise FATAL

    deliveries.watch(lambda *_: None)(TIMED_OUT, record())
    with pytest.raises(KafkaException):
        deliveries.watch(lambda *_: None, ends)(None, record())
    with pytest.raises(DeliveryError, match=r"^6 records were not acknowledged; .*: too late; gone$"):
        deliveries.check(outstanding=4, given_up=DeliveryError("gone"))
    deliveries.check()
