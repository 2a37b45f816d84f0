"""Assignors against the warm JVM: the grid of Kafka's own benchmark, with its join and rack cells put right.

The JVM's rounds come between ours, on the same group, and every answer is compared by its digest. Either side
is fed and answers in its own form: lists of objects there, `Group.next` and `PartitionList` here. franz-go
has the same groups, but answers of its own.

`SAVE_TABLES=1 make bench` writes the table to `benchmarks/assignors.md`; a run of some cells (`pytest -k`)
replaces theirs and leaves the others. Where one call takes the JVM over a minute it is left out, unless
`PATIENT=1`.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, NamedTuple, Protocol, Self

import numpy as np
import pytest

from assignors import Explainer, Reason, get_assignor
from benchmarks.measured import machine
from partitioning.errors import AssignorError
from tests.support.oracle import Oracle
from tests.support.workloads import Workload, digest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TURNS = 2
ROUNDS = 5
HERE = Path(__file__).parent
SAVED = HERE / "assignors.md"

SIZES = {
    "5/4/1": (5, 4, 1),
    "100/5/10": (100, 5, 10),
    "1000/10/100": (1000, 10, 100),
    "1000/50/1000": (1000, 50, 1000),
    "10000/10/100": (10000, 10, 100),
    "10000/50/1000": (10000, 50, 1000),
    "800/50/50": (800, 50, 50),
    "2000/500/500": (2000, 500, 500),
}
UNEQUAL = {
    "100/5/10": (100, 5, 10),
    "1000/10/100": (1000, 10, 100),
    "1000/50/1000": (1000, 50, 1000),
    "5000/10/100": (5000, 10, 100),
}
FALSE_CLAIM = (("member1", "topic99", 1000),)
TWO_CLAIMS = (("member1", "topic0", 3), ("member2", "topic0", 5))
EVENTS = ["full", "join", "leave"]
KAFKA = ["cooperative-sticky", "sticky", "range", "roundrobin", "uniform", "broker-range"]
OPTIMAL = {"cooperative-optimal": "cooperative-sticky", "optimal": "sticky"}
"""Ours, and what franz-go has instead."""
TASKS = [
    "simple",
    "connect-eager",
    "connect-incremental",
    "streams-sticky",
    "streams-high-availability",
    "streams-classic-sticky",
]
"""Those of share groups, Connect and Kafka Streams, which `bench_tasks.py` runs."""
ALL = [*KAFKA, *OPTIMAL, *TASKS]


class Rival(Protocol):
    """Who runs against us."""

    name: str

    def turn(self, rounds: int) -> list[float]:
        """So many rounds, in ms."""


class Row(NamedTuple):
    """A line of the table; times in ms."""

    assignor: str
    cell: str
    event: str
    against: str
    theirs: list[float]
    ours: list[float]

    def __str__(self) -> str:
        theirs, ours = (
            " | ".join(f"{ms:.2f}" if ms >= 0.1 else f"{ms:.4f}" for ms in (min(times), median(times)))
            if times
            else "- | -"
            for times in (self.theirs, self.ours)
        )
        faster = min(self.theirs) / min(self.ours) if self.theirs else None
        ratio = "-" if faster is None else f"{faster:.1f}" if faster >= 0.1 else f"{faster:.2f}"
        return (
            f"| {self.assignor} | {self.cell} | {self.event} | {self.against} | {theirs} | {ours} | {ratio} |"
        )


class Jvm:
    """The JVM's assignor on a group; the oracle makes the group and times the call."""

    name = "the JVM"

    def __init__(self, oracle: Oracle, assignor: str, workload: Workload) -> None:
        self._oracle = oracle
        self._request = {"assignor": assignor, **workload.request}
        self._warm_up = warm_ups(workload)
        self.answers: set[str] = set()

    def turn(self, rounds: int) -> list[float]:
        """So many rounds, in ms."""
        answer = self._oracle.ask("time", warm_up=self._warm_up, rounds=rounds, **self._request)
        self._warm_up = 0
        self.answers.add(answer["digest"])
        times: list[float] = answer["ms"]
        return times


