"""What operators were told, and what happened when they did it: `python -m benchmarks.drills`.

A drill builds a real state of a real group on a broker of its own, asks a command as an operator would, does
what the answer says or predicts, and looks. What was said and what happened is `measured.json`, and
`benchmarks/drills.md` the table of it. With `--compare` no broker is needed: the page is written, and every
answer judged, anew.
"""

from __future__ import annotations

import argparse
import tempfile
import traceback
from concurrent.futures import ThreadPoolExecutor, as_completed
from itertools import product
from pathlib import Path
from typing import Any

from benchmarks.drills import looking, migrating, predicting
from benchmarks.drills.page import page
from benchmarks.drills.stage import Stage
from benchmarks.measured import read_runs, replace_runs

MEASURED = Path(__file__).parent / "measured.json"
PAGE = Path(__file__).parents[1] / "drills.md"
VERSIONS = ("4.4.0", "4.3.1")
MOMENTS = ("before", "after")
DRILLS = {drill.name: drill for drill in (*migrating.DRILLS, *looking.DRILLS, *predicting.DRILLS)}


def run(name: str, version: str, moment: str) -> dict[str, Any]:
    """Walk a drill on a broker of its own; what was said and what happened, as it is kept.

    A walk that fails is kept with its error: the answers until then are evidence, too.
    """
    drill = DRILLS[name]
    with (
        tempfile.TemporaryDirectory(prefix="drills-") as folder,
        drill.cluster(drill.settings, drill.java_options, version=version) as broker,
        Stage(broker, Path(folder)) as stage,
    ):
        kept: dict[str, Any] = {"run": f"{name} {version} {moment}"}
        try:
            happened = drill.walk(stage)._asdict()
        except Exception as error:  # noqa: BLE001 - a walk is other people's programs, which fail in many ways
            traceback.print_exc()
            happened = {"done": "", "became": f"the drill failed: {error!r}"[:300], "facts": None}
        return kept | {"answers": [answer._asdict() for answer in stage.answers], **happened}


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m benchmarks.drills", description=__doc__)
    options.add_argument("--version", action="append", choices=VERSIONS, help="of the broker; else all")
    options.add_argument("--only", action="append", choices=DRILLS, help="a drill")
    options.add_argument(
        "--moment", choices=MOMENTS, default="after", help="under which the answers are kept"
    )
    options.add_argument("--at-a-time", type=int, default=2, help="drills that run side by side")
    options.add_argument("--compare", action="store_true", help="only judge and write the page again")
    chosen = options.parse_args()
    if not chosen.compare:
        order = [" ".join(parts) for parts in product(DRILLS, VERSIONS, MOMENTS)]
        names = list(product(chosen.only or DRILLS, chosen.version or VERSIONS, [chosen.moment]))
        with ThreadPoolExecutor(chosen.at_a_time) as side_by_side:
            for walked in as_completed([side_by_side.submit(run, *asked) for asked in names]):
                kept = walked.result()
                print(kept["run"], kept["became"], flush=True)
                replace_runs(MEASURED, "runs", [kept], "run", order)
    PAGE.write_text(page(DRILLS, {kept["run"]: kept for kept in read_runs(MEASURED, "runs")}))


if __name__ == "__main__":
    main()
