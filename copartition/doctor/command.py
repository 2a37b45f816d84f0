"""The command `copartition doctor`, which reports what is wrong with a group.

Modules that only a run needs are imported inside `doctor`, so that `--help` and completion stay fast.
"""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

import click

from copartition.shell.client_options import client_options
from copartition.shell.commands import Output, command, write
from copartition.shell.options import (
    FiniteRange,
    group_option,
    html_option,
    output_options,
    set_option,
    split_topics,
    time_option,
)
from partitioning.errors import SourceError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from copartition.doctor.observing import Examined, Limits


def _joined_topics(ctx: click.Context, option: click.Parameter, text: str | None) -> tuple[str, ...]:  # noqa: ARG001
    """Return the topics of the option --join, which are separated by commas; () without the option.

    Raises:
        click.BadParameter: see `split_topics`.
    """
    return () if text is None else split_topics(text, text, option.opts[0])


@command(
    "copartition doctor billing -b localhost:9092",
    "copartition doctor billing -b localhost:9092 --join orders,payments --html billing.html",
    "copartition doctor billing -b localhost:9092 -o prometheus",
    "copartition doctor --all-groups -b localhost:9092",
    "copartition doctor billing.txt",
)
@click.argument("source", metavar="GROUP", required=False)
@click.option(
    "--all-groups",
    is_flag=True,
    help="Examine every group of the cluster that this user may see, and show the worst first.",
)
@time_option(
    "--interval",
    "Time between the two looks at the group; choose it longer than auto.commit.interval.ms.",
    default="10s",
)
@click.option(
    "--lag",
    type=click.IntRange(0),
    default=10_000,
    show_default=True,
    help="The most records that a healthy partition may lag behind.",
)
@time_option("--waiting", "The longest time that a record may wait until it is read.", default="10min")
@click.option(
    "--hot",
    type=FiniteRange(0, 1),
    default=0.5,
    show_default=True,
    help="The largest share of the written records that one partition may get.",
)
@click.option(
    "--join",
    "joined",
    metavar="A,B",
    callback=_joined_topics,
    help="Topics that are joined partition by partition.",
)
@set_option(
    "A timeout of the consumers, such as session.timeout.ms=10000, which no broker shows of a classic group"
)
@group_option
@client_options("The cluster.")
@output_options("text", "json", "prometheus", file=True)
@html_option
def doctor(
    source: str | None,
    *,
    all_groups: bool,
    interval: float,
    lag: int,
    waiting: float,
    hot: float,
    joined: tuple[str, ...],
    changes: dict[str, str],
    group: str | None,
    config: dict[str, str],
    output: Output,
    html: str | None,
) -> int:
    """Show what is wrong with a group, why it matters and what to do. A check that cannot tell is "unknown".

    GROUP is a group of a cluster, which is looked at twice and only read; or a file of a group, as
    copartition snapshot takes it; or - for standard input.

    Exit code: 0 the group is healthy; 1 something is wrong; 2 nothing was found, but the state, the readers
    or the lag are unknown, or a group could not be read.
    """
    from pathlib import Path  # noqa: PLC0415 - help and completion do without

    from copartition.doctor import checks, observing, report  # noqa: PLC0415 - likewise
    from copartition.doctor.examination import Examination, examine_all, examine_live  # noqa: PLC0415 - likewise
    from copartition.doctor.kind_examination import KindExamination  # noqa: PLC0415 - likewise

    limits = observing.Limits(lag=lag, hot=hot, joined=joined, waiting_ms=waiting)
    wait = partial(time.sleep, interval / 1000)
    # This comes before the rules for one group, because arguments that name a group or its page contradict
    # --all-groups.
    if all_groups:
        if source is not None or group is not None or html is not None:
            raise click.UsageError("--all-groups goes with no GROUP, no --group and no --html")
        return _report_all(examine_all(config, wait, changes), limits, output)
    if source is None:
        raise click.UsageError("name a group or a file, or give --all-groups")
    # If a cluster is given, a name that is not a file's is a group's. "live:" is for a group whose name is
    # also that of a file.
    if source.startswith("live:") or (
        config and source != "-" and not Path(source.partition("#")[0]).is_file()
    ):
        examination = examine_live(source.removeprefix("live:"), config, wait, changes)
    else:
        from copartition.groups import OtherSource, read_any_source  # noqa: PLC0415 - a cluster does without

        # A file of a consumer group is one look, so checks that compare two looks are unknown. A file of
        # another kind of group may have two looks.
        read = read_any_source(source, group=group)
        if isinstance(read, OtherSource):
            examination = KindExamination(*read)
        else:
            examination = Examination(read.state, settings=changes)
    results = checks.findings(examination, limits)
    # The page is written before the text, because a program that reads the text from a pipe may close it
    # early, which ends this process.
    if html is not None:
        write(report.doctor_html(examination, results), html)
    output.show(
        partial(report.print_doctor, examination, results),
        json=partial(report.doctor_json, examination, results),
        prometheus=partial(report.doctor_metrics, [(examination, results)]),
    )
    return checks.doctor_exit_code(results)


def _report_all(examined: Mapping[str, Examined | SourceError], limits: Limits, output: Output) -> int:
    """Write the report on all groups of a cluster, and return the exit code.

    Args:
        examined: group name -> its examination, or the error with which it could not be read.
        limits: the bounds of what is still healthy, the same for all groups.
        output: the form of the report, and where it goes.
    """
    from copartition.doctor import checks, overview, report  # noqa: PLC0415 - help and completion do without

    groups = overview.worst_first(
        [
            overview.ExaminedGroup(name, examination, checks.findings(examination, limits))
            for name, examination in examined.items()
            if not isinstance(examination, SourceError)
        ]
    )
    unread = {name: error for name, error in examined.items() if isinstance(error, SourceError)}
    output.show(
        partial(overview.print_overview, groups, unread),
        json=partial(overview.overview_json, groups, unread),
        prometheus=partial(report.doctor_metrics, [group[1:] for group in groups], unread),
    )
    return overview.overview_exit_code(groups, unread)
