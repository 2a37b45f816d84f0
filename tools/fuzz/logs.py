"""Logs of brokers and clients: what people paste when they ask why a group rebalanced."""

from __future__ import annotations

import gzip
from functools import cache
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from rich.console import Console

from copartition.simulation import Scenario
from copartition.simulation.inputs.file import scenario_yaml
from copartition.why.cures import cures, logged_scenario, scenario_or_why_not
from copartition.why.rebalances import histories
from copartition.why.report import print_why, why_json
from copartition.why.statements import read_statements
from tools.fuzz.mutation import mutate

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

RECORDED = Path(__file__).parents[2] / "tests/golden/logs"
FOLDER = TemporaryDirectory(prefix="copartition-logs-")
_MOST_LINES = 60
_SETTINGS = {"session.timeout.ms": "6000", "heartbeat.interval.ms": "2000", "max.poll.interval.ms": "7000"}
"""Those with which the logs were recorded: with others no scenario can have their causes."""
_ODD = [b"\r", b"\x1b[31m", b"\0", b"\xff\xfe", b"x" * 5_000, "Grupo «ß»".encode()]


@cache
def recorded_logs(group: str) -> list[list[bytes]]:
    """The lines of each log of a recorded group."""
    return [
        gzip.decompress(path.read_bytes()).splitlines(keepends=True)
        for path in sorted((RECORDED / group).glob("*.log.gz"))
    ]


GROUPS = sorted(path.name for path in RECORDED.iterdir() if path.is_dir())


def make_logs(rng: Random) -> list[bytes]:
    """Pieces of one group's logs: cut, mixed, damaged, with odd bytes, packed now and then."""
    logs = []
    for lines in rng.sample(
        logs_of := recorded_logs(rng.choice(GROUPS)), rng.randint(1, min(3, len(logs_of)))
    ):
        start = rng.randrange(len(lines))
        piece = lines[start : start + rng.randint(1, _MOST_LINES)]
        if rng.random() < 0.2:
            rng.shuffle(piece)
        for _ in range(rng.randint(0, 3)):
            row = rng.randrange(len(piece))
            piece[row] = mutate(rng, piece[row]) if rng.random() < 0.7 else piece[row] + rng.choice(_ODD)
        text = b"".join(piece)
        logs.append(gzip.compress(text, mtime=0) if rng.random() < 0.1 else text)
    if rng.random() < 0.05:
        logs[0] = mutate(rng, logs[0])
    return logs


def check_logs(logs: Sequence[bytes]) -> None:
    """Every form of the answer, and the scenario, which is the same when it is written and read again."""
    paths = [Path(FOLDER.name, f"{number}.log") for number in range(len(logs))]
    for path, content in zip(paths, logs, strict=True):
        path.write_bytes(content)
    reading = read_statements([*map(str, paths)])
    groups = histories(reading)
    answers = [(group, cures(group, scenario_or_why_not(group, {}, "range", {}))) for group in groups]
    why_json(answers, reading.unread)
    print_why(answers, reading.unread, Console(file=StringIO(), width=100), full=True)
    for group in groups:
        logged = logged_scenario(group, {"orders": 6}, "range", _SETTINGS)
        # A file that says something else than the scenario it was made of would be simulated instead of it.
        written = Path(FOLDER.name, "scenario.yaml")
        written.write_text(scenario_yaml(logged.scenario, logged.assumed), encoding="utf-8")
        assert Scenario.from_file(written) == logged.scenario


TARGETS = {"logs": (make_logs, check_logs)}
