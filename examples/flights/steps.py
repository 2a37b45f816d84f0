"""What the demo says while it works: a spinner on a terminal, one line a step anywhere."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console


class Steps:
    """Announces each step, then says how long it took."""

    def __init__(self, console: Console) -> None:
        self._console = console

    @contextmanager
    def step(self, title: str) -> Iterator[None]:
        """One step; its line is printed when it is done."""
        started = time.monotonic()
        with self._console.status(f"{title} ..."):
            yield
        self._console.print(
            f"[green]✓[/] {title} [dim]({time.monotonic() - started:.1f} s)[/]", highlight=False
        )
