"""What live groups showed: who owned what, who led as what, and each recovery beside its prediction."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.live_groups.groups import GROWN, PARTITIONS
from benchmarks.live_groups.led import ours
from benchmarks.live_groups.owning import (
    SAMPLE_S,
    count_samples,
    live_at,
    overlaps,
    ownership,
    windows,
    zombies,
)
from benchmarks.live_groups.predicting import DRAWS, measured_events, middle, predicted_events, spread
from benchmarks.rebalances.comparing import NEAR, QUARTER

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from benchmarks.live_groups.owning import OwnedTime
    from benchmarks.live_groups.predicting import Recovery
    from benchmarks.live_groups.running import Run

JUST_S = 0.001


@dataclass(frozen=True, slots=True)
class Event:
    """One event of a group, up to the next one.

    Attributes:
        group: its name.
        event: what happened.
        partitions: how many there are in the end.
        owners: the live owners of each partition when the next event begins.
        answered: what the last leader had assigned each process by then.
        measured: what it cost.
        predicted: what the simulator says, for each draw.
    """

    group: str
    event: str
    partitions: int
    owners: dict[int, list[str]]
    answered: dict[int, list[str]]
    measured: Recovery
    predicted: list[Recovery]

    @property
    def owned(self) -> bool:
        """Whether every partition has one live owner, who is the one that the leader's answer names."""
        every = set(range(self.partitions))
        return set(self.owners) == every and self.owners == self.answered

    @property
    def misses(self) -> list[str]:
        """What the prediction does not say: the recovery is beyond all draws, or other rounds."""
        was = self.measured.longest
        least, most = spread(self.predicted)
        limit = max(NEAR * was, QUARTER["eager"])
        found = ["recovery"] * (not least - limit <= was <= most + limit)
        return found + ["rounds"] * (self.measured.rounds not in {draw.rounds for draw in self.predicted})


@dataclass(frozen=True, slots=True)
class LedGeneration:
    """A generation.

    Attributes:
        group: its name.
        number: the generation.
        client: of the leader.
        assignor: the one that the group had chosen.
        equal: whether our assignor answers the same for the group that JoinGroup showed the leader.
    """

    group: str
    number: int
    client: str
    assignor: str
    equal: bool


def events(run: Run) -> list[Event]:
    """The events of a group."""
    owned = ownership(run["events"], run["ends"])
    triples = zip(
        windows(run["happens"], run["ends"]), measured_events(run), predicted_events(run), strict=True
    )
    return [
        Event(
            run["group"],
            event,
            GROWN if run["grown"] is not None and run["grown"] < until else PARTITIONS,
            live_at(owned, until - JUST_S),
            _last_answer(run, owned, until - JUST_S),
            was,
            said,
        )
        for (event, _, until), was, said in triples
    ]


def _last_answer(run: Run, owned: Iterable[OwnedTime], at: float) -> dict[int, list[str]]:
    """What the last leader's answer names, of those that have not closed, died or stopped since."""
    rows = [row for row in run["led"] if row["at"] <= at]
    here = {one.process for one in owned if one.start <= at < one.live_until}
    found: dict[int, list[str]] = {}
    for process, partitions in (rows[-1]["assigned"] if rows else {}).items():
        # A static member that is back in time has what its former process was assigned, without a round.
        name = _in_place(process, here) if run["static"] else process
        for partition in partitions:
            found.setdefault(partition, []).append(name)
    return found


def _in_place(process: str, here: Iterable[str]) -> str:
    """The process that has the instance id of this one now."""
    name = process.partition(".")[0]
    return max((one for one in here if one.partition(".")[0] == name), default=process)


def generations(run: Run) -> list[LedGeneration]:
    """The generations of a group, each with our assignor's answer.

    After growth a leader may not have seen it; it had if its answer names a new partition.
    """
    found = []
    for row in run["led"]:
        client = run["clients"][row["leader"].partition(".")[0]]
        highest = max((number for numbers in row["assigned"].values() for number in numbers), default=0)
        answer = ours(row, GROWN if highest >= PARTITIONS else PARTITIONS, client)
        found.append(
            LedGeneration(run["group"], row["generation"], client, row["assignor"], answer == row["assigned"])
        )
    return found


JOINS_TWICE = (
    "aiokafka 0.14 lists its assignors one more at a time and sends a JoinGroup each time. The first, with "
    "`sticky` alone, is enough to complete a round; the second, with `range` too, begins another one within "
    "some ms. Where a member knows only `range` the first is refused (INCONSISTENT_GROUP_PROTOCOL), and "
    "nothing is lost."
)
CAUSES = {
    ("range-static", "grow"): (
        "a fault of kafka-python 3.0.12. The leader, c0, saw the growth, and its SyncGroup of generation 7 "
        "was answered at 194.93 s. Then it called no callback, sent no heartbeat and did not return from "
        "`poll`, until its session ended at 202.94 s. Its partitions had no reader, and the run ended 2 s "
        "later, in the rebalance that followed."
    ),
    ("cooperative-sticky-static", "join c2"): (
        "which partition moves, which the prediction is not told. There it is one of c3, a consumer of "
        "kafka-python, which reads nothing of it from its JoinGroup on, 2 s before the answer. In fact it "
        "was one of c1, of librdkafka, which read it until the answer."
    ),
    **{("sticky-or-range", event): JOINS_TWICE for event in ("kill c3", "grow", "leave c3", "leave c0")},
}
"""Why events miss."""

