"""Which worker gets which files, and when."""

import json
from types import SimpleNamespace

import pytest

from tests.support import schedule
from tests.support.schedule import RECORDED, SPARKS, Schedule, Scheduler, spark_groups

WORKERS = 5


class Worker:
    """A worker of pytest-xdist that notes which tests it gets."""

    shutting_down = False

    def __init__(self, number: int) -> None:
        self.gateway = SimpleNamespace(id=f"gw{number}")
        self.waiting: list[int] = []
        self.ran: list[int] = []

    def send_runtest_some(self, indices: list[int]) -> None:
        self.waiting += indices

    def shutdown(self) -> None:
        self.shutting_down = True


@pytest.fixture
def scheduler(monkeypatch: pytest.MonkeyPatch) -> Scheduler:
    monkeypatch.setattr(schedule, "tier", lambda: "test")
    config = SimpleNamespace(
        option=SimpleNamespace(loadscopereorder=True),
        getvalue=lambda _: ["popen"] * WORKERS,
    )
    return Scheduler(config, SimpleNamespace(loadscopesched=lambda *_: None))


def test_files_with_a_spark_session_are_shared_out_by_the_time_they_take():
    groups = spark_groups({"long": 100.0, "middle": 60.0, "short": 30.0, "shorter": 20.0})
    assert len(set(groups.values())) == SPARKS
    assert groups["long"] != groups["middle"] == groups["short"]
    assert groups["shorter"] == groups["middle"]


def test_every_test_runs_once_and_the_longest_files_begin(scheduler):
    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))
    files = [*recorded["test"], "tests/test_new.py"]
    tests = [f"{file}::test_{number}" for file in files for number in range(4)]
    workers = [Worker(number) for number in range(WORKERS)]
    for worker in workers:
        scheduler.add_node(worker)
        scheduler.add_node_collection(worker, tests)
    scheduler.schedule()
    first = [tests[worker.waiting[0]].partition("::")[0] for worker in workers]
    while any(worker.waiting for worker in workers):
        for worker in workers:
            if worker.waiting:
                worker.ran.append(worker.waiting.pop(0))
                scheduler.mark_test_complete(worker, worker.ran[-1])
    assert sorted(index for worker in workers for index in worker.ran) == list(range(len(tests)))
    spark = set(recorded["spark"])
    ran = [{tests[index].partition("::")[0] for index in worker.ran} for worker in workers]
    assert sum(bool(spark & files) for files in ran) == SPARKS
    seconds = recorded["test"]
    others = sorted(seconds.keys() - spark, key=lambda file: -seconds[file])[: WORKERS - SPARKS]
    assert set(others) == set(first) - spark


def test_durations_of_one_tier_are_recorded_beside_those_of_the_others(monkeypatch, tmp_path):
    monkeypatch.setattr(schedule, "RECORDED", path := tmp_path / "durations.json")
    monkeypatch.setattr(schedule, "tier", lambda: "ci")
    before = {"quick": {"a.py": 1.0}, "test": {"a.py": 2.0}, "ci": {"a.py": 3.0, "gone.py": 4.0}, "spark": []}
    path.write_text(json.dumps(before))
    (tmp_path / "a.py").touch()
    plugin = Schedule()
    plugin.pytest_runtest_logreport(
        SimpleNamespace(nodeid="a.py::test_it", duration=5.0, keywords={"shared_spark": True})
    )
    config = SimpleNamespace(getoption=lambda _: True, rootpath=tmp_path)
    plugin.pytest_sessionfinish(SimpleNamespace(config=config))
    assert json.loads(path.read_text()) == before | {"ci": {"a.py": 5.0}, "spark": ["a.py"]}
