"""Commands from start to end, in processor time, beside an interpreter that does nothing.

The large groups are two captures of 100,000 partitions and 2,000 members. Each line has its limit, which is
held. `SAVE_TABLES=1 make bench` writes the table to `benchmarks/commands.md`.
"""

from __future__ import annotations

import os
import platform
import resource
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from benchmarks.measured import machine

if TYPE_CHECKING:
    from collections.abc import Iterator

PARTITIONS, MEMBERS, TOPICS = 100_000, 2_000, 20
ROUNDS = 5
SAVED = Path(__file__).with_name("commands.md")
DIFF = "from copartition.shell import assignment_diff as main; main()"
BARE = 5
"""As many bare interpreters may help take."""

CASES = {
    "--help": (["--help"], None),
    "text, nothing changed": (["before", "before"], 1.5),
    "text, all handed to the next member": (["before", "next"], 1.5),
    "text, all shuffled": (["before", "shuffled"], 1.5),
    "markdown, all shuffled": (["before", "shuffled", "-o", "markdown"], 1.5),
    "html, all shuffled": (["before", "shuffled", "-q", "--html", "page.html"], 2.0),
}


def seconds(*arguments: str, folder: Path | None = None) -> float:
    """Processor time of an interpreter, the best of some rounds."""
    times = []
    for _ in range(ROUNDS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run([sys.executable, *arguments], capture_output=True, check=False, cwd=folder)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert done.returncode in {0, 1}, done.stderr
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(times)


def capture(owners: np.ndarray) -> str:
    """What `kafka-consumer-groups --describe` prints."""
    row = "{:<8}{:<11}{:<10}{:<15}{:<15}{:<4}{:<45}{:<15}{}\n"
    titles = "GROUP TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG CONSUMER-ID HOST CLIENT-ID"
    rows = [row.format(*titles.split())]
    for place, owner in enumerate(owners.tolist()):
        client = f"billing-service-prod-{owner:05}"
        where = (f"orders-{place % TOPICS:02}", place // TOPICS, 5, 9, 4)
        host = f"/10.0.{owner // 250}.{owner % 250}"
        rows.append(row.format("billing", *where, f"{client}-8c1f6f0e", host, client))
    return "".join(rows)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Captures of the large group."""
    path = tmp_path_factory.mktemp("captures")
    before = np.arange(PARTITIONS) % MEMBERS
    sides = {
        "before": before,
        "next": (before + 1) % MEMBERS,
        "shuffled": np.random.default_rng(0).permutation(before),
    }
    for name, owners in sides.items():
        path.joinpath(name).write_text(capture(owners))
    return path


@pytest.fixture(scope="module")
def lines() -> Iterator[list[str]]:
    """Lines of the table, which are shown and kept at the end."""
    told: list[str] = []
    yield told
    table = "\n".join(
        [
            f"Python {platform.python_version()}, NumPy {np.__version__}, {machine()}.",
            f"Best of {ROUNDS} rounds. Again: `SAVE_TABLES=1 make bench`.",
            "",
            "| assignment-diff | s | bare interpreters | at most |",
            "|---|---|---|---|",
            *told,
        ]
    )
    print(f"\n{table}")
    if os.environ.get("SAVE_TABLES"):
        SAVED.write_text(f"# Commands: processor time from start to end\n\n{table}\n")


@pytest.mark.parametrize("name", CASES)
def test_command(benchmark, folder, lines, name):
    arguments, limit = CASES[name]
    bare = seconds("-c", "pass")
    root = str(Path(__file__).parents[1])
    script = f"import sys; sys.path.insert(0, {root!r}); {DIFF}"
    taken = benchmark.pedantic(seconds, ("-c", script, *arguments), {"folder": folder}, rounds=1)
    most = limit or BARE * bare
    lines.append(
        f"| {name} | {taken:.3f} | {taken / bare:.1f} | {f'{limit} s' if limit else f'{BARE} bare'} |"
    )
    assert taken <= most
