"""The commands `copartition` and `assignment-diff`."""

import gc
import sys
from importlib.util import find_spec


def copartition() -> None:
    """Entry point of `copartition`."""
    _run("copartition")


def assignment_diff() -> None:
    """Entry point of `assignment-diff`, which is `copartition diff`."""
    _run("assignment-diff")


def _run(name: str) -> None:
    missing = next((package for package in ("click", "rich") if find_spec(package) is None), None)
    if missing is not None:  # the extra "cli" may be
        sys.stderr.write(
            f"{name} needs the package {missing}; install it with: pip install 'copartition[cli]'\n"
        )
        sys.exit(2)
    gc.set_threshold(50_000)  # imports make many objects and no garbage
    # The modules need click, and a command does without those of the others.
    if name == "assignment-diff":
        from copartition.assignment_diff.command import diff  # noqa: PLC0415

        diff(prog_name=name)
    else:
        from copartition.shell.main import copartition  # noqa: PLC0415

        copartition(prog_name=name)
