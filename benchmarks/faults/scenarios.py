"""What strikes the sinks: each scenario is a plan for the workers, and what is done to the others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from signal import SIGKILL
from typing import TYPE_CHECKING

from tests.support.proxy import ADD_OFFSETS, END_TXN, PRODUCE, TXN_OFFSET_COMMIT

if TYPE_CHECKING:
    from benchmarks.faults.run import Run

Act = Callable[["Run"], object]

PRODUCING = ("produce", "produce", "flush")
COMMITTING = ("produce", "produce", "produce", "flush", "initialised", "offsets", "commit", "committed")
"""The calls at which a fault may strike; a sink without transactions makes only the first."""


def _nothing(_: Run) -> None:
    pass


@dataclass(frozen=True)
class Scenario:
    """One kind of fault.

    Attributes:
        faults: one after the other; each strikes one attempt of a task, at a drawn call.
        strike: what is done while a worker waits.
        mend: what undoes it, `lasts_s` after the worker goes on.
        lasts_s: as said.
        batches: how many are written.
        on_cluster: whether on a cluster of three executors, else in the driver's own process.
        stream: whether `foreachBatch` writes them, else one write after the other.
        straight: whether the stream goes straight into the sink, without `foreachBatch`.
        drivers: how many do the same work at once.
        racks: of each node of the broker.
        data_node: the one that has all partitions; None where that does not matter.
        proxied: whether clients reach the broker through a proxy.
    """

    faults: tuple[str, ...]
    strike: Act = _nothing
    mend: Act = _nothing
    lasts_s: float = 0.0
    batches: int = 3
    on_cluster: bool = False
    stream: bool = False
    straight: bool = False
    drivers: int = 1
    racks: tuple[str, ...] = ("rack0",)
    data_node: int | None = None
    proxied: bool = False


def _delay(seconds: float) -> Act:
    def act(run: Run) -> None:
        run.proxy.delay_s = seconds

    return act


def _drop(*requests: int) -> Act:
    return lambda run: run.proxy.drop(requests)


KILLS = ("kill", "kill", "kill soon")
TWO_NODES = ("rack0", "rack1")
COORDINATOR = 2
"""The node that has the coordinator, where records are on the first one."""

SCENARIOS = {
    "workers killed": Scenario(KILLS * 10, batches=6),
    "workers killed, stream": Scenario(KILLS * 10, batches=6, stream=True),
    "workers killed, writeStream": Scenario(KILLS * 10, batches=6, stream=True, straight=True),
    "executors killed": Scenario(("kill executor",) * 4, on_cluster=True),
    "driver killed": Scenario(
        ("wait",) * 2, strike=lambda run: run.kill_driver(), mend=lambda run: run.start_drivers()
    ),
    "driver killed, stream": Scenario(
        ("wait",) * 2,
        strike=lambda run: run.kill_driver(),
        mend=lambda run: run.start_drivers(),
        batches=3,
        stream=True,
    ),
    "driver killed, writeStream": Scenario(
        ("wait",) * 2,
        strike=lambda run: run.kill_driver(),
        mend=lambda run: run.start_drivers(),
        batches=3,
        stream=True,
        straight=True,
    ),
    "speculation": Scenario(("sleep",) * 8, on_cluster=True),
    "two drivers, one id": Scenario((), drivers=2),
    "broker stopped": Scenario(
        ("wait",) * 3, strike=lambda run: run.broker.stop(), mend=lambda run: run.broker.start(), lasts_s=3
    ),
    "broker killed": Scenario(
        ("wait",) * 3,
        strike=lambda run: run.broker.stop(by=SIGKILL),
        mend=lambda run: run.broker.start(),
        lasts_s=1,
    ),
    "broker paused": Scenario(
        ("wait",) * 3, strike=lambda run: run.broker.pause(), mend=lambda run: run.broker.resume(), lasts_s=4
    ),
    "coordinator lost": Scenario(
        ("wait",) * 3,
        strike=lambda run: run.broker.stop(COORDINATOR, by=SIGKILL),
        mend=lambda run: run.broker.start(COORDINATOR),
        lasts_s=3,
        racks=TWO_NODES,
        data_node=1,
    ),
    "answers delayed": Scenario(("wait",) * 3, strike=_delay(0.3), mend=_delay(0), lasts_s=3, proxied=True),
    "connections cut": Scenario(("wait",) * 12, strike=lambda run: run.proxy.cut(), batches=4, proxied=True),
    "acknowledgements dropped": Scenario(
        ("wait",) * 12, strike=_drop(PRODUCE, PRODUCE), batches=4, proxied=True
    ),
    "commits' answers dropped": Scenario(
        ("wait",) * 12, strike=_drop(END_TXN, ADD_OFFSETS, TXN_OFFSET_COMMIT), batches=4, proxied=True
    ),
}
