"""Lines of logs that may say something of a group, and when each was written."""

from __future__ import annotations

import gzip
import json
import re
import sys
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property, partial
from io import BufferedReader
from typing import IO, cast

from partitioning.errors import SourceError

LONGEST_LINE = 1 << 16
"""Bytes of a line that are read; what follows counts as another line."""

_STAMP = re.compile(
    r"(?:%\d\|(?P<epoch>\d{9,11}\.\d+)\|)"  # librdkafka: seconds since 1970
    r"|(?P<date>\d{4}[-/]\d\d[-/]\d\d)[T ](?P<time>\d\d:\d\d:\d\d)(?:[.,:](?P<part>\d{1,9}))?"
    r"(?: ?(?P<zone>Z|UTC|[+-]\d\d:?\d\d))?"
)
_SEARCHED = 120
"""Characters of a line in which its time may begin: container runtimes and log4j write something before."""


@dataclass(frozen=True)
class Line:
    """A line of a log.

    Attributes:
        file: its path.
        number: from 1.
        text: the line, without its end.
    """

    file: str
    number: int
    text: str

    @cached_property
    def at(self) -> float | None:
        """When it was written, seconds since 1970 (UTC where it names no zone); None: it does not tell."""
        stamp = _STAMP.search(self.text, 0, _SEARCHED)
        if stamp is None:
            return None
        if stamp["epoch"]:
            return float(stamp["epoch"])
        zone = (stamp["zone"] or "Z").replace("UTC", "+00:00").replace("Z", "+00:00")
        text = f"{stamp['date'].replace('/', '-')}T{stamp['time']}{zone}"
        try:
            whole = datetime.fromisoformat(text)
        except ValueError:  # the 31st of February
            return None
        return whole.astimezone(UTC).timestamp() + float(f"0.{stamp['part'] or 0}")

    @property
    def zoned(self) -> bool:
        """Whether its time says in which zone."""
        stamp = _STAMP.search(self.text, 0, _SEARCHED)
        return stamp is None or bool(stamp["epoch"] or stamp["zone"])


def read_lines(path: str, hints: Sequence[bytes]) -> Iterator[Line]:
    """The lines of a log in which one of these occurs; `-` is standard input, gzip is recognized.

    Raises:
        SourceError: the file cannot be read, or its compressed data are broken.
    """
    try:
        with _open(path) as file:
            for number, raw in enumerate(iter(partial(file.readline, LONGEST_LINE), b""), 1):
                if any(hint in raw for hint in hints):
                    yield Line(path, number, _unpacked(raw).decode(errors="backslashreplace").rstrip("\r\n"))
    except (OSError, EOFError, zlib.error) as error:
        raise SourceError(
            f"{path}: {error.strerror or error if isinstance(error, OSError) else error}"
        ) from error


def _unpacked(raw: bytes) -> bytes:
    """The line that Docker's json-file driver has packed; any other as it is."""
    if not raw.startswith(b'{"log":"'):
        return raw
    try:
        return str(json.loads(raw)["log"]).encode(errors="backslashreplace")
    except ValueError:
        return raw


@contextmanager
def _open(path: str) -> Iterator[IO[bytes]]:
    with ExitStack() as stack:
        file = sys.stdin.buffer if path == "-" else stack.enter_context(open(path, "rb"))  # noqa: PTH123
        packed = cast("BufferedReader", file).peek(2)[:2] == b"\x1f\x8b"
        yield cast("IO[bytes]", stack.enter_context(gzip.open(file))) if packed else file
