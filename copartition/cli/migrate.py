"""`copartition migrate`: how to get from one strategy to another while the group runs."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from copartition.cli.options import output_options
from copartition.cli.shell import HELP, QuietCommand
from copartition.reports.words import visible

if TYPE_CHECKING:
    from copartition.cli.shell import Output
    from copartition.migration import Bounce, Migration


@click.command(cls=QuietCommand, context_settings=HELP)
@click.argument("before", metavar="FROM")
@click.argument("after", metavar="TO")
@click.option(
    "--client",
    "clients",
    metavar="java|librdkafka|kafka-python",
    multiple=True,
    default=("java",),
    show_default=True,
    help="A kind of client in the group; repeatable. librdkafka is confluent-kafka, too.",
)
@click.option(
    "--migration-policy",
    "policy",
    type=click.Choice(["disabled", "upgrade", "downgrade", "bidirectional"]),
    default="bidirectional",
    show_default=True,
    help="group.consumer.migration.policy of the brokers, 4.0 or later.",
)
@output_options("text", "json")
@click.pass_context
def migrate(
    ctx: click.Context,
    before: str,
    after: str,
    *,
    clients: tuple[str, ...],
    policy: str,
    output: Output,
) -> None:
    """The safe rolling bounces that bring a group FROM some strategies TO others, or why there are none.

    Strategies are named as `copartition assignors` lists them, several with commas between, the preferred one
    first: range,roundrobin. uniform and broker-range stand for the consumer protocol (KIP-848).

    Exit code: 0 there is a way, 1 there is none but to stop the whole group, 2 trouble.
    """
    from copartition.migration import plan_migration  # noqa: PLC0415 - help does without

    old, new = ([name.strip() for name in text.split(",") if name.strip()] for text in (before, after))
    migration = plan_migration(old, new, clients=tuple(dict.fromkeys(clients)), policy=policy)
    if output.form == "json":
        output.write(json.dumps(asdict(migration), indent=2) + "\n")
    else:
        output.write("".join(f"{visible(line)}\n" for line in _migration_lines(migration)))
    ctx.exit(migration.obstacle is not None)


def _migration_lines(migration: Migration) -> list[str]:
    warning = [] if migration.warning is None else [f"warning: {migration.warning}"]
    if migration.obstacle is not None:
        return [
            f"No rolling bounce is safe: {migration.obstacle}.",
            "Stop all members, wait until the group is empty, and start them with the new settings.",
            *warning,
        ]
    if not migration.bounces:
        return ["Nothing has to change."]
    many = f"{len(migration.bounces)} rolling bounces, the next when all members have had the one before"
    return [
        f"{'1 rolling bounce' if len(migration.bounces) == 1 else many}:",
        *(line for number, bounce in enumerate(migration.bounces, 1) for line in _bounce(number, bounce)),
        *warning,
    ]


def _bounce(number: int, bounce: Bounce) -> list[str]:
    settings = [
        f"   {client}: {f'remove {key}' if value is None else f'{key}={value}'}"
        for client, pairs in bounce.settings.items()
        for key, value in pairs.items()
    ]
    return [
        f"{number}. to {','.join(bounce.strategies)}",
        *settings,
        f"   meanwhile {' or '.join(bounce.meanwhile)}: {bounce.why}",
    ]
