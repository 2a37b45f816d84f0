"""The loop, with clients that are made up: what it does when, and what it raises."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import partial
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from partitioning.clients.read_process_write import ProducerRecord, loop, member
from partitioning.clients.read_process_write.member import LoopMember
from partitioning.clients.read_process_write.settings import LoopSettings
from partitioning.errors import (
    GaveUpError,
    InvalidConfigError,
    MisplacedRecordError,
    TopicAccessError,
    UnknownTopicError,
)

PRODUCER = {"transactional.id": "id"}
SETTINGS = LoopSettings.of(["source"], {"group.id": "group"}, PRODUCER, 2)


@dataclass(frozen=True)
class Record:
    """A message as a consumer gives it."""

    at: tuple[int, int]
    content: bytes = b"value"
    of: str = "source"

    def error(self) -> None:
        return None

    def topic(self) -> str:
        return self.of

    def partition(self) -> int:
        return self.at[0]

    def offset(self) -> int:
        return self.at[1]

    def key(self) -> bytes:
        return b"key"

    def value(self) -> bytes:
        return self.content


class MadeUpTime:
    """The clock of a member, which a consumer moves that has nothing to give."""

    now_s = 0.0

    def monotonic(self) -> float:
        return self.now_s


CLOCK = MadeUpTime()


@dataclass
class MadeUpConsumer:
    """Gives records, and what to call between them; tells what is committed."""

    gives: list[Any]
    member: str = "member"
    polls_left: int = 1_000
    where: dict[int, int | None] | int = field(default_factory=dict)
    waits: bool = False
    timeouts: list[float] = field(default_factory=list)

    def subscribe(self, topics: list[str], **callbacks: Any) -> None:
        self.topics, self.callbacks = topics, callbacks

    def poll(self, timeout: float) -> Any:
        if not self.gives:
            # Only a poll that gives nothing takes time, so a slow machine does not end a batch early. A real
            # wait is for other threads: a fast machine would use up the polls of a loop that waits.
            if self.waits:
                time.sleep(timeout)
            self.timeouts.append(timeout)
            CLOCK.now_s += timeout
            self.polls_left -= 1
            assert self.polls_left, "the loop waits for what never comes"
            return None
        first, *self.gives = self.gives
        return first(self) if callable(first) else first

    def committed(self, places: list[TopicPartition], _: float) -> list[Any]:
        """As `where` says: an offset, none where it is not settled, or an error of the whole question."""
        if isinstance(self.where, int):
            raise KafkaException(KafkaError(self.where))
        at = [(place, self.where.get(place.partition, -1001)) for place in places]
        return [
            SimpleNamespace(
                topic=place.topic, partition=place.partition, offset=offset, error=offset is None or None
            )
            for place, offset in at
        ]

    def consumer_group_metadata(self) -> str:
        return "metadata"

    def memberid(self) -> str:
        return self.member


@dataclass
class MadeUpProducer:
    """Raises errors at the commits, one after the other, then sets an event.

    After an error that tells only of a state, `begin_transaction` raises what has led there.
    """

    errors: list[Refusal]
    led_there: Refusal | None = None
    committed: Event = field(default_factory=Event)
    calls: list[Any] = field(default_factory=list)

    def init_transactions(self, _: float) -> None:
        pass

    def begin_transaction(self) -> None:
        if self.led_there is not None and self.calls[-1:] == ["commit"]:
            raise KafkaException(self.led_there)
        self.calls = [*self.calls, "begin"]

    def produce(self, **record: Any) -> None:
        self.calls.append(record["topic"])

    def send_offsets_to_transaction(self, offsets: list[TopicPartition], *_: Any) -> None:
        self.calls.append([(place.partition, place.offset) for place in offsets])

    def commit_transaction(self, _: float) -> None:
        self.calls.append("commit")
        if not self.errors:
            self.committed.set()
        elif (error := self.errors.pop(0)) is not COMMITTED:
            raise KafkaException(error)

    def abort_transaction(self, _: float) -> None:
        self.calls.append("abort")


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "_watch", lambda _: None)
    monkeypatch.setattr(member, "LINGER_S", 2.0**-7)  # sums of it are exact
    monkeypatch.setattr(member, "time", CLOCK)


def lost(*partitions: int) -> Any:
    def call(consumer: MadeUpConsumer) -> None:
        consumer.callbacks["on_lost"](consumer, [TopicPartition("source", number) for number in partitions])

    return call


def reading(consumer: Any) -> LoopMember:
    return LoopMember(consumer, ["source", "other"], 500)


def places(records: Any) -> list[tuple[int, int]]:
    return [record.at for record in records]


def test_records_of_partitions_that_are_gone_are_left_out() -> None:
    records = [Record((0, 5)), Record((1, 7)), lost(0), Record((1, 8)), Record((0, 9))]
    read, metadata = reading(MadeUpConsumer(records)).read()
    assert (places(read), metadata) == ([(1, 7), (1, 8), (0, 9)], "metadata")


def test_records_of_another_topic_stay_when_a_partition_of_that_number_is_gone() -> None:
    records = [Record((0, 5)), Record((0, 6), of="other"), lost(0)]
    assert places(reading(MadeUpConsumer(records)).read()[0]) == [(0, 6)]


def test_whoever_is_no_member_deals_with_no_record_and_keeps_it() -> None:
    consumer = MadeUpConsumer([Record((0, 5))], member="")
    one = reading(consumer)
    assert places(one.read()[0]) == []
    consumer.member = "member"
    assert places(one.read()[0]) == [(0, 5)]


def test_what_is_not_done_is_given_again_unless_its_partition_is_gone() -> None:
    consumer = MadeUpConsumer([Record((0, 5)), Record((1, 7)), Record((0, 6))])
    one = reading(consumer)
    assert places(one.read()[0]) == [(0, 5), (1, 7), (0, 6)]
    consumer.gives = [lost(0), Record((1, 8))]
    assert places(one.read()[0]) == [(1, 7), (1, 8)]


def test_what_is_done_is_not_given_again() -> None:
    one = reading(MadeUpConsumer([Record((0, 5))]))
    one.read()
    one.mark_processed(1)
    assert places(one.read()[0]) == []


def test_a_partition_that_comes_back_may_begin_where_it_was() -> None:
    consumer = MadeUpConsumer([Record((0, 7)), Record((0, 8)), Record((1, 3)), lost(0), Record((0, 7))])
    assert places(reading(consumer).read()[0]) == [(1, 3), (0, 7)]


def test_a_record_that_comes_again_ends_the_loop() -> None:
    consumer = MadeUpConsumer([Record((0, 5)), Record((0, 6))])
    one = reading(consumer)
    one.read()
    one.mark_processed(1)
    consumer.gives = [lost(1), Record((0, 6))]
    with pytest.raises(GaveUpError, match="source/0: the consumer gave offset 6, though all before 7 was"):
        one.read()


def test_a_record_of_the_batch_that_comes_again_ends_the_loop() -> None:
    one = reading(MadeUpConsumer([Record((0, 5)), Record((0, 6)), Record((0, 5))]))
    with pytest.raises(GaveUpError, match="gave offset 5, though all before 7"):
        one.read()


@pytest.mark.parametrize("comes_back", [[], [lost(0)]], ids=["at first", "when it comes back"])
def test_a_partition_that_begins_before_what_is_committed_ends_the_loop(comes_back: list[Any]) -> None:
    consumer = MadeUpConsumer([Record((0, 5)), Record((1, 7))] if comes_back else [], where={0: 5, 1: -1001})
    one = reading(consumer)
    one.read()
    one.mark_processed(1)
    consumer.gives, consumer.where = [*comes_back, Record((1, 8)), Record((0, 5))], {0: 6, 1: 8}
    with pytest.raises(GaveUpError, match="source/0: the consumer gave offset 5, though all before 6"):
        one.read()


@pytest.mark.parametrize("fault", ["all", "one"])
def test_until_it_is_known_what_is_committed_records_wait(fault: str) -> None:
    consumer = MadeUpConsumer([Record((0, 5))], where=KafkaError._TIMED_OUT if fault == "all" else {0: None})
    one = reading(consumer)
    assert places(one.read()[0]) == []
    consumer.where = {0: 5}
    assert places(one.read()[0]) == [(0, 5)]
    consumer.where = KafkaError._TIMED_OUT  # it is not asked again
    assert places(one.read()[0]) == [(0, 5)]


@pytest.mark.parametrize(
    ("where", "told"),
    [
        (KafkaError._TIMED_OUT, "not known yet what is committed: KafkaError{code=_TIMED_OUT"),
        ({0: None}, "not known yet what is committed of source/0: "),
    ],
)
def test_what_records_wait_for_is_told(where: Any, told: str, caplog: pytest.LogCaptureFixture) -> None:
    reading(MadeUpConsumer([Record((0, 5))], where=where)).read()
    assert [record.getMessage().startswith(told) for record in caplog.records] == [True]


def test_what_is_committed_of_a_partition_that_is_gone_ends_nothing() -> None:
    consumer = MadeUpConsumer([Record((0, 5))], where=KafkaError._TIMED_OUT)
    one = reading(consumer)
    one.read()
    # Its next owner has committed meanwhile.
    consumer.gives, consumer.where = [lost(0), Record((1, 3))], {0: 9, 1: 3}
    assert places(one.read()[0]) == [(1, 3)]


@pytest.mark.parametrize(
    ("callback", "told"),
    [
        ("on_assign", "got partitions ['source/0', 'source/3']"),
        ("on_revoke", "gave back or lost partitions ['source/0', 'source/3']"),
        ("on_lost", "gave back or lost partitions ['source/0', 'source/3']"),
    ],
)
def test_each_change_of_partitions_is_told(
    callback: str, told: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    consumer = MadeUpConsumer([])
    reading(consumer)
    consumer.callbacks[callback](consumer, [TopicPartition("source", number) for number in (0, 3)])
    assert [record.getMessage() for record in caplog.records] == [told]


def test_who_may_not_know_what_is_committed_hears_so() -> None:
    consumer = MadeUpConsumer([Record((0, 5))], where=KafkaError.GROUP_AUTHORIZATION_FAILED)
    with pytest.raises(KafkaException, match="GROUP_AUTHORIZATION_FAILED"):
        reading(consumer).read()


@dataclass(frozen=True)
class Fault:
    """A message that is an error, as a consumer gives it."""

    code: int
    retriable: bool = False

    def error(self) -> KafkaError:
        return KafkaError(self.code, "words", retriable=self.retriable)


def test_an_error_that_passes_is_told_and_reading_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    passing = [Fault(KafkaError._MAX_POLL_EXCEEDED), Fault(KafkaError._TRANSPORT, retriable=True)]
    consumer = MadeUpConsumer([Record((0, 5)), *passing, Record((0, 6))])
    assert places(reading(consumer).read()[0]) == [(0, 5), (0, 6)]
    assert [record.getMessage().startswith("reading: ") for record in caplog.records] == [True, True]


def test_the_end_of_a_partition_is_no_news(caplog: pytest.LogCaptureFixture) -> None:
    consumer = MadeUpConsumer([Fault(KafkaError._PARTITION_EOF), Record((0, 5))])
    assert places(reading(consumer).read()[0]) == [(0, 5)]
    assert caplog.records == []


def test_an_error_that_does_not_pass_ends_the_loop() -> None:
    with pytest.raises(KafkaException, match="words"):
        reading(MadeUpConsumer([Fault(KafkaError.TOPIC_AUTHORIZATION_FAILED), Record((0, 5))])).read()


def test_a_batch_is_no_longer_than_asked_for_and_waits_no_longer_than_its_time() -> None:
    consumer = MadeUpConsumer([Record((0, offset)) for offset in range(5)])
    one = LoopMember(consumer, ["source"], 3)  # type: ignore[arg-type]
    assert places(one.read()[0]) == [(0, 0), (0, 1), (0, 2)]
    assert (consumer.timeouts, consumer.topics) == ([], ["source"])
    one.mark_processed(3)
    assert places(one.read()[0]) == [(0, 3), (0, 4)]
    assert consumer.timeouts == [member.LINGER_S]


def test_what_follows_is_told_of_each_partition_of_each_topic() -> None:
    records: Any = [Record((0, 5)), Record((0, 6)), Record((0, 3), of="other"), Record((1, 0))]
    found = [(place.topic, place.partition, place.offset) for place in member.following(records)]
    assert found == [("source", 0, 7), ("other", 0, 4), ("source", 1, 1)]


def halves(message: Any) -> Any:
    """Two outputs, of which the second one may fail."""
    yield ProducerRecord("target", message.value(), message.key())
    if message.value() == b"{":
        raise ValueError("no order")
    yield ProducerRecord("audit", None, message.key())


def test_an_input_has_as_many_outputs_as_process_gives() -> None:
    found = loop._outputs(halves, "dead", Record((3, 4)))  # type: ignore[arg-type]
    assert found == [ProducerRecord("target", b"value", b"key"), ProducerRecord("audit", None, b"key")]


def test_a_poisoned_record_goes_to_the_dead_letters_as_it_was_and_alone() -> None:
    headers: Any = [("error", b"no order"), ("found at", b"source/3/4")]
    found = loop._outputs(halves, "dead", Record((3, 4), b"{"))  # type: ignore[arg-type]
    assert found == [ProducerRecord("dead", b"{", b"key", headers=headers)]


def test_without_dead_letters_a_poisoned_record_ends_the_loop() -> None:
    with pytest.raises(ValueError, match="no order"):
        loop._outputs(halves, None, Record((3, 4), b"{"))  # type: ignore[arg-type]


@pytest.mark.parametrize("given", [None, 5, [None], [("target", b"value")], "text"])
def test_what_is_no_output_names_process_and_record(given: Any) -> None:
    with pytest.raises(InvalidConfigError, match=r"process gave .* for source/3/4: give ProducerRecords"):
        loop._outputs(lambda _: given, "dead", Record((3, 4)))  # type: ignore[arg-type]


class Clock:
    """A clock that only work moves."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now


