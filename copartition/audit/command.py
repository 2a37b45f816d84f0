"""Define the command `copartition audit`, which finds who wrote a topic.

The report knows nothing of clusters, and `audit_topic` knows nothing of the terminal; this module connects
them. Topics are read one after another, each only once even if it is named twice.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import click

from copartition.audit.options import KeyTypeChoice, key_type_options, reading_options
from copartition.shell.client_options import client_options
from copartition.shell.commands import Output, command, complain, end_of_help
from copartition.shell.options import output_options, schema_option

if TYPE_CHECKING:
    from copartition.audit.topic_audit import Selection

HELP_END = end_of_help(__package__)


@command(epilog=HELP_END)
@click.argument("topics", nargs=-1, required=True, metavar="TOPIC...")
@client_options("The cluster.")
@reading_options
@key_type_options
@click.option("--all", "every", is_flag=True, help="Show every range of offsets instead of the first 40.")
@output_options("text", "json", "markdown")
@schema_option("copartition.audit.report", "audit_schema")
def audit(
    *,
    topics: tuple[str, ...],
    config: dict[str, str],
    selection: Selection,
    keys: KeyTypeChoice,
    every: bool,
    output: Output,
) -> int:
    """Find who wrote a topic: the rule and the partition count that explain where its records are.

    The command reads a sample of the keys, or every key with --full. It joins no group, commits nothing and
    creates nothing. Earlier partition counts of a topic need not be given: they follow from where its
    records are.
    """
    if not config.get("bootstrap.servers"):
        raise click.UsageError("name the cluster with -b HOST:PORT")
    from partitioning.kit.packages import needs  # noqa: PLC0415 - unused by --help

    # What needs confluent-kafka is imported here, so that help and errors of options come without it.
    with needs("copartition audit", "kafka"):
        from copartition.audit.cluster import audit_topic  # noqa: PLC0415
    from copartition.audit import report  # noqa: PLC0415

    audits = [audit_topic(topic, config, selection, decode=keys(topic)) for topic in dict.fromkeys(topics)]
    output.show(
        partial(report.print_audits, audits, every=every),
        json=partial(report.audit_json, audits),
        markdown=partial(report.audit_markdown, audits, every=every),
    )
    # These lines come last and on stderr, so that the JSON on stdout stays valid.
    for line in keys.tell_undecoded():
        complain(line)
    return report.audit_exit_code(audits)
