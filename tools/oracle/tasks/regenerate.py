"""Writes the golden answers of task assignors: `python -m tools.oracle.tasks.regenerate [PREFIX...]`."""

from __future__ import annotations

import json
import sys
from itertools import chain
from typing import TYPE_CHECKING, Any

from tests.support.oracle import Oracle
from tests.support.tasks import GOLDEN
from tools.oracle.assignors.regenerate import answer_scenario, write_lines
from tools.oracle.assignors.share import share_scenarios
from tools.oracle.assignors.streams import streams_answers
from tools.oracle.tasks.connect import connect_lives
from tools.oracle.tasks.streams import application_answers, classic_sticky_answers, scattered_answers

if TYPE_CHECKING:
    from collections.abc import Iterator

Json = dict[str, Any]

CONNECT = {"connect-eager": 230, "connect-incremental": 220}
"""How many clusters' lives the golden files hold."""
SHARE, STREAMS, APPLICATIONS, CLASSIC_STICKY = 560, 430, 430, 500
"""How many lives of share groups, of streams groups and of Kafka Streams applications they hold."""
BEFORE_4_4 = 150
"""How many lives of applications the older rule of `StickyTaskAssignor` answered."""
KINDS = {"twice": 40, "racks": 400}
"""How many more of these applications in which two threads report one task, or racks count."""
HEAP_DECIDES = (760, 1699, 2387)
"""Scattered applications in which the least loaded process is not the one that Java's heap gives back."""


def connect_answers(oracle: Oracle, assignor: str, seed: object, count: int) -> Iterator[Json]:
    """Lives of clusters with the answers of real workers and their leader's assignor."""
    for life in connect_lives(assignor, seed, count):
        answers = oracle.ask("connect", **{key: life[key] for key in ("assignor", "max_delay_ms", "steps")})
        steps = [
            {"connectors": asked["connectors"], **answer}
            for asked, answer in zip(life["steps"], answers["steps"], strict=True)
        ]
        yield {"name": life["name"], "max_delay_ms": life["max_delay_ms"], "steps": steps}


def _files(tasks: Oracle, older: Oracle, broker: Oracle) -> Iterator[tuple[str, Iterator[Json]]]:
    yield "share-simple", (answer_scenario(broker, asked) for asked in share_scenarios("golden", SHARE))
    yield "streams-sticky", streams_answers(broker, "golden", STREAMS)
    for name, lives, scattered, count in (
        (
            "streams-high-availability",
            application_answers,
            scattered_answers(tasks, HEAP_DECIDES),
            APPLICATIONS,
        ),
        ("streams-classic-sticky", classic_sticky_answers, (), CLASSIC_STICKY),
    ):
        of_kinds = (lives(tasks, f"golden-{kind}", most, kind) for kind, most in KINDS.items())
        yield name, chain(scattered, lives(tasks, "golden", count), *of_kinds)
    yield "streams-classic-sticky-4.3", classic_sticky_answers(older, "golden", BEFORE_4_4)
    for assignor, count in CONNECT.items():
        yield assignor, connect_answers(tasks, assignor, "golden", count)


def main(chosen: list[str]) -> None:
    """Asks the JVM again, for all files or those whose names start with one of the given texts."""
    program = ("tasks", "TaskOracle")
    with Oracle(main=program) as tasks, Oracle(main=program, version="4.3.1") as older, Oracle() as broker:
        for name, lines in _files(tasks, older, broker):
            if chosen and not name.startswith(tuple(chosen)):
                continue
            is_new = write_lines(name, lines, GOLDEN)
            sys.stdout.write(f"{name}{' written' if is_new else ' unchanged'}\n")
            sys.stdout.flush()
        versions = {
            "connect": tasks.versions(),
            "streams-classic-sticky-4.3": older.versions(),
            "groups": broker.versions(),
        }
        (GOLDEN / "versions.json").write_text(json.dumps(versions, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
