"""`copartition simulate`."""

import json

import pytest

from copartition.groups.snapshot import RecordStep, record_line
from copartition.simulation import Scenario
from copartition.simulation.inputs.file import ready_scenarios
from tests.copartition.watch.groups import group


@pytest.fixture
def scenario(tmp_path):
    """A small group: most commands here run it more than once."""
    path = tmp_path / "deploy.yaml"
    path.write_text(
        "{topics: {orders: 4}, consumers: 2,"
        " events: [{event: rolling-restart, every_ms: 60000, down_ms: 1000}]}"
    )
    return path


def plans(result):
    """The runs in a JSON report."""
    assert result.stderr == ""
    return json.loads(result.stdout)["runs"]


def plan_names(result):
    return [(plan["scenario"], plan["assignor"]) for plan in plans(result)]


def test_a_run_and_its_rebalances(run, scenario):
    result = run("simulate", scenario)
    assert result.exit_code == 0
    assert "worker-0 left" in result.stdout


def test_strategies_side_by_side(run, scenario):
    result = run(
        "simulate", scenario, "--assignor", "sticky", "--assignor", "cooperative-sticky", "-o", "json"
    )
    assert plan_names(result) == [("deploy", "sticky"), ("deploy", "cooperative-sticky")]


def test_files_side_by_side_each_under_every_strategy(run, scenario, tmp_path):
    other = tmp_path / "other.yaml"
    other.write_text(scenario.read_text())
    result = run("simulate", scenario, other, "--assignor", "range", "--assignor", "sticky", "-o", "json")
    assert plan_names(result) == [
        ("deploy", "range"),
        ("deploy", "sticky"),
        ("other", "range"),
        ("other", "sticky"),
    ]


def test_files_of_one_name_are_told_apart_by_their_paths(run, scenario, tmp_path):
    (tmp_path / "new").mkdir()
    other = tmp_path / "new" / "deploy.yaml"
    other.write_text(scenario.read_text())
    result = run("simulate", scenario, other, "-o", "json")
    assert [name for name, _ in plan_names(result)] == [str(scenario), str(other)]


def test_the_seed_decides(run, scenario):
    def summary(seed):
        return plans(run("simulate", scenario, "--seed", seed, "-o", "json"))[0]["summary"]

    assert summary(3) == summary(3)
    assert summary(3)["rebalancing_ms"] != summary(4)["rebalancing_ms"]


@pytest.mark.parametrize(
    ("change", "assumption"),
    [
        ("heartbeat.interval.ms=1500", None),
        ("settings.heartbeat.interval.ms=1500", None),
        ("settled_ms=0", "heartbeats in step, a group just formed"),
        ("costs.poll_ms=200", "the work between two polls takes 200 ms; nothing else but waiting takes time"),
    ],
)
def test_what_files_say_can_be_changed(run, scenario, change, assumption):
    (before,) = plans(run("simulate", scenario, "-o", "json"))
    (after,) = plans(run("simulate", scenario, "--set", change, "-o", "json"))
    assert (before["assumptions"] == after["assumptions"]) is (assumption is None)
    assert assumption is None or assumption in after["assumptions"]
    assert assumption or before["summary"] != after["summary"]


def test_the_last_change_of_a_key_counts(run, scenario):
    (plan,) = plans(run("simulate", scenario, "--set", "name=a", "--set", "name=b c", "-o", "json"))
    assert plan["scenario"] == "b c"


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ("session.timeout.ms", "'session.timeout.ms' is not KEY=VALUE"),
        ("=5", "'=5' is not KEY=VALUE"),
        (
            "sesion.timeout.ms=5",
            "no setting or field 'sesion.timeout.ms'; did you mean 'session.timeout.ms'?",
        ),
        ("costs.pol_ms=5", "did you mean 'poll_ms'?"),
        ("costs=5", "$.costs"),
        ("name.x=5", "$.name"),
        ("events.0.at_ms=5", "'events.0.at_ms' cannot be set: 'events.0' holds no fields"),
        ("session.timeout.ms=fast", "session.timeout.ms"),
        ("costs.poll_ms=" + "[" * 10_000, "costs.poll_ms"),
    ],
)
def test_a_change_that_cannot_be_is_2(run, scenario, change, fault):
    result = run("simulate", scenario, "--set", change)
    assert (result.exit_code, result.stdout) == (2, "")
    assert fault in result.stderr


def test_many_runs_are_medians_and_percentiles(run, scenario):
    report = json.loads(run("simulate", scenario, "--runs", 3, "--seed", 7, "-o", "json").stdout)
    (plan,) = report["scenarios"]
    assert [summary["seed"] for summary in plan["summaries"]] == [7, 8, 9]
    assert plan["median"]["rebalances"] == sorted(summary["rebalances"] for summary in plan["summaries"])[1]
    alone = plans(run("simulate", scenario, "--seed", 8, "-o", "json"))[0]["summary"]
    assert plan["summaries"][1] == alone


