"""The built-in strategies of Kafka and its clients.

A strategy is a class with a name, the rebalance protocols that it supports, and one or two functions: a
readable rule and, for Java's strategies, a fast form on columns. The columns decide first. If they cannot
decide a group they raise `OddGroup`, and the rule decides.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import ClassVar, ParamSpec, TypeVar

from assignors.assignment import Assignment
from assignors.columnar.numbering import OddGroup
from assignors.columnar.range import assign_broker_range as columns_of_broker_range
from assignors.columnar.range import assign_range as columns_of_range
from assignors.columnar.round_robin import assign_round_robin as columns_of_round_robin
from assignors.columnar.sticky import assign_cooperative_sticky as columns_of_cooperative_sticky
from assignors.columnar.sticky import assign_sticky as columns_of_sticky
from assignors.columnar.uniform import assign_uniform as columns_of_uniform
from assignors.group import Group, Member
from assignors.interface import CooperativeMemory, EagerMemory, RebalanceProtocol, Recorder
from assignors.partition_list import PartitionList
from assignors.protocol import encode_sticky_user_data
from assignors.rules import aiokafka, cooperative_sticky, kafka_python, sticky
from assignors.rules.broker_range import assign_broker_range
from assignors.rules.cooperative_sticky import assign_cooperative_sticky
from assignors.rules.librdkafka_sticky import assign_librdkafka_cooperative_sticky
from assignors.rules.range import assign_range
from assignors.rules.round_robin import assign_round_robin
from assignors.rules.sticky import DEFAULT_GENERATION, MemberData, assign_sticky, max_generation_of
from assignors.rules.uniform import assign_uniform
from partitioning.errors import AssignorError

_P = ParamSpec("_P")
_T = TypeVar("_T")

_EAGER = frozenset({RebalanceProtocol.EAGER})
_COOPERATIVE = frozenset({RebalanceProtocol.COOPERATIVE})
_NONE: frozenset[RebalanceProtocol] = frozenset()


def _through_the_gate(
    columns: Callable[_P, _T], rule: Callable[_P, _T], *group: _P.args, **more: _P.kwargs
) -> _T:
    """Return the answer of `columns`, or that of `rule` if the columns cannot decide the group."""
    try:
        return columns(*group, **more)
    # This is no error: the rule can decide every group, only more slowly.
    except OddGroup:
        return rule(*group, **more)


class _ByRule:
    """Base of strategies without a memory that have only a rule, such as those of other clients than Java's.

    They are eager unless a subclass sets other protocols.
    """

    protocols: ClassVar[frozenset[RebalanceProtocol]] = _EAGER
    rule: ClassVar[staticmethod[..., Assignment]]

    def assign(self, group: Group) -> Assignment:
        """Return the client's assignment in the client's order; raise AssignorError if the client fails."""
        return type(self).rule(group)

    def assign_recorded(self, group: Group, record: Recorder) -> Assignment:
        """Return the answer of the rule, which calls `record` with each step."""
        return type(self).rule(group, record)


class _WithColumns(_ByRule):
    """Base of the JVM's strategies without a memory: columns decide first, then the rule."""

    columns: ClassVar[staticmethod[[Group], Assignment]]

    def assign(self, group: Group) -> Assignment:
        """Return the assignment, with the JVM's list order; raise AssignorError if the JVM throws."""
        return _through_the_gate(type(self).columns, type(self).rule, group)


class _StickyLeader:
    """Base of the sticky strategies: it remembers the highest generation that this leader has seen."""

    # Both functions take the highest generation that this leader has seen so far, and return it updated with
    # the assignment. They keep no state.
    columns: ClassVar[staticmethod[[Group, int], tuple[Assignment, int]]]
    rule: ClassVar[staticmethod[..., tuple[Assignment, int]]]
    member_data: ClassVar[staticmethod[[Member], MemberData]]

    def __init__(self) -> None:
        self._highest = DEFAULT_GENERATION

    def assign(self, group: Group) -> Assignment:
        """Return the assignment, with the JVM's list order.

        Raises AssignorError if the JVM throws or never ends.
        """
        return self._remember(group, partial(_through_the_gate, type(self).columns, type(self).rule))

    def assign_recorded(self, group: Group, record: Recorder) -> Assignment:
        """Return the answer of the rule, which calls `record` with each step."""
        return self._remember(group, partial(type(self).rule, record=record))

    def _remember(self, group: Group, decide: Callable[[Group, int], tuple[Assignment, int]]) -> Assignment:
        try:
            assignment, self._highest = decide(group, self._highest)
        # The JVM sets `maxGeneration` before it throws, so the generations of this group count here, too.
        except AssignorError:
            self._highest = max_generation_of(map(type(self).member_data, group.members), self._highest)
            raise
        return assignment


class RangeAssignor(_WithColumns):
    """Cuts every topic into one range for each member; topics with equal counts are cut alike.

    If racks matter, partitions go first to members in a rack that has a replica. Even then, topics with the
    same members and the same count are cut alike (KIP-881).
    """

    name: ClassVar[str] = "range"
    columns = staticmethod(columns_of_range)
    rule = staticmethod(assign_range)


class RoundRobinAssignor(_WithColumns):
    """Hands partitions out one by one, topic after topic, to the members in a circle; racks are ignored."""

    name: ClassVar[str] = "roundrobin"
    columns = staticmethod(columns_of_round_robin)
    rule = staticmethod(assign_round_robin)


