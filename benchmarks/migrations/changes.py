"""What the commands said of real changes, and what happened: `python -m benchmarks.migrations.changes`.

Each group lives through a rest, a join, a leave, a growth, a deploy and a migration. Before each of these
`copartition diff live:GROUP plan:...` is asked, and before the migration `copartition migrate` too; then it
is done, whatever they said. All that is `changes.json`, and `benchmarks/changes.md` the table of it. With
`--compare` no broker is needed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.migrations.walking import MEMBERS, PARTITIONS, WalkingGroup
from benchmarks.migrations.walks import Walk
from copartition.assignment_diff import Joiner, WhatIf, plan
from copartition.groups import read_live
from copartition.migrate.migration import plan_migration
from tests.support.broker import Broker, Kafka

if TYPE_CHECKING:
    from collections.abc import Iterator

    from assignors.state import GroupState

Json = dict[str, Any]

MEASURED = Path(__file__).parent / "changes.json"
PAGE = Path(__file__).parents[1] / "changes.md"
GROUPS = [
    Walk(("java",), "range", "cooperative-sticky"),
    Walk(("java",), "cooperative-sticky", "uniform"),
    Walk(("java",), "uniform", "broker-range"),
    Walk(("librdkafka",), "range", "cooperative-sticky"),
    Walk(("librdkafka",), "cooperative-sticky", "uniform"),
    Walk(("librdkafka",), "uniform", "cooperative-sticky"),
    Walk(("kafka-python",), "range", "cooperative-sticky"),
    Walk(("kafka-python",), "cooperative-sticky", "uniform"),
    Walk(("aiokafka",), "roundrobin", "range"),
    Walk(("aiokafka",), "sticky", "range"),
]
"""What becomes of each is kept under `_key`."""
EVENTS = ("rest", "join", "leave", "growth", "deploy", "migration")
JOINS, LEAVES, GROWN = MEMBERS, 0, PARTITIONS + 3
Owners = dict[int, str | None]


class _Life:
    """A group, what is asked about it, and what is done to it."""

    def __init__(self, way: Walk, kafka: Kafka, folder: Path) -> None:
        self._way, self._servers = way, kafka.bootstrap_servers
        self._group = WalkingGroup(way, kafka, folder)

    def run(self) -> list[Json]:
        """All events, one after the other."""
        try:
            for number in range(MEMBERS):
                self._group.start(number, [self._way.before])
                self._group.settle(number + 1)
            return [self._change(event) for event in EVENTS]
        finally:
            self._group.end()

    def _change(self, event: str) -> Json:
        before, given_up = self._state(), self._group.given_up()
        options, what_if = self._options(event)
        strategy = self._way.after if event == "migration" else "current"
        asked = self._ask("diff", f"live:{self._way.name}", f"plan:{strategy}", *options)
        planned = plan(before, strategy, what_if)
        line: Json = {"event": event, "verdict": asked[0], "code": asked[1]}
        if event == "migration":
            line["migrate"], line["migrate_code"] = self._ask(
                "migrate", f"live:{self._way.name}", self._way.after
            )
        line["fault"] = self._happens(event)
        after = self._state()
        line["stopped"] = len(self._group.given_up() - given_up)
        line["moved"] = sum(
            _owners(before).get(partition) != owner for partition, owner in _owners(after).items()
        )
        line["assumed"] = list(planned.assumed)
        line["as_planned"] = _owners(planned) == _owners(after)
        return line

    def _options(self, event: str) -> tuple[list[str], WhatIf]:
        match event:
            case "join":
                name = f"m{JOINS}"
                return ["--add-member", name], WhatIf(joining=(Joiner(name),))
            case "leave":
                return ["--remove-member", f"m{LEAVES}"], WhatIf(remove_members=(f"m{LEAVES}",))
            case "growth":
                return ["--grow", f"{self._group.topic}={GROWN}"], WhatIf(
                    partitions={self._group.topic: GROWN}
                )
            case "deploy":
                return ["--deploy", "rolling"], WhatIf(deploy="rolling")
            case _:
                return [], WhatIf()

    def _happens(self, event: str) -> str | None:
        """Does it; what went wrong, None where all members live and read everything."""
        group, members = self._group, len(self._group.running)
        try:
            match event:
                case "join":
                    group.start(JOINS, [self._way.before])
                    members += 1
                case "leave":
                    group.close(LEAVES)
                    members -= 1
                case "growth":
                    group.grow(GROWN)
                case "deploy":
                    self._restart([self._way.before])
                case "migration":
                    for strategies in self._bounces():
                        self._restart(strategies)
            state = group.settle(members)
        except (RuntimeError, TimeoutError) as error:
            return str(error)
        if event == "migration" and state.strategy != self._way.after:
            return f"the group ended with {state.strategy}"
        return None

    def _bounces(self) -> Iterator[tuple[str, ...]]:
        """Those that `migrate` calls safe; else one, as somebody does who does not ask."""
        way = plan_migration([self._way.before], [self._way.after], clients=self._way.clients)
        yield from [bounce.strategies for bounce in way.bounces] or [(self._way.after,)]

    def _restart(self, strategies: Any) -> None:
        for number in list(self._group.running):
            self._group.restart(number, strategies)
            self._group.settle(len(self._group.running))

    def _state(self) -> GroupState:
        return read_live(self._way.name, {"bootstrap.servers": self._servers})[0]

    def _ask(self, *arguments: str) -> tuple[str, int]:
        """The verdict of a command, which is its first lines, and its exit code."""
        command = [Path(sys.executable).with_name("copartition"), *arguments, "-b", self._servers]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        said = run.stdout or run.stderr
        return said.split("\n\n")[0].splitlines()[0], run.returncode


def _owners(state: GroupState) -> Owners:
    """Who has each partition, by client id."""
    names = [member.client_id for member in state.members]
    rows = zip(state.partition.tolist(), state.member.tolist(), strict=True)
    return {partition: names[member] if member >= 0 else None for partition, member in rows}


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m benchmarks.migrations.changes", description=__doc__)
    options.add_argument("--only", action="append", help="a group, such as java-range-cooperative-sticky")
    options.add_argument("--at-a-time", type=int, default=3, help="groups that run side by side")
    options.add_argument("--compare", action="store_true", help="only write the page again")
    chosen = options.parse_args()
    measured: dict[str, list[Json]] = json.loads(MEASURED.read_text()) if MEASURED.exists() else {}
    if not chosen.compare:
        ways = [way for way in GROUPS if chosen.only is None or _key(way) in chosen.only]
        with (
            tempfile.TemporaryDirectory(prefix="changes-") as folder,
            Broker("") as broker,
            ThreadPoolExecutor(chosen.at_a_time) as side_by_side,
        ):
            kafka = Kafka(broker.bootstrap_servers)

            def one(way: Walk) -> None:
                lines = measured[_key(way)] = _Life(way, kafka, Path(folder)).run()
                print(_key(way), [line["fault"] for line in lines], flush=True)
                _save(measured)

            for finished in [side_by_side.submit(one, way) for way in reversed(ways)]:
                finished.result()
    PAGE.write_text(page(measured))


def _key(way: Walk) -> str:
    return f"{'+'.join(way.clients)}-{way.before}-{way.after}"


def _save(measured: dict[str, list[Json]]) -> None:
    """Write a change a line, of the groups that are over."""
    texts = (
        f"{json.dumps(name)}: [\n" + ",\n".join(map(json.dumps, lines)) + "\n]"
        for name, lines in sorted(measured.copy().items())
    )
    MEASURED.write_text("{\n" + ",\n".join(texts) + "\n}\n")


# The page ----------------------------------------------------------------------------------------------

_PAGE = """\
# Real changes: what was said, and what happened

