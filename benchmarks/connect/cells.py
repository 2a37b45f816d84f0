"""The clusters that are run, and what happens to each."""

from __future__ import annotations

from dataclasses import dataclass

DELAY_MS = 20_000
SESSION_MS = 10_000
HEARTBEAT_MS = 3_000
CONNECTORS = {"ledger": 7, "orders": 4, "users": 1}
"""The connectors that each cluster begins with, and how many tasks each has."""
LATER = {"returns": 5}
"""Those that are created later."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A cluster.

    Attributes:
        name: of its group.
        windows: what happens, one thing after another; before the next window the cluster comes to rest.
            "lost" waits for a round in which something is lost, "back" for one with all workers that live,
            in which nothing has to stop.
        workers: which ones it begins with.
        delay_ms: `scheduled.rebalance.max.delay.ms`.
        protocol: `connect.protocol`.
    """

    name: str
    windows: tuple[tuple[str, ...], ...]
    workers: tuple[str, ...] = ("w1", "w2", "w3")
    delay_ms: int = DELAY_MS
    protocol: str = "sessioned"

    @property
    def settings(self) -> dict[str, object]:
        """The settings of its workers that are not the same for all cells."""
        return {
            "session.timeout.ms": SESSION_MS,
            "heartbeat.interval.ms": HEARTBEAT_MS,
            "scheduled.rebalance.max.delay.ms": self.delay_ms,
            "connect.protocol": self.protocol,
        }


TWO = ("w1", "w2")

CELLS = (
    Cell("join", (("start w3",), ("start w4",)), TWO),
    Cell("two-join", (("start w3", "start w4"),), TWO),
    Cell("leave", (("leave follower",),)),
    Cell("crash", (("crash follower",),)),
    Cell("back-before-the-session-ends", (("crash follower", "start w9"),)),
    Cell("back-within-the-delay", (("crash follower", "lost", "start w9"),)),
    Cell("two-lost", (("crash follower", "lost", "leave follower"),)),
    Cell("leader-leaves", (("leave leader",),)),
    Cell("leader-crashes", (("crash leader",),)),
    Cell("leader-crashes-in-the-delay", (("leave follower", "lost", "crash leader"),)),
    Cell(
        "rolling-restart",
        (("leave w1", "start w1", "back", "leave w2", "start w2", "back", "leave w3", "start w3"),),
        delay_ms=60_000,
    ),
    Cell("no-delay", (("crash follower",), ("start w9",)), delay_ms=0),
    Cell("default-delay", (("crash follower",),), delay_ms=300_000),
    Cell("connectors-change", (("create returns",), ("delete ledger",))),
    Cell("eager", (("start w4",), ("crash follower",), ("leave leader",)), protocol="eager"),
)
