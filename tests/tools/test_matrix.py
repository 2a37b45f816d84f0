import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from tests.support.broker import KAFKA_VERSION
from tools.matrix import __main__ as matrix

LEFT_OUT = "left out: 2 tests, arrow_udf came with Spark 4.1"


@pytest.fixture(autouse=True)
def _logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write the logs of runs to the folder of the test."""
    monkeypatch.setattr(matrix, "LOGS", tmp_path)


@pytest.mark.live
@pytest.mark.parametrize(
    ("counted", "exit_code", "passed"),
    [
        ("7 passed, 2 deselected in 3.21s", 0, True),
        ("6 passed, 1 failed in 3.21s", 1, False),
        ("6 passed, 1 skipped, 2 deselected in 3.21s", 0, False),
        ("6 passed, 1 xfailed in 3.21s", 0, False),
        ("no tests ran in 0.01s", 5, False),
        ("no tests ran in 0.01s", 0, False),
    ],
)
def test_a_run_passes_where_nothing_failed_or_was_skipped(
    tmp_path: Path, counted: str, exit_code: int, passed: bool
) -> None:
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\necho '{LEFT_OUT}'\necho '{counted}'\necho a log line\nexit {exit_code}\n")
    python.chmod(0o755)
    result = matrix.run("4.0", "connect", lambda: python, [])
    counts = counted.partition(" in ")[0]
    verdict, end = ("passed", "") if passed else ("FAILED", f", exit code {exit_code}")
    assert result.passed == passed
    expected = f"PySpark 4.0 connect: {verdict} in [0-9]+ s, {counts}{end}\n  {LEFT_OUT}"
    assert re.fullmatch(expected, result.summary)


@pytest.mark.live
def test_a_run_that_hangs_is_ended_and_has_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrix, "LONGEST_S", 1)
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho tests/test_a.py\nexec sleep 600\n")
    python.chmod(0o755)
    result = matrix.run("4.0", "connect", lambda: python, [])
    assert not result.passed
    assert result.summary.endswith("no tests ran, still running after 1 s, and ended")
    assert result.output == "tests/test_a.py\n"


def test_a_word_that_chooses_nothing_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["matrix", "3.4"])
    assert matrix.main() == 2
    assert "unknown: 3.4; choose among 3.5, 3.5-classic, 3.5-connect" in capsys.readouterr().err


@pytest.mark.live
def test_the_lowest_versions_are_tested_without_spark(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text('#!/bin/sh\necho "$@"\necho "7 passed, 2 deselected in 3.21s"\n')
    python.chmod(0o755)
    result = matrix.run(matrix.LOWEST, matrix.SPARKLESS, lambda: python, [])
    assert re.fullmatch("lowest without Spark: passed in [0-9]+ s, 7 passed, 2 deselected", result.summary)
    assert "tests/partitioning tests/assignors tests/copartition --tier quick" in result.output


@pytest.mark.live
def test_an_older_broker_runs_what_needs_a_broker(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\necho "$@ on ${KAFKA_VERSION}"\necho "7 passed in 3.21s"\n')
    python.chmod(0o755)
    result = matrix.run("kafka-3.9.1", matrix.SPARKLESS, lambda: python, [])
    assert re.fullmatch("kafka-3.9.1: passed in [0-9]+ s, 7 passed", result.summary)
    assert "tests/spark_integration/sinks --tier ci -m broker and not nightly on 3.9.1" in result.output


@pytest.mark.live
@pytest.mark.parametrize(
    ("options", "chosen"),
    [([], "ci -m every_spark and not slow"), (["--full"], "ci -m spark and not nightly")],
)
def test_a_spark_runs_what_may_differ_between_them_or_in_full_all(
    tmp_path: Path, options: list[str], chosen: str
) -> None:
    python = tmp_path / "python"
    python.write_text('#!/bin/sh\necho "$@"\necho "7 passed in 3.21s"\n')
    python.chmod(0o755)
    output = matrix.run("4.0", "classic", lambda: python, [*options, "-x"]).output
    assert output.startswith(
        f"-m pytest -q -p no:cacheprovider tests/spark_integration --tier {chosen} -x -W ignore\n"
    )


def test_every_python_that_is_declared_has_a_run() -> None:
    project = tomllib.loads((matrix.ROOT / "pyproject.toml").read_text())["project"]
    pythons = {text.rpartition(" ")[2] for text in project["classifiers"] if re.search(r":: 3\.\d+$", text)}
    assert pythons == set(matrix.PYTHONS.values())


def declared() -> list[Requirement]:
    """What the package and its extras need, but for PySpark, which has locks of its own."""
    project = tomllib.loads((matrix.ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    texts = [*project["dependencies"], *(text for name in extras if name != "all" for text in extras[name])]
    return [wanted for wanted in map(Requirement, texts) if wanted.name != "pyspark"]


@pytest.mark.parametrize("wanted", declared(), ids=str)
def test_the_lowest_lock_has_the_lowest_version_that_is_declared(wanted: Requirement) -> None:
    (locked,) = re.findall(
        rf"^{wanted.name}==(\S+)", matrix.LOCKS[matrix.LOWEST].read_text(), re.MULTILINE | re.IGNORECASE
    )
    (lowest,) = [bound.version for bound in wanted.specifier if bound.operator == ">="]
    assert Version(lowest) == Version(locked)
    assert wanted.specifier.contains(locked)
