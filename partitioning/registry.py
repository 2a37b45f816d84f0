"""Finds strategies by name: built-in ones and plug-ins."""

import inspect
from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

from partitioning.errors import UnknownStrategyError
from partitioning.kit.near import near
from partitioning.plug_ins import PlugIns, StrategyInfo, check_config, signature_of, summary_of

S = TypeVar("S")


class Registry(Generic[S]):
    """All strategies of one kind: built-in ones, whose names no plug-in can have, and plug-ins.

    Attributes:
        plug_ins: the strategies that are not built in.
    """

    def __init__(
        self,
        plug_ins: PlugIns[S],
        built_in: Mapping[str, Callable[..., S]],
        origins: Mapping[str, str] | None = None,
    ) -> None:
        """Register the built-in strategies.

        Args:
            plug_ins: the strategies that are not built in.
            built_in: the factory of each built-in strategy, by name.
            origins: name -> origin, for built-in strategies whose origin is more than "built-in"; None if
                there are none.
        """
        self.plug_ins = plug_ins
        self._built_in = built_in
        self._origins = origins or {}
        self._signatures: dict[str, inspect.Signature | None] = {}
        plug_ins.built_in.update(built_in)

    def get(self, name: str, **config: object) -> S:
        """Make a new instance of the strategy.

        Raises:
            UnknownStrategyError: there is no strategy of this name.
            InvalidConfigError: the strategy has no such setting.
            StrategyConflictError: two installed packages have a strategy of this name.
            BrokenPluginError: the plug-in cannot be loaded, fails, or does not make a strategy.
        """
        if name in self._built_in:
            factory = self._built_in[name]
            # Signatures are cached, because inspecting one takes longer than making a strategy.
            if name not in self._signatures:
                self._signatures[name] = signature_of(factory)
            check_config(f"{self.plug_ins.kind} {name!r}", self._signatures[name], config)
            return factory(**config)
        # Entry points are read only now, so that built-in names do not wait for a scan of all packages.
        if name in (plug_ins := self.plug_ins.names()):
            return self.plug_ins.get(name, **config)
        names = sorted([*self._built_in, *plug_ins])
        raise UnknownStrategyError(f"no {self.plug_ins.kind} {name!r}; {near(name, names)}")

    def infos(self) -> list[StrategyInfo]:
        """Return a description of every strategy, sorted by name; if one cannot be used, it has a fault."""
        infos = [
            StrategyInfo(name, self._origins.get(name, "built-in"), summary_of(factory))
            for name, factory in self._built_in.items()
        ]
        infos += self.plug_ins.infos()
        return sorted(infos, key=lambda info: (info.name, not info.origin.startswith("built-in")))
