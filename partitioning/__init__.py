"""Kafka's clients put a record into a partition by these rules, for one key and for a column of keys."""

from typing import TYPE_CHECKING

from partitioning.kit.packages import load_lazily

if TYPE_CHECKING:
    from partitioning.api import *  # noqa: F403 - the names of `api` are those of the package

    __version__: str

load_lazily(__name__)
