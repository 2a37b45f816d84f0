"""`copartition model batching`: which settings keep a producer's latency under a limit."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import click

from copartition.cli.options import (
    PRODUCERS,
    FiniteRange,
    count_option,
    html_option,
    ms_option,
    output_options,
    seed_option,
)
from copartition.cli.shell import HELP, QuietCommand, write

if TYPE_CHECKING:
    from copartition.cli.shell import Output
    from copartition.record_stream import RecordStream

EXAMPLES = """\b
Examples:
  copartition model batching --rate 2500 --value-bytes 512 --partitions 12 --limit 20
  copartition model batching --stream orders.csv --partitions 12 --round-trip 4 --limit 50
"""


@click.command(cls=QuietCommand, context_settings=HELP, epilog=EXAMPLES)
@click.option(
    "--rate",
    type=FiniteRange(1e-6, 1e9),
    metavar="N",
    help="Records a second, at random times.",
)
@click.option(
    "--stream",
    "source",
    type=click.Path(exists=True, dir_okay=False),
    help="Recorded records instead: CSV with time_ms, value_bytes, and key or partition.",
)
@click.option("--value-bytes", type=click.IntRange(min=0), help="With --rate: bytes of each value.")
@count_option("--key-bytes", "With --rate: bytes of each key; keys spread evenly. Without it there are none.")
@click.option("--partitions", type=click.IntRange(1, 100_000), required=True, help="Partitions of the topic.")
@count_option("--brokers", "Brokers, which lead the partitions in turn.", default=3)
@ms_option(
    "--round-trip",
    "Time from a request to its answer on an idle broker, replication included.",
    default=1.0,
)
@ms_option("--request-time", "Broker time per request.", default=0.0)
@click.option(
    "--limit",
    type=FiniteRange(min=0, min_open=True),
    required=True,
    metavar="MS",
    help="Time from send to acknowledgement.",
)
@click.option(
    "--percentile",
    type=FiniteRange(0, 100, min_open=True),
    default=99.0,
    show_default=True,
    help="Percentile of the latency that stays under --limit.",
)
@click.option(
    "--client",
    "clients",
    type=click.Choice(PRODUCERS),
    multiple=True,
    help="The client whose rules and defaults apply; repeatable, all clients by default.",
)
@seed_option("Seed of the random record stream.", default=0)
@html_option
@output_options("text", "json")
def batching(
    *,
    rate: float | None,
    source: str | None,
    value_bytes: int | None,
    key_bytes: int | None,
    partitions: int,
    brokers: int,
    round_trip: float,
    request_time: float,
    limit: float,
    percentile: float,
    clients: tuple[str, ...],
    seed: int,
    html: str | None,
    output: Output,
) -> None:
    """Which linger.ms and batch.size keep latency under a limit with the fewest requests.

    A model runs the records through the rules of each client, with each pair of settings. What retries and
    idempotence do under faults, copartition model delivery says.
    """
    if (rate is None) == (source is None):
        raise click.UsageError("give the records with --rate or with --stream")
    if rate is not None and value_bytes is None:
        raise click.UsageError("--rate needs --value-bytes")
    if source is not None and (value_bytes is not None or key_bytes is not None):
        raise click.UsageError("--stream has the sizes; leave --value-bytes and --key-bytes out")
    from copartition.record_stream import chance_stream, read_stream  # noqa: PLC0415
    from copartition.reports import producer as report  # noqa: PLC0415 - help does without
    from partitioning.producer import Broker, tune_producer  # noqa: PLC0415

    stream: RecordStream
    if source is not None:
        stream = read_stream(source)
    else:
        assert rate is not None
        assert value_bytes is not None
        stream = chance_stream(rate, value_bytes, key_bytes, limit_ms=limit, seed=seed)
    tunings = [
        tune_producer(
            stream.times_ms,
            stream.value_bytes,
            stream.placed(partitions, client, seed),
            limit_ms=limit,
            leaders=[partition % brokers for partition in range(partitions)],
            brokers=[Broker(latency_ms=round_trip, request_ms=request_time)] * brokers,
            percentile=percentile,
            client=client,
            key_bytes=stream.key_bytes,
            seed=seed,
        )
        for client in PRODUCERS
        if client in (clients or PRODUCERS)
    ]
    assumed = (*stream.assumed, report.BATCHING_LIMITS)
    if html is not None:
        write(report.tuning_html(tunings, assumed), html)
    if output.form == "json":
        output.write(report.tuning_json(tunings, assumed))
    else:
        output.paint(partial(report.print_tunings, tunings, assumed))
