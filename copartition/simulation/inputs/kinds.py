"""Define the values that each field of a scenario may have: once, for Python, files and their schema.

The type hints of the dataclasses give these values. msgspec reads such hints too, but it is an optional
package, and its messages neither list the valid names nor suggest a similar one.

The definition has three users: `check_values` checks values made in Python, `read_field` reads those of a
file, and `inputs.file` writes the schema for editors.
"""

from __future__ import annotations

import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import astuple, fields
from difflib import get_close_matches
from itertools import chain
from numbers import Integral, Real
from reprlib import Repr
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from assignors.group import Topic
from copartition.simulation.inputs import durations, events
from copartition.simulation.inputs.durations import (
    LATEST_MS,
    NUMBER,
    TIME,
    UNITS,
    Between,
    Duration,
    Exponential,
    LogNormal,
    Uniform,
    milliseconds_of,
)
from copartition.simulation.inputs.events import REFUSED, Condition, SimulatedClient
from partitioning.errors import ScenarioError
from partitioning.kit.limits import MAX_GROUP_MEMBERS, MAX_ID
from partitioning.kit.near import LISTED, listing
from partitioning.profiles import CLIENT_NAMES, known_client, letters_of


class _PythonRepr(Repr):
    """Formats values as Python writes them, cut at 60 characters."""

    def __init__(self) -> None:
        super().__init__()
        self.maxstring = self.maxother = self.maxlong = 60


class _YamlRepr(_PythonRepr):
    """Formats values as YAML writes them."""

    def repr_bool(self, value: bool, _level: int) -> str:
        return str(value).lower()

    def repr_NoneType(self, _value: None, _level: int) -> str:  # noqa: N802 - as its base calls it
        return "null"


_REPRS = {True: _YamlRepr(), False: _PythonRepr()}
_NAMES: dict[str, Any] = {**vars(durations), **vars(events), "Mapping": Mapping, "Topic": Topic}
"""Names that the modules of the dataclasses import only for type checkers."""
_KINDS: dict[type[Any], dict[str, FieldKind]] = {}


def excerpt(value: object, *, file: bool = True) -> str:
    """Return a value for a message, cut if it is long, as a file or as Python would write it.

    A value of a file may be as large as the file itself.
    """
    try:
        return _REPRS[file].repr(value)
    except ValueError:
        return "an integer of thousands of digits"


def plain(number: float) -> str:
    """Return a number as text, without a point if it is whole.

    >>> plain(6000.0), plain(0.5)
    ('6000', '0.5')
    """
    return str(int(number)) if float(number).is_integer() else str(float(number))


def name_hint(value: object, candidates: Iterable[str]) -> str:
    """Return advice for a name that is none of the candidates: the nearest one, and the first few of all.

    >>> name_hint("lags", ["lag", "members"])
    "did you mean 'lag'? (there are lag, members)"
    """
    names = list(candidates)
    close = get_close_matches(value, names[: 50 * LISTED], n=1) if isinstance(value, str) else []
    there = f"there are {listing(names)}"
    return f"did you mean {close[0]!r}? ({there})" if close else there


class Words(NamedTuple):
    """A description of the valid values, for advice in messages: one for Python, one for files."""

    python: str
    file: str


class FieldKind(ABC):
    """The values that a field may have: in words for messages, and as JSON Schema of the value in a file.

    A kind has no state, so one object serves all fields of its type. `read` turns a file's value into
    Python's, `write` does the reverse, and `fits` checks Python's.
    """

    expected: Words
    schema: dict[str, Any]

    @abstractmethod
    def fits(self, value: Any) -> bool:
        """Return whether a field of this kind may have this value.

        The value is Python's, as `read` returns it.
        """

    def advice(self, value: Any, *, file: bool) -> str:
        """Return the text that says which value to give instead of this one."""
        del value
        return f"give {self.expected.file if file else self.expected.python}"

    def parts(self, value: Any) -> Iterable[tuple[str, Any, FieldKind]]:
        """Yield the parts of a value, each with its place in it, such as "[0]", and its kind.

        Parts are checked only if the whole does not fit, to name the part that is at fault. A kind without
        parts yields nothing.
        """
        del value
        return ()

    def read(self, value: Any) -> Any:
        """Return what a file's value stands for, or the file's value itself if it stands for nothing."""
        return value

    def write(self, value: Any) -> Any:
        """Return the value as a file would have it."""
        return value


