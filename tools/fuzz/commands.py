"""The command line in this process: damaged files and odd options must end in 0, 1 or a line and 2."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from click.testing import CliRunner

from copartition.shell.main import copartition
from tools.fuzz.clusters import unseen
from tools.fuzz.mutation import NUMBERS, mutate
from tools.fuzz.scenarios import JSON, TOML, YAML
from tools.fuzz.sources import CAPTURES, SNAPSHOT, fewer_draws

if TYPE_CHECKING:
    from random import Random

CONFIG = b"# settings\nbootstrap.servers=localhost:9092\n\nsasl.password = secret\n! note\nacks: all\n"
ASSIGNORS = [
    b"range",
    b"roundrobin",
    b"sticky",
    b"cooperative-sticky",
    b"broker-range",
    b"uniform",
    b"",
    b"none",
]
JOINERS = ["new", "new:pod-9@orders", "new@orders,clicks", "\x1b[2J", ":", "a@", "@", ""]
SUBSCRIPTIONS = ["worker-1=orders", "*=orders", "c=orders,none", "=", "worker-1=", "x\x1b=y"]
PATTERNS = ["orders", "^$", "(", "[", ".*", "a{99999999999}", "\x1b", ""]
FOLDER = tempfile.TemporaryDirectory(prefix="copartition-fuzz-")


def make(rng: Random) -> tuple[list[str], dict[str, bytes]]:
    numbers = [number.decode() for number in NUMBERS]

    def number() -> str:
        return rng.choice(numbers)

    def maybe(*option: str) -> list[str]:
        return [*option] if rng.random() < 0.2 else []

    content = rng.choice([*CAPTURES, SNAPSHOT])
    if rng.random() < 0.5:
        content = mutate(rng, content)
    files = {
        "group": content,
        "scenario.yaml": YAML,
        "scenario.toml": TOML,
        "scenario.json": JSON,
        "config": CONFIG if rng.random() < 0.5 else mutate(rng, CONFIG),
    }
    shape = maybe("-o", rng.choice(["stat", "json", "ndjson", "csv", "markdown"])) + maybe(
        "--width", number()
    )
    command = rng.choice(["diff", "diff", "diff", "simulate", "partition"])
    if command == "partition":
        return ["partition", number(), "-n", number(), *shape], {}
    if command == "simulate":
        scenario = rng.choice(["scenario.yaml", "scenario.toml", "scenario.json"])
        assignor = rng.choice(ASSIGNORS).decode()
        happens = [
            "--deploy=rolling",
            "--deploy=surge",
            "--crash-member=worker-1",
            f"--grow=orders={number()}",
        ]
        captured = ["group", rng.choice(happens)]
        return [
            "simulate",
            *(captured if rng.random() < 0.3 else [scenario]),
            *maybe("--seed", number()),
            *maybe("--assignor", assignor),
            *shape,
        ], files
    other = rng.choice([f"plan:{rng.choice(ASSIGNORS).decode()}", "group", f"scenario.yaml#{number()}"])
    sides = ["group", other] if rng.random() < 0.9 else ["group"]
    rng.shuffle(sides)
    what_if = maybe("--add-members", number()) + maybe("--grow", f"orders={number()}")
    what_if += maybe("--remove-member", rng.choice(["worker-1", "c", number()]))
    what_if += maybe("--add-member", rng.choice(JOINERS)) + maybe("--subscribe", rng.choice(SUBSCRIPTIONS))
    what_if += maybe("--deploy", rng.choice(["rolling", "surge"])) + maybe("--weights", "lag")
    what_if += maybe("--set", f"session.timeout.ms={number()}")
    shown = maybe("--by", rng.choice(["member", "topic", "partition"])) + maybe(
        "--only-topic", rng.choice(PATTERNS)
    )
    shown += maybe("--only-member", rng.choice(PATTERNS))
    limits = maybe("--check", f"moved_pct<={number()}") + maybe(
        "--match", rng.choice(["host", "overlap", "auto"])
    )
    limits += maybe("--strict") + maybe("--group", rng.choice(["billing", "g"]))
    rest = (
        maybe("--all")
        + maybe("--reasons")
        + maybe("--out", "out")
        + maybe("--html", "out")
        + maybe("--command-config", "config")
    )
    return ["diff", *sides, *what_if, *shown, *limits, *rest, *shape], files


@fewer_draws
def check(case: tuple[list[str], dict[str, bytes]]) -> None:
    arguments, files = case
    for name, content in files.items():
        Path(FOLDER.name, name).write_bytes(content)
    names = {*files, "out"}
    placed = [_place(argument, names) for argument in arguments]
    result = CliRunner().invoke(copartition, placed)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code in {0, 1, 2}
    assert "this is a bug" not in result.stderr, result.stderr
    assert result.exit_code != 2 or result.stderr
    assert "secret" not in result.stderr
    assert not unseen(result.stderr)


def _place(argument: str, names: set[str]) -> str:
    return str(Path(FOLDER.name, argument)) if argument.partition("#")[0] in names else argument


TARGETS = {"commands": (make, check)}
