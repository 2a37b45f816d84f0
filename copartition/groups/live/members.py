"""Read who is in a live group, what each member has and asked for, and which client library it runs.

The library shows in the bytes that a member leaves with the coordinator, read off real groups of each client.
An assignment is the leader's: version 1 to 3 with user data null is Java's, and that of clients that follow
its protocol classes; with empty user data version 1 is kafka-python's, a higher one that of this project's
assignors in it; version 0 with user data librdkafka's, kafka-python's or aiokafka's, with the 4 bytes of a
generation that of this project's "sticky" in aiokafka. A subscription is the member's own:

- librdkafka: version 1 to 3, user data empty, under "cooperative-sticky" a list of 8 bytes or more;
- Java, and kafka-python if it assigns with this project's assignors: user data null, under
  "cooperative-sticky" the 4 bytes of a generation; only the leader's assignment tells the two apart;
- kafka-python: version 0, under "cooperative-sticky" 1 and user data empty; aiokafka: version 0. The bytes
  of the two are the same, and both are called kafka-python.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from assignors.protocol import Subscription, decode_assignment, decode_subscription
from assignors.state import MemberIdentity, strategy_name
from copartition.groups.live.cluster import Cluster
from copartition.groups.live.wire import read_subscriptions
from copartition.kit.places import Place
from partitioning.errors import ProtocolError, SourceError

_GENERATION = 4
"""Bytes of a generation, which is all that Java's "cooperative-sticky" says as user data."""
_OURS = "this project's assignors in kafka-python or aiokafka"  # which decide as Java's client does


class Clients(NamedTuple):
    """The client libraries of a group, by the names that `copartition migrate --client` takes."""

    leader: str | None  # by whose rules assignments were made; None if the bytes do not show it
    members: tuple[str, ...]  # of all members whose bytes show it, each once


def find_clients(
    subscriptions: Iterable[bytes], assignments: Iterable[bytes], strategy: str | None
) -> Clients:
    """Return the libraries that the ConsumerProtocol bytes of a group show.

    Args:
        subscriptions: the bytes of each member; b"" if it left none.
        assignments: the bytes that the leader made for each member.
        strategy: the group's strategy, which decides what user data means.
    """
    kinds = {
        kind for data in subscriptions if data and (kind := _kind_by_subscription(data, strategy)) is not None
    }
    leaders = {kind for data in assignments if data and (kind := _kind_by_assignment(data)) is not None}
    old = leaders.pop() if len(leaders) == 1 else None
    if old == "version 0":
        # Of the two that write version 0 it is the one that is there.
        there = kinds & {"librdkafka", "kafka-python"}
        old = there.pop() if len(there) == 1 else None
    library = "kafka-python" if old == _OURS else old
    whose = library if library in {"java", "kafka-python"} else "java"
    kinds = {whose if kind == "java or kafka-python" else kind for kind in kinds}
    kinds.update(filter(None, [library]))
    return Clients("java" if old == _OURS else old, tuple(sorted(kinds)))


def _kind_by_assignment(assignment: bytes) -> str | None:
    """Return the library of the leader that made these bytes; None if several may have.

    "version 0" stands for librdkafka, kafka-python or aiokafka, which only subscriptions tell apart.
    """
    version = int.from_bytes(assignment[:2], "big")
    try:
        user_data = decode_assignment(assignment)[1]
    except ProtocolError:
        return None
    if user_data is None:
        return "java" if version else None
    if version == 0:
        return _OURS if len(user_data) == _GENERATION else "version 0"
    return None if user_data else "kafka-python" if version == 1 else _OURS


def _kind_by_subscription(subscription: bytes, strategy: str | None) -> str | None:
    """Return the library of the member that made these bytes; None if several may have."""
    version = int.from_bytes(subscription[:2], "big")
    try:
        user_data = decode_subscription(subscription).user_data
    except ProtocolError:
        return None
    if version == 0 or (version == 1 and strategy == "cooperative-sticky" and user_data == b""):
        return "kafka-python"
    if strategy == "cooperative-sticky" and user_data:
        return "java or kafka-python" if len(user_data) == _GENERATION else "librdkafka"
    if user_data is None:
        return "java or kafka-python"
    return None if user_data else "librdkafka"


_STATES = {
    "STABLE": "Stable",
    "EMPTY": "Empty",
    "PREPARING_REBALANCING": "PreparingRebalance",
    "COMPLETING_REBALANCING": "CompletingRebalance",
}
"""Kafka's own name of each state, by librdkafka's name."""

_WORDS = {"Empty": "empty", "Reconciling": "reconciling"}


class LiveMember(NamedTuple):
    """A member with its partitions, and those that it is to have if the coordinator tells them (KIP-848)."""

    identity: MemberIdentity
    owned: Sequence[Place]
    target: Sequence[Place] = ()


