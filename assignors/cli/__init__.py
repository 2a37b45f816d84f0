"""The commands `copartition` and `assignment-diff`."""

from __future__ import annotations

import signal
import sys


def copartition() -> None:
    """Entry point of `copartition`."""
    _run("copartition")


def assignment_diff() -> None:
    """Entry point of `assignment-diff`, which is `copartition diff`."""
    _run("assignment-diff")


def _run(name: str) -> None:
    try:
        import click  # noqa: F401, PLC0415 - the extra "cli" may be missing
        import rich  # noqa: F401, PLC0415
    except ModuleNotFoundError as error:
        sys.stderr.write(
            f"{name} needs the package {error.name}; install it with: pip install 'copartition[cli]'\n"
        )
        sys.exit(2)
    from assignors.cli.main import copartition, diff  # noqa: PLC0415 - needs click

    if hasattr(signal, "SIGPIPE"):  # `copartition ... | head` ends quietly, as other filters do
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    (diff if name == "assignment-diff" else copartition)(prog_name=name)
