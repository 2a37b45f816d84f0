"""What docstrings say of fields: schemas repeat it."""

from __future__ import annotations

import re
from inspect import getdoc

_ATTRIBUTE = re.compile(r"^ +(\w+): (.+(?:\n {8}.+)*)", re.MULTILINE)


def described(type_: type) -> dict[str, str]:
    """The descriptions under "Attributes:" in the docstring of a class."""
    return {name: " ".join(text.split()) for name, text in _ATTRIBUTE.findall(getdoc(type_) or "")}
