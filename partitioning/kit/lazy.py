"""Packages whose public names are loaded when one of them is asked for: a command's `--help` needs none."""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


def version() -> str:
    """The version of copartition, which all its packages have."""
    from importlib import metadata  # noqa: PLC0415 - costs more than the rest of the module

    return metadata.version("copartition")


def public_names(module: ModuleType) -> list[str]:
    """The names that a module offers: its `__all__`, or all that it has imported, but no modules."""
    imported = (name for name, value in vars(module).items() if not isinstance(value, ModuleType))
    return getattr(module, "__all__", None) or sorted(name for name in imported if name[0] != "_")


class LazyPackage(ModuleType):
    """A package whose names are those of its module `api`, which is not imported before one is used."""

    def __getattr__(self, name: str) -> Any:
        if name == "__version__":
            return version()
        if name == "__all__" or not name.startswith("__"):
            api = import_module(f"{self.__name__}.api")
            if name == "__all__":
                return self.__dict__.setdefault(name, public_names(api))
            if name in public_names(api):
                return self.__dict__.setdefault(name, getattr(api, name))
            if f"{self.__name__}.{name}" in sys.modules:
                return sys.modules[f"{self.__name__}.{name}"]
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")

    def __setattr__(self, name: str, value: object) -> None:
        # The import system puts modules into their package. `copartition.diff` is a function and a module:
        # the function is public, so modules stay out, and `__getattr__` finds the modules that no name hides.
        if not isinstance(value, ModuleType):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self.__all__})


def load_lazily(package: str) -> None:
    """Make a package lazy; type checkers see its names by `from PACKAGE.api import *`."""
    sys.modules[package].__class__ = LazyPackage
