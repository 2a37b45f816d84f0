"""The strategy of streams groups: equal to the class, sticky, and with standbys on other processes."""

from __future__ import annotations

import pytest

from assignors.streams.sticky import StreamsGroup, StreamsMember, StreamsStickyAssignor, Subtopology
from partitioning.errors import AssignorError, InvalidGroupError
from partitioning.java.collections import PriorityQueue
from tests.support.agreement import assert_agree
from tests.support.tasks import golden_lines, streams_difference

TOPOLOGY = [Subtopology("0", 4, stateful=True), Subtopology("1", 2)]


@pytest.mark.sampled
def test_it_answers_as_the_class_of_the_coordinator_did() -> None:
    assert_agree(map(streams_difference, golden_lines("streams-sticky", every=100)))


@pytest.mark.slow
def test_two_thousand_steps_are_recorded_with_standbys_and_state_on_disk() -> None:
    steps = [step for life in golden_lines("streams-sticky", every=1) for step in life["steps"]]
    assert len(steps) >= 2_000
    assert sum(any(standby for _, _, standby in step["assignment"]) for step in steps) >= 500
    assert sum(any("offsets" in member for member in step["members"]) for step in steps) >= 500


def test_tasks_stay_and_a_standby_is_never_in_the_process_of_its_active_task() -> None:
    members = [StreamsMember("a1", "A"), StreamsMember("a2", "A"), StreamsMember("b1", "B")]
    first = StreamsStickyAssignor().assign(StreamsGroup(TOPOLOGY, members, standby_replicas=1))
    in_process = {
        process: {task for member in names for task in first.active[member]}
        for process, names in (("A", ("a1", "a2")), ("B", ("b1",)))
    }
    assert sorted(len(mine) for mine in first.active.values()) == [2, 2, 2]
    assert not in_process["A"] & {*first.standby["a1"], *first.standby["a2"]}
    assert not in_process["B"] & set(first.standby["b1"])
    again = [
        StreamsMember(
            member.id, member.process_id, active=first.active[member.id], standby=first.standby[member.id]
        )
        for member in members
    ]
    assert StreamsStickyAssignor().assign(StreamsGroup(TOPOLOGY, again, standby_replicas=1)) == first


def test_tasks_without_members_are_an_error_as_in_the_jvm() -> None:
    with pytest.raises(AssignorError) as caught:
        StreamsStickyAssignor().assign(StreamsGroup(TOPOLOGY, []))
    assert caught.value.jvm_exception == "TaskAssignorException"


@pytest.mark.parametrize("group", [([*TOPOLOGY, TOPOLOGY[0]], []), (TOPOLOGY, [StreamsMember("a", "A")] * 2)])
def test_an_id_that_is_there_twice_is_refused(group: tuple) -> None:
    with pytest.raises(InvalidGroupError, match="is in the group twice"):
        StreamsGroup(*group)


def test_the_queue_is_java_s_and_no_sort() -> None:
    """What a JVM gave for [3, 1, 2, 1, 3, 1] with the letters as names of equals."""
    queue = PriorityQueue(lambda name: int(name[0]), ["3a", "1b", "2c", "1d", "3e", "1f"])
    assert [queue.poll() for _ in range(7)] == ["1b", "1d", "1f", "2c", "3e", "3a", None]
