"""The closed forms against a simulation that goes second by second and counts record by record."""

from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assignors.group import Topic
from assignors.simulation import Load, Scenario, Settings
from assignors.simulation.records.flow import Flow

PARTITIONS = 6
CONSUMERS = 3
INTERVAL = 5
TIMEOUT = 12
ROUNDING = 3.0
"""Records by which whole records may differ from a flow: what a second's share is rounded by."""


@dataclass
class Slow:
    """Whole seconds, whole records, nothing clever."""

    rates: list[int]
    capacity: int
    on_revoke: bool
    transactions: bool
    now: int = 0
    log: dict[int, list[int]] = field(default_factory=dict)  # how often each record was processed
    committed: dict[int, int] = field(default_factory=dict)
    reading: dict[int, dict[int, int]] = field(default_factory=dict)  # by consumer: partition, position
    standing: dict[int, dict[int, int]] = field(default_factory=dict)
    clock: dict[int, int] = field(default_factory=dict)
    stood_at: dict[int, int] = field(default_factory=dict)
    left: dict[tuple[int, int], int] = field(default_factory=dict)
    zombies: list[tuple[int, dict[int, int]]] = field(default_factory=list)
    aborted: dict[int, int] = field(default_factory=dict)
    open_since: dict[int, dict[int, int]] = field(default_factory=dict)
    lags: list[dict[int, int]] = field(default_factory=list)
    blocked: dict[int, int] = field(default_factory=dict)
    blocking: list[list] = field(default_factory=list)  # consumer, partitions, until

    def until(self, second: int) -> None:
        while self.now < second:
            self._second()
            self.lags.append({partition: self.lag(partition) for partition in self.log})

    def lag(self, partition: int) -> int:
        return len(self.log[partition]) - self.position(partition)

    def position(self, partition: int) -> int:
        for held in (*self.reading.values(), *self.standing.values()):
            if partition in held:
                return held[partition]
        return self.committed[partition]

    def born(self, partition):
        self.log[partition], self.committed[partition] = [], 0

    def reads(self, consumer, partitions):
        mine = self.reading.setdefault(consumer, {})
        held = self.standing.get(consumer, {})
        fresh = [partition for partition in partitions if partition not in held]
        timed_out = (
            self.transactions
            and held
            and self.now > self._last_tick(consumer, self.stood_at[consumer]) + TIMEOUT
        )
        for partition in partitions:
            if partition in held and not timed_out:
                mine[partition] = held.pop(partition)
                if self._last_tick(consumer) > self.stood_at[consumer]:
                    self.committed[partition] = mine[partition]
            else:
                for other in range(CONSUMERS):
                    if partition in self.standing.get(other, {}):
                        self._lose(other, partition, self.standing[other].pop(partition))
                if partition not in mine:
                    mine[partition] = None
        idle = all(position is None for position in mine.values())
        if (fresh or timed_out) and self.on_revoke:
            self._commit(consumer)
            self.clock[consumer] = self.now
        elif idle:
            self.clock[consumer] = self.now
        for partition in partitions:
            if mine[partition] is None:
                mine[partition] = self.committed[partition]
        self.blocking = [
            [who, which, min(until, self.now) if who == consumer else until]
            for who, which, until in self.blocking
        ]

    def stops(self, partition, committed):
        for consumer, held in self.standing.items():
            if partition in held:
                self._lose(consumer, partition, held.pop(partition))
                return
        consumer = next(each for each, held in self.reading.items() if partition in held)
        if committed and self.on_revoke:
            self._commit(consumer)
            self.clock[consumer] = self.now
        position = self.reading[consumer].pop(partition)
        if not committed:
            self._block(consumer, partition, position)
        self._lose(consumer, partition, position)

    def stalls(self, consumer):
        for partition, position in self.reading[consumer].items():
            self._block(consumer, partition, position)
        self.standing.setdefault(consumer, {}).update(self.reading.pop(consumer))
        self.stood_at[consumer] = self.now

    def zombie(self, consumer, partitions, seconds):
        for partition in partitions:
            if partition in self.standing.get(consumer, {}):
                self._lose(consumer, partition, self.standing[consumer].pop(partition))
        self.zombies.append((self.now + seconds, {each: self.left[each, consumer] for each in partitions}))
        self.blocking = [
            [who, which, min(until, self.now + seconds) if who == consumer else until]
            for who, which, until in self.blocking
        ]

    def _block(self, consumer, partition, position):
        if self.transactions and position > self.committed[partition]:
            self.blocking.append([consumer, partition, self._last_tick(consumer) + TIMEOUT])

    def _lose(self, consumer, partition, position):
        self.left[partition, consumer] = position
        if self.transactions:
            for record in range(self.committed[partition], position):
                self.log[partition][record] -= 1
            self.aborted[partition] = self.aborted.get(partition, 0) + position - self.committed[partition]

    def _last_tick(self, consumer, at=None):
        clock = self.clock[consumer]
        return clock + ((self.now if at is None else at) - clock) // INTERVAL * INTERVAL

    def _commit(self, consumer):
        for partition, position in self.reading.get(consumer, {}).items():
            if position is not None:
                self.committed[partition] = position

    def _second(self):
        for partition, log in self.log.items():
            log += [0] * self.rates[partition]
        for held in self.reading.values():
            for partition, position in self._share(held).items():
                self._process(partition, held[partition], position)
                held[partition] = position
        for until, held in self.zombies:
            if self.now < until:
                for partition, position in self._share(held).items():
                    if self.transactions:
                        self.aborted[partition] = self.aborted.get(partition, 0) + position - held[partition]
                    else:
                        self._process(partition, held[partition], position)
                    held[partition] = position
        for partition in {which for _, which, until in self.blocking if until > self.now}:
            self.blocked[partition] = self.blocked.get(partition, 0) + 1
        self.now += 1
        for consumer in self.reading:
            if self.now == self._last_tick(consumer):
                self._commit(consumer)

    def _process(self, partition, begin, end):
        for record in range(begin, end):
            self.log[partition][record] += 1

    def _share(self, held):
        """One record after the other, each of the partition that has got the fewest in this second."""
        got = dict.fromkeys(held, 0)
        for _ in range(self.capacity):
            behind = [each for each in held if held[each] + got[each] < len(self.log[each])]
            if not behind:
                break
            got[min(behind, key=lambda each: (got[each], (each + self.now) % PARTITIONS))] += 1
        return {each: held[each] + got[each] for each in held}


