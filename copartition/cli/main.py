"""`copartition`: its commands by name, each loaded when it is called."""

from __future__ import annotations

from importlib import import_module

import click

from copartition.cli.shell import HELP, QuietCommand

COMMANDS = {
    "diff": "What changes in a consumer group; the same as assignment-diff.",
    "snapshot": "Keep a group, or a plan, as a file that a diff can read.",
    "watch": "What changes in a group while you look, a line a change.",
    "simulate": "Run scenarios: rebalances, pauses, moves, lag.",
    "audit": "Who wrote a topic: whose rule, over how many partitions.",
    "partition": "Where every client puts a key.",
    "profiles": "Every client's rule for keys.",
    "partitioners": "Partitioners by name, plug-ins included.",
    "assignors": "Assignors by name, plug-ins included.",
    "assign": "What an assignor gives to members.",
    "check": "Can these topics be joined partition by partition?",
    "producer": "Which linger.ms and batch.size keep a producer's latency under a limit.",
    "delivery": "How often faults lose, duplicate or reorder a producer's records.",
    "migrate": "Safe rolling bounces from one strategy to another.",
    "coordinator": "Which broker looks after a group.",
    "ledger": "What exactly-once writes from Spark have noted on a cluster.",
    "completion": "A script that lets a shell complete commands and options.",
}
"""What the list of commands says of each; the file of a command has its name, but for `_LISTINGS`."""

_LISTINGS = {"profiles", "partitioners", "assignors"}


class _Umbrella(QuietCommand, click.Group):
    """Commands that are not imported before one is called; a list of them imports none."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's interface
        return [*COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        file = "listings" if cmd_name in _LISTINGS else cmd_name
        command: click.Command = getattr(import_module(f"copartition.cli.{file}"), cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([*COMMANDS.items()])


@click.group(cls=_Umbrella, context_settings=HELP)
@click.version_option(package_name="copartition")
def copartition() -> None:
    """Where Kafka puts a record and who consumes it, before you run it."""
