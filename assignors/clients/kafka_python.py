"""Runs assignors of this package in kafka-python 3 consumers."""

from collections.abc import Iterable
from typing import Any

from kafka.coordinator.assignors.abstract import AbstractPartitionAssignor
from kafka.coordinator.assignors.abstract import RebalanceProtocol as TheirProtocol
from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment, ConsumerProtocolSubscription

from assignors.answers import Memory, ask, is_cooperative, numbers_by_topic
from assignors.group import Group, Member, Topic
from assignors.interface import Assignor
from assignors.partition_list import NOTHING, PartitionList
from assignors.registry import get_assignor

# Version 3 is the newest version of a subscription. Older clients read only the fields that they know.
_VERSION = 3


class KafkaPythonAssignor(AbstractPartitionAssignor):  # type: ignore[misc]
    """Runs any assignor in a kafka-python 3 consumer; give every consumer an instance of its own.

    `KafkaConsumer(..., partition_assignment_strategy=[KafkaPythonAssignor("cooperative-sticky")])`

    The subscription is sent in version 3, with owned partitions, generation and rack, as a Java consumer
    sends it. So Java consumers and this consumer can be in one group, and any of them can lead it.
    kafka-python's public metadata has no racks of replicas, so this leader decides without them.

    Args:
        assignor: the strategy, or its name in the registry.
        rack: the consumer's rack (`client.rack`, KIP-881).
        memory: the memory of the consumer. All assignors of one consumer share it, because only the assignor
            that the group has chosen hears of an assignment (see `kafka_python_assignors`).

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
        """The protocol name that members vote for."""
        return self._assignor.name

    def supported_protocols(self) -> list[TheirProtocol]:
        """Return one protocol: cooperative if the assignor supports it, else eager.

        kafka-python requires a protocol that all assignors of a consumer support.
        """
        return [TheirProtocol.COOPERATIVE if is_cooperative(self._assignor) else TheirProtocol.EAGER]

    def metadata(self, topics: Iterable[str]) -> ConsumerProtocolSubscription:
        """Return the subscription that this consumer sends when it joins."""
        # An eager member revokes all partitions before it joins, so it owns none.
        owned = self._memory.owned if is_cooperative(self._assignor) else NOTHING
        return ConsumerProtocolSubscription(
            version=_VERSION,
            topics=sorted(topics),
            user_data=self._memory.user_data(self._assignor),
            owned_partitions=[
                ConsumerProtocolSubscription.TopicPartition(topic=topic, partitions=partitions)
                for topic, partitions in numbers_by_topic(owned)
            ],
            generation_id=self._memory.generation,
            rack_id=self._rack,
        )

    def on_assignment(self, assignment: ConsumerProtocolAssignment, generation: int) -> None:
        """Remember the assigned partitions and their generation."""
        self._memory.owned = PartitionList.of(assignment.partitions())
        self._memory.generation = generation

    def assign(self, cluster: Any, members: Iterable[Any]) -> dict[str, ConsumerProtocolAssignment]:
        """Return the assignment of each member; kafka-python calls this on the group's leader."""
        joined = [_member(member) for member in members]
        names = sorted({topic for member in joined for topic in member.topics})
        topics = [Topic(name, len(cluster.partitions_for_topic(name) or ())) for name in names]
        assignment = ask(self._assignor, Group(topics, joined))
        return {
            member: ConsumerProtocolAssignment(_VERSION, numbers_by_topic(partitions), b"")
            for member, partitions in assignment.items()
        }


def kafka_python_assignors(*assignors: Assignor | str, rack: str | None = None) -> list[KafkaPythonAssignor]:
    """Return the assignors of one consumer, in order of preference, with one memory for all.

    `KafkaConsumer(..., partition_assignment_strategy=kafka_python_assignors("cooperative-sticky", "range"))`

    The group chooses an assignor that all its members list. If the choice changes, the assignor chosen next
    reads the consumer's partitions from the common memory. From a memory of its own, it would report an
    assignment of long ago.

    Args:
        assignors: strategies, or their names in the registry.
        rack: the consumer's rack (`client.rack`, KIP-881).

    Raises:
        UnknownStrategyError: there is no assignor of one of these names.
    """
    memory = Memory()
    return [KafkaPythonAssignor(assignor, rack=rack, memory=memory) for assignor in assignors]


def finish_rejoin(consumer: Any) -> None:
    """Request a new rejoin if a kafka-python consumer may have lost the answer to its last one.

    Call this after each `poll` of a consumer that may lead its group, whatever its assignors. A leader of
    kafka-python 3.0 rejoins when a topic has grown or was not known before. If the answer arrives between two
    polls, kafka-python loses it: the consumer reads nothing, sends no heartbeats and is removed from the
    group, and `poll` reports nothing. (Java's consumer had a similar fault: KAFKA-9815.)

    Args:
        consumer: a `kafka.KafkaConsumer`; nothing is done if it is not rejoining.
    """
    coordinator: Any = getattr(consumer, "_coordinator", None)  # kafka-python has no public name for this
    if getattr(coordinator, "rejoining", False):
        # The next `poll` then joins again as if the answer had never arrived.
        coordinator.request_rejoin()


def _member(joined: Any) -> Member:
    """Return a member from kafka-python's data; "" and negative numbers there stand for no value."""
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
