"""`copartition size`."""

import json

import pytest

from copartition.groups.snapshot import RecordStep, record_line
from copartition.simulate_scenarios import size_search
from tests.copartition.watch.groups import group


@pytest.fixture
def plan(tmp_path):
    """Four partitions of 10 records a second, consumers that can process 30, and a crash."""
    path = tmp_path / "crash.yaml"
    path.write_text(
        "topics: {orders: 4}\n"
        "consumers: 2\n"
        "assignor: range\n"
        "settings: {session.timeout.ms: 10 s}\n"
        "load: {rate: 10, capacity: 30}\n"
        "events: [{event: crash, at_ms: 1 min, consumer: worker-0}]\n"
    )
    return path


def test_the_answer_comes_first_then_what_was_tried(run, plan):
    result = run("size", plan, "--max-lag", "30s", "--runs", "3")
    assert (result.exit_code, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert lines[0] == "crash with range: 3 consumers keep every record within 30.0 s"
    assert [line.split()[0] for line in lines[2:6]] == ["CONSUMERS", "2", "3", "4"]
    assert "worker-1 reads 40 records a second and can process 30" in lines[3]
    assert "  KEDA: minReplicaCount 3, maxReplicaCount 4, lagThreshold 400" in result.stdout
    assert "assumed: through crash at 60000 ms" in result.stdout


@pytest.mark.heavy
def test_the_same_as_json(run, plan):
    result = run("size", plan, "--max-lag", "0.5min", "-o", "json")
    (answer,) = json.loads(result.stdout)["scenarios"]
    assert (answer["scenario"], answer["assignor"], answer["fewest"]) == ("crash", "range", 3)
    assert (answer["max_lag_ms"], answer["runs"]) == (30_000, 20)
    assert answer["autoscaler"] == {"minReplicaCount": 3, "maxReplicaCount": 4, "lagThreshold": 400}
    assert [(trial["consumers"], trial["fits"]) for trial in answer["trials"]] == [
        (2, False),
        (3, True),
        (4, True),
    ]
    assert answer["trials"][0]["lag_ms"] is None  # no end
    assert answer["assumed"][0] == "through crash at 60000 ms"


def test_where_no_number_will_do_the_nearest_are_shown(run, plan):
    result = run("size", plan, "--max-lag", "5s")
    assert result.exit_code == 1
    assert "no number of consumers from 2 to 4 keeps every record within 5.0 s" in result.stdout
    assert "more consumers do not help: shorten what stops partitions" in result.stdout
    assert "session of worker-0 timed out" in result.stdout


def test_who_interrupts_is_told_what_was_tried(run, plan, monkeypatch):
    trials = size_search.size_trials

    def some(*arguments):
        yield next(trials(*arguments))
        raise KeyboardInterrupt

    monkeypatch.setattr(size_search, "size_trials", some)
    words = ("size", plan, "--max-lag", "30s", "--runs", "2")
    result = run(*words, "--assignor", "range", "--assignor", "uniform")
    assert result.exit_code == 2
    (answer, *rows) = result.stdout.splitlines()
    told = "interrupted after 1 of the numbers of consumers from 2 to 4; no answer yet"
    assert answer == f"crash with range: {told}"
    assert [row.split()[0] for row in rows[1:3]] == ["CONSUMERS", "3"]
    assert "do not help" not in result.stdout
    (document,) = json.loads(run(*words, "-o", "json").stdout)["scenarios"]
    assert (document["finished"], document["fewest"], len(document["trials"])) == (False, None, 1)


def test_partitions_that_are_too_few_are_counted(run, plan):
    result = run("size", plan, "--max-lag", "30s", "--set", "load.capacity=9")
    assert result.exit_code == 1
    assert "orders: one partition gets more than a consumer can process; 5 would do" in result.stdout


@pytest.mark.heavy
def test_assignors_beside_each_other(run, plan):
    result = run(
        "size", plan, "--max-lag", "30s", "--assignor", "range", "--assignor", "uniform", "-o", "json"
    )
    assert [answer["assignor"] for answer in json.loads(result.stdout)["scenarios"]] == ["range", "uniform"]


@pytest.mark.heavy
def test_a_captured_group(run, members):
    load = ["--set", "load.rate=10", "--set", "load.capacity=100"]
    result = run("size", members, "--deploy", "rolling", "--assignor", "range", *load, "--max-lag", "1min")
    assert result.exit_code == 0
    assert "1 consumer keeps every record within 1 min 00 s" in result.stdout


@pytest.fixture
def night(tmp_path):
    """A record of two consumers, four partitions and ten minutes of 10 records a second for each."""

    def write(records):
        state = group("Stable", "range", a=[0, 1], b=[2, 3])
        ends = [dict.fromkeys(range(4), end) for end in (100, 100 + records)]
        steps = [
            RecordStep(0, None, state, None, {"t": ends[0]}),
            RecordStep(600, 599, state, None, {"t": ends[1]}),
        ]
        path = tmp_path / "night.ndjson"
        path.write_text("".join(map(record_line, steps)))
        return path

    return write


@pytest.mark.heavy
def test_a_record_of_watch(run, night):
    asked = ["size", night(6_000), "--max-lag", "1min", "--set", "load.capacity=30"]
    result = run(*asked)
    assert (result.exit_code, result.stderr) == (0, "")
    assert "g, rolling with range: 2 consumers keep every record within 1 min 00 s" in result.stdout
    assert "g, crash a with range: 4 consumers keep every record within 1 min 00 s" in result.stdout
    taken = "rates are those of the busiest 10 min 00 s between two ends in the record"
    assert taken in " ".join(result.stdout.split())
    answers = json.loads(run(*asked, "-o", "json", "--deploy", "rolling").stdout)["scenarios"]
    assert [answer["scenario"] for answer in answers] == ["g, rolling"]
    texts = "; ".join(answers[0]["assumed"])
    assert taken in texts
    assert "10 (t) records a second come to each partition" in texts
    assert "clients are Java's" in texts
    assert "quiet for 1 h 00 min" in texts


@pytest.mark.parametrize(
    ("records", "more", "message"),
    [
        (6_000, [], "give load.capacity, records a second"),
        (-1, [], "without a load there is no lag; give load.rate and load.capacity"),
        (-1, ["--set", "load.capacity=30"], "rate is missing"),
    ],
)
def test_what_a_record_does_not_show_is_asked_for(run, night, records, more, message):
    result = run("size", night(records), "--max-lag", "1min", *more)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--max-lag", "30"],
            "Invalid value for --max-lag: '30' is no time such as 30s; units are ms, s, min, h",
        ),
        (["--max-lag", "1e999s"], "a bound of inf ms in 20 runs; give milliseconds and at least one run"),
        (["--max-lag", "5m"], "'5m' is no time such as 30s"),
        ([], "Missing option '--max-lag'"),
        (["--max-lag", "30s", "--set", "load=null"], "without a load there is no lag"),
    ],
)
def test_what_cannot_be_answered(run, plan, arguments, message):
    result = run("size", plan, *arguments)
    assert result.exit_code == 2
    assert message in result.stderr
