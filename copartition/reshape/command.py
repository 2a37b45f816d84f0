"""The command `copartition reshape`: another count or rule for a topic that is in use, every key in order."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import click

from copartition.shell.client_options import client_options
from copartition.shell.commands import Output, command, end_of_help
from copartition.shell.options import output_options, pace_options, schema_option
from partitioning.kit.limits import MAX_PARTITION

if TYPE_CHECKING:
    from copartition.deploys.pace import Pace

HELP_END = end_of_help(__package__)


@command(epilog=HELP_END)
@click.argument("topic")
@click.option(
    "-n",
    "--partitions",
    type=click.IntRange(1, MAX_PARTITION),
    required=True,
    help="Partitions of the new topic; more, fewer, or as many as now.",
)
@click.option(
    "--profile",
    metavar="NAME",
    help="Whose rule places keys there; by default the one that placed most of the records.",
)
@click.option("--to", "target", metavar="TOPIC", help="Name of the new topic.  [default: TOPIC.pN]")
@click.option("--full", is_flag=True, help="Read every record for the plan, not a sample.")
@click.option(
    "--copy-rate",
    type=click.FloatRange(min=0, min_open=True),
    metavar="N",
    help="Records a second that the copy makes, as --copy has printed it.",
)
@client_options("The cluster.")
@pace_options
@output_options("text", "json", "markdown", file=True)
@schema_option("copartition.reshape.report", "reshape_schema")
@click.pass_context
def reshape(
    ctx: click.Context,
    topic: str,
    *,
    partitions: int,
    profile: str | None,
    target: str | None,
    full: bool,
    copy_rate: float | None,
    config: dict[str, str],
    pace: Pace,
    output: Output,
) -> None:
    """Give TOPIC another partition count, another rule for keys, or both, with each key's records in order.

    The plan reads only: who writes the topic and who reads it, which keys move, what cannot be kept, the
    steps with what each stops and for how long, by a new topic and in place.
    """
    if not config.get("bootstrap.servers"):
        raise click.UsageError("a topic is reshaped on a cluster; name it with -b HOST:PORT")
    from copartition.reshape.plan import plan_reshape, refused_plan  # noqa: PLC0415 - help does without
    from copartition.reshape.refusals import why_refused  # noqa: PLC0415 - likewise
    from copartition.reshape.report import plan_json, plan_markdown, print_plan  # noqa: PLC0415 - likewise
    from partitioning.kit.packages import needs  # noqa: PLC0415 - likewise
    from partitioning.placement import check_profile  # noqa: PLC0415 - likewise

    # Before anything is read, so that a wrong name costs no time.
    if profile is not None:
        check_profile(profile)
    pace.check()
    target = target or f"{topic}.p{partitions}"
    if target == topic:
        raise click.UsageError(f"--to {target} is the topic itself; the copy needs a topic of its own")
    if (why := why_refused(topic)) is not None:
        plan = refused_plan(topic, why)
    else:
        with needs("copartition reshape", "kafka"):
            from copartition.reshape.observing import observe_topic  # noqa: PLC0415 - needs confluent-kafka
        observed = observe_topic(topic, target, config, full=full)
        plan = plan_reshape(observed, target, partitions, profile=profile, copy_rate=copy_rate, pace=pace)
    output.show(
        partial(print_plan, plan), json=partial(plan_json, plan), markdown=partial(plan_markdown, plan)
    )
    ctx.exit(plan.exit_code)
