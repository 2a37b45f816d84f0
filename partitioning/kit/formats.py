"""Reads the values of YAML, TOML and JSON texts, and refuses texts that would exhaust memory or the stack.

The libraries that read these formats take what they are given: PyYAML's C code overflows the stack on nested
brackets, `tomllib` takes memory by the square of a key's parts, and both pass on whatever Python raises for a
number or a date that is none. So a text is bounded before it is read, and each fault becomes a ValueError.
"""

import re
from collections.abc import Callable
from typing import Any

from partitioning.kit.limits import MAX_ID
from partitioning.kit.packages import needs

with needs("reading JSON or YAML", "cli"):
    import msgspec


MAX_SLOW_BYTES = 2**19
"""Bytes of a YAML or TOML file; JSON is read a hundred times faster and may be longer."""
_MAX_DEPTH = 20
"""A scenario has four levels."""
_MAX_JSON_DEPTH = 100
"""JSON of other tools has a dozen levels; writing or comparing many more would exhaust Python's stack."""
_MAX_VALUES = 100_000
"""Values of a YAML file, repeats by aliases included."""
_LONG_KEY = re.compile(r"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){100}""")


def decode_json(text: str | bytes) -> Any:
    """Return the value that a JSON text says.

    ValueError if the text is no JSON (NaN and Infinity are none), or has more than `_MAX_JSON_DEPTH` levels.
    """
    value = _decode(msgspec.json.decode, text)
    # Only lists and objects have values inside, so a level of anything else ends the walk.
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(_MAX_JSON_DEPTH):
        children = (item.values() if isinstance(item, dict) else item for item in level)
        level = [child for items in children for child in items if isinstance(child, dict | list)]
    if not level:
        return value
    raise ValueError(f"the values are nested more than {_MAX_JSON_DEPTH} levels deep")


def decode_toml(text: str) -> Any:
    """Return the value that a TOML text says; ValueError if the text is no TOML."""
    if key := _LONG_KEY.search(text):
        line = text.count("\n", 0, key.start()) + 1
        raise ValueError(f"line {line}: a key of more than 100 parts, {key[0][:40]!r}...")
    return _decode(msgspec.toml.decode, text)


def decode_yaml(text: str) -> Any:
    """Return the value that a YAML text says.

    ValueError for other text, ModuleNotFoundError without PyYAML.
    """
    import yaml  # noqa: PLC0415 - an optional package

    # If PyYAML was built with libyaml, its parser is used, because it is faster than the one in Python.
    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class Loader(base):  # type: ignore[misc]
        """Says where a value is that cannot be made, and where a key is for the second time."""

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
                # Raises OverflowError for more than 64 bits, as JSON's and TOML's readers do.
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
    """Read the events of a YAML text, which takes no stack, and refuse what would take too much as a tree."""
    sizes: dict[str, int] = {}
    unfinished: list[tuple[str | None, int]] = []
    values = 0
    for event in yaml.parse(text, loader):
        if isinstance(event, yaml.CollectionEndEvent):
            anchor, before = unfinished.pop()
            if anchor is not None:
                sizes[anchor] = values - before
            continue
        # An alias counts as many values as what it repeats: nine lines with ten aliases each can be 10**9
        # values.
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
    """Return what msgspec reads; each of its errors becomes a ValueError, as all callers expect."""
    try:
        return decode(text)
    # JSON nests as deep as Python's stack allows; there is no earlier sign of it.
    except RecursionError:
        raise ValueError("the values are nested too deeply") from None
    except (msgspec.MsgspecError, OverflowError) as error:
        raise ValueError(str(error)) from error
