"""Strategies by name: built-in ones and plug-ins."""

import inspect
from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

from partitioning.errors import UnknownStrategyError
from partitioning.kit.near import near
from partitioning.plug_ins import PlugIns, StrategyInfo, check_config, signature_of, summary_of

S = TypeVar("S")


class Registry(Generic[S]):
    """All strategies of one kind: built-in ones, whose names cannot be taken, and plug-ins.

    Attributes:
        plug_ins: the strategies that are not built in.
    """

    def __init__(
        self,
        plug_ins: PlugIns[S],
        built_in: Mapping[str, Callable[..., S]],
        origins: Mapping[str, str] | None = None,
    ) -> None:
        """Take the names of `built_in`; `origins` are those of the ones that are more than "built-in"."""
        self.plug_ins = plug_ins
        self._built_in = built_in
        self._origins = origins or {}
        self._signatures: dict[str, inspect.Signature | None] = {}
        plug_ins.built_in.update(built_in)

    def get(self, name: str, **config: object) -> S:
        """Make a new instance of the strategy.

        Raises:
            UnknownStrategyError: there is none of this name.
            InvalidConfigError: it has no such setting.
            StrategyConflictError: two installed packages have one of this name.
            BrokenPluginError: what it comes from cannot be loaded, fails, or makes something else.
        """
        if name in self._built_in:
            factory = self._built_in[name]
            # To inspect a signature takes longer than to make a strategy.
            if name not in self._signatures:
                self._signatures[name] = signature_of(factory)
            check_config(f"{self.plug_ins.kind} {name!r}", self._signatures[name], config)
            return factory(**config)
        # Only now are entry points read: built-in names must not pay for the scan of all installed packages.
        if name in (plug_ins := self.plug_ins.names()):
            return self.plug_ins.get(name, **config)
        names = sorted([*self._built_in, *plug_ins])
        raise UnknownStrategyError(f"no {self.plug_ins.kind} {name!r}; {near(name, names)}")

    def infos(self) -> list[StrategyInfo]:
        """List every strategy by name; one that cannot be used with its fault."""
        infos = [
            StrategyInfo(name, self._origins.get(name, "built-in"), summary_of(factory))
            for name, factory in self._built_in.items()
        ]
        infos += self.plug_ins.infos()
        return sorted(infos, key=lambda info: (info.name, not info.origin.startswith("built-in")))
