"""Tasks of Kafka Streams in the racks of their partitions: the cheapest places, and when nothing is moved."""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assignors import (
    StreamsClassicStickyAssignor,
    StreamsGroup,
    StreamsHighAvailabilityAssignor,
    StreamsMember,
    Subtopology,
    Topic,
)
from assignors.streams.racks import _Graph
from partitioning.errors import InvalidGroupError
from partitioning.topic_partition import TopicPartition
from tests.support.tiers import examples

if TYPE_CHECKING:
    from collections.abc import Sequence

TASKS = [TopicPartition("0", number) for number in range(4)]
ONE, TWO, THREE, FOUR = (f"{number:08x}-0000-4000-8000-000000000000" for number in (1, 2, 3, 4))
STRATEGIES = ["min_traffic", "balance_subtopology"]
HOME, AWAY = ["b", "a", "b", "a"], ["a", "b", "a", "b"]
"""Racks of partitions: all where Kafka Streams does not put their tasks by itself, and all where it does."""


def rack_settings(strategy: str, traffic_cost: int | None = 10, non_overlap_cost: int | None = 1) -> Any:
    return {
        "rack_aware_assignment_strategy": strategy,
        "rack_aware_assignment_traffic_cost": traffic_cost,
        "rack_aware_assignment_non_overlap_cost": non_overlap_cost,
    }


def application(
    racks: Sequence[str | None] = ("a", "b"),
    sources: Sequence[Sequence[str]] = (HOME,),
    changelogs: Sequence[Topic] | None = None,
    standbys: int = 0,
) -> StreamsGroup:
    """A stateful subtopology of four tasks, and a process in each of these racks; all state is everywhere."""
    topics = [Topic(f"source-{place}", 4, [*map(set, source)]) for place, source in enumerate(sources)]
    subtopology = Subtopology(
        "0", 4, stateful=True, source_topics=topics, changelog_topics=changelogs or topics
    )
    members = [
        StreamsMember(process, process, rack=rack, offsets=dict.fromkeys(TASKS, 5))
        for process, rack in zip((ONE, TWO, THREE, FOUR), racks, strict=False)
    ]
    return StreamsGroup(
        [subtopology], members, standby_replicas=standbys, end_offsets=dict.fromkeys(TASKS, 5)
    )


def high_availability(group: StreamsGroup, **more: Any) -> list[list[int]]:
    """The numbers of the active tasks of each process."""
    answer = StreamsHighAvailabilityAssignor(**more).assign(group)
    return [[task.partition for task in mine] for mine in answer.active.values()]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_tasks_go_to_the_racks_of_their_partitions(strategy: str) -> None:
    assert high_availability(application()) == [[0, 2], [1, 3]]
    assert high_availability(application(), **rack_settings(strategy)) == [[1, 3], [0, 2]]
    assert high_availability(application(sources=[AWAY]), **rack_settings(strategy)) == [[0, 2], [1, 3]]
    sticky = StreamsClassicStickyAssignor(**rack_settings(strategy)).assign(application())
    assert [task.partition for task in sticky.active[ONE]] == [1, 3]


def test_a_move_that_costs_as_much_as_the_traffic_is_not_made() -> None:
    assert high_availability(application(), **rack_settings("min_traffic", 10, 10)) == [[0, 2], [1, 3]]
    assert high_availability(application(), **rack_settings("min_traffic", 10, 9)) == [[1, 3], [0, 2]]
    assert high_availability(application(), **rack_settings("min_traffic", None, None)) == [[1, 3], [0, 2]]
    assert high_availability(application(), **rack_settings("min_traffic", None, 10)) == [[0, 2], [1, 3]]


@pytest.mark.parametrize(
    "group",
    [
        application(racks=["a", None]),
        application(racks=["a", ""]),
        application(sources=[["b", "a", "b", ""]]),
        application(sources=[HOME, ["b", "a", "", "a"]]),
        application(changelogs=[Topic("changelog", 4)], standbys=1),
    ],
)
def test_nothing_moves_where_a_rack_is_not_known(group: StreamsGroup) -> None:
    assert high_availability(group, **rack_settings("min_traffic")) == [[0, 2], [1, 3]]


