"""Mutate whole packages with cosmic-ray, and list what the quick tier does not notice.

    python -m tools.mutations.sample partitioning --size 40 --seed 20261125

The rows of `python -m tools.mutations` are mistakes that somebody thought of; these are drawn from all that
cosmic-ray can think of. The same seed draws the same ones as long as the package stays as it is. Survivors
are printed with their difference: add a test, and a row to `tools/mutations`, for each that is a mistake.
Exit code 0 whatever survives, 2 where nothing could be run. cosmic-ray has an environment of its own in the
cache folder of `tests.support.jars`.
"""
# ruff: noqa: T201 - its output is what it is for

import argparse
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from tests.support.jars import cache_folder

ROOT = Path(__file__).parents[2]
COSMIC_RAY = "8.7.0"
PACKAGES = ["partitioning", "assignors", "copartition", "spark_integration"]
TIMEOUT_S = 600.0
WHOLE = "module_path, operator_name, occurrence, start_pos_row, start_pos_col"
"""What tells mutations apart; their ids are new each time."""


def main() -> int:
    """Draw, run, and list what survives."""
    parser = argparse.ArgumentParser(prog="python -m tools.mutations.sample", description=__doc__)
    parser.add_argument("package", choices=PACKAGES)
    parser.add_argument("--size", type=int, default=40, help="how many mutations are drawn")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    command = cosmic_ray()
    with TemporaryDirectory() as folder:
        copy = Path(shutil.copytree(ROOT, f"{folder}/copy", ignore=shutil.ignore_patterns(".*", "build")))
        (copy / "cosmic-ray.toml").write_text(config(options.package), encoding="utf-8")
        baseline = subprocess.run([command, "baseline", "cosmic-ray.toml"], cwd=copy, check=False)
        if baseline.returncode:
            print("the tests fail without any mutation: mend them first", file=sys.stderr)
            return 2
        subprocess.run([command, "init", "cosmic-ray.toml", "session.sqlite"], cwd=copy, check=True)
        possible = draw(copy / "session.sqlite", options.size, options.seed)
        print(f"{options.package}: {min(options.size, possible)} of {possible:,} mutations", flush=True)
        subprocess.run([command, "exec", "cosmic-ray.toml", "session.sqlite"], cwd=copy, check=True)
        survivors = read_survivors(copy / "session.sqlite")
    print(f"{len(survivors)} survived", *survivors, sep="\n\n")
    return 0


def cosmic_ray() -> Path:
    """The command, in an environment that is made where it is not there yet."""
    folder = cache_folder() / f"cosmic-ray-{COSMIC_RAY}"
    command = folder / "bin" / "cosmic-ray"
    if not command.exists():
        uv = Path(sys.executable).with_name("uv")
        subprocess.run([uv, "venv", "--quiet", "--clear", "--python", sys.executable, folder], check=True)
        install = [uv, "pip", "install", "--quiet", "--python", folder / "bin" / "python"]
        subprocess.run([*install, f"cosmic-ray=={COSMIC_RAY}"], check=True)
    return command


def config(package: str) -> str:
    """What cosmic-ray is to mutate, and the tests that are to notice."""
    pytest = f"{sys.executable} -m pytest -q -x -p no:cacheprovider --tier quick tests/{package}"
    return (
        f'[cosmic-ray]\nmodule-path = "{package}"\ntimeout = {TIMEOUT_S}\nexcluded-modules = []\n'
        f'test-command = "env PYTHONPATH=. PYTHONDONTWRITEBYTECODE=1 {pytest}"\n'
        '[cosmic-ray.distributor]\nname = "local"\n'
    )


def draw(session: Path, size: int, seed: int) -> int:
    """Leave so many of a session's mutations in it; gives how many there were."""
    with closing(sqlite3.connect(session)) as database, database:
        rows = database.execute(f"SELECT job_id FROM mutation_specs ORDER BY {WHOLE}").fetchall()
        drawn = Random(seed).sample(rows, min(size, len(rows)))
        database.execute("CREATE TEMP TABLE drawn (job_id)")
        database.executemany("INSERT INTO drawn VALUES (?)", drawn)
        for table in ("mutation_specs", "work_items"):
            database.execute(f"DELETE FROM {table} WHERE job_id NOT IN (SELECT job_id FROM drawn)")
    return len(rows)


def read_survivors(session: Path) -> list[str]:
    """The differences that no test noticed."""
    with closing(sqlite3.connect(session)) as database:
        query = "SELECT diff FROM work_results WHERE test_outcome = 'SURVIVED' ORDER BY diff"
        return [str(diff) for (diff,) in database.execute(query)]


if __name__ == "__main__":
    sys.exit(main())
