"""Twelve deploys of real groups, and what each command says of them: `python -m benchmarks.deploys`.

The groups are those of `rebalances/measured.json` whose members were restarted one after the other. Each is
written as a snapshot, and every command that says what a deploy stops is asked about it in the same words.
The page, `deploys.md`, has all answers side by side, and what was measured on a broker.
"""

from __future__ import annotations

import json
import shlex
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

from click.testing import CliRunner

from assignors.state import GroupState, MemberIdentity
from benchmarks.measured import Run, read_runs
from benchmarks.rebalances.predicting import ASSIGNORS, COSTS, POLL_MS, TOPIC, client_of, measured_figures
from benchmarks.rebalances.scenarios import MEMBERS, OFF_THE_BEAT, PARTITIONS, SESSION_MS, is_static
from copartition.groups import snapshot_bytes
from copartition.shell.main import copartition

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

MEASURED = Path(__file__).parent / "rebalances" / "measured.json"
PAGE = Path(__file__).parent / "deploys.md"

EVERY_S = {"rolling dynamic": 12.0, "rolling static": 12.0}
"""Seconds from one restart to the next; other deploys have `OFF_THE_BEAT`."""

AWAY = "1.96s..2.06s"
"""How long members were silent: from the command to close until the first request of the next process.

The scripts began a process 2 s after the command to close. Of the 270 restarts in `measured.json` 90 % were
silent for a time between these two, the median for 2.01 s: a consumer hears the command within the 0.1 s of
its `poll`, and the next process finds its coordinator within 0.01 to 0.1 s.
"""

FIRST_RECORD_MS = {"librdkafka": (13, 91), "kafka-python": (20, 82), "aiokafka": (40, 81)}
"""From the assign callback to a partition's first record, median and 95th percentile of the rolls, in ms.

2,398, 825 and 720 openings in `measured.json`. A member that reads nothing else has its first record after
3 ms, one that waits for an answer with records of its other partitions after up to 0.1 s.
"""

TARGETS = ("cooperative-sticky", "uniform")
"""The strategies to which the "range" group is asked to migrate."""

HEAD = """\
# Deploys: one answer, and what was measured

`python -m benchmarks.deploys` writes this page. Six members that share {partitions} partitions were restarted
one after the other, each away for about 2 s ([rebalances](rebalances.md) says how it was measured): of 270
restarts 90 % were silent for {away}, as a consumer is told to close while it polls, and the next
process first looks for its coordinator. In a static roll only this varies, and the time to the first record.
Both are those of the rolls below, not of others. Each group was then written as a snapshot, and the commands
were asked in the same words:

    {words}

For kafka-python the median and the 95th percentile to the first record are {kafka_python}, and
`--set poll_ms=100` is added; for aiokafka they are {aiokafka}.

Figures are partition-seconds: for how long nobody reads a partition, summed over partitions; the least and
the most of 30 runs of the simulator. **All commands answer alike for {equal} of {deploys} deploys.**

The commands do not know when in a heartbeat interval the deploy began, nor how long the group had been quiet.
A measured outage is up to 0.1 s longer than it was, as records came every 100 ms. *Near* is a median that is
no further from the range than {near:.0%} of it. **The median measured is inside the range for {inside} of
{deploys}, and inside or near for {nearly}**; of single runs {single} of {runs} are inside.

| deploy | protocol | `assignment-diff` | `simulate` | `simulate --runs 30` | equal | measured | inside |
|---|---|--:|--:|--:|---|--:|---|
"""

MIGRATIONS = """
`assignment-diff GROUP plan:TO` and `copartition migrate GROUP TO` of the dynamic "range" group:

| to | `assignment-diff` | `migrate` | equal |
|---|--:|--:|---|
"""

NEAR = 0.05
"""How far a measured median may be from the range to count as near, as a share of the nearer end."""


Ends = tuple[float, float]
"""The least and the most of a range, in partition-seconds."""


class Deploy(NamedTuple):
    """One deploy, as the commands say it and as it was measured; all figures are partition-seconds."""

    name: str
    protocol: str
    answers: tuple[Ends, ...]  # least and most, one pair for each command
    measured: tuple[float, ...]  # one figure a run

    @property
    def equal(self) -> bool:
        """Whether all commands say the same."""
        return len(set(self.answers)) == 1

    @property
    def middle(self) -> float:
        """The median measured."""
        return median(self.measured)

    def holds(self, seconds: float, near: float = 0.0) -> bool:
        """Return whether a figure lies in the range, or beside it by a share of the nearer end."""
        least, most = self.answers[0]
        return least * (1 - near) <= seconds <= most * (1 + near)


def group(run: Run) -> GroupState:
    """Return the group of a run, as a source shows it that knows all."""
    share = PARTITIONS // MEMBERS
    names = [f"c{number}" for number in range(MEMBERS)]
    owned = {
        name: [(TOPIC, share * place + part) for part in range(share)] for place, name in enumerate(names)
    }
    members = tuple(
        MemberIdentity(name, name if is_static(run["static"], name) else None, name, topics=(TOPIC,))
        for name in names
    )
    return replace(
        GroupState.of(owned),
        members=members,
        complete=True,
        name="g",
        status="Stable",
        strategy=ASSIGNORS[run["protocol"]],
        protocol="consumer" if run["protocol"] == "kip848" else "classic",
        clients=(client_of(run),),
    )


