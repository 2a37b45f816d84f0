"""`copartition diff`, which is `assignment-diff`."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from copartition.cli.client_settings import client_options
from copartition.cli.shell import (
    HELP,
    TROUBLE,
    QuietCommand,
    complain,
    output_options,
    paint,
    schema_option,
    write,
)
from partitioning.kit.limits import MAX_GROUP_MEMBERS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from copartition.diff import AssignmentDiff, Check
    from copartition.reports.view import View

CHECKS = (
    "members_before, members_after, members_joined, members_left, idle_before, idle_after, partitions, kept, "
    "moved, moved_pct, assigned, unassigned, added, removed, conflicts, unowned, needed_moves, "
    "avoidable_moves, fullest, needed_fullest, peak, needed_peak, spread_before, spread_after, stickiness, "
    "lag_moved"
)
"""What --check can look at: the numbers of `Summary`, which `--help` names without loading it."""

_CONFLICTS = 10
"""Conflicts that are told on the error stream; the report has them all."""

HELP_END = f"""
Exit code: 0 no difference, 1 a difference, 2 trouble. With --check: 0 all limits hold, 1 one does not.
(terraform plan has 1 and 2 the other way round.) Filters change neither verdict nor exit code.

--check takes NAME, one of <= >= == != < >, and a number. NAME is one of {CHECKS}.

Examples:

\b
  What has changed since a capture of yesterday?
    assignment-diff yesterday.txt today.txt
  What would two more members move, and why?
    assignment-diff today.txt plan:cooperative-sticky --add-members 2 --reasons
  May this member leave, if at most a third of the partitions may move?
    assignment-diff today.txt plan:sticky --remove-member pod-4 --check 'moved_pct<=34'
  Where is a group that rebalances on its way to (KIP-848)?
    assignment-diff live:payments -b localhost:9092
  What does a topic that grows cost, as a comment on a pull request?
    assignment-diff today.txt plan:range --partitions orders=12 -o markdown
  What does a rolling restart in a simulation change, topic by topic?
    assignment-diff deploy.yaml --by topic