class _Number(FieldKind):
    """A number between two bounds; a number of milliseconds may be text with a unit in a file."""

    def __init__(self, type_: type, between: Between) -> None:
        low, high = self._low, self._high = between.low, between.high
        self._type = Integral if type_ is int else Real
        self._common = frozenset({int, type_})
        # The least positive float means "above 0". JSON Schema has its own keyword for an excluded bound.
        above = low == sys.float_info.min
        most = f" to {high}" if high < sys.float_info.max else ""
        number = f"a {between.what} {'above 0' if above else f'from {low}'}{most}"
        self.expected = Words(number, number)
        self.schema = {
            "type": "integer" if type_ is int else "number",
            **({"exclusiveMinimum": 0} if above else {"minimum": low}),
            **({"maximum": high} if most else {}),
        }
        # Only times have this upper bound, so it distinguishes them from all other numbers.
        self._time = re.compile(TIME) if high == LATEST_MS else None
        if self._time:
            self.expected = Words(number, f"{number}, or text such as '30 s' (units are {', '.join(UNITS)})")
            self.schema = {"anyOf": [self.schema, {"type": "string", "pattern": f"^{TIME}$"}]}

    def fits(self, value: Any) -> bool:
        """Return whether the value is a number of this type within the bounds; a bool is no number here."""
        if type(value) not in self._common:
            if isinstance(value, bool) or not isinstance(value, self._type):
                return False
            value = self.write(value)  # as a Python number: NumPy warns if a bound is beyond its type
        return bool(self._low <= value <= self._high)

    def read(self, value: Any) -> Any:
        """Return the milliseconds of a text such as "30 s" if this kind is a time, else the value itself."""
        if self._time and isinstance(value, str) and self._time.fullmatch(value):
            return milliseconds_of(value)
        return value

    def write(self, value: Any) -> Any:
        """Return the number as a Python int or float; JSON and YAML do not know NumPy's types."""
        return int(value) if isinstance(value, Integral) else float(value)


class _Simple(FieldKind):
    """A kind whose values a given function checks."""

    def __init__(self, expected: str, schema: dict[str, Any], fits: Callable[[Any], bool]) -> None:
        self.expected = Words(expected, expected)
        self.schema = schema
        self._fits = fits

    def fits(self, value: Any) -> bool:
        return self._fits(value)


_SIMPLE = {
    str: _Simple(
        f"a text of 1 to {MAX_ID} characters",
        {"type": "string", "minLength": 1, "maxLength": MAX_ID},
        lambda value: isinstance(value, str) and 0 < len(value) <= MAX_ID,
    ),
    bool: _Simple("true or false", {"type": "boolean"}, lambda value: isinstance(value, bool)),
    NoneType: _Simple("nothing", {"type": "null"}, lambda value: value is None),
}


