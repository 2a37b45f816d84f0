"""Hold what is seen of a share group or a Streams group: two looks at a cluster, or one or two in a file."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

from copartition.groups.kinds.model import ShareGroupState, StreamsGroupState
from copartition.groups.names import Names
from copartition.kit.places import Place, by_place

G = TypeVar("G", ShareGroupState, StreamsGroupState)


@dataclass(frozen=True)
class KindExamination(Generic[G]):
    """Holds a share group or a Streams group as its source shows it.

    Attributes:
        state: the group at the last look.
        first: the group at an earlier look; None if the source has only one look.
    """

    state: G
    first: G | None = None

    @property
    def elapsed_ms(self) -> float:
        """The time between the looks in milliseconds; 0 for one look, or if a look has no time."""
        if self.first is None or self.first.at is None or self.state.at is None:
            return 0
        # Each look has its own time, so a file with two looks has the time between them.
        return 1000 * (self.state.at - self.first.at).total_seconds()

    @property
    def where(self) -> str:
        """Name the source of members, in a phrase of evidence."""
        return "the source" if self.state.at is None else "the coordinator's answer"

    @property
    def members(self) -> tuple[Any, ...]:
        """The members at the last look; () also if the source lists none."""
        return self.state.members or ()

    @property
    def came_or_went(self) -> int:
        """Number of member ids that only one of the two looks shows; 0 for one look.

        A member that restarts under a new id counts twice. A first look that lists no members counts as an
        empty one.
        """
        before = self.members if self.first is None else self.first.members or ()
        return len({member.id for member in before} ^ {member.id for member in self.members})

    @cached_property
    def names(self) -> dict[str, str]:
        """The name by which a report calls each member, by member id; see `Names.of`."""
        return {member.id: name for member, name in zip(self.members, Names().of(self.members), strict=True)}

    @cached_property
    def lags(self) -> dict[Place, int] | None:
        """The lag of each partition whose lag is known, in records; None if the source tells none at all."""
        return None if self.state.lag is None else by_place(self.state.lag)

    @cached_property
    def positions(self) -> dict[Place, int]:
        """The offset up to which each partition's records are processed; -1 if the coordinator keeps none."""
        return by_place(self.state.positions)

    @cached_property
    def ends(self) -> dict[Place, int]:
        """The end offset of each partition, if its leader answered."""
        return by_place(self.state.ends)

    @property
    def rows(self) -> list[tuple[str, int, int | None]]:
        """A row for each member: name, number of partitions or active tasks, and None.

        The None stands for the number of records that wait for the member. It is unknown, because several
        members may read a partition, or a task may read several topics.
        """
        return [(self.names[member.id], _load(member), None) for member in self.members]


def _load(member: Any) -> int:
    """Return the number of a share group member's partitions, or of a Streams group member's active tasks."""
    held: Mapping[str, list[int]] = getattr(member, "active", None) or getattr(member, "partitions", {})
    return sum(map(len, held.values()))
