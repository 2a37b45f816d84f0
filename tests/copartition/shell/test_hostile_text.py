"""Other people's names through the commands: what reaches a terminal, a file and the error stream."""

import csv
import io
import json
import os
import subprocess
import sys

import pytest
from click.testing import CliRunner

from copartition.shell.main import copartition
from tests.support.tiers import sample
from tests.support.waiting import GENEROUS_S

ESC = "\x1b[2J"
NAMES = [ESC, "\x9b1m", "\r\nadmin", "\u202egpj", "a\u200b", "=1+1", "a|b", "<b>", "grüße", "中→😀"]


@pytest.fixture
def hostile(tmp_path):
    """A snapshot whose every name is another's text."""
    path = tmp_path / "hostile.json"
    members = [
        {"id": f"id {name}", "client_id": name, "host": name, "partitions": {f"topic {name}": [0]}}
        for name in NAMES
    ]
    snapshot = {"kind": "group-snapshot", "format_version": "1.0", "members": members}
    path.write_text(json.dumps(snapshot | {"group": f"group {ESC}", "state": f"state {ESC}"}))
    return path


@pytest.fixture(params=sample(["utf-8", "cp1252", "ascii"], 2))
def put(request):
    """Run a command whose standard output has this encoding; what it printed."""

    def invoke(*arguments):
        result = CliRunner(charset=request.param).invoke(
            copartition, [str(argument) for argument in arguments]
        )
        assert (result.exit_code, result.stderr) == (1, "")
        return result.stdout_bytes.decode(request.param)

    return invoke


PLAN = ["plan:range", "--remove-member", f"id {NAMES[0]}"]


@pytest.mark.parametrize("form", ["text", "markdown", "csv", "json", "ndjson"])
def test_every_stream_takes_every_format_and_nothing_unseen_is_in_it(put, hostile, form):
    text = put("diff", hostile, *PLAN, "-o", form)
    assert [line for line in text.split("\n") if not line.isprintable()] == []


def test_names_that_the_stream_has_are_shown_and_others_escaped(hostile):
    text = CliRunner(charset="cp1252").invoke(copartition, ["diff", str(hostile), *PLAN]).stdout
    assert "grüße" in text
    assert r"\u4e2d\u2192\U0001f600" in text


def test_json_and_its_lines_are_valid_and_true_in_every_encoding(put, hostile):
    changes = json.loads(put("diff", hostile, *PLAN, "--all", "-o", "json"))["changes"]
    assert [(change["topic"], change["from"]) for change in changes] == sorted(
        (f"topic {name}", name) for name in NAMES
    )
    lines = put("diff", hostile, *PLAN, "--all", "-o", "ndjson").split("\n")
    assert [json.loads(line) for line in lines[:-1]] == changes


def test_a_csv_has_a_row_a_partition(put, hostile):
    rows = [*csv.DictReader(io.StringIO(put("diff", hostile, *PLAN, "--all", "-o", "csv"), newline=""))]
    assert len(rows) == len(NAMES)
    assert [row["from"] for row in rows if "=" in row["from"]] == ["'=1+1"]


@pytest.mark.parametrize("verbose", [[], ["-v"]])
@pytest.mark.parametrize(
    "arguments",
    [
        ["diff", "HOSTILE", "HOSTILE", "--match", "instance-id"],
        ["diff", "no\n\x1b[2J\u202e", "HOSTILE"],
        ["diff", "HOSTILE", "plan:\x1b[2J"],
        ["diff", "HOSTILE", "plan:range", "--remove-member", "nobody \x9b"],
        ["simulate", "HOSTILE", "--assignor", "\x1b[2J"],
        ["diff", "HOSTILE", "HOSTILE", "\x1b[2J"],
        ["diff", "HOSTILE", "HOSTILE", "--\x1b[2J"],
        ["diff", "HOSTILE", "HOSTILE", "--only-topic", "(\x1b[2J"],
        ["diff", "HOSTILE", "HOSTILE", "--command-config", "\x1b[2J"],
        ["\x1b[2J"],
    ],
)
def test_error_messages_are_escaped_with_their_tracebacks(run, hostile, arguments, verbose):
    result = run(*(hostile if argument == "HOSTILE" else argument for argument in arguments), *verbose)
    assert result.exit_code == 2
    assert [line for line in result.stderr.split("\n") if not line.isprintable()] == []
    assert ("Traceback" in result.stderr) or result.stderr.count("\n") == 1


def test_a_conflict_is_told_without_control_characters(run, tmp_path):
    members = [{"id": name, "partitions": {ESC: [0]}} for name in "ab"]
    path = tmp_path / "conflict.json"
    path.write_text(json.dumps({"kind": "group-snapshot", "format_version": "1.0", "members": members}))
    assert r"\x1b[2J-0 has two owners" in run("diff", path, path, "-q").stderr


@pytest.mark.live
@pytest.mark.parametrize(
    "content", [b"GROUP TOPIC PARTITION CONSUMER-ID\n\xff", b'{"kind": "group-snapshot", "\xff": 1}']
)
def test_standard_input_that_is_no_utf8_is_refused_in_a_line_whatever_the_locale(members, content):
    script = "from copartition.shell import copartition; copartition()"
    result = subprocess.run(
        [sys.executable, "-c", script, "diff", "-", members],
        input=content,
        capture_output=True,
        check=False,
        env=os.environ | {"PYTHONIOENCODING": "utf-8:surrogateescape"},  # as in a container without a locale
        timeout=GENEROUS_S,
    )
    assert (result.returncode, result.stdout, result.stderr.count(b"\n")) == (2, b"", 1)
    assert b"not UTF-8 text" in result.stderr


def test_a_setting_that_is_nested_too_deeply_for_json_is_a_text(run, members):
    result = run("diff", members, "plan:range", "--config", "weights=" + "[" * 100_000)
    assert result.exit_code == 2
    assert "assignor 'range'" in result.stderr
