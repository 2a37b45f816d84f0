"""Run `copartition diff`, also called `assignment-diff`: show what changes from one state to another."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import click

from copartition.shell.client_options import client_options
from copartition.shell.commands import COULD_NOT, Output, command, complain, end_of_help, write
from copartition.shell.options import (
    build_lazily,
    check_option,
    group_option,
    grow_option,
    html_option,
    members_option,
    one_argument,
    only_option,
    output_options,
    pace_options,
    repeated_option,
    schema_option,
    split_topics,
    strategy_option,
    weights_option,
)
from partitioning.errors import SourceError
from partitioning.kit.limits import MAX_GROUP_MEMBERS

if TYPE_CHECKING:
    from copartition.assignment_diff.compare import AssignmentDiff
    from copartition.assignment_diff.report.model import View
    from copartition.deploys.pace import Pace
    from copartition.groups.planned_members import WhatIf
    from copartition.kit.number_checks import NumberCheck

CHECKS = (
    "members_before, members_after, members_joined, members_left, idle_before, idle_after, partitions, kept, "
    "moved, moved_least, moved_most, moved_pct, "
    "assigned, unassigned, added, removed, conflicts, unowned, needed_moves, "
    "avoidable_moves, fullest, needed_fullest, topic_fullest, needed_topic_fullest, peak, needed_peak, "
    "spread_before, spread_after, stickiness, lag_moved, lag_unowned"
)
"""The numbers that --check can look at: those of `Summary`, which `--help` names without loading it."""

_CONFLICTS = 10
"""The most conflicts that are named on the error stream; the report names all of them."""

HELP_END = end_of_help(__package__, CHECKS=CHECKS)
"""The end of --help, from `help.txt`."""


view_options = one_argument(
    "view",
    build_lazily("copartition.assignment_diff.report.model", "View"),
    click.option(
        "--by",
        type=click.Choice(["member", "topic", "partition"]),
        help="Whether a row of the report is a member, a topic or a partition.",
    ),
    only_option("topic", "topic", "Show only topics whose names match."),
    only_option("member", "member", "Show only members whose names match."),
    click.option(
        "--all",
        "every",
        is_flag=True,
        help="Show every row, also what did not change; by default only the 40 largest changes.",
    ),
    click.option("--reasons", is_flag=True, help="plan: Show why the assignor moves each partition."),
    parameters=("by", "topic", "member", "every", "reasons"),
)
"""Options that choose the part of a diff to show; the command gets them as `view`."""


def _subscription(text: str, option: str) -> tuple[str, tuple[str, ...]]:
    """Return (member, topics) of a text MEMBER=TOPIC,.. as --subscribe has it.

    Raises:
        click.BadParameter: the text has another form.
    """
    # A client id may contain "=", a topic's name cannot. So the last "=" separates them.
    member, _, topics = text.rpartition("=")
    if not member:
        raise click.BadParameter(f"{text!r} is not MEMBER=TOPIC,..", param_hint=option)
    return member, split_topics(topics, text, option)


planning_options = one_argument(
    "what_if",
    build_lazily("copartition.groups.planned_members", "WhatIf"),
    click.option(
        "--add-members",
        type=click.IntRange(0, MAX_GROUP_MEMBERS),
        default=0,
        metavar="N",
        help="plan: N more members join.",
    ),
    members_option(
        "--add-member",
        "joining",
        id_="CLIENT",
        text="plan: A member with this client id joins; repeatable.",
    ),
    click.option(
        "--remove-member",
        "remove_members",
        multiple=True,
        metavar="ID",
        help="plan: This member leaves; repeatable.",
    ),
    click.option(
        "--deploy",
        type=click.Choice(["rolling", "surge"]),
        help="plan: Every member is replaced, one after the other. rolling: it leaves before it comes back; "
        "surge: the new one joins before the old one leaves.",
    ),
    repeated_option(
        "--subscribe",
        read=_subscription,
        build=dict,
        metavar="MEMBER=TOPIC,..",
        text="A member subscribes to these topics; * means all members that are not named, new ones too. "
        "Repeatable.",
    ),
    grow_option("plan: A topic grows to N partitions; repeatable.", "partitions"),
    parameters=("add_members", "joining", "remove_members", "deploy", "subscribe", "partitions"),
)
"""Options that change the group of a plan; the command gets them as `what_if`."""


@command(epilog=HELP_END)
@click.argument("before")
@click.argument("after", required=False)
@output_options("text", "stat", "json", "ndjson", "csv", "markdown", file=True)
@html_option
@click.option("-q", "--quiet", is_flag=True, help="Print no report; only the exit code tells the result.")
@view_options
@click.option(
    "--match",
    type=click.Choice(["auto", "instance-id", "client-id", "host", "member-id", "overlap"]),
    default="auto",
    show_default=True,
    help="By what a member of BEFORE is recognised in AFTER; overlap: by its partitions.",
)
@check_option("moved_pct<=10")
@click.option("--strict", is_flag=True, help="End with exit code 2 if the answer relies on any assumption.")
@group_option
@planning_options
@weights_option("For plan:weighted, and for the peak of any change.")
@strategy_option("plan: A setting of the assignor, such as lag=lag.json of plan:lag-rack")
@pace_options
@client_options("The cluster of live:GROUP.")
@click.option(
    "--save",
    type=click.Path(dir_okay=False),
    help="Write a snapshot to this file: of the plan; without a plan, of the live group, else of AFTER.",
)
@schema_option("copartition.assignment_diff.report.json", "diff_schema")
@click.version_option(package_name="copartition")
def diff(
    before: str,
    after: str | None,
    *,
    output: Output,
    html: str | None,
    quiet: bool,
    view: View,
    match: str,
    checks: tuple[str, ...],
    strict: bool,
    group: str | None,
    what_if: WhatIf,
    weights: str | None,
    assignor_settings: dict[str, object],
    pace: Pace,
    config: dict[str, str],
    save: str | None,
) -> int:
    """Show what changes in a consumer group from BEFORE to AFTER.

    BEFORE and AFTER are sources. A source is a file, or - for standard input (a snapshot, or what
    kafka-consumer-groups --describe printed, with or without --members --verbose); live:GROUP, a group of the
    cluster; plan:ASSIGNOR, the other side as that assignor would assign it; scenario.yaml#STEP, a step of a
    simulation; record.ndjson#STEP, a step of what copartition watch has recorded; or capture.txt#STEP, one of
    several captures of the group in a text.

    BEFORE alone is enough if it holds two states: a scenario, a record or several captures, of which the
    first and the last state are compared, or a KIP-848 group on its way to its target. If BEFORE holds a
    single state, the report says how even its loads are.
    """
    _check_rows(output.form, view.by)
    # Help and completion do without these.
    from dataclasses import replace  # noqa: PLC0415

    from copartition.assignment_diff.compare import diff as compare  # noqa: PLC0415
    from copartition.assignment_diff.pair import read_pair  # noqa: PLC0415
    from copartition.assignment_diff.summary import parse_check  # noqa: PLC0415
    from copartition.groups import snapshot_bytes  # noqa: PLC0415

    limits = [parse_check(text) for text in checks]
    pace.check()
    pair = read_pair(
        before,
        after,
        config=config,
        what_if=what_if,
        group=group,
        weights=weights,
        settings=assignor_settings,
    )
    if view.reasons and pair.after.explainer is None:
        raise click.UsageError("--reasons tells why a plan moves partitions; name plan:ASSIGNOR as AFTER")
    # A plan keeps the ids of members, so any other rule could only pair members that are not the same.
    rule = "member-id" if pair.planned and match == "auto" else match
    change = compare(pair.before, pair.after, match=rule, pace=pace, weights=pair.weights)
    change = replace(change, alone=pair.alone)
    if not len(change.action):
        state = f", which is {pair.after.status}" if pair.after.status else ""
        raise SourceError(
            f"nothing to compare: neither side shows a partition of the group{state}; capture all of the "
            "output, rows of partitions too, while the group is Stable"
        )
    # This comes before any output: a user would take a report for an answer, whatever the exit code is.
    if strict and change.assumed:
        complain(f"--strict: assumed: {'; '.join(change.assumed)}")
        return COULD_NOT
    # Limits are checked before anything is written, because a limit on an unknown number ends the command.
    failed = [limit for limit in limits if not limit.passes(change.summary)]
    if save is not None:
        # The plan is saved before the report is printed, so that a broken pipe does not lose it.
        write(snapshot_bytes(pair.kept.state, pair.kept.target).decode(), save)
    # The text report and Markdown name all conflicts. A program may read another format only for its numbers,
    # so the error stream then names the first conflicts.
    silent = quiet or output.form not in {"text", "markdown"}
    for conflict in change.conflicts[: _CONFLICTS * silent]:
        complain(f"{conflict.topic}-{conflict.partition} has two owners")
    if html is not None:
        from copartition.assignment_diff.page import diff_html  # noqa: PLC0415 - needs the extra "report"

        write(diff_html(change, reasons=view.reasons), html)
    if not quiet:
        _report(change, view, limits, output)
    for limit in failed:
        complain(f"check failed: {limit}, it is {limit.describe(change.summary)}")
    if not limits and _unknown_deploy(change):
        return COULD_NOT
    return bool(failed) if limits else _found_something(change)


def _unknown_deploy(change: AssignmentDiff) -> bool:
    """Return True if the user asked what a deploy stops, and the answer is unknown.

    Exit code 0 would be wrong then. False if the user did not ask about a deploy, even if it is unknown what
    the change stops.
    """
    from copartition.kit.evidence import Missing  # noqa: PLC0415 - help and completion do without

    return change.after.deploy is not None and isinstance(change.stops, Missing)


def _found_something(change: AssignmentDiff) -> bool:
    """Return True if anything differs or stops; for a single state, if it is uneven or lacks an owner.

    If so, a diff without --check ends with exit code 1.
    """
    if change.alone:
        from copartition.assignment_diff.needed import is_even  # noqa: PLC0415 - help and completion do without

        even = change.balance
        return even is None or not is_even(even) or change.summary.unowned > 0
    stays = change.same and not change.summary.moved_most  # a plan under other ids may move partitions
    return not stays or change.new_strategy or _stops_something(change)


def _stops_something(change: AssignmentDiff) -> bool:
    """Return True if a partition is not read for a while on the way to a plan.

    False for two states that are not a plan, whatever happened between them, and if it is unknown what stops.
    """
    from copartition.kit.evidence import Missing  # noqa: PLC0415 - help and completion do without

    if change.after.status != "planned" or isinstance(change.stops, Missing):
        return False
    return any(way.stopped for way in change.stops)


def _check_rows(form: str, by: str | None) -> None:
    """Raise an error if a format does not have the rows that --by asks for.

    Args:
        form: name of the output format, such as "json".
        by: what a row of the report is: "member", "topic" or "partition"; None if the user does not say.

    Raises:
        click.UsageError: the format has no such rows.
    """
    if by is not None and form == "json":
        raise click.UsageError("-o json has members, topics and partitions; leave --by out")
    if by == "partition" and form == "stat":
        raise click.UsageError("-o stat counts partitions; --by is member or topic")


def _report(change: AssignmentDiff, view: View, limits: Sequence[NumberCheck], output: Output) -> None:
    """Print the report in the form of `output`.

    Args:
        change: the diff.
        view: the part of the diff to show.
        limits: the limits of --check. Only JSON contains their results.
        output: the form of the report, and where to write it.
    """
    if output.form in {"text", "stat"}:
        from copartition.assignment_diff.report.text import print_diff, print_stat  # noqa: PLC0415 - needs rich

        output.paint(partial(print_diff if output.form == "text" else print_stat, change, view=view))
        return
    from copartition.assignment_diff.report.json import diff_csv, diff_json, diff_lines  # noqa: PLC0415 - one of several
    from copartition.assignment_diff.report.markdown import diff_markdown  # noqa: PLC0415 - as above

    if output.form == "json":
        output.write(diff_json(change, view, limits))
    elif output.form == "ndjson":
        output.write("".join(diff_lines(change, view)))
    else:
        output.write((diff_csv if output.form == "csv" else diff_markdown)(change, view))
