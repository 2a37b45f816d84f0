"""Which worker gets which files, and when."""

import json
from types import SimpleNamespace

import pytest

from tests.support.schedule import RECORDED, SPARKS, Scheduler, spark_groups

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
def scheduler() -> Scheduler:
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
    files = [*recorded["seconds"], "tests/test_new.py"]
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
    seconds = recorded["seconds"]
    others = sorted(seconds.keys() - spark, key=lambda file: -seconds[file])[: WORKERS - SPARKS]
    assert set(others) == set(first) - spark
