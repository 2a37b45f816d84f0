"""Assignors by name."""

from collections.abc import Callable

from assignors.interface import Assignor
from assignors.optimal.assignor import CooperativeOptimalAssignor, OptimalAssignor
from assignors.strategies import (
    BrokerRangeAssignor,
    CooperativeStickyAssignor,
    RangeAssignor,
    RoundRobinAssignor,
    StickyAssignor,
    UniformAssignor,
)
from assignors.weighted.assignor import CooperativeWeightedAssignor, WeightedAssignor
from partitioning.registry import Registry, StrategyInfo

_BUILT_IN: dict[str, type[Assignor]] = {
    "range": RangeAssignor,
    "roundrobin": RoundRobinAssignor,
    "sticky": StickyAssignor,
    "cooperative-sticky": CooperativeStickyAssignor,
    "optimal": OptimalAssignor,
    "cooperative-optimal": CooperativeOptimalAssignor,
    "weighted": WeightedAssignor,
    "cooperative-weighted": CooperativeWeightedAssignor,
    "uniform": UniformAssignor,
    "broker-range": BrokerRangeAssignor,
}

_REGISTRY: Registry[Assignor] = Registry("assignor", "copartition.assignors", Assignor, _BUILT_IN)


def get_assignor(name: str, **config: object) -> Assignor:
    """A new assignor: one leader's lifetime.

    Client side: "range", "roundrobin", "sticky", "cooperative-sticky", and, better than any of the JVM's,
    "optimal", "cooperative-optimal", "weighted", "cooperative-weighted". Broker side (KIP-848): "uniform",
    "broker-range". And those of installed packages (entry points `copartition.assignors`).

    Raises:
        UnknownStrategyError: there is none of this name.
        InvalidConfigError: it has no such setting.
        StrategyConflictError: two installed packages have one of this name.
        BrokenPluginError: what it comes from cannot be loaded, fails, or makes something else.
    """
    return _REGISTRY.get(name, **config)


def list_assignors() -> list[StrategyInfo]:
    """Every assignor by name, also those that are broken, each with its fault.

    Installed plug-ins are imported for that: their summaries are in their docstrings.
    """
    return _REGISTRY.infos()


def register_assignor(name: str, factory: Callable[..., Assignor]) -> None:
    """Make an assignor known by name in this process.

    Raises:
        StrategyConflictError: the name is taken.
    """
    _REGISTRY.register(name, factory)


def is_built_in(assignor: Assignor) -> bool:
    """Whether it is one of ours, unchanged."""
    return type(assignor) in _BUILT_IN.values()
