"""Every assignor gives the answer of a JVM that is asked now, on groups nobody has seen before.

`COPARTITION_LIVE_SAMPLE` sets how many scenarios (500), `COPARTITION_LIVE_SEED` repeats an earlier sample.
"""

from __future__ import annotations

import os
import secrets
import sys

import pytest

from tests.oracle.assignors.live import live_scenarios
from tests.support.agreement import first_difference

pytestmark = pytest.mark.jvm


def test_a_fresh_sample_agrees_with_the_jvm(capsys: pytest.CaptureFixture[str]) -> None:
    count = int(os.environ.get("COPARTITION_LIVE_SAMPLE", "500"))
    seed = os.environ.get("COPARTITION_LIVE_SEED") or secrets.token_hex(4)
    with capsys.disabled():
        sys.stdout.write(f"\n{count} scenarios, COPARTITION_LIVE_SEED={seed}\n")
    for assignor, scenario in live_scenarios(count, seed):
        difference = first_difference(assignor, scenario)
        assert difference is None, f"COPARTITION_LIVE_SEED={seed}: {difference}"
