"""Search for the fewest consumers with which no record ever waits longer than a bound.

A lag in time (`lag_ms`) is how many milliseconds a record waits; any other lag is a number of records.
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
    """Holds the figures for a number of consumers, from the worst of its runs; sorted by that number.

    Attributes:
        consumers: number of consumers at the start.
        lag_ms: the longest time that a record waits until it is processed, if a consumer processes its
            fetched records partition by partition. Infinite if a partition never catches up, or if a consumer
            gets more records than it can process.
        lag: the most records that the group was behind.
        recovery_ms: the longest time until a partition was no further behind than before its outage.
        fits: whether `lag_ms` is within the bound.
        why: the cause of the longest pause or of the shortage; "" if there is neither.
    """

    consumers: int
    lag_ms: float
    lag: float
    recovery_ms: float
    fits: bool
    why: str


@dataclass(frozen=True, slots=True)
class Size:
    """Holds the result of a search for the number of consumers that a scenario needs.

    Attributes:
        scenario: the scenario, with its own number of consumers.
        max_lag_ms: the bound.
        runs: number of seeds. A number of consumers fits if the bound holds with each seed.
        trials: the numbers of consumers that were tried, ascending; numbers that a neighbour ruled out are
            missing.
        assumed: the assumptions about the captured group from which the scenario was made, as sentences.
        finished: False if the user interrupted the search before it had an answer.
    """

    scenario: Scenario
    max_lag_ms: float
    runs: int
    trials: tuple[SizeTrial, ...]
    assumed: tuple[str, ...] = ()
    finished: bool = True

    @property
    def fewest(self) -> int | None:
        """The lowest number of consumers that fits together with the next higher one; None if none does."""
        if not self.finished or not self.trials or not self.trials[-1].fits:
            return None
        # If only the last trial fits, it is the highest number that can be tried and has no next one.
        return self.trials[-2 if len(self.trials) > 1 and self.trials[-2].fits else -1].consumers

    @property
    def partitions_needed(self) -> dict[str, int]:
        """Topic -> partitions that it needs; only topics in which one partition is too much for a consumer.

        The keys of the hottest partition are assumed to spread evenly over the new partitions.
        """
        capacity, rates = _largest_capacity(self.scenario), self.scenario.rates
        return {
            topic.name: math.ceil(hottest * topic.partitions / capacity)
            for topic in self.scenario.topics
            if (hottest := float(rates[topic.name][: topic.partitions].max())) > capacity
        }

    @property
    def autoscaler(self) -> dict[str, int] | None:
        """Settings of KEDA's Kafka scaler that add consumers only if the bound is exceeded.

        The lag of deploys and crashes is within the bound. An autoscaler that added consumers for them would
        cause more rebalances. None if no number of consumers fits.
        """
        if self.fewest is None:
            return None
        rates = self.scenario.rates.values()
        # `lag` is the number of records that arrive within the bound. If more records wait, the oldest of
        # them has waited for longer than the bound.
        lag = sum(float(rate.sum()) for rate in rates) * self.max_lag_ms / 1_000
        return {
            "minReplicaCount": self.fewest,
            "maxReplicaCount": max(self.fewest, sum(map(len, rates))),
            "lagThreshold": max(1, math.ceil(lag / self.fewest)),
        }

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences on settings of the scenario that look like mistakes, and advice if no number fits."""
        warnings = list(self.scenario.warnings)
        if self.finished and self.fewest is None and not self.partitions_needed:
            warnings.append(
                "more consumers do not help: shorten what stops partitions, see `copartition simulate`"
            )
        return tuple(warnings)


def size(scenario: Scenario, max_lag_ms: float, runs: int = 20) -> Size:
    """Return the fewest consumers with which no record waits longer than the bound.

    Args:
        scenario: its load says how many records arrive and how many a consumer can process. Its events, such
            as a deploy or a crash, happen in every run. Consumers that events name always stay; further ones
            are like the last consumer.
        max_lag_ms: the bound: the highest age of an unprocessed record in any partition, in milliseconds.
        runs: number of seeds with which each number of consumers is tried.

    Raises:
        ScenarioError: the scenario has no load or no capacity, or changes the number of consumers itself; or
            the bound is not a length of time.
    """
    return Size(scenario, max_lag_ms, runs, tuple(sorted(size_trials(scenario, max_lag_ms, runs))))


