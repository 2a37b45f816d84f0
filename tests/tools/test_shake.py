"""`make shake` finds a test that fails now and then, and says so."""

from pathlib import Path

import pytest

from tools import shake

pytestmark = [pytest.mark.live, pytest.mark.slow]

TESTS = """
import pytest
from pathlib import Path

pytestmark = pytest.mark.live
count = Path(__file__).with_name("count")

def test_the_second_time_is_one_too_many():
    times = count.read_text() if count.exists() else ""
    count.write_text(times + "x")
    assert times != "x", "the second time"

def test_good():
    pass
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file of tests that knows the options of ours."""
    (tmp_path / "conftest.py").write_text("from tests.conftest import pytest_addoption, pytest_configure\n")
    return tmp_path / "test_it.py"


def test_a_test_that_fails_in_one_round_is_listed_with_its_traceback(path, capsys):
    path.write_text(TESTS)
    assert shake.main(["--rounds", "3", str(path)]) == 1
    printed = capsys.readouterr().out
    assert "test_the_second_time_is_one_too_many failed in 1 of 3 rounds (2)" in printed
    assert "AssertionError: the second time" in printed
    assert "test_good" not in printed


def test_rounds_without_a_failure_end_well(path, capsys):
    path.write_text(TESTS.replace('!= "x"', '!= "xxx"'))
    assert shake.main(["--rounds", "1", str(path)]) == 0
    assert "0 tests failed in 1 rounds" in capsys.readouterr().out


def test_no_test_at_all_is_an_error(path):
    path.write_text("")
    with pytest.raises(SystemExit, match="exit code 5"):
        shake.main(["--rounds", "1", str(path)])
