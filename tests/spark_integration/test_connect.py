"""The same tests once more, on Spark Connect: what is public must need nothing else."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
# Connect has no way into the JVM, so the engine that needs one stays out.
CHOSEN = (
    "(text_and_bytes or keyless_rows_are_spread_evenly or (holds_exactly and 7) "
    "or (what_destroys and union) or every_row_arrives or what_the_run_says "
    "or looking_at_every_key or pipeline_goes_on or growth_to_a_multiple) and not jvm"
)


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("grpc") is None, reason="Connect's client needs grpcio")
@pytest.mark.spark
@pytest.mark.needs("time")
def test_the_main_things_work_on_connect() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", CHOSEN, str(HERE)]
    env = {**os.environ, "SPARK_TEST_MODE": "connect"}
    done = subprocess.run(command, cwd=HERE.parents[1], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
