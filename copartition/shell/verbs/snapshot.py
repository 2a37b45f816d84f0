"""Run `copartition snapshot`: keep a group at one moment as a file, to be compared with later."""

import click

from copartition.shell.client_options import client_options
from copartition.shell.commands import command, write
from copartition.shell.options import group_option, out_option, verbose_option


@command(
    "copartition snapshot live:billing -b localhost:9092 > live.json",
    "copartition snapshot billing.txt --as-scenario > billing.yaml",
    "copartition snapshot night.ndjson#2",
    "copartition snapshot deploy.yaml#3 --out step.json",
)
@click.argument("source")
@click.option(
    "--as-scenario",
    is_flag=True,
    help="Print a scenario for copartition simulate instead: YAML of the group at rest, to which you add "
    "events.",
)
@click.option("--assignor", help="With --as-scenario: the group's strategy, if the source does not name it.")
@out_option
@group_option
@client_options("The cluster of live:GROUP.")
@verbose_option
def snapshot(
    source: str,
    *,
    as_scenario: bool,
    assignor: str | None,
    out: str | None,
    group: str | None,
    config: dict[str, str],
) -> None:
    """Print a group as JSON, to be compared with later: members, subscriptions, owners, lag.

    SOURCE is a source as assignment-diff takes it: live:GROUP, a file, - for standard input, or a step of a
    scenario or a record. The snapshot of a KIP-848 group has its target assignment, too. Share groups and
    Streams groups have snapshots of another form, which copartition doctor reads. To keep a plan, use
    assignment-diff --save.

    Exit code: 0 the snapshot is printed; 2 the source could not be read.
    """
    from copartition import groups  # noqa: PLC0415 - help does without
    from copartition.groups.kinds.model import other_group_bytes  # noqa: PLC0415 - as above

    if not as_scenario:
        read = groups.read_any_source(source, config, group=group)
        if isinstance(read, groups.OtherSource):
            write(other_group_bytes(read.state).decode(), out)
        else:
            write(groups.snapshot_bytes(read.state, read.target).decode(), out)
        return
    from copartition.deploys.scenario import scenario_of  # noqa: PLC0415 - as above
    from copartition.simulation.inputs.file import scenario_yaml  # noqa: PLC0415 - as above

    # A scenario has consumers, so another kind of group is refused for it with an error that names its kind.
    # The target is left out: a scenario starts from a group at rest.
    captured = scenario_of(groups.read_source(source, config, group=group).state, assignor=assignor)
    write(scenario_yaml(captured.scenario, captured.assumed), out)
