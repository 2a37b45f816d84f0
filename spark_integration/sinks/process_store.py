"""Keep objects in a Spark worker from one task to the next, such as clients with their connections.

Spark runs the tasks of an executor in a few Python processes, which it uses again unless
`spark.python.worker.reuse` is off. This package's code is pickled by value, so each task has module globals
of its own, which end with the task. A module in `sys.modules` is the same for all tasks of a process.
"""

from __future__ import annotations

import atexit
import os
import sys
from types import ModuleType
from typing import Any

HOME = "_copartition_kept"
"""The name in `sys.modules` of the module that keeps the objects."""

KEPT = 4
"""Number of idle clients of a kind that a process keeps, each with other settings.

If there are more, the oldest are dropped.
"""


def process_store(what: str) -> dict[Any, Any]:
    """Return the dict that this process keeps under a name; every task of the process gets the same one.

    A forked process begins with an empty dict: the clients of its parent would not work there, because their
    threads are not forked. At the end of the process all dicts are emptied, which closes the clients.
    """
    if HOME not in sys.modules:
        sys.modules[HOME] = ModuleType(HOME)
        # Clients are closed before Python shuts down. A client that is closed during the shutdown may raise,
        # and the process would end with an error as its exit code.
        atexit.register(vars(sys.modules[HOME]).clear)
    store: dict[Any, Any] = vars(sys.modules[HOME]).setdefault(f"{what} of process {os.getpid()}", {})
    return store
