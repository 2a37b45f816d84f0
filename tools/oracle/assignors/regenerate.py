"""Writes the golden answers again: `python -m tools.oracle.assignors.regenerate [PREFIX...]`.

A file is written only where its content changed, so that another release of the compressor changes nothing.
"""

from __future__ import annotations

import json
import lzma
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.support.oracle import Oracle
from tools.oracle.assignors import librdkafka, protocol_cases
from tools.oracle.assignors.hash_orders import hash_orders
from tools.oracle.assignors.heartbeats import FAMILIES, heartbeats
from tools.oracle.assignors.scenarios import ASSIGNORS, families, scenarios
from tools.oracle.assignors.worlds import partitions

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tools.oracle.assignors.worlds import Json, Runs


GOLDEN = Path(__file__).parents[3] / "tests" / "golden" / "assignors"


class UnexpectedAnswerError(AssertionError):
    """The JVM does not do what a named scenario says it does."""


def answer_scenario(oracle: Oracle, scenario: Json) -> Json:
    """The scenario with every member resolved and the JVM's answers, checked where it says what to expect."""
    steps = oracle.assign(scenario)
    for number, (asked, told) in enumerate(zip(scenario["steps"], steps, strict=False)):
        expected = asked.get("expect", {})
        observed = _observe(told)
        if any(observed[what] != _comparable(what, expected[what]) for what in expected):
            raise UnexpectedAnswerError(
                f"{scenario['assignor']}/{scenario['name']} step {number}: expected {expected}, but {told}"
            )
    return {"name": scenario["name"], "steps": steps}


def _observe(told: Json) -> Json:
    return {
        "lists": {member: _in_order(runs) for member, runs in told.get("assignment", ())},
        "exception": told.get("error", {}).get("exception"),
        "endless": "error" in told and told["error"]["exception"] is None,
        "transferring": {
            f"{topic}-{partition}": member for topic, partition, member in told.get("transferring", ())
        },
    }


def _comparable(what: str, expected: Any) -> Any:
    if what == "lists":
        return {member: _in_order(partitions(text)) for member, text in expected.items()}
    return expected


def _in_order(runs: Runs) -> list[tuple[str, int]]:
    return sorted((topic, number) for topic, *numbers in runs for number in numbers)


def write_lines(name: str, lines: Iterable[Json], folder: Path = GOLDEN) -> bool:
    """Writes a golden file unless it says the same already."""
    path = folder / f"{name}.jsonl.xz"
    content = "".join(
        json.dumps(line, separators=(",", ":"), ensure_ascii=True) + "\n" for line in lines
    ).encode()
    if path.exists() and lzma.decompress(path.read_bytes()) == content:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(lzma.compress(content, preset=9 | lzma.PRESET_EXTREME))
    return True


def _protocol(oracle: Oracle) -> Iterator[Json]:
    for request in protocol_cases.requests(lambda asked: _answer_to(oracle, asked)):
        yield {**_state(request), "answer": _answer_to(oracle, request)}


def _answer_to(oracle: Oracle, request: Json) -> Json:
    op, *_ = request.values()
    return oracle.ask(
        op, **{key: value for key, value in _state(request).items() if key not in {"op", "name"}}
    )


def _state(request: Json) -> Json:
    return {key: value for key, value in request.items() if key != "exhaustive"}


def _hash_orders(oracle: Oracle) -> Iterator[Json]:
    for case in hash_orders():
        yield {**case, **oracle.ask("hash_order", **{key: case[key] for key in case if key != "name"})}


def _heartbeats(oracle: Oracle, family: str) -> Iterator[Json]:
    for case in heartbeats(family):
        told = oracle.ask("coordinate", settings=case["settings"], steps=case["steps"])["steps"]
        yield {**case, "told": told}


def _files(oracle: Oracle) -> Iterator[tuple[str, Iterator[Json]]]:
    """Every golden file's name and lines."""
    yield "java/hash_orders", _hash_orders(oracle)
    yield "protocol/bytes", _protocol(oracle)
    for family in FAMILIES:
        yield f"coordinator/{family}", _heartbeats(oracle, family)
    for family in librdkafka.FAMILIES:
        yield f"librdkafka-{librdkafka.STRATEGY}/{family}", librdkafka.scenarios(family)
    for assignor in ASSIGNORS:
        for family in families(assignor):
            yield (
                f"{assignor}/{family}",
                (answer_scenario(oracle, asked) for asked in scenarios(assignor, family)),
            )


def main(chosen: list[str]) -> None:
    """Asks the JVM again, for all files or those whose names start with one of the given texts."""
    changed = False
    with Oracle() as oracle:
        for name, lines in _files(oracle):
            if chosen and not name.startswith(tuple(chosen)):
                continue
            is_new = write_lines(name, lines)
            changed |= is_new
            sys.stdout.write(f"{name}{' written' if is_new else ' unchanged'}\n")
            sys.stdout.flush()
        if changed:
            versions = json.dumps(oracle.versions() | librdkafka.versions(), indent=2) + "\n"
            (GOLDEN / "versions.json").write_text(versions, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