@st.composite
def histories(draw):
    """What a group may tell: (second, method, arguments)."""
    reader, standing, lost, busy_until = {}, {}, set(), [0] * CONSUMERS
    calls, now, born = [], 0, 0
    for _ in range(draw(st.integers(1, 14))):
        free = [each for each in range(born) if each not in reader and each not in standing]
        awake = [
            each for each in range(CONSUMERS) if busy_until[each] <= now and each not in standing.values()
        ]
        may = ["wait"] * 3
        may += ["born"] * (born < PARTITIONS)
        may += ["reads"] * 2 * bool(awake and (free or standing))
        may += ["stops", "drops", "stalls"] * bool(reader)
        may += ["resumes", "expels"] * bool(standing)
        may += ["zombie"] * 2 * bool(lost)
        match draw(st.sampled_from(may)):
            case "wait":
                now += draw(st.integers(1, 9))
            case "born":
                calls.append((now, "born", (born,)))
                born += 1
            case "reads":
                consumer = draw(st.sampled_from(awake))
                which = draw(st.lists(st.sampled_from(free + list(standing)), min_size=1, unique=True))
                lost |= {(standing.pop(each), each) for each in which if each in standing}
                lost -= {(consumer, each) for each in which}
                reader |= dict.fromkeys(which, consumer)
                calls.append((now, "reads", (consumer, which)))
            case "stops" | "drops" as how:
                consumer = draw(st.sampled_from(sorted(set(reader.values()))))
                its = [each for each in reader if reader[each] == consumer]
                which = (
                    its if how == "drops" else draw(st.lists(st.sampled_from(its), min_size=1, unique=True))
                )
                for each in which:
                    del reader[each]
                    if how == "drops":
                        lost.add((consumer, each))
                calls.append((now, "stops", (which, how == "stops")))
            case "stalls":
                consumer = draw(st.sampled_from(sorted(set(reader.values()))))
                which = [each for each in reader if reader[each] == consumer]
                for each in which:
                    standing[each] = reader.pop(each)
                calls.append((now, "stalls", (consumer, which)))
            case "resumes":
                consumer = draw(st.sampled_from(sorted(set(standing.values()))))
                which = [each for each in standing if standing[each] == consumer]
                for each in which:
                    reader[each] = standing.pop(each)
                calls.append((now, "reads", (consumer, which)))
            case "expels":
                consumer = draw(st.sampled_from(sorted(set(standing.values()))))
                which = [each for each in standing if standing[each] == consumer]
                lost |= {(standing.pop(each), each) for each in which}
                calls.append((now, "stops", (which, draw(st.booleans()))))
            case "zombie":
                consumer = draw(st.sampled_from(sorted({consumer for consumer, _ in lost})))
                if busy_until[consumer] <= now and consumer not in reader.values():
                    which = [each for who, each in lost if who == consumer]
                    seconds = draw(st.integers(1, 9))
                    busy_until[consumer] = now + seconds
                    lost -= {(consumer, each) for each in which}
                    calls.append((now, "zombie", (consumer, sorted(which), seconds)))
    return calls, now + draw(st.integers(0, 20))


