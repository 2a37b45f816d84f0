"""Tell what a change to a consumer group or a topic does before you make it: compare, simulate, audit, watch.

The names of `copartition.api` are those of the package. They are imported when they are first used, so that
`import copartition` alone loads neither numpy nor a client of Kafka.
"""

from typing import TYPE_CHECKING

from partitioning.kit.packages import load_lazily

if TYPE_CHECKING:
    from copartition.api import *  # noqa: F403 - the names of `api` are those of the package

    __version__: str

load_lazily(__name__)
