"""A simulation that goes second by second and counts record by record, for the closed forms to agree with."""

from collections import Counter

INTERVAL = 5
"""Seconds between commits."""
TIMEOUT = 12
"""Seconds a transaction may take."""


class WholeRecords:
    """Everything happens at once, in whole seconds."""

    def __init__(self, rates, capacities, commit_on_revoke, transactions):
        self.rates = rates
        self.capacity = capacities  # of each consumer
        self.commit_on_revoke = commit_on_revoke
        self.transactions = transactions
        self.now = 0
        self.log = {}  # by partition, how often each record was processed
        self.aborted = Counter()
        self.lags = []  # after each second, by partition
        self.blocked = Counter()  # seconds in which a transaction was left open
        self._committed = {}
        self._reading = {}  # by consumer, the position in each partition
        self._standing = {}
        self._stood_at = {}
        self._clock = {}
        self._left = {}  # by partition and consumer, where it lost it
        self._zombies = []  # who, until when, the position in each partition
        self._open = []  # consumer, partition, until when

    def until(self, second):
        while self.now < second:
            self._second()
            self.lags.append({partition: self._lag(partition) for partition in self.log})

    def born(self, partition):
        self.log[partition] = []
        self._committed[partition] = 0

    def reads(self, consumer, partitions):
        mine = self._reading.setdefault(consumer, {})
        held = self._standing.get(consumer, {})
        alive = not held or self._in_time(consumer)
        goes_on = [partition for partition in partitions if partition in held and alive]
        taken = [partition for partition in partitions if partition not in goes_on]
        busy = bool(mine or goes_on)
        for partition in goes_on:
            mine[partition] = held.pop(partition)
            if self._last_tick(consumer) > self._stood_at[consumer]:
                self._committed[partition] = mine[partition]
        for partition in taken:
            self._dispossess(partition)
        if taken and self.commit_on_revoke:
            self._commit(consumer)
        if taken and (self.commit_on_revoke or not busy):
            self._clock[consumer] = self.now
        for partition in taken:
            mine[partition] = self._committed[partition]
        self._end_transactions(consumer, self.now)

    def stops(self, partitions, committed):
        for partition in partitions:
            if self._dispossess(partition):
                continue
            consumer = next(reader for reader, mine in self._reading.items() if partition in mine)
            if committed and self.commit_on_revoke:
                self._commit(consumer)
                self._clock[consumer] = self.now
            position = self._reading[consumer].pop(partition)
            if not committed:
                self._leave_open(consumer, partition, position)
            self._lose(consumer, partition, position)

    def stalls(self, partitions):
        for partition in partitions:
            consumer = next(reader for reader, mine in self._reading.items() if partition in mine)
            position = self._reading[consumer].pop(partition)
            self._leave_open(consumer, partition, position)
            self._standing.setdefault(consumer, {})[partition] = position
            self._stood_at[consumer] = self.now

    def zombie(self, consumer, partitions, seconds):
        mine = self._reading.get(consumer, {})
        for partition in partitions:
            self._dispossess(partition, only=consumer)
            if partition in mine:
                self._lose(consumer, partition, mine[partition])
                mine[partition] = self._committed[partition]
                self._clock[consumer] = self.now
                self._end_transactions(consumer, self.now)
        held = {partition: self._left[partition, consumer] for partition in partitions}
        self._zombies.append((consumer, self.now + seconds, held))
        self._end_transactions(consumer, self.now + seconds)

    def _dispossess(self, partition, only=None):
        for consumer, held in self._standing.items():
            if partition in held and only in {None, consumer}:
                self._lose(consumer, partition, held.pop(partition))
                return True
        return False

    def _lose(self, consumer, partition, position):
        self._left[partition, consumer] = position
        if self.transactions:
            for record in range(self._committed[partition], position):
                self.log[partition][record] -= 1
            self.aborted[partition] += position - self._committed[partition]

    def _leave_open(self, consumer, partition, position):
        if self.transactions and position > self._committed[partition]:
            self._open.append((consumer, partition, self._last_tick(consumer) + TIMEOUT))

    def _end_transactions(self, consumer, at):
        self._open = [
            (owner, partition, min(until, at) if owner == consumer else until)
            for owner, partition, until in self._open
        ]

    def _in_time(self, consumer):
        began = (
            self._clock[consumer] + (self._stood_at[consumer] - self._clock[consumer]) // INTERVAL * INTERVAL
        )
        return not self.transactions or self.now <= began + TIMEOUT

    def _last_tick(self, consumer):
        return self._clock[consumer] + (self.now - self._clock[consumer]) // INTERVAL * INTERVAL

    def _commit(self, consumer):
        self._committed |= self._reading.get(consumer, {})

    def _lag(self, partition):
        for held in (*self._reading.values(), *self._standing.values()):
            if partition in held:
                return len(self.log[partition]) - held[partition]
        return len(self.log[partition]) - self._committed[partition]

    def _second(self):
        for partition, log in self.log.items():
            log.extend([0] * self.rates[partition])
        for consumer, mine in self._reading.items():
            for partition, count in self._share(mine, self.capacity[consumer]).items():
                self._process(partition, mine[partition], count)
                mine[partition] += count
        for consumer, held in [(who, held) for who, until, held in self._zombies if self.now < until]:
            for partition, count in self._share(held, self.capacity[consumer]).items():
                if self.transactions:
                    self.aborted[partition] += count
                else:
                    self._process(partition, held[partition], count)
                held[partition] += count
        self.blocked.update({partition for _, partition, until in self._open if self.now < until})
        self.now += 1
        for consumer in self._reading:
            if self._clock[consumer] < self.now == self._last_tick(consumer):
                self._commit(consumer)

    def _process(self, partition, position, count):
        for record in range(position, position + count):
            self.log[partition][record] += 1

    def _share(self, held, capacity):
        """One record after the other, each of the partition that has had the fewest in this second."""
        got = dict.fromkeys(held, 0)
        for _ in range(capacity):
            behind = [
                partition for partition in held if held[partition] + got[partition] < len(self.log[partition])
            ]
            if behind:
                fewest = min(
                    behind, key=lambda waiting: (got[waiting], (waiting + self.now) % len(self.rates))
                )
                got[fewest] += 1
        return got
