"""Finds partitioners by name.

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

    Names are "default", "sticky", "sticky-per-batch", "sticky-by-time", "round-robin", "random", and those of
    the profiles in `profiles.PROFILES`. The partitioner of a profile places keyed records as the profile's
    client does, and unkeyed records by the strategy that is most like the client's own. Installed packages
    can add partitioners by entry points of the group `copartition.partitioners`.

    >>> orders = get_partitioner("round-robin").for_topic("orders")
    >>> [orders.partition(None, TopicLayout(3)) for _ in range(4)]
    [0, 1, 2, 0]

    Raises:
        UnknownStrategyError: there is no partitioner of this name.
        InvalidConfigError: the partitioner has no such setting, or the value is invalid.
        StrategyConflictError: two installed packages have a partitioner of this name.
        BrokenPluginError: the plug-in cannot be loaded, fails, or does not make a partitioner.
    """
    return _REGISTRY.get(name, **config)


def list_partitioners() -> list[StrategyInfo]:
    """List all partitioners, sorted by name; a broken plug-in is listed with its fault.

    Installed plug-ins are imported, because their summaries are in their docstrings.

    >>> [info.name for info in list_partitioners() if info.origin == "built-in"][:3]
    ['aiokafka', 'clickhouse', 'cockroachdb']
    """
    return _REGISTRY.infos()


def register_partitioner(name: str, factory: Callable[..., Partitioner]) -> None:
    """Register a partitioner by name in this process.

    >>> from functools import partial
    >>> register_partitioner("large-batches", partial(get_partitioner, "sticky", batch_size=1 << 20))
    >>> get_partitioner("large-batches").name
    'sticky'

    Args:
        name: the name for `get_partitioner`.
        factory: makes the partitioner, with its settings as keyword arguments. The first line of its
            docstring is the summary.

    Raises:
        StrategyConflictError: the name is taken.
    """
    PARTITIONERS.register(name, factory)


def _of_profile(profile: Profile) -> Callable[..., Partitioner]:
    factory = partial(_UNKEYED[profile.unkeyed], keyed=profile.name)
    factory.__doc__ = profile.summary
    return factory


# A profile with the name of a strategy would silently replace it here. profiles.json has no such profile.
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