def processed(monkeypatch: pytest.MonkeyPatch, *each_s: float) -> tuple[list[Any], int]:
    """The outputs of records that take so long each, where the group waits for 7 s, and of how many."""
    clock, durations = Clock(), iter(each_s)
    monkeypatch.setattr(loop, "time", clock)

    def outputs_of(message: Any) -> list[ProducerRecord]:
        clock.now += next(durations)
        return [ProducerRecord("target", message.value())]

    settings = LoopSettings.of(["source"], {"group.id": "g", "max.poll.interval.ms": 7000}, PRODUCER, 20)
    records: Any = [Record((0, offset)) for offset in range(len(each_s))]
    return loop._process(records, outputs_of, settings)


def test_a_slow_batch_is_committed_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    outputs, count = processed(monkeypatch, *[0.7] * 20)
    assert (len(outputs), count) == (5, 5)


def test_a_fast_batch_is_committed_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    outputs, count = processed(monkeypatch, *[0.1] * 20)
    assert (len(outputs), count) == (20, 20)


def test_a_record_that_takes_longer_than_the_group_waits_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(
        GaveUpError, match=r"source/0/1 took 7\.5 s, longer than max\.poll\.interval\.ms \(7 s\).*batch"
    ):
        processed(monkeypatch, 0.1, 7.5)


