"""Wait for what must happen. No clock decides a test: the end of a wait is there for what never happens."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

Answer = TypeVar("Answer")

GENEROUS_S = 600.0
"""Seconds after which a wait is given up: ten times what the slowest one took on a machine at load."""
SOON_S = GENEROUS_S / 2
"""Seconds that are soon, in a test that gives the product `GENEROUS_S` and expects an answer before that."""


def wait_until(happened: Callable[[], Answer], meanwhile: Callable[[], object] | None = None) -> Answer:
    """Call `meanwhile` until `happened` returns something true, and return that.

    Args:
        happened: asked before each call of `meanwhile`.
        meanwhile: what makes it happen, such as a poll of a consumer; None: sleep for 100 ms.

    Raises:
        TimeoutError: it did not happen within `GENEROUS_S`.
    """
    return wait_for(happened, bool, meanwhile)


def wait_for(
    read: Callable[[], Answer],
    is_ready: Callable[[Answer], object],
    meanwhile: Callable[[], object] | None = None,
) -> Answer:
    """Read until `is_ready` says so of what was read, and return that; see `wait_until`."""
    end = time.monotonic() + GENEROUS_S
    while not is_ready(answer := read()):
        if time.monotonic() > end:
            raise TimeoutError(f"it did not happen within {GENEROUS_S:.0f} s; the last answer is {answer!r}")
        if meanwhile is None:
            time.sleep(0.1)
        else:
            meanwhile()
    return answer
