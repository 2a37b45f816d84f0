"""Files that keep what was measured, a run a line, and what a table says of its machine and of chance."""

from __future__ import annotations

import json
import os
import platform
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Run = dict[str, Any]


def read_runs(file: Path, what: str) -> list[Run]:
    """The runs of a file, which are under this name in it; none where there is no file yet."""
    return json.loads(file.read_text())[what] if file.exists() else []


def versions(runs: Iterable[Run], of: str) -> str:
    """Each version of a program that runs were made with; they name it under a word such as "kafka"."""
    return " and ".join(sorted({run[of] for run in runs}))


def replace_runs(file: Path, what: str, runs: Sequence[Run], key: str, names: Sequence[str]) -> None:
    """Write runs in place of the ones with the same `key`, whose values have the order of `names`."""
    new = {run[key] for run in runs}
    both = [*(run for run in read_runs(file, what) if run[key] not in new), *runs]
    lines = ",\n".join(
        json.dumps(run, separators=(",", ":")) for run in sorted(both, key=lambda run: names.index(run[key]))
    )
    file.write_text(f'{{"{what}": [\n{lines}\n]}}\n')


CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
"""Linux has a folder for each cache of the first core here."""


def cache_sizes(caches: Path = CACHES) -> dict[str, str]:
    """The first core's caches, as Linux names their sizes: "2048K" by "L2"; none of instructions."""
    sizes = {}
    for folder in sorted(caches.glob("index*")):
        level, kind, size = (folder.joinpath(name).read_text().strip() for name in ("level", "type", "size"))
        if kind != "Instruction":
            sizes[f"L{level}"] = size
    return sizes


def machine(caches: Path = CACHES) -> str:
    """The machine in words: its kind, its cores, and the caches of a core as the machine tells them.

    A figure that was measured with one size of caches says little about a machine with others. What a machine
    does not tell is called unknown.
    """
    told = ", ".join(f"{name} {size}" for name, size in cache_sizes(caches).items()) or "unknown"
    return f"{platform.machine()}, {os.cpu_count()} cores, caches {told}"


def spread(times: Sequence[float]) -> float:
    """By how much the best times of the first and of the second half differ, as a share of the less.

    Both halves are runs of one table on one machine, so this is what another run may differ by.
    """
    middle = len(times) // 2
    least, most = sorted((min(times[:middle]), min(times[middle:])))
    return most / least - 1
