"""What is said of settings that were tried for producers."""

from __future__ import annotations

import json
from math import isfinite
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from partitioning.producer import Trial, Tuning

TUNING_FORMAT_VERSION = "1.0"

LIMITS = (
    "no compression, no retries, no other producers, no time for the work in the producer itself and no "
    "pauses of machines: the latencies are a floor, on which a real system's tail comes"
)
"""What the models of producers leave out."""


def verdicts(tunings: Sequence[Tuning]) -> list[str]:
    """A sentence for each client: what to set, and what it gains over the defaults."""
    return [f"{tuning.client}: {_verdict(tuning)}" for tuning in tunings]


def _verdict(tuning: Tuning) -> str:
    usual, best = tuning.default, tuning.best
    goal = f"p{tuning.percentile:g} under {tuning.limit_ms:g} ms"
    default = f"the defaults: {_figures(usual, tuning)}"
    if best is None:
        nearest = min(tuning.trials, key=lambda trial: trial.latency_ms)
        figures = _figures(nearest, tuning)
        return f"nothing that was tried keeps {goal}; {_settings(nearest)} is nearest: {figures}"
    if best == usual:
        return f"the defaults should keep {goal} with the fewest requests: {_figures(best, tuning)}"
    figures = _figures(best, tuning)
    return f"{_settings(best)} should keep {goal} with the fewest requests: {figures}; {default}"


def _settings(trial: Trial) -> str:
    return f"linger.ms={trial.linger_ms:g} batch.size={trial.batch_size}"


def _figures(trial: Trial, tuning: Tuning) -> str:
    return f"p{tuning.percentile:g} {trial.latency_ms:.1f} ms, {trial.requests_per_s:,.0f} requests/s"


def remark(trial: Trial, tuning: Tuning) -> str:
    """What a trial stands out for."""
    said = ["best"] if trial == tuning.best else []
    said += ["default"] if trial == tuning.default else []
    if trial.refused:
        said.append(f"{trial.refused:,} records refused")
    elif not trial.keeps:
        said.append("over the limit")
    return ", ".join(said)


def tuning_json(tunings: Sequence[Tuning], assumed: Sequence[str]) -> str:
    """The same as data; a latency is null where no record was acknowledged."""
    clients = [
        {
            "client": tuning.client,
            "best": None if tuning.best is None else _data(tuning.best),
            "default": _data(tuning.default),
            "trials": [_data(trial) for trial in tuning.trials],
        }
        for tuning in tunings
    ]
    values = {
        "format_version": TUNING_FORMAT_VERSION,
        "limit_ms": tunings[0].limit_ms,
        "percentile": tunings[0].percentile,
        "assumed": [*assumed],
        "clients": clients,
    }
    return json.dumps(values, indent=2) + "\n"


def _data(trial: Trial) -> dict[str, Any]:
    return {
        name: None if isinstance(value, float) and not isfinite(value) else value
        for name, value in trial._asdict().items()
    }
