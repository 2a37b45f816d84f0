"""Whatever a group does, a flow says what a simulation of whole records says."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assignors.group import Topic
from copartition.simulation import Load, Scenario, Settings
from copartition.simulation.records.flow import RecordFlow
from copartition.simulation.records.readers import Zombie
from tests.copartition.simulation.records.whole_records import INTERVAL, TIMEOUT, WholeRecords
from tests.support.tiers import examples

PARTITIONS = 6
CONSUMERS = 3
ROUNDING = {"abs": 3.0, "rel": 0}
"""Whole records do not share a second quite as a flow does."""


class History:
    """Calls that a group may make, as (second, method, arguments)."""

    def __init__(self, draw):
        self.calls = []
        self.now = 0
        self._draw = draw
        self._born = 0
        self._reader = {}
        self._standing = {}
        self._lost = set()  # consumers with what they lost without giving it up
        self._haunts = dict.fromkeys(range(CONSUMERS), 0)  # until when each is a zombie

    def step(self):
        moves = [self.wait, self.wait]
        moves += [self.born] * (self._born < PARTITIONS)
        moves += [self.reads, self.reads] * (self._born > len(self._reader))
        moves += [self.gives_up, self.crashes, self.stalls, self.is_replaced] * bool(self._reader)
        moves += [self.goes_on, self.is_expelled] * bool(self._standing)
        moves += [self.zombie] * bool(self._lost)
        self._draw(st.sampled_from(moves))()

    def wait(self):
        self.now += self._draw(st.integers(1, 9))

    def born(self):
        self._tell("born", self._born)
        self._born += 1

    def reads(self):
        awake = [reader for reader, until in self._haunts.items() if until <= self.now]
        awake = [reader for reader in awake if reader not in self._standing.values()]
        if awake:
            consumer = self._draw(st.sampled_from(awake))
            which = self._some(
                [partition for partition in range(self._born) if partition not in self._reader]
            )
            self._lost |= {
                (self._standing.pop(partition), partition)
                for partition in which
                if partition in self._standing
            }
            self._take(consumer, which)

    def goes_on(self):
        consumer = self._draw(st.sampled_from(sorted(set(self._standing.values()))))
        which = [partition for partition in self._standing if self._standing[partition] == consumer]
        for partition in which:
            del self._standing[partition]
        self._take(consumer, which)

    def gives_up(self):
        which = self._some(self._of_one(self._reader))
        for partition in which:
            del self._reader[partition]
        self._tell("stops", which, True)

    def crashes(self):
        which = self._of_one(self._reader)
        self._lost |= {(self._reader.pop(partition), partition) for partition in which}
        self._tell("stops", which, False)

    def stalls(self):
        which = self._of_one(self._reader)
        self._standing |= {partition: self._reader.pop(partition) for partition in which}
        self._tell("stalls", which)

    def is_expelled(self):
        which = self._of_one(self._standing)
        self._lost |= {(self._standing.pop(partition), partition) for partition in which}
        self._tell("stops", which, self._draw(st.booleans()))

    def zombie(self):
        consumer = self._draw(st.sampled_from(sorted({consumer for consumer, _ in self._lost})))
        if self._haunts[consumer] <= self.now and consumer not in self._reader.values():
            which = sorted(partition for owner, partition in self._lost if owner == consumer)
            self._lost -= {(consumer, partition) for partition in which}
            seconds = self._draw(st.integers(1, 9))
            self._haunts[consumer] = self.now + seconds
            self._tell("zombie", consumer, which, seconds)

    def is_replaced(self):
        which = self._of_one(self._reader)
        consumer = self._reader[which[0]]
        if self._haunts[consumer] <= self.now:
            self._haunts[consumer] = self.now + 3
            self._tell("zombie", consumer, which, 3)

    def _take(self, consumer, which):
        self._lost -= {(consumer, partition) for partition in which}
        self._reader |= dict.fromkeys(which, consumer)
        self._tell("reads", consumer, which)

    def _of_one(self, owners):
        consumer = self._draw(st.sampled_from(sorted(set(owners.values()))))
        return [partition for partition in owners if owners[partition] == consumer]

    def _some(self, partitions):
        return self._draw(st.lists(st.sampled_from(partitions), min_size=1, unique=True))

    def _tell(self, method, *arguments):
        self.calls.append((self.now, method, arguments))


@st.composite
def histories(draw):
    history = History(draw)
    for _ in range(draw(st.integers(1, 16))):
        history.step()
    return history.calls, history.now + draw(st.integers(1, 20))


def in_another_order(calls, random):
    """Calls for different times about different partitions may come in any order."""
    calls = list(calls)
    for _ in range(3 * len(calls)):
        place = random.randrange(len(calls) - 1) if len(calls) > 1 else 0
        pair = calls[place : place + 2]
        if len({second for second, _, _ in pair}) == 2 and not about(pair[0]) & about(pair[1]):
            calls[place : place + 2] = pair[::-1]
    return calls


def about(call):
    _, method, arguments = call
    match method:
        case "born":
            return set(arguments)
        case "stops" | "stalls":
            return set(arguments[0])
    return set(arguments[1])


def tell(flow, call):
    second, method, arguments = call
    at = 1000 * second
    match method, arguments:
        case "born", (partition,):
            flow.add_partitions([partition], at)
        case "reads", (consumer, partitions):
            flow.reads(partitions, consumer, at)
        case "stops", (partitions, committed):
            flow.stops(partitions, at, committed=committed)
        case "stalls", (partitions,):
            flow.stalls(partitions, at)
        case "zombie", (consumer, partitions, seconds):
            flow.zombie(Zombie(partitions, consumer, at, at + 1000 * seconds))


def flow_of(rates, capacities, on_revoke, transactions):
    names = [f"topic-{number}" for number in range(PARTITIONS)]
    load = Load(
        dict(zip(names, rates, strict=True)), 1, commit_on_revoke=on_revoke, transactions=transactions
    )
    timeouts = Settings(auto_commit_interval_ms=1000 * INTERVAL, transaction_timeout_ms=1000 * TIMEOUT)
    topics = tuple(Topic(name, 1) for name in names)
    flow = RecordFlow(Scenario(topics, (), load=load, settings=timeouts), np.arange(PARTITIONS + 1), names)
    for consumer, capacity in enumerate(capacities):
        flow.readers.consumers.has_capacity(consumer, capacity)
    return flow


def at_seconds(times, values, seconds):
    """Before what happens at these seconds."""
    return np.interp(1000 * np.array(seconds) - 1e-6, times, values)


@given(
    histories(),
    st.lists(st.sampled_from([0, 12, 24, 60]), min_size=PARTITIONS, max_size=PARTITIONS),
    st.lists(st.sampled_from([24, 60, 120, 240]), min_size=CONSUMERS, max_size=CONSUMERS),
    st.booleans(),
    st.booleans(),
    st.randoms(use_true_random=False),
)
@settings(max_examples=examples(200), deadline=None)
def test_a_flow_is_what_whole_records_are(history, rates, capacities, on_revoke, transactions, random):
    calls, end = history
    slow = WholeRecords(rates, capacities, on_revoke, transactions)
    for second, method, arguments in calls:
        slow.until(second)
        getattr(slow, method)(*arguments)
    slow.until(end)
    flow = flow_of(rates, capacities, on_revoke, transactions)
    told = in_another_order(calls, random)
    for place, call in enumerate(told, 1):
        tell(flow, call)
        next_second = min((second for second, _, _ in told[place:]), default=end)
        if random.random() < 0.3 and max(second for second, _, _ in told[:place]) <= next_second:
            flow.advance(1000 * next_second)
    result = flow.result(1000 * end)
    for partition, log in slow.log.items():
        counts = np.array(log)
        assert result.arrived[partition] == len(log)
        assert result.consumed[partition] == pytest.approx(np.count_nonzero(counts), **ROUNDING)
        assert result.duplicates[partition] == pytest.approx(np.maximum(counts - 1, 0).sum(), **ROUNDING)
        assert result.aborted[partition] == pytest.approx(slow.aborted[partition], **ROUNDING)
        assert result.waiting[partition] == pytest.approx((counts == 0).sum(), **ROUNDING)
        assert result.lost[partition] == 0
        times, behind = result.curves.of(partition)
        lags = {
            second: by_partition[partition]
            for second, by_partition in enumerate(slow.lags, 1)
            if partition in by_partition
        }
        assert at_seconds(times, behind, list(lags)) == pytest.approx(list(lags.values()), **ROUNDING)
        assert result.peak[partition] == pytest.approx(behind.max())
    sums = [sum(lags.values()) for lags in slow.lags]
    seconds = range(1, len(sums) + 1)
    assert at_seconds(result.lag_ms, result.lag, seconds) == pytest.approx(sums, **ROUNDING)


@given(histories(), st.booleans())
@settings(max_examples=examples(100), deadline=None)
def test_open_transactions_block_as_long_as_they_do_second_by_second(history, on_revoke):
    calls, end = history
    rates, capacities = [12] * PARTITIONS, [240] * CONSUMERS
    slow = WholeRecords(rates, capacities, on_revoke, transactions=True)
    flow = flow_of(rates, capacities, on_revoke, transactions=True)
    for call in calls:
        second, method, arguments = call
        slow.until(second)
        getattr(slow, method)(*arguments)
        tell(flow, call)
    slow.until(end)
    result = flow.result(1000 * end)
    blocked = [1000 * slow.blocked[partition] for partition in range(PARTITIONS)]
    assert result.uncommitted_ms.tolist() == pytest.approx(blocked)
