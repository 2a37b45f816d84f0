"""Name the states of clients and the events that move clients from one state to another.

The tables of moves are in the modules of the clients: `ConsumerClient.MOVES` in `consumer_client` for the
consumer protocol (KIP-848), `ClassicClient.MOVES` in `classic_client` for the classic protocol. The states
have the names of the Java client of Kafka 4.4.
"""

from collections.abc import Callable, Iterable
from enum import Enum, auto
from typing import Any, NamedTuple


class ConsumerClientState(Enum):
    """The state of a client of the consumer protocol, by the names of Kafka's `MemberState`.

    Kafka's UNSUBSCRIBED is the state before the start. Its PREPARE_LEAVING and LEAVING are left out: a
    process that closes is `Client.gone` at once, and only its last request is still on its way.
    """

    UNSUBSCRIBED = auto()
    """The client's process has not started."""
    JOINING = auto()
    """The client has sent its join, and has no answer yet."""
    RECONCILING = auto()
    """The client waits for its application to poll with an assignment in hand, or runs callbacks for it."""
    ACKNOWLEDGING = auto()
    """The client is about to report what it has; this takes no time."""
    STABLE = auto()
    """The client has all that it was assigned, and has reported it."""
    FENCED = auto()
    """The client knows that it was dropped, and joins again when its application polls."""
    STALE = auto()
    """The client's application has not polled for too long; the client joins again at the next poll."""
    FATAL = auto()
    """The client may never join, and its process has ended."""


class ClassicClientState(Enum):
    """The state of a client of the classic protocol, by the names of Kafka's `AbstractCoordinator`.

    Kafka's client counts as STABLE until it sends JoinGroup, and as soon as it gets its assignment. Here the
    two states between include the wait for a poll and the callbacks, because no other state tells of them.
    """

    UNJOINED = auto()
    """The client is no member, or knows that it is no member any more."""
    PREPARING_REBALANCE = auto()
    """The client knows of a rebalance: it waits for a poll, gives partitions up, or has sent JoinGroup."""
    COMPLETING_REBALANCE = auto()
    """JoinGroup is answered: the client waits for its assignment, then for a poll, or runs callbacks."""
    STABLE = auto()
    """The client has the partitions that it was assigned."""


REBALANCING = frozenset({ClassicClientState.PREPARING_REBALANCE, ClassicClientState.COMPLETING_REBALANCE})
"""The states of a client of the classic protocol that waits for an assignment or is working on one."""


class ClientEvent(Enum):
    """Name what can happen to a client of either protocol; each value describes its event in words."""

    FOUND = "the group has this member already, at time 0 or after another kind of group"
    STARTED = "its process starts"
    ASSIGNED = "an answer brings another assignment"
    UNCHANGED = "an answer brings nothing new"
    POLLED = "its application polls"
    DONE = "its callbacks are done"
    SENT = "it reports what it has, and that is all that it was assigned"
    SENT_EARLIER = "it reports what it has, and has been assigned something else meanwhile"
    REBALANCE = "the answer to a heartbeat asks it to join again"
    JOINED = "JoinGroup is answered"
    SYNCED = "SyncGroup is answered with what it has"
    UNASSIGNED = "SyncGroup is answered without an assignment"
    DONE_REVOKING = "its callbacks are done, and it has given partitions up"
    FROZEN = "its process stands still while it waits for a poll or runs callbacks"
    WOKEN = "its process goes on, and is still a member"
    FORGOTTEN = "its process goes on, and is no member any more"
    BUSY = "its application works on a slow batch from now on"
    FENCED = "an answer says that it is no member"
    FENCED_BUSY = "an answer says that it is no member, while its application works on a slow batch"
    REFUSED = "an answer says that it may not join"
    OVERDUE = "its application has not polled for max.poll.interval.ms"
    RETURNED = "its application polls after that, or after it was forgotten"


class ClientMove(NamedTuple):
    """The state after an event, and the methods of the client that are then called, in order."""

    to: Enum
    does: tuple[Callable[[Any], None], ...]


ClientMoves = dict[tuple[Enum, ClientEvent], ClientMove]
"""(state, event) -> `ClientMove`. An event that is missing for a state cannot happen in that state."""


def rows(
    event: ClientEvent, states: Iterable[Enum], to: Enum | None, *does: Callable[[Any], None]
) -> ClientMoves:
    """Return rows of a table of moves: one row for each of these states.

    Args:
        event: the event.
        states: the states in which the event has these consequences.
        to: the state after the event; None: the client stays in its state.
        does: the client's methods that are then called.
    """
    return {(state, event): ClientMove(to or state, does) for state in states}
