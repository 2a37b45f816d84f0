"""Look up what became of real groups that were led from one list of strategies to another.

Such an experiment is called a walk. `benchmarks/migrations` makes the walks and writes `walks.json`.
"""

import json
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from copartition.kit.words import list_names
from copartition.migrate.clients import is_remote
from partitioning.kit.packages import read_data

HOW = {
    "rolling": "",
    "slow": ", each member back only when the others have its partitions,",
    "surge": ", each new member before the old one leaves,",
    "stop": ", all members stopped,",
}
"""`WalkResult.how`, the way in which members were replaced -> words that follow the lists of strategies."""


class WalkResult(NamedTuple):
    """The outcome of all walks of one way with one kind of group.

    Attributes:
        clients: the kinds of clients in the groups.
        way: the lists of strategies from the first to the last.
        how: the way in which members were replaced, a key of `HOW`.
        kafka: the versions of the brokers.
        groups: how many groups went this way, some in their first generation and some in a later one.
        lived: how many of these groups came through: all members lived and shared all partitions after each
            restart.
        fault: what went wrong in the first group that did not come through; None if all did.
    """

    clients: tuple[str, ...]
    way: tuple[tuple[str, ...], ...]
    how: str
    kafka: tuple[str, ...]
    groups: int
    lived: int
    fault: str | None

    def __str__(self) -> str:
        """Return evidence in words: "librdkafka, range to uniform on Kafka 4.4.0: 2 of 2 groups lived"."""
        lists = " to ".join(",".join(strategies) for strategies in self.way)
        groups = f"{self.lived} of {self.groups} groups lived"
        groups += f", in the others {self.fault}" if self.fault else ""
        where = f"{HOW[self.how]} on Kafka {list_names(self.kafka)}"
        return f"{' and '.join(self.clients)}, {lists}{where}: {groups}"


def conversions(old: tuple[str, ...], new: tuple[str, ...], clients: Sequence[str]) -> list[WalkResult]:
    """Return the walks from one protocol to the other, for each strategy that a classic group may use."""
    if is_remote(old) and is_remote(new):
        return walks_of(clients, (old, new))
    # Which strategy of a list the group uses depends on the other members, so each must have been safe.
    pairs = [((name,), new) for name in old] if is_remote(new) else [(old, (name,)) for name in new]
    return [walk for pair in pairs for walk in walks_of(clients, pair)]


def walks_of(
    clients: Sequence[str], way: tuple[tuple[str, ...], ...], how: str = "rolling"
) -> list[WalkResult]:
    """Return the walks of one way by groups whose clients are all among `clients`."""
    # A mixture of clients is no safer than each of them alone, because any member may become the leader.
    return [
        walk for walk in walk_table() if (walk.way, walk.how) == (way, how) and {*walk.clients} <= {*clients}
    ]


@cache
def walk_table() -> tuple[WalkResult, ...]:
    """Return the outcomes of all walks."""
    rows = json.loads(read_data(__package__, "walks.json"))
    return tuple(
        WalkResult(
            tuple(row["clients"]),
            tuple(tuple(strategies.split(",")) for strategies in row["way"]),
            row["how"],
            tuple(row["kafka"]),
            row["groups"],
            row["lived"],
            row["fault"],
        )
        for row in rows
    )
