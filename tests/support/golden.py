"""The JVM's answers, as committed under `tests/golden/assignors`; the format is in its README."""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

Json = dict[str, Any]

GOLDEN = Path(__file__).parents[1] / "golden" / "assignors"


def golden_files() -> list[str]:
    """Names of the golden files, such as "sticky/quirks"."""
    return sorted(
        path.relative_to(GOLDEN).as_posix().removesuffix(".jsonl.xz") for path in GOLDEN.rglob("*.jsonl.xz")
    )


def golden_lines(name: str) -> Iterator[Json]:
    """The lines of one golden file, one after the other."""
    with lzma.open(GOLDEN / f"{name}.jsonl.xz", "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)
