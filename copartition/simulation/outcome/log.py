"""Write and check the event log of a run: lines of JSON from which the run can be made again.

The first line holds the scenario, and each other line one thing that happened. Logs of several runs may
follow one another. They contain no wall-clock time, so the same scenario gives the same bytes on every
machine.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from itertools import takewhile
from typing import Any, NamedTuple

from copartition.simulation.inputs.file import scenario_to_dict
from copartition.simulation.inputs.scenario import Scenario
from copartition.simulation.outcome.result import SimulationResult
from copartition.simulation.run import simulate
from partitioning.errors import ScenarioError
from partitioning.kit.formats import decode_json

FORMAT_VERSION = "1.0"


class Difference(NamedTuple):
    """The first place at which a log and the run that it describes differ."""

    line: int  # from 1
    column: int  # the first character that differs, from 1
    logged: str | None  # None if the log ends too early
    now: str | None  # the line that the new run gives; None if the log should end here


def log_lines(result: SimulationResult) -> Iterator[str]:
    """Yield the log of a run line by line, each with its line break: the scenario first, then the events."""
    yield _line({"format_version": FORMAT_VERSION, "scenario": scenario_to_dict(result.scenario)})
    for entry in result.log:
        yield _line(asdict(entry))


def replay(lines: Iterable[bytes]) -> Difference | None:
    """Return the first difference, byte for byte, between a log and a new run of its scenario; else None.

    Args:
        lines: the log's lines with their line breaks; logs of several runs may follow one another.

    Raises:
        ScenarioError: the text is not a log, has an unknown format, or is of a run that cannot be repeated.
    """
    number = 0
    now: Iterator[str] = iter(())
    for number, line in enumerate(lines, 1):
        expected = next(now, None)
        if expected is None:  # no run has lines left: this line must be a header
            header = _header(line)
            if header is None and number == 1:
                raise ScenarioError("this is no log of a simulation: its first line holds no scenario")
            if header is None:
                return Difference(number, 1, line.decode(errors="backslashreplace"), None)
            now = log_lines(simulate(_scenario(header, number)))
            expected = next(now)
        if line != expected.encode():
            logged = line.decode(errors="backslashreplace")
            alike = takewhile(lambda pair: pair[0] == pair[1], zip(logged, expected, strict=False))
            return Difference(number, sum(1 for _ in alike) + 1, logged, expected)
    if number == 0:
        raise ScenarioError("the log is empty; its first line holds the scenario")
    missing = next(now, None)
    return None if missing is None else Difference(number + 1, 1, None, missing)


def _line(value: dict[str, Any]) -> str:
    """Return a value as one line of JSON; raise `ValueError` for infinity and NaN, which JSON lacks."""
    return json.dumps(value, allow_nan=False) + "\n"


def _header(line: bytes) -> dict[str, Any] | None:
    """Return the content of a first line; None if the line is no header of a log."""
    try:
        content = decode_json(line.decode())
    except ValueError:
        return None
    return content if isinstance(content, dict) and "format_version" in content else None


def _scenario(header: dict[str, Any], number: int) -> Scenario:
    """Return the scenario of a log's header, which is in line `number`.

    Raises:
        ScenarioError: the scenario cannot be run again.
    """
    version = header["format_version"]
    if version != FORMAT_VERSION:
        raise ScenarioError(
            f"line {number}: a log of format {version!r}; this version reads {FORMAT_VERSION!r}"
        )
    scenario = Scenario.from_dict(header.get("scenario"))
    if scenario.costs.assignor_ms == "measured":
        raise ScenarioError(
            f"line {number}: the run measured its assignor (costs.assignor_ms), so it never repeats itself"
        )
    return scenario
