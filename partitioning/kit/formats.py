"""Reads the values of YAML, TOML and JSON texts, and refuses texts that would exhaust memory or the stack.

The libraries that read these formats have no such bounds. PyYAML's C code overflows the stack on nested
brackets. The memory of a TOML reader can grow with the square of the number of parts of a key. For an
impossible number or date, the libraries pass on any exception that Python raises. So a text is checked before
it is read, and every fault becomes a ValueError.
"""

import re
from collections.abc import Callable
from typing import Any

from partitioning.kit.limits import MAX_ID
from partitioning.kit.packages import needs

with needs("reading JSON or YAML", "cli"):
    import msgspec


MAX_SLOW_BYTES = 2**19
"""The most bytes of a YAML or TOML file. JSON is read a hundred times faster and may be longer."""
_MAX_DEPTH = 20
"""The most levels of nesting of a YAML file; a scenario has four."""
_MAX_JSON_DEPTH = 100
"""The most levels of nesting of a JSON text.

JSON of other tools has a dozen. To write or compare many more levels would exhaust Python's stack.
"""
_MAX_VALUES = 100_000
"""The most values of a YAML file, where an alias counts as many values as it repeats."""
_LONG_KEY = re.compile(r"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){100}""")


def decode_json(text: str | bytes) -> Any:
    """Return the value of a JSON text.

    Raises:
        ValueError: the text is not JSON (NaN and Infinity are not), or is nested too deeply.
    """
    value = _decode(msgspec.json.decode, text)
    # Go down level by level without recursion. Only lists and objects have values inside.
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(_MAX_JSON_DEPTH):
        children = (item.values() if isinstance(item, dict) else item for item in level)
        level = [child for items in children for child in items if isinstance(child, dict | list)]
    if not level:
        return value
    raise ValueError(f"the values are nested more than {_MAX_JSON_DEPTH} levels deep")


def decode_toml(text: str) -> Any:
    """Return the value of a TOML text; ValueError if the text is not TOML."""
    if key := _LONG_KEY.search(text):
        line = text.count("\n", 0, key.start()) + 1
        raise ValueError(f"line {line}: a key of more than 100 parts, {key[0][:40]!r}...")
    return _decode(msgspec.toml.decode, text)


def decode_yaml(text: str) -> Any:
    """Return the value of a YAML text.

    Raises:
        ValueError: the text is not YAML, has a key twice, or exceeds a bound; the message names the line.
        ModuleNotFoundError: PyYAML is not installed.
    """
    import yaml  # noqa: PLC0415 - an optional package

    # If PyYAML was built with libyaml, its parser is used, because it is faster than the one in Python.
    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class Loader(base):  # type: ignore[misc]
        """Raises errors that name the line of a value that cannot be read, or of a key that occurs twice."""

        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            names = set()
            for key, _ in node.value if isinstance(node, yaml.MappingNode) else ():
                name = key.tag, str(key.value)
                if name in names:
                    fault = f"{name[1][:40]!r} is there twice; give it once"
                    raise yaml.MarkedYAMLError(problem=fault, problem_mark=key.start_mark)
                names.add(name)
            return super().construct_mapping(node, deep)

        def construct_object(self, node: Any, deep: bool = False) -> Any:
            try:
                value = super().construct_object(node, deep)
                # `to_bytes` raises OverflowError for more than 64 bits, which the readers of JSON and TOML
                # refuse, too.
                if isinstance(value, int):
                    value.to_bytes(8, signed=value < 0)
            except yaml.YAMLError:
                raise
            except Exception as error:
                shown = repr(node.value[:40]) if isinstance(node, yaml.ScalarNode) else "a collection"
                fault = f"{shown} is no {node.tag.rpartition(':')[2]} that can be read"
                raise yaml.MarkedYAMLError(problem=fault, problem_mark=node.start_mark) from error
            return value

    try:
        _check_size(yaml, base, text)
        return yaml.load(text, Loader)  # noqa: S506 - its base is a safe loader
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise ValueError(f"{place}{error.problem}") from error
    except yaml.YAMLError as error:  # a character that YAML does not allow
        raise ValueError(" ".join(str(error).split())) from error


def _check_size(yaml: Any, loader: Any, text: str) -> None:
    """Refuse a YAML text with too many levels or values, or too long a value, before it becomes a tree.

    The text is read as a stream of events, which needs no stack.

    Args:
        yaml: the module PyYAML.
        loader: the loader class that reads the events.
        text: the YAML text.

    Raises:
        MarkedYAMLError: a bound is exceeded.
    """
    sizes: dict[str, int] = {}
    unfinished: list[tuple[str | None, int]] = []
    values = 0
    for event in yaml.parse(text, loader):
        if isinstance(event, yaml.CollectionEndEvent):
            anchor, before = unfinished.pop()
            if anchor is not None:
                sizes[anchor] = values - before
            continue
        # An alias counts as many values as it repeats: nine lines with ten aliases each can be 10**9 values.
        if isinstance(event, yaml.AliasEvent):
            values += sizes.get(event.anchor, 1)
        elif isinstance(event, yaml.NodeEvent):
            values += 1
            if isinstance(event, yaml.CollectionStartEvent):
                unfinished.append((event.anchor, values))
        longest = len(getattr(event, "value", ""))
        for fault, number, most in (
            ("levels of nesting", len(unfinished), _MAX_DEPTH),
            ("characters in one value", longest, MAX_ID),
            ("values, which JSON may have", values, _MAX_VALUES),
        ):
            if number > most:
                raise yaml.MarkedYAMLError(
                    problem=f"more than {most:,} {fault}", problem_mark=event.start_mark
                )


def _decode(decode: Callable[..., Any], text: str | bytes) -> Any:
    """Return the value that one of msgspec's decoders reads; ValueError for every fault of the text."""
    try:
        return decode(text)
    # msgspec limits the depth of nesting only by Python's stack.
    except RecursionError:
        raise ValueError("the values are nested too deeply") from None
    except (msgspec.MsgspecError, OverflowError) as error:
        raise ValueError(str(error)) from error