class _Choice(FieldKind):
    """One of several names."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self.expected = Words(*[" or ".join(map(repr, names))] * 2)
        self.schema = {"enum": list(names)}

    def fits(self, value: Any) -> bool:
        return isinstance(value, str) and value in self.names

    def advice(self, value: Any, *, file: bool) -> str:
        del file
        return name_hint(value, self.names)


class _Client(_Choice):
    """The client of a consumer. A file may name a tool that is built on it, such as kcat on librdkafka."""

    def __init__(self, names: tuple[str, ...]) -> None:
        super().__init__(names)
        self._tools = {
            letters: known.client for letters, known in CLIENT_NAMES.items() if known.client in names
        }
        tools = sorted(CLIENT_NAMES[letters].name for letters in self._tools)
        self.schema = {"enum": list(dict.fromkeys((*names, *tools)))}

    def read(self, value: Any) -> Any:
        return value if self.fits(value) else self._tools.get(letters_of(str(value)), value)

    def advice(self, value: Any, *, file: bool) -> str:
        known = known_client(str(value))
        # A similar name would be that of a client with another behaviour, so none is suggested.
        if known is not None:
            return (
                f"how {known.name} behaves in a group is not known here; there are {listing([*self.names])}"
            )
        return super().advice(value, file=file)


class _Many(FieldKind):
    """A tuple of values of one kind, which is a list in a file."""

    def __init__(self, item: FieldKind) -> None:
        self._item = item
        of_items = ", each item of it "
        self.expected = Words(
            f"a tuple{of_items}{item.expected.python}", f"a list{of_items}{item.expected.file}"
        )
        self.schema = {"type": "array", "items": item.schema}

    def fits(self, value: Any) -> bool:
        return isinstance(value, tuple) and all(map(self._item.fits, value))

    def parts(self, value: Any) -> Iterable[tuple[str, Any, FieldKind]]:
        entries = enumerate(value) if isinstance(value, list | tuple) else ()
        return ((f"[{number}]", item, self._item) for number, item in entries)

    def read(self, value: Any) -> Any:
        return tuple(map(self._item.read, value)) if isinstance(value, list) else value

    def write(self, value: Any) -> Any:
        return list(map(self._item.write, value))


class _NamedValues(FieldKind):
    """A mapping from names to values of one kind."""

    def __init__(self, item: FieldKind) -> None:
        self._item = item
        self.expected = Words(*(f"a mapping of names, each to {words}" for words in item.expected))
        self.schema = {"type": "object", "additionalProperties": item.schema}

    def fits(self, value: Any) -> bool:
        return isinstance(value, Mapping) and all(
            isinstance(name, str) and self._item.fits(entry) for name, entry in value.items()
        )

    def parts(self, value: Any) -> Iterable[tuple[str, Any, FieldKind]]:
        entries = value.items() if isinstance(value, Mapping) else ()
        return ((f".{name}", item, self._item) for name, item in entries)

    def read(self, value: Any) -> Any:
        named = isinstance(value, Mapping)
        return {name: self._item.read(entry) for name, entry in value.items()} if named else value

    def write(self, value: Any) -> Any:
        return {name: self._item.write(entry) for name, entry in value.items()}


class _Instance(FieldKind):
    """A value of one class, which other code reads from files."""

    def __init__(self, type_: type) -> None:
        self._type = type_
        self.expected = Words(type_.__name__, "")
        self.schema = {"$ref": f"#/definitions/{type_.__name__}"}

    def fits(self, value: Any) -> bool:
        return isinstance(value, self._type)


class _Either(FieldKind):
    """A value of one of several kinds; a value in a file is read by the first kind that fits it."""

    def __init__(self, kinds: list[FieldKind]) -> None:
        self._kinds = kinds
        words = zip(*(kind.expected for kind in kinds), strict=True)
        self.expected = Words(*(" or ".join(filter(None, word)) for word in words))
        self.schema = {"anyOf": [kind.schema for kind in kinds]}

    def fits(self, value: Any) -> bool:
        return any(kind.fits(value) for kind in self._kinds)

    def parts(self, value: Any) -> Iterable[tuple[str, Any, FieldKind]]:
        return chain.from_iterable(kind.parts(value) for kind in self._kinds)

    def read(self, value: Any) -> Any:
        """Return a file's value as read by the first kind that fits it; if none fits, the value as it is."""
        return next((read for kind in self._kinds if kind.fits(read := kind.read(value))), value)

    def write(self, value: Any) -> Any:
        """Return the value as written by the first kind that it fits; it must fit one."""
        return next(kind for kind in self._kinds if kind.fits(value)).write(value)


