"""One kind of fault on a real broker: what strikes which processes, when, and what mends it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from benchmarks.faults.brokers import Place, nothing

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Scenario(Place):
    """One kind of fault. Those of the sinks, the loop and the producers add fields for what they strike.

    Attributes:
        kind: what these faults are counted as.
        faults: one after the other; each strikes one process or one attempt of a task, at a drawn call.
        strike: what is done while a process waits; it is given the run.
        mend: what undoes it, `lasts_s` after the process goes on.
        lasts_s: as above, seconds; of a process that stands still, for how long.
        replaced: whether a process of the same name is started while one stands still.
    """

    kind: str
    faults: tuple[str, ...]
    strike: Callable[[Any], object] = nothing
    mend: Callable[[Any], object] = nothing
    lasts_s: float = 0.0
    replaced: bool = False
