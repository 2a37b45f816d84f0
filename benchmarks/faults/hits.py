"""The faults of a run that struck: each is a file `hit-NUMBER.json`, which says what was open just before."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path


def note(folder: Path, number: int, hit: dict[str, Any]) -> bool:
    """Write down that this fault strikes now; gives whether it had not struck elsewhere.

    The file is there whole or not at all: a fault from before may end the process meanwhile.
    """
    written = folder / f"writing-{os.getpid()}"
    written.write_text(json.dumps(hit))
    try:
        os.link(written, folder / f"hit-{number:03}.json")
    except FileExistsError:
        return False
    finally:
        written.unlink()  # else the next fault of this process would be written into the file of this one
    return True


def count(folder: Path) -> int:
    """How many there are."""
    return sum(1 for _ in folder.glob("hit-*"))


def read(folder: Path, after: int = 0) -> list[dict[str, Any]]:
    """What was written down, but for so many of the first ones."""
    return [json.loads(path.read_text()) for path in sorted(folder.glob("hit-*"))[after:]]
