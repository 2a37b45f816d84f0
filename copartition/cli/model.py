"""`copartition model`: producers as models."""

from __future__ import annotations

import click

from copartition.cli.shell import HELP
from copartition.cli.verbs import Verbs

SECTIONS = {
    "Commands": {
        "batching": "Which linger.ms and batch.size keep a producer's latency under a limit.",
        "delivery": "How often faults lose, duplicate or reorder a producer's records.",
    }
}


@click.group(cls=Verbs, sections=SECTIONS, context_settings=HELP)
def model() -> None:
    """What a producer's settings do, computed and not measured."""
