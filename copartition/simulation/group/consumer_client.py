"""Model the clients of a consumer group (KIP-848) that speak its own protocol.

Read `ConsumerClient.MOVES` at the end of the class first: it says what the client does about each event.
`client` has what clients of both protocols do.

Sources: Kafka's ConsumerMembershipManager, ConsumerHeartbeatRequestManager; `benchmarks/rebalances/facts.md`.
"""

from enum import Enum
from typing import ClassVar

from numpy.random import Generator

from copartition.simulation.group.client import Client
from copartition.simulation.group.client_states import ClientEvent, ClientMoves, ConsumerClientState, rows
from copartition.simulation.group.consumer_group import NOTHING

_UNSUBSCRIBED, _JOINING, _RECONCILING, _ACKNOWLEDGING, _STABLE, _FENCED, _STALE, _FATAL = ConsumerClientState
_MEMBER = (_JOINING, _RECONCILING, _STABLE)


class ConsumerClient(Client):
    """A process that speaks the consumer protocol; see `Client`.

    The coordinator may send an assignment in the answer to any heartbeat. At the application's next poll, the
    client gives up and opens partitions, and then reports in a heartbeat that it has this assignment. It
    works on one assignment at a time.
    """

    first_state: ClassVar[Enum] = _UNSUBSCRIBED

    def _intervals(self, random: Generator) -> tuple[float, float]:
        """Return the milliseconds of a member's heartbeat interval and session; the coordinator sets both."""
        late_ms = self._behaviour.consumer_late_ms
        # Before a client is made, the engine refuses one that does not speak the protocol.
        assert late_ms is not None
        interval_ms = self._settings.group_consumer_heartbeat_interval_ms
        return interval_ms + float(random.uniform(*late_ms)), self._settings.group_consumer_session_timeout_ms

    def _notices_ms(self, overdue_ms: float) -> float:
        """Return the time of the first heartbeat after `overdue_ms`, with which the client leaves.

        For a client that falls silent instead, the result is `overdue_ms`.
        """
        leaves = self._behaviour.leaves_when_late
        return self._coordinator.beats.next_ms(self.member, overdue_ms) if leaves else overdue_ms

    def _arrive(self, life: int) -> None:
        """Handle the client's first heartbeat, whose answer is handled like that to any other heartbeat."""
        self._ask(lambda: self._coordinator.join(self, NOTHING), self._hear, life)

    # The methods that only this `MOVES` calls.

    def acknowledge(self) -> None:
        """Report what the client has now; if another assignment has come meanwhile, it is next."""
        reached = self.assigned == self.owned
        self._on(ClientEvent.SENT if reached else ClientEvent.SENT_EARLIER)

    def report(self) -> None:
        """Tell the coordinator in a heartbeat which partitions the client has.

        Its heartbeats start again here, with the next one an interval later.
        """
        self._beat.cancel()
        if self._is_member:
            self._coordinator.beats.restart(self.member, self._world.now_ms)
        owned = self.owned
        self._send(lambda: self._coordinator.heartbeat(self, owned), self._hear)

    MOVES: ClassVar[ClientMoves] = {
        **rows(ClientEvent.FOUND, (_UNSUBSCRIBED,), _STABLE),
        **rows(ClientEvent.STARTED, (_UNSUBSCRIBED,), _JOINING),
        **rows(ClientEvent.ASSIGNED, (_JOINING,), _RECONCILING, Client.await_partitions, Client.await_poll),
        **rows(ClientEvent.ASSIGNED, (_STABLE,), _RECONCILING, Client.await_partitions, Client.await_poll),
        # Only one assignment is worked on at a time. Another assignment that comes meanwhile waits in
        # `assigned`, and replaces one that waited there before.
        **rows(ClientEvent.ASSIGNED, (_RECONCILING, _STALE), None, Client.await_partitions),
        **rows(ClientEvent.UNCHANGED, (_JOINING,), _STABLE, Client.expect_nothing),
        **rows(ClientEvent.UNCHANGED, (_RECONCILING, _STABLE, _STALE), None, Client.expect_nothing),
        **rows(ClientEvent.POLLED, (_RECONCILING,), None, Client.call_back),
        **rows(ClientEvent.DONE, (_RECONCILING,), _ACKNOWLEDGING, acknowledge),
        **rows(ClientEvent.DONE_REVOKING, (_RECONCILING,), _ACKNOWLEDGING, acknowledge),
        # The state changes as the heartbeat is made, before it is sent, as in Kafka.
        **rows(ClientEvent.SENT, (_ACKNOWLEDGING,), _STABLE, report),
        **rows(ClientEvent.SENT_EARLIER, (_ACKNOWLEDGING,), _RECONCILING, report, Client.await_poll),
        # What the process would have done is cancelled. The client waits for a new poll when its process goes
        # on.
        **rows(ClientEvent.FROZEN, (_RECONCILING,), None),
        **rows(ClientEvent.WOKEN, (_RECONCILING,), None, Client.await_poll),
        **rows(ClientEvent.WOKEN, (_JOINING, _STABLE), None),
        **rows(ClientEvent.FORGOTTEN, _MEMBER, _FENCED, Client.read_on),
        **rows(ClientEvent.FENCED, (*_MEMBER, _FENCED), _FENCED, Client.note_fenced, Client.await_poll),
        **rows(ClientEvent.FENCED, (_STALE,), None),  # its application polls at this very time
        # The client joins again when the batch is done. If it is waiting for that already, it ignores the
        # answer, as Kafka's client does.
        **rows(ClientEvent.FENCED_BUSY, _MEMBER, _FENCED, Client.note_fenced, Client.await_return),
        **rows(ClientEvent.FENCED_BUSY, (_FENCED, _STALE), None),
        **rows(ClientEvent.POLLED, (_FENCED,), _JOINING, Client.rejoin),
        **rows(ClientEvent.BUSY, _MEMBER, None, Client.work),
        **rows(ClientEvent.BUSY, (_STALE,), None, Client.await_return),
        **rows(ClientEvent.OVERDUE, _MEMBER, _STALE, Client.give_up),
        **rows(ClientEvent.RETURNED, (_FENCED, _STALE), _JOINING, Client.lose_commit, Client.rejoin),
        **rows(ClientEvent.REFUSED, (_JOINING,), _FATAL, Client.end),
    }
    """What the client does about each event. A pair of state and event that is missing cannot happen."""