`python -m benchmarks.migrations.changes` writes this page: {groups} groups on a real broker live through a
rest, a join, a leave, a growth, a rolling deploy and a migration. Before each, `copartition diff live:GROUP
plan:...` is asked for its verdict, and before a migration `copartition migrate`; then it is done, whatever
they said. `--compare` writes the page again from `migrations/changes.json`. kafka-python and aiokafka assign
with their own assignors. Stopped are partitions that a member gave up on the way, by the members' own words;
moved are those that another member has in the end, new ones included.

**{wrong} of {all} verdicts said that nothing changes where a partition stopped or moved; {died} of {safe}
migrations that were called safe broke a group, and {broke} of {refused} that were refused did.** Of {known}
plans that assumed nothing {equal} came true, partition by partition.

| client | from | change | exit code | verdict | `migrate` | stopped | moved | what became of it |
|---|---|---|--:|---|---|--:|--:|---|
{rows}
"""


def page(measured: dict[str, list[Json]]) -> str:
    """The table, with what matters most in front."""
    lines = [(way, line) for way in GROUPS for line in measured.get(_key(way), ())]
    happened = [line for _, line in lines if line["stopped"] or line["moved"]]
    asked = [line for _, line in lines if "migrate" in line]
    safe = [line for line in asked if line["migrate_code"] == 0]
    refused = [line for line in asked if line["migrate_code"] == 1]
    known = [line for _, line in lines if not line["assumed"]]
    return _PAGE.format(
        groups=len(measured),
        wrong=sum(line["code"] == 0 for line in happened),
        all=len(lines),
        died=sum(line["fault"] is not None for line in safe),
        safe=len(safe),
        broke=sum(line["fault"] is not None for line in refused),
        refused=len(refused),
        known=len(known),
        equal=sum(line["as_planned"] for line in known),
        rows="\n".join(_row(way, line) for way, line in lines),
    )


def _row(way: Walk, line: Json) -> str:
    to = f"migration to {way.after}" if line["event"] == "migration" else line["event"]
    became = line["fault"] or ("as planned" if line["as_planned"] else "all lived")
    cells = [way.clients[0], way.before, to, line["code"], line["verdict"], line.get("migrate", "")]
    cells += [line["stopped"], line["moved"], became]
    return f"| {' | '.join(str(cell).replace('|', '/') for cell in cells)} |"


if __name__ == "__main__":
    main()