def test_what_is_left_of_a_slow_batch_is_given_again() -> None:
    one = reading(MadeUpConsumer([Record((0, 5)), Record((0, 6)), Record((0, 7))]))
    one._batch = [Record((0, 5)), Record((0, 6))]  # type: ignore[list-item]
    one.mark_processed(1)
    assert places(one._batch) == [(0, 6)]


def test_an_output_for_a_partition_that_is_not_there_names_it() -> None:
    class Refuses:
        def produce(self, **_: Any) -> None:
            raise KafkaException(KafkaError(KafkaError._UNKNOWN_PARTITION))

    with pytest.raises(MisplacedRecordError, match="of topic 'target' into partition 7, which the topic"):
        loop._queue(Refuses(), ProducerRecord("target", partition=7), deadline=0)
    with pytest.raises(KafkaException):
        loop._queue(Refuses(), ProducerRecord("target"), deadline=0)


def test_dead_letters_without_their_topic_are_refused_before_anything_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asking = SimpleNamespace(poll=lambda _: None, close=lambda: None)
    monkeypatch.setattr(loop, "Producer", lambda _: asking)
    monkeypatch.setattr(loop, "cluster_metadata", lambda *_, **__: SimpleNamespace(topics={"dead": None}))
    loop.refuse_old_brokers({}, 1.0, "dead")
    with pytest.raises(UnknownTopicError, match="dead_letters is 'gone': the cluster has no such topic"):
        loop.refuse_old_brokers({}, 1.0, "gone")


