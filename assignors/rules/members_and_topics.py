"""Members and subscribed topics of a group in the order in which Kafka visits them.

Kafka 4.4.0, as 4.1 to 4.4.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from partitioning.java import utf16_key
from partitioning.java.hash_map import HashMap, HashSet

if TYPE_CHECKING:
    from assignors.group import Group, Member


def members_by_id(group: Group) -> HashMap[str, Member]:
    """The members in a `HashMap`, as the leader and the coordinator have them, put in JoinGroup order."""
    members: HashMap[str, Member] = HashMap()
    for member in group.members:
        members[member.id] = member
    return members


def sorted_members(group: Group) -> list[Member]:
    """The members in the order in which range and roundrobin serve them.

    Static members come first, by instance id (KIP-345), then dynamic ones by member id. Two that share an
    instance id, which no coordinator lets happen, stay in the order of the `HashMap`. In Kafka it is
    `AbstractPartitionAssignor.MemberInfo.compareTo`, and on the broker `RangeAssignor.sortMemberIds`.
    """
    return sorted(members_by_id(group).values(), key=_member_info)


def _member_info(member: Member) -> tuple[bool, bytes]:
    """Quirk: Java compares texts by UTF-16 code unit, so U+1F600 comes before U+FF5E."""
    if member.instance_id is not None:
        return False, utf16_key(member.instance_id)
    return True, utf16_key(member.id)


def partitions_per_topic(group: Group) -> HashMap[str, int]:
    """How many partitions each subscribed topic has; `AbstractPartitionAssignor.assign` makes this map.

    Topics without metadata are left out. The order of the map decides the order of lists.
    """
    # 1. A HashSet of all subscribed topics; adding one again changes nothing.
    subscriptions = (member.topics for member in members_by_id(group).values())
    all_subscribed_topics: HashSet[str] = HashSet()
    for topic in dict.fromkeys(chain.from_iterable(subscriptions)):
        all_subscribed_topics.add(topic)

    # 2. A HashMap of the topics that have partitions, put in the order of that set.
    metadata = {topic.name: topic.partitions for topic in group.topics}
    partitions: HashMap[str, int] = HashMap()
    for topic in all_subscribed_topics:
        if metadata.get(topic):
            partitions[topic] = metadata[topic]
    return partitions
