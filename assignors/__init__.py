"""Kafka's assignors in Python: they give the JVM's answers before a group is run.

- A question is a `group`, and its answer an `assignment`, whose partitions are `partition_list` columns.
  `state` is a group as seen from outside, and `protocol` the bytes that members send each other.
- `interface` says what an assignor is. `registry` finds one by name; `strategies` are the built-in ones, and
  `answers` checks those of plug-ins.
- `rules` has the strategies in a readable form, and `columnar` in a fast form with the same answers.
- `optimal` and `weighted` are assignors of our own. `streams`, `connect` and `share` serve other kinds of
  groups.
- `explanation` tells why a partition has its owner; `files` reads text files of users.
- `clients` runs assignors in consumers, and `testing` checks an assignor of your own.

`api` holds the public names, which are loaded on first use.
"""

from typing import TYPE_CHECKING

from partitioning.kit.packages import load_lazily

if TYPE_CHECKING:
    from assignors.api import *  # noqa: F403 - the names of `api` are those of the package

    __version__: str

# Sets the package's `__getattr__`, `__dir__` and `__all__` from `api`.
load_lazily(__name__)
