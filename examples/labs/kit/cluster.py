"""Where a lab runs: the cluster at KAFKA_BOOTSTRAP_SERVERS, or the tests' broker, started for the lab."""

from __future__ import annotations

import os
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, NamedTuple

from tests.support.broker import Broker, Kafka
from tests.support.proxy import Proxy

if TYPE_CHECKING:
    from collections.abc import Iterator

INNER_PARTITIONS = """
offsets.topic.num.partitions=12
transaction.state.log.num.partitions=12
"""
REPLICATED = """
default.replication.factor=3
min.insync.replicas=2
offsets.topic.replication.factor=3
transaction.state.log.replication.factor=3
transaction.state.log.min.isr=2
broker.session.timeout.ms=2000
broker.heartbeat.interval.ms=200
"""


class Cluster(NamedTuple):
    """What a lab gets.

    Attributes:
        kafka: topics on the cluster.
        proxy: stands before the cluster where the lab asked for it.
        broker: the nodes, where they are ours to stop.
    """

    kafka: Kafka
    proxy: Proxy | None = None
    broker: Broker | None = None


@contextmanager
def cluster(nodes: int = 1, *, proxied: bool = False) -> Iterator[Cluster]:
    """A cluster for one lab, whose topics are removed at the end.

    Args:
        nodes: with more than one, a lab stops some, so the nodes are always our own.
        proxied: whether a proxy stands before the one node, which then is our own, too.

    Raises:
        JarsError: the broker's jars could not be fetched.
        BrokerError: a broker did not start, or none answers at KAFKA_BOOTSTRAP_SERVERS.
    """
    if nodes == 1 and not proxied and (servers := os.environ.get("KAFKA_BOOTSTRAP_SERVERS")):
        kafka = Kafka(servers)
        try:
            yield Cluster(kafka)
        finally:
            kafka.delete_topics()
        return
    with ExitStack() as stack:
        proxy = stack.enter_context(Proxy()) if proxied else None
        settings = INNER_PARTITIONS + (REPLICATED if nodes > 1 else "") + (proxy.listeners if proxy else "")
        racks = [f"rack{number}" for number in range(nodes)]
        broker = stack.enter_context(Broker(settings, racks=racks))
        yield Cluster(Kafka(broker.bootstrap_servers), proxy, broker)
