"""The plug-ins of the docs, installed as a user installs them."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def install(package: str, target: Path) -> Path:
    """The folder, with nothing but the package of `docs/` in it."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "--target", target, ROOT / "docs" / package], check=True, capture_output=True)
    return target


def run(installed: Path, code: str) -> str:
    """What code prints where the package is installed."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(installed), str(ROOT)])}
    done = subprocess.run([sys.executable, "-c", code], env=env, check=True, capture_output=True, text=True)
    return done.stdout.strip()
