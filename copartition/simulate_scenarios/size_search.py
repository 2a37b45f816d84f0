"""The fewest consumers with which no partition is ever further behind than a bound.

Lags in time are milliseconds that a record waits, other lags are records.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from copartition.simulation.inputs.course import occurrence
from copartition.simulation.inputs.events import Autoscaler, ByName, Join, ScaleTo
from copartition.simulation.inputs.scenario import Scenario, topic_counts
from copartition.simulation.outcome.result import SimulationResult, longest_pause
from copartition.simulation.run import simulate_seeds
from copartition.simulation.unfolding import newcomers
from partitioning.errors import ScenarioError


@dataclass(frozen=True, slots=True, order=True)
class SizeTrial:
    """A number of consumers that was tried, in the worst of the runs that were made; fewer come first.

    Attributes:
        consumers: how many there are at the start.
        lag_ms: the longest that a record waits until it is processed, if consumers work on what they have
            fetched of one partition after another; infinite if a partition never catches up or a consumer
            has more to read than it can process.
        lag: the most records that the group was behind.
        recovery_ms: the longest time until a partition was no further behind than before its outage.
        fits: whether `lag_ms` is within the bound.
        why: what the longest pause or the shortage is due to; empty if there is neither.
    """

    consumers: int
    lag_ms: float
    lag: float
    recovery_ms: float
    fits: bool
    why: str


@dataclass(frozen=True, slots=True)
class Size:
    """The number of consumers that a scenario takes, and what was tried to find it.

    Attributes:
        scenario: what was run, with the consumers that it names.
        max_lag_ms: the bound.
        runs: how many seeds; a number of consumers fits if the bound holds with each.
        trials: what was tried, fewer consumers first; a number is left out if its neighbour ruled it out.
        assumed: what was taken for granted of the group that the scenario was made of.
        finished: False if somebody ended the search before its answer.
    """

    scenario: Scenario
    max_lag_ms: float
    runs: int
    trials: tuple[SizeTrial, ...]
    assumed: tuple[str, ...] = ()
    finished: bool = True

    @property
    def fewest(self) -> int | None:
        """The fewest consumers that fit and of which one more fits, too; None if no number is known to."""
        if not self.finished or not self.trials or not self.trials[-1].fits:
            return None
        # Where only the last one fits, it is the greatest number that was to be tried.
        return self.trials[-2 if len(self.trials) > 1 and self.trials[-2].fits else -1].consumers

    @property
    def partitions_needed(self) -> dict[str, int]:
        """Topics of which one partition gets more than any consumer can process, and the partitions needed.

        The keys of the hottest partition are taken to spread evenly over the new ones.
        """
        capacity, rates = _largest_capacity(self.scenario), self.scenario.rates
        return {
            topic.name: math.ceil(hottest * topic.partitions / capacity)
            for topic in self.scenario.topics
            if (hottest := float(rates[topic.name][: topic.partitions].max())) > capacity
        }

    @property
    def autoscaler(self) -> dict[str, int] | None:
        """Settings of KEDA's Kafka scaler that add consumers only beyond the bound.

        What deploys and crashes cost is within it, and an autoscaler that answers them with more consumers
        makes more rebalances. None if no number of consumers fits.
        """
        if self.fewest is None:
            return None
        rates = self.scenario.rates.values()
        # The records that come within the bound: if more wait, somebody waits for too long.
        lag = sum(float(rate.sum()) for rate in rates) * self.max_lag_ms / 1_000
        return {
            "minReplicaCount": self.fewest,
            "maxReplicaCount": max(self.fewest, sum(map(len, rates))),
            "lagThreshold": max(1, math.ceil(lag / self.fewest)),
        }

    @property
    def warnings(self) -> tuple[str, ...]:
        """Advice if no number of consumers fits, and settings that are hardly meant in the scenario."""
        warnings = list(self.scenario.warnings)
        if self.finished and self.fewest is None and not self.partitions_needed:
            warnings.append(
                "more consumers do not help: shorten what stops partitions, see `copartition simulate`"
            )
        return tuple(warnings)


def size(scenario: Scenario, max_lag_ms: float, runs: int = 20) -> Size:
    """Return the fewest consumers with which no record waits longer than the bound.

    Args:
        scenario: its load says what comes and what a consumer can process, its events what has to be
            endured: a deployment, a crash. Consumers whom events name stay; others are like the last one.
        max_lag_ms: the greatest age of an unprocessed record in any partition.
        runs: how many seeds each number of consumers is tried with.

    Raises:
        ScenarioError: the scenario has no load or no capacity, or changes the number of consumers itself; the
            bound is no length of time.
    """
    return Size(scenario, max_lag_ms, runs, tuple(sorted(size_trials(scenario, max_lag_ms, runs))))


def size_trials(scenario: Scenario, max_lag_ms: float, runs: int = 20) -> Iterator[SizeTrial]:
    """Yield what `size` tries, until two numbers of consumers that follow each other fit.

    More consumers mean more rebalances in a deploy, and one that fits alone does so by chance. So a number
    between two is tried at all only if the next one fits: if that does not, neither of the two is the answer.
    """
    if not 0 <= max_lag_ms < math.inf or runs < 1:
        raise ScenarioError(
            f"a bound of {max_lag_ms} ms in {runs} runs; give milliseconds and at least one run"
        )
    numbers, seeds = numbers_to_try(scenario), [*range(scenario.seed, scenario.seed + runs)]
    last = numbers[-1] if numbers else 0
    fits: dict[int, bool] = {}
    # Of each number below `lowest` it is known that it, or the next one, does not fit.
    lowest = numbers.start
    while lowest in numbers:
        # The greater of the two first: if it does not fit, it rules out both of them.
        consumers = next(number for number in (min(lowest + 1, last), lowest) if number not in fits)
        trial = size_trial(with_consumers(scenario, consumers), max_lag_ms, seeds)
        yield trial
        fits[consumers] = trial.fits
        while lowest in numbers and False in {fits.get(lowest), fits.get(min(lowest + 1, last))}:
            lowest += 1
        if fits.get(lowest) and fits.get(min(lowest + 1, last)):
            return


def numbers_to_try(scenario: Scenario) -> range:
    """Return the numbers of consumers to try, in rising order.

    They begin with the fewest consumers that can process what comes, and no fewer than events name; they end
    with one consumer for each partition.

    Raises:
        ScenarioError: an event sets the number of consumers, or the scenario has no load, capacity or
            consumer.
    """
    counts, rates = topic_counts(scenario), scenario.rates
    for event in scenario.events:
        if isinstance(event, Autoscaler | ScaleTo):
            raise ScenarioError(
                f"{occurrence(event)} sets the number of consumers that is asked for; remove it"
            )
    if _largest_capacity(scenario) == math.inf:
        raise ScenarioError("one consumer can process everything; give load.capacity, records a second")
    arriving = sum(float(rates[topic.name][: topic.partitions].sum()) for topic in scenario.topics)
    # With fewer the lag grows without end, whatever else happens.
    fewest = max(1, len(_names_in_events(scenario)), math.ceil(arriving / _largest_capacity(scenario)))
    return range(fewest, max(sum(counts.values()), len(_names_in_events(scenario))) + 1)


def with_consumers(scenario: Scenario, consumers: int) -> Scenario:
    """Return the scenario with so many consumers at the start, among them those whom events name.

    Args:
        scenario: new consumers are like its last one, under names that it does not use.
        consumers: at least as many as events name.
    """
    present, named = scenario.consumers, _names_in_events(scenario)
    if consumers > len(present):
        names = {consumer.name for consumer in present}
        names |= {event.consumer.name for event in scenario.events if isinstance(event, Join)}
        return replace(
            scenario, consumers=(*present, *newcomers(consumers - len(present), present[-1], names, {}))
        )
    others = [consumer.name for consumer in present if consumer.name not in named]
    # Named consumers come first: an event about one that is gone could not happen.
    kept = named.union(others[: consumers - len(named)])
    return replace(scenario, consumers=tuple(consumer for consumer in present if consumer.name in kept))


def _names_in_events(scenario: Scenario) -> set[str]:
    """Return the names of the consumers at the start that an event names, and that must therefore stay."""
    names = {event.consumer for event in scenario.events if isinstance(event, ByName)}
    return names.intersection(consumer.name for consumer in scenario.consumers)


def _largest_capacity(scenario: Scenario) -> float:
    """Return the records a second that the quickest consumer can process; infinite without a limit."""
    if scenario.load is None:
        raise ScenarioError("without a load there is no lag; give load.rate and load.capacity")
    if not scenario.consumers:
        raise ScenarioError("the group is empty at the start; give it a consumer that others are like")
    return max(map(scenario.capacity_of, scenario.consumers))


def size_trial(scenario: Scenario, max_lag_ms: float, seeds: list[int]) -> SizeTrial:
    """Return the worst of the runs of a scenario as it is; the first run beyond the bound ends the trial.

    Args:
        scenario: with the number of consumers that is tried.
        max_lag_ms: the bound.
        seeds: one for each run. The seed that breaks the bound moves to the front: of the next number, too,
            it is likely to be the one that does.
    """
    worst: SizeTrial | None = None
    for place, result in enumerate(simulate_seeds(scenario, tuple(seeds))):
        trial = _trial(result, max_lag_ms)
        # The worst run decides, as the bound must hold whatever the scenario does.
        if worst is None or trial.lag_ms > worst.lag_ms:
            worst = trial
        if not worst.fits:
            seeds.insert(0, seeds.pop(place))
            break
    assert worst is not None, "there is at least one run"
    return worst


def _trial(result: SimulationResult, max_lag_ms: float) -> SizeTrial:
    """Return one run as a trial, by its records' waits.

    An overload at the start or at the end makes the wait infinite, however short the run is.
    """
    records, summary = result.records, result.summary
    assert records is not None
    line = result.timeline
    lag_ms, recovery_ms = records.curves.longest_wait_ms(), float(records.recovery_ms.max(initial=0.0))
    why = longest_pause(line, summary.longest_pause_ms).removeprefix("; ")
    if overload := result.overload_after(0) or result.overload_after(-1):
        lag_ms, why = math.inf, overload
    elif math.inf in {recovery_ms, summary.longest_pause_ms}:
        lag_ms = math.inf
        why = f"a partition never catches up; {why}" if why else "a partition never catches up"
    return SizeTrial(
        len(result.scenario.consumers),
        lag_ms,
        float(records.lag.max(initial=0.0)),
        recovery_ms,
        lag_ms <= max_lag_ms,
        why,
    )
