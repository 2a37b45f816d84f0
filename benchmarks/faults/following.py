"""A scenario under way: processes that strike themselves, and what is done to brokers meanwhile."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from pathlib import Path
from signal import SIGCONT
from typing import TYPE_CHECKING, Any

from benchmarks.faults import hits
from benchmarks.faults.brokers import Site
from benchmarks.faults.processes import Processes
from benchmarks.faults.watching import Stalls

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.faults.brokers import Brokers
    from benchmarks.faults.scenario import Scenario


class Following(Site, ABC):
    """A site whose processes are kept running, and struck; a benchmark says what they do and what is counted.

    Attributes:
        folder: of the run.
        processes: of the run.
        watched: the topic whose readers may stand still, and how many partitions it has at first.
    """

    watched: tuple[str, int]

    @abstractmethod
    def run(self) -> str:
        """Strike as the plan says until the processes have done their work; what became of them."""

    @abstractmethod
    def count_records(self, struck: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """What the topics hold in the end, as `measured.json` has it; `struck` are the faults that struck."""

    def __init__(self, site: Site, scenario: Scenario, module: str, folder: Path) -> None:
        super().__init__(site.broker, site.proxy, site.clients)
        self.folder = folder
        self.processes = Processes(module, folder)
        self._scenario = scenario
        self._frozen: dict[int, float] = {}  # when to wake a process
        self._mend_at: list[float] = []
        self._struck = 0

    def plan(self, **more: Any) -> None:
        """Write down for the processes what is to happen."""
        plan = {"faults": self._scenario.faults, "servers": self.clients["bootstrap.servers"], **more}
        (self.folder / "plan.json").write_text(json.dumps(plan))

    @property
    def is_struck(self) -> bool:
        """Whether a process stands still, or something is not mended yet."""
        return bool(self._frozen or self._mend_at)

    def follow(self, names: Sequence[str]) -> None:
        """Keep processes of these names running, and strike where one of them waits for it."""
        for name in names:
            self.processes.keep(name)
        for hit in hits.read(self.folder, after=self._struck):
            self._struck += 1
            self._strike(hit)
        self._wake()
        time.sleep(0.02)

    def end(self) -> str:
        """End all processes; says so where one did not end in order."""
        self._wake(at_once=True)
        return self.processes.end()

    def _strike(self, hit: dict[str, Any]) -> None:
        if hit["fault"] == "freeze":
            self._frozen[hit["pid"]] = time.monotonic() + self._scenario.lasts_s
            if self._scenario.replaced:
                processes = self.processes
                processes.replaced.append(processes.running.pop(hit["name"]))
        elif hit["fault"] == "wait":
            self._scenario.strike(self)
            (self.folder / f"done-{hit['number']:03}").touch()
            self._mend_at.append(time.monotonic() + self._scenario.lasts_s)

    def _wake(self, *, at_once: bool = False) -> None:
        now = time.monotonic()
        for pid, due in list(self._frozen.items()):
            if at_once or now >= due:
                del self._frozen[pid]
                for process in self.processes.every():
                    if process.pid == pid:
                        process.send_signal(SIGCONT)
        if self._mend_at and (at_once or now >= max(self._mend_at)):
            self._mend_at = []
            self._scenario.mend(self)


def run_scenario(
    name: str,
    scenario: Scenario,
    brokers: Brokers,
    make: Callable[[Site, Path], Following],
    settles_s: int = 0,
) -> dict[str, Any]:
    """Run a scenario, and count.

    Args:
        name: of the scenario.
        scenario: it.
        brokers: where it runs.
        make: makes the run from its site and folder.
        settles_s: seconds within which readers must go on after the end; 0: nobody waits for them.
    """
    started = time.monotonic()
    with (
        brokers.site(scenario) as site,
        tempfile.TemporaryDirectory(prefix="copartition-faults-") as folder,
    ):
        running = make(site, Path(folder))
        try:
            with Stalls(running.broker.bootstrap_servers, *running.watched) as stalls:
                outcome = running.run()
                if settles_s and not stalls.wait_for_end(within_s=settles_s):
                    outcome += ", readers stand still"
        finally:
            running.end()
        if outcome != "finished":
            print(f"{name}, {outcome}: see {running.processes.keep_logs(name)}", file=sys.stderr)
        struck = hits.read(Path(folder))
        return {
            "outcome": outcome,
            "struck": len(struck),
            "open": sum(hit["open"] > 0 for hit in struck),
            **running.count_records(struck),
            "longest_stall_s": round(stalls.longest_s, 1),
            "seconds": round(time.monotonic() - started),
            "events": running.processes.errors(),
        }
