"""`copartition model delivery`: what retries and idempotence make of faults."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Literal

import click

from copartition.cli.options import PRODUCERS, FiniteRange, output_options, seed_option
from copartition.cli.shell import HELP, QuietCommand

if TYPE_CHECKING:
    from collections.abc import Callable

    from copartition.cli.shell import Output
    from partitioning.producer.tuning import Client

EXAMPLES = """\b
Examples:
  copartition model delivery --no-idempotence --ack-lost 0.01
  copartition model delivery --acks 1 --leader-change 100
  copartition model delivery --client librdkafka --idempotence --refused 0.02 --in-flight 5
"""

SHARE = FiniteRange(0, 1)
MS = FiniteRange(min=0)


def _fault_options(command: Callable[..., None]) -> Callable[..., None]:
    for option in reversed(
        (
            click.option(
                "--refused",
                type=SHARE,
                default=0.0,
                metavar="SHARE",
                help="Requests answered with a retriable error.",
            ),
            click.option(
                "--request-lost",
                type=SHARE,
                default=0.0,
                metavar="SHARE",
                help="Connections that break before the leader reads the request.",
            ),
            click.option(
                "--ack-lost",
                type=SHARE,
                default=0.0,
                metavar="SHARE",
                help="Connections that break after it was written, before the answer.",
            ),
            click.option(
                "--leader-change",
                "leader_changes",
                type=MS,
                multiple=True,
                metavar="MS",
                help="A follower takes over at this time, with what it has; repeatable.",
            ),
            click.option(
                "--unclean",
                type=MS,
                metavar="MS",
                help="Followers copy nothing from this time on, and the next change of leader is unclean.",
            ),
        )
    ):
        command = option(command)
    return command


@click.command(cls=QuietCommand, context_settings=HELP, epilog=EXAMPLES)
@click.option("--acks", type=click.Choice(["all", "1", "0"]), default="all", show_default=True)
@click.option(
    "--idempotence/--no-idempotence",
    default=None,
    help="By default what the client does: Java where acks and retries allow it, librdkafka never.",
)
@click.option(
    "--in-flight",
    type=click.IntRange(min=1),
    help="Requests on the way at a time. Java's default is 5, librdkafka's a million, 5 with idempotence.",
)
@click.option(
    "--retries",
    type=click.IntRange(min=0),
    help="How often a request is sent again; by default without limit.",
)
@click.option(
    "--delivery-timeout", type=MS, metavar="MS", help="120,000 by default in Java, 300,000 in librdkafka."
)
@click.option(
    "--client",
    type=click.Choice(PRODUCERS),
    default="java",
    show_default=True,
    help="The client whose rules and defaults apply.",
)
@_fault_options
@click.option(
    "--batches", type=click.IntRange(min=1), default=200, show_default=True, help="Batches of each run."
)
@click.option("--runs", type=click.IntRange(min=1), default=50, show_default=True, help="Runs of the model.")
@click.option(
    "--interval",
    type=MS,
    default=1.0,
    show_default=True,
    metavar="MS",
    help="Time from one batch to the next.",
)
@click.option(
    "--round-trip",
    type=MS,
    default=5.0,
    show_default=True,
    metavar="MS",
    help="Time to the leader and back, without replication.",
)
@click.option(
    "--replication",
    type=MS,
    default=5.0,
    show_default=True,
    metavar="MS",
    help="Time until a leader knows that followers have what it wrote.",
)
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
