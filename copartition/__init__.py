"""Tell what a change to a consumer group or a topic does before you make it: compare, simulate, audit, watch.

- A question is a room: `assignment_diff`, `simulate_scenarios`, `migrate`, `doctor`, `why` and `watch` are
  about groups, `audit`, `check` and `reshape` about topics, `transactions` about a cluster, `models` about
  settings, and `vectors` about programs in other languages.
- Rooms stand on `groups` (a group as somebody saw it), `simulation` (a group over time) and `deploys` (what a
  deploy stops, and for how long).
- `kit` is what rooms share, and `shell` is the command line.

The names of `copartition.api` are those of the package. They are imported when they are first used, so that
`import copartition` alone loads neither numpy nor a client of Kafka. The names of `partitioning` and
`assignors` are here, too: `from copartition import partition_for_key, Group`.
"""

from importlib.util import find_spec
from typing import TYPE_CHECKING


def _check_own(package: str) -> None:
    """Refuse a file of somebody else that has the name of a package of ours.

    A script's own folder comes first on the path of modules, and with `python -m`, `python -c` and in a
    notebook so does the working directory: a `partitioning.py` there is what `import partitioning` finds.
    Both cannot be imported in one process, and to replace the user's module would break a program that needs
    it.

    Raises:
        ImportError: `package` is another module or package than ours; the message says what to do.
    """
    spec = find_spec(package)
    # A plain module is not run to find that out; a package has to be imported before its modules are found.
    if spec and (spec.submodule_search_locations is None or find_spec(f"{package}.api") is None):
        raise ImportError(
            f"copartition needs its package `{package}`, but that name is {spec.origin}: give that file "
            "another name or, if this program does not import it, start Python with -P, which leaves the "
            "script's folder and the working directory off the path of modules (so does PYTHONSAFEPATH=1)"
        )


for _package in ("partitioning", "assignors"):
    _check_own(_package)

from partitioning.kit.packages import load_lazily  # noqa: E402 - only after it is known to be ours

if TYPE_CHECKING:
    from assignors.api import *  # noqa: F403 - as below
    from copartition.api import *  # noqa: F403 - the names of `api` are those of the package
    from partitioning.api import *  # noqa: F403 - as above

    __version__: str

load_lazily(__name__, "partitioning", "assignors")
