"""`benchmarks/connect.md`: each rebalance of real Connect clusters beside its prediction."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING

from benchmarks.connect.cells import CELLS, CONNECTORS, DELAY_MS, HEARTBEAT_MS, SESSION_MS
from benchmarks.connect.predicting import (
    answers_of_leaders,
    before,
    measured_rounds,
    predicted_rounds,
    windows,
)
from benchmarks.measured import versions
from benchmarks.rebalances.comparing import NEAR, QUARTER

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from benchmarks.connect.predicting import Round, Run, Tasks


@dataclass(frozen=True, slots=True)
class ComparedRebalance:
    """A rebalance.

    Attributes:
        said: as it was predicted; None where none was.
        was: as it came; None where none came.
    """

    said: Round | None
    was: Round | None

    @property
    def misses(self) -> list[str]:
        """What the prediction does not say."""
        said, was = self.said, self.was
        if said is None or was is None:
            return ["rounds"]
        found = []
        if said.at is not None and was.at is not None:
            limit = max(NEAR * was.at, QUARTER["eager"])
            found += ["time"] * (abs(said.at - was.at) > limit)
            found += ["delay"] * (
                abs(said.delay_ms - was.delay_ms) > 1000 * limit or bool(said.delay_ms) != bool(was.delay_ms)
            )
        return found + ["tasks"] * (not same(said, was))


@dataclass(frozen=True, slots=True)
class Window:
    """What was done to a cluster, and what came of it.

    Attributes:
        cell: the cluster.
        what: what was done.
        rounds: the rebalances that followed.
        down: for how many seconds a task ran nowhere at most, as predicted and as measured.
    """

    cell: str
    what: str
    rounds: list[ComparedRebalance]
    down: tuple[float | None, float | None]

    @property
    def misses(self) -> list[str]:
        """What the predictions do not say."""
        return sorted({miss for rebalance in self.rounds for miss in rebalance.misses})


def same(one: Round, other: Round) -> bool:
    """Whether after both each process runs the same and stops the same."""
    return _in_order(one.runs) == _in_order(other.runs) and _in_order(one.revoked) == _in_order(other.revoked)


def compare_windows(run: Run) -> list[Window]:
    """The windows of a cluster."""
    found = []
    for window, start, end in windows(run):
        was, said = measured_rounds(run, start, end), predicted_rounds(run, window, start, end)
        gone = {
            what.partition(" ")[2]: at - start for at, what in window if what.startswith(("leave ", "crash "))
        }
        runs = before(run, start)
        text = ", ".join(what.replace(".1", "") for _, what in window)
        pairs = [ComparedRebalance(*pair) for pair in zip_longest(said, was)]
        found.append(Window(run["cell"], text, pairs, (down(runs, gone, said), down(runs, gone, was))))
    return found


def down(runs: Mapping[str, Tasks], gone: Mapping[str, float], rounds: Sequence[Round]) -> float | None:
    """For how many seconds a task ran nowhere at most; None where it is not known when.

    Args:
        runs: what each process ran before.
        gone: the processes that end, each with when it does.
        rounds: what comes.
    """
    if any(rebalance.at is None for rebalance in rounds):
        return None
    stopped = {task: gone[process] for process, tasks in runs.items() if process in gone for task in tasks}
    longest = 0.0
    for rebalance in rounds:
        assert rebalance.at is not None
        for tasks in rebalance.revoked.values():
            for task in tasks:
                stopped.setdefault(task, rebalance.at)
        for process, tasks in rebalance.runs.items():
            if gone.get(process, rebalance.at) < rebalance.at:
                continue
            for task in tasks:
                longest = max(longest, rebalance.at - stopped.pop(task, rebalance.at))
    return longest


def differences(run: Run) -> list[tuple[Round, Round, float]]:
    """Generations in which our rule answers otherwise than the leader did, as `led` has them."""
    return [
        (said, was, apart_ms)
        for said, was, apart_ms in answers_of_leaders(run)
        if not same(said, was) or abs(said.delay_ms - was.delay_ms) > apart_ms
    ]


def page(runs: Sequence[Run]) -> str:
    """The page."""
    found = [window for run in runs for window in compare_windows(run)]
    rounds = [rebalance for window in found for rebalance in window.rounds]
    generations = sum(1 for run in runs for _ in answers_of_leaders(run))
    lines = [
        PAGE.format(
            clusters=len(runs),
            kafka=versions(runs, "kafka"),
            connect=versions(runs, "connect"),
            generations=generations,
            alike=generations - sum(len(differences(run)) for run in runs),
            windows=len(found),
            windows_alike=sum(not window.misses for window in found),
            rounds=len(rounds),
            rounds_alike=sum(not rebalance.misses for rebalance in rounds),
            connectors=", ".join(f"`{name}` with {tasks}" for name, tasks in CONNECTORS.items()),
            session=SESSION_MS // 1000,
            heartbeat=HEARTBEAT_MS // 1000,
            delays=_delays(),
        )
    ]
    for window in found:
        first, second = (_seconds(at) for at in window.down)
        said = sum(rebalance.said is not None for rebalance in window.rounds)
        was = sum(rebalance.was is not None for rebalance in window.rounds)
        lines.append(
            f"| {window.cell} | {window.what} | {said} | {was} | {first} | {second} "
            f"| {', '.join(window.misses)} |"
        )
    lines.append(ROUNDS)
    for window in found:
        for number, rebalance in enumerate(window.rounds, 1):
            begin = f"| {window.cell} | {window.what} " if number == 1 else "| | "
            lines.append(
                f"{begin}| {number} | {_of(rebalance.said)} | {_of(rebalance.was)} "
                f"| {_shares(rebalance.was or rebalance.said)} | {', '.join(rebalance.misses)} |"
            )
    return "\n".join(lines) + "\n"


def _of(rebalance: Round | None) -> str:
    if rebalance is None:
        return "- | -"
    delay = f"{rebalance.delay_ms / 1000:.1f}" if rebalance.delay_ms else ""
    return f"{_seconds(rebalance.at)} | {delay}"


def _delays() -> str:
    others = [
        f"`{cell.name}` {cell.delay_ms // 1000}"
        for cell in CELLS
        if cell.delay_ms != DELAY_MS and cell.protocol != "eager"
    ]
    return f"{DELAY_MS // 1000} s, in {', '.join(others)} s"


def _seconds(at: float | None) -> str:
    return "" if at is None else f"{at:.1f}"


def _shares(rebalance: Round | None) -> str:
    """How much each worker runs afterwards, and how much of it it has to stop."""
    assert rebalance is not None
    return ", ".join(
        f"{process.removesuffix('.1')} {len(tasks)}"
        + (f" (stops {len(rebalance.revoked[process])})" if rebalance.revoked.get(process) else "")
        for process, tasks in sorted(rebalance.runs.items())
    )


def _in_order(lists: Mapping[str, Tasks]) -> dict[str, Tasks]:
    return {process: sorted(tasks) for process, tasks in lists.items()}


PAGE = """\
# Kafka Connect: each rebalance beside its prediction

