"""The first picture of the README: one deploy, three assignors. `python -m docs.deploy_picture` draws it."""

from pathlib import Path
from typing import NamedTuple

import jinja2
import numpy as np

from assignors import Topic
from copartition import Scenario, SimulationResult, simulate
from copartition.simulation import Consumer, Costs, RollingRestart

PICTURE = Path(__file__).with_name("deploy.svg")
ASSIGNORS = {
    "range": "range (eager)",
    "cooperative-sticky": "cooperative-sticky",
    "uniform": "uniform (the new protocol, KIP-848)",
}
CONSUMERS, PARTITIONS, EVERY_MS = 12, 60, 20_000
WIDTH, HEIGHT = 880, 44


class Panel(NamedTuple):
    """One run: what it cost, and the share of the partitions that is read as the `d` of a path."""

    name: str
    cost: str
    area: str


def deploy(assignor: str) -> SimulationResult:
    """Twelve consumers are restarted, one every 20 s; each is away for 5 s, and revokes within 500 ms."""
    consumers = tuple(Consumer(f"worker-{number:02}") for number in range(CONSUMERS))
    return simulate(
        Scenario(
            topics=(Topic("orders", PARTITIONS),),
            consumers=consumers,
            events=(RollingRestart(at_ms=10_000, every_ms=EVERY_MS, down_ms=5_000),),
            assignor=assignor,
            costs=Costs(revoke_ms=500, first_fetch_ms=100),
            settled_ms=3_600_000,
        )
    )


def panel(assignor: str, result: SimulationResult, end_ms: float) -> Panel:
    """Lay one run out."""
    _, opens, closes = result.timeline.pauses()
    moments = np.unique(np.concatenate([opens, closes]))
    unread = np.searchsorted(np.sort(opens), moments, "right") - np.searchsorted(
        np.sort(closes), moments, "right"
    )
    steps = "".join(
        f"H{moment / end_ms * WIDTH:.1f}V{HEIGHT * count / PARTITIONS:.1f}"
        for moment, count in zip(moments.tolist(), unread.tolist(), strict=True)
    )
    stops = int((np.diff(np.concatenate([[0], unread == PARTITIONS]).astype(np.int8)) == 1).sum())
    most = (
        f"all {PARTITIONS} partitions stop {stops} times"
        if stops
        else f"at most {unread.max()} partitions stop at once"
    )
    seconds = result.summary.partition_pause_ms / 1000
    return Panel(
        ASSIGNORS[assignor],
        f"{most}, {seconds:,.0f} partition-seconds unread",
        f"M0 {HEIGHT}V0{steps}H{WIDTH}V{HEIGHT}z",
    )


def draw() -> str:
    """The picture as SVG."""
    results = {assignor: deploy(assignor) for assignor in ASSIGNORS}
    end_ms = max(float(result.timeline.end.max()) for result in results.values())
    panels = [panel(assignor, result, end_ms) for assignor, result in results.items()]
    minutes = [(minute, minute * 60_000 / end_ms * WIDTH) for minute in range(int(end_ms / 60_000 + 0.8))]
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(PICTURE.parent), autoescape=True, undefined=jinja2.StrictUndefined
    )
    return environment.get_template("deploy.svg.j2").render(
        panels=panels, minutes=minutes, width=WIDTH, height=HEIGHT, consumers=CONSUMERS, partitions=PARTITIONS
    )


if __name__ == "__main__":
    PICTURE.write_text(draw(), encoding="utf-8")
