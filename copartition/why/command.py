"""Define the command `copartition why`, which finds the causes of a group's rebalances in logs."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from copartition.shell.client_options import client_options
from copartition.shell.commands import COULD_NOT, Output, command, name_flags, write
from copartition.shell.options import group_option, html_option, output_options, set_option, topics_option


class _LogOrGroup(click.Path):
    """Accepts an argument that is an existing file, `-`, or live:GROUP."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the argument unchanged; click refuses a path that is not a readable file."""
        return value if value.startswith("live:") else super().convert(value, param, ctx)


@command(
    "copartition why server.log --group billing",
    "copartition why server.log client.log --html why.html",
    "copartition why server.log --as-scenario --topic orders=12 --assignor range "
    "--set session.timeout.ms=6000 --set max.poll.interval.ms=7000 > why.yaml",
    "copartition why live:billing -b localhost:9092",
    "cat client.log | copartition why -",
)
@click.argument(
    "logs", nargs=-1, required=True, type=_LogOrGroup(exists=True, dir_okay=False, allow_dash=True)
)
@group_option
@client_options("The cluster of live:GROUP.")
@click.option(
    "--as-scenario",
    is_flag=True,
    help="Print a scenario of what happened to the group instead: YAML that copartition simulate runs.",
)
@topics_option("A topic that the group reads, with N partitions, for simulations; repeatable.")
@click.option("--assignor", help="The group's strategy, if the logs do not name it.")
@set_option("A timeout of the group, such as session.timeout.ms=10000")
@click.option("--all", "full", is_flag=True, help="Show every rebalance, not only the last ones.")
@output_options("text", "json")
@html_option
def why(
    logs: tuple[str, ...],
    *,
    group: str | None,
    config: dict[str, str],
    as_scenario: bool,
    topics: tuple[tuple[str, int], ...],
    assignor: str | None,
    changes: dict[str, str],
    full: bool,
    output: Output,
    html: str | None,
) -> int:
    """Find from LOGS why groups rebalanced: each rebalance with its cause, its causer and its remedy.

    LOGS are files with logs of brokers (Kafka 1.0 to 4.x) or of clients (Java, Connect, librdkafka,
    kafka-python, aiokafka), whole or in part, also within JSON, CSV or another wrapper, and also as gzip; -
    is standard input. Several logs are read together. librdkafka logs most with debug=cgrp. live:GROUP stands
    for the records of a group in the cluster's __consumer_offsets, which are only read.

    Exit code: 0 no group rebalanced, and the logs show no fault of a member; 1 a group rebalanced, or they
    show such a fault; 2 neither was found, and the logs show no group, or have lines of a group that are not
    understood.
    """
    from copartition.why.cures import cures, scenario_or_why_not  # noqa: PLC0415
    from copartition.why.rebalances import histories  # noqa: PLC0415
    from copartition.why.report import describe_unread, print_why, why_json  # noqa: PLC0415 - help and completion do without
    from copartition.why.statements import read_statements  # noqa: PLC0415

    if live := [log.removeprefix("live:") for log in logs if log.startswith("live:")]:
        from copartition.why.offsets_topic import read_group_records, topic_history  # noqa: PLC0415 - needs a cluster

        # The topic and a log may show the same rebalance, which would then be counted twice.
        if len(logs) > 1:
            raise click.UsageError("live:GROUP is read alone: give no log, or --group, beside it")
        from copartition.groups.live.cluster import connect  # noqa: PLC0415 - as above

        group, full = live[0], True
        # A share group or a Streams group is refused before the topic is read, because its records there are
        # not understood; the error says what to use instead.
        log = f"copartition why server.log --group {group} reads its epochs in the coordinator's log"
        connect(group, config).check_kind(group, log)
        groups = [topic_history(group, read_group_records(group, config))]
        groups = [group for group in groups if group.rebalances or group.others]
        unread = None
    else:
        reading = read_statements(logs, group)
        groups, unread = histories(reading), reading.unread
    if group is not None:
        groups = [history for history in groups if history.name == group]
    if not groups:
        which = f"the group {group}" if group else "a group"
        rest = f"; {describe_unread(unread)}" if unread else ""
        raise click.ClickException(
            f"the logs show nothing of {which}: they must hold lines of a broker's group coordinator or of a "
            f"consumer{rest}"
        )
    if as_scenario:
        from copartition.simulation.inputs.file import scenario_yaml  # noqa: PLC0415 - few ask for it
        from copartition.why.cures import logged_scenario  # noqa: PLC0415

        if len(groups) > 1:
            names = ", ".join(group.name for group in groups[:10])
            raise click.UsageError(f"a scenario has one group; name it with --group: {names}")
        logged = logged_scenario(groups[0], dict(topics), assignor, changes)
        output.write(scenario_yaml(logged.scenario, logged.assumed))
        return 0
    logged_or_not = [scenario_or_why_not(group, dict(topics), assignor, changes) for group in groups]
    answers = [
        (group, cures(group, name_flags(logged) if isinstance(logged, str) else logged))
        for group, logged in zip(groups, logged_or_not, strict=True)
    ]
    if html is not None:
        from copartition.why.page import why_html  # noqa: PLC0415 - needs the extra "report"

        write(why_html(answers), html)
    output.show(partial(print_why, answers, unread, full=full), json=partial(why_json, answers, unread))
    if any(group.rebalances or any(other.finding for other in group.others) for group in groups):
        return 1
    # A line of a group that was not understood may be about a rebalance, so "no rebalance" is not certain.
    return 0 if unread is None else COULD_NOT
