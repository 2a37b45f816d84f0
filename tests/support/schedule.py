"""Which worker of pytest-xdist runs what, and when: the slowest files first, Spark's files in two workers.

`tests/durations.json` says how long each file took in each tier; `make durations` records it. A file that is
not in there is taken for one of the longer ones.
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xdist.scheduler import LoadScopeScheduling

from tests.support.tiers import tier

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pytest
    from xdist.workermanage import WorkerController

UNKNOWN = 30.0
"""Seconds that a file is taken to need that no record has."""
RECORDED = Path(__file__).parents[1] / "durations.json"
SPARKS = 2
"""So many workers share the files that take a Spark session: each of them has a session of its own."""


def spark_groups(seconds: Mapping[str, float]) -> dict[str, str]:
    """The group of each file that takes a Spark session, so that the groups take about as long as each other.

    Args:
        seconds: how long each of these files takes.
    """
    groups: dict[str, str] = {}
    taken = {f"Spark session {number}": 0.0 for number in range(1, SPARKS + 1)}
    for file in sorted(seconds, key=lambda file: (-seconds[file], file)):
        groups[file] = min(taken, key=taken.__getitem__)
        taken[groups[file]] += seconds[file]
    return groups


class Scheduler(LoadScopeScheduling):
    """A worker gets a file at a time, or half of the files that take a Spark session."""

    def __init__(self, config: pytest.Config, log: Any = None) -> None:
        super().__init__(config, log)
        recorded = json.loads(RECORDED.read_text(encoding="utf-8"))
        self._seconds: dict[str, float] = recorded[tier()]
        self._groups = spark_groups({file: self._seconds.get(file, UNKNOWN) for file in recorded["spark"]})
        self._indexes: dict[int, dict[str, int]] = {}

    def _split_scope(self, nodeid: str) -> str:
        file = nodeid.partition("::")[0]
        return self._groups.get(file, file)

    def _assign_work_unit(self, node: WorkerController) -> None:
        # The base class searches the list of all tests for each test, which takes seconds with 10,000 tests.
        if not self._indexes:
            self._order()
        scope, unit = self.workqueue.popitem(last=False)
        self.assigned_work.setdefault(node, {})[scope] = unit
        index = self._indexes.setdefault(id(node), {})
        if not index:
            index |= {nodeid: place for place, nodeid in enumerate(self.registered_collections[node])}
        node.send_runtest_some([index[nodeid] for nodeid, completed in unit.items() if not completed])

    def _order(self) -> None:
        """Put the scopes that take longest first: what is long at the end would be waited for by all."""
        seconds: dict[str, float] = defaultdict(float)
        for scope, unit in self.workqueue.items():
            for file in {nodeid.partition("::")[0] for nodeid in unit}:
                seconds[scope] += self._seconds.get(file, UNKNOWN)
        for scope in sorted(self.workqueue, key=lambda scope: -seconds[scope]):
            self.workqueue.move_to_end(scope)


class Schedule:
    """The plug-in of pytest's controller: our scheduler, and the record of durations that it needs."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = defaultdict(float)
        self._spark: set[str] = set()

    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> Scheduler | None:
        """Take our own scheduler where a file is what a worker gets."""
        return Scheduler(config, log) if config.getoption("dist") == "loadfile" else None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note how long a file takes, and whether it asks for the shared Spark session."""
        file = report.nodeid.partition("::")[0]
        self._seconds[file] += report.duration
        if "shared_spark" in report.keywords:
            self._spark.add(file)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write down what was noted; files that did not run keep what is recorded of them."""
        if session.config.getoption("record_durations"):
            recorded = json.loads(RECORDED.read_text(encoding="utf-8"))
            taken = {file: round(seconds, 1) for file, seconds in self._seconds.items()}
            recorded[tier()] = {
                file: seconds
                for file, seconds in sorted((recorded[tier()] | taken).items())
                if (session.config.rootpath / file).exists()
            }
            spark = (set(recorded["spark"]) - self._seconds.keys()) | self._spark
            recorded["spark"] = sorted(spark & recorded[tier()].keys())
            RECORDED.write_text(json.dumps(recorded, indent=1) + "\n", encoding="utf-8")
