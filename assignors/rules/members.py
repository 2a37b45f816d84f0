"""In which order Kafka visits the members of a group."""

from __future__ import annotations

from typing import TYPE_CHECKING

from partitioning.java import utf16_key
from partitioning.java.hash_map import HashMap

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
