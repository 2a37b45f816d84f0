"""Groups to be planned, made by hand."""

import numpy as np

from assignors.state import GroupState, MemberIdentity


def group(members, owned, counts, **more):
    """A group with every partition of its topics.

    Args:
        members: identities, or member ids of members that subscribe to every topic.
        owned: partitions by member id, as (topic, number).
        counts: partition counts by topic.
        more: other fields of the state; its clients are Java's where they do not say otherwise.
    """
    identities = tuple(
        member if isinstance(member, MemberIdentity) else MemberIdentity(member, topics=tuple(counts))
        for member in members
    )
    owner = {
        partition: number
        for number, identity in enumerate(identities)
        for partition in owned.get(identity.id, ())
    }
    topics = tuple(counts)
    rows = [
        (owner.get((topic, partition), -1), number, partition)
        for number, topic in enumerate(topics)
        for partition in range(counts[topic])
    ]
    columns = np.array(rows, np.int32).reshape(-1, 3).T
    return GroupState(identities, topics, *columns, complete=True, **{"clients": ("java",)} | more)


def lists(state):
    """Partitions by member name, as texts."""
    found = {member.instance_id or member.client_id or member.id: [] for member in state.members}
    names = [*found]
    for member, topic, partition in zip(state.member, state.topic, state.partition, strict=True):
        if member >= 0:
            found[names[member]].append(f"{state.topics[topic]}-{partition}")
    return {name: sorted(partitions) for name, partitions in found.items()}