def object_of(properties: dict[str, Any], required: Iterable[str]) -> dict[str, Any]:
    """Return the schema of an object with these properties and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


class _Duration(FieldKind):
    """A length of time: a number of milliseconds, or a distribution."""

    def __init__(self, length: FieldKind) -> None:
        self._length = length
        self.expected = Words(
            f"{length.expected.python}, or Uniform, Exponential or LogNormal",
            f"{length.expected.file}, or {{uniform: [low, high]}}, {{exponential: mean}} or "
            "{lognormal: {median: ..., p95: ...}}",
        )
        of = length.schema
        forms = {
            "uniform": {"type": "array", "items": of, "minItems": 2, "maxItems": 2},
            "exponential": of,
            "lognormal": object_of({"median": of, "p95": of}, ["median", "p95"]),
        }
        self.definition = {"anyOf": [of, *(object_of({name: form}, [name]) for name, form in forms.items())]}
        self.schema = {"$ref": "#/definitions/Duration"}

    def fits(self, value: Any) -> bool:
        """Return whether the value is a length of time, or a distribution whose parameters go together."""
        if not isinstance(value, Uniform | Exponential | LogNormal):
            return self._length.fits(value)
        if not all(map(self._length.fits, astuple(value))):
            return False
        match value:
            case Uniform(low, high):
                return low <= high
            case LogNormal(median, p95):
                return 0 < median <= p95
        return True

    def read(self, value: Any) -> Any:
        """Return the distribution that an object of one of the three forms describes, else a number."""
        read = self._length.read
        match value:
            case {"uniform": [low, high], **rest} if not rest:
                return Uniform(read(low), read(high))
            case {"exponential": mean, **rest} if not rest:
                return Exponential(read(mean))
            case {"lognormal": {"median": median, "p95": p95, **more}, **rest} if not rest and not more:
                return LogNormal(read(median), read(p95))
        return read(value)

    def write(self, value: Any) -> Any:
        """Return the object that describes a distribution, or the number of a fixed length."""
        write = self._length.write
        match value:
            case Uniform(low, high):
                return {"uniform": [write(low), write(high)]}
            case Exponential(mean):
                return {"exponential": write(mean)}
            case LogNormal(median, p95):
                return {"lognormal": {"median": write(median), "p95": write(p95)}}
        return write(value)


def kind_of(hint: Any) -> FieldKind:
    """Return the kind that a field's type hint means, with the bounds of its `Between`."""
    origin, args = get_origin(hint), get_args(hint)
    # This case comes first: a duration is a union too, but its members alone would not be read from objects.
    if hint == Duration:
        kind: FieldKind = DURATION
    elif origin is Annotated:
        kind = _Number(*args)
    elif hint == SimulatedClient:
        kind = _Client(args)
    elif origin is Literal:
        kind = _Choice(args)
    elif origin in {Union, UnionType}:
        kind = _Either(list(map(kind_of, args)))
    elif origin is tuple:
        kind = _Many(kind_of(args[0]))
    elif origin is Mapping:
        kind = _NamedValues(kind_of(args[1]))
    else:
        kind = _SIMPLE.get(hint) or _Instance(hint)
    return kind


DURATION = _Duration(kind_of(durations.Milliseconds))
MEMBERS = kind_of(Annotated[int, Between(0, MAX_GROUP_MEMBERS, "whole number")])
RACKS = kind_of(tuple[tuple[str, ...], ...] | None)
"""The racks of the replicas of every partition of a topic."""


