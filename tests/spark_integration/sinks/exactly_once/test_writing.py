"""A task's writing against a real broker: what is in stays in, once, whatever ends an attempt."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from signal import SIGCONT, SIGSTOP
from threading import Event

import numpy as np
import pyarrow as pa
import pytest
from confluent_kafka import OFFSET_END, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from partitioning.clients.ledger import Entry
from partitioning.errors import CopartitionError, DeliveryError, FencedError, TopicChangedError
from spark_integration import (
    HalfWrittenError,
    LedgerAheadError,
    LedgerMissingError,
    PartitionCountError,
    RecordError,
    RerunDiffersError,
    RoutingError,
)
from spark_integration.sinks.exactly_once import writing
from spark_integration.sinks.exactly_once.driver import look_up, prepare
from spark_integration.sinks.exactly_once.faults import patiently
from spark_integration.sinks.exactly_once.half_done import fence
from spark_integration.sinks.exactly_once.target import Target
from spark_integration.sinks.exactly_once.writing import write_partition, write_task
from tests.spark_integration.sinks.exactly_once.rows import batches, forget, ledger, next_version, target
from tests.support.broker import Kafka
from tests.support.reading import read_topic
from tests.support.waiting import GENEROUS_S, wait_until

pytestmark = pytest.mark.needs("time")

OF_COMMITS_S = 1.0


class AttemptError(Exception):
    """What ends an attempt."""


@pytest.fixture
def first(broker: Kafka) -> Target:
    """Version 0 of a new application, on its way to a new topic of one partition."""
    return target(broker.bootstrap_servers, broker.create_topic(1))


@pytest.fixture
def small_transactions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "MOST_RECORDS", 200)


def dying_after(values: Sequence[int]) -> Iterator[pa.RecordBatch]:
    yield from batches(values)
    raise AttemptError


def written(of: Target) -> list[int]:
    return [int(record.value or b"") for record in read_topic(of.config["bootstrap.servers"], of.topic)]


def test_a_version_is_in_with_its_entry(first: Target) -> None:
    write_partition(batches(range(250)), first, 0)
    assert written(first) == [*range(250)]
    entry = ledger(first)
    digest = entry.digest if entry else ""
    assert entry == Entry(0, 250, digest, True, 1, 0, first.topic_id, since=0, added=250)


def test_a_version_without_records_is_in_the_ledger(first: Target) -> None:
    write_partition(batches([]), first, 0)
    assert ledger(first) == Entry(0, 0, ledger(first).digest, True, 1, 0, first.topic_id, since=0)  # type: ignore[union-attr]


@pytest.mark.parametrize("size", [100, 33, 1000])
def test_a_finished_version_is_not_written_again(first: Target, size: int) -> None:
    write_partition(batches(range(250)), first, 0)
    write_partition(batches(range(250), size=size), first, 0)
    assert written(first) == [*range(250)]


@pytest.mark.usefixtures("small_transactions")
@pytest.mark.parametrize("size", [100, 33, 1000])
def test_a_rerun_goes_on_at_the_next_record(first: Target, size: int) -> None:
    with pytest.raises(AttemptError):
        write_partition(dying_after(range(500)), first, 0)
    assert written(first) == [*range(400)]  # what was in the open transaction is not
    write_partition(batches(range(700), size=size), first, 0)
    assert written(first) == [*range(700)]


@pytest.mark.usefixtures("small_transactions")
def test_a_rerun_may_end_where_the_attempt_before_did(first: Target) -> None:
    with pytest.raises(AttemptError):
        write_partition(dying_after(range(400)), first, 0)
    write_partition(batches(range(400)), first, 0)
    assert written(first) == [*range(400)]
    write_partition(batches(range(3)), next_version(first), 0)
    assert written(first) == [*range(400), *range(3)]


OTHERS = {
    "fewer": range(199),
    "none": [],
    "in another order": [1, 0, *range(2, 400)],
    "another one": [7, *range(1, 400)],
}


@pytest.mark.usefixtures("small_transactions")
@pytest.mark.parametrize("finished", [True, False])
@pytest.mark.parametrize("values", OTHERS.values(), ids=OTHERS)
def test_other_records_than_before_are_refused(first: Target, values: Sequence[int], finished: bool) -> None:
    if finished:
        write_partition(batches(range(200)), first, 0)
    else:
        with pytest.raises(AttemptError):
            write_partition(dying_after(range(250)), first, 0)
    with pytest.raises(RerunDiffersError, match="200 records of partition 0 are in, and now"):
        write_partition(batches(values), first, 0)
    assert written(first) == [*range(200)]


def test_more_records_than_a_finished_version_has_are_refused(first: Target) -> None:
    write_partition(batches(range(200)), first, 0)
    with pytest.raises(RerunDiffersError, match="all 200 records of partition 0 are in, and now it has 201"):
        write_partition(batches(range(201)), first, 0)


def row_without_topic(values: Sequence[int]) -> Iterator[pa.RecordBatch]:
    for batch in batches(values):
        late = pa.array([None] * (batch.num_rows - 1) + [-1], pa.int64()).cast(pa.timestamp("us", "UTC"))
        yield batch.append_column("timestamp", late)


WRONG_ROWS: dict[str, tuple[Callable[[], Iterator[pa.RecordBatch]], type[CopartitionError]]] = {
    "of another partition": (lambda: batches([1], partition=1), RoutingError),
    "that are no records": (lambda: row_without_topic(range(10)), RecordError),
}


@pytest.mark.parametrize(("rows", "error"), WRONG_ROWS.values(), ids=WRONG_ROWS)
def test_rows_that_are_wrong_leave_nothing(
    first: Target, rows: Callable[[], Iterator[pa.RecordBatch]], error: type[CopartitionError]
) -> None:
    def after_good_ones() -> Iterator[pa.RecordBatch]:
        yield from batches(range(50))
        yield from rows()

    with pytest.raises(error):
        write_partition(after_good_ones(), first, 0)
    assert written(first) == []
    assert ledger(first) is None


def test_a_task_without_a_partition_is_refused(first: Target) -> None:
    with pytest.raises(RoutingError, match="task 1 has no partition"):
        write_task(batches([]), first, 1)


@pytest.fixture
def shared(broker: Kafka) -> Target:
    """Version 0 on its way to five partitions, which two tasks write."""
    return replace(target(broker.bootstrap_servers, broker.create_topic(5)), shared_by=2)


def of_partitions(*partitions: int, rows: int = 3) -> Iterator[pa.RecordBatch]:
    """So many rows of each of these partitions, together in one batch, each with its place as its value."""
    places = np.repeat(partitions, rows).astype(np.int32)
    values = pa.array([str(place).encode() for place in range(len(places))])
    yield pa.record_batch({"value": values, "partition": pa.array(places)})


def by_partition(of: Target) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for record in read_topic(of.config["bootstrap.servers"], of.topic):
        found.setdefault(record.partition, []).append(int(record.value or b""))
    return found


@pytest.mark.parametrize("held", [writing.HELD_BYTES, 1], ids=["at once", "as rows come"])
def test_a_task_writes_several_partitions_and_notes_each(
    shared: Target, monkeypatch: pytest.MonkeyPatch, held: int
) -> None:
    monkeypatch.setattr(writing, "HELD_BYTES", held)
    for _ in range(2):  # the second finds all there
        assert write_task(of_partitions(0, 4), shared, 0) == range(0, 5, 2)
    assert by_partition(shared) == {0: [0, 1, 2], 4: [3, 4, 5]}
    notes = [ledger(shared, partition) for partition in range(5)]
    assert [entry and (entry.records, entry.done) for entry in notes] == [
        (3, True),
        None,
        (0, True),
        None,
        (3, True),
    ]


UNFIT = {
    "of another task": ((0, 1), "holds a row of partition 1, which is not one of its own"),
    "of no partition": ((0, 6), "holds a row of partition 6"),
    "not sorted": ((0, 2, 0), "gets rows of partition 0 after those of partition 2"),
}


@pytest.mark.parametrize(("partitions", "fault"), UNFIT.values(), ids=UNFIT)
def test_rows_that_do_not_fit_a_shared_task_leave_nothing(
    shared: Target, partitions: tuple[int, ...], fault: str
) -> None:
    with pytest.raises(RoutingError, match=fault):
        write_task(of_partitions(*partitions), shared, 0)
    assert by_partition(shared) == {}
    assert ledger(shared) is None


def test_a_shared_task_goes_on_where_an_attempt_ended(
    shared: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dying() -> Iterator[pa.RecordBatch]:
        yield from of_partitions(0, 2)
        raise AttemptError

    monkeypatch.setattr(writing, "HELD_BYTES", 1)
    with pytest.raises(AttemptError):
        write_task(dying(), shared, 0)
    assert by_partition(shared) == {0: [0, 1, 2]}
    write_task(of_partitions(0, 2, 4), shared, 0)
    assert by_partition(shared) == {0: [0, 1, 2], 2: [3, 4, 5], 4: [6, 7, 8]}


@pytest.mark.usefixtures("small_transactions")
def test_a_version_waits_for_the_one_before(first: Target) -> None:
    with pytest.raises(AttemptError):
        write_partition(dying_after(range(200)), first, 0)
    with pytest.raises(HalfWrittenError, match="only 200 records of version 0"):
        write_partition(batches(range(3)), next_version(first), 0)


def test_a_version_that_went_back_is_refused(first: Target) -> None:
    write_partition(batches(range(3)), first, 0)
    write_partition(batches(range(3)), next_version(first), 0)
    with pytest.raises(LedgerAheadError, match="partition 0 holds version 1 already"):
        write_partition(batches(range(3)), first, 0)


def test_a_version_without_a_ledger_is_refused(first: Target) -> None:
    with pytest.raises(LedgerMissingError, match="txnFirstVersion=1"):
        write_partition(batches(range(3)), next_version(first), 0)
    write_partition(batches(range(3)), replace(next_version(first), first_version=1), 0)
    assert written(first) == [0, 1, 2]


def test_a_first_version_whose_ledger_is_gone_is_refused(first: Target) -> None:
    write_partition(batches(range(250)), first, 0)
    forget(first)
    with pytest.raises(LedgerMissingError, match=r"partition 0 has records.*txnFirstVersion=0"):
        write_partition(batches(range(250)), first, 0)
    assert written(first) == [*range(250)]
    write_partition(batches(range(2)), replace(first, first_version=0), 0)
    assert written(first) == [*range(250), 0, 1]


def test_records_that_are_deleted_count_as_well(broker: Kafka, first: Target) -> None:
    write_partition(batches(range(250)), first, 0)
    forget(first)
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    for deleted in admin.delete_records([TopicPartition(first.topic, 0, OFFSET_END)]).values():
        deleted.result()
    with pytest.raises(LedgerMissingError, match="has records, or had some"):
        write_partition(batches(range(250)), first, 0)


def test_somebody_elses_open_transaction_counts_as_well(first: Target) -> None:
    servers = {"bootstrap.servers": first.config["bootstrap.servers"]}
    other = Producer({**servers, "transactional.id": first.topic})
    other.init_transactions(30)
    other.begin_transaction()
    other.produce(first.topic, b"theirs", partition=0)
    other.flush()
    with pytest.raises(LedgerMissingError, match="partition 0 has records"):
        write_partition(batches(range(3)), first, 0)
    other.abort_transaction(30)
    write_partition(batches(range(3)), first, 0)
    assert written(first) == [0, 1, 2]


def test_an_attempt_that_came_to_nothing_leaves_no_records(first: Target) -> None:
    with pytest.raises(AttemptError):
        write_partition(dying_after(range(150)), first, 0)
    prepare(first)
    write_partition(batches(range(150)), first, 0)
    assert written(first) == [*range(150)]


def test_a_topic_of_the_same_name_is_another_topic(first: Target) -> None:
    write_partition(batches(range(3)), first, 0)
    with pytest.raises(TopicChangedError, match="a deleted topic of this name"):
        write_partition(batches(range(3)), replace(next_version(first), topic_id="made anew"), 0)


def test_a_topic_may_grow_between_versions(broker: Kafka, first: Target) -> None:
    write_partition(batches(range(3)), first, 0)
    broker.grow_topic(first.topic, 3)
    grown = replace(look_up(next_version(first)), partitions=3)
    for partition in (2, 0, 1):
        write_partition(batches([partition], partition), grown, partition)
    assert sorted(written(first)) == [0, 0, 1, 1, 2, 2]


@pytest.mark.usefixtures("small_transactions")
def test_a_version_ends_on_the_partitions_that_it_began_with(broker: Kafka, first: Target) -> None:
    with pytest.raises(AttemptError):
        write_partition(dying_after(range(200)), first, 0)
    broker.grow_topic(first.topic, 2)
    grown = replace(first, partitions=2)
    for partition in (0, 1):
        with pytest.raises(TopicChangedError, match="a part of it is in, placed for 1 partitions"):
            write_partition(batches(range(200), partition), grown, partition)
    write_partition(batches(range(300)), first, 0)
    assert written(first) == [*range(300)]


def test_a_finished_version_is_compared_by_the_count_it_was_placed_for(broker: Kafka, first: Target) -> None:
    write_partition(batches(range(3)), first, 0)
    broker.grow_topic(first.topic, 2)
    write_partition(batches(range(3)), first, 0)
    with pytest.raises(TopicChangedError, match="Place them for 1 once more"):
        write_partition(batches(range(3)), replace(first, partitions=2), 0)
    with pytest.raises(PartitionCountError, match="placed for 1 partitions, and the topic has 2"):
        write_partition(batches(range(3)), next_version(first), 0)


def test_a_half_version_of_another_format_is_refused(first: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spark_integration.sinks.exactly_once.target.FORMAT", 0)
    write_partition(batches(range(3)), first, 0)
    monkeypatch.undo()
    with pytest.raises(HalfWrittenError, match="noted in format 0 by another release"):
        write_partition(batches(range(3)), first, 0)
    write_partition(batches(range(3)), next_version(first), 0)
    assert written(first) == [0, 1, 2, 0, 1, 2]


def test_a_fenced_attempt_succeeds_if_its_records_are_in(first: Target) -> None:
    begun, replaced = Event(), Event()

    def waits() -> Iterator[pa.RecordBatch]:
        yield from batches(range(50))
        begun.set()
        replaced.wait(GENEROUS_S)
        yield from batches(range(50, 100))

    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(write_partition, waits(), first, 0)
        assert begun.wait(GENEROUS_S)
        write_partition(batches(range(100)), first, 0)
        replaced.set()
        slow.result(GENEROUS_S)
    assert written(first) == [*range(100)]


def write_slowly(version: Target, reached: Path, goes_on: Path) -> None:
    """Write 100 records, with a pause while a transaction of 20 is open."""

    def rows() -> Iterator[pa.RecordBatch]:
        yield from batches(range(80), size=20)
        reached.touch()
        while not goes_on.exists():
            time.sleep(0.01)
        yield from batches(range(80, 100), size=20)

    writing.MOST_RECORDS = 60
    write_partition(rows(), version, 0)


def test_a_worker_that_wakes_after_it_was_replaced_writes_nothing_twice(
    first: Target, tmp_path: Path
) -> None:
    reached, goes_on = tmp_path / "reached", tmp_path / "goes-on"
    worker = get_context("spawn").Process(target=write_slowly, args=(first, reached, goes_on))
    worker.start()
    try:
        wait_until(lambda: reached.exists() or not worker.is_alive())
        assert worker.is_alive()
        assert worker.pid is not None
        os.kill(worker.pid, SIGSTOP)
        write_partition(batches(range(100)), first, 0)
        goes_on.touch()
        os.kill(worker.pid, SIGCONT)
        worker.join(GENEROUS_S)
        assert worker.exitcode == 0
    finally:
        worker.kill()
        worker.join()
    assert written(first) == [*range(100)]


def test_an_attempt_that_is_fenced_while_it_waits_counts_all_its_rows(
    first: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "MOST_AGE_S", 0.3)

    def waits() -> Iterator[pa.RecordBatch]:
        yield from batches(range(50))
        write_partition(batches(range(100)), first, 0)
        time.sleep(1)  # the timer's commit is refused now
        yield from batches(range(50, 100))

    write_partition(waits(), first, 0)
    assert written(first) == [*range(100)]


def test_a_fenced_attempt_fails_if_others_are_in(first: Target) -> None:
    def replaced() -> Iterator[pa.RecordBatch]:
        yield from batches(range(50))
        write_partition(batches(range(99)), first, 0)
        yield from batches(range(50, 100))

    with pytest.raises(RerunDiffersError):
        write_partition(replaced(), first, 0)
    assert written(first) == [*range(99)]


def test_a_fenced_attempt_does_not_wait_forever(first: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "STANDSTILL_S", 0.1)

    def aborted() -> Iterator[pa.RecordBatch]:
        yield from batches(range(50))
        fence(first, [0])
        yield from batches(range(50, 100))

    told = "the brokers ended a transaction for its age, and nobody came further than 0 records"
    with pytest.raises(FencedError, match=told):
        write_partition(aborted(), first, 0)
    assert written(first) == []


def test_waiting_for_rows_holds_up_no_reader(first: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "MOST_AGE_S", 0.3)
    seen: list[list[int]] = []

    def waits() -> Iterator[pa.RecordBatch]:
        yield from batches(range(50))
        deadline = time.monotonic() + GENEROUS_S
        while not seen or (not seen[-1] and time.monotonic() < deadline):
            time.sleep(0.1)
            seen.append(written(first))
        yield from batches(range(50, 100))

    write_partition(waits(), first, 0)
    assert seen[-1] == [*range(50)]
    assert written(first) == [*range(100)]


def test_a_commit_that_does_not_come_back_ends_the_attempt(
    broker: Kafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit_ms = str(round(OF_COMMITS_S * 1000))
    short = {"kafka.transaction.timeout.ms": limit_ms, "kafka.delivery.timeout.ms": limit_ms}
    first = target(broker.bootstrap_servers, broker.create_topic(1), **short)
    released = Event()

    def hang(*_: object) -> None:
        released.wait(GENEROUS_S)

    with monkeypatch.context() as patch:
        patch.setattr(writing, "SLACK_S", 0.1)
        patch.setattr(writing, "patiently", hang_in_commits(hang))
        with pytest.raises(DeliveryError, match=r"did not end a transaction of partition 0 within 1\.1 s"):
            write_partition(batches(range(50)), first, 0)
    released.set()
    write_partition(batches(range(50)), first, 0)
    assert written(first) == [*range(50)]


def hang_in_commits(hang: Callable[..., None]) -> Callable[..., object]:
    """`patiently`, which the limit of a commit tells from the rest."""
    return lambda call, limit_s: hang() if limit_s == OF_COMMITS_S else patiently(call, limit_s)


def test_a_record_that_the_broker_refuses_is_named(broker: Kafka) -> None:
    small = target(
        broker.bootstrap_servers, broker.create_topic(1), **{"kafka.message.max.bytes": "10000000"}
    )
    large = pa.record_batch({"value": [b"x" * 2_000_000], "partition": pa.array([0], pa.int32())})
    with pytest.raises(DeliveryError, match="Message size too large"):
        write_partition(iter([large]), small, 0)
    assert ledger(small) is None
