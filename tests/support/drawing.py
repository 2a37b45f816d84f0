"""What a report looks like in a terminal."""

import io

from rich.console import Console


def drawn(draw, *args, width=200, **kwargs):
    """The lines that `draw` prints to a console of this width."""
    console = Console(file=io.StringIO(), width=width, highlight=False, color_system=None)
    draw(*args, console, **kwargs)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]
