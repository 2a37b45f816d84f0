"""Write reports for programs: their JSON, its schema, and the results of limits."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from importlib import import_module
from inspect import get_annotations
from math import isfinite
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, cast

from copartition.kit.evidence import Ground, Missing
from copartition.kit.words import attribute_texts, type_text, utc
from partitioning.kit.packages import needs

if TYPE_CHECKING:
    from copartition.kit.number_checks import NumberCheck, Numbers

_T = TypeVar("_T")


def dump(value: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> str:
    """Return JSON that people can read, too: indented by two blanks, with a newline at the end.

    Raises:
        ValueError: a number is NaN or infinite, which JSON does not have; see `finite`.
    """
    return json.dumps(value, indent=2, allow_nan=False, default=asdict) + "\n"


def attributes(kind: type[_T], value: object, /, **others: Any) -> _T:
    """Return a part of a document of type `kind`, filled from `others` and from attributes of `value`.

    Args:
        kind: a TypedDict, whose keys are those of the result, in its order.
        value: has an attribute for each key that is not in `others`.
        others: values that take precedence over attributes.
    """
    return cast(
        "_T", {key: others[key] if key in others else getattr(value, key) for key in get_annotations(kind)}
    )


def attributes_of(value: object, *names: str) -> dict[str, Any]:
    """Return the attributes of these names, in this order."""
    return {name: getattr(value, name) for name in names}


def ground_fields(ground: Ground) -> dict[str, Any]:
    """Return the JSON fields of an answer's ground: "evidence", "assumed" and "missing"."""
    if isinstance(ground, Missing):
        return {"evidence": [], "assumed": [], "missing": asdict(ground)}
    return {"evidence": list(ground.sources), "assumed": list(ground.assumed), "missing": None}


def finite(figures: Mapping[str, Any]) -> dict[str, Any]:
    """Return figures as JSON has them, with null for infinity and NaN."""
    return {
        name: None if isinstance(value, float) and not isfinite(value) else value
        for name, value in figures.items()
    }


def whole_milliseconds(seconds: float | None) -> int | None:
    """Return seconds as whole milliseconds; None stays None."""
    return None if seconds is None else round(1000 * seconds)


def utc_time(seconds: float, to: str = "milliseconds") -> str:
    """Return seconds since 1970 as ISO 8601 in UTC; `to` is the timespec of `datetime.isoformat`.

    A time outside the calendar is shown as by `copartition.kit.words.utc`.
    """
    return utc(seconds, lambda moment: moment.isoformat(timespec=to).replace("+00:00", "Z"))


def json_schema(document: type, report: str, borrowed: Mapping[type, type] | None = None) -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a report; docstrings of its types describe their fields.

    Args:
        document: the type of the whole report. All types that it uses must be names in its module.
        report: the command that writes it, for the title.
        borrowed: type -> another type, whose docstring describes fields with the same names.

    Raises:
        MissingDependencyError: msgspec is not installed.
    """
    with needs("the JSON Schema", "cli"):
        import msgspec  # noqa: PLC0415 - only the schema needs it
    schema = msgspec.json.schema(document)
    types = vars(import_module(document.__module__))
    for name_of_type, definition in schema["$defs"].items():
        if "properties" not in definition:  # an enumeration has values instead
            continue
        type_, properties = types[name_of_type], definition["properties"]
        definition["description"] = type_text(type_)
        # The cache that msgspec leaves on a class cannot be pickled, and some of these classes are sent to
        # Spark by value.
        if "__msgspec_cache__" in vars(type_):
            del type_.__msgspec_cache__
        # A type's own description of a field takes precedence over a borrowed one.
        other = attribute_texts(borrowed[type_]) if borrowed and type_ in borrowed else {}
        for name, text in {**other, **attribute_texts(type_)}.items():
            if name in properties or name not in other:
                properties[name] = {"description": text, **properties[name]}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"The report of {report} -o json",
        **schema,
    }


class CheckResult(TypedDict):
    """A limit of --check, and whether it holds.

    Attributes:
        name: the name of the number that is limited.
        comparison: one of <= >= == != < >.
        limit: the limit with which the number is compared.
        value: the value of the number.
        passed: whether the comparison holds.
    """

    name: str
    comparison: str
    limit: float
    value: float
    passed: bool


def check_results(checks: Iterable[NumberCheck], numbers: Numbers) -> list[CheckResult]:
    """Return the results of limits on these numbers."""
    return [
        attributes(CheckResult, check, value=check.value(numbers), passed=check.passes(numbers))
        for check in checks
    ]