def tell_slow(slow, call):
    second, method, arguments = call
    slow.until(second)
    match method:
        case "stops":
            for partition in arguments[0]:
                slow.stops(partition, arguments[1])
        case "stalls":
            slow.stalls(arguments[0])
        case _:
            getattr(slow, method)(*arguments)


def tell(flow, call):
    second, method, arguments = call
    at = 1000 * second
    match method, arguments:
        case "born", (partition,):
            flow.born([partition], at)
        case "reads", (consumer, partitions):
            flow.reads(partitions, consumer, at)
        case "stops", (partitions, committed):
            flow.stops(partitions, at, committed=committed)
        case "stalls", (_, partitions):
            flow.stalls(partitions, at)
        case "zombie", (consumer, partitions, seconds):
            flow.zombie(partitions, consumer, at, at + 1000 * seconds)


def partitions_of(call):
    _, method, arguments = call
    which = arguments[0] if method in {"born", "stops"} else arguments[1]
    return {which} if method == "born" else set(which)


@given(
    histories(),
    st.lists(st.sampled_from([0, 12, 24, 60]), min_size=PARTITIONS, max_size=PARTITIONS),
    st.sampled_from([24, 60, 120, 240]),
    st.booleans(),
    st.booleans(),
    st.randoms(use_true_random=False),
)
@settings(max_examples=150, deadline=None)
def test_a_flow_is_what_whole_records_do(history, rates, capacity, on_revoke, transactions, random):
    calls, end = history
    slow = Slow(rates, capacity, on_revoke, transactions)
    for call in calls:
        tell_slow(slow, call)
    slow.until(end)
    topics = tuple(Topic(f"t{number}", 1) for number in range(PARTITIONS))
    load = Load(
        {topic.name: rate for topic, rate in zip(topics, rates, strict=True)},
        capacity,
        commit_on_revoke=on_revoke,
        transactions=transactions,
    )
    settings_ = Settings(auto_commit_interval_ms=1000 * INTERVAL, transaction_timeout_ms=1000 * TIMEOUT)
    scenario = Scenario(topics, (), load=load, settings=settings_)
    flow = Flow(scenario, np.arange(PARTITIONS + 1), [topic.name for topic in topics])
    # What different partitions are told about may come in any order.
    told = list(calls)
    for _ in range(3 * len(told)):
        place = random.randrange(max(len(told) - 1, 1))
        pair = told[place : place + 2]
        if len(pair) == 2 and not partitions_of(pair[0]) & partitions_of(pair[1]):
            told[place : place + 2] = pair[::-1]
    for place, call in enumerate(told):
        tell(flow, call)
        ahead = min((each[0] for each in told[place + 1 :]), default=end)
        if random.random() < 0.3:
            flow.advance(1000 * ahead)
    result = flow.result(1000 * end)
    close = {"abs": ROUNDING * (1 + len(calls)), "rel": 0}
    for partition in slow.log:
        log = np.array(slow.log[partition])
        assert result.arrived[partition] == len(log)
        assert result.consumed[partition] == pytest.approx((log > 0).sum(), **close)
        assert result.duplicates[partition] == pytest.approx(np.maximum(log - 1, 0).sum(), **close)
        assert result.aborted[partition] == pytest.approx(slow.aborted.get(partition, 0), **close)
        assert result.waiting[partition] == pytest.approx((log == 0).sum(), **close)
        assert result.lost[partition] == 0
        times, behind = result.curves.of(partition)
        assert result.peak[partition] == pytest.approx(max(behind, default=0))
        for second, lags in enumerate(slow.lags, 1):
            if second * 1000 > times.min(initial=np.inf):
                there = np.interp(1000 * second - 1e-6, times, behind)
                assert there == pytest.approx(lags[partition], **close)
        if transactions and rates[partition] >= 60:
            assert result.uncommitted_ms[partition] == pytest.approx(1000 * slow.blocked.get(partition, 0))
    for second, lags in enumerate(slow.lags, 1):
        there = np.interp(1000 * second - 1e-6, result.lag_ms, result.lag)
        assert there == pytest.approx(sum(lags.values()), **close)
