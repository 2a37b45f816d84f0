"""Packages load what is in them when it is asked for."""

import subprocess
import sys
import sysconfig
from importlib import import_module, metadata
from pathlib import Path

import pytest

import assignors
import copartition
import partitioning
import partitioning.hashing


def printed(code):
    return subprocess.check_output([sys.executable, "-c", code], text=True).split()


@pytest.mark.live
@pytest.mark.parametrize("package", ["partitioning", "assignors"])
def test_a_package_alone_loads_no_numpy(package):
    assert "numpy" not in printed(f"import sys, {package}; print(*sys.modules)")


@pytest.mark.live
def test_modules_are_found_in_their_package():
    assert printed("import partitioning.hashing\nprint(partitioning.hashing.__name__)") == [
        "partitioning.hashing"
    ]


def test_the_distribution_has_the_names_of_all_packages():
    assert copartition.partition_for_key is partitioning.partition_for_key
    assert copartition.get_assignor is assignors.get_assignor


@pytest.mark.live
def test_a_name_of_another_package_loads_no_more_than_that_package():
    loaded = printed("import sys\nfrom copartition import partition_for_key\nprint(*sys.modules)")
    assert "partitioning.placement" in loaded
    assert not {"assignors.api", "copartition.api"} & {*loaded}


@pytest.fixture(params=["partitioning", "assignors"])
def hidden(request, tmp_path):
    """A folder with a user's file that has the name of a package of ours, and a script beside it."""
    (tmp_path / f"{request.param}.py").write_text("raise SystemExit('the file of the user ran')")
    (tmp_path / "app.py").write_text(
        "from copartition import partition_for_key\nprint(partition_for_key(b'a', 3))"
    )
    return request.param, tmp_path


def run_in(folder, *command):
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.live
@pytest.mark.parametrize("how", [["app.py"], ["-m", "app"], ["-c", "import copartition"]])
def test_a_file_of_the_users_own_that_has_our_name_is_named(hidden, how):
    name, folder = hidden
    run = run_in(folder, sys.executable, *how)
    assert f"ImportError: copartition needs its package `{name}`" in run.stderr
    assert f"that name is {folder / name}.py: give that file another name" in run.stderr


@pytest.mark.live
def test_a_package_of_the_users_own_that_has_our_name_is_named(tmp_path):
    (tmp_path / "assignors").mkdir()
    (tmp_path / "assignors" / "__init__.py").touch()
    run = run_in(tmp_path, sys.executable, "-c", "import copartition")
    assert f"that name is {tmp_path / 'assignors' / '__init__.py'}: give" in run.stderr


@pytest.mark.live
def test_a_script_beside_such_a_file_runs_as_the_error_says(hidden):
    assert run_in(hidden[1], sys.executable, "-P", "app.py").stdout == "1\n"


@pytest.mark.live
@pytest.mark.parametrize(
    "command", [["copartition", "coordinator", "billing"], ["assignment-diff", "--version"]]
)
def test_commands_run_in_a_folder_with_such_a_file(hidden, command):
    name, *options = command
    run = run_in(hidden[1], str(Path(sysconfig.get_path("scripts")) / name), *options)
    assert (run.returncode, run.stderr) == (0, "")


def test_a_name_that_is_not_there_is_told():
    with pytest.raises(AttributeError, match="module 'partitioning' has no attribute 'partitoner'"):
        partitioning.partitoner  # noqa: B018


def test_a_name_that_was_replaced_stays_so(monkeypatch):
    monkeypatch.setattr(partitioning, "murmur2", None)
    partitioning.hashing  # noqa: B018 - a module, for which the package looks at its names again
    assert partitioning.murmur2 is None


@pytest.mark.parametrize("package", ["partitioning", "assignors", "spark_integration"])
def test_a_package_tells_the_version_that_is_installed(monkeypatch, package):
    monkeypatch.setattr(metadata, "version", {"copartition": "1.2.3"}.__getitem__)
    assert import_module(package).__version__ == "1.2.3"