def test_without_standby_tasks_changelogs_need_no_racks_but_for_the_sticky_strategy() -> None:
    group = application(changelogs=[Topic("changelog", 4)])
    assert high_availability(group, **rack_settings("min_traffic")) == [[1, 3], [0, 2]]
    sticky = StreamsClassicStickyAssignor(**rack_settings("min_traffic"))
    assert sticky.assign(group) == StreamsClassicStickyAssignor().assign(group)


def test_threads_of_a_process_in_two_racks_move_nothing() -> None:
    group = application()
    thread = StreamsMember("z", ONE, rack="b")
    two = StreamsGroup(group.subtopologies, [*group.members, thread], end_offsets=group.end_offsets)
    assert high_availability(two, **rack_settings("min_traffic")) == high_availability(two)


def test_the_sticky_strategy_moves_nothing_unless_both_costs_are_given() -> None:
    plain = StreamsClassicStickyAssignor().assign(application())
    for costs in ((10, None), (None, 1)):
        assignor = StreamsClassicStickyAssignor(**rack_settings("min_traffic", *costs))
        assert assignor.assign(application()) == plain


def test_two_processes_exchange_standby_tasks() -> None:
    """The second and the fourth do; each standby task comes to the rack of its changelog."""
    changelog = Topic("changelog", 4, [{"d"}, {"a"}, {"b"}, {"c"}])
    group = application("abcd", [["abcd"] * 4], [changelog], standbys=1)
    answers = [
        StreamsHighAvailabilityAssignor(**rack_settings(strategy)).assign(group)
        for strategy in ("none", "min_traffic")
    ]
    assert answers[0].active == answers[1].active
    standby = [[task.partition for mine in answer.standby.values() for task in mine] for answer in answers]
    assert standby == [[1, 0, 3, 2], [1, 2, 3, 0]]


@pytest.mark.parametrize(
    ("topics", "missing"),
    [
        ({"source_topics": [Topic("orders", 3)]}, "source_topics"),
        ({"source_topics": [Topic("orders", 4)]}, "changelog_topics"),
    ],
)
def test_topics_that_are_not_there_are_an_error(topics: dict[str, Any], missing: str) -> None:
    group = StreamsGroup([Subtopology("0", 4, stateful=True, **topics)], [StreamsMember("a", ONE)])
    for assignor in (StreamsHighAvailabilityAssignor, StreamsClassicStickyAssignor):
        with pytest.raises(InvalidGroupError, match=f"subtopology '0' has 4 tasks; give {missing}"):
            assignor(**rack_settings("min_traffic")).assign(
                StreamsGroup(group.subtopologies, group.members, end_offsets=dict.fromkeys(TASKS, 5))
            )


def test_a_process_keeps_its_share_of_each_subtopology() -> None:
    """All tasks of a subtopology would cost less in one process."""
    cost, owners = [[0, 9], [0, 9], [9, 0], [9, 0]], [0, 1, 0, 1]
    assert _Graph(cost, owners, []).cheapest() == [0, 0, 1, 1]
    balanced = _Graph(cost, owners, [2, 2]).cheapest()
    assert sorted(balanced[:2]) == sorted(balanced[2:]) == [0, 1]


@settings(max_examples=examples(60))
@given(st.data())
def test_no_exchange_is_cheaper(data: st.DataObject) -> None:
    """All ways in which processes keep their number of tasks, and about their share of each subtopology."""
    processes = data.draw(st.integers(1, 3))
    owners = data.draw(st.lists(st.integers(0, processes - 1), min_size=1, max_size=6))
    cost = [data.draw(st.lists(st.integers(0, 5), min_size=processes, max_size=processes)) for _ in owners]
    split = data.draw(st.integers(0, len(owners)))
    sizes = [size for size in (split, len(owners) - split) if size] if data.draw(st.booleans()) else []

    def is_allowed(places: Sequence[int]) -> bool:
        begin = 0
        for size in sizes:
            some = places[begin : begin + size]
            share = [-(-owners.count(process) * size // len(owners)) for process in range(processes)]
            if any(some.count(process) > share[process] for process in range(processes)):
                return False
            begin += size
        return True

    def total(places: Sequence[int]) -> int:
        return sum(costs[place] for costs, place in zip(cost, places, strict=True))

    found = _Graph(cost, owners, sizes).cheapest()
    assert sorted(found) == sorted(owners)
    assert is_allowed(found)
    assert total(found) == min(
        total(permutation) for permutation in set(permutations(owners)) if is_allowed(permutation)
    )
