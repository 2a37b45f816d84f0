"""What a classic group of a Kafka Streams application is to its strategies: processes, tasks, reports."""

from __future__ import annotations

from dataclasses import replace

import pytest

from assignors import StreamsGroup, StreamsMember, Subtopology
from assignors.streams.application import RUNNING, Application, Process, task_name
from partitioning.errors import InvalidGroupError
from partitioning.topic_partition import TopicPartition

ONE, TWO = (f"{number:08x}-0000-4000-8000-000000000000" for number in (1, 2))
TASKS = [TopicPartition("0", number) for number in range(2)]
GROUP = StreamsGroup([Subtopology("0", 2, stateful=True)], [StreamsMember("a", ONE)])


def process(threads: int, active: int = 0, standby: int = 0) -> Process:
    """A process of that many threads and tasks."""
    (made,) = Application(GROUP).processes
    return replace(made, racks=[None] * threads, active={*range(active)}, standby={*range(10, 10 + standby)})


def test_tasks_are_in_order_of_subtopologies_as_numbers() -> None:
    topology = [Subtopology("10", 1), Subtopology("9", 1, stateful=True)]
    application = Application(StreamsGroup(topology, GROUP.members))
    assert application.tasks == [("9", 0), ("10", 0)]
    assert (application.stateful, application.stateless) == ({("9", 0): 0}, [1])


def test_a_process_has_a_thread_for_each_member_and_what_runs_counts_for_its_report() -> None:
    members = [
        StreamsMember("a", ONE, rack="r", offsets={TASKS[0]: 7, TASKS[1]: 8}, active=TASKS[1:]),
        StreamsMember("b", ONE),
        StreamsMember("c", TWO, offsets={TopicPartition("gone", 0): 1}),
    ]
    processes = {
        str(application_process.id): application_process
        for application_process in Application(StreamsGroup(GROUP.subtopologies, members)).processes
    }
    assert processes[ONE].offsets == {0: 7, 1: RUNNING}
    assert sorted(map(str, processes[ONE].racks)) == ["None", "r"]
    assert (processes[TWO].threads, processes[TWO].offsets) == (1, {})


def test_loads_are_tasks_by_thread_standby_tasks_included() -> None:
    assert process(2, active=3, standby=2).load() == 2.5
    assert process(2, active=3).load(-1) == 1.0


@pytest.mark.parametrize(
    ("giver", "taker", "gives"),
    [
        (process(1, 2), process(1, 0), True),
        (process(1, 1), process(1, 0), False),
        (process(1, 2), process(1, 1), False),
        (process(1, 0), process(1, 2), False),
        (process(2, 4), process(1, 0), True),
    ],
    ids=["two more", "swaps them only", "one more", "has fewer", "is even afterwards by thread"],
)
def test_a_process_gives_a_task_if_loads_are_more_even_then(
    giver: Process, taker: Process, gives: bool
) -> None:
    assert giver.should_give_to(taker) is gives


@pytest.mark.parametrize(
    ("group", "message"),
    [
        (replace(GROUP, subtopologies=[Subtopology("orders", 1)]), "subtopology 'orders': give a number"),
        (replace(GROUP, members=[StreamsMember("a", "A")]), "process 'A': give a UUID"),
    ],
)
def test_ids_that_no_application_has_are_refused(group: StreamsGroup, message: str) -> None:
    with pytest.raises(InvalidGroupError, match=message):
        Application(group)


def test_a_task_is_named_as_kafka_streams_names_it() -> None:
    assert task_name(TopicPartition("1", 3)) == "1_3"
