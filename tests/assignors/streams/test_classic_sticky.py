"""Kafka Streams' sticky strategy of classic groups: equal to the class, and what counts in it."""

from __future__ import annotations

import pytest

from assignors import StreamsClassicStickyAssignor, StreamsGroup, StreamsMember, Subtopology
from partitioning.errors import AssignorError, InvalidConfigError, InvalidGroupError
from partitioning.topic_partition import TopicPartition
from tests.support.agreement import assert_agree
from tests.support.tasks import classic_sticky_difference, golden_lines

TASKS = [TopicPartition("0", number) for number in range(4)]
OLD, NEW, THIRD = (f"{number:08x}-0000-4000-8000-000000000000" for number in (1, 2, 3))


@pytest.mark.sampled
def test_it_answers_as_the_class_of_kafka_streams_did() -> None:
    # One of these lives needs all four rounds of exchanges of standby tasks.
    assert_agree(map(classic_sticky_difference, golden_lines("streams-classic-sticky", every=96)))


@pytest.mark.sampled
def test_it_answers_as_the_class_of_kafka_streams_before_4_4_did() -> None:
    lives = golden_lines("streams-classic-sticky-4.3", every=30)
    assert_agree(classic_sticky_difference(life, "4.3") for life in lives)


@pytest.mark.parametrize(("version", "kept"), [("4.3", [2, 4]), ("4.4", [3, 4])])
def test_what_a_process_keeps_of_an_uneven_number_follows_the_version(version: str, kept: list[int]) -> None:
    tasks = [TopicPartition("0", number) for number in range(5)]
    running = StreamsMember("a", OLD, active=tasks, offsets=dict.fromkeys(tasks, 7))
    group = StreamsGroup([Subtopology("0", 5)], [running, StreamsMember("b", NEW), StreamsMember("c", NEW)])
    answer = StreamsClassicStickyAssignor(kafka_version=version).assign(group)
    assert [task.partition for task in answer.active[OLD]] == kept


def test_an_unknown_version_is_refused_and_the_known_ones_are_named() -> None:
    with pytest.raises(InvalidConfigError, match=r"kafka_version is '5\.0'; give one of 4\.3, 4\.4"):
        StreamsClassicStickyAssignor(kafka_version="5.0")


@pytest.mark.slow
def test_two_thousand_steps_are_recorded_with_state_standby_tasks_and_exceptions() -> None:
    lives = list(golden_lines("streams-classic-sticky", every=1))
    steps = [(life["settings"], step) for life in lives for step in life["steps"]]
    assert len(steps) >= 2_000
    assert sum(settings["standbys"] > 0 for settings, _ in steps) >= 1_000
    assert sum(any("active" in process for process in step["processes"]) for _, step in steps) >= 1_000
    assert sum("strategy" in settings for settings, _ in steps) >= 1_500
    assert (
        sum(any("offsets" in process.get("second", ()) for process in step["processes"]) for _, step in steps)
        >= 100
    )
    assert {step.get("error") for _, step in steps} == {
        None,
        "NullPointerException",
        "IllegalArgumentException",
    }


def application(*members: StreamsMember, standbys: int = 0) -> StreamsGroup:
    """One stateful subtopology of four tasks."""
    return StreamsGroup([Subtopology("0", 4, stateful=True)], members, standby_replicas=standbys)


def test_a_task_goes_where_it_runs_then_where_state_of_it_is_and_no_offset_counts() -> None:
    old = StreamsMember("a", OLD, active=TASKS)
    late, in_time = (StreamsMember("b", NEW, offsets={TASKS[0]: offset}) for offset in (0, 10**6))
    answers = [
        StreamsClassicStickyAssignor().assign(application(old, newcomer)) for newcomer in (late, in_time)
    ]
    assert answers[0] == answers[1]
    assert {process: len(mine) for process, mine in answers[0].active.items()} == {OLD: 2, NEW: 2}
    assert set(answers[0].active[OLD]) < set(TASKS)
    assert not answers[0].probing_rebalance


@pytest.mark.parametrize(("runs_it", "other"), [(OLD, NEW), (NEW, OLD)])
def test_a_task_is_where_a_thread_runs_it_whatever_another_thread_reports(runs_it: str, other: str) -> None:
    threads = [
        StreamsMember("a", runs_it, active=TASKS[:1]),
        StreamsMember("b", runs_it, offsets={TASKS[0]: 5}),
        StreamsMember("c", other, offsets={TASKS[0]: 5}),
        StreamsMember("d", other),
    ]
    for members in (threads, threads[::-1]):
        assert TASKS[0] in StreamsClassicStickyAssignor().assign(application(*members)).active[runs_it]


def test_the_order_of_tasks_decides_where_their_standby_tasks_go() -> None:
    members = [StreamsMember(name, process) for name, process in zip("abc", (OLD, NEW, THIRD), strict=True)]
    group = application(*members, standbys=1)
    assignor = StreamsClassicStickyAssignor()
    assert assignor.assign(group) == assignor.assign(group, standby_order=TASKS)
    other = [*TASKS[2:], *TASKS[:2]]
    assert assignor.assign(group).standby != assignor.assign(group, standby_order=other).standby


@pytest.mark.parametrize("order", [TASKS[:3], [*TASKS, TASKS[0]], [*TASKS[:3], TopicPartition("1", 0)]])
def test_an_order_that_is_not_that_of_all_tasks_is_refused(order: list[TopicPartition]) -> None:
    group = application(StreamsMember("a", OLD), StreamsMember("b", NEW), standbys=1)
    with pytest.raises(InvalidGroupError, match="standby_order: give each of the 4 stateful tasks once"):
        StreamsClassicStickyAssignor().assign(group, standby_order=order)


@pytest.mark.parametrize(
    ("version", "group", "exception"),
    [
        ("4.4", application(), "NullPointerException"),
        ("4.3", application(), "ArithmeticException"),
        ("4.3", StreamsGroup([], []), "ArithmeticException"),
        (
            "4.4",
            StreamsGroup([Subtopology("0", 46_342)], [StreamsMember("a", OLD)]),
            "IllegalArgumentException",
        ),
    ],
)
def test_what_the_jvm_throws_is_an_error(version: str, group: StreamsGroup, exception: str) -> None:
    with pytest.raises(AssignorError) as caught:
        StreamsClassicStickyAssignor(kafka_version=version).assign(group)
    assert caught.value.jvm_exception == exception


def test_since_4_4_nobody_with_nothing_to_do_is_no_error() -> None:
    assert not StreamsClassicStickyAssignor().assign(StreamsGroup([], [])).active
