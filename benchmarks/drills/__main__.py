"""What operators were told, and what happened when they did it: `python -m benchmarks.drills`.

A drill builds a real state of a real group, asks a command as an operator would, does
what the answer says or predicts, and looks. What was said and what happened is `measured.json`, and
`benchmarks/drills.md` the table of it. With `--compare` no broker is needed: the page is written, and every
answer judged, anew.
"""

from __future__ import annotations

import argparse
import tempfile
import traceback
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import nullcontext
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.drills import looking, migrating, predicting
from benchmarks.drills.page import page
from benchmarks.drills.stage import Stage
from benchmarks.measured import read_runs, replace_runs
from tests.support.broker import Broker

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MEASURED = Path(__file__).parent / "measured.json"
PAGE = Path(__file__).parents[1] / "drills.md"
VERSIONS = ("4.4.0", "4.3.1")
MOMENTS = ("before", "after")
DRILLS = {drill.name: drill for drill in (*migrating.DRILLS, *looking.DRILLS, *predicting.DRILLS)}


def walk(name: str, version: str, moment: str, shared: Broker) -> dict[str, Any]:
    """Walk a drill on a broker of its own if it needs one; what was said and what happened, as it is kept.

    A walk that fails is kept with its error: the answers until then are evidence, too.
    """
    drill = DRILLS[name]
    own = drill.cluster(drill.settings, drill.java_options, version=version) if drill.alone else None
    with (
        tempfile.TemporaryDirectory(prefix="drills-") as folder,
        own or nullcontext(shared) as broker,
        Stage(broker, Path(folder), [*DRILLS].index(name) + 1) as stage,
    ):
        try:
            happened = drill.walk(stage)._asdict()
        except Exception as error:  # noqa: BLE001 - a walk is other people's programs, which fail in many ways
            traceback.print_exc()
            happened = {"done": "", "became": f"the drill failed: {error!r}"[:300], "facts": None}
        answers = [answer._asdict() for answer in stage.answers]
        return {"run": f"{name} {version} {moment}", "answers": answers, **happened}


def walk_all(names: Iterable[str], version: str, moment: str, at_a_time: int) -> Iterator[dict[str, Any]]:
    """Walk drills on brokers of a version; each as soon as it is over."""
    with Broker(version=version) as shared, ThreadPoolExecutor(at_a_time) as side_by_side:
        walking = [side_by_side.submit(walk, name, version, moment, shared) for name in names]
        for walked in as_completed(walking):
            yield walked.result()


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
        for version in chosen.version or VERSIONS:
            for kept in walk_all(chosen.only or DRILLS, version, chosen.moment, chosen.at_a_time):
                print(kept["run"], kept["became"], flush=True)
                replace_runs(MEASURED, "runs", [kept], "run", order)
    PAGE.write_text(page(DRILLS, {kept["run"]: kept for kept in read_runs(MEASURED, "runs")}))


if __name__ == "__main__":
    main()
