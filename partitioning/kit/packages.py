"""Packages: names loaded at first use, as `--help` needs none; optional ones; data files beside modules."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pkgutil import get_data
from types import ModuleType
from typing import Any

from partitioning.errors import MissingDependencyError


def version() -> str:
    """Return the version of copartition, which all its packages have."""
    from importlib import metadata  # noqa: PLC0415 - costs more than the rest of the module

    return metadata.version("copartition")


def public_names(module: ModuleType) -> list[str]:
    """Return the names that a module offers: its `__all__`, or all that it has imported, but no modules."""
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


@contextmanager
def needs(what: str, extra: str) -> Iterator[None]:
    """Raise a MissingDependencyError that says which extra to install where an import in the block fails."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise MissingDependencyError(
            f"{what} needs the package {error.name}; install it with: pip install 'copartition[{extra}]'"
        ) from error


def read_data(package: str, name: str) -> str:
    """Return the text of a file that stands beside the modules of a package."""
    content = get_data(package, name)
    assert content is not None, f"{package} has no loader that reads files"
    return content.decode()


def read_toml(package: str, name: str) -> dict[str, Any]:
    """Return the content of a TOML file of a package."""
    import tomllib  # noqa: PLC0415 - to place a key takes no TOML

    return tomllib.loads(read_data(package, name))
