"""Brokers that faults strike, what is done to them and to their connections, and how clients come there."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from itertools import cycle
from typing import TYPE_CHECKING, Self

from confluent_kafka import KafkaException
from confluent_kafka.admin import AclOperation, AdminClient, ResourceType

from tests.support.broker import Broker
from tests.support.encrypted import SECRETS, allowed, as_user, give_passwords, listening_with_tls
from tests.support.proxy import Proxy

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from signal import Signals

USER = "looper"
REPLICATED = """
default.replication.factor=3
min.insync.replicas=2
offsets.topic.replication.factor=3
transaction.state.log.replication.factor=3
transaction.state.log.min.isr=2
controlled.shutdown.enable=true
"""


@dataclass(frozen=True, kw_only=True)
class Place:
    """Which brokers a scenario has, and how its clients come there.

    Attributes:
        proxied: whether through a proxy; else it breaks none of their connections.
        nodes: of the cluster; where there are several, topics, groups and transactions have replicas.
        version: of Kafka; that of the other tests where it is empty.
        secured: whether by TLS as a user with a password (SASL_SSL, SCRAM-SHA-512).
    """

    proxied: bool = False
    nodes: int = 1
    version: str = ""
    secured: bool = False


class Site:
    """A cluster that faults strike.

    Attributes:
        broker: the cluster.
        proxy: before it.
        clients: settings with which clients come there.
    """

    def __init__(self, broker: Broker, proxy: Proxy, clients: dict[str, str]) -> None:
        self.broker, self.proxy, self.clients = broker, proxy, clients
        self._turns = cycle((2, 3))
        self._is_down: int | None = None

    def take_down(self, by: Signals) -> None:
        """End a node of a cluster of three, once the others have all that it has."""
        self._is_down = next(self._turns)
        self.broker.stop(self._is_down, by)

    def mend_node(self) -> None:
        """Start the node that is down, if one is, and wait until it has all that the others have."""
        if self._is_down is None:
            return
        self.broker.start(self._is_down)
        self._is_down = None
        admin = AdminClient({"bootstrap.servers": self.broker.bootstrap_servers, "log_level": 0})
        deadline = time.monotonic() + 60
        while not _in_sync(admin):
            if time.monotonic() > deadline:
                raise TimeoutError("a node that was started again is not in sync after 60 s")
            time.sleep(0.1)


Act = Callable[[Site], object]


def nothing(_: Site) -> None:
    """Leave all as it is."""


def cut(site: Site) -> None:
    """Cut every connection."""
    site.proxy.cut()


def drop(requests: Iterable[int]) -> Act:
    """Keep back the next answer to each of these requests."""
    return lambda site: site.proxy.drop(requests)


def delay(seconds: float) -> Act:
    """Hold every answer back for so long, from now on."""

    def act(site: Site) -> None:
        site.proxy.delay_s = seconds

    return act


def silence(silent: bool) -> Act:
    """Let nothing through any more, or all again."""

    def act(site: Site) -> None:
        site.proxy.silent = silent

    return act


def stop(by: Signals) -> Act:
    """End the only node."""
    return lambda site: site.broker.stop(by=by)


def start(site: Site) -> None:
    """Start the only node again."""
    site.broker.start()


def down(by: Signals) -> Act:
    """End the second and the third node in turn; the first one is the controller, too."""

    def act(site: Site) -> None:
        site.mend_node()
        site.take_down(by)

    return act


class Brokers:
    """A broker and a proxy before it, for all runs, and others for one; use it as a context manager."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self.proxy = self._stack.enter_context(Proxy())
        try:
            self.broker = self._stack.enter_context(Broker(self.proxy.listeners))
        except BaseException:
            self._stack.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @contextmanager
    def site(self, place: Place) -> Iterator[Site]:
        """That broker, or another one or a cluster of several for one run, and how clients come there."""
        if place.secured:
            with listening_with_tls() as (broker, listeners):
                yield Site(broker, self.proxy, as_user(listeners, USER, _admit_user(broker)))
        elif place.nodes > 1 or place.version:
            racks = [f"rack{number}" for number in range(place.nodes)]
            with Proxy() as proxy:
                settings = REPLICATED if place.nodes > 1 else proxy.listeners
                with Broker(settings, racks=racks, version=place.version) as broker:
                    yield Site(broker, proxy, _servers(proxy if place.proxied else broker))
        else:
            yield Site(self.broker, self.proxy, _servers(self.proxy if place.proxied else self.broker))


def _servers(server: Proxy | Broker) -> dict[str, str]:
    return {"bootstrap.servers": server.bootstrap_servers}


def _admit_user(broker: Broker) -> str:
    """The password of a user who may do all that these clients do."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers, "log_level": 0})
    give_passwords(admin)
    kinds = ResourceType.TOPIC, ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID
    rights = [allowed(USER, kind, "*", AclOperation.ALL) for kind in kinds]
    for granted in admin.create_acls(rights).values():
        granted.result(30)
    return SECRETS[USER]


def _in_sync(admin: AdminClient) -> bool:
    """Whether each partition has all its replicas."""
    with suppress(KafkaException):
        topics = admin.list_topics(timeout=5).topics.values()
        return all(
            len(partition.isrs) == len(partition.replicas)
            for topic in topics
            for partition in topic.partitions.values()
        )
    return False
