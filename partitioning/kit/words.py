"""Sentences in errors and reports."""

import re
from collections.abc import Sequence
from inspect import getdoc


def first_of(names: Sequence[str], most: int) -> str:
    """The first of these names, and how many there are more: a, b and 3 more."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more:,} more" if more > 0 else "")


_ATTRIBUTE = r"(?m)^ +(\w+): (.+(?:\n {8}.+)*)"


def described(type_: type) -> dict[str, str]:
    """The descriptions under "Attributes:" in the docstring of a class."""
    return {name: " ".join(text.split()) for name, text in re.findall(_ATTRIBUTE, getdoc(type_) or "")}
