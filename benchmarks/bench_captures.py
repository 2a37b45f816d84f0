"""Reading what kafka-consumer-groups printed: ours against pandas and against a loop that splits each row.

The competitors trust what they are given: neither checks that a row lines up, is whole or has numbers that
Kafka has, and the loop takes a client id with a blank for two columns. `SAVE_TABLES=1 make bench` writes the
table to `benchmarks/captures.md`.
"""

from __future__ import annotations

import io
import os
import platform
import time
import uuid
from functools import cache
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd
import pytest

from benchmarks.measured import machine
from copartition.groups import parse_capture

if TYPE_CHECKING:
    from collections.abc import Iterator

ROUNDS = 7
PARTITIONS = 1_000
HERE = Path(__file__).parent
SIZES = {"1,000 x 20": (1, 20), "100,000 x 2,000": (100, 2_000)}
COLUMNS = ["GROUP", "TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG"]
COLUMNS += ["CONSUMER-ID", "HOST", "CLIENT-ID"]


@cache
def capture(size: str) -> str:
    """The offsets of a group as the tool pads them: each partition at a member by chance."""
    topics, members = SIZES[size]
    rng = Random(size)
    ids = [f"worker-{member}-{uuid.UUID(int=rng.getrandbits(128))}" for member in range(members)]
    rows = [COLUMNS]
    for number in range(topics * PARTITIONS):
        member, end, lag = rng.randrange(members), rng.randrange(10**6, 10**9), rng.randrange(10**5)
        rows.append(
            [
                "billing",
                f"topic-{number // PARTITIONS}",
                str(number % PARTITIONS),
                *(str(end - lag), str(end), str(lag)),
                ids[member],
                f"/10.0.{member // 250}.{member % 250}",
                f"worker-{member}",
            ]
        )
    widths = [15, 15, 10, 15, 15, 15, max(map(len, ids)), 15, 0]
    lines = (" ".join(map(str.ljust, row, widths)) for row in rows)
    return "\n" + "\n".join(lines) + "\n"


def ours(text: str) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Owner, partition and lag of each row."""
    state, _ = parse_capture(text)
    assert state.lag is not None
    return [state.members[member].id for member in state.member.tolist()], state.partition, state.lag


def by_pandas(text: str) -> tuple[list[str], np.ndarray, np.ndarray]:
    header = text.split("\n", 2)[1]
    starts = [header.index(name) for name in COLUMNS]
    table = pd.read_fwf(io.StringIO(text), colspecs=[*zip(starts, [*starts[1:], 1_000], strict=True)])
    return table["CONSUMER-ID"].tolist(), table["PARTITION"].to_numpy(), table["LAG"].to_numpy()


def by_loop(text: str) -> tuple[list[str], np.ndarray, np.ndarray]:
    rows = [line.split() for line in text.splitlines()[2:]]
    numbers = np.array([(int(row[2]), int(row[5])) for row in rows])
    return [row[6] for row in rows], numbers[:, 0], numbers[:, 1]


COMPETITORS = {"pandas.read_fwf": by_pandas, "a loop of str.split": by_loop}


class Row(NamedTuple):
    """A line of the table; times in ms of the processor."""

    size: str
    against: str
    theirs: float
    ours: float

    def __str__(self) -> str:
        times = f"{self.theirs:.1f} | {self.ours:.1f} | {self.theirs / self.ours:.2f}"
        return f"| {self.size} | {self.against} | {times} |"


@pytest.fixture(scope="module")
def table(request) -> Iterator[list[Row]]:
    rows: list[Row] = []
    yield rows
    made = f"""# Reading captures: ms of the processor

Python {platform.python_version()}, NumPy {np.__version__}, pandas {pd.__version__}, {machine()}.
Partitions x members; best of {ROUNDS} rounds, in turns with the competitor. The ratio says how many times
faster we are. Load average at the end: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores.
Again: `SAVE_TABLES=1 make bench`.

| partitions x members | against | theirs | ours | ratio |
|---|---|---|---|---|
""" + "".join(f"{row}\n" for row in rows)
    with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        print(f"\n\n{made}")
    if os.environ.get("SAVE_TABLES"):
        (HERE / "captures.md").write_text(made)


@pytest.mark.parametrize("against", COMPETITORS)
@pytest.mark.parametrize("size", SIZES)
def test_offsets_against(benchmark, table, size, against):
    text = capture(size)
    theirs = COMPETITORS[against]
    for one, other in zip(ours(text), theirs(text), strict=True):
        np.testing.assert_array_equal(one, other)
    seconds: dict[object, list[float]] = {parse_capture: [], theirs: []}

    def run(read):
        start = time.process_time()
        read(text)
        seconds[read].append(time.process_time() - start)

    benchmark.group = f"{size}"
    benchmark.pedantic(run, args=(parse_capture,), setup=lambda: run(theirs), rounds=ROUNDS)
    table.append(Row(size, against, *(min(seconds[read]) * 1e3 for read in (theirs, parse_capture))))
    benchmark.extra_info.update(table[-1]._asdict())
