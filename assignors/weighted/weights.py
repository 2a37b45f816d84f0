"""Reads the weights of partitions and the capacities of members from settings, files and user data."""

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from io import StringIO
from itertools import groupby
from math import inf, nan
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from assignors.files import read_text
from assignors.group import Member, StickyUserData, name_in
from assignors.optimal.reading import NumberedGroup
from assignors.protocol import FieldWriter, Reader
from partitioning.errors import InvalidConfigError, ProtocolError, SourceError
from partitioning.kit.limits import MAX_PARTITION, is_integer, parse_number
from partitioning.kit.packages import needs

TopicWeights = float | Sequence[float] | NDArray[np.floating] | Mapping[int, float]
"""The weights of one topic.

A number is the weight of each of its partitions. A sequence has the weight of partition 0, then of partition
1, and so on. A mapping has weights by partition number.
"""

WeightsMapping = (
    Mapping[str, TopicWeights]
    | Mapping[tuple[str, int], float]
    | Mapping[str | tuple[str, int], TopicWeights]
)
"""Weights by topic, by (topic, partition), or with keys of both kinds."""


class _Topic(NamedTuple):
    """Holds the known weights of one topic.

    Attributes:
        every: the weight of each partition that is not listed; None if it is unknown.
        partitions: the numbers of the partitions that are listed, each once.
        weights: the weight of each of `partitions`, finite and 0 or more.
    """

    every: float | None
    partitions: NDArray[np.int64]
    weights: NDArray[np.float64]


class Weights:
    """Holds the weights of partitions, in any unit that all of them share.

    A partition without a known weight gets the mean of its topic's known weights or, if there are none, the
    mean of all known weights of the group. Weights of partitions that do not exist in a group are ignored.

    Raises:
        InvalidConfigError: a weight is not a finite number of 0 or more, is given twice, or has a key that is
            neither a topic nor a partition.
    """

    def __init__(self, weights: WeightsMapping) -> None:
        every: dict[str, float] = {}
        listed: dict[str, dict[int, float]] = {}
        for key, value in _checked_mapping("weights", weights).items():
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

    def of(self, reading: NumberedGroup) -> NDArray[np.float64]:
        """Return the weight of each partition of a group, float64 of shape (partitions,), by flat index.

        Weights are divided by a power of 2, so that the largest known one is between a half and 1. If no
        weight is known, each partition weighs 1.
        """
        weights: NDArray[np.float64] = np.full(len(reading.topic_of), np.nan)
        for name, start, count in zip(
            reading.topics, reading.starts.tolist(), reading.counts.tolist(), strict=False
        ):
            topic = self._topics.get(name)
            if topic is not None:
                own = weights[start : start + count]
                if topic.every is not None:
                    own[:] = topic.every
                # Weights may be known for partitions that do not exist yet, or that exist no longer.
                real = topic.partitions < count
                own[topic.partitions[real]] = topic.weights[real]
        has_weight = ~np.isnan(weights)
        if not has_weight.any():
            return np.ones(len(weights))
        largest = weights[has_weight].max()
        weights = np.ldexp(weights, -np.frexp(largest)[1])  # scaled, so that no sum is infinite
        if not has_weight.all():
            total = np.bincount(reading.topic_of[has_weight], weights[has_weight], len(reading.topics))
            number = np.bincount(reading.topic_of[has_weight], minlength=len(reading.topics))
            mean = np.where(number > 0, total / np.maximum(number, 1), weights[has_weight].mean())
            weights[~has_weight] = mean[reading.topic_of[~has_weight]]
        return weights


class Capacities:
    """Holds the capacities of members by instance id, client id or member id, in any unit that they share.

    A member without a capacity gets the mean capacity of the members of its group that have one.

    Raises:
        InvalidConfigError: a capacity is not a finite number above 0.
    """

    def __init__(self, capacities: Mapping[str, float]) -> None:
        self._capacities = {
            name: _number(value) for name, value in _checked_mapping("capacities", capacities).items()
        }
        for name, number in self._capacities.items():
            if not 0 < number < inf:
                raise InvalidConfigError(
                    f"the capacity of member {name!r} is {capacities[name]!r}; give a finite number above 0"
                )

    def of(self, members: Iterable[Member]) -> NDArray[np.float64]:
        """Return the capacity of each of these members, in their order, float64 above 0.

        Capacities are divided by a power of 2, so that the largest is between a half and 1. If no member is
        named, each has a capacity of 1.
        """
        capacities: NDArray[np.float64] = np.array([self._find(member) for member in members], np.float64)
        positive = capacities[~np.isnan(capacities)]
        if not len(positive):
            return np.ones(len(capacities))
        capacities = np.ldexp(capacities, -np.frexp(positive.max())[1])
        capacities[np.isnan(capacities)] = np.nanmean(capacities)
        return capacities

    def _find(self, member: Member) -> float:
        """Return the capacity by instance id, else by client id, else by member id; NaN if there is none."""
        # Names that stay the same for longer come first: a member id is new after each start.
        for name in (member.instance_id, name_in(member.id), member.id):
            if name is not None and name in self._capacities:
                return self._capacities[name]
        return nan


