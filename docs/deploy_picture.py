"""The first picture of the README: one deploy, three assignors. `python -m docs.deploy_picture` draws it.

Its figures are those that `copartition simulate FILE --deploy rolling` prints for such a group with the
options of `PACE`, which picture and caption name.
"""

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import jinja2
import numpy as np

from assignors.state import GroupState, MemberIdentity
from copartition import SimulationResult, simulate
from copartition.deploys.answer import UNIT, Stops
from copartition.deploys.pace import Pace
from copartition.deploys.scenario import Happening, scenario_of
from copartition.deploys.stops import stops_of

PICTURE = Path(__file__).with_name("deploy.svg")
ASSIGNORS = {
    "range": "range (eager)",
    "cooperative-sticky": "cooperative-sticky",
    "uniform": "uniform (consumer protocol, KIP-848)",
}
CONSUMERS, PARTITIONS = 12, 60
PACE = Pace(down_ms=5_000, every_ms=20_000, changes={"revoke_ms": "500", "first_fetch_ms": "100"})
"""`--down 5s --every 20s --set revoke_ms=500 --set first_fetch_ms=100`: stops that are wide enough to see."""
WIDTH, HEIGHT = 880, 44


class Panel(NamedTuple):
    """One assignor: what stops, and the share of the partitions that is read as the `d` of a path."""

    name: str
    cost: str
    area: str


def group(assignor: str) -> GroupState:
    """Return twelve consumers that share sixty partitions, as a capture shows them."""
    share = PARTITIONS // CONSUMERS
    owned = {
        f"worker-{number:02}": [("orders", share * number + place) for place in range(share)]
        for number in range(CONSUMERS)
    }
    members = tuple(MemberIdentity(name, client_id=name, topics=("orders",)) for name in owned)
    return replace(GroupState.of(owned), members=members, complete=True, strategy=assignor)


def deploy(assignor: str) -> tuple[Stops, SimulationResult]:
    """Return what a rolling restart of the group stops, and the first of the runs that say so."""
    captured = scenario_of(group(assignor), Happening(deploy="rolling"), PACE)
    stops = stops_of(captured, "rolling")
    assert isinstance(stops, Stops)
    return stops, simulate(captured.scenario)


def panel(assignor: str, stops: Stops, result: SimulationResult, end_ms: float) -> Panel:
    """Lay one assignor out."""
    _, opens, closes = result.timeline.pauses()
    moments = np.unique(np.concatenate([opens, closes]))
    unread = np.searchsorted(np.sort(opens), moments, "right") - np.searchsorted(
        np.sort(closes), moments, "right"
    )
    steps = "".join(
        f"H{moment / end_ms * WIDTH:.1f}V{HEIGHT * count / PARTITIONS:.1f}"
        for moment, count in zip(moments.tolist(), unread.tolist(), strict=True)
    )
    most = (
        f"all {PARTITIONS} partitions stop {stops.all_stopped.whole} times"
        if stops.all_stopped.least
        else f"at most {stops.stopped_at_once.most:.0f} partitions stop at once"
    )
    return Panel(
        ASSIGNORS[assignor],
        f"{most}, {stops.partition_seconds.digits} partition-seconds",
        f"M0 {HEIGHT}V0{steps}H{WIDTH}V{HEIGHT}z",
    )


def draw() -> str:
    """Return the picture as SVG."""
    deploys = {assignor: deploy(assignor) for assignor in ASSIGNORS}
    end_ms = max(float(result.timeline.end.max()) for _, result in deploys.values())
    panels = [panel(assignor, *answer, end_ms) for assignor, answer in deploys.items()]
    minutes = [(minute, minute * 60_000 / end_ms * WIDTH) for minute in range(int(end_ms / 60_000 + 0.8))]
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(PICTURE.parent), autoescape=True, undefined=jinja2.StrictUndefined
    )
    stops, _ = deploys["range"]
    return environment.get_template("deploy.svg.j2").render(
        panels=panels,
        minutes=minutes,
        width=WIDTH,
        height=HEIGHT,
        consumers=CONSUMERS,
        partitions=PARTITIONS,
        lines=(
            *(f"{words[0].upper()}{words[1:]}." for words in stops.pace.split("; ", 1)),
            f"{UNIT[0].upper()}{UNIT[1:]}; {stops.of_runs}, of which the first is drawn.",
        ),
    )


if __name__ == "__main__":
    PICTURE.write_text(draw(), encoding="utf-8")
