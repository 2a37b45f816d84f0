"""Tell what a change to a consumer group or a topic does before you make it: compare, simulate, audit, watch.

The names of `copartition.api` are those of the package. They are imported when they are first used, so that
`import copartition` alone loads neither numpy nor a client of Kafka. The names of `partitioning` and
`assignors` are here, too: `from copartition import partition_for_key, Group`.
"""

from typing import TYPE_CHECKING

try:
    from partitioning.kit.packages import load_lazily
except ModuleNotFoundError as error:
    import sys

    # A file of the user's own with that name comes first on the path of a script beside it.
    found = getattr(sys.modules.get("partitioning"), "__file__", None)
    raise ImportError(
        f"copartition needs its package `partitioning`, but that name is {found}: give that file another name"
    ) from error

if TYPE_CHECKING:
    from assignors.api import *  # noqa: F403 - as below
    from copartition.api import *  # noqa: F403 - the names of `api` are those of the package
    from partitioning.api import *  # noqa: F403 - as above

    __version__: str

load_lazily(__name__, "partitioning", "assignors")
