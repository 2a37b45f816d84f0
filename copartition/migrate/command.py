"""Run `copartition migrate`: tell which rolling bounces lead a running group from one strategy to another."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from copartition.kit.words import list_names, visible
from copartition.shell.client_options import client_options
from copartition.shell.commands import Output, command, write
from copartition.shell.options import ClientChoice, group_option, output_options, pace_options
from partitioning.errors import AssignorError, SourceError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from assignors.state import GroupState
    from copartition.deploys.answer import Stops
    from copartition.deploys.pace import Pace
    from copartition.kit.evidence import Missing
    from copartition.migrate.migration import Bounce, Migration


CLIENTS = ("java", "librdkafka", "kafka-python", "aiokafka")
"""The values of --client, here so that --help and completion need not load the rest."""

_NAMED = 5
"""The most members that a line names; JSON has all."""


@command(
    "copartition migrate billing.txt cooperative-sticky",
    "copartition migrate range cooperative-sticky --client librdkafka",
    "copartition migrate live:billing uniform -b localhost:9092",
    "copartition migrate --all-groups uniform -b localhost:9092",
)
@click.argument("before", metavar="[FROM|SOURCE]")
@click.argument("after", metavar="TO", required=False)
@click.option(
    "--all-groups", is_flag=True, help="Show every group of the cluster that this user may see, in one table."
)
@click.option(
    "--client",
    "clients",
    type=ClientChoice(CLIENTS),
    metavar="|".join(CLIENTS),
    multiple=True,
    help="A kind of client in the group; repeatable. By default the clients that the source shows, else "
    "java. confluent-kafka counts as librdkafka.",
)
@click.option(
    "--migration-policy",
    "policy",
    type=click.Choice(["disabled", "upgrade", "downgrade", "bidirectional"]),
    default="bidirectional",
    show_default=True,
    help="The brokers' group.consumer.migration.policy, which brokers from 4.0 on have.",
)
@group_option
@client_options("The cluster of live:GROUP.")
@pace_options
@output_options("text", "json")
def migrate(
    before: str,
    after: str | None,
    *,
    all_groups: bool,
    clients: tuple[str, ...],
    policy: str,
    group: str | None,
    config: dict[str, str],
    pace: Pace,
    output: Output,
) -> int:
    """Find safe rolling bounces that bring a group from some strategies to others, or why there are none.

    FROM and TO are names of strategies, as `copartition assign --list` shows them. Put commas between several
    strategies, the preferred one first: range,roundrobin. uniform and broker-range stand for the consumer
    protocol (KIP-848).

    SOURCE is a group, as assignment-diff takes it: a file, or live:GROUP, which also shows the group's
    clients. With a SOURCE the answer also says what the bounces stop. No source shows all strategies of a
    member, so if a migration has begun, give the strategies of the members as FROM.

    Exit code: 0 there is a way, or nothing has to change; 1 no rolling bounce leads there; 2 the answer is
    unknown, or the command could not run.
    """
    from copartition.kit.evidence import Missing  # noqa: PLC0415 - unused by --help
    from copartition.migrate.migration import plan_migration  # noqa: PLC0415 - likewise

    # The user may name a tool and also the client it uses; the client must not be in the answer twice.
    clients = tuple(dict.fromkeys(clients))
    if all_groups:
        # With --all-groups, TO is the only argument, and it arrives as `before`.
        if after is not None or group is not None:
            raise click.UsageError("--all-groups goes with TO alone: no FROM, no SOURCE and no --group")
        return _migrate_all(_names(before), config, clients, policy, pace, output)
    if after is None:
        raise click.MissingParameter(param_hint="'TO'", param_type="argument")
    state = _state(before, config, group)
    # Lists of strategies alone name no members, so nothing can be said about what the bounces stop.
    if state is None:
        old, new = _names(before), _names(after)
        migration, stops = plan_migration(old, new, clients=clients or ("java",), policy=policy), None
    else:
        migration, stops = _migrate_state(state, before, _names(after), clients, policy, pace)
    if output.form == "json":
        from copartition.kit.json import dump  # noqa: PLC0415 - likewise
        from copartition.migrate.overview import migration_document  # noqa: PLC0415 - likewise

        write(dump(migration_document(migration, stops)))
    else:
        write("".join(f"{visible(line)}\n" for line in _migration_lines(migration, after, stops)))
    return 2 if isinstance(migration.ground, Missing) else migration.obstacle is not None


def _names(text: str) -> list[str]:
    """Return the strategies of a text with commas between them.

    Blanks around a name and empty names are left out. The order stays, and so does a name that is there
    twice; the caller judges both.
    """
    return [name.strip() for name in text.split(",") if name.strip()]


def _migrate_state(
    state: GroupState, source: str, new: Sequence[str], clients: Sequence[str], policy: str, pace: Pace
) -> tuple[Migration, Stops | Missing | None]:
    """Return the migration of a group as its source shows it, and what the bounces stop.

    Args:
        state: the group.
        source: the group's name on the command line, for messages.
        new: the strategies that the members are to have, the preferred one first.
        clients: the kinds of clients that the user names; empty: those that the state shows, else Java's.
        policy: see `plan_migration`.
        pace: how fast a deploy goes.

    Returns:
        The migration, and what it stops as `_stops` returns it.

    Raises:
        SourceError: the members are workers of Kafka Connect.
        MigrationError: see `plan_migration`.
    """
    from dataclasses import replace  # noqa: PLC0415 - unused by --help

    from copartition.groups.offers import with_strategy  # noqa: PLC0415 - likewise
    from copartition.migrate.migration import migrate_group  # noqa: PLC0415 - likewise

    if (state := with_strategy(state)).strategy is None:
        raise SourceError(f"{source} holds workers of Kafka Connect, whom no consumer's strategy serves")
    migration = migrate_group(state, new, clients=clients, policy=policy)
    if migration.warning is not None:
        # `plan_migration` knows only strategies, so its warning begins with "if". Here the group is known,
        # and the warning names its topics.
        migration = replace(migration, warning=_separation_warning(state, new[0], migration.warning))
    return migration, _stops(state, migration, pace)


def _migrate_all(
    new: Sequence[str],
    config: dict[str, str],
    clients: Sequence[str],
    policy: str,
    pace: Pace,
    output: Output,
) -> int:
    """Write the report on the migration of all groups of a cluster, and return the exit code.

    Args:
        new: the strategies that all groups are to have, the preferred one first.
        config: librdkafka settings of the cluster.
        clients: the kinds of clients that the user names for every group; see `_migrate_state`.
        policy: see `plan_migration`.
        pace: how fast a deploy goes.
        output: the form of the report, and where to write it.

    Raises:
        SourceError: the cluster cannot be reached, or does not list its groups.
        MigrationError: see `plan_migration`.
    """
    from functools import partial  # noqa: PLC0415 - unused by --help

    from copartition.groups.live.cluster import connect_to_all  # noqa: PLC0415 - likewise
    from copartition.groups.live.reader import read_group  # noqa: PLC0415 - likewise
    from copartition.migrate.overview import (  # noqa: PLC0415 - likewise
        GroupMigration,
        migrations_exit_code,
        migrations_json,
        print_migrations,
    )

    groups: list[GroupMigration] = []
    unread: dict[str, SourceError] = {}
    cluster = connect_to_all(config)
    for name in sorted(cluster.groups()):
        try:
            state, _ = read_group(cluster, name)
            groups.append(
                GroupMigration(name, state, *_migrate_state(state, name, new, clients, policy, pace))
            )
        except SourceError as error:  # a failure of one group must not hide the other groups
            unread[name] = error
    groups.sort(key=lambda group: group.rank)
    output.show(partial(print_migrations, groups, unread), json=partial(migrations_json, groups, unread))
    return migrations_exit_code(groups, unread)


def _state(name: str, config: dict[str, str], group: str | None) -> GroupState | None:
    """Return the group that FROM names; None if FROM names strategies.

    A word is taken for a source if it has a colon, is "-", or names a file; "#" and a step may follow the
    file's name.

    Args:
        name: the argument FROM or SOURCE.
        config: librdkafka settings of the cluster, for live:GROUP.
        group: the option --group: which group of a file is meant.

    Raises:
        SourceError: the source cannot be read.
    """
    if ":" not in name and name != "-" and not os.path.isfile(name.partition("#")[0]):  # noqa: PTH113
        return None
    from copartition.groups import read_source  # noqa: PLC0415 - unused by --help

    return read_source(name, config, group=group).state


def _stops(state: GroupState, migration: Migration, pace: Pace) -> Stops | Missing | None:
    """Return what the bounces stop; None if there are none, or only some of the members are restarted.

    Args:
        state: the group before the first bounce.
        migration: the migration, whose bounces are run one after the other, each as a rolling deploy.
        pace: how fast a deploy goes.

    Returns:
        The figures, or `Missing` if they cannot be known of this group.
    """
    from copartition.deploys.scenario import Happening  # noqa: PLC0415 - unused by --help
    from copartition.deploys.stops import stops_of_group  # noqa: PLC0415 - likewise

    # A deploy is simulated for all members, which would overstate a bounce of only some of them.
    if not migration.bounces or migration.remaining:
        return None
    lists = tuple(bounce.strategies for bounce in migration.bounces)
    return stops_of_group(state, Happening(deploy="rolling", bounces=lists), pace)


def _separation_warning(state: GroupState, after: str, otherwise: str | None) -> str | None:
    """Return which topics are no longer read together by number; if no plan can be made, return `otherwise`.

    Args:
        state: the group as it is now.
        after: the strategy that is to assign.
        otherwise: the warning to return if no plan can be made; it names no topics.

    Returns:
        A sentence for each of the first sets of topics that the plan separates; None if it separates none.
    """
    from copartition.assignment_diff.compare import diff  # noqa: PLC0415 - unused by --help
    from copartition.assignment_diff.planner import plan  # noqa: PLC0415 - likewise
    from copartition.assignment_diff.report.verdict import separated_sentences  # noqa: PLC0415 - likewise

    try:
        change = diff(state, plan(state, after), match="member-id")
    except (AssignorError, SourceError):
        return otherwise
    return " ".join(separated_sentences(change)) or None


def _migration_lines(migration: Migration, after: str, stops: Stops | Missing | None) -> list[str]:
    """Return the report as text: the answer, the bounces, what they stop, then evidence and assumptions.

    Args:
        migration: the answer.
        after: the argument TO, for the sentence that says that no way leads there.
        stops: what the bounces stop; None to leave that out.

    Returns:
        Lines without newlines. Names in them may still contain control characters.
    """
    from copartition.deploys.answer import UNIT, answer_sentence  # noqa: PLC0415 - unused by --help
    from copartition.kit.evidence import Missing  # noqa: PLC0415 - unused by --help
    from copartition.migrate.migration import JAVA_ASSUMED  # noqa: PLC0415 - likewise

    ground = migration.ground
    if isinstance(ground, Missing):
        return [f"Unknown: {ground.what}.", f"{ground.remedy}."]
    number = len(migration.bounces)
    if migration.obstacle is not None:
        lines = [f"No rolling bounce leads to {after}: {migration.obstacle}."]
        lines += [] if migration.instead is None else [migration.instead]
        if migration.stop is not None:
            lines.append(
                "Only a stop of the whole group does: let all members leave, then start all of them."
            )
            lines += _bounce("", migration.stop)
    elif not number:
        lines = ["Nothing has to change."]
    else:
        condition = "If all members are Java clients, " if JAVA_ASSUMED in ground.assumed else ""
        lead = "1 rolling bounce leads" if number == 1 else f"{number} rolling bounces lead"
        whose = f", of {list_names(migration.remaining, _NAMED)} only" if migration.remaining else ""
        wait = "" if number == 1 else ", the next when all members have had the one before"
        lines = [f"{condition}{lead} to {','.join(migration.bounces[-1].strategies)}{whose}{wait}:"]
        for place, bounce in enumerate(migration.bounces, 1):
            lines += _bounce(f"{place}. ", bounce)
    assumed = [*ground.assumed]
    if stops is not None:
        lines.append(answer_sentence(stops))
    if stops is not None and not isinstance(stops, Missing):
        lines.append(f"{UNIT[0].upper()}{UNIT[1:]}.")
        # Both answers may make the same assumption, which is printed once.
        assumed += [text for text in stops.ground.assumed if text not in assumed]
    return [
        *lines,
        *(f"evidence: {text}" for text in ground.sources),
        *(f"assumed: {text}" for text in assumed),
        *([] if migration.warning is None else [f"warning: {migration.warning}"]),
    ]


def _bounce(number: str, bounce: Bounce) -> list[str]:
    """Return the lines of a bounce: strategies, what to run before, settings by client, and why it is safe.

    Args:
        number: stands before the strategies, such as "1. "; "" for the stop of the whole group.
        bounce: the bounce.
    """
    if bounce.commands:
        keep = "give the members' session.timeout.ms and heartbeat.interval.ms to the group, if they were set"
        commands = [
            f"   before: {keep}:",
            *(f"      {line}" for line in bounce.commands),
        ]
    else:
        commands = []
    settings = [
        f"   {client}: {f'remove {key}' if value is None else f'{key}={value}'}"
        for client, pairs in bounce.settings.items()
        for key, value in pairs.items()
    ]
    meanwhile = f"meanwhile {' or '.join(bounce.meanwhile)}" if bounce.meanwhile else "meanwhile nobody reads"
    return [
        f"{number}to {','.join(bounce.strategies)}",
        *commands,
        *settings,
        f"   {meanwhile}: {bounce.why}",
    ]