class LiveGroup(NamedTuple):
    """A group as its coordinator describes it."""

    name: str
    status: str | None  # Kafka's name for its state; None if librdkafka does not know it
    protocol: str | None  # "classic" or "consumer"
    strategy: str | None  # its assignor, by our name; None while it has none
    members: Sequence[LiveMember]
    has_target: bool
    warnings: tuple[str, ...] = ()
    generation: int | None = None  # the lowest that its generation can be; None if unknown
    clients: Clients = Clients(None, ())  # of a classic group
    group_version: int | None = None  # the cluster's level of group.version; None if unknown

    @property
    def topics(self) -> set[str]:
        """The topics that members subscribe to, have, or are to have."""
        named = {topic for member in self.members for topic in member.identity.topics or ()}
        return named | {topic for member in self.members for topic, _ in (*member.owned, *member.target)}

    @property
    def has_racks(self) -> bool:
        """True if any member has a rack."""
        return any(member.identity.rack for member in self.members)


def describe_group(cluster: Cluster, group: str) -> LiveGroup:
    """Return the group and its members, without their subscriptions.

    Members are in the order of the description, which is that of the coordinator's own map: `uniform` and
    `broker-range` get them in that order.

    Raises:
        GroupNotFoundError: there is no such group.
        SourceError: the cluster gives no answer, or refuses one.
    """
    described = cluster.describe_group(group)
    protocol = {"CLASSIC": "classic", "CONSUMER": "consumer"}.get(described.kind)
    members = [
        LiveMember(
            MemberIdentity(member.id, member.instance_id, member.client_id, member.host),
            member.owned,
            member.target or (),
        )
        for member in described.members
    ]
    # None: the coordinator tells no targets; () is the target of a member that is to have nothing.
    has_target = any(member.target is not None for member in described.members)
    warnings: tuple[str, ...] = ()
    status = _STATES.get(described.state)
    # librdkafka has no name for "Reconciling"; members that have not yet got their target show it.
    if status is None and has_target and any({*member.target} != {*member.owned} for member in members):
        status = "Reconciling"
    if status is None:
        warnings = ("the group is assigning or reconciling, what it has may not last",)
    elif status != "Stable":
        warnings = (f"the group is {_WORDS.get(status, status)}, what it has may not last",)
    strategy = strategy_name(described.assignor, protocol)
    return LiveGroup(group, status, protocol, strategy, members, has_target, warnings)


def with_subscriptions(cluster: Cluster, group: LiveGroup) -> LiveGroup:
    """Return the group with the subscriptions and identities of its members.

    The coordinator shows those of a classic group only while it is stable. Subscriptions that cannot be read
    are warnings, not errors: owners and lag are true without them.
    """
    if group.protocol == "consumer":
        return _with_described(cluster, group)
    joined, unreadable, clients = _read_joins(cluster, group.name, group.strategy)
    subscriptions = [joined.get(member.identity.id) for member in group.members]
    members = [*group.members]
    for place, subscription in enumerate(subscriptions):
        if subscription is not None:
            topics, rack = tuple(sorted(subscription.topics)), subscription.rack
            # With an eager strategy in its list a member gives up everything before it joins again.
            protocol = "cooperative" if subscription.owned else None
            members[place] = _with_subscription(members[place], topics, rack, protocol)
    # A member says in which generation it was when it joined the one that is now.
    left = [
        subscription.generation
        for subscription in subscriptions
        if subscription is not None and subscription.generation is not None
    ]
    generation = max(left) + 1 if left else None
    return group._replace(
        members=members,
        warnings=(*unreadable, *group.warnings),
        generation=generation,
        clients=clients,
        group_version=cluster.level("group.version"),
    )


def _with_described(cluster: Cluster, group: LiveGroup) -> LiveGroup:
    """Return the group of the consumer protocol with the subscriptions of its members."""
    try:
        subscriptions = read_subscriptions(group.name, cluster.config)
    except SourceError as error:
        return group._replace(warnings=(f"subscriptions are unknown: {error}", *group.warnings))
    members = []
    for member in group.members:
        subscribed = subscriptions.get(member.identity.id)
        topics = None if subscribed is None else cluster.matching(subscribed.topics, subscribed.pattern)
        rack, protocol = (None, None) if subscribed is None else (subscribed.rack, subscribed.protocol)
        members.append(_with_subscription(member, topics, rack, protocol))
    # A cluster has groups of this protocol only at level 1 of group.version or above.
    return group._replace(members=members, group_version=1)


def _with_subscription(
    member: LiveMember, topics: tuple[str, ...] | None, rack: str | None, protocol: str | None
) -> LiveMember:
    """Return the member with its topics, its rack and the protocol that it speaks."""
    return member._replace(identity=member.identity._replace(topics=topics, rack=rack, protocol=protocol))


def _read_joins(
    cluster: Cluster, group: str, strategy: str | None
) -> tuple[dict[str, Subscription], tuple[str, ...], Clients]:
    """Return the subscriptions of a classic group by member id, warnings, and the client libraries.

    The coordinator tells them of stable groups only; of another group the result is empty.
    """
    members = cluster.joined_members(group) or []
    subscriptions = {}
    unreadable = []
    for member in members:
        if not member.metadata:
            continue
        try:
            subscriptions[member.id] = decode_subscription(member.metadata)
        except ProtocolError as error:
            unreadable.append(f"what {member.client_id} subscribed to when it joined cannot be read: {error}")
    clients = find_clients(
        [member.metadata for member in members], [member.assignment for member in members], strategy
    )
    return subscriptions, tuple(unreadable), clients
