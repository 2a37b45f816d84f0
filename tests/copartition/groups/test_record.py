"""Records of a watched group."""

import json

import pytest

from assignors.state import UNKNOWN_LAG
from copartition.assignment_diff import diff, read_pair
from copartition.groups import parse_snapshot, read_source
from copartition.groups.snapshot import RecordStep, read_record, record_line
from partitioning.errors import SourceError
from tests.copartition.watch.groups import group

ONE = group("Stable", generation=7, a=[0, 1], b=[2, 3])
TWO = group("Reconciling", "uniform", "consumer", a=[0, 1, 2, 3])
TARGET = group("Reconciling", "uniform", "consumer", a=[0, 1, 2])
STEPS = [RecordStep(1000.5, None, ONE), RecordStep(2000.125, 1999.0, TWO, TARGET, {"t": {0: 12, 3: 0}})]


@pytest.fixture
def record(tmp_path):
    """A record of two steps."""
    path = tmp_path / "night.ndjson"
    path.write_text("".join(map(record_line, STEPS)))
    return path


def test_a_record_gives_back_what_was_seen_and_when(record):
    first, second = read_record(record)
    assert [first[:2], second[:2]] == [(1000.5, None), (2000.125, 1999.0)]
    assert diff(ONE, first.state).same
    assert diff(TWO, second.state).same
    assert (first.target, diff(TARGET, second.target).same) == (None, True)
    assert (first.ends, second.ends) == ({}, {"t": {0: 12, 3: 0}})
    assert (first.state.generation, first.state.status, second.state.generation) == (7, "Stable", None)


def test_a_line_has_the_lag_of_what_was_committed_and_has_an_end(tmp_path):
    path = tmp_path / "lag.ndjson"
    offsets = {"t": {0: 10, 1: 9, 2: 8}, "gone": {0: 1}}
    path.write_text(record_line(RecordStep(0, None, ONE, None, {"t": {0: 12, 1: 7, 3: 5}}, offsets)))
    (step,) = read_record(path)
    lags = dict(zip(step.state.partition.tolist(), step.state.lag.tolist(), strict=True))
    assert lags == {0: 2, 1: -2, 2: UNKNOWN_LAG, 3: UNKNOWN_LAG}
    assert step.state.topics == ("t",)


def test_a_line_is_a_snapshot_with_a_time_that_people_can_search_for(record):
    lines = record.read_text().splitlines()
    assert json.loads(lines[0])["at"] == "1970-01-01T00:16:40.500000Z"
    assert "since" not in json.loads(lines[0])
    assert diff(parse_snapshot(lines[1])[0], TWO).same


def test_a_step_is_a_source_and_a_record_holds_two(record):
    assert diff(read_source(f"{record}#0").state, ONE).same
    assert diff(read_source(f"{record}#-1").target, TARGET).same
    pair = read_pair(str(record))
    assert diff(pair.before, ONE).same
    assert diff(pair.after, TWO).same


def test_a_line_that_was_cut_off_is_left_out(record):
    record.write_text(record.read_text()[:-10])
    assert len(read_record(record)) == 1


@pytest.mark.parametrize(
    ("step", "fault"),
    [
        ("2", r"night.ndjson#2: the record has 2 steps, 0 to 1"),
        ("-3", r"night.ndjson#-3: the record has 2 steps"),
        ("x", r"night.ndjson#x: a step is a number"),
    ],
)
def test_a_step_that_is_not_there_is_refused(record, step, fault):
    with pytest.raises(SourceError, match=fault):
        read_source(f"{record}#{step}")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "the record is empty"),
        ("{}\n", "line 1: not a group snapshot"),
        (record_line(STEPS[0]) + "{\n", "line 2: not a group snapshot"),
        (
            '{"kind": "group-snapshot", "format_version": "1.2", "members": []}\n',
            "line 1: the snapshot has no time `at`",
        ),
        (record_line(STEPS[1]._replace(since=3e3)), "line 1: the snapshot's time `since` is after `at`"),
        (record_line(STEPS[0]).replace("40.500000Z", "40.5"), r"line 1: not a group snapshot.*\$\.at"),
    ],
)
def test_what_is_no_record_is_refused(tmp_path, text, fault):
    path = tmp_path / "x.ndjson"
    path.write_text(text)
    with pytest.raises(SourceError, match=f"x.ndjson: {fault}"):
        read_record(path)


def test_a_record_that_is_not_there_is_said(tmp_path):
    with pytest.raises(SourceError, match=r"none\.ndjson: No such file"):
        read_source(str(tmp_path / "none.ndjson"))
