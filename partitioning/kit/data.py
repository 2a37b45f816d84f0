"""Data files beside modules, which may be in a zip: Spark's executors import the packages from one."""

from pkgutil import get_data


def read_data(package: str, name: str) -> str:
    """The text of a file that stands beside the modules of a package."""
    content = get_data(package, name)
    assert content is not None, f"{package} has no loader that reads files"
    return content.decode()
