"""Finds assignors by name: built-in assignors, those of installed packages, and registered ones."""

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
_CLIENTS = ("librdkafka", "kafka-python", "aiokafka")  # clients with rules of their own under Java's names

_REGISTRY: Registry[Assignor] = Registry(
    PlugIns("assignor", "copartition.assignors", Assignor),
    _OURS,
    {
        # The origin of strategies that belong to another client. The others are just "built-in".
        name: f"built-in, of {'Kafka Connect' if client == 'connect' else client}"
        for name in _OURS
        for client in (*_CLIENTS, "connect")
        if name.startswith(f"{client}-")
    },
)


def name_in_group(strategy: str) -> str:
    """Return the name under which members vote for a strategy: its own name without the client's prefix."""
    for client in _CLIENTS:
        # Members vote by Java's names, whichever client they use.
        strategy = strategy.removeprefix(f"{client}-")
    return strategy


def clients_rule(client: str, strategy: str) -> str:
    """Return the name of the assignor that decides as a leader on this client does.

    This is the client's own assignor of that name if there is one, else Java's.
    """
    own = f"{client}-{strategy}"
    # A client without a rule of its own under this name decides as Java does.
    return own if own in _OURS else strategy


def get_assignor(name: str, **config: object) -> Assignor:
    """Return a new assignor, which stands for a new leader without a memory.

    For clients there are "range", "roundrobin", "sticky" and "cooperative-sticky", which decide as Java's
    clients do. Names with a prefix decide as other clients do under the same names, such as
    "librdkafka-cooperative-sticky", "kafka-python-sticky" and "aiokafka-range". "optimal",
    "cooperative-optimal", "weighted" and "cooperative-weighted" are our own and give more even loads or move
    fewer partitions. For brokers (KIP-848) there are "uniform" and "broker-range". For workers of Kafka
    Connect there are "connect-eager" and "connect-incremental". Installed packages can add others by entry
    points of the group `copartition.assignors`.

    >>> group = Group([Topic("orders", 4)], [Member("a", ["orders"]), Member("b", ["orders"])])
    >>> get_assignor("range").assign(group)["b"]
    PartitionList([('orders', 2), ('orders', 3)])

    Raises:
        UnknownStrategyError: there is no assignor of this name.
        InvalidConfigError: the assignor has no such setting.
        StrategyConflictError: two installed packages have an assignor of this name.
        BrokenPluginError: the plug-in cannot be loaded, fails, or does not make an assignor.
    """
    return _REGISTRY.get(name, **config)


def protocol_of(strategy: str) -> str:
    """Return the rebalance protocol of a group with this strategy: "eager", "cooperative" or "consumer".

    >>> [protocol_of(name) for name in ("range", "cooperative-sticky", "uniform")]
    ['eager', 'cooperative', 'consumer']

    Raises:
        UnknownStrategyError: there is no strategy of this name.
    """
    protocols = get_assignor(strategy).protocols
    # A strategy of the coordinator (KIP-848) has no rebalance protocol of clients.
    if not protocols:
        return "consumer"
    return "cooperative" if RebalanceProtocol.COOPERATIVE in protocols else "eager"


def list_assignors() -> list[StrategyInfo]:
    """List all assignors, sorted by name; a broken plug-in is listed with its fault.

    Installed plug-ins are imported, because their summaries are in their docstrings.

    >>> [info.name for info in list_assignors() if info.origin == "built-in"][:3]
    ['broker-range', 'cooperative-optimal', 'cooperative-sticky']
    """
    return _REGISTRY.infos()


def register_assignor(name: str, factory: Callable[..., Assignor]) -> None:
    """Register an assignor by name in this process.

    >>> from functools import partial
    >>> register_assignor("optimal-by-topic", partial(get_assignor, "optimal", spread=True))
    >>> get_assignor("optimal-by-topic").name
    'optimal'

    Raises:
        StrategyConflictError: the name is taken.
    """
    _REGISTRY.plug_ins.register(name, factory)


def is_built_in(assignor: Assignor) -> bool:
    """Return whether an assignor is built in; a subclass of a built-in assignor is not."""
    # `isinstance` would accept a subclass, which may decide differently and must be checked.
    return type(assignor) in _OURS.values()


def check_for_consumers(names: Iterable[str], error: Callable[[str], CopartitionError]) -> None:
    """Raise `error` if one of these names is a strategy of Kafka Connect, which is not for consumers."""
    for name in names:
        if _OURS.get(name) in {ConnectEagerAssignor, ConnectIncrementalAssignor}:
            raise error(
                f"{name!r} gives tasks to the workers of Kafka Connect, not partitions to consumers; "
                f"ask assignors.get_assignor({name!r}) for its rounds"
            )
