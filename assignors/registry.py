"""Assignors by name."""

from collections.abc import Callable, Iterable

from assignors.connect import ConnectEagerAssignor, ConnectIncrementalAssignor
from assignors.interface import Assignor, RebalanceProtocol
from assignors.optimal.assignor import CooperativeOptimalAssignor, OptimalAssignor
from assignors.strategies import STRATEGIES
from assignors.weighted.assignor import CooperativeWeightedAssignor, WeightedAssignor
from partitioning.errors import CopartitionError
from partitioning.plug_ins import PlugIns, StrategyInfo
from partitioning.registry import Registry

_OURS: dict[str, type[Assignor]] = {
    assignor.name: assignor
    for assignor in (
        *STRATEGIES,
        OptimalAssignor,
        CooperativeOptimalAssignor,
        WeightedAssignor,
        CooperativeWeightedAssignor,
        ConnectEagerAssignor,
        ConnectIncrementalAssignor,
    )
}
_CLIENTS = ("librdkafka", "kafka-python", "aiokafka")  # with rules of their own under Java's names

_REGISTRY: Registry[Assignor] = Registry(
    PlugIns("assignor", "copartition.assignors", Assignor),
    _OURS,
    {
        # The origin of the strategies that are another client's; the others are just "built-in".
        name: f"built-in, of {'Kafka Connect' if client == 'connect' else client}"
        for name in _OURS
        for client in (*_CLIENTS, "connect")
        if name.startswith(f"{client}-")
    },
)


def name_in_group(strategy: str) -> str:
    """Return the name under which members vote for a strategy, without the client that decides so."""
    for client in _CLIENTS:
        # Members vote by Java's names, whichever client they use.
        strategy = strategy.removeprefix(f"{client}-")
    return strategy


def clients_rule(client: str, strategy: str) -> str:
    """Return the assignor that decides as a leader on this client does: the client's own one, or Java's."""
    own = f"{client}-{strategy}"
    # A client without a rule of its own under this name decides as Java does.
    return own if own in _OURS else strategy


def get_assignor(name: str, **config: object) -> Assignor:
    """Return a new assignor: one leader's lifetime.

    Client side: "range", "roundrobin", "sticky", "cooperative-sticky" as Java's clients decide; with a prefix
    what other clients do under these names ("librdkafka-cooperative-sticky", "kafka-python-sticky",
    "aiokafka-range" and so on); and, better than any of these, "optimal", "cooperative-optimal", "weighted",
    "cooperative-weighted". Broker side (KIP-848): "uniform", "broker-range". Of Kafka Connect's workers:
    "connect-eager", "connect-incremental". And those of installed packages (entry points
    `copartition.assignors`).

    >>> group = Group([Topic("orders", 4)], [Member("a", ["orders"]), Member("b", ["orders"])])
    >>> get_assignor("range").assign(group)["b"]
    PartitionList([('orders', 2), ('orders', 3)])

    Raises:
        UnknownStrategyError: there is none of this name.
        InvalidConfigError: it has no such setting.
        StrategyConflictError: two installed packages have one of this name.
        BrokenPluginError: what it comes from cannot be loaded, fails, or makes something else.
    """
    return _REGISTRY.get(name, **config)


def protocol_of(strategy: str) -> str:
    """Return the rebalance protocol of a group with this strategy: "eager", "cooperative" or "consumer".

    >>> [protocol_of(name) for name in ("range", "cooperative-sticky", "uniform")]
    ['eager', 'cooperative', 'consumer']

    Raises:
        UnknownStrategyError: no strategy of that name.
    """
    protocols = get_assignor(strategy).protocols
    # A strategy of the coordinator (KIP-848) names no protocol of clients.
    if not protocols:
        return "consumer"
    return "cooperative" if RebalanceProtocol.COOPERATIVE in protocols else "eager"


def list_assignors() -> list[StrategyInfo]:
    """List every assignor by name; a broken one with its fault.

    Installed plug-ins are imported for that: their summaries are in their docstrings.

    >>> [info.name for info in list_assignors() if info.origin == "built-in"][:3]
    ['broker-range', 'cooperative-optimal', 'cooperative-sticky']
    """
    return _REGISTRY.infos()


def register_assignor(name: str, factory: Callable[..., Assignor]) -> None:
    """Make an assignor known by name in this process.

    >>> from functools import partial
    >>> register_assignor("optimal-by-topic", partial(get_assignor, "optimal", spread=True))
    >>> get_assignor("optimal-by-topic").name
    'optimal'

    Raises:
        StrategyConflictError: the name is taken.
    """
    _REGISTRY.plug_ins.register(name, factory)


def is_built_in(assignor: Assignor) -> bool:
    """Return whether it is one of ours, unchanged."""
    # Not isinstance: a subclass may decide otherwise, so its answers are checked as a stranger's.
    return type(assignor) in _OURS.values()


def check_for_consumers(names: Iterable[str], error: Callable[[str], CopartitionError]) -> None:
    """Refuse strategies of Kafka Connect where a group of consumers is asked about."""
    for name in names:
        if _OURS.get(name) in {ConnectEagerAssignor, ConnectIncrementalAssignor}:
            raise error(
                f"{name!r} gives tasks to the workers of Kafka Connect, not partitions to consumers; "
                f"ask assignors.get_assignor({name!r}) for its rounds"
            )
