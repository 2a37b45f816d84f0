"""Kafka's clients put a record into a partition by these rules, for one key and for a column of keys.

`api` holds the public names. They are loaded on first use: to place one key must not cost the time that
importing every strategy and plug-in takes.
"""

from typing import TYPE_CHECKING

from partitioning.kit.packages import load_lazily

if TYPE_CHECKING:
    from partitioning.api import *  # noqa: F403 - the names of `api` are those of the package

    __version__: str

# Sets the package's `__getattr__`, `__dir__` and `__all__` from `api`.
load_lazily(__name__)