PAGE = """\
# Live groups

Groups of kafka-python, aiokafka, Java and librdkafka consumers on a real broker: {events} events in {groups}
groups. `python -m benchmarks.live_groups` runs them, 20 minutes; `--compare` writes this page from
`live_groups/measured.json`. kafka-python and aiokafka assign with ours, Java and librdkafka with their own.

## One owner

A consumer owns a partition from its assign callback until it is asked for it, closes or dies. A process that
is stopped is a zombie from then on: it cannot learn that its session has ended before it runs again.

| | |
|---|--:|
| samples, one of each {sample_ms} ms of each group | {samples:,} |
| samples in which a partition had two live owners | {twice} |
| overlaps of live owners, however short | {overlaps} |
| records read by a process while another owned their partition live, zombies apart | {strays} |
| events after which every partition has one owner, the one that its leader named | {owned} of {events} |
| partition-seconds that zombies kept what others owned by then | {kept} |
| records that zombies read of such partitions once they ran again | {zombies:,} |

## What leaders answered

Each generation's leader, what it got (`JoinGroup`) and what it answered (`SyncGroup`), by the broker's
log, against our assignor of that name, given the same bytes:

| leader | assignor | generations | equal to ours |
|---|---|--:|--:|
{led}

librdkafka's `cooperative-sticky` is another algorithm than Java's; ours is `librdkafka-cooperative-sticky`.

## Recovery

The longest time that a partition had no reader, from each event to the next, in seconds. The simulator is
told who was in the group, when each next heartbeat was due, when a process first spoke to the coordinator and
what was done to it.

Of what it is not told there are {draws} draws: the median, and the range where it is
wider than 0.1 s. Limits are as in `rebalances.md`: {near:.0%} or {quarter} s beyond the range, and equal
rounds. **{within} of {events} events are within them.** aiokafka is simulated as Java's client is. The
machine has two cores, which were shared with other work: their load was {loads}.

| group | event | recovery | predicted | rounds | predicted | misses |
|---|---|--:|--:|--:|--:|---|
{rows}

A paused process is stopped for longer than its session. The coordinator, a node of its own, was away for
{away} s, less than the sessions of those groups, which are 30 s; others are 8 s. Two earlier runs, which are
not among these, had sessions of 8 s there and a coordinator that was away for 15 s. librdkafka gave its
partitions up meanwhile. kafka-python found the coordinator again only when its session had ended, and held a
partition for 65 ms that another member had been given: a zombie that nobody had stopped.

## Events that miss

{misses}
"""


def page(runs: Sequence[Run]) -> str:
    """All of it for people to read."""
    found = [event for run in runs for event in events(run)]
    owned = {run["group"]: ownership(run["events"], run["ends"]) for run in runs}
    samples = [count_samples(owned[run["group"]], run["ends"]) for run in runs]
    led = [one for run in runs for one in generations(run)]
    loads = sorted(run["load"] for run in runs)
    return PAGE.format(
        events=len(found),
        groups=len(runs),
        sample_ms=round(1000 * SAMPLE_S),
        samples=sum(count for count, _ in samples),
        twice=sum(twice for _, twice in samples),
        overlaps=sum(len(overlaps(times)) for times in owned.values()),
        strays=sum(row[-1] for run in runs for row in run["strays"]) - sum(map(_zombies, runs)),
        owned=sum(event.owned for event in found),
        kept=f"{sum(sum(zombies(times).values()) for times in owned.values()):.0f}",
        zombies=sum(map(_zombies, runs)),
        draws=DRAWS,
        near=NEAR,
        away=_away(runs),
        led="\n".join(_led_rows(led)),
        quarter=QUARTER["eager"],
        within=sum(not event.misses for event in found),
        loads=f"{loads[0]:.0f} to {loads[-1]:.0f}",
        rows="\n".join(map(_row, found)),
        misses="\n".join(_causes()),
    )


def _causes() -> list[str]:
    """Each cause once, with the events that it explains."""
    events_of: dict[str, list[str]] = {}
    for (group, event), cause in CAUSES.items():
        events_of.setdefault(cause, []).append(f"{group}, {event}")
    return [f"- {'; '.join(named)}: {cause}" for cause, named in events_of.items()]


def _away(runs: Iterable[Run]) -> str:
    times = [up - down for down, up in (run["restarted"] for run in runs if run["restarted"] is not None)]
    return f"{max(times, default=0):.0f}"


def _led_rows(led: Iterable[LedGeneration]) -> list[str]:
    all_: Counter[tuple[str, str]] = Counter()
    equal: Counter[tuple[str, str]] = Counter()
    for one in led:
        all_[one.client, one.assignor] += 1
        equal[one.client, one.assignor] += one.equal
    return [
        f"| {client} | {name} | {all_[client, name]} | {equal[client, name]} |"
        for client, name in sorted(all_)
    ]


def _row(event: Event) -> str:
    was, said = event.measured, middle(event.predicted)
    least, most = spread(event.predicted)
    misses = event.misses + ["owners"] * (not event.owned)
    range_ = "" if most - least < 0.1 else f" ({least:.1f} to {most:.1f})"
    return (
        f"| {event.group} | {event.event} | {was.longest:.2f} | {said.longest:.2f}{range_} "
        f"| {was.rounds} | {said.rounds} | {', '.join(misses)} |"
    )


def _zombies(run: Run) -> int:
    """Records that stopped processes read when they ran again, before they had joined again."""
    found = 0
    for at, process, _, records in run["strays"]:
        said = [what for when, what, *_ in run["events"][process] if when <= at]
        found += records * ("stop" in said and "assign" not in said[said.index("stop") :])
    return found
