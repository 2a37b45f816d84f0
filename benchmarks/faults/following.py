"""A scenario under way: processes that strike themselves, and what is done to brokers meanwhile."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from signal import SIGCONT
from typing import TYPE_CHECKING, Any

from benchmarks.faults import hits
from benchmarks.faults.brokers import Place, Site, nothing
from benchmarks.faults.processes import Processes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path


@dataclass(frozen=True)
class Faults(Place):
    """One kind of fault.

    Attributes:
        kind: what these faults are counted as.
        faults: one after the other; each strikes one process, at a drawn call.
        strike: what is done while a process waits.
        mend: what undoes it, `lasts_s` after the process goes on.
        lasts_s: as above; of a process that stands still, for how long.
        replaced: whether a process of the same name is started while one stands still.
    """

    kind: str
    faults: tuple[str, ...]
    strike: Callable[[Any], object] = nothing
    mend: Callable[[Any], object] = nothing
    lasts_s: float = 0.0
    replaced: bool = False


class Following(Site):
    """A site whose processes are kept running, and struck.

    Attributes:
        folder: of the run.
        processes: of the run.
    """

    def __init__(self, site: Site, faults: Faults, module: str, folder: Path) -> None:
        super().__init__(site.broker, site.proxy, site.clients)
        self.folder = folder
        self.processes = Processes(module, folder)
        self._faults = faults
        self._frozen: dict[int, float] = {}  # when to wake a process
        self._mend_at: list[float] = []
        self._struck = 0

    def plan(self, **more: Any) -> None:
        """Write down for the processes what is to happen."""
        plan = {"faults": self._faults.faults, "servers": self.clients["bootstrap.servers"], **more}
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
            self._frozen[hit["pid"]] = time.monotonic() + self._faults.lasts_s
            if self._faults.replaced:
                processes = self.processes
                processes.replaced.append(processes.running.pop(hit["name"]))
        elif hit["fault"] == "wait":
            self._faults.strike(self)
            (self.folder / f"done-{hit['number']:03}").touch()
            self._mend_at.append(time.monotonic() + self._faults.lasts_s)

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
            self._faults.mend(self)
