"""Define the command `copartition watch`, which prints a line for each change of a group."""

from contextlib import ExitStack, suppress
from typing import TextIO

import click

from copartition.shell.client_options import client_options
from copartition.shell.commands import command, complain, write
from copartition.shell.options import format_option, time_option, verbose_option

_SUFFIX = ".ndjson"
_SHORTEST_MS = 100.0


def _record_name(ctx: click.Context, option: click.Parameter, path: str | None) -> str | None:
    """Return the name of a record's file; raise `BadParameter` if it does not end with `_SUFFIX`.

    `watch` tells a record from the name of a group by this ending. Without it, the record could not be
    replayed.
    """
    if path is not None and not path.lower().endswith(_SUFFIX):
        raise click.BadParameter(f"{path}: the name of a record ends with {_SUFFIX}", ctx, option)
    return path


@command(
    "copartition watch billing -b localhost:9092",
    "copartition watch billing -b localhost:9092 --record tonight.ndjson",
    "copartition watch night.ndjson",
    "copartition watch night.ndjson -o json",
)
@click.argument("group")
@client_options("The cluster.")
@time_option(
    "--interval", "Time from one look at the group to the next, at least 100ms.", "interval_ms", default="1s"
)
@time_option("--for", "How long to watch; by default until Ctrl-C.", "for_ms")
@click.option(
    "--count", type=click.IntRange(1), metavar="N", help="How many times to look; by default until Ctrl-C."
)
@click.option(
    "--record",
    type=click.Path(dir_okay=False),
    callback=_record_name,
    metavar="FILE.ndjson",
    help="Write a record, a snapshot in each line; assignment-diff FILE.ndjson#STEP reads it.",
)
@format_option("text", "json", text="Format of the output; json prints an object in each line.")
@verbose_option
def watch(
    group: str,
    *,
    config: dict[str, str],
    interval_ms: float,
    for_ms: float | None,
    count: int | None,
    record: str | None,
    form: str,
) -> None:
    """Watch a group: print a line for each change.

    GROUP is a group of a cluster, or the record of a watch, FILE.ndjson, which is replayed. The command only
    reads: each look asks the coordinator to describe the group. If the group does not exist yet, the command
    waits for it.

    Exit code: 0 the watch ended by --for, --count or Ctrl-C, or the record was replayed; 2 the watch could
    not begin, or the record cannot be read or written.
    """
    from copartition.groups.snapshot import read_record, record_line  # noqa: PLC0415
    from copartition.watch.report import WatchReport, trouble_text  # noqa: PLC0415 - unused by --help

    # More frequent looks would load the coordinator and show nothing new.
    if interval_ms < _SHORTEST_MS:
        raise click.BadParameter(f"it is at least {_SHORTEST_MS:.0f}ms", param_hint="--interval")
    # A record that is replayed and a live watch have the same report.
    report = WatchReport(form)
    if group.lower().endswith(_SUFFIX) and not config:
        if record is not None or for_ms is not None or count is not None:
            raise click.UsageError(
                "a record is replayed from its first step to its last; leave --for, --count and --record out"
            )
        steps = read_record(group)
        for step in steps:
            write(report.lines(step))
        click.echo(report.summary(steps[-1].at - steps[0].at, None), nl=False, err=form == "json")
        return
    from assignors.state import GroupState  # noqa: PLC0415 - only a live watch needs it
    from copartition.watch.changes import Looks, Trouble  # noqa: PLC0415
    from copartition.watch.reader import AnyGroupReader  # noqa: PLC0415

    def tell(trouble: Trouble) -> None:
        words = trouble_text(trouble, looks.clock())
        complain(words if trouble.why else f"live:{group}: {words}")

    reader = AnyGroupReader(group, config)
    ends, committed = (None, None) if record is None else (reader.ends, reader.committed_offsets)
    looks = Looks(
        reader,
        interval_s=interval_ms / 1000,
        for_s=None if for_ms is None else for_ms / 1000,
        count=count,
        ends=ends,
        committed=committed,
        tell=tell,
    )
    with ExitStack() as stack:
        file = None if record is None else stack.enter_context(_open_record(record))
        # Ctrl-C is the usual end of a watch: its summary still follows.
        with suppress(KeyboardInterrupt):
            for step in looks:
                if file is not None:
                    if not isinstance(step.state, GroupState):
                        raise click.ClickException(
                            f"live:{group} is a {step.state.protocol} group, and a record keeps owners: "
                            f"leave --record out, or repeat copartition snapshot live:{group} >> FILE, "
                            "of which copartition doctor compares the first look with the last"
                        )
                    file.write(record_line(step))
                    # A step is on disk before it is shown: a watch that is killed loses no shown step.
                    file.flush()
                write(report.lines(step))
    click.echo(report.summary(looks.ended - looks.begun, looks.blind_s), nl=False, err=form == "json")


def _open_record(path: str) -> TextIO:
    """Return the file of a record, empty and open for text in UTF-8.

    Raises:
        ClickException: the file cannot be written.
    """
    try:
        return open(path, "w", encoding="utf-8")  # noqa: PTH123 - as `write` does
    except OSError as error:
        raise click.ClickException(f"cannot write {path}: {error.strerror}") from error