def test_many_runs_of_several_plans_stand_side_by_side(run, scenario):
    result = run("simulate", scenario, "--assignor", "range", "--assignor", "sticky", "--runs", 3)
    assert result.stderr == ""
    assert "range" in result.stdout
    assert "3 runs, seeds 0 to 2" in result.stdout


def test_progress_is_shown_on_a_terminal_only(run, scenario):
    result = run(
        "simulate", scenario, "--set", "name=[b]x", "--runs", 3, "-o", "json", env={"FORCE_COLOR": "1"}
    )
    assert "[b]x with cooperative-sticky" in result.stderr
    assert json.loads(result.stdout)["scenarios"]


def test_who_interrupts_gets_the_runs_that_were_made(run, scenario, monkeypatch):
    def some(scenario, seeds):
        yield simulation.simulate(scenario)
        raise KeyboardInterrupt

    from copartition import simulation

    monkeypatch.setattr(simulation, "simulate_seeds", some)
    assignors = ("--assignor", "range", "--assignor", "sticky")
    result = run("simulate", scenario, *assignors, "--runs", 3, "-o", "json")
    assert result.exit_code == 2
    assert "with range has 1 of 3 runs" in result.stderr
    (shown,) = json.loads(result.stdout)["scenarios"]
    assert len(shown["summaries"]) == 1


def test_a_command_that_is_interrupted_in_its_first_run_writes_nothing(run, scenario, tmp_path, monkeypatch):
    def none(scenario, seeds):
        raise KeyboardInterrupt
        yield

    from copartition import simulation

    monkeypatch.setattr(simulation, "simulate_seeds", none)
    page = tmp_path / "page.html"
    result = run("simulate", scenario, "--runs", 3, "--html", page)
    assert (result.exit_code, result.stdout, page.exists()) == (2, "", False)
    assert "interrupted" in result.stderr


def test_a_page_is_written(run, scenario, tmp_path):
    page = tmp_path / "deploy.html"
    assert run("simulate", scenario, "--html", page).exit_code == 0
    assert page.read_text().startswith("<!doctype html>")


def test_a_page_that_cannot_be_written_leaves_no_report_either(run, scenario, tmp_path):
    result = run("simulate", scenario, "--html", tmp_path / "nowhere" / "page.html")
    assert (result.exit_code, result.stdout) == (2, "")


def test_ready_scenarios_are_listed_with_what_they_are(run):
    lines = run("simulate", "--list").stdout.splitlines()
    assert [line for line in lines if not line.startswith(" ")] == list(ready_scenarios())
    restart = ready_scenarios()["restart-once"]
    told = [f"{kind}: {text}" for kind, text in Scenario.from_file(restart.path).purpose.items()]
    assert [line.strip() for line in lines[lines.index(restart.name) + 1 :]] == [restart.summary, *told]


def test_ready_scenarios_are_listed_for_programs(run):
    rows = json.loads(run("simulate", "--list", "-o", "json").stdout)
    assert [(row["name"], row["summary"]) for row in rows] == [
        ready[:2] for ready in ready_scenarios().values()
    ]
    assert {tuple(row)[2:] for row in rows} == {("question", "source", "conclusion")}


def test_a_ready_scenario_is_run_by_its_name(run):
    assert plan_names(run("simulate", "busy-consumer", "-o", "json")) == [("busy-consumer", "range")]


def test_a_file_of_that_name_comes_first(run, scenario, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    scenario.rename("busy-consumer")
    result = run("simulate", "busy-consumer")
    assert "a scenario file ends in" in result.stderr


def test_a_name_that_is_nearly_right_is_proposed(run):
    result = run("simulate", "busy-consumers")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "no file and no ready scenario 'busy-consumers'; did you mean busy-consumer?" in result.stderr


def test_the_schema_is_printed(run):
    schema = json.loads(run("simulate", "--scenario-schema").stdout)
    assert "$schema" in schema


def test_a_log_is_replayed(run, scenario, tmp_path):
    log = tmp_path / "log.ndjson"
    log.write_text(run("simulate", scenario, "--seed", 4, "-o", "ndjson").stdout)
    assert json.loads(log.read_text().splitlines()[0])["scenario"]["seed"] == 4
    result = run("simulate", "--replay", log)
    assert (result.exit_code, result.stdout) == (0, "the same\n")


def test_a_log_is_replayed_from_standard_input(run, scenario):
    log = run("simulate", scenario, "-o", "ndjson").stdout
    assert run("simulate", "--replay", "-", input=log).exit_code == 0


def test_a_log_that_differs_is_1_and_says_where(run, scenario, tmp_path):
    log = tmp_path / "log.ndjson"
    log.write_text(run("simulate", scenario, "-o", "ndjson").stdout + '{"at_ms": 0, "what": "\\u001b"}\n')
    lines = log.read_text().count("\n")
    result = run("simulate", "--replay", log)
    assert result.exit_code == 1
    assert result.stdout.splitlines() == [
        f"line {lines} differs from character 1 on",
        'logged: {"at_ms": 0, "what": "\\u001b"}',
        "   now: (no such line)",
    ]


def test_a_log_that_is_none_is_2(run, scenario):
    result = run("simulate", "--replay", scenario)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "this is no log of a simulation" in result.stderr


@pytest.mark.parametrize(
    "arguments", [[], ["deploy", "--list"], ["--replay", "-", "--list"], ["--runs", "1", "x"]]
)
def test_what_makes_no_sense_together_is_2(run, arguments):
    result = run("simulate", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")


def test_a_log_of_many_seeds_is_2(run, scenario):
    result = run("simulate", scenario, "--runs", 2, "-o", "ndjson")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "-o ndjson is the log of one seed; leave --runs out" in result.stderr


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("{topics: {orders: x}, consumers: 4}", "orders is 'x'; give a whole number from 1"),
        ("{topics: {orders: 1}, consumers: 4, assignor: ranges}", "no assignor 'ranges'; did you mean range"),
    ],
)
def test_a_bad_scenario_is_2(run, scenario, text, fault):
    scenario.write_text(text)
    result = run("simulate", scenario)
    assert (result.exit_code, result.stdout) == (2, "")
    assert fault in result.stderr


