"""`copartition snapshot`: a group at one moment, to be kept."""

from __future__ import annotations

import click

from assignors.cli.client_settings import client_settings
from assignors.cli.shell import HELP, QuietCommand, write


@click.command(cls=QuietCommand, context_settings=HELP)
@click.argument("source")
@click.option("--out", type=click.Path(dir_okay=False), help="File for the snapshot.")
@click.option("--group", metavar="NAME", help="Which group of a file that holds several.")
@click.option("-b", "--bootstrap-server", metavar="HOST:PORT", help="live: the cluster.")
@click.option(
    "-X", "settings", multiple=True, metavar="KEY=VALUE", help="live: a client setting; repeatable."
)
@click.option(
    "--command-config",
    type=click.Path(exists=True, dir_okay=False),
    help="live: a file of settings, Java's or librdkafka's.",
)
@click.option("-v", "--verbose", is_flag=True, help="Show where an error comes from.")
def snapshot(
    source: str,
    *,
    out: str | None,
    group: str | None,
    bootstrap_server: str | None,
    settings: tuple[str, ...],
    command_config: str | None,
    verbose: bool,  # noqa: ARG001 - read by QuietCommand
) -> None:
    """A group as JSON, to be compared with later: members, subscriptions, owners, lag.

    SOURCE is what assignment-diff takes: live:GROUP, a file, - for standard input, or a step of a scenario or
    a record. Of a KIP-848 group the snapshot holds its target, too. assignment-diff --save keeps a plan.
    """
    from assignors.sources import read_source, snapshot_bytes  # noqa: PLC0415 - help does without

    config = client_settings(bootstrap_server, settings, command_config)
    found = read_source(source, config, group=group)
    write(snapshot_bytes(found.state, found.target).decode(), out)
