"""Run `copartition examples`: write the files that the examples of --help read."""

from __future__ import annotations

from pathlib import Path

import click

from copartition.shell.commands import command, write


@command("copartition examples", "copartition examples try")
@click.argument("folder", type=click.Path(file_okay=False), default=".")
def examples(folder: str) -> None:
    """Write into FOLDER the files that the examples of --help and of the documentation read.

    The files are made up: captures and a record of the group billing, scenarios, a log and keys. FOLDER is
    by default the current one. A file that exists already is left as it is. Examples with -b need a cluster
    of your own.

    Exit code: 0 every file is there; 2 a file cannot be written.
    """
    from importlib.resources import files  # noqa: PLC0415 - help does without

    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    for file in sorted(files("copartition.shell").joinpath("examples").iterdir(), key=lambda file: file.name):
        path = target / file.name
        if path.exists():
            write(f"{path}: left as it is\n")
            continue
        path.write_bytes(file.read_bytes())
        write(f"{path}\n")
