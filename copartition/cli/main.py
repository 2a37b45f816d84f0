"""`copartition`: its commands by name, each loaded when it is called."""

from __future__ import annotations

from importlib import import_module
from typing import NamedTuple

import click

from copartition.cli.shell import HELP, QuietCommand


class _Entry(NamedTuple):
    """Where a command is, and what the list of commands says of it."""

    module: str
    summary: str


COMMANDS = {
    "diff": _Entry("diff", "What changes in a consumer group; the same as assignment-diff."),
    "snapshot": _Entry("snapshot", "Keep a group, or a plan, as a file that a diff can read."),
    "watch": _Entry("watch", "What changes in a group while you look, a line a change."),
    "simulate": _Entry("simulate", "Run scenarios: rebalances, pauses, moves, lag."),
    "audit": _Entry("audit", "Who wrote a topic: whose rule, over how many partitions."),
    "partition": _Entry("listings", "Where every client puts a key."),
    "profiles": _Entry("listings", "Every client's rule for keys."),
    "partitioners": _Entry("listings", "Partitioners by name, plug-ins included."),
    "assignors": _Entry("listings", "Assignors by name, plug-ins included."),
    "assign": _Entry("assign", "What an assignor gives to members."),
    "check": _Entry("check", "Can these topics be joined partition by partition?"),
    "producer": _Entry("producer", "Which linger.ms and batch.size keep a producer's latency under a limit."),
    "delivery": _Entry("delivery", "What faults make of a producer's batches: lost, twice, out of order."),
    "migrate": _Entry("migrate", "Safe rolling bounces from one strategy to another."),
    "coordinator": _Entry("coordinator", "Which broker looks after a group."),
    "ledger": _Entry("ledger", "What exactly-once writes from Spark have noted on a cluster."),
    "completion": _Entry("completion", "A script that lets a shell complete commands and options."),
}


class _Umbrella(QuietCommand, click.Group):
    """Commands that are not imported before one is called; a list of them imports none."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's interface
        return [*COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"copartition.cli.{COMMANDS[cmd_name].module}")
        command: click.Command = getattr(module, cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.summary) for name, entry in COMMANDS.items()])


@click.group(cls=_Umbrella, context_settings=HELP)
@click.version_option(package_name="copartition")
def copartition() -> None:
    """Where Kafka puts a record and who consumes it, before you run it."""
