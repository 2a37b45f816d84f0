"""`copartition coordinator`: which broker a group or a transaction talks to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from copartition.cli.client_options import client_options
from copartition.cli.options import output_options, partitions_option
from copartition.cli.shell import Output, command
from partitioning.errors import SourceError
from partitioning.topic_partition import MAX_PARTITIONS

if TYPE_CHECKING:
    from copartition.groups.live.cluster import Broker

PARTITIONS = 50
"""Kafka's default of `offsets.topic.num.partitions` and `transaction.state.log.num.partitions`."""


@command(
    "copartition coordinator billing -b localhost:9092",
    "copartition coordinator payments-tx --transactional-id -n 50",
)
@click.argument("ids", nargs=-1, required=True, metavar="GROUP...")
@click.option("--transactional-id", "transactional", is_flag=True, help="Each GROUP is a transactional id.")
@partitions_option(
    f"Partitions of the internal topic: {PARTITIONS} by default, or what the cluster has.", MAX_PARTITIONS
)
@client_options("The cluster, which knows the brokers.")
@output_options("text", "json")
def coordinator(
    ids: tuple[str, ...],
    *,
    transactional: bool,
    partitions: int | None,
    config: dict[str, str],
    output: Output,
) -> None:
    """Which partition of __consumer_offsets keeps each GROUP, and which broker leads it.

    That broker is the group's coordinator. Transactional ids are kept in __transaction_state instead.
    """
    from partitioning.placement import coordinator_partition  # noqa: PLC0415 - help does without numpy

    if not all(ids):
        raise click.BadParameter("an id is not empty", param_hint="GROUP")
    topic = "__transaction_state" if transactional else "__consumer_offsets"
    leaders: list[Broker | None] | None = None
    if config.get("bootstrap.servers"):
        if partitions is not None:
            raise click.UsageError("the cluster has the partition count; leave -n out")
        leaders = _leaders(config, topic)
        partitions = len(leaders)
    elif config:
        raise click.UsageError("settings are of no use without a cluster; name it with -b HOST:PORT")
    places = {id_: coordinator_partition(id_, partitions or PARTITIONS) for id_ in ids}
    if output.form == "json":
        output.print_rows([_row(each, topic, place, leaders) for each, place in places.items()])
        return
    kind, rows = "transactional id" if transactional else "group", []
    for each, place in places.items():
        rows.append({kind: each, "partition": f"{topic}-{place}"})
        if leaders:
            broker = leaders[place]
            rows[-1]["coordinator"] = "nobody" if broker is None else f"{broker.address} ({broker.id})"
    output.print_rows(rows)


def _row(id_: str, topic: str, place: int, leaders: list[Broker | None] | None) -> dict[str, object]:
    row: dict[str, object] = {"id": id_, "topic": topic, "partition": place}
    if leaders is not None:
        broker = leaders[place]
        row["coordinator"] = None if broker is None else broker._asdict()
    return row


def _leaders(config: Mapping[str, str], topic: str) -> list[Broker | None]:
    from copartition.groups.live.cluster import Cluster  # noqa: PLC0415 - only a cluster needs it

    cluster = Cluster(topic, config)
    if topic not in cluster.counts:
        raise SourceError(
            f"{topic}: the cluster has no such topic that this user may see; it is made for the first id "
            "that it has to keep"
        )
    return cluster.leaders(topic)
