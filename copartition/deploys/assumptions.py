"""Say what the figures of a simulated run assume, in the same words in every report."""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import fields

from copartition.kit.words import clock, duration
from copartition.simulation import (
    Costs,
    Crash,
    Deployment,
    Duration,
    Exponential,
    Join,
    Leave,
    Load,
    LogNormal,
    RollingRestart,
    Scenario,
    Settings,
    Uniform,
)
from copartition.simulation.inputs.settings import kafka_name

COSTS = {
    "poll_ms": "the work between two polls",
    "revoke_ms": "the revoke callback",
    "assign_ms": "the assign callback",
    "partition_ms": "opening a partition",
    "first_fetch_ms": "the first fetch",
    "assignor_ms": "the assignor",
    "network_ms": "a request and its answer",
}
"""Field of `Costs` -> the words for it."""


def run_assumptions(scenario: Scenario) -> list[str]:
    """Return what the figures of a run assume, one sentence each.

    Args:
        scenario: the scenario that runs.

    Returns:
        Sentences on heartbeats, costs and load, and on the end of the run if the scenario sets one.
    """
    sentences = [*assumed_of_time(scenario), _load(scenario)]
    if scenario.until_ms is not None:
        sentences.append(f"nothing after {duration(scenario.until_ms)} counts")
    return sentences


def assumed_of_time(scenario: Scenario) -> list[str]:
    """Return the assumptions that decide pauses: heartbeats, and what takes time."""
    quiet = f"quiet for {duration(scenario.settled_ms)}" if scenario.settled_ms else "a group just formed"
    return [f"heartbeats in step, {quiet}", costs_sentence(scenario.costs)]


def pace_words(scenario: Scenario) -> str:
    """Return how fast a scenario's events come and what takes time, in the words of the answer."""
    return "; ".join([*pace_sentences(scenario), costs_sentence(scenario.costs)])


def pace_sentences(scenario: Scenario) -> list[str]:
    """Return what a scenario of a captured group assumes about how fast its events follow each other.

    There is one sentence for each pace, which deploys at the same pace share. The list is empty without a
    deploy, unless several members join, leave or crash.
    """
    sentences = []
    kinds = Counter(type(event) for event in scenario.events)
    # If there is only one event of a kind, no sentence has to say that several happen at the same moment.
    several = [verb for verb, kind in (("join", Join), ("leave", Leave), ("crash", Crash)) if kinds[kind] > 1]
    if several:
        sentences.append(f"all members that {' or '.join(several)} do so at one moment")
    for event in scenario.events:
        if isinstance(event, RollingRestart):
            every, down = clock(event.every_ms), clock_of(event.down_ms)
            sentences.append(f"a member is restarted every {every}, and is away for {down}")
        elif isinstance(event, Deployment):
            up, ready = clock_of(event.start_ms), clock_of(event.ready_ms)
            sentences.append(f"one new member at a time, up in {up} and ready {ready} later")
    # Deploys of the same pace give the same sentence, which is returned once.
    return [*dict.fromkeys(sentences)]


def clock_of(time: Duration) -> str:
    """Return the words for a time in milliseconds, exact if it is a number."""
    return clock(time) if isinstance(time, int | float) else _time(time)


def costs_sentence(costs: Costs) -> str:
    """Return a sentence on what takes time in the model: each cost above 0, and nothing else.

    >>> costs_sentence(Costs(revoke_ms=500))
    'the revoke callback takes 500 ms; nothing else but waiting takes time'
    """
    named = [(what, getattr(costs, name)) for name, what in COSTS.items()]
    costs_taken = [f"{what} takes {_time(value)}" for what, value in named if value]
    return "; ".join([*costs_taken, f"nothing {'else ' if costs_taken else ''}but waiting takes time"])


def timeouts_sentence(settings: Settings) -> str:
    """Return the words for timeouts: those that differ from Kafka's defaults."""
    default = Settings()
    # Only differences are named; a list of all timeouts would hide them.
    changed = [
        f"{kafka_name(field.name)}={getattr(settings, field.name):g}"
        for field in fields(Settings)
        if getattr(settings, field.name) != getattr(default, field.name)
    ]
    but_for = f" but for {', '.join(changed)}" if changed else ""
    return f"timeouts are Kafka's defaults{but_for}"


def _time(value: Duration | str) -> str:
    """Return the words for a time in milliseconds, or for the distribution that it is drawn from."""
    match value:
        case Uniform(low, high):
            return f"{duration(low)} to {duration(high)}"
        case Exponential(mean):
            return f"{duration(mean)} on average (exponential)"
        case LogNormal(median, p95):
            return f"{duration(median)} in the middle and {duration(p95)} at the 95th percentile (log-normal)"
        case str():
            return "what it takes on this machine, so no two runs are alike"
    return duration(value)


def _load(scenario: Scenario) -> str:
    """Return the words for the records that come and the consumers that process them."""
    load = scenario.load
    if load is None:
        return "no load given, so no lag, duplicates or losses"
    # A single rate for all topics has no name, so nothing is put in brackets.
    named = load.rate if isinstance(load.rate, Mapping) else {"": load.rate}
    rates = ", ".join(_rate(rate) + (f" ({topic})" if topic else "") for topic, rate in named.items())
    evenly = f"on average, by Zipf's law with exponent {load.zipf:g}" if load.zipf else "evenly"
    # Each capacity is named once, because many consumers may have the same.
    named_capacities = {
        consumer.capacity: None for consumer in scenario.consumers if consumer.capacity is not None
    }
    own = "".join(f", or {named_capacity:,g}" for named_capacity in sorted(named_capacities))
    capacity = "any number" if load.capacity == math.inf else f"{load.capacity:,g}{own}"
    return (
        f"{rates} records a second come to each partition, {evenly}, and a consumer can process {capacity}; "
        f"{_commits(load, scenario.settings.auto_commit_interval_ms)}"
    )


def _rate(rate: float | tuple[float, ...]) -> str:
    """Return the words for records a second: one rate for all partitions, or the least and the most."""
    least, most = (min(rate), max(rate)) if isinstance(rate, tuple) else (rate, rate)
    return f"{least:,g}" if least == most else f"{least:,g} to {most:,g}"


def _commits(load: Load, interval_ms: float) -> str:
    """Return the words for when offsets are committed."""
    where = " in the transaction of their results" if load.transactions else ""
    revoke = "on revoke" if load.commit_on_revoke else "not on revoke"
    return (
        f"offsets are committed {load.commit} processing{where}, every {duration(interval_ms)} and {revoke}"
    )
