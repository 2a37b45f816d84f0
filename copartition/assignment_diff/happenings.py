"""Read from a diff what happens to the group on the way from one side to the other, and what that stops."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from assignors.state import CONNECT, GroupState, MemberIdentity
from copartition.assignment_diff.changes import Action, Presence
from copartition.deploys.answer import Stops
from copartition.deploys.scenario import NOTHING, Happening
from copartition.deploys.stops import stops_of_group
from copartition.kit.evidence import Missing
from copartition.migrate.migration import plan_migration
from partitioning.errors import MigrationError, UnknownStrategyError

if TYPE_CHECKING:
    from copartition.assignment_diff.compare import AssignmentDiff


def find_stops(diff: AssignmentDiff) -> tuple[Stops, ...] | Missing:
    """Return what the change stops as it is planned and, if members left, also what it stops if they crashed.

    Returns:
        One or two items. The result is empty if nothing happens, if no member read a partition before the
        change, or if no member is left after it. `Missing` with the reason, if the simulator cannot tell.
    """
    before, after = diff.before, diff.after
    happening = _happening(diff)
    if isinstance(happening, Missing):
        return happening
    nobody = len(happening.leaves) == len(before.members) and not happening.joins
    if happening == NOTHING or nobody or not (before.member >= 0).any():
        return ()
    # Until every member has restarted, the group still has its old strategy.
    strategy = before.strategy if diff.new_strategy else after.strategy or before.strategy
    ways = [happening]
    # No source shows whether a member that left sent LeaveGroup or crashed. After a crash its partitions stop
    # for longer.
    if happening.leaves and happening.deploy is None:
        ways.append(replace(happening, crash=True))
    found: list[Stops] = []
    for way in ways:
        stops = stops_of_group(_with_subscriptions(before, after), way, diff.pace, assignor=strategy)
        if isinstance(stops, Missing):
            return stops
        found.append(stops)
    return tuple(found)


def _happening(diff: AssignmentDiff) -> Happening | Missing:
    """Return what happens to the group: members that join or leave, topics that grow, a new strategy.

    Args:
        diff: the diff from which all this is read.

    Returns:
        All that happens, as one happening. A change of strategy takes the bounces of a migration and a
        rolling deploy, unless the state after names a deploy of its own. `Missing` if partitions move and no
        source shows why, or if no rolling bounce leads to the new strategy.
    """
    before, after = diff.before, diff.after
    ids = {member.before_id: member for member in diff.members if member.presence is Presence.LEFT}
    leaves = tuple(number for number, member in enumerate(before.members) if member.id in ids)
    new = {member.after_id for member in diff.members if member.presence is Presence.JOINED}
    joins = tuple(member for member in after.members if member.id in new)
    grows = _growth(diff)
    bounces: tuple[tuple[str, ...], ...] = ()
    # Members cannot change their strategy while they run, so a new strategy takes rolling bounces.
    if diff.new_strategy:
        try:
            migration = plan_migration(
                [before.strategy or ""],
                [after.strategy or ""],
                clients=before.clients or ("java",),
                group_version=before.group_version,
            )
        except (MigrationError, UnknownStrategyError) as error:
            return Missing(f"what stops: {error}", "copartition migrate says which ways there are")
        if migration.obstacle is not None:
            return Missing(
                f"what stops: no rolling bounce leads there, as {migration.obstacle}",
                "copartition migrate says what else does",
            )
        bounces = tuple(bounce.strategies for bounce in migration.bounces)
    deploy = after.deploy or ("rolling" if bounces else None)
    happening = Happening(joins=joins, leaves=leaves, grows=grows, deploy=deploy, bounces=bounces)
    # Workers of Kafka Connect are no consumers, so nothing that they stop is counted in partition-seconds.
    consumers = not diff.alone and before.protocol != CONNECT
    if consumers and happening == NOTHING and (diff.action == Action.MOVE).any():
        return Missing(
            "what stops: partitions have other owners, and no source shows why the group rebalanced",
            "copartition watch GROUP records what happens to a group",
        )
    return happening


def _growth(diff: AssignmentDiff) -> Mapping[str, int]:
    """Return topic -> new partition count, for topics that have grown.

    A topic is left out if none of its new partitions has an owner after.
    """
    rows = (diff.action == Action.ADDED) & (diff.target >= 0)
    counts = diff.after.counts_by_topic
    return {diff.topics[topic]: counts[diff.topics[topic]] for topic in np.unique(diff.topic[rows]).tolist()}


def _with_subscriptions(before: GroupState, after: GroupState) -> GroupState:
    """Return the state before, with subscriptions filled in that only the state after tells.

    Args:
        before: the state; subscriptions that it tells are kept.
        after: the state with subscriptions of the same members, recognised by their member ids.
    """
    told = {member.id: member.topics for member in after.members}
    members: tuple[MemberIdentity, ...] = tuple(
        member._replace(topics=told.get(member.id)) if member.topics is None else member
        for member in before.members
    )
    return replace(before, members=members)
