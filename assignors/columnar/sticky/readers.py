"""Who may get which topic, where subscriptions differ; members are ranks by id, which breaks all ties."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assignors.columnar.numbering import IdRank, Numbering


@dataclass(frozen=True, slots=True)
class Readers:
    """The subscribers of a group's topics.

    Attributes:
        subscription: index into the subscriptions of each rank.
        topics: the topics of each subscription that exist.
        members: the members of each audience, ascending.
        of_topic: audience of each topic.
        of_subscription: the audiences that members with a subscription are in.
        potential: how many members a topic has.
        order: topics in the order they are looked at, those with the fewest potential members first.
    """

    subscription: list[int]
    topics: list[list[int]]
    members: list[IdRank]
    of_topic: list[int]
    of_subscription: list[list[int]]
    potential: list[int]
    order: list[int]

    @classmethod
    def of(cls, numbering: Numbering) -> Readers:
        """The readers of a group."""
        subscriptions, index = numbering.subscriptions, numbering.index
        audiences = subscriptions.audiences(numbering.topics, numbering.by_id)
        members = [numbering.id_rank[each] for each in audiences.members]
        potential = [len(members[audience]) for audience in audiences.of_topic]
        return cls(
            subscription=subscriptions.of_member[numbering.by_id].tolist(),
            topics=[[index[name] for name in names if name in index] for names in subscriptions.lists],
            members=members,
            of_topic=audiences.of_topic,
            of_subscription=audiences.of_subscription,
            potential=potential,
            order=sorted(range(len(potential)), key=lambda topic: (potential[topic], topic)),
        )
