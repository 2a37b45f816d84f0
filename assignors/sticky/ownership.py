"""Who may keep what: what members remember, and which claims count when several claim the same partition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from assignors.partition_list import PartitionList, join_lists

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from assignors.group import Member
    from assignors.sticky.catalogue import Catalogue
    from partitioning.topic_partition import TopicPartition

NO_GENERATION = -1


@dataclass(frozen=True, slots=True)
class Memory:
    """What members remember of earlier rebalances, as their assignor reads it from the subscriptions.

    Attributes:
        partitions: what each member claims.
        generation: in which generation it got that, None where it does not say.
    """

    partitions: list[Sequence[TopicPartition]]
    generation: list[int | None]


@dataclass(frozen=True, slots=True)
class Ownership:
    """The claims of a group, one row each: members in JoinGroup order, claims in the order they are reported.

    Claims of topics outside the catalogue are left out. A partition that does not exist although its topic
    does (the topic shrank, or was created anew) is a phantom; its id is the catalogue's total or above.

    Attributes:
        member: who claims.
        topic: topic of the claimed partition.
        partition: its number.
        id: its partition id.
        phantoms: topics and numbers of the phantoms, by id from the total on.
        valid: which claims count, no two of them for the same partition; None where all do.
        contested: ids that several members claimed in the same generation.
        generation: of each member, None where it has none.
        highest: the highest generation the leader has seen, this rebalance included.
    """

    member: NDArray[np.int32]
    topic: NDArray[np.int32]
    partition: NDArray[np.int32]
    id: NDArray[np.int64]
    phantoms: tuple[NDArray[np.int32], NDArray[np.int32]]
    valid: NDArray[np.bool_] | None
    contested: frozenset[int]
    generation: list[int | None]
    highest: int


def ownership(catalogue: Catalogue, memory: Memory, highest: int) -> Ownership:
    """Settles who owns what.

    Args:
        catalogue: topics and members.
        memory: what the members remember.
        highest: the highest generation the leader has seen so far.
    """
    claiming = [row for row, partitions in enumerate(memory.partitions) if partitions]
    columns, sizes = join_lists([PartitionList.of(memory.partitions[row]) for row in claiming])
    member = np.repeat(np.array(claiming, np.int32), sizes)
    topic = np.array([catalogue.index.get(name, -1) for name in columns.names], np.int32)[columns.topics]
    partition = columns.partitions
    known = topic >= 0
    if not known.all():
        topic, partition, member = topic[known], partition[known], member[known]
    ids, phantoms = _ids(topic, partition, catalogue)
    valid, contested = _settle(catalogue, member, ids, memory.generation)
    seen = [generation for generation in memory.generation if generation is not None]
    return Ownership(
        member, topic, partition, ids, phantoms, valid, contested, memory.generation, max([highest, *seen])
    )


def _ids(
    topic: NDArray[np.int32], partition: NDArray[np.int32], catalogue: Catalogue
) -> tuple[NDArray[np.int64], tuple[NDArray[np.int32], NDArray[np.int32]]]:
    ids = catalogue.starts[topic]
    ids += partition
    outside = (partition < 0) | (partition >= catalogue.counts[topic])
    if not outside.any():
        return ids, (topic[:0], partition[:0])
    pairs, which = np.unique(np.stack([topic[outside], partition[outside]]), axis=1, return_inverse=True)
    ids[outside] = catalogue.total + which.reshape(-1)
    return ids, (pairs[0], pairs[1])


def _settle(
    catalogue: Catalogue,
    member: NDArray[np.int32],
    ids: NDArray[np.int64],
    generation: list[int | None],
) -> tuple[NDArray[np.bool_] | None, frozenset[int]]:
    """Which claims count, and which partitions several members claimed in one generation.

    A claim is compared with the latest claimant so far, members taking turns in the order of Java's HashMap.
    Quirk: the claimant's generation is that of its subscription (KIP-792), also where the assignor keeps a
    generation of its own in the user data.
    """
    claims = np.bincount(ids, minlength=1)
    if claims.max() <= 1:
        return None, frozenset()
    valid = claims[ids] == 1
    rows = np.flatnonzero(~valid)
    rows = rows[np.argsort(catalogue.turn[member[rows]], kind="stable")]
    claimant: dict[int, int] = {}
    holding: dict[int, int] = {}
    contested: set[int] = set()
    for row, who, partition in zip(rows.tolist(), member[rows].tolist(), ids[rows].tolist(), strict=True):
        other = claimant.get(partition)
        if other is None:
            claimant[partition], holding[partition] = who, row
            continue
        mine = generation[who]
        mine = NO_GENERATION if mine is None else mine
        theirs = subscription_generation(catalogue.members[other])
        if mine == theirs:
            contested.add(partition)
            holding.pop(partition, None)
            claimant[partition] = who
        elif mine > theirs and (other != who or partition in holding):
            # The JVM adds to the new owner's list, then removes from the old one's: a member that claims what
            # it does not hold once more has it only for a moment.
            claimant[partition], holding[partition] = who, row
    valid[list(holding.values())] = True
    return valid, frozenset(contested)


def subscription_generation(member: Member) -> int:
    """The generation in a member's subscription (KIP-792), -1 where it has none."""
    return NO_GENERATION if member.generation is None or member.generation < 0 else member.generation