@dataclass(frozen=True)
class Refusal:
    """What librdkafka says of an error."""

    says: str
    named: str = "_INCONSISTENT"

    def name(self) -> str:
        return self.named

    def str(self) -> str:
        return "words"

    def fatal(self) -> bool:
        return self.says == "fatal"

    def retriable(self) -> bool:
        return self.says == "again"

    def txn_requires_abort(self) -> bool:
        return self.says == "abort"


ABORT, AGAIN, FATAL = Refusal("abort"), Refusal("again"), Refusal("fatal")
COMMITTED = Refusal("nothing")
TURN = ["begin", "target", "target", [(0, 6), (1, 8)], "commit"]


def turns(*errors: Refusal, records: int = 2, led_there: Refusal | None = None) -> MadeUpProducer:
    """A producer that went through these at the same two records, or at the next two after a commit."""
    producer = MadeUpProducer(list(errors), led_there)
    at = [place for later in range(records // 2) for place in ((0, 5 + later), (1, 7 + later))]
    consumer: Any = MadeUpConsumer([*map(Record, at)], waits=True)
    process: Any = lambda message: [ProducerRecord("target", message.value())]  # noqa: E731
    loop._run(SETTINGS, consumer, producer, partial(loop._outputs, process, None), producer.committed)
    return producer


@pytest.mark.live
@pytest.mark.parametrize(
    ("errors", "calls"),
    [
        ([], TURN),
        ([ABORT], [*TURN, "abort", *TURN]),
        ([ABORT] * 4, [*TURN, "abort"] * 4 + TURN),
        ([AGAIN, AGAIN], [*TURN, "commit", "commit"]),
        ([AGAIN, ABORT], [*TURN, "commit", "abort", *TURN]),
    ],
)
def test_an_error_is_dealt_with_as_librdkafka_says(errors: list[Refusal], calls: list[Any]) -> None:
    assert turns(*errors).calls == calls


@pytest.mark.live
@pytest.mark.parametrize(
    ("name", "way_out"),
    [
        ("ILLEGAL_GENERATION", "smaller batches"),
        ("UNKNOWN_MEMBER_ID", "smaller batches"),
        ("MSG_SIZE_TOO_LARGE", "max.message.bytes"),
        ("_INCONSISTENT", "look at the brokers"),
    ],
)
def test_a_batch_that_is_aborted_too_often_is_given_up_with_the_way_out(name: str, way_out: str) -> None:
    with pytest.raises(GaveUpError, match=f"'group'.*'id': 5 transactions.*{name}.*{way_out}"):
        turns(*[Refusal("abort", name)] * 5)


@pytest.mark.parametrize("says", ["abort", "nothing"])  # "nothing" is what `produce` says
def test_why_a_transaction_failed_is_told_where_the_call_tells_only_of_its_state(says: str) -> None:
    refused = Refusal("abort", "TOPIC_AUTHORIZATION_FAILED")
    with pytest.raises(TopicAccessError, match="topic 'target': this user needs WRITE on it"):
        turns(Refusal(says, "_STATE"), led_there=refused)


@pytest.mark.live
@pytest.mark.parametrize("says", ["abort", "nothing"])
def test_a_batch_is_given_up_for_what_each_of_its_transactions_failed_for(says: str) -> None:
    with pytest.raises(GaveUpError, match=r"5 transactions.*MSG_SIZE_TOO_LARGE.*max\.message\.bytes"):
        turns(*[Refusal(says, "_STATE")] * 5, led_there=Refusal("abort", "MSG_SIZE_TOO_LARGE"))


def test_only_aborts_in_a_row_are_counted() -> None:
    errors = [ABORT] * 4 + [COMMITTED] + [ABORT] * 4
    assert turns(*errors, records=20).calls.count("abort") == 8


def test_what_cannot_be_mended_ends_the_loop() -> None:
    with pytest.raises(KafkaException):
        turns(FATAL)


def test_a_call_is_not_made_again_for_ever() -> None:
    def call(_: float) -> None:
        raise KafkaException(AGAIN)

    with pytest.raises(KafkaException, match="again"):
        loop._again(call, deadline=0)
