"""`benchmarks/restarts.md`: what became of the commands, a row for each cluster and fault."""

from typing import Any


def page(runs: list[dict[str, Any]]) -> str:
    return ""
