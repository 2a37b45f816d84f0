"""Assignors against the warm JVM: the grid of Kafka's own benchmark, with its join and rack cells put right.

The JVM's rounds come between ours, on the same group, and every answer is compared by its digest. Either side
is fed and answers in its own form: lists of objects there, `Group.next` and `PartitionList` here.
`SAVE_TABLES=1 make bench` writes the table to `benchmarks/assignors.md`. Where one call takes the JVM over a
minute it is left out, unless `PATIENT=1`.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pytest

from assignors import get_assignor
from tests.support.oracle import Oracle
from tests.support.workloads import Workload, digest

if TYPE_CHECKING:
    from collections.abc import Iterator

TURNS = 3
ROUNDS = 5
HERE = Path(__file__).parent

SIZES = {
    "100/5/10": (100, 5, 10),
    "1000/10/100": (1000, 10, 100),
    "1000/50/1000": (1000, 50, 1000),
    "10000/10/100": (10000, 10, 100),
    "10000/50/1000": (10000, 50, 1000),
    "800/50/50": (800, 50, 50),
    "2000/500/500": (2000, 500, 500),
}
EVENTS = ["full", "join", "leave"]
# The JVM's general algorithm looks at every partition for every partition.
TOO_SLOW_FOR_THE_JVM = {
    (size, event) for size in ("1000/50/1000", "5000/10/100") for event in ("join", "leave")
}


class Row(NamedTuple):
    """A line of the table; times in ms."""

    assignor: str
    cell: str
    event: str
    theirs: list[float]
    ours: list[float]

    def __str__(self) -> str:
        ours = f"{min(self.ours):.2f} | {median(self.ours):.2f}"
        if not self.theirs:
            return f"| {self.assignor} | {self.cell} | {self.event} | - | - | {ours} | - |"
        theirs = f"{min(self.theirs):.2f} | {median(self.theirs):.2f}"
        return (
            f"| {self.assignor} | {self.cell} | {self.event} | {theirs} | {ours} "
            f"| {min(self.theirs) / min(self.ours):.1f} |"
        )


class Table:
    """Runs the races and keeps what came out."""

    def __init__(self, oracle: Oracle) -> None:
        self._oracle = oracle
        self.rows: list[Row] = []
        self.lines: list[str] = []

    def race(self, benchmark, assignor: str, cell: str, workload: Workload, *, jvm: bool = True) -> None:
        """Rounds of ours and of the JVM's in turns; the answers have to be the same."""
        group = workload.group(get_assignor(assignor))
        partitions = workload.members * workload.ratio
        theirs: list[float] = []
        ours: list[float] = []
        answers = {digest(group, get_assignor(assignor).assign(group))}

        def their_turn(warm_up: int) -> None:
            rounds = 1 if theirs and theirs[0] > 1000 else ROUNDS
            answer = self._oracle.ask(
                "time", assignor=assignor, warm_up=warm_up, rounds=rounds, **workload.request
            )
            theirs.extend(answer["ms"])
            answers.add(answer["digest"])

        def our_turn() -> None:
            leader = get_assignor(assignor)
            start = time.perf_counter()
            leader.assign(group)
            ours.append((time.perf_counter() - start) * 1e3)

        def setup() -> None:
            if jvm and len(ours) % ROUNDS == 0:
                their_turn(0 if theirs else warm_ups(workload))

        benchmark.group = f"{assignor}, {cell}"
        benchmark.pedantic(our_turn, setup=setup, rounds=TURNS * ROUNDS, warmup_rounds=2)
        row = Row(assignor, cell, workload.event, theirs, ours)
        benchmark.extra_info.update(partitions=partitions, theirs=theirs, ours=ours)
        self.rows.append(row)
        assert len(answers) == 1, "the JVM answers differently"

    def __str__(self) -> str:
        rows = "".join(f"{row}\n" for row in self.rows)
        more = "".join(f"- {line}\n" for line in self.lines)
        return f"""# Assignors: ms an assignment on one core

Python {platform.python_version()}, NumPy {np.__version__}, {platform.machine()}; kafka-clients and
kafka-group-coordinator {self._oracle.versions()["kafka"]} on Java {self._oracle.versions()["java"]}, warm.
A cell is members/partitions per member/topics; "unequal" members subscribe in five blocks, "racks" are three
with two replicas a partition; "full" is a new group, "join" and "leave" one more or one less member in a
group that carries on. {TURNS * ROUNDS} rounds of each side, in turns of {ROUNDS}, fewer of the JVM's where one
takes over a second. The ratio is that of the best rounds: how many times faster we are. All answers are equal.
Again: `SAVE_TABLES=1 make bench`.

| assignor | cell | event | JVM best | JVM median | ours best | ours median | ratio |
|---|---|---|---|---|---|---|---|
{rows}
{more}"""


