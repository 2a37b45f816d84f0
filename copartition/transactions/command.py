"""The command `copartition transactions`: it shows open transactions, what they hold, and how to end them.

Modules that only a run needs are imported inside `transactions`, so that `--help` and completion stay quick.
"""

import time
from functools import partial
from re import Pattern

import click

from copartition.shell.client_options import client_options
from copartition.shell.commands import Output, command
from copartition.shell.options import only_option, output_options, time_option


@command(
    "copartition transactions -b localhost:9092",
    "copartition transactions -b localhost:9092 --group billing --only-topic orders",
    "copartition transactions -b localhost:9092 --open-longer-than 5min",
    "copartition transactions -b localhost:9092 --all -o json",
)
@click.option(
    "--group",
    metavar="NAME",
    help="Also show the lag of this group, and how much of it the group can read now.",
)
@only_option("topic", "pattern", "Look only at topics whose names match.")
@time_option(
    "--open-longer-than", "How long a transaction may be open before it counts as wrong.", default="1min"
)
@time_option("--interval", "Time between the two looks at the cluster.", default="1s")
@click.option(
    "--all", "full", is_flag=True, help="Show every transactional id, also those without an open transaction."
)
@client_options("The cluster.")
@output_options("text", "json")
def transactions(
    *,
    group: str | None,
    pattern: Pattern[str] | None,
    open_longer_than: float,
    interval: float,
    full: bool,
    config: dict[str, str],
    output: Output,
) -> int:
    """Show open transactions, the partitions whose last stable offset they hold back, and how to end each.

    The command looks at the cluster twice, and only reads.

    Exit code: 0 nothing is wrong; 1 a transaction is open for too long, lacks a marker or hangs, or two
    processes share a transactional id; 2 nothing was found, but a broker did not answer, or hides
    transactional ids or topics from this user.
    """
    from copartition.groups.live.cluster import Cluster  # noqa: PLC0415 - unused by --help
    from copartition.transactions.judging import judge_looks  # noqa: PLC0415
    from copartition.transactions.looks import look_at  # noqa: PLC0415
    from copartition.transactions.report import print_transactions, transactions_json  # noqa: PLC0415

    if not config.get("bootstrap.servers"):
        raise click.UsageError("transactions are on a cluster; name it with -b HOST:PORT")
    cluster = Cluster("transactions", config)
    # If this user may see no topic that matches, it is unknown whether there are transactions, so this fails.
    topics = None if pattern is None else [name for name in cluster.counts if pattern.search(name)]
    if pattern is not None and not topics:
        raise click.ClickException(f"the cluster has no topic {pattern.pattern} that this user may see")
    # The cluster is looked at twice: a marker that was on its way at the first look has arrived at the
    # second.
    first = look_at(cluster, topics, group)
    time.sleep(interval / 1000)
    last = look_at(cluster, topics, group)
    answer = judge_looks(
        first,
        last,
        open_ms=open_longer_than,
        servers=config["bootstrap.servers"],
        transaction_version=cluster.level("transaction.version"),
    )
    output.show(
        partial(print_transactions, last, answer, full=full),
        json=partial(transactions_json, last, answer, group),
    )
    return answer.exit_code
