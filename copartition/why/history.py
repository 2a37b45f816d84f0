"""Hold the history of a group: its rebalances with their causes, other events, and members that came back.

Times are seconds since 1970; lengths of time are in seconds, too.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from assignors.group import name_in
from copartition.why.statements import Line

OFFSETS_TOPIC = "__consumer_offsets"
UNNAMED = "a group without a name"
"""The name that is shown for a group if no line names any group."""
REPLACED = "static member back, no rebalance"
CUT_OFF = "its beginning is not in these logs"
"""The reason of a rebalance whose beginning is not in the logs."""
ONLY_CLIENTS = "only clients' logs: what other members did is not known"
"""The assumption about a group of which only clients' logs were read."""


class Cause(StrEnum):
    """Names the cause of a rebalance; the value is the text that reports show."""

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
class LoggedRebalance:
    """Holds what logs tell about a rebalance. Times are seconds since 1970; what is not logged is None.

    Attributes:
        generation: the generation, or the epoch of a KIP-848 group, that it made; None if it is not logged.
        cause: why it began.
        member: the member that caused it: its `group.instance.id`, else its `client.id`, else its member id.
            None if it is unknown, or if no member caused it.
        reason: the words of the log about the cause.
        line: the line that has these words.
        began: when it began.
        joined: when all members had joined; None for KIP-848 groups, which do not wait for that.
        ended: when the assignment was known. None also if another rebalance began before that.
        members: number of members at the end.
        assignor: name of the strategy.
        also: further causes, each with the member that it is about, or None. In a classic group these are
            members that joined or left during the rebalance; in a KIP-848 group, all further events that led
            to the new epoch.
        leader: name of the leader of a classic group; only `__consumer_offsets` tells it.
        names: names of all members at the end; only `__consumer_offsets` tells them.

    >>> line = Line("server.log", 7)
    >>> rebalance = LoggedRebalance(
    ...     3, Cause.JOINED, "app-1", "", line, began=100.0, joined=103.0, ended=103.5
    ... )
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
        """Seconds that the coordinator waited for members to join; None if unknown."""
        return _seconds(self.began, self.joined)

    @property
    def sync_s(self) -> float | None:
        """Seconds that the members waited for the assignment after the join; None if unknown.

        In a KIP-848 group members do not join first. There the time counts from the beginning of the
        rebalance.
        """
        return _seconds(self.joined if self.joined is not None else self.began, self.ended)


def _seconds(since: float | None, until: float | None) -> float | None:
    """Return the seconds from one time to another; None if one is unknown, or the second is before the first.

    The clocks of two machines may differ. Then their lines may be in the wrong order, and the length of time
    is unknown.
    """
    return None if since is None or until is None or until < since else until - since


class Other(NamedTuple):
    """Describes an event of a group that is not a rebalance.

    Attributes:
        at: when it happened, in seconds since 1970; None if unknown.
        what: what happened, in words.
        member: the member to which it happened; None if the line does not name the member.
        line: the line that shows it.
        finding: whether it is a fault, which makes the command's exit code 1.
    """

    at: float | None
    what: str
    member: str | None
    line: Line
    finding: bool = False


@dataclass(frozen=True, slots=True)
class GroupHistory:
    """Holds what logs show of a group.

    Attributes:
        name: the group's id.
        protocol: "classic", "consumer" (KIP-848), "share" (KIP-932) or "streams" (KIP-1071). If the group
            changed its protocol, this is the last one. None if the logs do not show it.
        rebalances: its rebalances, in order of time.
        others: its events that are not rebalances, in the order of the logs' lines.
        assumed: the assumptions about facts that the logs do not show, as sentences.
    """

    name: str
    protocol: str | None
    rebalances: tuple[LoggedRebalance, ...]
    others: tuple[Other, ...]
    assumed: tuple[str, ...]


_UUID = re.compile(r"^[A-Za-z0-9_+/-]{22}$")
"""Pattern of a member id of KIP-848: a UUID in base64, which does not contain the client's name."""


def client_name(member: str | None) -> str | None:
    """Return the `group.instance.id` or `client.id` in a member id, or else the member id unchanged.

    >>> client_name("billing-1-6fd0b3a5-3ec5-4b52-8a6a-3f3c1cd5e0a4")
    'billing-1'
    """
    return name_in(member or "") or member


_DEFAULT_NAME = re.compile(
    r"rdkafka|sarama|kgo|kafkajs|kafka-node-client|console-consumer|consumer-(?:.+-)?\d+"
    r"|(?:aiokafka|kafka-python)-[\d.]+(?:dev\d*)?"
)
"""Pattern of the names that client libraries give to a member without a `client.id`."""


def is_default_name(name: str | None) -> bool:
    """Return whether a client library gives this name to its members without a `client.id`.

    Members in different processes may have the same default name, so it does not show which process came
    back.

    >>> is_default_name("rdkafka"), is_default_name("consumer-billing-1"), is_default_name("billing-1")
    (True, True, False)
    """
    return name is not None and _DEFAULT_NAME.fullmatch(name) is not None


class Return(NamedTuple):
    """Describes a member that was not in the group for a while and joined again.

    Attributes:
        member: the member's name.
        away_s: seconds from its leave, or from the end of its session, until it joined again.
        closed: whether it left by itself. If not, its session expired: it was paused, or it crashed and was
            started again. Logs of a group do not show which of the two happened.
    """

    member: str
    away_s: float
    closed: bool


def returns(rebalances: Sequence[LoggedRebalance]) -> list[Return]:
    """Return the members that left or fell silent and joined again, in the order of their returns.

    A name is left out if several members have it at the same time, or if a client library gave it, because
    such a name does not show which member returned. A member of a KIP-848 group that returns with the same
    member id is left out, too, because it is the same process.

    Args:
        rebalances: the rebalances of one group, in order of time.

    >>> line = Line("server.log", 7)
    >>> left = LoggedRebalance(4, Cause.LEFT, "app-1", "", line, began=10.0)
    >>> returns([left, LoggedRebalance(5, Cause.JOINED, "app-1", "", line, began=12.5)])
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
                # With a count above 1 another member has the same name, so it is unknown which one returned.
                here[member] += 1
                since, closed = gone.pop(member, (None, False))
                if since is not None and here[member] == 1 and not _UUID.match(member):
                    back.append(Return(member, rebalance.began - since, closed))
            elif cause in {Cause.LEFT, Cause.EXPIRED, Cause.POLL}:
                here[member] = max(0, here[member] - 1)
                gone.pop(member, None)
                # A member that polled too late returns in the same process, so its return is not a restart.
                if cause is not Cause.POLL:
                    gone[member] = rebalance.began, cause is Cause.LEFT
    return back
