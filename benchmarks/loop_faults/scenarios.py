"""What strikes the loop: each scenario is a plan for its processes, and what is done to the others."""

from __future__ import annotations

from dataclasses import dataclass, field
from signal import SIGKILL, SIGTERM
from typing import TYPE_CHECKING, Any

from benchmarks.faults import scenario
from benchmarks.faults.brokers import (
    Site,
    cut,
    delay,
    down,
    drop,
    silence,
    start,
    stop,
)
from tests.support.proxy import ADD_OFFSETS, END_TXN, OFFSET_COMMIT, PRODUCE, TXN_OFFSET_COMMIT

if TYPE_CHECKING:
    from benchmarks.loop_faults.run import Run

COMMITS = END_TXN, ADD_OFFSETS, TXN_OFFSET_COMMIT
SESSION_S = 3
TRANSACTION_S = 8
CALLS = ("produce", "produce", "offsets", "commit", "committed")
KILLS, NETWORK, FREEZES, LEAVES, BROKER = "kills", "network faults", "freezes", "leaves", "broker faults"
ONE_OF_THREE = "faults of one broker of three"
GROWTH = "kills while the input grows"
SECURED, OTHER_BROKERS = "kills with SASL and TLS", "kills with other versions of Kafka"


@dataclass(frozen=True)
class Scenario(scenario.Scenario):
    """One kind of fault, and the consumers that it strikes.

    Attributes:
        calls: of the producer, that faults may strike at.
        consumer: settings of each consumer.
        static: whether each process is a static member, under its own name.
    """

    calls: tuple[str, ...] = CALLS
    consumer: dict[str, Any] = field(default_factory=dict)
    static: bool = False


def _grow(run: Run) -> None:
    run.grow()


KILL = ("kill", "kill", "kill soon")
GROW = ("kill", "kill soon", "kill", "kill", "wait", "kill soon", "kill") * 5
NEW_PARTITIONS = {"topic.metadata.refresh.interval.ms": 1000}
"""How soon a consumer sees them: the default is five minutes."""
QUICK = {"session.timeout.ms": SESSION_S * 1000, "heartbeat.interval.ms": 500}
EAGER = {**QUICK, "partition.assignment.strategy": "range"}
BROKER_SIDE = {"group.protocol": "consumer"}
STATIC = {"session.timeout.ms": 15_000, "heartbeat.interval.ms": 500}

SCENARIOS = {
    "killed": Scenario(KILLS, KILL * 15, consumer=QUICK),
    "killed, eager": Scenario(KILLS, KILL * 10, consumer=EAGER),
    "killed, group.protocol=consumer": Scenario(KILLS, KILL * 10, consumer=BROKER_SIDE),
    "frozen, others take over": Scenario(FREEZES, ("freeze",) * 6, lasts_s=SESSION_S + 3, consumer=QUICK),
    "frozen longer than a transaction": Scenario(
        FREEZES, ("freeze",) * 4, lasts_s=TRANSACTION_S + 3, consumer=QUICK
    ),
    "frozen, replaced": Scenario(
        FREEZES, ("freeze",) * 6, lasts_s=SESSION_S + 3, replaced=True, consumer=QUICK
    ),
    "frozen, group.protocol=consumer": Scenario(FREEZES, ("freeze",) * 4, lasts_s=9, consumer=BROKER_SIDE),
    "killed, static members": Scenario(KILLS, KILL * 10, consumer=STATIC, static=True),
    "frozen, replaced, static members": Scenario(
        FREEZES, ("freeze",) * 6, lasts_s=SESSION_S + 3, replaced=True, consumer=STATIC, static=True
    ),
    "leaves and joins": Scenario(LEAVES, ("leave",) * 30, consumer=QUICK),
    "leaves and joins, eager": Scenario(LEAVES, ("leave",) * 30, consumer=EAGER),
    "connections cut": Scenario(NETWORK, ("wait",) * 60, strike=cut, proxied=True, consumer=QUICK),
    "acknowledgements dropped": Scenario(
        NETWORK, ("wait",) * 50, strike=drop([PRODUCE]), proxied=True, consumer=QUICK
    ),
    "commits' answers dropped": Scenario(
        NETWORK,
        ("wait",) * 60,
        strike=lambda run: run.proxy.drop(COMMITS if run.transactions else (OFFSET_COMMIT,)),
        proxied=True,
        consumer=QUICK,
    ),
    "answers delayed": Scenario(
        NETWORK,
        ("wait",) * 20,
        strike=delay(0.3),
        mend=delay(0),
        lasts_s=1,
        proxied=True,
        consumer=QUICK,
    ),
    "black hole": Scenario(
        NETWORK,
        ("wait",) * 12,
        strike=silence(True),
        mend=silence(False),
        lasts_s=SESSION_S + 1,
        proxied=True,
        consumer=QUICK,
    ),
    "broker killed": Scenario(
        BROKER,
        ("wait",) * 4,
        strike=stop(SIGKILL),
        mend=start,
        lasts_s=1,
        consumer=QUICK,
    ),
    "broker stopped": Scenario(
        BROKER,
        ("wait",) * 4,
        strike=stop(SIGTERM),
        mend=start,
        lasts_s=3,
        consumer=QUICK,
    ),
    "one broker of three killed": Scenario(
        ONE_OF_THREE,
        ("wait",) * 6,
        strike=down(SIGKILL),
        mend=Site.mend_node,
        lasts_s=3,
        consumer=QUICK,
        nodes=3,
    ),
    "one broker of three stopped": Scenario(
        ONE_OF_THREE,
        ("wait",) * 6,
        strike=down(SIGTERM),
        mend=Site.mend_node,
        lasts_s=3,
        consumer=QUICK,
        nodes=3,
    ),
    "killed, the input grows": Scenario(GROWTH, GROW, strike=_grow, consumer=QUICK | NEW_PARTITIONS),
    "killed, the input grows, static members": Scenario(
        GROWTH, GROW, strike=_grow, consumer=STATIC | NEW_PARTITIONS, static=True
    ),
    "killed, the input grows, group.protocol=consumer": Scenario(
        GROWTH, GROW, strike=_grow, consumer=BROKER_SIDE | NEW_PARTITIONS
    ),
    "killed, SASL and TLS": Scenario(SECURED, KILL * 10, consumer=QUICK, secured=True),
    "killed, Kafka 3.9.1": Scenario(OTHER_BROKERS, KILL * 10, consumer=QUICK, version="3.9.1"),
    "killed, Kafka 4.1.1": Scenario(OTHER_BROKERS, KILL * 10, consumer=QUICK, version="4.1.1"),
}
