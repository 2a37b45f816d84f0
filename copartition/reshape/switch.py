"""Decide at the switch whether writers stand still, and what is to be done with each group.

Nothing is remembered between two runs: every decision follows from what the cluster shows now, so a switch
can be stopped and taken up again at any step. `switching` asks the cluster, and Spark gives the positions.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from copartition.kit.words import count, list_names
from copartition.reshape.observed import Bounds

HEADER = "copartition.origin"
"""Key of the header that the copy appends to each record.

Its value is `PARTITION:OFFSET` of the old topic in ASCII digits, so that `kcat -f '%h'` and Kafka's console
consumer show it to a person. A record of a topic that was reshaped twice has two such headers; the last one
counts.
"""

_NAMED = 5
"""The most names that a sentence lists."""

Action: TypeAlias = Literal["write", "written", "stop members", "other commits"]


class EndLook(NamedTuple):
    """The ends of all partitions of a topic at one time.

    Attributes:
        bounds: partition -> (first offset, end).
        stable: partition -> last stable offset, where an open transaction begins; the end if none is open.
    """

    bounds: Bounds
    stable: Mapping[int, int]

    @property
    def ends(self) -> dict[int, int]:
        """Partition -> the offset after its last record."""
        return {partition: end for partition, (_, end) in self.bounds.items()}

    @property
    def open_offsets(self) -> dict[int, int]:
        """Partition -> the number of offsets that open transactions hold back, if there are any."""
        ends = self.ends
        return {place: ends[place] - stable for place, stable in self.stable.items() if ends[place] > stable}


def why_not_still(first: EndLook, second: EndLook) -> str | None:
    """Return a sentence on what shows that writers are still active; None if nothing shows it.

    >>> look = EndLook({0: (0, 10)}, {0: 10})
    >>> why_not_still(look, look), why_not_still(look, EndLook({0: (0, 12)}, {0: 12}))
    (None, 'writers still write: 2 records came to partition 0 between two looks')

    Args:
        first: the earlier look.
        second: the later look.
    """
    # Offsets are compared, not records, because the marker of a transaction, too, shows a writer at work.
    came = {place: end - first.ends.get(place, 0) for place, end in second.ends.items()}
    if written := {place: records for place, records in came.items() if records}:
        names = list_names([str(place) for place in written], _NAMED)
        where = "partition" if len(written) == 1 else "partitions"
        return (
            f"writers still write: {count(sum(written.values()), 'record')} came to {where} {names} "
            "between two looks"
        )
    # Until a transaction ends, it is not known whether its records will be committed. So no position can be
    # moved past them.
    if second.open_offsets:
        names = list_names([str(place) for place in second.open_offsets], _NAMED)
        where = "partition" if len(second.open_offsets) == 1 else "partitions"
        return (
            f"a transaction is open in {where} {names}, with "
            f"{count(sum(second.open_offsets.values()), 'offset')} "
            "behind it; copartition transactions says whose and what ends it"
        )
    return None


@dataclass(frozen=True, slots=True)
class GroupSwitch:
    """A group at the switch: where it is in the old topic, and where it is to go on in the new one.

    Attributes:
        name: group id.
        members: how many it has now.
        old: partition of the old topic -> committed offset.
        now: partition of the new topic -> committed offset; empty before anything is written.
        positions: partition of the new topic -> where it goes on.
        repeats: records of the new topic that it has read in the old one and reads again.
        left: records of the old topic that it has not committed; it reads them in the new topic.
    """

    name: str
    members: int
    old: Mapping[int, int]
    now: Mapping[int, int]
    positions: Mapping[int, int]
    repeats: int
    left: int

    @property
    def action(self) -> Action:
        """The next thing to do.

        "written": the group has committed `positions` or higher offsets in the new topic, because it has them
        from this switch or has read on from there. "other commits": it has commits in the new topic, but for
        some partition none or a lower one than in `positions`, so they are not from this switch. "stop
        members": brokers take positions only for a group without members, and this group has some. "write":
        in all other cases.
        """
        if self.now:
            # A group that reads on in the new topic commits only higher offsets. So an offset below its
            # position, in any partition, was not written by this switch.
            behind = [place for place, offset in self.positions.items() if self.now.get(place, -1) < offset]
            return "other commits" if behind else "written"
        return "stop members" if self.members else "write"


def switch_exit_code(groups: list[GroupSwitch]) -> int:
    """Return 0 if every group has its positions, else 1."""
    return int(any(group.action != "written" for group in groups))


def next_sentence(group: GroupSwitch, *, execute: bool) -> str:
    """Return what is to be done with a group now, in the imperative.

    Args:
        group: the group.
        execute: whether positions are written in this run, so that "write" is done already.
    """
    if group.action == "stop members":
        return f"stop its {count(group.members, 'member')}; static ones leave when their session times out"
    if group.action == "other commits":
        return "it has other commits on the new topic; --back --execute removes them"
    if group.action == "written" and group.members:
        return "nothing: it has its positions, or has read on from there"
    if group.action == "written" or execute:
        return "start its members on the new topic"
    return "write its positions with --execute"
