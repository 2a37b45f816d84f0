"""Optional packages: what is missing, and how to get it."""

from collections.abc import Iterator
from contextlib import contextmanager

from partitioning.errors import MissingDependencyError


@contextmanager
def needs(what: str, extra: str) -> Iterator[None]:
    """Raise a MissingDependencyError that says which extra to install where an import in the block fails."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise MissingDependencyError(
            f"{what} needs the package {error.name}; install it with: pip install 'copartition[{extra}]'"
        ) from error
