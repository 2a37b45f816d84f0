"""Values that a hostile client, broker, tool or program sends, in what all reports share."""

import html
import io
import json
import math
import re
from datetime import datetime

import pytest
from click.testing import CliRunner
from rich.text import Text

from assignors import Topic
from copartition.groups import parse_snapshot, snapshot_bytes
from copartition.kit.grid import VisibleConsole
from copartition.kit.json import utc_time
from copartition.kit.page import render
from copartition.kit.words import Table, utc, visible, visible_lines
from copartition.shell.commands import Output, QuietCommand, write
from copartition.simulation import Consumer, Scenario
from copartition.simulation.inputs.file import scenario_yaml
from copartition.why.history import Cause, Line, LoggedRebalance
from copartition.why.page import moment
from copartition.why.unpack import moment_of, stamp_of, unpack
from partitioning.kit.formats import decode_json

NO_CALENDAR = [1e11 * 3, -1e12, 2**63 / 1000, -(2**63) / 1000, math.inf, -math.inf, math.nan]
SEEN = ("\x1b[2J", "\x9b2J", "\u202egpj", "\u2066", "\x00", "\udcff", "\ud83d")


@pytest.mark.parametrize("seconds", NO_CALENDAR)
@pytest.mark.parametrize(
    "shown", [utc_time, moment, moment_of, lambda at: moment(at, 1e6), lambda at: utc(at, datetime.isoformat)]
)
def test_a_time_that_no_calendar_has_is_shown_as_its_seconds(shown, seconds):
    assert shown(seconds) == f"{seconds:.0f} s after 1970"


@pytest.mark.parametrize("zone", ["+25:00", "-24:01", "+99:99"])
@pytest.mark.parametrize(
    "words", ["May 1 2024 10:00:00 {}", "2024-05-01T10:00:00{}", "01/May/2024:10:00:00 {}"]
)
def test_a_time_with_a_zone_of_more_than_a_day_is_none(zone, words):
    text = f"{words.format(zone)} Preparing to rebalance group g"
    (record,) = unpack(text.encode())
    assert stamp_of(record, text, text.index("Preparing"), b"") is None


def test_lengths_between_clocks_that_differ_are_unknown():
    line = Line("server.log", 7)
    rebalance = LoggedRebalance(3, Cause.JOINED, "a", "", line, began=100.0, joined=99.0, ended=98.5)
    assert (rebalance.join_s, rebalance.sync_s) == (None, None)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("[" * 101 + "]" * 101, "more than 100 levels"),
        ('{"a":' * 101 + "1" + "}" * 101, "more than 100 levels"),
        ("[" * 100_000, "nested too deeply|truncated"),
        ("NaN", "malformed"),
        ('{"a": Infinity}', "malformed"),
        ("1e999", "out of range"),
        ('"\\ud800"', "truncated|surrogate"),
    ],
)
def test_json_that_python_takes_and_nothing_else_is_refused(text, fault):
    with pytest.raises(ValueError, match=fault):
        decode_json(text)


@pytest.mark.parametrize("text", ["[" * 100 + "]" * 100, '{"a": [1, {"b": []}]}', "3", '"a"', "null"])
def test_json_of_some_levels_is_read(text):
    assert decode_json(text) == decode_json(text.encode()) == json.loads(text)


def test_line_breaks_and_tabs_stay_and_nothing_else_that_is_unseen():
    assert visible_lines("a\tb\nc\x1b[2J\r\n") == "a\tb\nc\\x1b[2J\\r\n"
    assert visible_lines(plain := "grüße") is plain


@pytest.fixture
def printed():
    """What a command prints on a terminal."""

    def run(act, color=None):
        result = CliRunner().invoke(QuietCommand("it", callback=act), [], color=color)
        return result.stdout + result.stderr

    return run


@pytest.mark.parametrize("name", SEEN, ids=ascii)
def test_a_text_that_a_report_forgot_to_escape_is_escaped_where_it_is_written(printed, name):
    text = printed(lambda: write(f"one {name}\n"))
    assert text.startswith("one ")
    assert text.removesuffix("\n").isprintable()


@pytest.mark.parametrize("name", SEEN, ids=ascii)
def test_so_it_is_in_a_file(tmp_path, name):
    write(f"one {name}\n", str(tmp_path / "out"))
    assert (tmp_path / "out").read_text(encoding="utf-8").removesuffix("\n").isprintable()


@pytest.mark.parametrize("name", SEEN, ids=ascii)
def test_so_it_is_where_rich_draws_and_only_its_own_colours_are_left(printed, name):
    output = Output("text", "always")
    text = printed(
        lambda: output.paint(lambda console: console.print(Text(f"one {name}", "red"))), color=True
    )
    assert text.removesuffix("\n").removeprefix("\x1b[31m").removesuffix("\x1b[0m").isprintable()


def test_lines_of_a_drawing_stay_lines():
    console = VisibleConsole(file=io.StringIO(), width=40)
    console.print("one\ntwo")
    assert console.file.getvalue() == "one\ntwo\n"


def test_a_name_that_is_no_utf8_is_a_fault_of_the_command_line_and_no_bug(printed):
    text = printed("\udcff".encode)
    assert "is no text that Kafka can have" in text
    assert "bug" not in text


def test_half_of_a_surrogate_pair_in_a_log_stays_an_escape():
    (record,) = unpack(b'{"message": "Preparing to rebalance group \\ud83d"}')
    assert record.texts[0] == "Preparing to rebalance group \\ud83d"


@pytest.mark.parametrize("name", ['a" onload="x', "it's", "<b>", "a&quot;b", "\x1b[2J\u202e"])
@pytest.mark.parametrize("template", ["kit/table.html.j2"])
def test_an_attribute_holds_the_whole_name_whatever_is_in_it(template, name):
    table = Table([name], [[name]])
    (label,) = re.findall(r'aria-label="([^"]*)"', render(template, title=name, table=table))
    assert html.unescape(label) == visible(name)


@pytest.mark.parametrize("name", SEEN[:5], ids=ascii)
def test_a_snapshot_and_a_scenario_hold_the_true_name_and_nothing_unseen(tmp_path, name):
    path = tmp_path / "group.json"
    group = {"kind": "group-snapshot", "format_version": "1.0", "members": [{"id": name, "partitions": {}}]}
    path.write_text(json.dumps(group))
    kept = snapshot_bytes(parse_snapshot(path.read_bytes())[0]).decode()
    assert kept.replace("\n", "").isprintable()
    assert parse_snapshot(kept)[0].members[0].id == name
    scenario = Scenario((Topic("t", 1),), (Consumer(name),))
    written = scenario_yaml(scenario, [name])
    assert written.replace("\n", "").isprintable()
    (tmp_path / "scenario.yaml").write_text(written)
    assert Scenario.from_file(tmp_path / "scenario.yaml") == scenario
