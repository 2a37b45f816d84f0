"""Read the members of a live group, their partitions and subscriptions, and which client library they run.

The library is recognized by the bytes that members leave with the coordinator. What each library writes was
measured on real groups. An assignment is written by the leader:

- version 1 to 3, user data null: Java, or a client that follows Java's protocol classes;
- version 1, user data empty: kafka-python; a higher version: this project's assignors in kafka-python;
- version 0, with user data: librdkafka, kafka-python or aiokafka; if the user data are the 4 bytes of a
  generation, this project's "sticky" in aiokafka.

A subscription is written by the member itself:

- version 1 to 3, user data empty (under "cooperative-sticky" a list of 8 bytes or more): librdkafka;
- user data null (under "cooperative-sticky" the 4 bytes of a generation): Java, or kafka-python with this
  project's assignors. Only the leader's assignment tells which of the two;
- version 0 (under "cooperative-sticky" version 1 with empty user data): kafka-python, or aiokafka with
  version 0. Their bytes are the same, so both are called kafka-python.
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
"""Number of bytes of a generation. User data of Java's "cooperative-sticky" have nothing else."""
_OURS = "this project's assignors in kafka-python or aiokafka"
"""A leader that runs these decides as Java's client does."""


class Clients(NamedTuple):
    """Names the client libraries of a group, as `copartition migrate --client` does.

    Attributes:
        leader: the library by whose rules the assignment was made; None if the bytes do not show it.
        members: the libraries that the members' bytes show, each once, sorted.
    """

    leader: str | None
    members: tuple[str, ...]


def find_clients(
    subscriptions: Iterable[bytes], assignments: Iterable[bytes], strategy: str | None
) -> Clients:
    """Return the libraries that the ConsumerProtocol bytes of a group show.

    Args:
        subscriptions: the subscription of each member as bytes; b"" if it left none.
        assignments: the assignment that the leader wrote for each member, as bytes.
        strategy: the group's strategy. The meaning of user data depends on it.
    """
    kinds = {
        kind for data in subscriptions if data and (kind := _kind_by_subscription(data, strategy)) is not None
    }
    leaders = {kind for data in assignments if data and (kind := _kind_by_assignment(data)) is not None}
    old = leaders.pop() if len(leaders) == 1 else None
    if old == "version 0":
        # Two libraries write version 0. If only one of them is in the group, it is the leader's.
        there = kinds & {"librdkafka", "kafka-python"}
        old = there.pop() if len(there) == 1 else None
    library = "kafka-python" if old == _OURS else old
    whose = library if library in {"java", "kafka-python"} else "java"
    kinds = {whose if kind == "java or kafka-python" else kind for kind in kinds}
    kinds.update(filter(None, [library]))
    return Clients("java" if old == _OURS else old, tuple(sorted(kinds)))


def _kind_by_assignment(assignment: bytes) -> str | None:
    """Return the library of the leader that wrote these bytes; None if it may be any of several.

    The result "version 0" is librdkafka, kafka-python or aiokafka: only subscriptions tell them apart.
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
    """Return the library of the member that wrote these bytes; None if it may be any of several."""
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
"""librdkafka's name of a state -> Kafka's name."""

_WORDS = {"Empty": "empty", "Reconciling": "reconciling"}


class LiveMember(NamedTuple):
    """Holds a member, its partitions, and its target assignment if the coordinator tells it (KIP-848)."""

    identity: MemberIdentity
    owned: Sequence[Place]
    target: Sequence[Place] = ()


class LiveGroup(NamedTuple):
    """Holds a group as its coordinator describes it.

    Attributes:
        name: the group's id.
        status: Kafka's name of the group's state; None if librdkafka has no name for it.
        protocol: "classic" or "consumer"; None if unknown.
        strategy: the group's assignor by this project's name; None if it has none yet.
        members: the members, in the order of the description.
        has_target: whether the coordinator tells the members' target assignments.
        warnings: sentences for the reader of a report.
        generation: a lower bound for the generation; None if unknown.
        clients: the client libraries of a classic group.
        group_version: the cluster's level of the feature group.version; None if unknown.
    """

    name: str
    status: str | None
    protocol: str | None
    strategy: str | None
    members: Sequence[LiveMember]
    has_target: bool
    warnings: tuple[str, ...] = ()
    generation: int | None = None
    clients: Clients = Clients(None, ())
    group_version: int | None = None

    @property
    def topics(self) -> set[str]:
        """The topics that members subscribe to, or whose partitions they have or will get."""
        named = {topic for member in self.members for topic in member.identity.topics or ()}
        return named | {topic for member in self.members for topic, _ in (*member.owned, *member.target)}

    @property
    def has_racks(self) -> bool:
        """True if any member has a rack."""
        return any(member.identity.rack for member in self.members)


def describe_group(cluster: Cluster, group: str) -> LiveGroup:
    """Return the group and its members, without their subscriptions.

    Members are in the order of the description, which is the order of the coordinator's own map. "uniform"
    and "broker-range" get them in this order, so it must be kept.

    Raises:
        GroupNotFoundError: there is no such group.
        SourceError: the cluster does not answer, or refuses to.
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
    # A target of None means that the coordinator tells no targets. () is the target of a member that gets
    # nothing.
    has_target = any(member.target is not None for member in described.members)
    warnings: tuple[str, ...] = ()
    status = _STATES.get(described.state)
    # librdkafka has no name for "Reconciling". A member that does not have its target yet shows this state.
    if status is None and has_target and any({*member.target} != {*member.owned} for member in members):
        status = "Reconciling"
    if status is None:
        warnings = ("the group is assigning or reconciling, what it has may not last",)
    elif status != "Stable":
        warnings = (f"the group is {_WORDS.get(status, status)}, what it has may not last",)
    strategy = strategy_name(described.assignor, protocol)
    return LiveGroup(group, status, protocol, strategy, members, has_target, warnings)


def with_subscriptions(cluster: Cluster, group: LiveGroup) -> LiveGroup:
    """Return the group with the facts that its members' subscriptions show, such as topics and racks.

    The coordinator shows the subscriptions of a classic group only if the group is stable. If subscriptions
    cannot be read, that is a warning and not an error, because owners and lag do not depend on them.
    """
    if group.protocol == "consumer":
        return _with_described(cluster, group)
    joined, unreadable, clients = _read_joins(cluster, group.name, group.strategy)
    subscriptions = [joined.get(member.identity.id) for member in group.members]
    members = [*group.members]
    for place, subscription in enumerate(subscriptions):
        if subscription is not None:
            topics, rack = tuple(sorted(subscription.topics)), subscription.rack
            # A member with an eager strategy in its list gives up all partitions before it joins again. So a
            # member that owned some when it joined has only cooperative strategies.
            protocol = "cooperative" if subscription.owned else None
            members[place] = _with_subscription(members[place], topics, rack, protocol)
    # A subscription has the generation in which the member was before it joined the present one.
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
    """Return member id -> subscription for a classic group, warnings, and the client libraries.

    The coordinator tells subscriptions of stable groups only. For any other group the results are empty.
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
