"""Our assignors in kafka-python 3 consumers."""

from collections.abc import Iterable
from typing import Any

from kafka.coordinator.assignors.abstract import AbstractPartitionAssignor
from kafka.coordinator.assignors.abstract import RebalanceProtocol as TheirProtocol
from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment, ConsumerProtocolSubscription

from assignors.answers import Memory, ask, by_topic, is_cooperative
from assignors.group import Group, Member, Topic
from assignors.interface import Assignor
from assignors.partition_list import NOTHING, PartitionList
from assignors.registry import get_assignor

# The newest version: older clients read the fields that they know.
_VERSION = 3


class KafkaPythonAssignor(AbstractPartitionAssignor):  # type: ignore[misc]
    """Any assignor in a kafka-python 3 consumer; give every consumer an instance of its own.

    `KafkaConsumer(..., partition_assignment_strategy=[KafkaPythonAssignor("cooperative-sticky")])`

    The subscription travels in version 3 with owned partitions, generation and rack, as a Java consumer's, so
    either may lead the group. Replica racks are not part of kafka-python's public metadata: as a leader it
    decides without them.

    Args:
        assignor: the strategy, or its name in the registry.
        rack: the consumer's rack (`client.rack`, KIP-881).
        memory: what the consumer was assigned; assignors of one consumer share it, as the group tells only
            the one that it has chosen (see `kafka_python_assignors`).

    Raises:
        UnknownStrategyError: there is no assignor of this name.
    """

    def __init__(
        self,
        assignor: Assignor | str = "cooperative-sticky",
        *,
        rack: str | None = None,
        memory: Memory | None = None,
    ) -> None:
        self._assignor = get_assignor(assignor) if isinstance(assignor, str) else assignor
        self._rack = rack
        self._memory = Memory() if memory is None else memory

    @property
    def name(self) -> str:
        """The protocol name the group votes for."""
        return self._assignor.name

    def supported_protocols(self) -> list[TheirProtocol]:
        """Cooperative where the assignor can, as kafka-python wants one that all its assignors share."""
        return [TheirProtocol.COOPERATIVE if is_cooperative(self._assignor) else TheirProtocol.EAGER]

    def metadata(self, topics: Iterable[str]) -> ConsumerProtocolSubscription:
        """Return what this consumer sends when it joins."""
        # An eager member has given everything up before it joins, so it owns nothing.
        owned = self._memory.owned if is_cooperative(self._assignor) else NOTHING
        return ConsumerProtocolSubscription(
            version=_VERSION,
            topics=sorted(topics),
            user_data=self._memory.user_data(self._assignor),
            owned_partitions=[
                ConsumerProtocolSubscription.TopicPartition(topic=topic, partitions=partitions)
                for topic, partitions in by_topic(owned)
            ],
            generation_id=self._memory.generation,
            rack_id=self._rack,
        )

    def on_assignment(self, assignment: ConsumerProtocolAssignment, generation: int) -> None:
        """Remember what was assigned."""
        self._memory.owned = PartitionList.of(assignment.partitions())
        self._memory.generation = generation

    def assign(self, cluster: Any, members: Iterable[Any]) -> dict[str, ConsumerProtocolAssignment]:
        """Decide who gets which partitions, as this group's leader."""
        joined = [_member(member) for member in members]
        names = sorted({topic for member in joined for topic in member.topics})
        topics = [Topic(name, len(cluster.partitions_for_topic(name) or ())) for name in names]
        assignment = ask(self._assignor, Group(topics, joined))
        return {
            member: ConsumerProtocolAssignment(_VERSION, by_topic(partitions), b"")
            for member, partitions in assignment.items()
        }


def kafka_python_assignors(*assignors: Assignor | str, rack: str | None = None) -> list[KafkaPythonAssignor]:
    """Return the assignors of one consumer, in order of preference, with one memory.

    `KafkaConsumer(..., partition_assignment_strategy=kafka_python_assignors("cooperative-sticky", "range"))`

    The group chooses one that all its members list. When its choice changes, the next one knows what the
    consumer has; with memories of their own it would claim what it was assigned long ago.

    Args:
        assignors: strategies, or their names in the registry.
        rack: the consumer's rack (`client.rack`, KIP-881).

    Raises:
        UnknownStrategyError: there is no assignor of one of these names.
    """
    memory = Memory()
    return [KafkaPythonAssignor(assignor, rack=rack, memory=memory) for assignor in assignors]


def finish_rejoin(consumer: Any) -> None:
    """Let a kafka-python consumer join again whose rejoin was answered after its `poll` had ended.

    Call it after each `poll` of a consumer that may lead its group, whatever its assignors. A leader of
    kafka-python 3.0 joins again when a topic has grown or was not known before. If the answer comes between
    two polls, it is forgotten: the consumer reads nothing, sends no heartbeats and is expelled, and `poll`
    says nothing of it. (Java's consumer had such a case, too: KAFKA-9815.)

    Args:
        consumer: a `kafka.KafkaConsumer`; nothing is done to one that has no rejoin under way.
    """
    coordinator: Any = getattr(consumer, "_coordinator", None)  # kafka-python tells of a rejoin nowhere else
    if getattr(coordinator, "rejoining", False):
        # The next `poll` then joins again as if the answer had never come.
        coordinator.request_rejoin()


def _member(joined: Any) -> Member:
    """Return a member as kafka-python's leader hears of it; "" and negative numbers stand for nothing."""
    subscription = joined.metadata
    owned = [
        (owned.topic, number) for owned in subscription.owned_partitions or () for number in owned.partitions
    ]
    return Member(
        joined.member_id,
        tuple(subscription.topics),
        instance_id=joined.group_instance_id or None,
        rack=subscription.rack_id or None,
        owned=PartitionList.of(owned),
        generation=subscription.generation_id if subscription.generation_id >= 0 else None,
        user_data=subscription.user_data,
    )