def size_trials(scenario: Scenario, max_lag_ms: float, runs: int = 20) -> Iterator[SizeTrial]:
    """Yield the trials of `size`, until two consecutive numbers of consumers fit.

    More consumers mean more rebalances in a deploy, so a number may fit by chance although the next one does
    not. Therefore the answer must be a number that fits together with the next one. If a number does not fit,
    neither this number nor the number before it is the answer, so the number before need not be tried.

    Args:
        scenario: as in `size`.
        max_lag_ms: as in `size`.
        runs: as in `size`.

    Raises:
        ScenarioError: as in `size`.
    """
    if not 0 <= max_lag_ms < math.inf or runs < 1:
        raise ScenarioError(
            f"a bound of {max_lag_ms} ms in {runs} runs; give milliseconds and at least one run"
        )
    numbers, seeds = numbers_to_try(scenario), [*range(scenario.seed, scenario.seed + runs)]
    last = numbers[-1] if numbers else 0
    fits: dict[int, bool] = {}
    # Invariant: for each number below `lowest`, either it or the next number is known not to fit.
    lowest = numbers.start
    while lowest in numbers:
        # The higher of the two numbers is tried first: if it does not fit, both are ruled out.
        consumers = next(number for number in (min(lowest + 1, last), lowest) if number not in fits)
        trial = size_trial(with_consumers(scenario, consumers), max_lag_ms, seeds)
        yield trial
        fits[consumers] = trial.fits
        while lowest in numbers and False in {fits.get(lowest), fits.get(min(lowest + 1, last))}:
            lowest += 1
        if fits.get(lowest) and fits.get(min(lowest + 1, last)):
            return


def numbers_to_try(scenario: Scenario) -> range:
    """Return the numbers of consumers to try, ascending.

    The lowest number is that of consumers that can process the arriving records, or the number of consumers
    that events name if that is higher. The highest number is one consumer for each partition.

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
    # With fewer consumers the lag would grow without end.
    fewest = max(1, len(_names_in_events(scenario)), math.ceil(arriving / _largest_capacity(scenario)))
    return range(fewest, max(sum(counts.values()), len(_names_in_events(scenario))) + 1)


def with_consumers(scenario: Scenario, consumers: int) -> Scenario:
    """Return the scenario with another number of consumers at the start; consumers that events name stay.

    Args:
        scenario: the scenario. New consumers are like its last one, with names that it does not use.
        consumers: the number, at least as high as the number of consumers that events name.
    """
    present, named = scenario.consumers, _names_in_events(scenario)
    if consumers > len(present):
        names = {consumer.name for consumer in present}
        names |= {event.consumer.name for event in scenario.events if isinstance(event, Join)}
        return replace(
            scenario, consumers=(*present, *newcomers(consumers - len(present), present[-1], names, {}))
        )
    others = [consumer.name for consumer in present if consumer.name not in named]
    # Consumers that events name are kept first, because an event about a missing consumer cannot happen.
    kept = named.union(others[: consumers - len(named)])
    return replace(scenario, consumers=tuple(consumer for consumer in present if consumer.name in kept))


def _names_in_events(scenario: Scenario) -> set[str]:
    """Return the consumers at the start that an event names; a smaller group must keep them."""
    names = {event.consumer for event in scenario.events if isinstance(event, ByName)}
    return names.intersection(consumer.name for consumer in scenario.consumers)


def _largest_capacity(scenario: Scenario) -> float:
    """Return how many records a second the fastest consumer can process; infinite if it has no limit.

    Raises:
        ScenarioError: the scenario has no load or no consumers.
    """
    if scenario.load is None:
        raise ScenarioError("without a load there is no lag; give load.rate and load.capacity")
    if not scenario.consumers:
        raise ScenarioError("the group is empty at the start; give it a consumer that others are like")
    return max(map(scenario.capacity_of, scenario.consumers))


def size_trial(scenario: Scenario, max_lag_ms: float, seeds: list[int]) -> SizeTrial:
    """Return the worst of the runs of a scenario; the first run that exceeds the bound ends the trial.

    Args:
        scenario: the scenario, with the number of consumers that is tried.
        max_lag_ms: the bound.
        seeds: the seed of each run; this list is changed. A seed whose run exceeds the bound moves to the
            front, because it will probably exceed the bound with the next number, too, and so end that trial
            early.
    """
    worst: SizeTrial | None = None
    for place, result in enumerate(simulate_seeds(scenario, tuple(seeds))):
        trial = _trial(result, max_lag_ms)
        # The worst run decides, because the bound must hold with every seed.
        if worst is None or trial.lag_ms > worst.lag_ms:
            worst = trial
        if not worst.fits:
            seeds.insert(0, seeds.pop(place))
            break
    assert worst is not None, "there is at least one run"
    return worst


def _trial(result: SimulationResult, max_lag_ms: float) -> SizeTrial:
    """Return the trial of a single run.

    If the load is above the capacity at the start or at the end, the wait is infinite, because it would grow
    without end in a longer run.
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