def test_a_missing_scenario_is_2(run):
    result = run("simulate", "nowhere.yaml")
    assert result.exit_code == 2
    assert "nowhere.yaml: No such file" in result.stderr


@pytest.fixture
def record(tmp_path):
    """A record in which b leaves, and a has its partitions seconds later, or much later."""

    def write(ends):
        seen = [
            (0, None, group("Stable", "range", a=[0, 1], b=[2, 3])),
            (11, 10, group("PreparingRebalance", "range", a=[])),
            (ends, ends - 1, group("Stable", "range", a=[0, 1, 2, 3])),
        ]
        path = tmp_path / "night.ndjson"
        path.write_text("".join(record_line(RecordStep(*look)) for look in seen))
        return path

    return write


@pytest.mark.parametrize(("ends", "code", "verdict"), [(13, 0, "agrees"), (60, 1, "differs")])
def test_a_record_is_put_beside_the_model(run, record, ends, code, verdict):
    result = run("simulate", record(ends), "--runs", 4)
    assert (result.exit_code, result.stderr) == (code, "")
    assert "b left" in result.stdout
    assert verdict in result.stdout
    assert "assumed: clients are Java's" in result.stdout


def test_a_record_beside_the_model_for_programs(run, record):
    result = run(
        "simulate", record(13), "-o", "json", "--runs", "3", "--seed", "7", "--set", "session.timeout.ms=9000"
    )
    told = json.loads(result.stdout)
    assert (told["kind"], told["runs"], told["agrees"]) == ("record-replay", 3, True)
    [event] = told["events"]
    assert event["causes"] == [{"kind": "left", "name": "b", "to": None}]
    assert event["recorded_ms"] == {"least": 1000, "most": 3000}
    assert "session.timeout.ms=9000" in told["assumed"][0]


@pytest.mark.parametrize("more", [["-o", "ndjson"], ["--html", "page.html"], ["restart-once"]])
def test_a_record_stands_beside_one_model(run, record, more):
    result = run("simulate", record(13), *more)
    assert result.exit_code == 2
    assert "a record is compared with one model" in result.stderr


def test_a_log_is_no_record(run, scenario, tmp_path):
    log = tmp_path / "log.ndjson"
    log.write_text(run("simulate", scenario, "-o", "ndjson").stdout)
    result = run("simulate", log)
    assert result.exit_code == 2
    assert "line 1" in result.stderr


def test_a_capture_goes_through_a_deploy(run, members):
    result = run("simulate", members, "--deploy", "rolling", "--assignor", "range", "--assignor", "sticky")
    assert result.exit_code == 1  # something stops, as in a diff of the same question
    assert "a member is restarted every 1 min, and is away for 10 s" in result.stderr
    assert {"range", "sticky"} <= {*result.stdout.split()}
    found = run("simulate", members, "--deploy", "rolling", "--assignor", "range", "-o", "json")
    assert json.loads(found.stdout)


def test_lags_of_a_capture_wait_at_the_start_of_a_load(run, offsets):
    result = run("simulate", offsets, "--deploy", "rolling", "--assignor", "range", "--set", "load.rate=50")
    assert result.exit_code == 1
    assert "what was not committed waits at the start" in result.stderr


def test_a_deploy_is_one_that_there_is(run, members):
    result = run("simulate", members, "--deploy", "crash", "--assignor", "range")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "'crash' is not one of 'rolling', 'surge'" in result.stderr


def test_what_never_happened_is_named(run, tmp_path):
    path = tmp_path / "calm.yaml"
    path.write_text(
        "{topics: {orders: 12}, consumers: 4, until_ms: 1 min,"
        " events: [{event: crash, when: members > 9, consumer: worker-1}]}"
    )
    assert "crash when members > 9 never happened" in run("simulate", path).stdout
    assert plans(run("simulate", path, "-o", "json"))[0]["warnings"] == [
        "crash when members > 9 never happened"
    ]
