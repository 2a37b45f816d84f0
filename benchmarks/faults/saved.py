"""What runs under faults came to: a run a line in a file, a soak beside it, and the page made of both."""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

Json = dict[str, Any]

SUMS = ("struck", "open", "in_transaction", "records", "lost", "doubled", "misplaced", "out_of_order")
"""What is summed up over runs."""


@dataclass(frozen=True)
class SavedResults:
    """The results of one program.

    Attributes:
        folder: of `measured.json` and `soak.json`.
        page: the page's file.
        written: the page for the runs and the soak, or for None where there was no soak.
        scenarios: what strikes, by name, in the order of the table.
        way: the field of a run that says what is struck, such as "sink".
        ways: its values, in the order of the table.
    """

    folder: Path
    page: Path
    written: Callable[[list[Json], Json | None], str]
    scenarios: Mapping[str, Any]
    way: str
    ways: Collection[str]

    def cell(self, run: Json) -> tuple[int, int, int]:
        """Where a run stands in the table; a later run of a cell replaces the earlier one."""
        return [*self.scenarios].index(run["scenario"]), [*self.ways].index(run[self.way]), run["seed"]

    def measure(
        self,
        about: str | None,
        place: Callable[[], AbstractContextManager[Any]],
        run: Callable[[str, Any, Any, str, int], Json],
        skipped: Collection[tuple[str, str]] = (),
    ) -> None:
        """Run the cells that the command line asks for, and save each run.

        Args:
            about: what the program does, for its help.
            place: gives where scenarios run, for the time of all runs.
            run: runs the scenario of this name there, in one of the ways, with a seed.
            skipped: (way, scenario) that are not run.
        """
        options = argparse.ArgumentParser(prog=f"python -m benchmarks.{self.folder.name}", description=about)
        options.add_argument(
            "--seeds", type=int, nargs="+", default=[0], help="one run of each cell for each"
        )
        options.add_argument("--only", action="append", choices=self.scenarios, help="a scenario; repeatable")
        options.add_argument(f"--{self.way}", action="append", choices=self.ways, help="repeatable")
        chosen = vars(options.parse_args())
        with place() as where:
            for seed in chosen["seeds"]:
                for way in chosen[self.way] or self.ways:
                    for name in chosen["only"] or self.scenarios:
                        if (way, name) not in skipped:
                            done = run(name, self.scenarios[name], where, way, seed)
                            print(json.dumps(done), flush=True)
                            self.add(done)

    def runs(self) -> list[Json]:
        """The runs that were measured, in the order of their cells."""
        measured = self.folder / "measured.json"
        return json.loads(measured.read_text())["runs"] if measured.exists() else []

    def soak(self) -> Json | None:
        """The soak; None where it was not run."""
        soak = self.folder / "soak.json"
        return json.loads(soak.read_text()) if soak.exists() else None

    def add(self, done: Json) -> None:
        """Save a run."""
        kept = [run for run in self.runs() if self.cell(run) != self.cell(done)]
        runs = sorted([*kept, done], key=self.cell)
        # A run a line, so that a changed run is a changed line.
        lines = ",\n".join(json.dumps(run, separators=(",", ":")) for run in runs)
        (self.folder / "measured.json").write_text(f'{{"runs": [\n{lines}\n]}}\n')
        self.page.write_text(self.written(runs, self.soak()))

    def add_soak(self, found: Json) -> None:
        """Save a soak."""
        (self.folder / "soak.json").write_text(json.dumps(found) + "\n")
        self.page.write_text(self.written(self.runs(), self.soak()))


def row(name: str, kind: str, runs: list[Json], *more: str, summed: Sequence[str] = SUMS) -> list[str]:
    """A line of a table: how many runs, their sums, more, the longest stall, and how many finished."""
    sums = [f"{sum(run[name] for run in runs):,}" for name in summed]
    stall = f"{max(run['longest_stall_s'] for run in runs):.1f} s"
    finished = f"{sum(run['outcome'] == 'finished' for run in runs)} of {len(runs)}"
    return [name, kind, str(len(runs)), *sums, *more, stall, finished]


def table(fault: str, kind: str, rows: Iterable[list[str]], *more: str, summed: Sequence[str] = SUMS) -> str:
    """Such lines under their columns, of which the first two and the further ones are named."""
    sums = (name.replace("in_", "in a ").replace("_", " ") for name in summed)
    columns = [fault, kind, "runs", *sums, *more, "longest stall", "finished"]
    rule = ["---"] * 2 + ["---:"] * (len(columns) - 2)
    return "".join(f"| {' | '.join(line)} |\n" for line in [columns, rule, *rows])
