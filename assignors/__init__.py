"""Who consumes what: Kafka's assignors with the JVM's answers, simulated and compared before they run."""

from typing import TYPE_CHECKING

from partitioning.kit.packages import load_lazily

if TYPE_CHECKING:
    from assignors.api import *  # noqa: F403 - the names of `api` are those of the package

    __version__: str

load_lazily(__name__)
