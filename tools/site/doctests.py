"""Shows the examples of docstrings as code."""

import re
from typing import Any

import griffe

_EXAMPLE = re.compile(r"^( *)>>> .*(?:\n\1\S.*)*", re.MULTILINE)


class Doctests(griffe.Extension):
    """Puts each doctest between fences, as Markdown has code."""

    def on_object(self, *, obj: griffe.Object, **_kwargs: Any) -> None:
        """Take a module, class, function or attribute that was read."""
        if obj.docstring is not None:
            obj.docstring.value = _EXAMPLE.sub(
                lambda found: f"{found[1]}```pycon\n{found[0]}\n{found[1]}```", obj.docstring.value
            )
