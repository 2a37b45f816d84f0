"""Define the commands `copartition model ...`, which compute the effect of a client's or group's settings.

Modules that only a run needs are imported inside the functions, so that `--help` stays fast.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any, cast

import click

from copartition.shell.commands import HELP, Output, QuietGroup, examples_help
from copartition.shell.options import (
    ClientChoice,
    FiniteRange,
    count_option,
    ms_option,
    output_options,
    partitions_option,
    repeated_option,
    seed_option,
)
from partitioning.kit.limits import MAX_OFFSET, parse_number

if TYPE_CHECKING:
    from copartition.models.producer.tuning import Client
    from copartition.models.record_stream import RecordStream
    from copartition.models.share_groups.run import Ending
    from copartition.shell.options import Decorator

PRODUCERS: tuple[Client, ...] = ("java", "librdkafka")
"""The clients whose producers are modelled, in the order in which results are shown."""


@click.group(cls=QuietGroup, context_settings=HELP)
def model() -> None:
    """Compute what settings of producers and share groups do; nothing is measured."""


@model.command(
    epilog=examples_help(
        "copartition model batching --rate 2500 --value-bytes 512 --partitions 12 --limit 20",
        "copartition model batching --stream orders.csv --partitions 12 --round-trip 4 --limit 50",
        "copartition model batching --stream orders.csv --partitions 12 --limit 50 --client librdkafka",
        "copartition model batching --stream orders.csv --partitions 12 --limit 50 --percentile 99.9 -o json",
    )
)
@click.option(
    "--rate",
    type=FiniteRange(1e-6, 1e9),
    metavar="N",
    help="The number of records a second, which are sent at random times.",
)
@click.option(
    "--stream",
    "source",
    type=click.Path(exists=True, dir_okay=False),
    help="Instead of --rate, a file of records: CSV with time_ms, value_bytes, and key or partition.",
)
@count_option("--value-bytes", "With --rate: the size of each value in bytes.", least=0)
@count_option(
    "--key-bytes",
    "With --rate: the size of each key in bytes; keys are spread evenly. By default records have no keys.",
)
@partitions_option("Partitions of the topic.", 100_000, required=True)
@count_option("--brokers", "The number of brokers, which lead the partitions in turn.", default=3)
@ms_option(
    "--round-trip",
    "Time from a request to its answer if the broker is idle, replication included.",
    default=1.0,
)
@ms_option("--request-time", "Time for which a request occupies the broker.", default=0.0)
@click.option(
    "--limit",
    type=FiniteRange(0, 2**31 - 1, min_open=True),
    required=True,
    metavar="MS",
    help="The longest time that a record may take from send to acknowledgement.",
)
@click.option(
    "--percentile",
    type=FiniteRange(0, 100, min_open=True),
    default=99.0,
    show_default=True,
    help="The percentile of the latency that must stay under --limit.",
)
@click.option(
    "--client",
    "clients",
    type=ClientChoice(PRODUCERS),
    multiple=True,
    help="The client whose rules and defaults apply; repeatable, all clients by default.",
)
@seed_option("Seed of the random stream of records.", default=0)
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
    output: Output,
) -> int:
    """Find the linger.ms and batch.size that keep latency under a limit with the fewest requests.

    A model runs the records through the rules of each client, with each pair of settings. The effect of
    retries and idempotence under faults is shown by copartition model delivery.

    Exit code: 0 each client has such settings; 1 a client has none; 2 the command could not run.
    """
    if (rate is None) == (source is None):
        raise click.UsageError("give the records with --rate or with --stream")
    if rate is not None and value_bytes is None:
        raise click.UsageError("--rate needs --value-bytes")
    if source is not None and (value_bytes is not None or key_bytes is not None):
        raise click.UsageError("the file of --stream has the sizes; leave --value-bytes and --key-bytes out")
    from copartition.models.producer import report  # noqa: PLC0415 - unused by --help
    from copartition.models.producer.batching import BrokerTimes  # noqa: PLC0415
    from copartition.models.producer.tuning import tune_producer  # noqa: PLC0415
    from copartition.models.record_stream import chance_stream, read_stream  # noqa: PLC0415

    # The records come from the user's file or are drawn at random. Both have the same type, so all that
    # follows treats them alike.
    stream: RecordStream
    if source is not None:
        stream = read_stream(source)
    else:
        assert rate is not None
        assert value_bytes is not None
        stream = chance_stream(rate, value_bytes, key_bytes, limit_ms=limit, seed=seed)
    # Clients are tried in the order of `PRODUCERS`, whatever the order of the options.
    tunings = [
        tune_producer(
            stream.times_ms,
            stream.value_bytes,
            stream.place_keys(partitions, client, seed),
            limit_ms=limit,
            leaders=[partition % brokers for partition in range(partitions)],
            brokers=[BrokerTimes(latency_ms=round_trip, request_ms=request_time)] * brokers,
            percentile=percentile,
            client=client,
            key_bytes=stream.key_bytes,
            seed=seed,
        )
        for client in PRODUCERS
        if client in (clients or PRODUCERS)
    ]
    assumed = (*stream.assumed, report.BATCHING_LIMITS)
    output.show(
        partial(report.print_tunings, tunings, assumed), json=partial(report.tuning_json, tunings, assumed)
    )
    return any(tuning.best is None for tuning in tunings)


def _share_option(name: str, text: str) -> Decorator:
    """Return a command line option that is a share of requests, from 0 to 1 and 0 by default.

    Args:
        name: name of the option, with dashes.
        text: its help.
    """
    return click.option(name, type=FiniteRange(0, 1), default=0.0, metavar="SHARE", help=text)


@model.command(
    epilog=examples_help(
        "copartition model delivery --no-idempotence --ack-lost 0.01",
        "copartition model delivery --acks 1 --leader-change 100",
        "copartition model delivery --leader-change 100 --unclean 50",
        "copartition model delivery --client librdkafka --idempotence --refused 0.02 --in-flight 5",
    )
)
@click.option(
    "--acks",
    type=click.Choice(["all", "1", "0"]),
    default="all",
    show_default=True,
    help="Which replicas have a batch when the broker answers: all in sync, the leader's, or none for sure.",
)
@click.option(
    "--idempotence/--no-idempotence",
    default=None,
    help="Whether the producer is idempotent. By default Java's is if acks and retries allow it, and "
    "librdkafka's is not.",
)
@count_option(
    "--in-flight",
    "The most requests on the way at a time. By default 5; for librdkafka without idempotence a million.",
)
@count_option("--retries", "The most times that a request is sent again; by default without limit.", least=0)
@ms_option(
    "--delivery-timeout",
    "The time until a batch counts as failed; by default 120,000 for Java, 300,000 for librdkafka.",
    "delivery_timeout_ms",
)
@click.option(
    "--client",
    type=ClientChoice(PRODUCERS),
    default="java",
    show_default=True,
    help="The client whose rules and defaults apply.",
)
@_share_option("--refused", "Share of requests, from 0 to 1, that the leader answers with a retriable error.")
@_share_option("--request-lost", "Share of requests whose connection breaks before the leader reads them.")
@_share_option(
    "--ack-lost",
    "Share of requests whose connection breaks after the leader wrote the batch, before it answered.",
)
@ms_option(
    "--leader-change",
    "At this time a follower becomes the leader, with the records that it has copied; repeatable.",
    "leader_changes",
    many=True,
)
@ms_option("--unclean", "From this time on followers copy nothing, so the next change of leader is unclean.")
@count_option("--batches", "The number of batches of each run.", default=200)
@count_option("--runs", "The number of runs of the model.", default=50)
@ms_option("--batch-interval", "Time from one batch to the next.", "interval", default=1.0)
@ms_option(
    "--round-trip", "Time of a request to the leader and of its answer, without replication.", default=5.0
)
@ms_option(
    "--replication", "Time until the leader knows that followers have copied what it wrote.", default=5.0
)
@seed_option("The seed that decides which requests are hit by faults.", default=0)
@output_options("text", "json")
def delivery(
    *,
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
    **given: Any,
) -> int:
    """Compute how often faults lose, duplicate or reorder a producer's batches.

    A model of the client and of the leader runs many times. Give at least one fault: without faults no batch
    is lost, duplicated or reordered.

    Exit code: 0 no batch is lost, duplicated or out of order in any run; 1 a batch is; 2 the command could
    not run.
    """
    if unclean is not None and unclean >= min(leader_changes, default=0.0):
        raise click.UsageError("--unclean needs a --leader-change after it")
    from copartition.models.producer import report  # noqa: PLC0415 - unused by --help
    from copartition.models.producer.assessing import assess_delivery  # noqa: PLC0415
    from copartition.models.producer.delivery import Faults, delivery_settings  # noqa: PLC0415

    settings = delivery_settings(client, **given)
    faults = Faults(
        refused=refused, request_lost=request_lost, ack_lost=ack_lost, leader_changes=leader_changes
    )
    # A lag limit of 0 ms removes the followers from the in-sync replicas at once, so that the next change of
    # leader is an unclean one.
    if unclean is not None:
        faults = replace(faults, followers_gone_ms=unclean, replica_lag_time_max_ms=0.0)
    times = {"interval_ms": interval, "round_trip_ms": round_trip, "replication_ms": replication}
    assessment = assess_delivery(
        batches, runs, settings=settings, faults=faults, seed=seed, client=client, **times
    )
    case = report.Case(client, settings, faults, times, seed)
    output.show(
        partial(report.print_delivery, case, assessment), json=partial(report.delivery_json, case, assessment)
    )
    return any(tally.runs for tally in (assessment.lost, assessment.duplicated, assessment.reordered))


def _special_record(text: str, option: str) -> tuple[int, float | Ending]:
    """Return the offset and the kind of a value OFFSET=KIND of the option --poison.

    A kind is "release", "reject", "crash", or the time in milliseconds that a member takes for the record.

    Args:
        text: the value.
        option: name of the option, for the message.

    Raises:
        BadParameter: the value has another form.
    """
    offset, _, kind = text.partition("=")
    number = parse_number(offset, MAX_OFFSET)
    if number is None or not re.fullmatch(r"release|reject|crash|[0-9]{1,9}", kind):
        raise click.BadParameter(f"{text!r} is not OFFSET=release, =reject, =crash or =MS", param_hint=option)
    return number, float(kind) if kind.isdigit() else cast("Ending", kind)


def _by_offset(records: Iterable[tuple[int, float | Ending]]) -> dict[int, float | Ending]:
    """Return the kind of each special record by the record's offset.

    Raises:
        BadParameter: a record is given twice with different kinds.
    """
    special: dict[int, float | Ending] = {}
    for offset, kind in records:
        if special.setdefault(offset, kind) != kind:
            raise click.BadParameter(f"record {offset} is two things", param_hint="--poison")
    return special


@model.command(
    epilog=examples_help(
        "copartition model share --members 4 --process 20 --max-poll-records 50",
        "copartition model share --process 120 --max-poll-records 10 --lock 1000",
        "copartition model share --process 120 --max-poll-records 10 --lock 1000 --each --renew",
        "copartition model share --members 2 --max-poll-records 10 --batch-records 10 --poison 33=crash",
    )
)
@count_option("--members", "The number of members of the group.", default=1)
@click.option(
    "--records",
    type=click.IntRange(1, 100_000),
    default=1_000,
    show_default=True,
    help="The number of records in the partition.",
)
@ms_option("--process", "The time that a member takes to process a record.", default=10.0)
@count_option("--max-poll-records", "max.poll.records.", default=500)
@count_option(
    "--batch-records",
    "The number of records in a batch of the log; members acquire whole batches.",
    default=1,
)
@click.option(
    "--each", is_flag=True, help="Acknowledge each record as soon as it is processed, not with the next poll."
)
@click.option(
    "--renew",
    is_flag=True,
    help="After each record that a member has processed, renew the locks on its other records.",
)
@ms_option("--lock", "group.share.record.lock.duration.ms.", default=30_000.0)
@count_option("--delivery-limit", "group.share.delivery.count.limit.", default=5)
@count_option("--max-locks", "group.share.partition.max.record.locks.", default=2_000)
@repeated_option(
    "--poison",
    "special",
    read=_special_record,
    build=_by_offset,
    metavar="OFFSET=release|reject|crash|MS",
    text="A record that members always release or reject, that crashes its member, or that takes MS "
    "milliseconds; repeatable.",
)
@ms_option(
    "--restart", "Time from the crash of a member until another one polls instead; by default none does."
)
@ms_option("--round-trip", "Time from a request to its answer.", default=5.0)
@output_options("text", "json")
def share(
    *,
    process: float,
    lock: float,
    restart: float | None,
    round_trip: float,
    output: Output,
    **values: Any,
) -> int:
    """Compute what becomes of the records of a share group (KIP-932), and which lock and members suffice.

    A model of a partition on the broker and of the members that poll it runs until every record is
    acknowledged or archived, or no member is alive.

    Exit code: 0 every record is accepted or rejected; 1 some records are not; 2 the command could not run.
    """
    from copartition.models.share_groups.report import print_share, share_json  # noqa: PLC0415 - unused by --help
    from copartition.models.share_groups.run import ShareGroup, assess_share  # noqa: PLC0415 - as above

    group = ShareGroup(
        process_ms=process,
        lock_ms=lock,
        restart_ms=inf if restart is None else restart,
        round_trip_ms=round_trip,
        **values,
    )
    assessment = assess_share(group)
    output.show(partial(print_share, assessment), json=partial(share_json, assessment))
    return bool(assessment.result.archived or assessment.result.open)
