"""Weights from a file."""

from __future__ import annotations

import csv
import json
from io import StringIO
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

from assignors.files import read_text
from assignors.weighted.weights import Weights, WeightsMapping, checked_weight
from partitioning.errors import InvalidConfigError, SourceError
from partitioning.kit.extras import needs
from partitioning.kit.limits import MAX_PARTITION, parse_number

GivenWeights: TypeAlias = WeightsMapping | str | PathLike[str]
"""What partitions weigh, by topic or by topic and partition, or a file that says so."""

_COLUMNS = ["partition", "topic", "weight"]


def weights_of(setting: GivenWeights | None) -> Weights:
    """The weights that were given, of a mapping or of a file that is read now; None where none were.

    Raises:
        InvalidConfigError: the mapping or the file makes no sense.
        MissingDependencyError: YAML, and PyYAML is not installed.
    """
    if isinstance(setting, str | PathLike):
        return read_weights(setting)
    return Weights({} if setting is None else setting)


def read_weights(path: str | PathLike[str]) -> Weights:
    """The weights that a file says: a mapping in JSON or YAML, or a table in CSV.

    A CSV file has the columns topic, partition and weight, in any order; without a partition the weight is
    that of every partition of the topic. Files in YAML or CSV end with a line end; others are taken for half
    written.

    Raises:
        InvalidConfigError: it cannot be read, or says something else.
        MissingDependencyError: YAML, and PyYAML is not installed.
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
    try:
        return _mapping(json.loads(text, object_pairs_hook=_once))
    except RecursionError:
        raise InvalidConfigError("the values are nested too deeply; give each topic its weight") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidConfigError(f"{twice!r} is there twice; give it once")
    return mapping


def _yaml(text: str) -> dict[Any, Any]:
    with needs("reading weights from YAML", "cli"):
        from partitioning.kit.formats import decode_yaml  # noqa: PLC0415 - an optional package

    _check_end(text)
    return _mapping(decode_yaml(text))


def _mapping(value: object) -> dict[Any, Any]:
    if not isinstance(value, dict):
        raise InvalidConfigError(f"it is no mapping but {type(value).__name__}; give each topic its weight")
    return value


def _csv(text: str) -> dict[str | tuple[str, int], float]:
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
    """What a row says: the topic or partition, and what it weighs."""
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
    if not text.endswith("\n"):
        line = text.count("\n") + 1
        raise InvalidConfigError(
            f"line {line}, the last one, has no end, as if it was half written; write the file whole"
        )
