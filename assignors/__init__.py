"""Kafka's assignors in Python: they give the JVM's answers before a group is run.

`api` holds the public names, which are loaded on first use. `rules` has the strategies in a readable form,
and `columnar` in a fast form with the same answers. `optimal` and `weighted` are assignors of our own.
`streams`, `connect` and `share` serve other kinds of groups.
"""

from typing import TYPE_CHECKING

from partitioning.kit.packages import load_lazily

if TYPE_CHECKING:
    from assignors.api import *  # noqa: F403 - the names of `api` are those of the package

    __version__: str

# Sets the package's `__getattr__`, `__dir__` and `__all__` from `api`.
load_lazily(__name__)
