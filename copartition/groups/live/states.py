"""The columns of a live group."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from assignors.state import UNKNOWN_LAG
from copartition.groups.rows import Rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from assignors.state import GroupState
    from copartition.groups.live.members import LiveGroup
    from copartition.groups.live.topics import LiveTopics
    from partitioning.topic_partition import TopicPartition


def states(
    group: LiveGroup,
    topics: LiveTopics,
    lags: Mapping[tuple[str, int], int],
    warnings: tuple[str, ...],
) -> tuple[GroupState, GroupState | None]:
    """What the members have, and what they are to have where the coordinator tells (KIP-848)."""

    def state(lists: Sequence[Sequence[TopicPartition]]) -> GroupState:
        return replace(_rows(group, lists, topics, lags), warnings=(*group.warnings, *warnings))

    current = state([member.owned for member in group.members])
    return current, state([member.target for member in group.members]) if group.has_target else None


def _rows(
    group: LiveGroup,
    lists: Sequence[Sequence[TopicPartition]],
    topics: LiveTopics,
    lags: Mapping[tuple[str, int], int],
) -> GroupState:
    rows = Rows()
    free = {(topic, number) for topic, count in topics.counts.items() for number in range(count)}
    for member, owned in zip(group.members, lists, strict=True):
        rows.member(member.identity)
        for each in owned:
            rows.partition(*each, member.identity.id, lags.get(each, UNKNOWN_LAG))
            free.discard(each)
    for topic, number in sorted(free):
        rows.partition(topic, number, None, lags.get((topic, number), UNKNOWN_LAG))
    state = rows.state(complete=topics.complete, name=group.name, status=group.status)
    return replace(
        state,
        strategy=group.strategy,
        protocol=group.protocol,
        generation=group.generation,
        leading_client=group.clients.leader,
        clients=group.clients.members,
        group_version=group.group_version,
        topic_ids=tuple(topics.ids.get(name) for name in state.topics),
        racks=tuple(topics.racks.get(name) for name in state.topics) if topics.racks else (),
    )
