"""The main things on two executors of their own, whose Python has not this package; classic and Connect."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.warm_python import warm_python

HERE = Path(__file__).parent
# A site module hides this package, were it installed, unless it was sent.
HIDING = """
import sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        ours = name in {"partitioning", "assignors", "spark_integration", "pyspark_copartition"}
        if ours and not any("copartition-" in place and place.endswith(".zip") for place in sys.path):
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Hidden())
"""
# Without a known address Spark asks for that of this machine's name, which may take a minute each time.
ADDRESS = {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_LOCAL_HOSTNAME": "localhost"}


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.needs("data sources")
@pytest.mark.needs("time")
@pytest.mark.parametrize("mode", ["classic", pytest.param("connect", marks=pytest.mark.nightly)])
def test_the_main_things_work_on_a_cluster_without_the_package(mode: str, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(HIDING)
    python, warm, events = tmp_path / "python", tmp_path / "warm", tmp_path / "events"
    warm.mkdir()
    events.mkdir()
    env = {
        **os.environ,
        **ADDRESS,
        "SPARK_TEST_MODE": mode,
        "SPARK_TEST_MASTER": "local-cluster[2,1,1024]",
        "SPARK_TEST_PYTHON": str(python),
        "SPARK_TEST_EVENTS": str(events),
    }
    # The other tiers leave out tests that need a Spark session.
    command = [sys.executable, "-m", "pytest", "-q", "--tier", "ci", "-p", "no:cacheprovider"]
    command += ["-o", "python_files=checks.py", str(HERE)]
    with warm_python(warm) as program:
        python.write_text(f'#!/bin/sh\nPYTHONPATH={tmp_path}:$PYTHONPATH exec {program} "$@"\n')
        python.chmod(0o755)
        done = subprocess.run(
            command, cwd=HERE.parents[2], env=env, capture_output=True, text=True, check=False
        )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
