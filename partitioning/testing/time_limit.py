"""A time limit for strangers' code, which may never come back."""

from __future__ import annotations

import sys
import traceback
from threading import Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

LIMIT_S = 600.0
"""How long a strategy may take to pass all rules."""


def in_time(check: Callable[[], None], limit_s: float) -> None:
    """Call a check in a thread, which is left behind where it has not ended after so many seconds.

    Raises:
        AssertionError: it has not; the message says where it is.
        BaseException: what the check raises.
    """
    raised: list[BaseException] = []

    def run() -> None:
        try:
            check()
        except BaseException as error:  # noqa: BLE001 - it is raised below
            raised.append(error)

    thread = Thread(target=run, daemon=True)
    thread.start()
    thread.join(limit_s)
    if thread.is_alive():
        frame = sys._current_frames().get(thread.ident or 0)  # noqa: SLF001 - there is no public name
        where = "".join(traceback.format_stack(frame)[-3:]) if frame else "it has just ended"
        raise AssertionError(f"has not come to an end within {limit_s:g} s; it is here:\n{where}")
    if raised:
        raise raised[0]
