"""The status of Kafka Connect's connectors as a group: workers, their tasks, and what is in trouble."""

from __future__ import annotations

import json

import pytest

from assignors import Topic
from copartition import Scenario, diff
from copartition.assignment_diff import plan
from copartition.groups import parse_snapshot, snapshot_bytes
from copartition.groups.capture.formats import check_head, parse_capture
from copartition.migrate.migration import plan_migration
from partitioning.errors import MigrationError, ScenarioError, SourceError
from partitioning.kit import limits


def status(connector: str, worker: str, *tasks: str, state: str = "RUNNING") -> dict[str, object]:
    """A connector as Connect tells of it, its tasks at these workers."""
    return {
        "status": {
            "name": connector,
            "connector": {"state": state, "worker_id": worker, "version": "4.3.1"},
            "tasks": [
                {"id": number, "state": state, "worker_id": task, "version": "4.3.1"}
                for number, task in enumerate(tasks)
            ],
            "type": "sink",
        }
    }


CLUSTER = {"one": status("one", "a:8083", "a:8083", "b:8083"), "two": status("two", "b:8083", "a:8083")}


def test_workers_are_members_and_tasks_their_partitions() -> None:
    text = json.dumps(CLUSTER)
    check_head(text)
    state, target = parse_capture(text)
    assert target is None
    assert {worker: sorted(map(tuple, mine)) for worker, mine in state.assignment.items()} == {
        "a:8083": [("connector:one", 0), ("one", 0), ("two", 0)],
        "b:8083": [("connector:two", 0), ("one", 1)],
    }
    assert (state.protocol, state.complete, state.members_complete) == ("connect", True, False)


def test_what_failed_is_said_and_what_is_unassigned_is_nobodys() -> None:
    cluster = {
        "one": status("one", "a:8083", "a:8083", state="FAILED"),
        "two": status("two", "gone:8083", state="UNASSIGNED"),
    }
    state, _ = parse_capture(json.dumps(cluster))
    assert [member.id for member in state.members] == ["a:8083"]
    assert state.member.tolist() == [0, 0, -1]
    assert state.warnings == (
        "connector:one-0 is FAILED, one-0 is FAILED; counted as their worker's all the same",
    )


@pytest.mark.parametrize(
    ("state", "runs"),
    [("PAUSED", True), ("STOPPED", True), ("RESTARTING", True), ("UNASSIGNED", False), ("DESTROYED", False)],
)
def test_a_task_stays_with_its_worker_unless_its_state_says_that_nobody_runs_it(
    state: str, runs: bool
) -> None:
    seen, _ = parse_capture(json.dumps({"one": status("one", "a:8083", "a:8083", state=state)}))
    assert seen.member.tolist() == ([0, 0] if runs else [-1, -1])
    assert bool(seen.warnings) is (state == "RESTARTING")


def test_a_change_of_workers_has_no_stop_of_a_consumer_group() -> None:
    before, _ = parse_capture(json.dumps(CLUSTER))
    after, _ = parse_capture(json.dumps({**CLUSTER, "two": status("two", "b:8083", "c:8083")}))
    change = diff(before, after)
    assert change.summary.moved == 1
    assert (change.stops, change.protocols) == ((), ())


def test_of_many_that_failed_five_are_named() -> None:
    state, _ = parse_capture(json.dumps({"one": status("one", "a", *"aaaaaa", state="FAILED")}))
    assert state.warnings[0].startswith("connector:one-0 is FAILED, one-0 is FAILED, one-1 is FAILED, ")
    assert "one-3 is FAILED and 2 more; counted" in state.warnings[0]


def test_a_connector_counts_with_its_tasks_against_the_most_partitions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster = json.dumps({"one": status("one", "a", "a", "b"), "t": status("t", "a", "a", "b")})
    monkeypatch.setattr(limits, "MAX_GROUP_PARTITIONS", 6)
    assert parse_capture(cluster)[0].member.size == 6
    monkeypatch.setattr(limits, "MAX_GROUP_PARTITIONS", 5)
    with pytest.raises(SourceError, match="the Connect cluster has 6 partitions"):
        parse_capture(cluster)


@pytest.mark.parametrize(("field", "value"), [("id", -1), ("worker_id", 7), ("state", None)])
def test_a_task_that_cannot_be_is_refused(field: str, value: object) -> None:
    cluster = {"one": status("one", "a", "a")}
    cluster["one"]["status"]["tasks"][0][field] = value  # type: ignore[index]
    with pytest.raises(SourceError, match="no whole answer to GET /connectors"):
        parse_capture(json.dumps(cluster))


@pytest.mark.parametrize("cut", [0.5, 0.9])
def test_a_status_that_is_cut_off_is_refused(cut: float) -> None:
    text = json.dumps(CLUSTER)
    with pytest.raises(SourceError, match="no whole answer to GET /connectors"):
        parse_capture(text[: int(len(text) * cut)])


def test_a_task_that_is_there_twice_is_refused() -> None:
    cluster = {"one": status("one", "a", "a", "b")}
    cluster["one"]["status"]["tasks"][1]["id"] = 0  # type: ignore[index]
    with pytest.raises(SourceError, match="connector 'one' has task 0 twice"):
        parse_capture(json.dumps(cluster))


@pytest.mark.parametrize("highest", [2, 3, 2147483646])
def test_a_task_that_is_not_in_the_answer_is_unknown_and_no_one_takes_it_for_unassigned(highest: int) -> None:
    cluster = {"one": status("one", "a", "a", "b")}
    cluster["one"]["status"]["tasks"][1]["id"] = highest  # type: ignore[index]
    state, _ = parse_capture(json.dumps(cluster))
    assert not state.complete
    assert state.warnings == (
        f"one shows 2 of {highest + 1} tasks; ask again when every task has a status, to know the others",
    )
    assert diff(state, parse_snapshot(snapshot_bytes(state))[0]).same


def test_consumers_and_workers_are_not_confused() -> None:
    state, _ = parse_capture(json.dumps(CLUSTER))
    with pytest.raises(SourceError, match="workers of Kafka Connect"):
        plan(state, "sticky")
    with pytest.raises(SourceError, match="'connect-eager' gives tasks to the workers"):
        plan(state, "connect-eager")
    with pytest.raises(ScenarioError, match="'connect-eager' gives tasks to the workers"):
        Scenario((Topic("t", 1),), (), assignor="connect-eager")
    with pytest.raises(MigrationError, match="'connect-eager' gives tasks to the workers"):
        plan_migration(("range",), ("connect-eager",))
