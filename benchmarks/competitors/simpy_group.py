"""A consumer group in SimPy, one process a member and one event a message.

It does less than the simulator it is measured against: there is no assignor, no session, nobody counts what
is not read, and every heartbeat is exactly on time.
"""

from __future__ import annotations

import simpy

HEARTBEAT_MS = 3_000
COMMIT_MS = 5_000


class Group:
    """An eager group that restarts its members, one after the other.

    Attributes:
        rebalances: how many there have been.
        heartbeats: heartbeats that found nothing new, and commits.
        moves: JoinGroup, SyncGroup, LeaveGroup and the heartbeats whose answer was to join again.
    """

    def __init__(self, members: int, restarts: int, every_ms: float, down_ms: float) -> None:
        self.rebalances = self.heartbeats = self.moves = 0
        self._env = simpy.Environment()
        self._members: set[int] = set()
        self._joined: set[int] = set()
        self._rebalancing = True
        self._barrier = self._env.event()
        self._processes = {}
        for member in range(members):
            self._start(member)
        self._env.process(self._restart(restarts, every_ms, down_ms))
        self._env.run(until=(restarts + 1) * every_ms)

    def _start(self, member: int) -> None:
        self._members.add(member)
        self._prepare()
        self._processes[member] = self._env.process(self._consume(member))
        self._env.process(self._commit(self._processes[member]))

    def _prepare(self) -> None:
        if not self._rebalancing:
            self._rebalancing, self._barrier = True, self._env.event()

    def _consume(self, member: int):
        try:
            while True:
                self.moves += 1
                self._joined.add(member)
                if self._joined == self._members:
                    self._joined.clear()
                    self._rebalancing = False
                    self.rebalances += 1
                    self._barrier.succeed()
                yield self._barrier
                self.moves += 1
                yield self._env.timeout(HEARTBEAT_MS)
                while not self._rebalancing:
                    self.heartbeats += 1
                    yield self._env.timeout(HEARTBEAT_MS)
                self.moves += 1
        except simpy.Interrupt:
            self.moves += 1
            self._members.remove(member)
            self._prepare()

    def _commit(self, process: simpy.Process):
        while process.is_alive:
            self.heartbeats += 1
            yield self._env.timeout(COMMIT_MS)

    def _restart(self, restarts: int, every_ms: float, down_ms: float):
        for number in range(restarts):
            yield self._env.timeout(every_ms - (number > 0) * down_ms)
            member = number % len(self._processes)
            self._processes[member].interrupt()
            yield self._env.timeout(down_ms)
            self._start(member)
