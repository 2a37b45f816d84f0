"""`copartition watch`."""

import json
import re
import signal
import uuid
from itertools import chain, repeat

import pytest

from copartition.assignment_diff import read_pair
from copartition.groups.live import reader
from copartition.groups.snapshot import RecordStep, read_record, record_line
from partitioning.errors import SourceError
from tests.copartition.watch.groups import group
from tests.support.waiting import GENEROUS_S, wait_for

BEFORE, AFTER = (group("Stable", a=[0, 1, 2, 3]), None), (group("Stable", a=[0, 1], b=[2, 3]), None)


@pytest.fixture
def live(monkeypatch):
    """Lets a live group give these answers in turn."""

    def answers(*given):
        left = chain(given, repeat(given[-1]))

        def read():
            if isinstance(found := next(left), Exception):
                raise found
            return found

        read.ends = lambda: {"t": {0: 7}}
        read.committed_offsets = lambda: {"t": {0: 4}}
        monkeypatch.setattr(reader, "GroupReader", lambda *_: read)

    return answers


def lines_without_times(text):
    """The lines without the times, which are now."""
    return [line.partition("  ")[2] for line in text.splitlines()]


@pytest.mark.live
def test_a_line_a_change_then_a_summary(run, live):
    live(BEFORE, BEFORE, AFTER)
    result = run("watch", "g", "--interval", "100ms", "--count", "4")
    assert (result.exit_code, result.stderr) == (0, "")
    first, joined, moved = lines_without_times(result.stdout)[:3]
    assert first == "#0  Stable  1 member, 4 partitions, cooperative-sticky"
    assert joined == "#1  Stable  b joined"
    assert moved.startswith("#1  Stable  a -> b  t:2-3  no owner for at most 1")
    assert "1 joined, 0 left, 0 restarted, 2 partitions taken over" in result.stdout


@pytest.mark.live
def test_json_leaves_the_summary_to_the_other_stream(run, live):
    live(BEFORE, AFTER)
    result = run("watch", "g", "--interval", "100ms", "--count", "2", "-o", "json")
    kinds = [json.loads(line)["kind"] for line in result.stdout.splitlines()]
    assert kinds == ["state", "joined", "moved"]
    assert "1 joined" in result.stderr


@pytest.mark.live
def test_trouble_on_the_way_is_said_and_survived(run, live):
    live(BEFORE, SourceError("live:g: no broker"), SourceError("live:g: no broker"), AFTER)
    result = run("watch", "g", "--interval", "100ms", "--count", "4")
    assert result.exit_code == 0
    away, back = result.stderr.splitlines()
    assert re.fullmatch(r"copartition watch: live:g: no broker; away since 20\S+Z, trying again", away)
    assert re.fullmatch(r"copartition watch: live:g: it answers again, after \S+ m?s without an answer", back)
    assert "a -> b" in result.stdout


@pytest.mark.live
def test_what_was_recorded_is_told_again_and_is_a_diff(run, live, tmp_path):
    path = tmp_path / "night.ndjson"
    live(BEFORE, AFTER)
    seen = run("watch", "g", "--interval", "100ms", "--for", "300ms", "--record", path)
    again = run("watch", path)
    assert (again.exit_code, again.stdout.splitlines()[:3]) == (0, seen.stdout.splitlines()[:3])
    pair = read_pair(f"{path}#0", f"{path}#1")
    assert [len(side.members) for side in (pair.before, pair.after)] == [1, 2]
    assert [(step.ends, step.state.lag[0]) for step in read_record(path)] == [({"t": {0: 7}}, 3)] * 2
    assert run("diff", f"{path}#0", f"{path}#1", "-q").exit_code == 1


@pytest.mark.live
def test_a_line_of_the_record_is_there_before_the_line_on_the_screen(start, tmp_path):
    path = tmp_path / "night.ndjson"
    invent = (
        "from copartition.groups.live import reader\n"
        "group = reader.GroupState.without_partitions(name='g', status='Dead'), None\n"
        "def read(): return group\n"
        "read.ends = read.committed_offsets = dict\n"
        "reader.GroupReader = lambda *_: read"
    )
    process = start("copartition", "watch", "g", "--record", path, before=invent)
    assert "no such group yet; waiting" in process.stdout.readline()
    assert len(path.read_text().splitlines()) == 1
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=GENEROUS_S)
    assert (process.returncode, err) == (0, "")
    assert "0 joined, 0 left" in out


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (["g"], "live:g needs a cluster; name it with -b HOST:PORT"),
        (["g", "--record", "night.json"], "night.json: the name of a record ends with .ndjson"),
        (["g", "--record", "nowhere/x.ndjson", "-b", "h:1"], "cannot write nowhere/x.ndjson"),
        (["none.ndjson"], "none.ndjson: No such file"),
        (["night.ndjson", "--count", "1"], "a record is replayed from its first step to its last"),
        (["g", "--interval", "50ms"], "it is at least 100ms"),
    ],
)
def test_trouble_is_2(run, live, arguments, fault):
    if "-b" in arguments:
        live(BEFORE)
    result = run("watch", *arguments)
    assert result.exit_code == 2
    assert fault in result.stderr


def test_a_group_with_the_name_of_a_record_is_a_group_where_a_cluster_is_named(run, live, tmp_path):
    path = tmp_path / "x.ndjson"
    path.write_text(record_line(RecordStep(0, None, BEFORE[0])))
    live(AFTER)
    assert "2 members" in run("watch", path, "-b", "h:1", "--count", "1").stdout
    assert "1 member," in run("watch", path).stdout


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_real_member_leaves(broker, workers, start, tmp_path, protocol):
    topic, name, path = broker.create_topic(4), f"watch-{uuid.uuid4()}", tmp_path / "x.ndjson"
    process = start(
        "copartition",
        "watch",
        name,
        "-b",
        broker.bootstrap_servers,
        "--interval",
        "200ms",
        "--record",
        path,
        "-o",
        "json",
    )
    assert json.loads(process.stdout.readline())["state"] == "Dead"
    rows = []

    def owners():
        """Who has each partition by the changes so far."""
        now = {}
        for row in rows:
            now |= dict.fromkeys(row["partitions"].get(topic, ()), row["target"])
        return now

    def until(ready):
        """Read on until the owners are as they should be."""
        wait_for(lambda: rows.append(json.loads(process.stdout.readline())), lambda _: ready(owners()))

    everything = dict.fromkeys(range(4), "a")
    workers(name, topic, "a", **{"group.protocol": protocol})
    until(lambda owner: owner == everything)
    second = workers(name, topic, "b", **{"group.protocol": protocol})
    until(lambda owner: sorted(map(str, owner.values())) == ["a", "a", "b", "b"])
    second.stop()
    until(lambda owner: owner == everything)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=GENEROUS_S)
    assert (process.returncode, "2 joined, 1 left" in err) == (0, True)
    assert [row["name"] for row in rows if row["kind"] in {"joined", "left"}] == ["a", "b", "b"]
    assert [row for row in rows if (row["source"], row["target"]) == ("b", "a") and row["most_ms"]]
    assert read_record(path)[-1].ends == {topic: dict.fromkeys(range(4), 0)}
