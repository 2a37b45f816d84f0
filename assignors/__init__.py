"""Kafka's assignors decide who consumes what: the same answers as the JVM's, known before they run.

`api` holds the public names, which are loaded on first use. `rules` are to be read, `columnar` answers the
same for large groups; `optimal` and `weighted` are assignors of our own; `streams`, `connect` and `share` are
other kinds of groups.
"""

from typing import TYPE_CHECKING

from partitioning.kit.packages import load_lazily

if TYPE_CHECKING:
    from assignors.api import *  # noqa: F403 - the names of `api` are those of the package

    __version__: str

# Sets the package's `__getattr__`, `__dir__` and `__all__` from `api`.
load_lazily(__name__)
