"""Strategies by name: built in, registered in this process, or from an installed package's entry points."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import TYPE_CHECKING, Generic, TypeVar

from partitioning.errors import (
    BrokenPluginError,
    CopartitionError,
    InvalidConfigError,
    StrategyConflictError,
    UnknownStrategyError,
)

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

S = TypeVar("S")


def call_plug_in(which: str, method: Callable[..., S], *arguments: object) -> S:
    """Return what a plug-in's method returns; BrokenPluginError if it ends the process (`sys.exit`)."""
    try:
        return method(*arguments)
    except SystemExit as error:
        name = getattr(method, "__name__", method)
        raise BrokenPluginError(f"{which} ends the process in `{name}`: {error!r}") from error


@dataclass(frozen=True, slots=True)
class StrategyInfo:
    """One strategy that can be had by name.

    >>> [(info.origin, info.summary) for info in list_partitioners() if info.name == "java"]
    [('built-in', 'kafka-clients, default')]

    Attributes:
        name: what to ask for.
        origin: "built-in", "built-in, of" somebody, "registered", or the distribution it comes from.
        summary: one line on what it does.
        fault: why it cannot be used; None if it can.
    """

    name: str
    origin: str
    summary: str
    fault: str | None = None


class Registry(Generic[S]):
    """All strategies of one kind ("partitioner"): built-in ones, whose names cannot be taken, and plug-ins.

    `group` is the entry-point group in which installed packages name theirs; `origins` are those of the
    built-in ones that are more than "built-in".
    """

    def __init__(
        self,
        kind: str,
        group: str,
        interface: type,
        built_in: Mapping[str, Callable[..., S]],
        origins: Mapping[str, str] | None = None,
    ) -> None:
        self._kind = kind
        self._group = group
        self._interface = interface
        self._built_in = built_in
        self._origins = origins or {}
        self._registered: dict[str, Callable[..., S]] = {}
        self._signatures: dict[str, inspect.Signature | None] = {}

    @cached_property
    def _installed(self) -> dict[str, list[EntryPoint]]:
        from importlib.metadata import entry_points  # noqa: PLC0415 - takes longer than all of this package

        entry_points_of: dict[str, list[EntryPoint]] = {}
        for point in entry_points(group=self._group):
            entry_points_of.setdefault(point.name, []).append(point)
        return entry_points_of

    def get(self, name: str, **config: object) -> S:
        """Return a new instance of the strategy.

        Raises:
            UnknownStrategyError: there is none of this name.
            InvalidConfigError: it has no such setting.
            StrategyConflictError: two installed packages have one of this name.
            BrokenPluginError: what it comes from cannot be loaded, fails, or makes something else.
        """
        factory = self._factory(name)
        if name not in self._signatures:
            self._signatures[name] = _signature(factory)
        signature = self._signatures[name]
        try:
            if signature is not None:
                signature.bind(**config)
        except TypeError as error:
            raise InvalidConfigError(f"{self._kind} {name!r}: {error}") from error
        if name in self._built_in:
            return factory(**config)
        try:
            strategy = factory(**config)
        except CopartitionError:
            raise
        except (Exception, SystemExit) as error:
            raise BrokenPluginError(f"{self._kind} {name!r} cannot be made: {error!r}") from error
        missing = [var for var in vars(self._interface) if var[0] != "_" and not hasattr(strategy, var)]
        if missing:
            raise BrokenPluginError(
                f"{self._kind} {name!r} is {strategy!r}, which lacks {' and '.join(missing)}"
            )
        return strategy

    def register(self, name: str, factory: Callable[..., S]) -> None:
        """Make a strategy known by name in this process; StrategyConflictError if the name is taken."""
        if name in self._built_in or name in self._registered:
            owner = "built in" if name in self._built_in else "registered already"
            raise StrategyConflictError(f"{self._kind} {name!r} is {owner}; choose another name")
        self._registered[name] = factory

    def plug_ins(self) -> list[str]:
        """Return the names of all that is not ours, whether it can be used or not; nothing is loaded."""
        return sorted({*self._registered, *self._installed} - self._built_in.keys())

    def infos(self) -> list[StrategyInfo]:
        """List every strategy by name; a broken one with its fault."""
        infos = [
            StrategyInfo(name, self._origins.get(name, "built-in"), _summary(factory))
            for name, factory in self._built_in.items()
        ]
        infos += [
            StrategyInfo(name, "registered", _summary(factory)) for name, factory in self._registered.items()
        ]
        for name, points in self._installed.items():
            origins = _origins(points)
            if name in self._built_in or name in self._registered:
                infos.append(StrategyInfo(name, origins, "", f"{name!r} is taken; it cannot be replaced"))
                continue
            try:
                infos.append(StrategyInfo(name, origins, _summary(self._load(name, points))))
            except (StrategyConflictError, BrokenPluginError) as error:
                infos.append(StrategyInfo(name, origins, "", str(error)))
        return sorted(infos, key=lambda info: (info.name, not info.origin.startswith("built-in")))

    def _factory(self, name: str) -> Callable[..., S]:
        if name in self._built_in:
            return self._built_in[name]
        if name in self._registered:
            return self._registered[name]
        if name in self._installed:
            return self._load(name, self._installed[name])
        names = sorted([*self._built_in, *self.plug_ins()])
        close = get_close_matches(name, names, n=3)
        hint = f"did you mean {', '.join(close)}?" if close else f"there are {', '.join(names)}"
        raise UnknownStrategyError(f"no {self._kind} {name!r}; {hint}")

    def _load(self, name: str, points: list[EntryPoint]) -> Callable[..., S]:
        origins = _origins(points)
        if len(points) > 1:
            raise StrategyConflictError(f"{self._kind} {name!r} comes from {origins}; uninstall one of them")
        try:
            factory = points[0].load()
        except (Exception, SystemExit) as error:  # a module may call sys.exit when it is imported
            raise BrokenPluginError(
                f"{self._kind} {name!r} of {origins} cannot be loaded: {error!r}"
            ) from error
        if not callable(factory):
            raise BrokenPluginError(f"{self._kind} {name!r} of {origins} is not callable: {factory!r}")
        return factory  # type: ignore[no-any-return]


def _signature(factory: Callable[..., object]) -> inspect.Signature | None:
    """Return what a factory takes; None if nobody knows, as of some that are written in C."""
    try:
        return inspect.signature(factory)
    except ValueError:
        return None


def _origins(points: list[EntryPoint]) -> str:
    return " and ".join(sorted(point.dist.name if point.dist else point.value for point in points))


def _summary(factory: Callable[..., object]) -> str:
    return (inspect.getdoc(factory) or "").partition("\n")[0]
