"""Runs assignors of this package in aiokafka consumers."""

import struct
from collections.abc import Iterable, Mapping
from typing import Any

from aiokafka.coordinator.assignors.abstract import AbstractPartitionAssignor
from aiokafka.coordinator.protocol import ConsumerProtocolMemberAssignment, ConsumerProtocolMemberMetadata

from assignors.answers import Memory, ask, is_cooperative, numbers_by_topic
from assignors.group import Group, Member, Topic
from assignors.interface import Assignor, RebalanceProtocol
from assignors.partition_list import PartitionList
from assignors.protocol import decode_sticky_user_data
from assignors.registry import get_assignor
from partitioning.errors import AssignmentError

# Subscriptions of version 0 have neither owned partitions nor a generation. aiokafka has no fields for these.
_VERSION = 0


class EagerOnlyError(AssignmentError, ValueError):
    """An assignor needs more than aiokafka's eager protocol."""


def aiokafka_assignors(*assignors: Assignor | str) -> tuple[type[AbstractPartitionAssignor], ...]:
    """Return the assignors of one aiokafka consumer, in order of preference, with one memory for all.

    `AIOKafkaConsumer(..., partition_assignment_strategy=aiokafka_assignors("sticky", "range"))`

    The group chooses an assignor that all its members list. If the choice changes, the assignor chosen next
    reads the consumer's partitions from the common memory. From a memory of its own, it would report an
    assignment of long ago.

    Args:
        assignors: strategies, or their names in the registry.

    Raises:
        UnknownStrategyError: there is no assignor of one of these names.
        EagerOnlyError: a strategy is cooperative (aiokafka cannot send owned partitions) or a broker's.
    """
    memory = Memory()
    return tuple(aiokafka_assignor(assignor, memory=memory) for assignor in assignors)


def aiokafka_assignor(
    assignor: Assignor | str = "sticky", *, memory: Memory | None = None
) -> type[AbstractPartitionAssignor]:
    """Return a class for `partition_assignment_strategy` of one aiokafka consumer, with a memory of its own.

    `AIOKafkaConsumer(..., partition_assignment_strategy=(aiokafka_assignor("sticky"),))`

    aiokafka calls methods of the class and makes no instances, so two consumers must not share a class: call
    this function once for each consumer. aiokafka passes neither instance ids nor racks to an assignor, so a
    leader decides without them.

    Args:
        assignor: the strategy, or its name in the registry.
        memory: the memory of the consumer, if several assignors share it (see `aiokafka_assignors`).

    Raises:
        UnknownStrategyError: there is no assignor of this name.
        EagerOnlyError: the strategy is cooperative (aiokafka cannot send owned partitions) or a broker's.
    """
    strategy = get_assignor(assignor) if isinstance(assignor, str) else assignor
    remembered = Memory() if memory is None else memory
    # A cooperative leader would treat all members as owning nothing, because aiokafka sends no owned
    # partitions.
    if RebalanceProtocol.EAGER not in strategy.protocols or is_cooperative(strategy):
        raise EagerOnlyError(
            f"aiokafka joins groups eagerly and sends no owned partitions, which {strategy.name!r} "
            "needs; 'sticky' moves as few partitions"
        )

    class AiokafkaAssignor(AbstractPartitionAssignor):  # type: ignore[misc]
        """One consumer's assignor."""

        name = strategy.name

        @classmethod
        def metadata(cls, topics: Iterable[str]) -> ConsumerProtocolMemberMetadata:
            return ConsumerProtocolMemberMetadata(
                _VERSION, sorted(topics), remembered.user_data(strategy) or b""
            )

        @classmethod
        def on_assignment(cls, assignment: ConsumerProtocolMemberAssignment) -> None:
            remembered.generation = _generation(assignment.user_data, remembered.generation)
            remembered.owned = PartitionList.of(assignment.partitions())

        @classmethod
        def assign(
            cls, cluster: Any, members: Mapping[str, ConsumerProtocolMemberMetadata]
        ) -> dict[str, ConsumerProtocolMemberAssignment]:
            joined = [
                Member(id_, tuple(member.subscription), user_data=member.user_data or None)
                for id_, member in members.items()
            ]
            names = sorted({topic for member in joined for topic in member.topics})
            topics = [Topic(name, len(cluster.partitions_for_topic(name) or ())) for name in names]
            assignment = ask(strategy, Group(topics, joined))
            # aiokafka does not tell an assignor the generation. So the leader sends it in the assignment's
            # user data, which no other client reads.
            user_data = struct.pack(
                ">i", _after(max((_claimed_generation(member) for member in joined), default=-1))
            )
            return {
                id_: ConsumerProtocolMemberAssignment(_VERSION, numbers_by_topic(partitions), user_data)
                for id_, partitions in assignment.items()
            }

    return AiokafkaAssignor


def _claimed_generation(member: Member) -> int:
    """Return the generation in a member's user data; -1 if there is none."""
    if not member.user_data:
        return -1
    generation = decode_sticky_user_data(bytes(member.user_data))[1]
    return -1 if generation is None else generation


def _after(generation: int) -> int:
    """Return the next generation, at most the greatest one that fits the field.

    Without this limit, one member that reports the greatest generation would make every leader fail.
    """
    return min(max(generation, -1) + 1, 2**31 - 1)


def _generation(user_data: bytes | None, before: int) -> int:
    """Return the generation of an assignment, which aiokafka does not pass to an assignor.

    A leader that uses this module sends the generation in the user data; it is above every generation that a
    member reported. A leader of another client sends no generation, and then the one after `before` is used.
    """
    if user_data is not None and len(user_data) == 4:
        return int(struct.unpack(">i", user_data)[0])
    return _after(before)
