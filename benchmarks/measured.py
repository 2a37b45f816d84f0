"""Files that keep what was measured, a run a line, so that a changed run is a changed line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

Run = dict[str, Any]


def read_runs(file: Path, what: str) -> list[Run]:
    """The runs of a file, which are under this name in it; none where there is no file yet."""
    return json.loads(file.read_text())[what] if file.exists() else []


def versions(runs: Iterable[Run], of: str) -> str:
    """Each version of a program that runs were made with; they name it under a word such as "kafka"."""
    return " and ".join(sorted({run[of] for run in runs}))


def replace_runs(file: Path, what: str, runs: Sequence[Run], key: str, names: Sequence[str]) -> None:
    """Write runs in place of the ones with the same `key`, whose values have the order of `names`."""
    new = {run[key] for run in runs}
    both = [*(run for run in read_runs(file, what) if run[key] not in new), *runs]
    lines = ",\n".join(
        json.dumps(run, separators=(",", ":")) for run in sorted(both, key=lambda run: names.index(run[key]))
    )
    file.write_text(f'{{"{what}": [\n{lines}\n]}}\n')
