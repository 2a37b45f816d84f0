"""The commands as processes: exit codes, streams, colours, pipes."""

import os
from pathlib import Path

import pytest

from partitioning.kit.packages import install_command
from tests.support.waiting import GENEROUS_S

pytestmark = pytest.mark.live


def finished(process):
    out, err = process.communicate(timeout=GENEROUS_S)
    return process.returncode, out, err


def plain(**extra):
    return {key: value for key, value in os.environ.items() if key not in {"NO_COLOR", "FORCE_COLOR"}} | extra


def test_assignment_diff_is_copartition_diff(start, reconciling):
    code, out, err = finished(start("assignment_diff", reconciling))
    assert (code, err) == (1, "")
    assert (code, out, err) == finished(start("copartition", "diff", reconciling))


def test_trouble_is_one_line_that_begins_with_the_command(start):
    code, out, err = finished(start("assignment_diff", "nowhere", "nowhere"))
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("assignment-diff: nowhere: no such file; a source is a file, '-', live:GROUP")


@pytest.mark.parametrize("command", ["copartition", "assignment_diff"])
def test_the_version_is_told(start, command):
    from importlib.metadata import version

    code, out, _ = finished(start(command, "--version"))
    assert code == 0
    assert out.strip().endswith(version("copartition"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("environment", "options", "coloured"),
    [
        ({}, [], False),
        ({"FORCE_COLOR": "1"}, [], True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, [], False),
        ({"NO_COLOR": "1"}, ["--color", "always"], True),
        ({"FORCE_COLOR": "1"}, ["--color", "never"], False),
    ],
)
def test_colours_follow_the_environment_and_the_option(start, reconciling, environment, options, coloured):
    _, out, _ = finished(start("assignment_diff", reconciling, *options, env=plain(**environment)))
    # NO_COLOR asks for no colour; bold and dim may stay.
    assert any(f"\x1b[{code}m" in out for code in (31, 32, 33)) is coloured


def test_a_closed_pipe_ends_quietly(start, members):
    # Its reader is gone before the first byte, so writing must fail.
    process = start("copartition", "diff", members, members, "--all", "-o", "ndjson")
    process.stdout.close()
    process.stdout = None
    _, err = process.communicate(timeout=GENEROUS_S)
    assert (process.returncode, err) == (2, "")


def test_nobody_reads_the_errors_either(start):
    process = start("copartition", "diff", "nowhere", "nowhere")
    process.stderr.close()
    process.stderr = None
    assert (process.communicate(timeout=GENEROUS_S)[0], process.returncode) == ("", 2)


def test_a_connection_that_its_broker_closes_ends_no_command(start):
    # The writing end of a connection whose other end is gone, written to while a command runs.
    write = (
        "import contextlib, socket, sys\n"
        "ours, theirs = socket.socketpair()\n"
        "theirs.close()\n"
        "def audit(event, arguments):\n"
        "    if event == 'import' and arguments[0] == 'copartition.shell.main':\n"
        "        with contextlib.suppress(BrokenPipeError):\n"
        "            ours.send(b'a question')\n"
        "sys.addaudithook(audit)"
    )
    code, out, err = finished(start("copartition", "profiles", before=write))
    assert (code, err) == (0, "")
    assert "murmur2" in out


def test_a_full_disk_is_no_bug(start):
    with Path("/dev/full").open("w") as full:
        process = start("copartition", "profiles", stdout=full)
        _, err = process.communicate(timeout=GENEROUS_S)
    assert (process.returncode, err) == (2, "copartition profiles: output: No space left on device\n")


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments", [["--help"], ["--schema"], ["--version"], ["RECONCILING", "-o", "json"]]
)
def test_a_full_disk_is_a_line_whatever_is_printed(start, reconciling, arguments):
    arguments = [reconciling if argument == "RECONCILING" else argument for argument in arguments]
    with Path("/dev/full").open("w") as full:
        process = start("assignment_diff", *arguments, stdout=full)
        _, err = process.communicate(timeout=GENEROUS_S)
    assert (process.returncode, err) == (2, "assignment-diff: output: No space left on device\n")


def test_a_closed_stream_is_a_line(start, reconciling):
    closed = "import sys; sys.stdout = None"
    assert finished(start("assignment_diff", reconciling, before=closed)) == (
        2,
        "",
        "assignment-diff: standard output is closed\n",
    )


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["cp1252", "ascii", "utf-16-le"])
def test_markdown_goes_to_a_stream_of_any_encoding(start, reconciling, encoding):
    process = start("assignment_diff", reconciling, "-o", "markdown", env=plain(PYTHONIOENCODING=encoding))
    process.stdout.reconfigure(encoding=encoding)
    code, out, err = finished(process)
    assert (code, err) == (1, "")
    assert out.startswith("**3 of 6 partitions moved.**")


@pytest.mark.parametrize("missing", ["click", "rich"])
def test_a_missing_package_is_named_with_its_extra(start, missing):
    hide = f"import sys; sys.modules[{missing!r}] = None"
    assert finished(start("copartition", "--help", before=hide)) == (
        2,
        "",
        f"copartition needs the package {missing}; install it with: {install_command('cli')}\n",
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("missing", "arguments", "extra"),
    [
        ("yaml", ["simulate", "SCENARIO"], "cli"),
        ("msgspec", ["simulate", "SCENARIO"], "cli"),
        ("jinja2", ["simulate", "SCENARIO", "--html", "x.html"], "report"),
        ("confluent_kafka", ["diff", "live:g", "live:g", "-b", "localhost:9"], "kafka"),
    ],
)
def test_a_package_that_only_one_command_needs(start, scenario, missing, arguments, extra):
    hide = f"import sys; sys.modules[{missing!r}] = None"
    arguments = [scenario if argument == "SCENARIO" else argument for argument in arguments]
    code, _, err = finished(start("copartition", *arguments, before=hide))
    assert code == 2
    assert install_command(extra) in err
    assert "Traceback" not in err


def test_a_bug_of_ours_is_2_and_asks_for_a_report(start, scenario):
    broken = "import copartition.simulation.inputs.scenario as m\nm.read_values = lambda *_: 1 / 0"
    code, out, err = finished(start("copartition", "simulate", scenario, before=broken))
    assert (code, out) == (2, "")
    assert "ZeroDivisionError('division by zero'); this is a bug, run it with -v and report it" in err
