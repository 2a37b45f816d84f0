"""A live topic is reshaped: `python -m benchmarks.reshape [--records N] [--only NAME]`.

What was measured is `measured.json`; from it `benchmarks/reshape.md` is written. `--compare` only writes the
page again.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.measured import read_runs, replace_runs
from benchmarks.reshape.page import page
from benchmarks.reshape.running import Place, Scenario, run, run_back

MEASURED, BACK = (Path(__file__).with_name(name) for name in ("measured.json", "back.json"))
PAGE = Path(__file__).parents[1] / "reshape.md"
CLIENTS = ("java", "librdkafka", "kafka-python")
SCENARIOS = [
    Scenario("48 -> 12", 48, 12, "java", CLIENTS),
    Scenario("librdkafka's rule -> Java's", 12, 12, "librdkafka", ("librdkafka",)),
    Scenario("12 -> 48", 12, 48, "java", CLIENTS),
    Scenario("12 -> 48, only Spark writes", 12, 48, "java", (), connector=True),
    Scenario("24 -> 36", 24, 36, "java", CLIENTS),
    Scenario("writers with two rules", 12, 12, "mixed", CLIENTS),
    *(
        Scenario(f"6 -> 12, struck {run}", 6, 12, "java", ("librdkafka", "kafka-python"), kills=20)
        for run in range(1, 5)
    ),
    Scenario(
        "6 -> 12, its proof struck",
        6,
        12,
        "java",
        ("librdkafka", "kafka-python"),
        kills=12,
        struck=("prove",),
    ),
]


WAYS_BACK = [Scenario(f"the way back, struck {run}", 6, 12, "java", (), 24, ("back",)) for run in (1, 2)]
"""These need no Spark."""


def main() -> None:
    names = [scenario.name for scenario in SCENARIOS]
    options = argparse.ArgumentParser(prog="python -m benchmarks.reshape", description=__doc__)
    options.add_argument("--records", type=int, default=200_000, help="records before the copy begins")
    options.add_argument("--rate", type=int, default=20, help="records a second while it copies")
    options.add_argument("--only", default="", help="only scenarios whose name has this in it")
    options.add_argument("--kills", type=int, help="so many of them; 0 for none")
    options.add_argument("--rate-from", choices=names, help="the run whose rate predicts these runs' copies")
    options.add_argument("--compare", action="store_true", help="only write the page again")
    chosen = options.parse_args()
    asked = [scenario for scenario in SCENARIOS if chosen.only in scenario.name and not chosen.compare]
    more = {} if chosen.kills is None else {"kills": chosen.kills}
    if asked:
        with Place() as place:
            for scenario in asked:
                measured = run(place, replace(scenario, **more), chosen.records, chosen.rate)
                measured["rate_from"] = _first_round(chosen.rate_from)
                replace_runs(MEASURED, "runs", [measured], "name", names)
    for scenario in WAYS_BACK:
        if chosen.only in scenario.name and not chosen.compare:
            with Place() as place:
                struck = run_back(place, replace(scenario, **more), 1_000)
            replace_runs(BACK, "runs", [struck], "name", [scenario.name for scenario in WAYS_BACK])
    PAGE.write_text(page(read_runs(MEASURED, "runs"), read_runs(BACK, "runs")))


def _first_round(name: str | None) -> dict[str, Any] | None:
    """Return the first round of the copy in the measured run of this name; None without a name."""
    rounds = {run["name"]: run["rounds"] for run in read_runs(MEASURED, "runs")}
    return rounds[name][0] if name else None


if __name__ == "__main__":
    main()
