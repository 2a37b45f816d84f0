"""Start the commands `copartition` and `assignment-diff`.

`main` names the commands, and `commands` gives all of them the same errors and exit codes. `options` defines
the options that several commands share, and `client_options` defines those that reach a cluster. `verbs` has
the commands that have no package of their own.
"""

import gc
import sys
from importlib.util import find_spec


def copartition() -> None:
    """Run the command `copartition` with the arguments of the process, and exit with its exit code."""
    _run("copartition")


def assignment_diff() -> None:
    """Run the command `assignment-diff`, which is `copartition diff`, and exit with its exit code."""
    _run("assignment-diff")


def _run(name: str) -> None:
    """Run one of the two commands; never returns normally.

    Without the extra "cli" this prints one line that says what to install, and exits with 2; the traceback of
    an ImportError would not help a user.

    Args:
        name: "copartition" or "assignment-diff", the name that help and errors show.

    Raises:
        SystemExit: always; its code is 0 (fine), 1 (found something) or 2 (could not tell or could not
            run).
    """
    # `find_spec` finds a package without importing it, because most commands need no rich.
    missing = next((package for package in ("click", "rich") if find_spec(package) is None), None)
    if missing is not None:  # the extra "cli" is not installed
        from partitioning.kit.packages import install_command  # noqa: PLC0415 - only this error needs it

        sys.stderr.write(f"{name} needs the package {missing}; install it with: {install_command('cli')}\n")
        sys.exit(2)
    # By default the collector runs after a few hundred new objects, but importing modules makes no garbage.
    gc.set_threshold(50_000)
    # These imports need click, and a command does not need another command's modules.
    if name == "assignment-diff":
        from copartition.assignment_diff.command import diff  # noqa: PLC0415

        diff(prog_name=name)
    else:
        from copartition.shell.main import copartition  # noqa: PLC0415

        copartition(prog_name=name)
