"""The commands, as click sees them."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

import click

from assignors.cli import listings
from assignors.cli.client_settings import client_settings
from assignors.cli.shell import HELP, QuietCommand, complain, output_options, paint, write
from assignors.cli.simulation import simulate
from assignors.cli.snapshot import snapshot
from assignors.limits import MAX_GROUP_MEMBERS, MAX_GROUP_PARTITIONS, parse_number
from partitioning.topic_partition import MAX_PARTITIONS

if TYPE_CHECKING:
    from assignors.diff import AssignmentDiff


@click.group(context_settings=HELP)
@click.version_option(package_name="copartition")
def copartition() -> None:
    """Where Kafka puts a record and who consumes it, before you run it."""


@copartition.command(cls=QuietCommand, context_settings=HELP)
@click.argument("before")
@click.argument("after", required=False)
@output_options("text", "json", "ndjson", "csv", "markdown", "html")
@click.option("--out", type=click.Path(dir_okay=False), help="File for the report; html needs one.")
@click.option("-q", "--quiet", is_flag=True, help="No report, only the exit code.")
@click.option("--all", "every", is_flag=True, help="Show what did not change, too.")
@click.option("--reasons", is_flag=True, help="plan: show why it moves what it moves.")
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
@click.option(
    "--add-members",
    type=click.IntRange(0, MAX_GROUP_MEMBERS),
    default=0,
    metavar="N",
    help="plan: members that join.",
)
@click.option("--remove-member", multiple=True, metavar="ID", help="plan: a member that leaves; repeatable.")
@click.option("--partitions", multiple=True, metavar="TOPIC=N", help="plan: a topic that grows; repeatable.")
@click.option("-b", "--bootstrap-server", metavar="HOST:PORT", help="live: the cluster.")
@click.option(
    "-X", "settings", multiple=True, metavar="KEY=VALUE", help="live: a client setting; repeatable."
)
@click.option(
    "--command-config", type=click.Path(exists=True, dir_okay=False), help="live: a file of settings."
)
@click.option(
    "--save", type=click.Path(dir_okay=False), help="Keep the plan, the live group or AFTER as a snapshot."
)
@click.version_option(package_name="copartition")
@click.pass_context
def diff(
    ctx: click.Context,
    before: str,
    after: str | None,
    *,
    form: str,
    out: str | None,
    color: str,
    width: int | None,
    quiet: bool,
    every: bool,
    reasons: bool,
    match: str,
    checks: tuple[str, ...],
    add_members: int,
    remove_member: tuple[str, ...],
    partitions: tuple[str, ...],
    bootstrap_server: str | None,
    settings: tuple[str, ...],
    command_config: str | None,
    save: str | None,
    verbose: bool,  # noqa: ARG001 - read by QuietCommand
) -> None:
    """What changes in a consumer group from BEFORE to AFTER.

    Each is a source: a file or - for standard input (what kafka-consumer-groups --describe printed, with or
    without --members --verbose, or a snapshot); live:GROUP; plan:ASSIGNOR, what that assignor would make of
    the other side; or scenario.yaml#STEP, a step of a simulation. One source is enough where it holds two
    states: a scenario (first and last step), or a KIP-848 group on its way to its target.

    Exit code: 0 no difference, 1 a difference, 2 trouble. With --check: 0 all limits hold, 1 one does not.
    (terraform plan has 1 and 2 the other way round.)
    """
    if form == "html" and out is None and not quiet:
        raise click.UsageError("-o html needs --out FILE")
    from assignors.diff import diff as compare  # noqa: PLC0415 - only this command needs it
    from assignors.diff import parse_check  # noqa: PLC0415
    from assignors.sources import WhatIf, read_pair, snapshot_bytes  # noqa: PLC0415

    limits = [parse_check(text) for text in checks]
    pair = read_pair(
        before,
        after,
        config=client_settings(bootstrap_server, settings, command_config),
        what_if=WhatIf(add_members, remove_members=remove_member, partitions=dict(map(_growth, partitions))),
    )
    if reasons and pair.after.explainer is None:
        raise click.UsageError("--reasons tells why a plan moves partitions; name plan:ASSIGNOR as AFTER")
    if save is not None:
        write(snapshot_bytes(pair.kept.state, pair.kept.target).decode(), save)
    found = compare(pair.before, pair.after, match="member-id" if pair.planned and match == "auto" else match)
    for conflict in found.conflicts:
        complain(ctx, f"{conflict.topic}-{conflict.partition} has two owners")
    if not quiet:
        _report(found, form, every=every, reasons=reasons, color=color, width=width, out=out)
    failed = [limit for limit in limits if not limit.passes(found.summary)]
    for limit in failed:
        complain(ctx, f"check failed: {limit}, it is {limit.value(found.summary):g}")
    ctx.exit(bool(failed) if limits else not found.same)


def _report(
    found: AssignmentDiff,
    form: str,
    *,
    every: bool,
    reasons: bool,
    color: str,
    width: int | None,
    out: str | None,
) -> None:
    from assignors.reports import data, markdown, text  # noqa: PLC0415

    if form == "text":
        paint(
            partial(text.print_diff, found, every=every, reasons=reasons), color=color, width=width, out=out
        )
    elif form == "html":
        from assignors.reports.html import diff_html  # noqa: PLC0415 - needs the extra "report"

        write(diff_html(found, reasons=reasons), out)
    elif form == "markdown":
        write(markdown.diff_markdown(found, reasons=reasons), out)
    elif form == "json":
        write(data.diff_json(found, every=every), out)
    elif form == "csv":
        write(data.diff_csv(found, every=every), out)
    else:
        write("".join(data.diff_lines(found, every=every)), out)


def _growth(text: str) -> tuple[str, int]:
    topic, _, digits = text.rpartition("=")
    count = parse_number(digits, MAX_GROUP_PARTITIONS)
    if not topic or count is None:
        raise click.BadParameter(
            f"{text!r} is not TOPIC=N with N up to {MAX_GROUP_PARTITIONS}", param_hint="--partitions"
        )
    return topic, count


copartition.add_command(simulate)
copartition.add_command(snapshot)


@copartition.command(cls=QuietCommand, context_settings=HELP)
@click.argument("keys", nargs=-1, required=True, metavar="KEY...")
@click.option(
    "-n",
    "--partitions",
    type=click.IntRange(1, MAX_PARTITIONS),
    required=True,
    help="Partitions of the topic.",
)
@click.option("--profile", "profiles", multiple=True, help="Only this client's rule; repeatable.")
@output_options("text", "json")
def partition(
    keys: tuple[str, ...],
    *,
    partitions: int,
    profiles: tuple[str, ...],
    form: str,
    color: str,
    width: int | None,
    verbose: bool,  # noqa: ARG001 - read by QuietCommand
) -> None:
    """Where every client puts each KEY (as UTF-8 bytes) of a topic with N partitions.

    A dash: that client does not hash such a key.
    """
    listings.placements([os.fsencode(key) for key in keys], partitions, profiles, form, color, width)


def _listing(name: str, summary: str) -> None:
    @copartition.command(name, cls=QuietCommand, context_settings=HELP, help=summary)
    @output_options("text", "json")
    def command(
        *,
        form: str,
        color: str,
        width: int | None,
        verbose: bool,  # noqa: ARG001 - read by QuietCommand
    ) -> None:
        listings.LISTINGS[name](form, color, width)


_listing("profiles", "Every client's rule for keys.")
_listing("partitioners", "Partitioners by name, plug-ins included.")
_listing("assignors", "Assignors by name, plug-ins included.")
