"""The simulator against SimPy, which handles the messages of the same group one by one.

SimPy takes its turn before each of our rounds. `SAVE_TABLES=1 make bench` writes the table to
`benchmarks/simulation.md`.
"""

from __future__ import annotations

import os
import platform
import time
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest

from assignors import Topic
from benchmarks.competitors.simpy_group import Group
from benchmarks.measured import machine
from copartition.simulation import Consumer, Load, Restart, Scenario, simulate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ROUNDS = 3
SAVED = Path(__file__).parent / "simulation.md"
EVERY_MS, DOWN_MS = 60_000, 10_000
CELLS = [(40, 200, 40), (500, 5_000, 100), (2_000, 20_000, 50)]


class Row(NamedTuple):
    """A line of the table; times in seconds of CPU."""

    members: int
    partitions: int
    restarts: int
    load: str
    messages: int
    moves: int
    theirs: float
    ours: float

    def __str__(self) -> str:
        return (
            f"| {self.members:,} | {self.partitions:,} | {self.restarts} | {self.load} | {self.messages:,} | "
            f"{self.moves:,} | {self.theirs:.2f} | {self.ours:.3f} | {self.messages / self.ours:,.0f} | "
            f"{self.moves / self.ours:,.0f} | {self.theirs / self.ours:.1f} |"
        )


@pytest.fixture(scope="module")
def rows(request) -> Iterator[list[Row]]:
    made: list[Row] = []
    yield made
    lines = "".join(f"{row}\n" for row in made)
    table = f"""# Simulator: messages a second on one core

SimPy {version("simpy")}, Python {platform.python_version()}, NumPy {np.__version__}, {machine()}.

A group under "range" whose members restart one after the other, one a minute, each 10 s away. "Messages" are
what SimPy counts of it: heartbeats, commits, JoinGroup, SyncGroup, LeaveGroup, one event each. "Moves" are
those among them that a rebalance consists of, which the simulator goes through as well, member by member in
columns; times between them it knows in closed form. It also runs the assignor and keeps account of every
partition, with "lag" of every record, none of which SimPy does here. Seconds of CPU, best of {ROUNDS} rounds,
each after one of SimPy's; the ratio says how many times faster we are. Again: `SAVE_TABLES=1 make bench`.

| members | partitions | restarts | records | messages | moves | SimPy | ours | messages/s | moves/s | ratio |
|---|---|---|---|---|---|---|---|---|---|---|
{lines}"""
    with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        print(f"\n\n{table}")
    if os.environ.get("SAVE_TABLES"):
        SAVED.write_text(table)


@pytest.mark.parametrize("load", [None, Load(50, capacity=5_000)], ids=["none", "lag"])
@pytest.mark.parametrize(("members", "partitions", "restarts"), CELLS)
def test_rolling_restart(benchmark, rows, members, partitions, restarts, load):
    consumers = tuple(Consumer(f"worker-{number}") for number in range(members))
    events = tuple(
        Restart((turn + 1) * EVERY_MS, consumer.name, DOWN_MS)
        for turn, consumer in enumerate(consumers[:restarts])
    )
    scenario = Scenario((Topic("orders", partitions),), consumers, events, "range", load=load, settled_ms=0)
    spent: dict[object, list[float]] = {Group: [], simulate: []}

    def run(side: Callable[..., Any], *arguments: object) -> Any:
        begin = time.process_time()
        made = side(*arguments)
        spent[side].append(time.process_time() - begin)
        return made

    groups: list[Group] = []

    def their_turn() -> None:
        groups.append(run(Group, members, restarts, EVERY_MS, DOWN_MS))

    benchmark.group = f"{members} members"
    result = benchmark.pedantic(run, args=(simulate, scenario), setup=their_turn, rounds=ROUNDS)
    group = groups[-1]
    assert result.summary.rebalances == 2 * restarts == group.rebalances - 1
    theirs, ours = min(spent[Group]), min(spent[simulate])
    messages = group.heartbeats + group.moves
    rows.append(
        Row(
            members, partitions, restarts, "-" if load is None else "lag", messages, group.moves, theirs, ours
        )
    )
    assert messages / ours > 200_000