def _checked_mapping(setting: str, value: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """Return the value of a setting; raise InvalidConfigError unless it is a mapping."""
    if not isinstance(value, Mapping):
        raise InvalidConfigError(f"{setting} are {value!r}; give a mapping")
    return value


def _list(listed: dict[str, dict[int, float]], topic: str, weights: Iterable[tuple[object, object]]) -> None:
    """Add weights of one topic's partitions to `listed`; a partition number may be text, as in JSON keys."""
    own = listed.setdefault(topic, {})
    for partition, value in weights:
        number = parse_number(partition, MAX_PARTITION) if isinstance(partition, str) else partition
        if not is_integer(number):
            raise InvalidConfigError(
                f"topic {topic!r} has a weight for {partition!r}; give partition numbers"
            )
        if not 0 <= number <= MAX_PARTITION:
            raise InvalidConfigError(
                f"{topic}-{number} has a weight but is no partition; give numbers from 0 on"
            )
        # "1" and 1 are two keys of a mapping, but one partition.
        if number in own:
            raise InvalidConfigError(f"{topic}-{number} has two weights; give one")
        own[int(number)] = checked_weight(value, f"{topic}-{number}")


def checked_weight(value: object, what: str) -> float:
    """Return a weight as a float; raise InvalidConfigError unless it is a finite number of 0 or more."""
    weight = _number(value)
    if not 0 <= weight < inf:
        raise InvalidConfigError(f"the weight of {what} is {value!r}; give a finite number, 0 or more")
    return weight


def _number(value: object) -> float:
    """Return a value as a float; NaN, which fails every comparison, if it is not a number."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        return nan
    try:
        return float(value)
    except OverflowError:
        return inf


GivenWeights: TypeAlias = WeightsMapping | str | PathLike[str] | Weights
"""Weights by topic or by topic and partition, or the path of a file that holds them."""

_COLUMNS = ["partition", "topic", "weight"]


def weights_of(setting: GivenWeights | None) -> Weights:
    """Return the weights of a setting: a mapping, or a file, which is read at once; no weights for None.

    Raises:
        InvalidConfigError: the weights are invalid, or the file cannot be read.
        MissingDependencyError: the file is YAML and PyYAML is not installed.
    """
    if isinstance(setting, str | PathLike):
        return read_weights(setting)
    if isinstance(setting, Weights):
        return setting
    return Weights({} if setting is None else setting)


def read_weights(path: str | PathLike[str]) -> Weights:
    """Return the weights in a file: a mapping in JSON or YAML, or a table in CSV.

    A CSV file has the columns topic, partition and weight, in any order. In a row without a partition, the
    weight is that of every partition of the topic. A YAML or CSV file must end with a line end; without one
    it counts as half written and is refused.

    Raises:
        InvalidConfigError: the file cannot be read, or the weights in it are invalid.
        MissingDependencyError: the file is YAML and PyYAML is not installed.
    """
    reads = {".json": _json, ".yaml": _yaml, ".yml": _yaml, ".csv": _csv}.get(Path(path).suffix.lower())
    if reads is None:
        raise InvalidConfigError(
            f"weights in {path}: name the file .json, .yaml, .yml or .csv, as it is written"
        )
    try:
        return Weights(reads(read_text(path)))
    except OSError as error:
        raise InvalidConfigError(f"the weights {path} cannot be read: {error.strerror}") from error
    except (SourceError, ValueError) as error:
        raise InvalidConfigError(f"weights in {path}: {error}") from error


def _json(text: str) -> dict[Any, Any]:
    """Return the weights in a JSON text; raise InvalidConfigError if an object has a key twice."""
    try:
        return _weights_mapping(json.loads(text, object_pairs_hook=_once))
    except RecursionError:
        raise InvalidConfigError("the values are nested too deeply; give each topic its weight") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return pairs as a dict; raise InvalidConfigError if a key occurs twice."""
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidConfigError(f"{twice!r} is there twice; give it once")
    return mapping


def _yaml(text: str) -> dict[Any, Any]:
    """Return the weights in a YAML text."""
    _check_end(text)
    with needs("reading weights from YAML", "cli"):
        from partitioning.kit.formats import decode_yaml  # noqa: PLC0415 - an optional package

        return _weights_mapping(decode_yaml(text))


def _weights_mapping(value: object) -> dict[Any, Any]:
    if not isinstance(value, dict):
        raise InvalidConfigError(f"it is no mapping but {type(value).__name__}; give each topic its weight")
    return value


def _csv(text: str) -> dict[str | tuple[str, int], float]:
    """Return the weights in a CSV text, by topic or by topic and partition."""
    _check_end(text)
    rows = csv.reader(StringIO(text, newline=""), strict=True)
    weight_of: dict[str | tuple[str, int], float] = {}
    try:
        header = next(rows, [])
        if sorted(header) != _COLUMNS:
            raise InvalidConfigError(f"the columns are {header}; give {','.join(_COLUMNS)}")
        for row in filter(None, rows):
            key, weight = _entry(header, row)
            if key in weight_of:
                raise InvalidConfigError(f"{row} is there a second time; give each weight once")
            weight_of[key] = weight
    except (ValueError, csv.Error) as error:
        raise InvalidConfigError(f"line {rows.line_num}: {error}") from error
    return weight_of


def _entry(header: list[str], row: list[str]) -> tuple[str | tuple[str, int], float]:
    """Return the key (a topic, or a topic and a partition number) and the weight in a row of CSV."""
    if len(row) != len(header):
        raise InvalidConfigError(f"{row} has {len(row)} fields; give {len(header)}")
    cell = dict(zip(header, row, strict=True))
    topic, partition, weight = (
        cell["topic"],
        cell["partition"],
        checked_weight(float(cell["weight"]), str(row)),
    )
    if not partition:
        return topic, weight
    number = parse_number(partition, MAX_PARTITION)
    if number is None:
        raise InvalidConfigError(f"{row} is of no partition; give a number from 0 on, or nothing for all")
    return (topic, number), weight


def _check_end(text: str) -> None:
    """Raise InvalidConfigError if the last line has no end: a program may be writing the file now."""
    if not text.endswith("\n"):
        line = text.count("\n") + 1
        raise InvalidConfigError(
            f"line {line}, the last one, has no end, as if it was half written; write the file whole"
        )


_END = b"RATE"
_WHAT = "the rates in user data"


class MeasuredRates(NamedTuple):
    """Holds the rates that the members of a group measured.

    Attributes:
        members: the members, without rates in their user data.
        rates: the greatest rate that a member reports for each (topic, partition).
    """

    members: list[Member]
    rates: dict[tuple[str, int], float]


def with_rates(data: bytes | None, rates: Mapping[tuple[str, int], float]) -> bytes | None:
    """Return user data with rates appended. Without rates, the data is returned as it is.

    Args:
        data: the user data of the strategy; None for none.
        rates: the rate of each (topic, partition), in any unit that all members share.

    Raises:
        InvalidConfigError: a rate is not a finite number of 0 or more, or its key is not a partition.
    """
    if not rates:
        return data
    Weights(rates)  # called only to raise an error for invalid rates
    writer = FieldWriter(_WHAT)
    for topic, group in groupby(sorted(rates.items()), key=lambda item: item[0][0]):
        own = list(group)
        writer.string(topic)
        writer.int32s(np.array([partition for (_, partition), _ in own], np.int32))
        writer.data(np.array([rate for _, rate in own], ">f8").tobytes())
    payload = writer.bytes()
    return (data or b"") + payload + len(payload).to_bytes(4, "big") + _END


def read_measured(members: Sequence[Member]) -> MeasuredRates:
    """Return the rates that members measured, and the members without these rates in their user data.

    Rates that are truncated, not finite or negative are ignored.
    """
    plain, greatest = [], dict[tuple[str, int], float]()
    for member in members:
        data = member.user_data
        if data is None or isinstance(data, StickyUserData) or not bytes(data).endswith(_END):
            plain.append(member)
            continue
        before, rates = _split(bytes(data))
        plain.append(replace(member, user_data=before or None))
        for partition, rate in rates.items():
            greatest[partition] = max(rate, greatest.get(partition, rate))
    return MeasuredRates(plain, greatest)


def _split(data: bytes) -> tuple[bytes, dict[tuple[str, int], float]]:
    """Return the user data before the rates, and the rates by topic and partition.

    The rates end with their length in bytes (4, big-endian) and `_END`. If they cannot be read, all of `data`
    counts as user data without rates.
    """
    body, length = data[: -len(_END) - 4], int.from_bytes(data[-len(_END) - 4 : -len(_END)], "big")
    # User data without rates may happen to end with the four letters. Then the number before them is usually
    # no possible length.
    if not 0 < length <= len(body):
        return data, {}
    start = len(body) - length
    reader, rates = Reader(body[start:], _WHAT), dict[tuple[str, int], float]()
    try:
        while reader.left:
            topic, partitions = reader.string(), reader.int32s().tolist()
            values = np.frombuffer(reader.data() or b"", ">f8").tolist()
            rates.update(
                ((topic, partition), rate)
                for partition, rate in zip(partitions, values, strict=True)
                if 0 <= rate < inf and 0 <= partition <= MAX_PARTITION
            )
    except (ProtocolError, ValueError):
        return data, {}
    return body[:start], rates


def checked_rates(rates: object) -> None:
    """Raise InvalidConfigError unless `rates` is a function or None."""
    if rates is not None and not callable(rates):
        raise InvalidConfigError(
            f"rates is {rates!r}; give a function without arguments that returns what this consumer has "
            "measured, by topic and partition"
        )
