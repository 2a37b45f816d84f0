"""States of a group, in short."""

from dataclasses import replace

from assignors.state import MemberIdentity
from copartition.groups.rows import Rows


def group(status, strategy="cooperative-sticky", protocol="classic", count=4, generation=None, **members):
    """A group of the topic t: `a=[0, 1]` is a member and its partitions, those that nobody has are added."""
    rows = Rows()
    for name, partitions in members.items():
        rows.member(_identity(name))
        rows.partitions("t", partitions, name)
    rows.partitions("t", sorted(set(range(count)).difference(*members.values())), None)
    state = rows.state(complete=True, name="g", status=status)
    return replace(state, strategy=strategy, protocol=protocol, generation=generation)


def _identity(name):
    """`a_2` is the client a under its second member id, `static_2` has an instance id, too."""
    client = name.partition("_")[0]
    return MemberIdentity(name, "static" if client == "static" else None, client)
