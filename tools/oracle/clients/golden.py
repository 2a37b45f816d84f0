"""The golden files of `tests/golden/clients`: JSON lines under xz; the README there says what is where."""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

Json = dict[str, Any]

GOLDEN = Path(__file__).parents[3] / "tests" / "golden" / "clients"
SUFFIX = ".jsonl.xz"


def names(folder: str) -> list[str]:
    """The golden files of one folder, such as "profiles"."""
    return sorted(path.name.removesuffix(SUFFIX) for path in (GOLDEN / folder).glob(f"*{SUFFIX}"))


def read(name: str) -> list[Json]:
    """The lines of one golden file, such as "profiles/java"."""
    return [json.loads(line) for line in lzma.decompress(_path(name).read_bytes()).splitlines()]


def write(name: str, lines: Iterable[Json]) -> None:
    """Write one golden file, unless it holds just that: another release of the compressor changes nothing."""
    encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
    text = "".join(f"{encode(line)}\n" for line in lines).encode()
    path = _path(name)
    if path.exists() and lzma.decompress(path.read_bytes()) == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(lzma.compress(text, preset=9 | lzma.PRESET_EXTREME))


def _path(name: str) -> Path:
    return GOLDEN / f"{name}{SUFFIX}"
