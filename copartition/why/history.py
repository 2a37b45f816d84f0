"""Hold what logs show of a group: its rebalances with their causes, what else befell it, who came back.

Times are seconds since 1970, lengths of time seconds.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from assignors.group import name_in
from copartition.why.evidence import Line

OFFSETS_TOPIC = "__consumer_offsets"
UNNAMED = "a group without a name"
"""The name of the only group if no line names it."""
REPLACED = "static member back, no rebalance"
CUT_OFF = "its beginning is not in these logs"
"""The reason of a rebalance of which the logs have only the end."""
ONLY_CLIENTS = "only clients' logs: what other members did is not known"
"""Assumed of a group of which no broker's line was read."""


class Cause(StrEnum):
    """The cause of a rebalance."""

    JOINED = "joined"
    LEFT = "left"
    CRASHED = "crashed and came back"
    EXPIRED = "session expired"
    POLL = "poll interval exceeded"
    LATE = "did not rejoin in time"
    TOPICS = "topics changed"
    SUBSCRIPTION = "subscription changed"
    REPLACED = "static member replaced"
    FENCED = "fenced"
    FOLLOW_UP = "follow-up of a cooperative rebalance"
    ASSIGNOR = "assignors or protocol changed"
    COORDINATOR = "coordinator moved"
    STORING = "assignment not stored"
    BEHIND = "config topic read late"
    SETTINGS = "assignment settings changed"
    GONE = "left or failed"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Rebalance:
    """A rebalance, as far as logs tell; times are seconds since 1970.

    Attributes:
        generation: the generation, or the epoch of a KIP-848 group, that it made; None: not logged.
        cause: why it began.
        member: who caused it: `group.instance.id`, else `client.id`, else the member id.
        reason: the words of the log.
        line: the line that has these words.
        began: when it began.
        joined: when all members had joined; None for KIP-848 groups, which do not wait for that.
        ended: when the assignment was there; None if another rebalance began before, or the log ends.
        members: how many there were then.
        assignor: which one assigned.
        also: who else came or went meanwhile, and how.
        leader: which member led a classic group then, as far as `__consumer_offsets` says.
        names: who the members were then, as it says.

    >>> line = Line("server.log", 7)
    >>> rebalance = Rebalance(3, Cause.JOINED, "app-1", "", line, began=100.0, joined=103.0, ended=103.5)
    >>> rebalance.join_s, rebalance.sync_s
    (3.0, 0.5)
    """

    generation: int | None
    cause: Cause
    member: str | None
    reason: str
    line: Line
    began: float | None
    joined: float | None = None
    ended: float | None = None
    members: int | None = None
    assignor: str | None = None
    also: tuple[tuple[Cause, str | None], ...] = ()
    leader: str | None = None
    names: tuple[str, ...] = ()

    @property
    def join_s(self) -> float | None:
        """The seconds that the coordinator waited for members to join; None if unknown."""
        return _seconds(self.began, self.joined)

    @property
    def sync_s(self) -> float | None:
        """The seconds that the members then waited for the assignment; None if unknown.

        Under KIP-848 members do not join first, so the time counts from the beginning on.
        """
        return _seconds(self.joined if self.joined is not None else self.began, self.ended)


def _seconds(since: float | None, until: float | None) -> float | None:
    """Return the seconds from one time to another; None if one is unknown, or if they are in the wrong order.

    Lines of two machines whose clocks differ may be in the wrong order, and tell no length of time then.
    """
    return None if since is None or until is None or until < since else until - since


class Other(NamedTuple):
    """An event that is no rebalance, and worth a line.

    Attributes:
        at: when, seconds since 1970.
        what: what happened.
        member: the member that it happened to; None if the line does not name it.
        line: the line that says so.
        finding: whether it is a fault after which the logs show no rebalance.
    """

    at: float | None
    what: str
    member: str | None
    line: Line
    finding: bool = False


@dataclass(frozen=True, slots=True)
class GroupHistory:
    """The history of a group, as far as logs show it.

    Attributes:
        name: its id.
        protocol: "classic", "consumer" (KIP-848), "share" (KIP-932) or "streams" (KIP-1071), the last one if
            the group changed it; None if the logs do not tell.
        rebalances: in order.
        others: what was no rebalance.
        assumed: what the logs do not tell, and was taken for granted.
    """

    name: str
    protocol: str | None
    rebalances: tuple[Rebalance, ...]
    others: tuple[Other, ...]
    assumed: tuple[str, ...]


_UUID = re.compile(r"^[A-Za-z0-9_+/-]{22}$")
"""A member id of KIP-848: a UUID in base64, which says nothing of the client."""


def name_of(member: str | None) -> str | None:
    """Return the `group.instance.id` or `client.id` in a member id; an id of another form as it is.

    >>> name_of("billing-1-6fd0b3a5-3ec5-4b52-8a6a-3f3c1cd5e0a4")
    'billing-1'
    """
    return name_in(member or "") or member


_DEFAULT_NAME = re.compile(
    r"rdkafka|sarama|kgo|kafkajs|kafka-node-client|console-consumer|consumer-(?:.+-)?\d+"
    r"|(?:aiokafka|kafka-python)-[\d.]+(?:dev\d*)?"
)
"""The names that client libraries give to a member without a `client.id` of its own."""


def is_default_name(name: str | None) -> bool:
    """Return whether a name is what a client library calls each of its members that gets no name.

    Members of one such name may be of many processes, so that it does not tell who came back.

    >>> is_default_name("rdkafka"), is_default_name("consumer-billing-1"), is_default_name("billing-1")
    (True, True, False)
    """
    return name is not None and _DEFAULT_NAME.fullmatch(name) is not None


class Return(NamedTuple):
    """A member that was gone from the group and joined again.

    Attributes:
        member: its name.
        away_s: seconds from its leave, or from the end of its session, until it joined.
        closed: whether it left by itself. If not, its session expired, and a group's log does not tell a
            process that was paused from one that crashed and was started again.
    """

    member: str
    away_s: float
    closed: bool


def returns(rebalances: Sequence[Rebalance]) -> list[Return]:
    """Return the members that closed or fell silent and came back, in the order in which they did.

    A name that several members have at a time tells nothing, and neither does one that a client library
    gives, so their comings and goings are left out. A member of a KIP-848 group that comes back under the
    same member id was no other process.

    Args:
        rebalances: of one group, in order.

    >>> line = Line("server.log", 7)
    >>> left = Rebalance(4, Cause.LEFT, "app-1", "", line, began=10.0)
    >>> returns([left, Rebalance(5, Cause.JOINED, "app-1", "", line, began=12.5)])
    [Return(member='app-1', away_s=2.5, closed=True)]
    """
    gone: dict[str, tuple[float, bool]] = {}
    here: Counter[str] = Counter()
    back = []
    for rebalance in rebalances:
        for cause, member in ((rebalance.cause, rebalance.member), *rebalance.also):
            if member is None or rebalance.began is None or is_default_name(member):
                continue
            if cause is Cause.JOINED:
                # Above 1 another member has the same name, so which of them came back is unknown.
                here[member] += 1
                since, closed = gone.pop(member, (None, False))
                if since is not None and here[member] == 1 and not _UUID.match(member):
                    back.append(Return(member, rebalance.began - since, closed))
            elif cause in {Cause.LEFT, Cause.EXPIRED, Cause.POLL}:
                here[member] = max(0, here[member] - 1)
                gone.pop(member, None)
                # A member that polled too late is the same process when it comes back: that is no restart.
                if cause is not Cause.POLL:
                    gone[member] = rebalance.began, cause is Cause.LEFT
    return back
