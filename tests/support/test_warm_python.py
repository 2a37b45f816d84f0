"""What a fork has of the Python that it stands in for."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.warm_python import warm_python

pytestmark = pytest.mark.live

TELLING = """
import json, os, sys
told = {
    "arguments": sys.argv[1:], "folder": os.getcwd(), "variable": os.environ.get("OF_THE_WORKER"),
    "read": sys.stdin.read(), "customized": hasattr(sys, "customized"),
    "pandas": "pandas" in sys.modules, "ours": "partitioning" in sys.modules,
}
print(json.dumps(told))
sys.exit(3)
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with warm_python(tmp_path_factory.mktemp("python")) as program:
        yield program


def test_it_runs_as_the_python_that_it_stands_in_for(python: Path, tmp_path: Path) -> None:
    (tmp_path / "telling.py").write_text(TELLING)
    (tmp_path / "sitecustomize.py").write_text("import sys; sys.customized = True")
    env = {**os.environ, "PYTHONPATH": str(tmp_path), "OF_THE_WORKER": "its own"}
    command = [python, "-m", "telling", "a", "b"]
    done = subprocess.run(
        command, cwd=tmp_path, env=env, input="sent", capture_output=True, text=True, check=False
    )
    assert json.loads(done.stdout) == {
        "arguments": ["a", "b"],
        "folder": str(tmp_path),
        "variable": "its own",
        "read": "sent",
        "customized": True,
        "pandas": True,
        "ours": False,
    }
    assert done.returncode == 3


def test_it_ends_when_it_is_told_to(python: Path, tmp_path: Path) -> None:
    (tmp_path / "staying.py").write_text("import time; print('up', flush=True); time.sleep(600)")
    command = [python, "-m", "staying"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE) as staying:
        assert staying.stdout is not None
        assert staying.stdout.readline() == b"up\n"
        staying.terminate()
        assert staying.stdout.read() == b""  # no fork is left that holds it open