def options(run: Run) -> list[str]:
    """Return the words in which every command is told what was done, and what takes time."""
    settings: dict[str, object] = {
        "session.timeout.ms": SESSION_MS,
        "network_ms": COSTS.network_ms,
        "first_fetch_ms": json.dumps(
            {"lognormal": dict(zip(("median", "p95"), FIRST_RECORD_MS[client_of(run)], strict=True))}
        ),
    }
    if poll_ms := POLL_MS[client_of(run)]:
        settings["poll_ms"] = poll_ms
    every_s = EVERY_S.get(run["scenario"], OFF_THE_BEAT)
    words = ["--down", AWAY, "--every", f"{every_s:g}s"]
    return words + [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]


def ask(*words: str) -> dict[str, object]:
    """Return what a command says as JSON.

    Raises:
        RuntimeError: it could not answer; the message has what it said instead.
    """
    result = CliRunner().invoke(copartition, [*words, "-o", "json"])
    if result.exit_code not in {0, 1}:
        raise RuntimeError(f"{' '.join(words)}: {result.output}")
    found: dict[str, object] = json.loads(result.stdout)
    return found


def answers(file: str, words: Sequence[str]) -> Iterator[Ends]:
    """Yield what each command says of a rolling deploy of the group in a file."""
    deploy = ("--deploy", "rolling", *words)
    yield _range(ask("diff", file, "plan:current", *deploy)["stops"][0])  # type: ignore[index]
    yield _range(ask("simulate", file, *deploy)["runs"][0]["stops"])  # type: ignore[index]
    yield _range(ask("simulate", file, *deploy, "--runs", "30")["scenarios"][0]["stops"])  # type: ignore[index]


def _range(stops: dict[str, dict[str, float]]) -> Ends:
    seconds = stops["partition_seconds"]
    return seconds["least"], seconds["most"]


def deploys() -> list[Deploy]:
    """Return every rolling restart that was measured, in the order of the file."""
    cells: dict[tuple[str, str], list[Run]] = defaultdict(list)
    for run in read_runs(MEASURED, "runs"):
        if "rolling" in run["scenario"]:
            cells[run["scenario"], run["protocol"]].append(run)
    found = []
    with TemporaryDirectory() as folder:
        file = Path(folder, "group.json")
        for (name, protocol), runs in cells.items():
            file.write_bytes(snapshot_bytes(group(runs[0]), None))
            said = tuple(answers(str(file), options(runs[0])))
            found.append(
                Deploy(name, protocol, said, tuple(measured_figures(run).partition_seconds for run in runs))
            )
    return found


def migrations() -> Iterator[tuple[str, Ends, Ends]]:
    """Yield each target, and what the diff and the migration say of the way to it."""
    run = next(run for run in read_runs(MEASURED, "runs") if run["scenario"] == "rolling dynamic")
    # A group of Java clients: those of librdkafka cannot list strategies of both kinds.
    state = replace(group(run), clients=("java",))
    with TemporaryDirectory() as folder:
        file = Path(folder, "group.json")
        file.write_bytes(snapshot_bytes(state, None))
        for target in TARGETS:
            diff = ask("diff", str(file), f"plan:{target}", *options(run))["stops"][0]  # type: ignore[index]
            migrate = ask("migrate", str(file), target, *options(run))["stops"]
            yield target, _range(diff), _range(migrate)  # type: ignore[arg-type]


def page(found: Sequence[Deploy], ways: Iterable[tuple[str, Ends, Ends]]) -> str:
    """Return the page of all deploys and migrations."""
    first = next(run for run in read_runs(MEASURED, "runs") if run["scenario"] == "rolling dynamic")
    single = [deploy.holds(seconds) for deploy in found for seconds in deploy.measured]
    parts = [
        HEAD.format(
            partitions=PARTITIONS,
            words=shlex.join(("--deploy", "rolling", *options(first))),
            equal=sum(deploy.equal for deploy in found),
            deploys=len(found),
            inside=sum(deploy.holds(deploy.middle) for deploy in found),
            near=NEAR,
            away=AWAY.replace("..", " to ").replace("s to", " to").replace("s", " s"),
            kafka_python="{} and {} ms".format(*FIRST_RECORD_MS["kafka-python"]),
            aiokafka="{} and {} ms".format(*FIRST_RECORD_MS["aiokafka"]),
            nearly=sum(deploy.holds(deploy.middle, NEAR) for deploy in found),
            single=sum(single),
            runs=len(single),
        )
    ]
    for deploy in found:
        said = " | ".join(map(_words, deploy.answers))
        nearly = "near" if deploy.holds(deploy.middle, NEAR) else "no"
        inside = "yes" if deploy.holds(deploy.middle) else nearly
        figures = f"{deploy.middle:.1f} ({', '.join(f'{seconds:.1f}' for seconds in deploy.measured)})"
        equal = "yes" if deploy.equal else "no"
        parts.append(f"| {deploy.name} | {deploy.protocol} | {said} | {equal} | {figures} | {inside} |\n")
    parts.append(MIGRATIONS)
    for target, diff, migrate in ways:
        equal = "yes" if diff == migrate else "no"
        parts.append(f"| {target} | {_words(diff)} | {_words(migrate)} | {equal} |\n")
    return "".join(parts)


def _words(ends: Ends) -> str:
    return " to ".join(dict.fromkeys(f"{end:.1f}" for end in ends))


if __name__ == "__main__":
    PAGE.write_text(page(deploys(), migrations()), encoding="utf-8")
