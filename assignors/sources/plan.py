"""What an assignor would do to a group as it is, or as it might be."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from assignors.diff.state import GroupState, MemberIdentity
from assignors.errors import SourceError
from assignors.explain import Explainer
from assignors.group import Group, Member, StickyUserData, Topic
from assignors.limits import check_members, check_partitions
from assignors.partition_list import PartitionColumns, PartitionList
from assignors.registry import get_assignor
from assignors.settling import settle

if TYPE_CHECKING:
    from collections.abc import Mapping

    from assignors.assignment import Assignment

ROUNDS = 10
"""Follow-up rebalances after which a cooperative strategy must have settled; Kafka's own tests allow four."""


class Joiner(NamedTuple):
    """A member that joins.

    Attributes:
        client_id: its `client.id`.
        instance_id: its `group.instance.id`.
        topics: what it subscribes to; None for every topic that the group reads.
    """

    client_id: str
    instance_id: str | None = None
    topics: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class WhatIf:
    """A change to the group before it is assigned.

    Attributes:
        add_members: how many members join; they subscribe to every topic that the group reads.
        joining: members that join under names of their own.
        remove_members: who leaves, by instance id, client id or member id.
        partitions: new partition counts of topics.
        subscribe: what members subscribe to, by instance id, client id or member id, where no source tells
            or to try another subscription.
        rolling_restart: whether every member is restarted, one after the other.
    """

    add_members: int = 0
    joining: tuple[Joiner, ...] = ()
    remove_members: tuple[str, ...] = ()
    partitions: Mapping[str, int] = field(default_factory=dict)
    subscribe: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    rolling_restart: bool = False

    def __bool__(self) -> bool:
        return self != WhatIf()


def plan(state: GroupState, assignor: str, what_if: WhatIf | None = None) -> GroupState:
    """The group after this assignor has had its way, follow-up rebalances included.

    Members carry what they own now into it, so sticky strategies keep what they can. Its `explainer` makes
    the decisions once more when it is asked why.

    Raises:
        SourceError: no such member or topic, a topic that would shrink, or a group without members.
        UnknownStrategyError: no strategy of that name.
        AssignorError: the strategy cannot assign this group.
    """
    what_if = what_if or WhatIf()
    joining = what_if.add_members
    check_members(len(state.members) + joining, SourceError, f"--add-members {joining}: the group")
    state = as_complete(state)
    strategy = get_assignor(assignor)
    warnings = list(state.warnings)
    topics = _read_topics(state)
    if any(member.topics is None for member in state.members):
        warnings.append(f"subscriptions are unknown; taken for everybody's: {', '.join(topics) or 'nothing'}")
    counts = _counts(state, what_if)
    leaving = {_find(state, name) for name in what_if.remove_members}
    owned = _owned(state)
    members = [
        Member(
            identity.id,
            topics if identity.topics is None else identity.topics,
            instance_id=identity.instance_id,
            owned=owned[number],
            generation=1,
            user_data=StickyUserData(owned[number], 1),
        )
        for number, identity in enumerate(state.members)
        if number not in leaving
    ]
    identities = [identity for number, identity in enumerate(state.members) if number not in leaving]
    for name in _new_names(state, joining):
        identities.append(MemberIdentity(name))
        members.append(Member(name, topics))
    if not members:
        raise SourceError(f"plan:{assignor}: the group has no members; add some with --add-members N")
    group = Group([Topic(name, count) for name, count in counts.items()], members, generation=1)
    *_, assignment = settle(strategy.assign, group, ROUNDS)
    explainer = Explainer(group, assignment, assignor=assignor, follow_ups=ROUNDS)
    planned = _state(assignment, identities, counts, state.name, warnings)
    return replace(planned, explainer=explainer)


def as_complete(state: GroupState) -> GroupState:
    """The state with a row for every partition, up to the highest seen where counts are unknown."""
    if state.complete:
        return state
    warning = "partition counts are taken from the highest partition seen"
    return replace(state.completed(_seen(state)), warnings=(*state.warnings, warning))


def _seen(state: GroupState) -> dict[str, int]:
    """Partition counts by the highest partition of each topic."""
    counts = np.zeros(len(state.topics), np.int64)
    np.maximum.at(counts, state.topic, state.partition.astype(np.int64) + 1)
    return dict(zip(state.topics, counts.tolist(), strict=True))


def _counts(state: GroupState, what_if: WhatIf) -> dict[str, int]:
    counts = _seen(state)
    for topic, count in what_if.partitions.items():
        if topic not in counts:
            known = ", ".join(sorted(counts)) or "no topic"
            raise SourceError(f"--partitions {topic}={count}: the group reads {known}")
        check_partitions(count, SourceError, f"--partitions {topic}={count}: the topic")
        if count < counts[topic]:
            raise SourceError(
                f"--partitions {topic}={count}: it has {counts[topic]} already; a topic only grows"
            )
        counts[topic] = count
    return counts


def _read_topics(state: GroupState) -> tuple[str, ...]:
    """Topics the group reads; one that nobody has a partition of is a leftover of commits, unless all are."""
    read = [state.topics[number] for number in np.unique(state.topic[state.member >= 0])]
    return tuple(sorted(read or state.topics))


def _find(state: GroupState, name: str) -> int:
    for known in ("instance_id", "client_id", "id"):
        found = [number for number, member in enumerate(state.members) if getattr(member, known) == name]
        if len(found) == 1:
            return found[0]
        if found:
            raise SourceError(
                f"--remove-member {name}: {len(found)} members have it as {known}; give a member id"
            )
    raise SourceError(f"--remove-member {name}: the group has no such instance id, client id or member id")


def _owned(state: GroupState) -> list[PartitionList]:
    order = np.argsort(state.member, kind="stable")
    ends = np.searchsorted(state.member[order], np.arange(len(state.members) + 1)).tolist()
    columns = PartitionColumns(state.topics, state.topic[order], state.partition[order])
    return [PartitionList.part(columns, start, end) for start, end in pairwise(ends)]


def _new_names(state: GroupState, count: int) -> list[str]:
    taken = {member.id for member in state.members}
    names = (f"new-{number}" for number in range(count + len(taken)))
    return [name for name in names if name not in taken][:count]


def _state(
    assignment: Assignment,
    identities: list[MemberIdentity],
    counts: Mapping[str, int],
    name: str | None,
    warnings: list[str],
) -> GroupState:
    given = GroupState.of(assignment)
    of_id = {identity.id: identity for identity in identities}
    return replace(
        given.completed(counts),
        members=tuple(of_id[member.id] for member in given.members),
        name=name,
        status="planned",
        warnings=tuple(warnings),
    )