def warm_ups(workload: Workload) -> int:
    """Calls before the JVM is timed: many where a call is short, none where one takes long anyway."""
    cost = workload.members * workload.ratio * (workload.topics if workload.subscriptions == "unequal" else 1)
    return min(100, 5_000_000 // cost)


@pytest.fixture(scope="module")
def table(request) -> Iterator[Table]:
    with Oracle("-Xmx4g", timeout=900) as oracle:
        made = Table(oracle)
        yield made
        with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
            print(f"\n\n{made}")
        if os.environ.get("SAVE_TABLES"):
            (HERE / "assignors.md").write_text(str(made))


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    "name", ["cooperative-sticky", "sticky", "range", "roundrobin", "uniform", "broker-range"]
)
def test_equal_subscriptions(benchmark, table, name, size, event):
    table.race(benchmark, name, size, Workload(*SIZES[size], event))


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("size", ["100/5/10", "1000/10/100", "1000/50/1000", "5000/10/100"])
@pytest.mark.parametrize("name", ["cooperative-sticky", "sticky", "uniform", "broker-range", "range"])
def test_unequal_subscriptions(benchmark, table, name, size, event):
    members, ratio, topics = (int(number) for number in size.split("/"))
    jvm = "sticky" not in name or (size, event) not in TOO_SLOW_FOR_THE_JVM or "PATIENT" in os.environ
    workload = Workload(members, ratio, topics, event, "unequal")
    table.race(benchmark, name, f"{size} unequal", workload, jvm=jvm)


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("size", ["1000/10/100", "1000/50/1000"])
@pytest.mark.parametrize("name", ["cooperative-sticky", "range"])
def test_racks(benchmark, table, name, size, event):
    table.race(benchmark, name, f"{size} racks", Workload(*SIZES[size], event, racks=3))


def test_reading_every_answer(benchmark, table):
    """What a million `TopicPartition` objects cost whoever wants them all."""
    group = Workload(2000, 500, 500).before()
    assignment = get_assignor("cooperative-sticky").assign(group)
    lists = benchmark.pedantic(lambda: [list(assignment[member]) for member in assignment], rounds=5)
    assert sum(map(len, lists)) == 1_000_000
    best = benchmark.stats.stats.min * 1e3
    table.lines.append(f"Reading 1,000,000 partitions as `TopicPartition`: {best:.0f} ms.")


def test_carrying_a_group_on(benchmark, table):
    """`Group.next`, which sorts what members report as the protocol does."""
    group = Workload(2000, 500, 500).before()
    assignment = get_assignor("cooperative-sticky").assign(group)
    carried = benchmark.pedantic(lambda: group.next(assignment), rounds=5)
    assert sum(len(member.owned) for member in carried.members) == 1_000_000
    table.lines.append(f"`Group.next` with 1,000,000 partitions: {benchmark.stats.stats.min * 1e3:.0f} ms.")


def test_cost_is_linear(benchmark, table):
    """The same members with two, four, ... times the partitions."""

    def nanoseconds(ratio):
        group = Workload(2000, ratio, 500, "join").group(get_assignor("cooperative-sticky"))
        seconds = []
        for _ in range(9):
            start = time.perf_counter()
            get_assignor("cooperative-sticky").assign(group)
            seconds.append(time.perf_counter() - start)
        return min(seconds) / (2000 * ratio) * 1e9

    def figures():
        return {2000 * ratio: nanoseconds(ratio) for ratio in (25, 50, 100, 250, 500)}

    cost = benchmark.pedantic(figures, rounds=1)
    text = ", ".join(f"{partitions:,} partitions {each:.0f}" for partitions, each in cost.items())
    table.lines.append(f"Cost, ns a partition when the last of 2,000 members joins: {text}.")


MEMORY = """
from pathlib import Path
from assignors import get_assignor
from tests.support.workloads import Workload

def peak():  # of this process alone; ru_maxrss would start with the parent's
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(line.split()[1] for line in lines if line.startswith("VmHWM"))

workload = Workload(2000, 500, 500, "join")
leader = get_assignor("cooperative-sticky")
group = workload.before()
fed = peak()
group = workload.after(group, leader.assign(group))
for _ in range(2):
    group = group.next(leader.assign(group))
print(fed, peak())
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's /proc")
def test_peak_memory(benchmark, table):
    """A chain of three rebalances over a million partitions, in a process of its own."""

    def peaks():
        command = [sys.executable, "-c", MEMORY]
        run = subprocess.run(command, cwd=HERE.parent, capture_output=True, text=True, check=True)
        return [int(kibibytes) / 1024 for kibibytes in run.stdout.split()]

    fed, peak = benchmark.pedantic(peaks, rounds=1)
    assert peak < 1024
    table.lines.append(
        f"Peak memory of three rebalances in a row, 1,000,000 partitions and 2,000 members: {peak:.0f} MiB, "
        f"{fed:.0f} MiB before the first."
    )