def kinds_of(type_: type[Any]) -> dict[str, FieldKind]:
    """Return the kind of each field of a dataclass, by name; this is computed once for each class."""
    if type_ not in _KINDS:
        hints = get_type_hints(type_, None, _NAMES, include_extras=True)
        _KINDS[type_] = {field.name: kind_of(hints[field.name]) for field in fields(type_)}
    return _KINDS[type_]


def check_values(value: object, path: str, name: Callable[[str], str] = str) -> None:
    """Raise `ScenarioError` if a field of a dataclass has a value that it may not have.

    Args:
        value: the dataclass.
        path: its place in the scenario, such as "$.settings".
        name: returns a field's name in files.
    """
    for field, kind in kinds_of(type(value)).items():
        content = getattr(value, field)
        if not kind.fits(content):
            raise refusal(name(field), content, kind, path)


def read_field(name: str, value: Any, kind: FieldKind, path: str) -> Any:
    """Return the Python value that a value of a file stands for.

    Args:
        name: the field's name in the file.
        value: the file's value.
        kind: the kind of the field.
        path: the place of the object that has the field.

    Raises:
        ScenarioError: the field may not have the value; the message uses the words of files.
    """
    read = kind.read(value)
    if not kind.fits(read):
        raise refusal(name, value, kind, path, file=True)
    return read


def refusal(name: str, value: Any, kind: FieldKind, path: str, *, file: bool = False) -> ScenarioError:
    """Return the error for a field whose value does not fit its kind, or for the part that does not fit.

    `path` is the place of the object that has the field; `file` chooses the words of files.
    """
    # The first part that does not fit is at fault. If there is none, the value as a whole is.
    for place, part, of in kind.parts(value):
        if not of.fits(of.read(part) if file else part):
            return refusal(name + place, part, of, path, file=file)
    return ScenarioError(
        f"{name} is {excerpt(value, file=file)}; {kind.advice(value, file=file)}", path=f"{path}.{name}"
    )


FIGURES = [name for name in kinds_of(Condition)["figure"].schema["enum"] if name != REFUSED]
_TEXT = re.compile(rf"([a-z_]+) *([<>]) *({NUMBER})(?: +for +({TIME}))?")
SCHEMA = {
    "type": "string",
    "pattern": rf"^(({'|'.join(FIGURES)}) *[<>] *{NUMBER}( +for +{TIME})?|{REFUSED})$",
    "examples": ["lag > 5000 for 30 s", "members < 3", REFUSED],
}


def read_condition(text: object) -> Condition:
    """Return the condition that a text describes.

    >>> read_condition("lag > 5000 for 30 s")
    Condition(figure='lag', above=5000.0, below=None, for_ms=30000.0)

    Raises:
        ValueError: the text is not a condition; the message shows what to write.
    """
    if text == REFUSED:
        return Condition(REFUSED)
    match = _TEXT.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise ValueError(
            f"{excerpt(text)} is no condition; write a figure ({', '.join(FIGURES)}), > or <, a number, and "
            f"for how long if you like: 'lag > 5000 for 30 s'; or {REFUSED!r}"
        )
    sign, limit, time = match.groups()[1:]
    figure: Any = match[1]
    if figure not in FIGURES:
        raise ValueError(f"no figure {figure!r}; {name_hint(figure, FIGURES)}")
    above, below = (float(limit), None) if sign == ">" else (None, float(limit))
    return Condition(figure, above, below, milliseconds_of(time) if time else 0)


def write_condition(condition: Condition) -> str:
    """Return the text of a condition, as `read_condition` reads it.

    >>> write_condition(Condition("members", below=3))
    'members < 3'
    """
    if condition.figure == REFUSED:
        return REFUSED
    sign, limit = ("<", condition.below) if condition.above is None else (">", condition.above)
    text = f"{condition.figure} {sign} {plain(limit or 0)}"
    if condition.for_ms % 1_000:
        return f"{text} for {plain(condition.for_ms)} ms"
    return f"{text} for {plain(condition.for_ms / 1_000)} s" if condition.for_ms else text
