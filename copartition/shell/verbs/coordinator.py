"""Run `copartition coordinator`: show which broker a group or a transaction talks to.

Kafka keeps a group in partition `hash(id) mod count` of an internal topic, and the leader of that partition
is the coordinator. So the partition follows from the id and the count; only the broker needs a cluster.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from copartition.shell.client_options import client_options
from copartition.shell.commands import Output, command
from copartition.shell.options import output_options, partitions_option
from partitioning.errors import SourceError
from partitioning.topic_partition import MAX_PARTITIONS

if TYPE_CHECKING:
    from copartition.groups.live.cluster import Broker

PARTITIONS = 50
"""Kafka's default of `offsets.topic.num.partitions` and `transaction.state.log.num.partitions`."""


@command(
    "copartition coordinator billing -b localhost:9092",
    "copartition coordinator payments-tx --transactional-id -n 50",
    "copartition coordinator billing shipping -n 50",
    "copartition coordinator billing -n 50 -o json",
)
@click.argument("ids", nargs=-1, required=True, metavar="GROUP...")
@click.option(
    "--transactional-id",
    "transactional",
    is_flag=True,
    help="The arguments are transactional ids instead of groups.",
)
@partitions_option(
    f"Partition count of the internal topic; by default the cluster's, or {PARTITIONS} without a cluster.",
    MAX_PARTITIONS,
)
@client_options("The cluster, which knows the brokers.")
@output_options("text", "json")
@click.pass_context
def coordinator(
    ctx: click.Context,
    ids: tuple[str, ...],
    *,
    transactional: bool,
    partitions: int | None,
    config: dict[str, str],
    output: Output,
) -> None:
    """Show which partition of __consumer_offsets keeps each GROUP, and which broker leads it.

    That broker is the group's coordinator. Transactional ids are kept in __transaction_state instead.

    Exit code: 0 the partition is shown; 2 the cluster could not be asked, or does not have the internal topic
    yet.
    """
    from partitioning.placement import coordinator_partition  # noqa: PLC0415 - help does without numpy

    if not all(ids):
        raise click.BadParameter("an id is not empty", param_hint="GROUP")
    topic = "__transaction_state" if transactional else "__consumer_offsets"
    leaders: list[Broker | None] | None = None
    # If a count is given, no cluster is needed, so a cluster that only the environment names is not asked.
    asked = ctx.params["bootstrap_server"] or ctx.params["settings"] or ctx.params["command_config"]
    if partitions is not None and not asked and ctx.params["cluster"] is None:
        config = {}
    if config.get("bootstrap.servers"):
        # A count other than the cluster's would name a broker that is not the coordinator.
        if partitions is not None:
            raise click.UsageError("the cluster has the partition count; leave -n out")
        from copartition.groups.live.cluster import Cluster  # noqa: PLC0415 - only a cluster needs it

        cluster = Cluster(topic, config)
        # Without the topic its partition count is unknown, and the default could name the wrong broker.
        if topic not in cluster.counts:
            raise SourceError(
                f"{topic}: the cluster has no such topic that this user may see; it is made for the first id "
                "that it has to keep"
            )
        leaders = cluster.leaders(topic)
        partitions = len(leaders)
    elif config:
        raise click.UsageError("settings are of no use without a cluster; name it with -b HOST:PORT")
    # This is a dict, so that an id that is given twice is shown once.
    places = {id_: coordinator_partition(id_, partitions or PARTITIONS) for id_ in ids}
    kind = "transactional id" if transactional else "group"
    rows: list[dict[str, object]] = []
    for name, place in places.items():
        broker = leaders[place] if leaders else None
        if output.form == "json":
            row: dict[str, object] = {"id": name, "topic": topic, "partition": place}
            # A partition without a leader is null in JSON.
            leader: object = broker and broker._asdict()
        else:
            row = {kind: name, "partition": f"{topic}-{place}"}
            leader = f"{broker.address} ({broker.id})" if broker else "nobody"
        rows.append({**row, "coordinator": leader} if leaders else row)
    output.print_rows(rows)
