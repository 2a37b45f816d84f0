"""Optional packages: what is missing, and how to get it."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from partitioning.errors import MissingDependencyError

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def needs(what: str, extra: str) -> Iterator[None]:
    """Raise a MissingDependencyError that says which extra to install where an import in the block fails."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise MissingDependencyError(
            f"{what} needs the package {error.name}; install it with: pip install 'copartition[{extra}]'"
        ) from error