class FranzGo:
    """franz-go's balancer on a group, in a process of its own; its answers differ by design."""

    name = "franz-go"

    def __init__(self, assignor: str, workload: Workload) -> None:
        self._process = subprocess.Popen(
            ["go", "-C", HERE / "competitors" / "franz_go", "run", "."],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._given = workload.members * workload.ratio
        self._say(json.dumps({"assignor": assignor, **workload.request}))

    def turn(self, rounds: int) -> list[float]:
        """So many rounds, in ms."""
        return [self._round() for _ in range(rounds)]

    def _round(self) -> float:
        self._say("")
        assert self._process.stdout is not None
        nanoseconds, given = (int(number) for number in self._process.stdout.readline().split())
        assert given <= self._given
        return nanoseconds / 1e6

    def _say(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()


class Table:
    """Runs the races and keeps what came out."""

    def __init__(self, oracle: Oracle) -> None:
        self.oracle = oracle
        self.versions = oracle.versions()
        self.saved = SAVED.read_text().splitlines() if SAVED.exists() else []
        self.rows: list[Row] = []
        self.lines: list[str] = []

    def race(
        self, benchmark, assignor: str, cell: str, workload: Workload, rival: Jvm | FranzGo | None
    ) -> None:
        """Rounds of ours and of a rival's, in turns."""
        group = workload.group(get_assignor(assignor))

        def our_round() -> float:
            leader = get_assignor(assignor)
            start = time.thread_time()
            leader.assign(group)
            return (time.thread_time() - start) * 1e3

        self.run(benchmark, (assignor, cell, workload.event), our_round, rival)
        if isinstance(rival, Jvm):
            assert rival.answers == {digest(group, get_assignor(assignor).assign(group))}

    def run(
        self, benchmark, place: tuple[str, str, str], our_round: Callable[[], float], rival: Rival | None
    ) -> None:
        """Rounds of ours, each of which tells its ms, and of a rival's, in turns.

        Args:
            benchmark: pytest-benchmark's.
            place: assignor, cell and event.
            our_round: one of ours.
            rival: who runs against us.
        """
        theirs: list[float] = []
        ours: list[float] = []

        def their_turn() -> None:
            if rival is not None and len(ours) % ROUNDS == 0:
                theirs.extend(rival.turn(1))
                if theirs[-1] < 1000:
                    theirs.extend(rival.turn(ROUNDS - 1))

        benchmark.group = ", ".join(place)
        benchmark.pedantic(
            lambda: ours.append(our_round()), setup=their_turn, rounds=TURNS * ROUNDS, warmup_rounds=2
        )
        benchmark.extra_info.update(theirs=theirs, ours=ours)
        self.rows.append(Row(*place, "-" if rival is None else rival.name, theirs, ours))

    def __str__(self) -> str:
        lines = [*self.saved, *map(str, self.rows), *(f"- {line}" for line in self.lines)]
        assignors = tuple(f"| {name} |" for name in ALL)
        cells = {_place(line): line for line in lines if line.startswith(assignors)}
        figures = {line.partition(":")[0]: line for line in lines if line.startswith("- ")}
        rows = "".join(f"{cells[place]}\n" for place in sorted(cells))
        more = "".join(f"{line}\n" for line in figures.values())
        return f"""# Assignors: ms of CPU time an assignment

Python {platform.python_version()}, NumPy {np.__version__}, {machine()}; kafka-clients and
kafka-group-coordinator {self.versions["kafka"]}, warm, on Java {self.versions["java"]};
franz-go: competitors/franz_go.

A cell is members/partitions per member/topics; "unequal" members subscribe in five blocks, "racks" are three
with two replicas a partition; "full" is a new group, "join" and "leave" one more or one less member in a
group that carries on. Odd groups are left to the rule, which stays under 50 µs a partition: with a "false
claim" of a partition that does not exist, with "two claims" of what others have too, and "crowded", where
64 members of each block share one topic and their numbers meet in few bins of a HashSet.

{TURNS * ROUNDS} rounds of each side, in turns of {ROUNDS}, or of one where a rival's takes over a second.
The ratio of the best rounds says how many times faster we are.

"streams-high-availability" and "streams-classic-sticky" are Kafka Streams' own (kafka-streams 4.4.0, as is
connect-runtime), and "streams-sticky" the broker's, all with a standby replica; a cell has tasks and
connectors or subtopologies in place of partitions and topics. Java's "connect-eager" reads and writes the
bytes of its protocol, too, as nothing less of it can be called.

Our answers are the JVM's, but for those of "optimal" and "cooperative-optimal", which are better (optimal.md)
and race franz-go's sticky ones. Again: `SAVE_TABLES=1 make bench`; a run of some cells replaces their lines,
and the machine above is that of the last run: lines that it left out may be of another one.

A small group costs mostly the calls of NumPy, which take about as long for five members as for a hundred; the
rule, which has none, is no faster for five members and slower from ten on.

| assignor | cell | event | against | theirs best | median | ours best | median | ratio |
|---|---|---|---|---|---|---|---|---|
{rows}
{more}"""


def _place(line: str) -> tuple[object, ...]:
    """Where the table has this line; one place for each assignor, cell, event and rival."""
    _, name, cell, event, against, *_ = (column.strip() for column in line.split("|"))
    size, _, kind = cell.partition(" ")
    members, ratio, topics = map(int, size.split("/"))
    return kind, against, ALL.index(name), members * ratio, members, topics, EVENTS.index(event)


def warm_ups(workload: Workload) -> int:
    """Calls before the JVM is timed: many if a call is short, none if one takes long anyway.

    A call of some microseconds is compiled after thousands of calls only.
    """
    cost = workload.members * workload.ratio * (workload.topics if workload.subscriptions == "unequal" else 1)
    return min(5_000, 1_000_000 // cost)


@pytest.fixture(scope="module")
def table(request) -> Iterator[Table]:
    with Oracle("-Xmx4g", timeout=900) as oracle:
        made = Table(oracle)
        yield made
        with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
            print(f"\n\n{made}")
        if os.environ.get("SAVE_TABLES"):
            SAVED.write_text(str(made))


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", KAFKA)
def test_equal_subscriptions(benchmark, table, name, size, event):
    workload = Workload(*SIZES[size], event)
    table.race(benchmark, name, size, workload, Jvm(table.oracle, name, workload))


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("size", UNEQUAL)
@pytest.mark.parametrize("name", KAFKA)
def test_unequal_subscriptions(benchmark, table, name, size, event):
    workload = Workload(*UNEQUAL[size], event, "unequal")
    slow = "sticky" in name and event != "full" and UNEQUAL[size][0] * UNEQUAL[size][1] > 10_000
    rival = None if slow and "PATIENT" not in os.environ else Jvm(table.oracle, name, workload)
    table.race(benchmark, name, f"{size} unequal", workload, rival)


@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("size", ["1000/10/100", "1000/50/1000"])
@pytest.mark.parametrize("name", ["cooperative-sticky", "range"])
def test_racks(benchmark, table, name, size, event):
    workload = Workload(*SIZES[size], event, racks=3)
    table.race(benchmark, name, f"{size} racks", workload, Jvm(table.oracle, name, workload))


@pytest.mark.parametrize("name", ["cooperative-sticky", "sticky"])
def test_odd_false_claim(benchmark, table, name):
    workload = Workload(*SIZES["10000/10/100"], "join", claims=FALSE_CLAIM)
    table.race(benchmark, name, "10000/10/100 false claim", workload, Jvm(table.oracle, name, workload))


def test_odd_false_claim_refused(benchmark, table):
    """Uniform fails on such a group, as the JVM does."""
    group = Workload(*SIZES["10000/10/100"], "join", claims=FALSE_CLAIM).group(get_assignor("uniform"))

    def refuse():
        with pytest.raises(AssignorError, match="topic99-1000, which member 'member1' owns, does not exist"):
            get_assignor("uniform").assign(group)

    benchmark.pedantic(refuse, rounds=ROUNDS)
    best = benchmark.stats.stats.min * 1e3
    table.lines.append(f"A false claim that `uniform` refuses, 10000/10/100 join: {best:.0f} ms.")


@pytest.mark.parametrize("name", ["cooperative-sticky", "sticky"])
def test_odd_two_claims(benchmark, table, name):
    workload = Workload(*UNEQUAL["5000/10/100"], "join", "unequal", claims=TWO_CLAIMS)
    rival = Jvm(table.oracle, name, workload) if "PATIENT" in os.environ else None
    table.race(benchmark, name, "5000/10/100 unequal, two claims", workload, rival)


@pytest.mark.parametrize("event", EVENTS)
def test_odd_crowded(benchmark, table, event):
    workload = Workload(5 * 64, 156, 5, event, "unequal")
    table.race(
        benchmark, "uniform", "320/156/5 unequal, crowded", workload, Jvm(table.oracle, "uniform", workload)
    )


@pytest.mark.skipif(shutil.which("go") is None, reason="needs Go")
@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", ["cooperative-sticky", "sticky", *OPTIMAL])
def test_franz_go(benchmark, table, name, size, event):
    workload = Workload(*SIZES[size], event)
    with FranzGo(OPTIMAL.get(name, name), workload) as rival:
        table.race(benchmark, name, size, workload, rival)


@pytest.mark.skipif(shutil.which("go") is None, reason="needs Go")
@pytest.mark.parametrize("event", EVENTS)
@pytest.mark.parametrize("size", UNEQUAL)
@pytest.mark.parametrize("name", OPTIMAL)
def test_franz_go_unequal(benchmark, table, name, size, event):
    workload = Workload(*UNEQUAL[size], event, "unequal")
    with FranzGo(OPTIMAL[name], workload) as rival:
        table.race(benchmark, name, f"{size} unequal", workload, rival)


def test_reading_every_answer(benchmark, table):
    """What a million `TopicPartition` objects cost whoever wants them all."""
    group = Workload(2000, 500, 500).before()
    assignment = get_assignor("cooperative-sticky").assign(group)
    lists = benchmark.pedantic(lambda: [list(assignment[member]) for member in assignment], rounds=5)
    assert sum(map(len, lists)) == 1_000_000
    best = benchmark.stats.stats.min * 1e3
    table.lines.append(f"Reading 1,000,000 partitions as `TopicPartition`: {best:.0f} ms.")


@pytest.mark.parametrize("name", KAFKA)
def test_explaining_everything(benchmark, table, name):
    """The rule decides once more, and says of each partition why it is where it is."""
    group = Workload(*SIZES["1000/50/1000"], "join").group(get_assignor(name))
    seconds = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        assignment = get_assignor(name).assign(group)
        seconds.append(time.perf_counter() - start)
    partitions = [(topic.name, number) for topic in group.topics for number in range(topic.partitions)]

    def explain_all():
        explainer = Explainer(group, assignment, assignor=name)
        return [explainer.explain(partition) for partition in partitions]

    explanations = benchmark.pedantic(explain_all, rounds=3)
    assert not {Reason.NOBODY, Reason.NOT_TOLD} & {explanation.reason for explanation in explanations}
    best = benchmark.stats.stats.min
    table.lines.append(
        f"Explaining {len(partitions):,} partitions, `{name}`, 1000/50/1000 join: {best * 1e3:.0f} ms, "
        f"{best / min(seconds):.0f} times as long as to assign them."
    )


def test_carrying_a_group_on(benchmark, table):
    """`Group.next` and its members, which report sorted lists as the protocol does."""
    group = Workload(2000, 500, 500).before()
    assignment = get_assignor("cooperative-sticky").assign(group)
    members = benchmark.pedantic(lambda: list(group.next(assignment).members), rounds=5)
    assert sum(len(member.owned) for member in members) == 1_000_000
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
    text = ", ".join(f"{partitions:,} partitions {cost_ns:.0f}" for partitions, cost_ns in cost.items())
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
