import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.waiting import GENEROUS_S

pytestmark = pytest.mark.live

REPOSITORY = Path(__file__).parents[2]

TESTS = """
import pytest

@pytest.mark.{kind}
def test_needs_something():
    {body}
"""


def run(tmp_path: Path, kind: str, body: str, **environment: str) -> tuple[int, str]:
    """Exit code and last lines of a pytest run over one test with this marker and body."""
    path = tmp_path / "test_something.py"
    path.write_text(TESTS.format(kind=kind, body=body))
    options = ["-p", "tests.support.prerequisites", "-p", "no:cacheprovider", "-c", "pyproject.toml"]
    kept = {
        name: value for name, value in os.environ.items() if name not in {"CI", "KAFKA_BOOTSTRAP_SERVERS"}
    }
    result = subprocess.run(
        [sys.executable, "-m", "pytest", *options, path],
        cwd=REPOSITORY,
        env=kept | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"} | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=GENEROUS_S,
    )
    return result.returncode, result.stdout


@pytest.mark.parametrize("kind", ["broker", "jvm"])
def test_without_java_and_maven_it_skips_and_says_what_to_install(tmp_path: Path, kind: str) -> None:
    code, output = run(tmp_path, kind, "raise SystemExit", PATH="")
    assert code == 0
    assert "1 skipped" in output
    assert "needs Java 17 and Maven: install it" in output


def test_a_given_cluster_needs_neither(tmp_path: Path) -> None:
    code, output = run(tmp_path, "broker", "pass", PATH="", KAFKA_BOOTSTRAP_SERVERS="127.0.0.1:1")
    assert (code, "1 passed" in output) == (0, True)


@pytest.mark.parametrize("kind", ["broker", "jvm"])
def test_with_ci_a_missing_tool_is_a_failure(tmp_path: Path, kind: str) -> None:
    code, output = run(tmp_path, kind, "pass", PATH="", CI="true")
    assert code == 1
    assert f"marked '{kind}' may not be skipped with CI=true: Skipped: needs Java 17 and Maven" in output


def test_with_ci_a_skip_inside_the_test_is_a_failure(tmp_path: Path) -> None:
    code, output = run(tmp_path, "spark", 'pytest.skip("no Spark")', CI="true")
    assert code == 1
    assert "marked 'spark' may not be skipped with CI=true: Skipped: no Spark" in output


def test_with_ci_an_expected_failure_is_still_expected(tmp_path: Path) -> None:
    code, output = run(tmp_path, "spark", 'pytest.xfail("a known fault")', CI="true")
    assert (code, "1 xfailed" in output) == (0, True)


def test_with_ci_other_tests_may_be_skipped(tmp_path: Path) -> None:
    code, output = run(tmp_path, "filterwarnings('error')", 'pytest.skip("not on this system")', CI="true")
    assert (code, "1 skipped" in output) == (0, True)
