"""`copartition snapshot`: a group at one moment, to be kept."""

from __future__ import annotations

import click

from copartition.cli.client_options import client_options
from copartition.cli.options import group_option, verbose_option
from copartition.cli.shell import HELP, QuietCommand, write


@click.command(cls=QuietCommand, context_settings=HELP)
@click.argument("source")
@click.option("--out", type=click.Path(dir_okay=False), help="File for the snapshot.")
@group_option
@client_options("live: the cluster.")
@verbose_option
def snapshot(
    source: str,
    *,
    out: str | None,
    group: str | None,
    config: dict[str, str],
) -> None:
    """A group as JSON, to be compared with later: members, subscriptions, owners, lag.

    SOURCE is what assignment-diff takes: live:GROUP, a file, - for standard input, or a step of a scenario or
    a record. Of a KIP-848 group the snapshot holds its target, too. assignment-diff --save keeps a plan.
    """
    from copartition.groups import read_source, snapshot_bytes  # noqa: PLC0415 - help does without

    source_group = read_source(source, config, group=group)
    write(snapshot_bytes(source_group.state, source_group.target).decode(), out)