{clusters} clusters of real workers (connect-runtime {connect}, `ConnectDistributed`, a process each) on a
real broker (Kafka {kafka}). `python -m benchmarks.connect` runs them, 10 minutes; `--compare` writes this
page from `connect/measured.json`. Connectors are {connectors} tasks; a connector itself counts as one more
thing to run. `session.timeout.ms` is {session} s, `heartbeat.interval.ms` {heartbeat} s and
`scheduled.rebalance.max.delay.ms` {delays}.

When a rebalance comes is what `simulate` says of workers with `client: connect`, which has the phase of
their heartbeats, what was done, when a new worker first spoke to the coordinator, and when one that ends in
order said so. Who runs what then is what `connect-incremental` or `connect-eager` answers, which has
the member ids that were drawn, and remembers what it answered before. A rebalance is as predicted if every
worker runs and stops the same things, and it comes, and delays the next one, within 20 % or a quarter of a
heartbeat of the prediction.

A test of `make nightly` (`tests/benchmarks/test_connect.py`) runs a cluster anew, in which workers join and
crash.

| | |
|---|--:|
| generations in which our rule answers as the leader did | {alike} of {generations} |
| things that were done, after which all rebalances are as predicted | {windows_alike} of {windows} |
| rebalances that followed and are as predicted | {rounds_alike} of {rounds} |

What they show:

- What moves to a worker that joins is down for a heartbeat interval: workers that have to stop something join
  again at once, all others at their next heartbeat, and until then what was stopped runs nowhere.
- A worker that comes back within the delay gets nothing before the delay is over, and then all that was lost.
- Of workers that are restarted in turn all wait for the end of the first one's delay, unless the leader is
  restarted before: with it the delay is forgotten, and what was lost is assigned at once. Which worker leads
  next is decided by the member ids that were drawn: the coordinator takes the first of its `HashMap`.
- A worker's session runs from its last heartbeat. A consumer's runs from its last commit, too, but workers
  commit nothing in their own group.

## What was done

*Down* is the longest that a task ran nowhere, in seconds.

| cluster | what was done | rebalances: predicted | measured | down: predicted | measured | differs |
|---|---|--:|--:|--:|--:|---|"""

ROUNDS = """
## Each rebalance

*At* is when the leader answered, in seconds since it was done; *delay* is after how many seconds all workers
are to join again. Where connectors change no time is predicted.

| cluster | what was done | | at: predicted | delay | at: measured | delay | runs afterwards | differs |
|---|---|--:|--:|--:|--:|--:|---|---|"""
