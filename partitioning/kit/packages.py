"""Helpers for packages: names that are loaded at first use, optional packages, and data files of modules."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pkgutil import get_data
from types import ModuleType
from typing import Any

from partitioning.errors import MissingDependencyError


def version() -> str:
    """Return the version of copartition, which is the version of all its packages."""
    from importlib import metadata  # noqa: PLC0415 - costs more than the rest of the module

    return metadata.version("copartition")


def install_command(extra: str) -> str:
    """Return the shell command that adds an extra to the installed copartition.

    If pip installed a package from a folder, a file or a repository and not from an index, it notes that
    (`direct_url.json`, PEP 610). The command names the same source: an index may not have the package.

    Args:
        extra: a name under `project.optional-dependencies` of pyproject.toml, such as "kafka".
    """
    import json  # noqa: PLC0415 - as above, and only an error asks
    from importlib import metadata  # noqa: PLC0415
    from pathlib import Path  # noqa: PLC0415
    from urllib.parse import urlsplit  # noqa: PLC0415
    from urllib.request import url2pathname  # noqa: PLC0415

    try:
        noted = metadata.distribution("copartition").read_text("direct_url.json")
    except metadata.PackageNotFoundError:  # the packages were copied, or found by PYTHONPATH
        return f"pip install '.[{extra}]' in a clone of copartition"
    origin = json.loads(noted) if noted else {}
    address = urlsplit(origin.get("url", ""))
    if "vcs_info" in origin:
        vcs = origin["vcs_info"]
        return f"pip install 'copartition[{extra}] @ {vcs['vcs']}+{origin['url']}@{vcs['commit_id']}'"
    # A wheel is often deleted after its installation, so the path is named only if it exists.
    if address.scheme == "file" and Path(path := url2pathname(address.path)).exists():
        return f"pip install '{path}[{extra}]'"
    return f"pip install 'copartition[{extra}]'"


def public_names(module: ModuleType) -> list[str]:
    """Return a module's public names: its `__all__`; without one, the names in it that are not modules.

    They are in the order of `__all__`, or in the order of their definition. Names that begin with an
    underscore are left out.
    """
    imported = (name for name, value in vars(module).items() if not isinstance(value, ModuleType))
    return getattr(module, "__all__", None) or [name for name in imported if name[0] != "_"]


def load_lazily(package: str, *others: str) -> None:
    """Let a package offer the names of its module `api`, which is imported when one of them is first used.

    So `copartition --help` starts fast. Names of `others` are found without importing this package's `api`:
    `from copartition import partition_for_key` loads no more than `partitioning` does. `__all__` of the
    package has only the names of its own `api`.

    Type checkers see the names by `from PACKAGE.api import *`. No name of `api` may be that of a module of
    the package, because the import system would replace it; `tests/test_public_names.py` checks that.

    Args:
        package: the package's name; it must be imported already.
        others: packages with modules `api`, whose names this package offers as well.
    """
    module = sys.modules[package]

    def find(name: str) -> Any:
        if name == "__version__":
            return version()
        for other in () if name.startswith("__") else others:
            if name in public_names(api := import_module(f"{other}.api")):
                return vars(module).setdefault(name, getattr(api, name))
        # The import system and tools ask for other names with two underscores, and must not import `api`.
        if name == "__all__" or not name.startswith("__"):
            names = public_names(import_module(f"{package}.api"))
            if name == "__all__":
                return vars(module).setdefault(name, names)
            if name in names:
                return vars(module).setdefault(name, getattr(sys.modules[f"{package}.api"], name))
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    def names() -> list[str]:
        # `dir()` is for users and their editors, so it leaves out what the package itself imports.
        return sorted({*(name for name in vars(module) if name.startswith("__")), *module.__all__})

    # This has the same effect as defining `__getattr__` and `__dir__` in the package itself (PEP 562).
    vars(module).update(__getattr__=find, __dir__=names)


@contextmanager
def needs(what: str, extra: str) -> Iterator[None]:
    """Turn the failure of an import in the block into a MissingDependencyError that names the extra.

    Args:
        what: the feature that needs the package; the message begins with it.
        extra: the extra that installs it.
    """
    try:
        yield
    # Other ImportErrors are not caught: a package that is installed but broken must show its own error.
    except ModuleNotFoundError as error:
        raise MissingDependencyError(
            f"{what} needs the package {error.name}; install it with: {install_command(extra)}"
        ) from error


def read_data(package: str, name: str) -> str:
    """Return the text of a data file of a package, which is in the same folder as its modules."""
    content = get_data(package, name)
    assert content is not None, f"{package} has no loader that reads files"
    return content.decode()


def read_toml(package: str, name: str) -> dict[str, Any]:
    """Return the content of a TOML file of a package, see `read_data`."""
    import tomllib  # noqa: PLC0415 - to place a key takes no TOML

    return tomllib.loads(read_data(package, name))