"""


def _schema() -> dict[str, Any]:
    from copartition.reports.document import diff_schema  # noqa: PLC0415 - only --schema needs it

    return diff_schema()


def _pattern(ctx: click.Context, option: click.Parameter, text: str | None) -> re.Pattern[str] | None:
    if text is None:
        return None
    try:
        return re.compile(text)
    except (re.error, OverflowError, RecursionError) as error:
        raise click.BadParameter(f"{text!r} is no regular expression: {error}", ctx, option) from None


@click.command(cls=QuietCommand, context_settings=HELP, epilog=HELP_END)
@click.argument("before")
@click.argument("after", required=False)
@output_options("text", "stat", "json", "ndjson", "csv", "markdown", "html")
@click.option("--out", type=click.Path(dir_okay=False), help="File for the report; html needs one.")
@click.option("-q", "--quiet", is_flag=True, help="No report, only the exit code.")
@click.option(
    "--by", type=click.Choice(["member", "topic", "partition"]), help="What a row of the report is."
)
@click.option("--topic", callback=_pattern, metavar="REGEX", help="Show only topics that match.")
@click.option("--member", callback=_pattern, metavar="REGEX", help="Show only members that match.")
@click.option("--all", "every", is_flag=True, help="Show what did not change, too.")
@click.option("--full", is_flag=True, help="Show all rows, not the 40 largest changes.")
@click.option("--reasons", is_flag=True, help="plan: show why it moves what it moves.")
@click.option("--swap", is_flag=True, help="Take AFTER for BEFORE: what would going back change?")
@click.option(
    "--match",
    type=click.Choice(["auto", "instance-id", "client-id", "host", "member-id", "overlap"]),
    default="auto",
    show_default=True,
    help="How members before are found again after.",
)
@click.option(
    "--check", "checks", multiple=True, metavar="EXPR", help="A limit such as moved_pct<=10; repeatable."
)
@click.option("--strict", is_flag=True, help="Trouble (exit code 2) where anything had to be assumed.")
@click.option("--exit-zero", is_flag=True, help="0 for a difference or a failed check, too; trouble stays 2.")
@click.option("--group", metavar="NAME", help="Which group of a file that holds several.")
@click.option(
    "--add-members",
    type=click.IntRange(0, MAX_GROUP_MEMBERS),
    default=0,
    metavar="N",
    help="plan: members that join.",
)
@click.option(
    "--add-member",
    multiple=True,
    metavar="CLIENT[:INSTANCE][@TOPIC,..]",
    help="plan: a member that joins under this client id; repeatable.",
)
@click.option("--remove-member", multiple=True, metavar="ID", help="plan: a member that leaves; repeatable.")
@click.option("--rolling-restart", is_flag=True, help="plan: every member restarts, one after the other.")
@click.option(
    "--subscribe",
    multiple=True,
    metavar="MEMBER=TOPIC,..",
    help="plan: what a member subscribes to; repeatable.",
)
@click.option("--partitions", multiple=True, metavar="TOPIC=N", help="plan: a topic that grows; repeatable.")
@click.option(
    "--weights",
    type=click.Path(exists=True, dir_okay=False),
    metavar="FILE",
    help="What partitions weigh (JSON, YAML or CSV): for plan:weighted, and for the peak of any change.",
)
@click.option(
    "--set",
    "changes",
    multiple=True,
    metavar="KEY=VALUE",
    help="A timeout for the predicted stop: session.timeout.ms=10000; repeatable.",
)
@client_options("live: the cluster.")
@click.option(
    "--save", type=click.Path(dir_okay=False), help="Keep the plan, the live group or AFTER as a snapshot."
)
@schema_option(_schema)
@click.version_option(package_name="copartition")
@click.pass_context
def diff(
    ctx: click.Context,
    /,
    before: str,
    after: str | None,
    *,
    form: str,
    out: str | None,
    color: str,
    width: int | None,
    quiet: bool,
    by: str | None,
    topic: re.Pattern[str] | None,
    member: re.Pattern[str] | None,
    every: bool,
    full: bool,
    reasons: bool,
    swap: bool,
    match: str,
    checks: tuple[str, ...],
    strict: bool,
    exit_zero: bool,
    group: str | None,
    weights: str | None,
    changes: tuple[str, ...],
    config: dict[str, str],
    save: str | None,
    verbose: bool,  # noqa: ARG001 - read by QuietCommand
    **planning: Any,
) -> None:
    """What changes in a consumer group from BEFORE to AFTER.

    Each is a source: a file or - for standard input (what kafka-consumer-groups --describe printed, with or
    without --members --verbose, or a snapshot); live:GROUP; plan:ASSIGNOR, what that assignor would make of
    the other side; scenario.yaml#STEP, a step of a simulation; or record.ndjson#STEP, a step of what
    copartition watch has recorded. One source is enough where it holds two states: a scenario or a record
    (first and last step), or a KIP-848 group on its way to its target.
    """
    _check_form(form, out, by=by, filtered=bool(topic or member or every or full), quiet=quiet)
    # Help and completion do without these.
    from copartition.cli.what_if import read_timing, read_what_if  # noqa: PLC0415
    from copartition.diff import diff as compare  # noqa: PLC0415
    from copartition.diff import parse_check  # noqa: PLC0415
    from copartition.groups import read_pair, snapshot_bytes  # noqa: PLC0415
    from copartition.reports.view import View  # noqa: PLC0415

    limits = [parse_check(text) for text in checks]
    timing = read_timing(changes) if changes else None
    pair = read_pair(
        before,
        after,
        config=config,
        what_if=read_what_if(**planning),
        group=group,
        weights=weights,
    )
    if swap:
        pair = pair.swapped()
    if reasons and pair.after.explainer is None:
        raise click.UsageError("--reasons tells why a plan moves partitions; name plan:ASSIGNOR as AFTER")
    rule = "member-id" if pair.planned and match == "auto" else match
    found = compare(pair.before, pair.after, match=rule, timing=timing, weights=weights)
    if strict and found.assumed:
        for assumed in found.assumed:
            complain(ctx, f"--strict: assumed: {assumed}")
        ctx.exit(TROUBLE)
    failed = [limit for limit in limits if not limit.passes(found.summary)]
    if save is not None:
        write(snapshot_bytes(pair.kept.state, pair.kept.target).decode(), save)
    for conflict in found.conflicts[:_CONFLICTS]:
        complain(ctx, f"{conflict.topic}-{conflict.partition} has two owners")
    if not quiet:
        view = View(by=by, topic=topic, member=member, every=every, full=full, reasons=reasons)
        _report(found, form, view, limits, color=color, width=width, out=out)
    for limit in failed:
        complain(ctx, f"check failed: {limit}, it is {limit.told(found.summary)}")
    ctx.exit(0 if exit_zero else bool(failed) if limits else not found.same)


def _check_form(form: str, out: str | None, *, by: str | None, filtered: bool, quiet: bool) -> None:
    """Refuse options that the format has no use for: what they ask for would be missing without a word."""
    if form == "html" and out is None and not quiet:
        raise click.UsageError("-o html needs --out FILE")
    if form == "html" and filtered:
        raise click.UsageError("-o html shows everything; leave --topic, --member, --all and --full out")
    if by is not None and form in {"html", "json"}:
        raise click.UsageError(f"-o {form} has members, topics and partitions; leave --by out")
    if by == "partition" and form == "stat":
        raise click.UsageError("-o stat counts partitions; --by is member or topic")


def _report(
    found: AssignmentDiff,
    form: str,
    view: View,
    limits: Sequence[Check],
    *,
    color: str,
    width: int | None,
    out: str | None,
) -> None:
    if form in {"text", "stat"}:
        from copartition.reports import text  # noqa: PLC0415 - needs rich

        draw = text.print_diff if form == "text" else text.print_stat
        paint(partial(draw, found, view=view), color=color, width=width, out=out)
        return
    if form == "html":
        from copartition.reports.html import diff_html  # noqa: PLC0415 - needs the extra "report"

        write(diff_html(found, reasons=view.reasons), out)
        return
    from copartition.reports import diff_data, markdown  # noqa: PLC0415 - one format of several

    if form == "markdown":
        write(markdown.diff_markdown(found, view), out)
    elif form == "json":
        write(diff_data.diff_json(found, view, limits), out)
    elif form == "csv":
        write(diff_data.diff_csv(found, view), out)
    else:
        write("".join(diff_data.diff_lines(found, view)), out)
