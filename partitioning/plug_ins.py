"""Finds plug-ins by name: strategies of installed packages, and those that are registered in this process.

This module imports no strategy, because strategies import it to place keys by a plug-in's name.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Generic, TypeVar

from partitioning.errors import (
    BrokenPluginError,
    CopartitionError,
    InvalidConfigError,
    StrategyConflictError,
)
from partitioning.interface import Partitioner

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

S = TypeVar("S")


def call_plug_in(which: str, method: Callable[..., S], *arguments: object) -> S:
    """Call a plug-in's method and return its result; raise BrokenPluginError if it calls `sys.exit`."""
    try:
        return method(*arguments)
    except SystemExit as error:
        name = getattr(method, "__name__", method)
        raise BrokenPluginError(f"{which} ends the process in `{name}`: {error!r}") from error


@dataclass(frozen=True, slots=True)
class StrategyInfo:
    """Describes a strategy that exists under a name.

    >>> [(info.origin, info.summary) for info in list_partitioners() if info.name == "java"]
    [('built-in', 'kafka-clients, default')]

    Attributes:
        name: the name in the registry.
        origin: "built-in"; "built-in, of" and a client's name; "registered"; or the distribution of a
            plug-in.
        summary: one line that describes it.
        fault: the reason why it cannot be used; None if it can.
    """

    name: str
    origin: str
    summary: str
    fault: str | None = None


class PlugIns(Generic[S]):
    """All plug-ins of one kind.

    Attributes:
        kind: the noun for a strategy in messages: "partitioner" or "assignor".
        built_in: the names of built-in strategies, which no plug-in can have. A `Registry` adds its names.
    """

    def __init__(self, kind: str, group: str, interface: type, built_in: Collection[str] = ()) -> None:
        """Use the plug-ins of an entry point group.

        Args:
            kind: the noun for a strategy in messages.
            group: the name of the entry point group.
            interface: the Protocol whose public names each plug-in must have.
            built_in: names that no plug-in can have.
        """
        self.kind = kind
        self.built_in = {*built_in}
        self._group = group
        self._interface = interface
        self._registered: dict[str, Callable[..., S]] = {}

    @cached_property
    def _installed(self) -> dict[str, list[EntryPoint]]:
        """The entry points of the group, by name; read once in a process."""
        from importlib.metadata import entry_points  # noqa: PLC0415 - takes longer than all of this package

        entry_points_of: dict[str, list[EntryPoint]] = {}
        for point in entry_points(group=self._group):
            entry_points_of.setdefault(point.name, []).append(point)
        return entry_points_of

    def names(self) -> list[str]:
        """Return the sorted names of all plug-ins, whether they can be used or not; nothing is loaded."""
        return sorted({*self._registered, *self._installed} - self.built_in)

    def get(self, name: str, **config: object) -> S:
        """Make a new instance of the plug-in of this name, which must be one of `names`.

        Raises:
            InvalidConfigError: the plug-in has no such setting.
            StrategyConflictError: two installed packages have a plug-in of this name.
            BrokenPluginError: the plug-in cannot be loaded, fails, or does not make a strategy.
        """
        which = f"{self.kind} {name!r}"
        # A strategy that was registered in this process has precedence over installed strategies.
        factory = self._registered.get(name) or self._load(name, self._installed[name])
        check_config(which, signature_of(factory), config)
        try:
            strategy = factory(**config)
        except CopartitionError:
            raise
        except (Exception, SystemExit) as error:
            # The text of an OSError names the file, unlike its repr.
            raise BrokenPluginError(f"{which} cannot be made: {type(error).__name__}: {error}") from error
        # The public names of the Protocol are checked when the strategy is made. Otherwise a missing method
        # would fail only at the first record, inside the producer.
        missing = [
            method for method in vars(self._interface) if method[0] != "_" and not hasattr(strategy, method)
        ]
        if missing:
            raise BrokenPluginError(f"{which} is {strategy!r}, which lacks {' and '.join(missing)}")
        return strategy

    def register(self, name: str, factory: Callable[..., S]) -> None:
        """Register a strategy by name in this process; raise StrategyConflictError if the name is taken."""
        if name in self.built_in or name in self._registered:
            owner = "built in" if name in self.built_in else "registered already"
            raise StrategyConflictError(f"{self.kind} {name!r} is {owner}; choose another name")
        self._registered[name] = factory

    def infos(self) -> list[StrategyInfo]:
        """Return a description of every plug-in; if a plug-in cannot be used, its description has a fault."""
        infos = [
            StrategyInfo(name, "registered", summary_of(factory))
            for name, factory in self._registered.items()
        ]
        for name, points in self._installed.items():
            origins = _origins(points)
            if name in self.built_in or name in self._registered:
                # An installed plug-in with a taken name is listed with its fault. If it were hidden, a user
                # could not find out why it has no effect.
                infos.append(StrategyInfo(name, origins, "", f"{name!r} is taken; it cannot be replaced"))
                continue
            try:
                infos.append(StrategyInfo(name, origins, summary_of(self._load(name, points))))
            except (StrategyConflictError, BrokenPluginError) as error:
                infos.append(StrategyInfo(name, origins, "", str(error)))
        return infos

    def _load(self, name: str, points: list[EntryPoint]) -> Callable[..., S]:
        """Return the factory that an entry point names.

        Raises:
            StrategyConflictError: several installed packages have a plug-in of this name.
            BrokenPluginError: importing the factory fails or ends the process, or the factory is not
                callable.
        """
        origins = _origins(points)
        if len(points) > 1:
            raise StrategyConflictError(f"{self.kind} {name!r} comes from {origins}; uninstall one of them")
        try:
            factory = points[0].load()
        except (Exception, SystemExit) as error:  # a module may call sys.exit when it is imported
            raise BrokenPluginError(
                f"{self.kind} {name!r} of {origins} cannot be loaded: {error!r}"
            ) from error
        if not callable(factory):
            raise BrokenPluginError(f"{self.kind} {name!r} of {origins} is not callable: {factory!r}")
        return factory  # type: ignore[no-any-return]


