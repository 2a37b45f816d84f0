"""Data files beside modules, which may be in a zip: Spark's executors import the packages from one."""

from pkgutil import get_data
from typing import Any


def read_data(package: str, name: str) -> str:
    """The text of a file that stands beside the modules of a package."""
    content = get_data(package, name)
    assert content is not None, f"{package} has no loader that reads files"
    return content.decode()


def read_toml(package: str, name: str) -> dict[str, Any]:
    """The content of a TOML file of a package."""
    import tomllib  # noqa: PLC0415 - to place a key takes no TOML

    return tomllib.loads(read_data(package, name))
