"""Kafka Streams' strategy of classic groups: equal to the class, and what it does with state and without."""

from __future__ import annotations

from typing import Any

import pytest

from assignors import StreamsGroup, StreamsHighAvailabilityAssignor, StreamsMember, Subtopology
from partitioning.errors import AssignorError, InvalidConfigError, InvalidGroupError
from partitioning.topic_partition import TopicPartition
from tests.support.agreement import assert_agree
from tests.support.tasks import application_difference, golden_lines

TASKS = [TopicPartition("0", number) for number in range(4)]
OLD, NEW = (f"{number:08x}-0000-4000-8000-000000000000" for number in (1, 2))
END = 1_000_000


@pytest.mark.sampled
def test_it_answers_as_the_class_of_kafka_streams_did() -> None:
    assert_agree(map(application_difference, golden_lines("streams-high-availability", every=100)))


@pytest.mark.slow
def test_two_thousand_steps_are_recorded_with_state_tags_warm_ups_and_exceptions() -> None:
    lives = list(golden_lines("streams-high-availability", every=1))
    steps = [(life["settings"], step) for life in lives for step in life["steps"]]
    assert len(steps) >= 2_000
    assert sum(step.get("probing", False) for _, step in steps) >= 500
    assert sum(bool(settings["tags"]) and settings["standbys"] > 0 for settings, _ in steps) >= 500
    assert sum("strategy" in settings for settings, _ in steps) >= 1_500
    assert (
        sum(any("offsets" in process.get("second", ()) for process in step["processes"]) for _, step in steps)
        >= 100
    )
    assert {step.get("error") for _, step in steps} == {
        None,
        "IllegalStateException",
        "NoSuchElementException",
        "NullPointerException",
    }


def application(*members: StreamsMember, standbys: int = 0, **attributes: Any) -> StreamsGroup:
    """One stateful subtopology of four tasks."""
    ends = dict.fromkeys(TASKS, END)
    return StreamsGroup(
        [Subtopology("0", 4, stateful=True)],
        members,
        **{"standby_replicas": standbys, "end_offsets": ends, **attributes},
    )


def test_a_new_process_warms_up_before_it_runs_what_it_should() -> None:
    old = StreamsMember("a", OLD, active=TASKS)
    first = StreamsHighAvailabilityAssignor(max_warmup_replicas=1).assign(
        application(old, StreamsMember("b", NEW))
    )
    assert (list(first.active[OLD]), list(first.standby[NEW])) == (TASKS, TASKS[1:2])
    assert first.probing_rebalance
    caught_up = StreamsMember("b", NEW, offsets={TASKS[1]: END - 10_000, TASKS[3]: END - 10_001})
    second = StreamsHighAvailabilityAssignor().assign(application(old, caught_up))
    assert list(second.active[NEW]) == TASKS[1:2]
    assert list(second.standby[NEW]) == TASKS[3:]


def test_loads_are_by_thread() -> None:
    threads = [StreamsMember(f"a{number}", OLD) for number in range(3)]
    answer = StreamsHighAvailabilityAssignor(acceptable_recovery_lag=2**63 - 1).assign(
        application(*threads, StreamsMember("b", NEW))
    )
    assert [len(mine) for mine in answer.active.values()] == [3, 1]
    assert not answer.probing_rebalance


def test_of_two_threads_that_report_a_task_the_one_that_java_meets_last_counts() -> None:
    runs = StreamsMember("a", OLD, active=TASKS)
    has_nothing = StreamsMember("b", OLD, offsets=dict.fromkeys(TASKS, 0))
    other = StreamsMember("c", NEW, offsets=dict.fromkeys(TASKS, END))
    assignor = StreamsHighAvailabilityAssignor()
    answer = assignor.assign(application(has_nothing, runs, other))
    assert answer == assignor.assign(application(runs, has_nothing, other))
    assert list(answer.active[NEW]) == TASKS


@pytest.mark.parametrize(
    ("attributes", "exception"),
    [
        ({"members": ()}, "NoSuchElementException"),
        ({"members": (), "subtopologies": [Subtopology("0", 1)]}, "NullPointerException"),
        ({"end_offsets": {}}, "IllegalStateException"),
    ],
)
def test_what_the_jvm_throws_is_an_error(attributes: dict[str, Any], exception: str) -> None:
    with pytest.raises(AssignorError) as caught:
        StreamsHighAvailabilityAssignor().assign(changed(attributes))
    assert caught.value.jvm_exception == exception


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"subtopologies": [Subtopology("orders", 1)]}, "subtopology 'orders': give a number"),
        ({"members": [StreamsMember("a", "A")]}, "process 'A': give a UUID"),
        ({"members": [StreamsMember("a", OLD, offsets={TASKS[2]: -1})]}, "offset -1 .* of task 0_2"),
        ({"end_offsets": dict.fromkeys(TASKS, -2)}, "end offset -2"),
    ],
)
def test_what_no_application_has_is_refused(attributes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidGroupError, match=message):
        StreamsHighAvailabilityAssignor().assign(changed(attributes))


def changed(attributes: dict[str, Any]) -> StreamsGroup:
    """A group of one process, but for these attributes."""
    rest = {name: value for name, value in attributes.items() if name != "subtopologies"}
    members = rest.pop("members", [StreamsMember("a", OLD, active=TASKS[:1])])
    group = application(*members, **rest)
    return StreamsGroup(
        attributes.get("subtopologies", group.subtopologies), group.members, end_offsets=group.end_offsets
    )


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        (
            {"rack_aware_assignment_strategy": "max_traffic"},
            "'max_traffic'; give one of none, min_traffic, balance_subtopology",
        ),
        ({"max_warmup_replicas": 0}, "max_warmup_replicas is 0; Kafka Streams accepts 1 to"),
        ({"acceptable_recovery_lag": -1}, "acceptable_recovery_lag is -1"),
        ({"rack_aware_assignment_tags": list("abcdef")}, "rack_aware_assignment_tags is 6"),
        ({"rack_aware_assignment_traffic_cost": 2**31}, "32-bit integers"),
    ],
)
def test_a_setting_that_kafka_streams_refuses_is_refused(setting: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidConfigError, match=message):
        StreamsHighAvailabilityAssignor(**setting)
