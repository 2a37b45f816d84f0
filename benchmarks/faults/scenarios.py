"""What strikes the sinks: each scenario is a plan for the workers, and what is done to the others."""

from __future__ import annotations

from dataclasses import dataclass
from signal import SIGKILL, SIGTERM

from benchmarks.faults import scenario
from benchmarks.faults.brokers import cut, delay, drop, start, stop
from tests.support.proxy import ADD_OFFSETS, END_TXN, PRODUCE, TXN_OFFSET_COMMIT

PRODUCING = ("produce", "produce", "flush")
COMMITTING = ("produce", "produce", "produce", "flush", "initialised", "offsets", "commit", "committed")
"""The calls at which a fault may strike; a sink without transactions makes only the first."""


@dataclass(frozen=True)
class Scenario(scenario.Scenario):
    """One kind of fault, and what is written meanwhile.

    Attributes:
        batches: how many are written.
        on_cluster: whether on a cluster of three executors, else in the driver's own process.
        stream: whether `foreachBatch` writes them, else one write after the other.
        straight: whether the stream goes straight into the sink, without `foreachBatch`.
        tasks: how many share the partitions; None for a task each.
        drivers: how many do the same work at once.
        data_node: the node that has all partitions; None where that does not matter.
    """

    batches: int = 3
    on_cluster: bool = False
    stream: bool = False
    straight: bool = False
    tasks: int | None = None
    drivers: int = 1
    data_node: int | None = None


WORKERS, DRIVERS, BROKER, NETWORK = "workers", "drivers", "broker faults", "network faults"
KILLS = ("kill", "kill", "kill soon")
COORDINATOR = 2
"""The node that has the coordinator, where records are on the first one."""

SCENARIOS = {
    "workers killed": Scenario(WORKERS, KILLS * 10, batches=6),
    "workers killed, stream": Scenario(WORKERS, KILLS * 10, batches=6, stream=True),
    "workers killed, writeStream": Scenario(WORKERS, KILLS * 10, batches=6, stream=True, straight=True),
    "workers killed, shared tasks": Scenario(WORKERS, KILLS * 7, batches=6, tasks=2),
    "workers killed, stream, shared tasks": Scenario(WORKERS, KILLS * 7, batches=6, stream=True, tasks=2),
    "executors killed": Scenario(WORKERS, ("kill executor",) * 4, on_cluster=True),
    "driver killed": Scenario(
        DRIVERS, ("wait",) * 2, strike=lambda run: run.kill_driver(), mend=lambda run: run.start_drivers()
    ),
    "driver killed, stream": Scenario(
        DRIVERS,
        ("wait",) * 2,
        strike=lambda run: run.kill_driver(),
        mend=lambda run: run.start_drivers(),
        batches=3,
        stream=True,
    ),
    "driver killed, writeStream": Scenario(
        DRIVERS,
        ("wait",) * 2,
        strike=lambda run: run.kill_driver(),
        mend=lambda run: run.start_drivers(),
        batches=3,
        stream=True,
        straight=True,
    ),
    "speculation": Scenario(WORKERS, ("sleep",) * 8, on_cluster=True),
    "two drivers, one id": Scenario(DRIVERS, (), drivers=2),
    "broker stopped": Scenario(BROKER, ("wait",) * 3, strike=stop(SIGTERM), mend=start, lasts_s=3),
    "broker killed": Scenario(
        BROKER,
        ("wait",) * 3,
        strike=stop(SIGKILL),
        mend=start,
        lasts_s=1,
    ),
    "broker paused": Scenario(
        BROKER,
        ("wait",) * 3,
        strike=lambda run: run.broker.pause(),
        mend=lambda run: run.broker.resume(),
        lasts_s=4,
    ),
    "coordinator lost": Scenario(
        BROKER,
        ("wait",) * 3,
        strike=lambda run: run.broker.stop(COORDINATOR, by=SIGKILL),
        mend=lambda run: run.broker.start(COORDINATOR),
        lasts_s=3,
        nodes=2,
        data_node=1,
    ),
    "answers delayed": Scenario(
        NETWORK, ("wait",) * 3, strike=delay(0.3), mend=delay(0), lasts_s=3, proxied=True
    ),
    "connections cut": Scenario(NETWORK, ("wait",) * 12, strike=cut, batches=4, proxied=True),
    "acknowledgements dropped": Scenario(
        NETWORK, ("wait",) * 12, strike=drop([PRODUCE, PRODUCE]), batches=4, proxied=True
    ),
    "commits' answers dropped": Scenario(
        NETWORK,
        ("wait",) * 12,
        strike=drop([END_TXN, ADD_OFFSETS, TXN_OFFSET_COMMIT]),
        batches=4,
        proxied=True,
    ),
}
