"""Partitioners by name.

Names are of three kinds: strategies of the Java client ("default", "sticky", ...), profiles (a client in one
configuration), and plug-ins. The first two are built in and cannot be replaced.
"""

from collections.abc import Callable
from functools import partial

from partitioning.interface import Partitioner
from partitioning.plug_ins import PARTITIONERS, StrategyInfo
from partitioning.profiles import PROFILES, Profile
from partitioning.random_choice import RandomChoice
from partitioning.registry import Registry
from partitioning.round_robin import RoundRobin
from partitioning.sticky import DefaultHash, Sticky, StickyByTime, StickyPerBatch

_UNKEYED: dict[str, Callable[..., Partitioner]] = {
    "sticky": Sticky,
    "sticky-by-time": StickyByTime,
    "random": RandomChoice,
    "round-robin": partial(RoundRobin, order="ascending"),
}


def get_partitioner(name: str, **config: object) -> Partitioner:
    """Return a new partitioner.

    "default", "sticky", "sticky-per-batch", "sticky-by-time", "round-robin", "random", every profile of
    `profiles.PROFILES` (keyed records as that client, the others by the strategy most like that client's),
    and those of installed packages (entry points `copartition.partitioners`).

    >>> orders = get_partitioner("round-robin").for_topic("orders")
    >>> [orders.partition(None, TopicLayout(3)) for _ in range(4)]
    [0, 1, 2, 0]

    Raises:
        UnknownStrategyError: there is none of this name.
        InvalidConfigError: it has no such setting, or not such a value.
        StrategyConflictError: two installed packages have one of this name.
        BrokenPluginError: what it comes from cannot be loaded, fails, or makes something else.
    """
    return _REGISTRY.get(name, **config)


def list_partitioners() -> list[StrategyInfo]:
    """List every partitioner by name; a broken one with its fault.

    Installed plug-ins are imported for that: their summaries are in their docstrings.

    >>> [info.name for info in list_partitioners() if info.origin == "built-in"][:3]
    ['aiokafka', 'clickhouse', 'cockroachdb']
    """
    return _REGISTRY.infos()


def register_partitioner(name: str, factory: Callable[..., Partitioner]) -> None:
    """Make a partitioner known by name in this process.

    >>> from functools import partial
    >>> register_partitioner("large-batches", partial(get_partitioner, "sticky", batch_size=1 << 20))
    >>> get_partitioner("large-batches").name
    'sticky'

    Args:
        name: what to ask for it by.
        factory: makes one, with its settings as keyword arguments; the first line of its docstring is the
            summary.

    Raises:
        StrategyConflictError: the name is taken.
    """
    PARTITIONERS.register(name, factory)


def _of_profile(profile: Profile) -> Callable[..., Partitioner]:
    factory = partial(_UNKEYED[profile.unkeyed], keyed=profile.name)
    factory.__doc__ = profile.summary
    return factory


# A profile with a strategy's name would replace that strategy here without a word; profiles.json has none.
_REGISTRY: Registry[Partitioner] = Registry(
    PARTITIONERS,
    {
        "default": DefaultHash,
        "sticky": Sticky,
        "sticky-per-batch": StickyPerBatch,
        "sticky-by-time": StickyByTime,
        "round-robin": RoundRobin,
        "random": RandomChoice,
        **{name: _of_profile(profile) for name, profile in PROFILES.items()},
    },
)
