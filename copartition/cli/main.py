"""`copartition`: its commands by name, under the headings of --help."""

from __future__ import annotations

import click

from copartition.cli.shell import HELP
from copartition.cli.verbs import Verbs, examples

SECTIONS = {
    "Keys and topics": {
        "partition": "Where every client puts a key.",
        "check": "Can these topics be joined partition by partition?",
        "audit": "Who wrote a topic: whose rule, over how many partitions.",
        "profiles": "Every client's rule for keys.",
        "partitioners": "Partitioners by name, plug-ins included.",
    },
    "Groups": {
        "diff": "What a change moves and stops; the same as assignment-diff.",
        "simulate": "Run scenarios: rebalances, pauses, moves, lag.",
        "migrate": "Safe rolling bounces from one strategy to another.",
        "why": "Why a group rebalanced, from logs of brokers and clients.",
        "watch": "What changes in a group while you look, a line a change.",
        "snapshot": "Keep a group, or a plan, as a file that a diff can read.",
        "assign": "What an assignor gives to members.",
        "assignors": "Assignors by name, plug-ins included.",
        "coordinator": "Which broker looks after a group.",
    },
    "Producers": {
        "model": "What settings do to latency (batching) and to records under faults (delivery).",
    },
    "Cluster": {
        "ledger": "What exactly-once writes from Spark have noted on a cluster.",
    },
    "Others": {
        "vectors": "Exact answers to test a broker or a client against, and what differs.",
        "completion": "A script that lets a shell complete commands and options.",
    },
}
"""The commands, with what --help says of each."""

COMMANDS = tuple(name for section in SECTIONS.values() for name in section)


@click.group(
    cls=Verbs,
    sections=SECTIONS,
    context_settings=HELP,
    epilog=examples(
        "copartition partition order-42 -n 12",
        "copartition check orders payments -b localhost:9092",
        "copartition diff live:billing plan:current --deploy rolling -b localhost:9092",
    ),
)
@click.version_option(package_name="copartition")
def copartition() -> None:
    """Where Kafka puts a record and who consumes it, before you run it.

    KAFKA_BOOTSTRAP_SERVERS names the cluster where -b does not. Exit code: 0 fine, 1 found something, 2 could
    not tell or could not run.
    """
