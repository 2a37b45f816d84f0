"""What strikes producers: each scenario is a plan for a process, and what is done to brokers."""

from __future__ import annotations

from dataclasses import dataclass, field
from signal import SIGKILL, SIGTERM
from typing import TYPE_CHECKING, Any

from benchmarks.faults import scenario
from benchmarks.faults.brokers import Site, cut, delay, down, drop, silence, start, stop
from tests.support.proxy import PRODUCE

if TYPE_CHECKING:
    from benchmarks.wrapper_faults.run import Run

KILLS, NETWORK, BROKER, GROWTH = "kills", "network faults", "faults of brokers", "growth"
KILL = ("kill", "kill", "kill soon")


@dataclass(frozen=True)
class Scenario(scenario.Scenario):
    """One kind of fault, and the producer that it strikes.

    Attributes:
        producer: further settings of the producer.
    """

    producer: dict[str, Any] = field(default_factory=dict)


def _grow(run: Run) -> None:
    run.proxy.cut()
    run.grow()


SCENARIOS = {
    "killed": Scenario(KILLS, KILL * 7),
    "killed, SASL and TLS": Scenario(KILLS, KILL * 4, secured=True),
    "frozen": Scenario(KILLS, ("freeze",) * 3, lasts_s=4),
    "connections cut": Scenario(NETWORK, ("wait",) * 30, strike=cut, proxied=True),
    "acknowledgements dropped": Scenario(NETWORK, ("wait",) * 20, strike=drop([PRODUCE]), proxied=True),
    "answers delayed": Scenario(
        NETWORK, ("wait",) * 10, strike=delay(0.3), mend=delay(0), lasts_s=1, proxied=True
    ),
    "black hole": Scenario(
        NETWORK, ("wait",) * 4, strike=silence(True), mend=silence(False), lasts_s=4, proxied=True
    ),
    "black hole, records time out": Scenario(
        NETWORK,
        ("wait",) * 4,
        strike=silence(True),
        mend=silence(False),
        lasts_s=4,
        proxied=True,
        producer={"message.timeout.ms": 1500},
    ),
    "connections cut, Kafka 3.9.1": Scenario(
        NETWORK, ("wait",) * 20, strike=cut, proxied=True, version="3.9.1"
    ),
    "connections cut, Kafka 4.1.1": Scenario(
        NETWORK, ("wait",) * 20, strike=cut, proxied=True, version="4.1.1"
    ),
    "connections cut, the topic grows": Scenario(
        GROWTH,
        ("wait",) * 3,
        strike=_grow,
        proxied=True,
        producer={"topic.metadata.refresh.interval.ms": 500},
    ),
    "broker stopped": Scenario(BROKER, ("wait",) * 3, strike=stop(SIGTERM), mend=start, lasts_s=3),
    "broker killed": Scenario(BROKER, ("wait",) * 3, strike=stop(SIGKILL), mend=start, lasts_s=1),
    "one broker of three stopped": Scenario(
        BROKER, ("wait",) * 4, strike=down(SIGTERM), mend=Site.mend_node, lasts_s=3, nodes=3
    ),
    "one broker of three killed": Scenario(
        BROKER, ("wait",) * 4, strike=down(SIGKILL), mend=Site.mend_node, lasts_s=3, nodes=3
    ),
}
