"""A number held against a limit, as people write it: <=10."""

from __future__ import annotations

import operator
from collections.abc import Callable

COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
}
"""Longer signs first, so that a pattern made of them takes "<=" for what it is."""

COMPARISON = "|".join(COMPARISONS)
"""A pattern of any of them."""
