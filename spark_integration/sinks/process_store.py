"""Objects that outlive a task in the worker of Spark's that ran it, such as clients with their connections.

This package's code travels by value, so that each task has globals of its own; a module made here is the same
to all tasks of a process. Spark reuses its workers unless `spark.python.worker.reuse` is off.
"""

from __future__ import annotations

import atexit
import os
import sys
from types import ModuleType
from typing import Any

HOME = "_copartition_kept"
KEPT = 4
"""Number of idle clients of a kind that a process keeps: those of other settings that were used last."""


def process_store(what: str) -> dict[Any, Any]:
    """Return what this process keeps under a name, the same dict to every task.

    A process that was forked from one that keeps something has nothing: the threads of clients stayed behind.
    At the end of the process all is dropped, and what needs closing is closed by that.
    """
    if HOME not in sys.modules:
        sys.modules[HOME] = ModuleType(HOME)
        # Closed while Python is whole: a client that ends with it may leave an error behind as its exit code.
        atexit.register(vars(sys.modules[HOME]).clear)
    store: dict[Any, Any] = vars(sys.modules[HOME]).setdefault(f"{what} of process {os.getpid()}", {})
    return store