class StickyAssignor(EagerMemory, _StickyLeader):
    """Balances as far as subscriptions allow, with few moves; user data has previous partitions (KIP-54)."""

    name: ClassVar[str] = "sticky"
    columns = staticmethod(columns_of_sticky)
    rule = staticmethod(assign_sticky)
    member_data = staticmethod(sticky.member_data)


class CooperativeStickyAssignor(CooperativeMemory, _StickyLeader):
    """As "sticky", but a partition waits a round before it moves, so that its old owner can give it up.

    Partitions that wait are in the assignment's `transferring`. Members that lose partitions rejoin at once
    (KIP-429).
    """

    name: ClassVar[str] = "cooperative-sticky"
    columns = staticmethod(columns_of_cooperative_sticky)
    rule = staticmethod(assign_cooperative_sticky)
    member_data = staticmethod(cooperative_sticky.member_data)


# The following strategies are those of other clients. They have no columns: the rule decides every group.
class LibrdkafkaCooperativeStickyAssignor(_ByRule):
    """Assigns as librdkafka's "cooperative-sticky", which confluent-kafka uses, too.

    Its answer is as even as Java's, but members get other partitions. The answer depends on the order in
    which the broker lists topics to the leader; this is the order of `Group.topics`. AssignorError is raised
    for a group with which librdkafka aborts or reads freed memory.
    """

    name: ClassVar[str] = "librdkafka-cooperative-sticky"
    protocols = _COOPERATIVE
    rule = staticmethod(assign_librdkafka_cooperative_sticky)

    def user_data(self, owned: PartitionList, generation: int) -> bytes | None:
        """Return the user data that librdkafka sends, although it does not read it.

        The data is empty before the first assignment. After it, the data has the partitions and their
        generation.
        """
        return encode_sticky_user_data(owned, generation) if generation >= 0 else b""


class KafkaPythonRangeAssignor(_ByRule):
    """Assigns as kafka-python's "range": ignores racks; if static and dynamic members mix, some get none."""

    name: ClassVar[str] = "kafka-python-range"
    rule = staticmethod(kafka_python.assign_range)


class KafkaPythonRoundRobinAssignor(_ByRule):
    """Assigns as kafka-python's "roundrobin": fails if the member whose turn it is does not subscribe."""

    name: ClassVar[str] = "kafka-python-roundrobin"
    rule = staticmethod(kafka_python.assign_round_robin)


class KafkaPythonStickyAssignor(EagerMemory, _ByRule):
    """Assigns as kafka-python's "sticky": as even as Java's, but members get other partitions."""

    name: ClassVar[str] = "kafka-python-sticky"
    rule = staticmethod(kafka_python.assign_sticky)


class KafkaPythonCooperativeStickyAssignor(_ByRule):
    """Assigns as kafka-python's "cooperative-sticky": as its "sticky", but moved partitions wait a round."""

    name: ClassVar[str] = "kafka-python-cooperative-sticky"
    protocols = _COOPERATIVE
    rule = staticmethod(kafka_python.assign_cooperative_sticky)


class AiokafkaRangeAssignor(_ByRule):
    """Assigns as aiokafka's "range": instance ids and racks are ignored."""

    name: ClassVar[str] = "aiokafka-range"
    rule = staticmethod(aiokafka.assign_range)


class AiokafkaRoundRobinAssignor(_ByRule):
    """Assigns as aiokafka's "roundrobin": instance ids are ignored."""

    name: ClassVar[str] = "aiokafka-roundrobin"
    rule = staticmethod(aiokafka.assign_round_robin)


class AiokafkaStickyAssignor(_ByRule):
    """Assigns as aiokafka's "sticky": as even as Java's, but with other partitions and no generations."""

    name: ClassVar[str] = "aiokafka-sticky"
    rule = staticmethod(aiokafka.assign_sticky)

    def user_data(self, owned: PartitionList, generation: int) -> bytes | None:
        """Return the user data of aiokafka: empty before the first assignment, always of generation -1."""
        return encode_sticky_user_data(owned, -1) if generation >= 0 else b""


# The following strategies are the broker's. Members do not vote for them, so they have no rebalance protocol.
class UniformAssignor(_WithColumns):
    """Gives members equal numbers of partitions if possible, with few moves; ignores racks (KIP-848).

    A member's `owned` is its last target assignment. Topic ids affect the answer; if `Topic.id` is None, an
    id made from the name is used.
    """

    name: ClassVar[str] = "uniform"
    protocols = _NONE
    columns = staticmethod(columns_of_uniform)
    rule = staticmethod(assign_uniform)


class BrokerRangeAssignor(_WithColumns):
    """Cuts every topic into one range for each member; previous owners and racks are ignored (KIP-848).

    Topic ids affect the order of lists; if `Topic.id` is None, an id made from the name is used.
    """

    name: ClassVar[str] = "broker-range"
    protocols = _NONE
    columns = staticmethod(columns_of_broker_range)
    rule = staticmethod(assign_broker_range)


STRATEGIES = (
    RangeAssignor,
    RoundRobinAssignor,
    StickyAssignor,
    CooperativeStickyAssignor,
    LibrdkafkaCooperativeStickyAssignor,
    UniformAssignor,
    BrokerRangeAssignor,
    KafkaPythonRangeAssignor,
    KafkaPythonRoundRobinAssignor,
    KafkaPythonStickyAssignor,
    KafkaPythonCooperativeStickyAssignor,
    AiokafkaRangeAssignor,
    AiokafkaRoundRobinAssignor,
    AiokafkaStickyAssignor,
)
"""All strategies of this module: those of Kafka and of its clients."""
