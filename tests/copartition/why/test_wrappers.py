"""A log says the same in every wrapper: its lines, wrapped, give the rebalances of the bare lines."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from copartition.why.rebalances import histories
from copartition.why.statements import read_statements
from tests.support.tiers import sample

if TYPE_CHECKING:
    from collections.abc import Callable

GOLDEN = Path(__file__).parents[2] / "golden" / "logs"
BROKER = GOLDEN / "java-range" / "broker.log.gz"
LOGS = {
    "broker": BROKER,
    "broker of a consumer group": GOLDEN / "java-consumer" / "broker.log.gz",
    "java": GOLDEN / "java-cooperative" / "c0-0.log.gz",
    "librdkafka": GOLDEN / "librdkafka-range" / "c0-0.log.gz",
    "kafka-python": GOLDEN / "kafka-python-range" / "c0-0.log.gz",
    "aiokafka": GOLDEN / "aiokafka-range" / "c0-0.log.gz",
}


def as_csv(*fields: str) -> str:
    out = io.StringIO()
    csv.writer(out, quoting=csv.QUOTE_ALL).writerow(fields)
    return out.getvalue().rstrip("\r\n")


def nested(line: str) -> str:
    return json.dumps({"log": json.dumps({"level": "INFO", "msg": line}) + "\n", "stream": "stdout"})


WRAPPERS: dict[str, Callable[[str], str]] = {
    "docker": lambda line: json.dumps({"log": f"{line}\n", "stream": "stdout"}),
    "json with odd names": lambda line: json.dumps({"a": {"b": 7}, "zz": [line], "host": "group-host"}),
    "json in json": nested,
    "csv": lambda line: as_csv("i-1", line, "x"),
    "json in csv": lambda line: as_csv("i-1", json.dumps({"m": line})),
    "syslog": lambda line: f"<134>Nov 28 10:00:00 host-1 app[312]: {line}",
    "kubectl prefix": lambda line: f"[pod/kafka-0/kafka] {line}",
    "compose": lambda line: f"kafka-1  | {line}",
    "grep": lambda line: f"logs/server.log.2026-11-28:17:{line}",
    "journald": lambda line: json.dumps({"MESSAGE": [*line.encode()]}, separators=(",", ":")),
    "logfmt": lambda line: f"level=info msg={json.dumps(line)} caller=x.go:7",
    "colours": lambda line: f"\x1b[32m{line.replace('INFO', chr(27) + '[1mINFO' + chr(27) + '[0m')}\x1b[0m",
    "text behind": lambda line: f"{line} host=b1 dc=eu",
    "quoted": lambda line: f"> {line}",
    "bold": lambda line: f"**{line}**",
    "windows": lambda line: f"{line}\r",
    "escaped": lambda line: f'  "message": {json.dumps(line)},',
    "cloudwatch": lambda line: json.dumps({"logGroup": "/g", "logEvents": [{"id": "1", "message": line}]}),
}


def shown(path: Path) -> list[object]:
    """What a log shows, times included."""
    return [
        (
            history.name,
            history.protocol,
            [
                (
                    row.generation,
                    row.cause,
                    row.member,
                    row.began,
                    row.join_s,
                    row.sync_s,
                    row.members,
                    row.also,
                )
                for row in history.rebalances
            ],
        )
        for history in histories(read_statements([str(path)]))
    ]


def lines_of(log: str) -> list[str]:
    return gzip.decompress(LOGS[log].read_bytes()).decode().splitlines()


@pytest.fixture(scope="module", params=sample([*LOGS], 2))
def bare(request: pytest.FixtureRequest) -> tuple[list[str], list[object]]:
    """The lines of a log, and what they show."""
    return lines_of(request.param), shown(LOGS[request.param])


@pytest.mark.sampled
@pytest.mark.parametrize("wrapper", sample([*WRAPPERS], 5, before_ci=3))
def test_a_wrapped_log_says_the_same(
    bare: tuple[list[str], list[object]], wrapper: str, tmp_path: Path
) -> None:
    lines, expected = bare
    path = tmp_path / "wrapped.log"
    path.write_text("".join(f"{WRAPPERS[wrapper](line)}\n" for line in lines))
    assert expected
    assert shown(path) == expected


def test_a_log_that_begins_with_its_last_line_says_the_same(
    bare: tuple[list[str], list[object]], tmp_path: Path
) -> None:
    lines, expected = bare
    path = tmp_path / "reversed.log"
    path.write_text("".join(f"{line}\n" for line in reversed(lines)))
    assert shown(path) == expected


def test_utf_16_is_read(tmp_path: Path) -> None:
    path = tmp_path / "powershell.log"
    path.write_text("\n".join(lines_of("broker")) + "\n", encoding="utf-16")
    assert shown(path) == shown(BROKER)
