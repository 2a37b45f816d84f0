"""Run `copartition assign`: show what an assignor gives to members, from options or from a file."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import click

from copartition.shell.commands import Output, command, write
from copartition.shell.options import (
    members_option,
    output_options,
    strategy_option,
    topics_option,
    weights_option,
)
from partitioning.kit.limits import MAX_TOPIC_NAME

if TYPE_CHECKING:
    from rich.console import Console

    from assignors.state import GroupState
    from copartition.groups.planned_members import Joiner


_TOPIC = re.compile(rf"[A-Za-z0-9._-]{{1,{MAX_TOPIC_NAME}}}")


@command(
    "copartition assign --list",
    "copartition assign range --topic orders=12 --member a@orders --member b",
    "copartition assign cooperative-sticky --from billing.txt",
    "copartition assign uniform --from billing.txt -o json > uniform-plan.json",
)
@click.argument("assignor", required=False)
@topics_option("A topic with N partitions; repeatable.")
@members_option(
    "--member",
    "members",
    id_="ID",
    text="A member; it subscribes to every topic unless it names some. Repeatable, in the order in which "
    "members join.",
)
@click.option(
    "--from",
    "source",
    type=click.Path(exists=True, dir_okay=False, allow_dash=True),
    help="Read topics, members and their partitions from a file: a snapshot, or what a tool printed.",
)
@weights_option("For weighted and cooperative-weighted; lag only with --from.")
@strategy_option("A setting of the assignor, such as lag=lag.json of lag-rack")
@click.option("--list", "listing", is_flag=True, help="List all assignors by name, plug-ins included.")
@output_options("text", "json")
def assign(
    assignor: str | None,
    *,
    topics: tuple[tuple[str, int], ...],
    members: tuple[Joiner, ...],
    source: str | None,
    weights: str | None,
    assignor_settings: dict[str, object],
    listing: bool,
    output: Output,
) -> None:
    """Assign topics to members with ASSIGNOR, a name that --list shows.

    With -o json the assignment is printed as a snapshot, which assignment-diff reads.

    Exit code: 0 the assignment is shown; 2 there is no such assignor, or it cannot assign such a group.
    """
    if listing:
        from assignors import list_assignors  # noqa: PLC0415 - help does without

        rows = [
            (
                list_assignor.name,
                list_assignor.origin,
                f"broken: {list_assignor.fault}" if list_assignor.fault else list_assignor.summary,
            )
            for list_assignor in list_assignors()
        ]
        from copartition.shell.verbs.other_kinds import OTHER_KINDS  # noqa: PLC0415 - likewise

        rows += [(name, kind.origin, kind.summary) for name, kind in OTHER_KINDS.items()]
        output.print_rows([dict(zip(("name", "origin", "summary"), row, strict=True)) for row in rows])
        return
    if assignor is None:
        raise click.UsageError("name an assignor; --list names them all")
    if source is not None and (topics or members):
        raise click.UsageError("--from has topics and members; leave --topic and --member out")
    if source is None and not (topics and members):
        raise click.UsageError("give topics and members with --topic and --member, or a file with --from")
    from copartition.assignment_diff.pair import given_weights  # noqa: PLC0415 - not for help
    from copartition.assignment_diff.planner import plan  # noqa: PLC0415 - not for help
    from copartition.groups import read_source, snapshot_bytes  # noqa: PLC0415 - not for help
    from copartition.shell.verbs.other_kinds import OTHER_KINDS  # noqa: PLC0415 - not for help
    from partitioning.errors import UnknownStrategyError  # noqa: PLC0415 - not for help

    if assignor in OTHER_KINDS:
        if source is not None or weights is not None or assignor_settings:
            raise click.UsageError(f"{assignor} takes --topic and --member alone: files are of consumers")
        _show_other_kind(assignor, _described_group(topics, members), output)
        return
    if source is None:
        start = _described_group(topics, members)
    else:
        source_group = read_source(source)
        # A coordinator that has a target assignment computes the next one from this target, even if members
        # do not own all of its partitions yet.
        start = source_group.state if source_group.target is None else source_group.target
    try:
        planned = plan(start, assignor, weights=given_weights(weights, start), settings=assignor_settings)
    except UnknownStrategyError as error:
        others = ", ".join(OTHER_KINDS)
        raise click.ClickException(f"{error}; for share and Streams groups {others}") from error
    if output.form == "json":
        write(snapshot_bytes(planned).decode())
    else:
        output.paint(partial(_print, planned))


def _show_other_kind(assignor: str, group: GroupState, output: Output) -> None:
    """Print what each member of a share group or of Kafka Streams gets, and what is assumed.

    Args:
        assignor: one of `OTHER_KINDS`.
        group: the group, in which no member owns anything yet.
        output: the form and the destination.
    """
    import json  # noqa: PLC0415 - few ask for it

    from copartition.shell.verbs.other_kinds import OTHER_KINDS  # noqa: PLC0415 - likewise

    strategy, _, _, assumed = OTHER_KINDS[assignor]
    lists = {
        member: [f"{topic}{'_' if 'streams' in assignor else '-'}{number}" for topic, number in sorted(mine)]
        for member, mine in strategy(group).items()
    }
    if output.form == "json":
        write(json.dumps({"assignor": assignor, "members": lists, "assumed": assumed}, indent=2) + "\n")
        return
    from copartition.kit.grid import cell, note, table  # noqa: PLC0415 - only tables need it

    shown = table(["MEMBER", "N", "TASKS" if "streams" in assignor else "PARTITIONS"], right=[1])
    for member, mine in lists.items():
        shown.add_row(cell(member), str(len(mine)), cell(" ".join(mine)))

    def paint(console: Console) -> None:
        console.print(shown)
        for text in assumed:
            console.print(note(f"assumed: {text}"), soft_wrap=True)

    output.paint(paint)


def _described_group(topics: Sequence[tuple[str, int]], members: Sequence[Joiner]) -> GroupState:
    """Return the group of the options --topic and --member, in which no member owns a partition yet.

    A member without topics of its own subscribes to all topics, in the order of the options.

    Args:
        topics: (name, partition count) pairs.
        members: the members in the order in which they join.

    Raises:
        click.BadParameter: a topic, a member id or an instance id is given twice, a name is impossible
            for a topic, or a member subscribes to a topic that is not given.
    """
    from assignors.state import GroupState, MemberIdentity  # noqa: PLC0415 - help does without

    # Topic -> partition count.
    counts: dict[str, int] = {}
    for name, count in topics:
        if name in counts:
            raise click.BadParameter(f"topic {name!r} is given twice", param_hint="--topic")
        if not _TOPIC.fullmatch(name) or name in {".", ".."}:
            raise click.BadParameter(
                f"no topic can be called {name!r}: up to {MAX_TOPIC_NAME} letters, digits, '.', '_', '-'",
                param_hint="--topic",
            )
        counts[name] = count
    # In Kafka a second member with an instance id fences the first one, so no group can have both.
    instances = Counter(member.instance_id for member in members if member.instance_id is not None)
    if twice := [name for name, times in instances.items() if times > 1]:
        raise click.BadParameter(f"instance id {twice[0]!r} is given twice", param_hint="--member")
    identities: dict[str, MemberIdentity] = {}
    for member in members:
        if member.client_id in identities:
            raise click.BadParameter(f"member {member.client_id!r} is given twice", param_hint="--member")
        unknown = [name for name in member.topics or () if name not in counts]
        if unknown:
            raise click.BadParameter(
                f"{member.client_id!r} subscribes to {unknown[0]!r}, whose partitions no --topic gives",
                param_hint="--member",
            )
        identities[member.client_id] = MemberIdentity(
            member.client_id, member.instance_id, topics=member.topics or tuple(counts)
        )
    # `with_every_partition` adds every partition of the topics, without an owner.
    alone = GroupState.without_partitions(tuple(identities.values()), complete=True)
    return alone.with_every_partition(counts)


def _print(state: GroupState, console: Console) -> None:
    """Print a table of the members with their partitions, the range of their loads, and what was assumed."""
    from assignors.partition_list import PartitionList  # noqa: PLC0415 - help does without
    from copartition.kit.grid import cell, note, table  # noqa: PLC0415
    from copartition.kit.words import count, partition_ranges  # noqa: PLC0415

    assignment = state.assignment
    shown = table(["MEMBER", "N", "PARTITIONS"], right=[1])
    for member, mine in assignment.items():
        shown.add_row(cell(member), str(len(mine)), cell(partition_ranges(PartitionList.of(sorted(mine)))))
    if unassigned := PartitionList.of(sorted(assignment.unassigned)):
        shown.add_row(cell("nobody", "yellow"), str(len(unassigned)), cell(partition_ranges(unassigned)))
    console.print(shown)
    # The loads are printed as a range, so that an uneven assignment shows without reading the table.
    loads = [len(mine) for mine in assignment.values()]
    span = f"{min(loads)} to {max(loads)} each"
    console.print(cell(f"{count(sum(loads), 'partition')} for {count(len(loads), 'member')}, {span}"))
    for text in (*state.warnings, *state.assumed):
        console.print(note(text), soft_wrap=True)
