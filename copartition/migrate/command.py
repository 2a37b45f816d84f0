"""`copartition migrate`: how to get from one strategy to another while the group runs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from copartition.kit.words import visible
from copartition.shell.client_options import client_options
from copartition.shell.commands import Output, command, write
from copartition.shell.options import group_option, output_options
from partitioning.errors import AssignorError, SourceError

if TYPE_CHECKING:
    from assignors.state import GroupState
    from copartition.migrate.migration import Bounce, Migration


CLIENTS = ("java", "librdkafka", "kafka-python", "aiokafka")
"""What --client can be, which --help names and shells complete without loading the rest."""


def _complete_client(_context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    return [name for name in CLIENTS if name.startswith(incomplete)]


@command(
    "copartition migrate billing.txt cooperative-sticky",
    "copartition migrate live:billing uniform -b localhost:9092",
)
@click.argument("before", metavar="FROM|SOURCE")
@click.argument("after", metavar="TO")
@click.option(
    "--client",
    "clients",
    shell_complete=_complete_client,
    metavar="|".join(CLIENTS),
    multiple=True,
    help="A kind of client in the group; repeatable. By default what the source shows, else java. "
    "confluent-kafka is librdkafka.",
)
@click.option(
    "--migration-policy",
    "policy",
    type=click.Choice(["disabled", "upgrade", "downgrade", "bidirectional"]),
    default="bidirectional",
    show_default=True,
    help="group.consumer.migration.policy of the brokers, 4.0 or later.",
)
@group_option
@client_options("The cluster of live:GROUP.")
@output_options("text", "json")
@click.pass_context
def migrate(
    ctx: click.Context,
    before: str,
    after: str,
    *,
    clients: tuple[str, ...],
    policy: str,
    group: str | None,
    config: dict[str, str],
    output: Output,
) -> None:
    """The safe rolling bounces that bring a group FROM some strategies TO others, or why there are none.

    Strategies are named as `copartition assign --list` shows them, several with commas between, the preferred
    one first: range,roundrobin. uniform and broker-range stand for the consumer protocol (KIP-848). A SOURCE
    is a group as assignment-diff takes it: live:GROUP, which also shows its clients, or a file.

    Exit code: 0 there is a way, 1 the only way is to stop the whole group, 2 could not run.
    """
    from dataclasses import asdict, replace  # noqa: PLC0415 - help does without

    from copartition.migrate.migration import plan_migration  # noqa: PLC0415 - likewise

    state = _state(before, config, group)
    old, new = ([name.strip() for name in text.split(",") if name.strip()] for text in (before, after))
    features: dict[str, Any] = {}
    if state is not None:
        if state.strategy is None:
            raise SourceError(
                f"{before} does not tell which assignor the group uses; capture --describe --state, too, or "
                "name it instead: copartition migrate range uniform"
            )
        old, features = [state.strategy], {"group_version": state.group_version}
    kinds = clients or (() if state is None else state.clients)
    migration = plan_migration(
        old, new, clients=tuple(dict.fromkeys(kinds)) or ("java",), policy=policy, **features
    )
    if state is not None:
        migration = replace(
            migration,
            assumed=() if kinds else (_JAVA_ASSUMED,),
            warning=_separation_warning(state, new) or migration.warning,
        )
    if output.form == "json":
        from copartition.kit.json import dump  # noqa: PLC0415 - likewise

        write(dump(asdict(migration)))
    else:
        write("".join(f"{visible(line)}\n" for line in _migration_lines(migration)))
    ctx.exit(migration.obstacle is not None)


_JAVA_ASSUMED = "all members are Java clients: the source does not show it; set others with --client"


def _state(name: str, config: dict[str, str], group: str | None) -> GroupState | None:
    """The group that FROM names; None where FROM names strategies."""
    if ":" not in name and name != "-" and not os.path.isfile(name.partition("#")[0]):  # noqa: PTH113
        return None
    from copartition.groups import read_source  # noqa: PLC0415 - help does without

    return read_source(name, config, group=group).state


def _separation_warning(state: GroupState, new: Sequence[str]) -> str:
    from copartition.assignment_diff.compare import diff  # noqa: PLC0415 - as above
    from copartition.assignment_diff.planner import plan  # noqa: PLC0415 - as above
    from copartition.assignment_diff.report.verdict import separated_sentences  # noqa: PLC0415 - as above

    try:
        change = diff(state, plan(state, new[0]), match="member-id")
    except (AssignorError, SourceError):  # what cannot be planned has the warning of its strategies
        return ""
    return " ".join(separated_sentences(change))


def _migration_lines(migration: Migration) -> list[str]:
    warning = [f"assumed: {text}" for text in migration.assumed]
    warning += [] if migration.warning is None else [f"warning: {migration.warning}"]
    if migration.obstacle is not None:
        return [
            f"No rolling bounce is safe: {migration.obstacle}.",
            "Stop all members, wait until the group is empty, and start them with the new settings.",
            *warning,
        ]
    if not migration.bounces:
        return ["Nothing has to change.", *warning]
    new, number = ",".join(migration.bounces[-1].strategies), len(migration.bounces)
    condition = "If all members are Java clients, " if migration.assumed else ""
    lead = "1 rolling bounce leads" if number == 1 else f"{number} rolling bounces lead"
    wait = "" if number == 1 else ", the next when all members have had the one before"
    return [
        f"{condition}{lead} to {new}{wait}:",
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
