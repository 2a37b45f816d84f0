"""What partitions weigh and members can carry, as people say it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import inf, nan
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assignors.state import name_in
from partitioning.errors import InvalidConfigError
from partitioning.kit.limits import MAX_PARTITION, parse_number

if TYPE_CHECKING:
    from assignors.group import Member
    from assignors.optimal.reading import Reading

TopicWeights = float | Sequence[float] | NDArray[np.floating] | Mapping[int, float]
"""One weight for each partition of a topic, a weight of every partition from 0 on, or by partition number."""

WeightsMapping = (
    Mapping[str, TopicWeights]
    | Mapping[tuple[str, int], float]
    | Mapping[str | tuple[str, int], TopicWeights]
)
"""Weights by topic, by topic and partition, or some so and some so."""


class _Topic(NamedTuple):
    """What is known of a topic.

    Attributes:
        every: what each partition weighs that is not listed; None where that is not said.
        partitions: partitions that are listed.
        weights: what they weigh.
    """

    every: float | None
    partitions: NDArray[np.int64]
    weights: NDArray[np.float64]


class Weights:
    """What partitions weigh.

    A partition that is not known weighs the mean of those of its topic, and where none of these is known the
    mean of all. What does not exist in a group is left out.

    Args:
        weights: by topic, or by topic and partition.

    Raises:
        InvalidConfigError: a weight is no finite number from 0 on, or is not of a partition.
    """

    def __init__(self, weights: WeightsMapping) -> None:
        every: dict[str, float] = {}
        listed: dict[str, dict[int, float]] = {}
        for key, value in _mapping("weights", weights).items():
            if isinstance(key, tuple) and len(key) == 2 and isinstance(key[0], str):
                _list(listed, key[0], [(key[1], value)])
            elif not isinstance(key, str):
                raise InvalidConfigError(f"{key!r} has a weight but is no topic; give names, in quotes")
            elif isinstance(value, Mapping):
                _list(listed, key, value.items())
            elif isinstance(value, Sequence | np.ndarray) and not isinstance(value, str | bytes):
                _list(listed, key, enumerate(value))
            else:
                every[key] = checked_weight(value, f"topic {key!r}")
        self._topics = {
            name: _Topic(
                every.get(name),
                np.fromiter(listed.get(name, ()), np.int64),
                np.fromiter(listed.get(name, {}).values(), np.float64),
            )
            for name in every | listed
        }

    def of(self, reading: Reading) -> NDArray[np.float64]:
        """What each partition of a group weighs, in a unit that the largest known weight is near to."""
        weights: NDArray[np.float64] = np.full(len(reading.topic_of), np.nan)
        for name, start, count in zip(
            reading.topics, reading.starts.tolist(), reading.counts.tolist(), strict=False
        ):
            topic = self._topics.get(name)
            if topic is not None:
                own = weights[start : start + count]
                if topic.every is not None:
                    own[:] = topic.every
                real = topic.partitions < count
                own[topic.partitions[real]] = topic.weights[real]
        has_weight = ~np.isnan(weights)
        if not has_weight.any():
            return np.ones(len(weights))
        largest = weights[has_weight].max()
        weights = np.ldexp(weights, -np.frexp(largest)[1])  # so that no sum is infinite
        if not has_weight.all():
            total = np.bincount(reading.topic_of[has_weight], weights[has_weight], len(reading.topics))
            number = np.bincount(reading.topic_of[has_weight], minlength=len(reading.topics))
            mean = np.where(number > 0, total / np.maximum(number, 1), weights[has_weight].mean())
            weights[~has_weight] = mean[reading.topic_of[~has_weight]]
        return weights


class Capacities:
    """What members can carry, by instance id, client id or member id; others can carry the mean of these.

    Args:
        capacities: by member.

    Raises:
        InvalidConfigError: one is no finite number above 0.
    """

    def __init__(self, capacities: Mapping[str, float]) -> None:
        self._capacities = {
            name: _number(value) for name, value in _mapping("capacities", capacities).items()
        }
        for name, number in self._capacities.items():
            if not 0 < number < inf:
                raise InvalidConfigError(
                    f"the capacity of member {name!r} is {capacities[name]!r}; give a finite number above 0"
                )

    def of(self, members: Iterable[Member]) -> NDArray[np.float64]:
        """What each of these can carry, in a unit that the largest is near to."""
        capacities: NDArray[np.float64] = np.array([self._find(member) for member in members], np.float64)
        positive = capacities[~np.isnan(capacities)]
        if not len(positive):
            return np.ones(len(capacities))
        capacities = np.ldexp(capacities, -np.frexp(positive.max())[1])
        capacities[np.isnan(capacities)] = np.nanmean(capacities)
        return capacities

    def _find(self, member: Member) -> float:
        for name in (member.instance_id, name_in(member.id), member.id):
            if name is not None and name in self._capacities:
                return self._capacities[name]
        return nan


def _mapping(setting: str, value: Mapping[Any, Any]) -> Mapping[Any, Any]:
    if not isinstance(value, Mapping):
        raise InvalidConfigError(f"{setting} are {value!r}; give a mapping")
    return value


def _list(listed: dict[str, dict[int, float]], topic: str, weights: Iterable[tuple[object, object]]) -> None:
    """Add weights of partitions of a topic."""
    own = listed.setdefault(topic, {})
    for partition, value in weights:
        number = parse_number(partition, MAX_PARTITION) if isinstance(partition, str) else partition
        if isinstance(number, bool) or not isinstance(number, int | np.integer):
            raise InvalidConfigError(
                f"topic {topic!r} has a weight for {partition!r}; give partition numbers"
            )
        if not 0 <= number <= MAX_PARTITION:
            raise InvalidConfigError(
                f"{topic}-{number} has a weight but is no partition; give numbers from 0 on"
            )
        if number in own:
            raise InvalidConfigError(f"{topic}-{number} has two weights; give one")
        own[int(number)] = checked_weight(value, f"{topic}-{number}")


def checked_weight(value: object, what: str) -> float:
    """A weight as a number.

    Raises:
        InvalidConfigError: it is no finite number from 0 on.
    """
    weight = _number(value)
    if not 0 <= weight < inf:
        raise InvalidConfigError(f"the weight of {what} is {value!r}; give a finite number, 0 or more")
    return weight


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        return nan
    try:
        return float(value)
    except OverflowError:
        return inf
