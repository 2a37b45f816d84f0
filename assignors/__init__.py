"""Kafka's assignors decide who consumes what: the same answers as the JVM's, known before they run."""

from typing import TYPE_CHECKING

from partitioning.kit.packages import load_lazily

if TYPE_CHECKING:
    from assignors.api import *  # noqa: F403 - the names of `api` are those of the package

    __version__: str

load_lazily(__name__)
