"""`copartition model delivery`: what faults do to records, with retries and idempotence."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Literal

import click

from copartition.cli.options import (
    PRODUCERS,
    FiniteRange,
    count_option,
    ms_option,
    output_options,
    seed_option,
)
from copartition.cli.shell import HELP, QuietCommand

if TYPE_CHECKING:
    from copartition.cli.options import Decorator
    from copartition.cli.shell import Output
    from partitioning.producer.tuning import Client

EXAMPLES = """\b
Examples:
  copartition model delivery --no-idempotence --ack-lost 0.01
  copartition model delivery --acks 1 --leader-change 100
  copartition model delivery --client librdkafka --idempotence --refused 0.02 --in-flight 5
"""


def _share_option(name: str, text: str) -> Decorator:
    return click.option(name, type=FiniteRange(0, 1), default=0.0, metavar="SHARE", help=text)


@click.command(cls=QuietCommand, context_settings=HELP, epilog=EXAMPLES)
@click.option("--acks", type=click.Choice(["all", "1", "0"]), default="all", show_default=True)
@click.option(
    "--idempotence/--no-idempotence",
    default=None,
    help="By default what the client does: Java where acks and retries allow it, librdkafka never.",
)
@count_option(
    "--in-flight",
    "Requests on the way at a time. Java's default is 5, librdkafka's a million, 5 with idempotence.",
)
@click.option(
    "--retries",
    type=click.IntRange(min=0),
    help="How often a request is sent again; by default without limit.",
)
@ms_option("--delivery-timeout", "120,000 by default in Java, 300,000 in librdkafka.")
@click.option(
    "--client",
    type=click.Choice(PRODUCERS),
    default="java",
    show_default=True,
    help="The client whose rules and defaults apply.",
)
@_share_option("--refused", "Requests answered with a retriable error.")
@_share_option("--request-lost", "Connections that break before the leader reads the request.")
@_share_option("--ack-lost", "Connections that break after it was written, before the answer.")
@ms_option(
    "--leader-change",
    "A follower takes over at this time, with what it has; repeatable.",
    "leader_changes",
    many=True,
)
@ms_option("--unclean", "Followers copy nothing from this time on, and the next change of leader is unclean.")
@count_option("--batches", "Batches of each run.", default=200)
@count_option("--runs", "Runs of the model.", default=50)
@ms_option("--interval", "Time from one batch to the next.", default=1.0)
@ms_option("--round-trip", "Time to the leader and back, without replication.", default=5.0)
@ms_option("--replication", "Time until a leader knows that followers have what it wrote.", default=5.0)
@seed_option("Decides which requests are hit.", default=0)
@output_options("text", "json")
def delivery(
    *,
    acks: Literal["all", "1", "0"],
    idempotence: bool | None,
    in_flight: int | None,
    retries: int | None,
    delivery_timeout: float | None,
    client: Client,
    refused: float,
    request_lost: float,
    ack_lost: float,
    leader_changes: tuple[float, ...],
    unclean: float | None,
    batches: int,
    runs: int,
    interval: float,
    round_trip: float,
    replication: float,
    seed: int,
    output: Output,
) -> None:
    """How often faults lose, duplicate or reorder a producer's batches.

    A model of the client and of the leader runs many times. Without a fault nothing happens.
    """
    if unclean is not None and unclean >= min(leader_changes, default=0.0):
        raise click.UsageError("--unclean needs a --leader-change after it")
    from copartition.reports import producer as report  # noqa: PLC0415 - help does without
    from partitioning.producer import Faults, assess_delivery, delivery_settings  # noqa: PLC0415

    settings = delivery_settings(
        client,
        acks=acks,
        idempotence=idempotence,
        in_flight=in_flight,
        retries=retries,
        delivery_timeout_ms=delivery_timeout,
    )
    faults = Faults(
        refused=refused, request_lost=request_lost, ack_lost=ack_lost, leader_changes=leader_changes
    )
    if unclean is not None:
        faults = replace(faults, followers_gone_ms=unclean, replica_lag_time_max_ms=0.0)
    times = {"interval_ms": interval, "round_trip_ms": round_trip, "replication_ms": replication}
    assessment = assess_delivery(
        batches, runs, settings=settings, faults=faults, seed=seed, client=client, **times
    )
    case = report.Case(client, settings, faults, times, seed)
    if output.form == "json":
        output.write(report.delivery_json(case, assessment))
        return
    output.paint(partial(report.print_delivery, case, assessment))
