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


def install_command(extra: str) -> str:
    """Return the shell command that adds an extra to the copartition that is installed.

    pip notes what it installed a package from unless that was an index (`direct_url.json`, PEP 610): a
    folder, a file or a repository. The command names the same thing, so that it works if no index has the
    package.

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
    # A wheel is often deleted after it was installed; its path would then lead nowhere.
    if address.scheme == "file" and Path(path := url2pathname(address.path)).exists():
        return f"pip install '{path}[{extra}]'"
    return f"pip install 'copartition[{extra}]'"


def public_names(module: ModuleType) -> list[str]:
    """Return the names that a module offers: its `__all__`, or all that it has imported, but no modules.

    They are in the order of `__all__`, or in that of the imports.
    """
    imported = (name for name, value in vars(module).items() if not isinstance(value, ModuleType))
    return getattr(module, "__all__", None) or [name for name in imported if name[0] != "_"]


def load_lazily(package: str, *others: str) -> None:
    """Give a package the names of its module `api`, which is imported when the first of them is asked for.

    A name of another package (`others`) is found without importing what this one has beyond: `from
    copartition import partition_for_key` loads what `partitioning` does. `__all__` has this package's own.

    Type checkers see the names by `from PACKAGE.api import *`. No name of `api` may be one of the package's
    modules, which the import system would put in its place; `tests/test_public_names.py` holds that.
    """
    module = sys.modules[package]

    def find(name: str) -> Any:
        if name == "__version__":
            return version()
        for other in () if name.startswith("__") else others:
            if name in public_names(api := import_module(f"{other}.api")):
                return vars(module).setdefault(name, getattr(api, name))
        # Other names with two underscores are asked for by the import system and by tools: they must not
        # import `api`.
        if name == "__all__" or not name.startswith("__"):
            names = public_names(import_module(f"{package}.api"))
            if name == "__all__":
                return vars(module).setdefault(name, names)
            if name in names:
                return vars(module).setdefault(name, getattr(sys.modules[f"{package}.api"], name))
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    def names() -> list[str]:
        # For people and their editors: what the package itself imports is left out.
        return sorted({*(name for name in vars(module) if name.startswith("__")), *module.__all__})

    # As `def __getattr__` and `def __dir__` in the package itself would (PEP 562).
    vars(module).update(__getattr__=find, __dir__=names)


@contextmanager
def needs(what: str, extra: str) -> Iterator[None]:
    """Raise a MissingDependencyError that says which extra to install where an import in the block fails."""
    try:
        yield
    # Other ImportErrors pass unchanged, because a package that is installed but broken must show its own
    # error.
    except ModuleNotFoundError as error:
        raise MissingDependencyError(
            f"{what} needs the package {error.name}; install it with: {install_command(extra)}"
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
