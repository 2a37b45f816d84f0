"""Define the command `copartition check`, which tells whether topics can be joined partition by partition."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING

import click

from copartition.audit.options import KeyTypeChoice, key_type_options, reading_options
from copartition.shell.client_options import client_options
from copartition.shell.commands import COULD_NOT, Output, command, complain, end_of_help
from copartition.shell.options import (
    check_option,
    grow_option,
    output_options,
    schema_option,
    topics_option,
)

if TYPE_CHECKING:
    from copartition.audit.topic_audit import Selection
    from copartition.check.report import JoinReport

CHECKS = "topics, against, open, common, apart, scattered, read, present; with --grow breaks, moves"
"""The numbers for --check: those of `JoinNumbers`, repeated here so that `--help` need not import it."""

_EXIT = {"yes": 0, "no": 1, "unknown": COULD_NOT}

HELP_END = end_of_help(__package__, CHECKS=CHECKS)


@command(epilog=HELP_END)
@click.argument("joined", nargs=-1, metavar="[TOPIC]...")
@client_options("The cluster.")
@reading_options
@key_type_options
@click.option(
    "--writer",
    "writers",
    multiple=True,
    metavar="TOPIC=CLIENT[,SETTING=VALUE..]",
    help="A client that writes a topic: judge by the clients' settings, without reading records; repeatable.",
)
@grow_option(
    "A topic that would grow to N partitions: show which joins break, without reading records; repeatable."
)
@click.option(
    "--join", "joins", multiple=True, metavar="A,B", help="With --grow: the topics of a join; repeatable."
)
@topics_option(
    "With --grow or --writer: this topic has N partitions now, whatever a cluster says; repeatable."
)
@check_option("apart<=0")
@output_options("text", "json", "markdown", file=True)
@schema_option("copartition.check.report", "check_schema")
def check(
    *,
    joined: tuple[str, ...],
    config: dict[str, str],
    selection: Selection,
    keys: KeyTypeChoice,
    writers: tuple[str, ...],
    grow: dict[str, int],
    joins: tuple[str, ...],
    topics: tuple[tuple[str, int], ...],
    checks: tuple[str, ...],
    output: Output,
) -> int:
    """Can these TOPICs be joined partition by partition?

    The command reads keys of the topics. It compares the partition counts, the rules by which records were
    placed, the topics' growth and the forms of the keys. Then it counts the keys that are in more than one
    topic, but at different partition numbers. It joins no group, commits nothing and creates nothing.
    """
    if writers and grow:
        raise click.UsageError("--grow asks what growth breaks, --writer who writes; give one of them")
    if joins and not grow:
        raise click.UsageError("--join is for --grow; to check a join, give its topics as arguments")
    if (any(vars(selection).values()) or keys.name) and (writers or grow):
        raise click.UsageError("--grow and --writer read no records; leave out options that select some")
    from copartition.check import report as reports  # noqa: PLC0415 - help and completion do without
    from copartition.kit.number_checks import read_check  # noqa: PLC0415 - likewise

    limits = [read_check(text, reports.JoinNumbers) for text in checks]
    counts = dict(topics)
    if grow:
        from copartition.check.planned import plan_growth  # noqa: PLC0415 - help and completion do without

        # With --grow the arguments are one more join.
        listed = [*([joined] if joined else []), *(tuple(join.split(",")) for join in joins)]
        known_counts = _partition_counts(config, counts, {topic for join in listed for topic in join})
        report = reports.JoinReport(plan_growth(listed, known_counts, grow))
    elif writers:
        report = _check_writers(joined, writers, config, counts)
    else:
        report = _check_records(joined, config, counts, selection, keys)
    # A limit on a number that was not computed fails.
    failed = [limit for limit in limits if not limit.passes(report.numbers)]
    output.show(
        partial(reports.print_join, report),
        json=partial(reports.check_json, report, limits),
        markdown=partial(reports.join_markdown, report),
    )
    for line in keys.tell_undecoded():
        complain(line)
    for limit in failed:
        complain(f"check failed: {limit}, it is {limit.describe(report.numbers)}")
    # If limits are given, they decide the exit code, and the verdict does not.
    return bool(failed) if limits else _EXIT[report.verdict.answer]


def _check_writers(
    topics: tuple[str, ...], writers: tuple[str, ...], config: Mapping[str, str], counts: Mapping[str, int]
) -> JoinReport:
    """Return whether topics will fit if these clients write them; no record is read.

    Args:
        topics: the command's arguments; with --writer there may be none.
        writers: values of --writer, each TOPIC=CLIENT[,SETTING=VALUE...].
        config: settings of the client; empty if no cluster is named.
        counts: topic -> partition count, of --topic.

    Raises:
        click.UsageError: topics were given as arguments.
        InvalidConfigError, UnknownStrategyError: a writer cannot be parsed, or there are too few.
    """
    if topics:
        raise click.UsageError("--writer names the topics; leave TOPIC out")
    from copartition.check.planned import judge_writers  # noqa: PLC0415
    from copartition.check.report import JoinReport  # noqa: PLC0415 - help and completion do without
    from copartition.check.writers import parse_writer  # noqa: PLC0415

    clients = [parse_writer(text) for text in writers]
    known_counts = _partition_counts(config, counts, {client.topic for client in clients})
    return JoinReport(judge_writers(clients, known_counts))


def _partition_counts(
    config: Mapping[str, str], counts: Mapping[str, int], topics: Iterable[str]
) -> dict[str, int]:
    """Return topic -> partition count: the given counts, and those of the cluster if one is named.

    The cluster is not asked if the given counts suffice. A given count wins over the cluster's.

    Args:
        config: settings of the client; empty if no cluster is named.
        counts: topic -> partition count, of --topic.
        topics: names of the topics whose counts are needed.
    """
    if not config.get("bootstrap.servers") or counts.keys() >= {*topics}:
        return dict(counts)
    from copartition.groups.live.cluster import Cluster  # noqa: PLC0415 - only a cluster needs it

    return {**Cluster("copartition check", config).counts, **counts}


def _check_records(
    topics: tuple[str, ...],
    config: Mapping[str, str],
    counts: Mapping[str, int],
    selection: Selection,
    keys: KeyTypeChoice,
) -> JoinReport:
    """Return whether the topics fit by their records, which are read from the cluster.

    Args:
        topics: names of the topics, in the order of the join.
        config: settings of the client; they must name a cluster.
        counts: topic -> partition count, of --topic; here it must be empty.
        selection: which records to read.
        keys: how to decode keys for the comparison of their meanings.

    Raises:
        click.UsageError: a count is given, or no cluster is named.
    """
    if counts:
        raise click.UsageError("the cluster has the partition counts; leave --topic out")
    if not config.get("bootstrap.servers"):
        raise click.UsageError("topics are read from a cluster; name it with -b HOST:PORT, or give --writer")
    from partitioning.kit.packages import needs  # noqa: PLC0415 - help and completion do without

    # Without the extra "kafka" the user reads which extra to install, not an ImportError.
    with needs("copartition check", "kafka"):
        from copartition.check.cluster import check_topics  # noqa: PLC0415
    return check_topics(topics, config, selection, decoder=keys)
