"""What the wheel holds and what importing it costs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.live

ROOT = Path(__file__).parent.parent
PACKAGES = {"partitioning", "assignors", "copartition", "spark_integration"}
FOUND_BY_SPARK = {"pyspark_copartition"}
"""A module that Spark looks for by its name; nobody imports it."""
DATA = {".csv", ".j2", ".json", ".log", ".ndjson", ".toml", ".txt", ".yaml"}
OPTIONAL = {
    *("pyspark", "confluent_kafka", "kafka", "aiokafka", "pandas", "pyarrow"),
    *("click", "rich", "msgspec", "yaml", "jinja2"),
}


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with nothing but the installed wheel."""
    dist, target = tmp_path_factory.mktemp("dist"), tmp_path_factory.mktemp("target")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", dist, ROOT]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = dist.glob("*.whl")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", target]
    subprocess.run([*pip, wheel], check=True, capture_output=True)
    return target


def run(installed: Path, code: str) -> str:
    env = {**os.environ, "PYTHONPATH": str(installed), "PYTHONSAFEPATH": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=installed, env=env, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


@pytest.mark.slow
def test_the_wheel_installs_exactly_the_four_packages_and_what_spark_finds(installed: Path) -> None:
    folders = {path.name for path in installed.iterdir() if not path.name.endswith(".dist-info")}
    assert folders - {"bin"} == PACKAGES | FOUND_BY_SPARK


@pytest.mark.slow
@pytest.mark.parametrize("package", sorted(PACKAGES | FOUND_BY_SPARK))
def test_each_package_is_typed(installed: Path, package: str) -> None:
    assert (installed / package / "py.typed").is_file()


def test_the_ready_scenarios_are_installed(installed: Path) -> None:
    code = "from copartition.simulation.inputs.file import ready_scenarios; print(*ready_scenarios())"
    files = (ROOT / "copartition" / "simulation" / "ready").glob("*.yaml")
    assert run(installed, code).split() == sorted(file.stem for file in files)


@pytest.mark.parametrize("package", sorted(PACKAGES))
def test_data_beside_modules_are_installed(installed: Path, package: str) -> None:
    files = {path.relative_to(ROOT) for path in (ROOT / package).rglob("*") if path.suffix in DATA}
    assert [file for file in files if not (installed / file).is_file()] == []


@pytest.mark.parametrize("command", ["copartition", "assignment-diff"])
def test_the_commands_are_installed(installed: Path, command: str) -> None:
    assert (installed / "bin" / command).is_file()


@pytest.mark.parametrize("package", ["partitioning", "assignors", "copartition"])
def test_importing_a_core_package_pulls_in_no_optional_one(installed: Path, package: str) -> None:
    code = (
        f"import sys, {package} as p; assert p.__all__ and p.__file__.startswith({str(installed)!r}); "
        "print(*sys.modules)"
    )
    modules = {name.partition(".")[0] for name in run(installed, code).split()}
    assert modules & OPTIONAL == set()


@pytest.mark.slow
@pytest.mark.parametrize("package", sorted(PACKAGES))
def test_every_public_name_exists(installed: Path, package: str) -> None:
    code = f"import {package} as p; print([n for n in p.__all__ if not hasattr(p, n)], len(p.__all__) > 0)"
    assert run(installed, code) == "[] True"