def signature_of(factory: Callable[..., object]) -> inspect.Signature | None:
    """Return the parameters of a factory; None if they are unknown, as for some factories written in C."""
    try:
        return inspect.signature(factory)
    except ValueError:
        return None


def check_config(which: str, signature: inspect.Signature | None, config: dict[str, object]) -> None:
    """Raise InvalidConfigError, with the names of all settings, if a factory does not take these settings."""
    try:
        # Settings are bound before the call, so a TypeError inside the factory is not reported as a wrong
        # setting.
        if signature is not None:
            signature.bind(**config)
    except TypeError as error:
        known = ", ".join(signature.parameters) if signature else ""
        told = f"its settings are {known}" if known else "it has no settings"
        raise InvalidConfigError(f"{which}: {error}; {told}") from error


def _origins(points: list[EntryPoint]) -> str:
    """Return the sorted names of the points' distributions; a point without one is named by its target."""
    return " and ".join(sorted(point.dist.name if point.dist else point.value for point in points))


def summary_of(factory: Callable[..., object]) -> str:
    """Return the first line of a factory's docstring."""
    return (inspect.getdoc(factory) or "").partition("\n")[0]


STRATEGIES = ("default", "sticky", "sticky-per-batch", "sticky-by-time", "round-robin", "random")
"""Names of the built-in partitioners that are not profiles; the module `partitioners` makes them."""

PARTITIONERS: PlugIns[Partitioner] = PlugIns(
    "partitioner", "copartition.partitioners", Partitioner, STRATEGIES
)
"""The plug-ins that are partitioners. A profile's name is taken, too, so look in `PROFILES` first."""
