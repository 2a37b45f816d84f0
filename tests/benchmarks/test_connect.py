"""Connect's bytes, what became of real clusters beside its prediction, and a small cluster run now."""

from __future__ import annotations

import base64
from dataclasses import replace

import pytest

from benchmarks.connect.__main__ import PAGE, read_saved
from benchmarks.connect.comparing import Window, compare_windows, differences, down, page
from benchmarks.connect.predicting import CLUSTERS, Round
from benchmarks.connect.protocol import answer, reported_tasks
from benchmarks.connect.running import Run, run_cells
from partitioning.topic_partition import TopicPartition

ITSELF = TopicPartition("connector:a", 0)
TASKS = [TopicPartition("a", number) for number in range(3)]

# What a worker of connect-runtime 4.3.1 sent, and what its leader answered, as a broker logged them.
NEW_WORKER = "AAIAF2h0dHA6Ly8xMjcuMC4wLjE6MTg5NDUv////////////////"
WORKER_WITH_A = (
    "AAIAF2h0dHA6Ly8xMjcuMC4wLjE6MTg5NDUvAAAAAAAAAAcAAABxAAIAAAArZy93MS4xLTlkZGU0NmY0LWMyODUtNDMwZC04YjQwLTZm"
    "YjcxYWI4ZDI4ZQAXaHR0cDovLzEyNy4wLjAuMToyMzIwMC8AAAAAAAAABgAAAAEAAWEAAAAD/////wAAAAAAAAACAAAAAAAAAAA="
)
EAGER_WORKER = "AAAAF2h0dHA6Ly8xMjcuMC4wLjE6MTg5NDUvAAAAAAAAAAI="
ANSWER = (
    "AAIAAAArZy93MS4xLTlkZGU0NmY0LWMyODUtNDMwZC04YjQwLTZmYjcxYWI4ZDI4ZQAXaHR0cDovLzEyNy4wLjAuMToyMzIwMC8AAAAA"
    "AAAABgAAAAEAAWEAAAACAAAAAAAAAAIAAAAAAAAAAA=="
)


@pytest.mark.parametrize(
    ("sent", "tasks"),
    [(NEW_WORKER, []), (WORKER_WITH_A, [ITSELF, TASKS[0], TASKS[2]]), (EAGER_WORKER, [])],
    ids=["new", "runs something", "eager"],
)
def test_what_a_worker_reports_is_read(sent: str, tasks: list[TopicPartition]) -> None:
    assert reported_tasks(base64.b64decode(sent)) == tasks


def test_what_a_leader_answers_is_read() -> None:
    answered = answer(base64.b64decode(ANSWER))
    assert answered.assigned == [TASKS[0], TASKS[2]]
    assert (answered.revoked, answered.delay_ms, answered.config_offset, answered.error) == ([], 0, 6, 0)


@pytest.mark.parametrize(
    ("rounds", "seconds"),
    [
        ([Round(9, {"w1": TASKS[:1]}, {}, 20_000), Round(29, {"w1": TASKS[:2]}, {}, 0)], 28),
        ([Round(2, {"w1": []}, {"w1": TASKS[:1]}, 0), Round(5, {"w1": TASKS[:2]}, {}, 0)], 4),
        ([Round(None, {"w1": TASKS[:2]}, {}, 0)], None),
    ],
    ids=["lost", "revoked", "time unknown"],
)
def test_a_task_is_down_from_its_end_to_the_round_that_starts_it(
    rounds: list[Round], seconds: float | None
) -> None:
    assert down({"w1": TASKS[:1], "w2": TASKS[1:2]}, {"w2": 1}, rounds) == seconds


@pytest.fixture(scope="module")
def runs() -> list[Run]:
    return read_saved()


@pytest.fixture(scope="module")
def windows(runs: list[Run]) -> list[Window]:
    return [window for run in runs for window in compare_windows(run)]


@pytest.mark.slow
def test_workers_join_leave_and_crash_and_so_do_leaders(windows: list[Window]) -> None:
    assert len({window.cell for window in windows}) >= 12
    assert {"start", "leave", "crash", "create", "delete"} <= {window.what.split()[0] for window in windows}


@pytest.mark.slow
def test_every_leader_answers_as_our_rule(runs: list[Run]) -> None:
    assert sum(len(run["rounds"]) for run in runs) >= 100
    assert {run["cell"]: differences(run) for run in runs if differences(run)} == {}


@pytest.mark.slow
def test_all_rebalances_are_as_predicted(windows: list[Window]) -> None:
    assert [(window.cell, window.what, window.misses) for window in windows if window.misses] == []


@pytest.mark.slow
def test_the_page_is_what_the_comparison_says(runs: list[Run]) -> None:
    assert PAGE.read_text() == page(runs)


@pytest.mark.nightly
@pytest.mark.jvm
def test_a_cluster_that_is_run_now_has_leaders_that_answer_as_our_rule() -> None:
    """Everything runs somewhere again after each event, else the run raises `ClusterError`."""
    events = (("start w3",), ("crash follower",), ("start w4",), ("crash leader",))
    (run,) = run_cells([replace(CLUSTERS["join"], windows=events)], 1)
    assert differences(run) == []
    assert len(run["rounds"]) >= 8
    assert any(row["delay_ms"] for row in run["rounds"])
    assert any(tasks for row in run["rounds"] for tasks in row["revoked"].values())
    assert len({row["leader"] for row in run["rounds"]}) > 1
