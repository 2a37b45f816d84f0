"""`python -m examples.labs` lists the labs, `python -m examples.labs NAME [--html]` runs one."""

from __future__ import annotations

import argparse
import ast
import html
import os
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from confluent_kafka import KafkaException

from examples.labs.kit.cluster import cluster
from examples.labs.kit.lab import Lab
from tests.support import jars
from tests.support.broker import BrokerError

if TYPE_CHECKING:
    from types import ModuleType

NAMES = (
    *("keys", "growth", "round-robin", "sticky", "batches", "at-least-once", "idempotence", "transaction"),
    *("fencing", "not-solved", "offsets", "membership", "strategies", "exactly-once"),
)
HERE = Path(__file__).parent
PAGES = Path("build/labs")


def load(name: str) -> ModuleType:
    """The module of a lab: `run(lab)`, and where it needs them `NODES` or `PROXIED`."""
    return import_module(f"examples.labs.{name.replace('-', '_')}")


def about(name: str) -> str:
    """The first line of a lab's docstring; it is not imported for that."""
    source = (HERE / f"{name.replace('-', '_')}.py").read_text()
    return (ast.get_docstring(ast.parse(source)) or "").splitlines()[0]


def main() -> int:
    """The exit code is 0 where all predictions came true, 1 where not all did, 2 where a lab cannot run."""
    options = argparse.ArgumentParser(prog="python -m examples.labs", description=__doc__)
    options.add_argument("name", nargs="?", choices=NAMES, metavar="NAME", help="of a lab")
    options.add_argument("--html", action="store_true", help=f"write a page and a picture to {PAGES}")
    chosen = options.parse_args()
    if chosen.name is None:
        for name in NAMES:
            print(f"  {name:<14} {about(name)}")
        python = os.path.relpath(sys.executable)
        print(f"\nRun one: {python} -m examples.labs keys. What each shows: docs/labs.md")
        return 0
    if "KAFKA_BOOTSTRAP_SERVERS" not in os.environ and (missing := jars.missing_tools()):
        print(f"A lab {missing}, or set KAFKA_BOOTSTRAP_SERVERS.", file=sys.stderr)
        return 2
    try:
        return run(chosen.name, page=chosen.html)
    except (BrokerError, jars.JarsError, KafkaException, TimeoutError) as error:
        print(f"The lab stopped: {error}", file=sys.stderr)
        return 2


def run(name: str, *, page: bool) -> int:
    """Run a lab on a cluster of its own."""
    started = time.monotonic()
    module = load(name)
    nodes, proxied = getattr(module, "NODES", 1), getattr(module, "PROXIED", False)
    own = nodes > 1 or proxied or "KAFKA_BOOTSTRAP_SERVERS" not in os.environ
    if own:
        print("Starting a broker (the first time its jars are fetched, which takes a minute) ...")
    with cluster(nodes, proxied=proxied) as place:
        lab = Lab(place)
        lab.say(f"{name}: {about(name)}\n")
        module.run(lab)
        lab.conclude()
    print(f"{time.monotonic() - started:.0f} s. More: docs/labs.md#{name}")
    if page:
        write_page(name, lab)
    return 0 if lab.agrees else 1


def write_page(name: str, lab: Lab) -> None:
    """Write what the lab printed, and its picture, as files that need nothing else."""
    PAGES.mkdir(parents=True, exist_ok=True)
    picture = lab.picture.svg() if lab.picture else ""
    text = html.escape(lab.console.export_text())
    (PAGES / f"{name}.svg").write_text(picture)
    (PAGES / f"{name}.html").write_text(
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{name}</title>'
        f'<body style="font-family: sans-serif; max-width: 60rem; margin: auto">'
        f"<h1>{html.escape(about(name))}</h1>{picture}<pre>{text}</pre></body></html>\n"
    )
    print(f"{PAGES / name}.html, {PAGES / name}.svg")


if __name__ == "__main__":
    sys.exit(main())
