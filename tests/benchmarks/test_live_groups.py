"""Who owned what in live groups, by what consumers said; what was measured; and a small group run now."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.live_groups.__main__ import PAGE, read_saved
from benchmarks.live_groups.comparing import CAUSES, Event, LedGeneration, events, generations, page
from benchmarks.live_groups.groups import GROUPS, LiveGroup
from benchmarks.live_groups.owning import (
    OwnedTime,
    count_samples,
    live_at,
    overlaps,
    ownership,
    windows,
    zombies,
)
from benchmarks.live_groups.running import Run, run_groups

SAID = {
    "assigned and revoked": ([[1, "assign", [0, 1]], [3, "revoke", [0]]], [(0, 1, 3), (1, 1, 9)]),
    "lost": ([[1, "assign", [0]], [2, "lost", [0]]], [(0, 1, 2)]),
    "closes": ([[1, "assign", [0]], [2, "close"], [3, "revoke", [0]], [4, "closed"]], [(0, 1, 2)]),
    "killed": ([[1, "assign", [0]], [2, "kill"]], [(0, 1, 2)]),
    "stopped": (
        [[1, "assign", [0]], [2, "stop"], [5, "continue"], [6, "lost", [0]], [7, "assign", [0]]],
        [(0, 1, 2), (0, 7, 9)],
    ),
}


@pytest.mark.parametrize(("said", "live"), SAID.values(), ids=SAID)
def test_a_process_owns_live_what_it_was_assigned(said: list, live: list[tuple[int, float, float]]) -> None:
    owned = ownership({"c0.1": said}, 9)
    assert [(period.partition, period.start, period.live_until) for period in owned] == live


def test_two_live_owners_are_found_in_samples_and_between_them() -> None:
    one, other = OwnedTime(0, "c0.1", 1, 5), OwnedTime(0, "c1.1", 4.98, 8)
    assert count_samples([one, other], 10) == (200, 0)
    assert overlaps([one, other]) == [(one, other)]
    assert count_samples([one, replace(other, start=4.9)], 10) == (200, 2)
    assert live_at([one, other], 4.99) == {0: ["c0.1", "c1.1"]}


def test_a_stopped_process_is_a_zombie_where_another_owns() -> None:
    stopped, other = OwnedTime(0, "c0.1", 1, 9, zombie_from=2), OwnedTime(0, "c1.1", 5, 10)
    assert overlaps([stopped, other]) == []
    assert zombies([stopped, other]) == {"c0.1": 4}


def test_an_event_ends_where_the_next_begins() -> None:
    assert windows([(1, "join c3"), (5, "grow")], 9) == [("join c3", 1, 5), ("grow", 5, 9)]


@pytest.fixture(scope="module")
def runs() -> list[Run]:
    return read_saved()


@pytest.fixture(scope="module")
def measured_events(runs: list[Run]) -> list[Event]:
    return [event for run in runs for event in events(run)]


@pytest.fixture(scope="module")
def led(runs: list[Run]) -> list[LedGeneration]:
    return [one for run in runs for one in generations(run)]


@pytest.mark.slow
def test_forty_events_and_more_met_four_clients(measured_events: list[Event], runs: list[Run]) -> None:
    assert len(measured_events) >= 40
    assert {client for run in runs for client in run["clients"].values()} == {
        "kafka-python",
        "aiokafka",
        "java",
        "librdkafka",
    }


@pytest.mark.slow
def test_no_partition_ever_had_two_live_owners(runs: list[Run]) -> None:
    assert [pair for run in runs for pair in overlaps(ownership(run["events"], run["ends"]))] == []


@pytest.mark.slow
def test_after_every_event_each_partition_has_the_owner_that_the_leader_named(
    measured_events: list[Event],
) -> None:
    assert {(event.group, event.event) for event in measured_events if not event.owned} == {
        ("range-static", "grow")
    }


@pytest.mark.slow
def test_every_leader_answers_as_ours(led: list[LedGeneration]) -> None:
    assert len(led) >= 100
    assert ("librdkafka", "cooperative-sticky") in {
        (generation.client, generation.assignor) for generation in led
    }
    assert [(generation.client, generation.assignor) for generation in led if not generation.equal] == []


@pytest.mark.slow
def test_every_event_that_misses_has_its_cause_and_no_other_has_one(measured_events: list[Event]) -> None:
    assert {
        (event.group, event.event) for event in measured_events if event.misses or not event.owned
    } == set(CAUSES)


@pytest.mark.slow
def test_the_page_is_what_the_comparison_says(runs: list[Run]) -> None:
    assert PAGE.read_text() == page(runs)


@pytest.mark.nightly
@pytest.mark.jvm
def test_small_groups_run_now_have_one_owner_each_by_the_answers_of_ours() -> None:
    shapes: dict[str, LiveGroup] = {group.name: group for group in GROUPS}
    small = [
        replace(shapes[name], events=("join c3", "leave c0"), gap_s=20)
        for name in ("range", "cooperative-sticky")
    ]
    for run in run_groups(small, len(small)):
        assert overlaps(ownership(run["events"], run["ends"])) == []
        assert [event.event for event in events(run) if event.owned] == ["join c3", "leave c0"]
        assert all(generation.equal for generation in generations(run) if generation.client != "librdkafka")
