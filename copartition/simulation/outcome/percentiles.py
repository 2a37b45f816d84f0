"""Many runs of one scenario, which differ by their seed: one seed is luck."""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from copartition.simulation.inputs.scenario import Scenario
from copartition.simulation.outcome.result import RunSummary

FIGURES = tuple(field.name for field in fields(RunSummary) if field.name != "seed")
"""Names of the figures of a run."""


@dataclass(frozen=True, slots=True)
class Runs:
    """The runs of one scenario under several seeds.

    Attributes:
        scenario: what was run, with the first seed.
        summaries: the figures of each run.
    """

    scenario: Scenario
    summaries: Sequence[RunSummary]

    def percentile(self, percent: float) -> dict[str, float | None]:
        """The value of every figure that so many per cent of the runs do not exceed.

        It is one that a run had, not one between two runs: where some runs never recover there is nothing
        between. None stands for figures of records without a load.
        """
        return {name: self._percentile(name, percent) for name in FIGURES}

    def _percentile(self, name: str, percent: float) -> float | None:
        values = [getattr(summary, name) for summary in self.summaries]
        if values[0] is None:
            return None
        return float(np.percentile(np.array(values, np.float64), percent, method="inverted_cdf"))
