"""`copartition snapshot`."""

import pytest

from copartition.groups import parse_snapshot


def test_a_capture_becomes_a_snapshot_that_is_the_same_group(run, members, tmp_path):
    out = tmp_path / "group.json"
    assert run("snapshot", members, "--out", out).exit_code == 0
    assert run("diff", members, out).exit_code == 0


def test_without_a_file_it_goes_to_standard_output(run, members):
    state, target = parse_snapshot(run("snapshot", members).stdout)
    assert (len(state.members), target) == (5, None)


def test_a_group_on_its_way_keeps_its_target(run, reconciling, tmp_path):
    out = tmp_path / "group.json"
    run("snapshot", reconciling, "--out", out)
    assert run("diff", out, "-o", "json").stdout == run("diff", reconciling, "-o", "json").stdout


def test_a_scenario_gives_the_step_that_is_named(run, scenario):
    state, _ = parse_snapshot(run("snapshot", f"{scenario}#-1").stdout)
    assert state.complete
    assert len(state.members) == 4


def test_a_plan_is_kept_by_the_diff(run, members, tmp_path):
    out = tmp_path / "plan.json"
    run("diff", members, "plan:sticky", "--add-members", "1", "--save", out)
    assert run("diff", out, members, "-q").exit_code == 1
    state, _ = parse_snapshot(out.read_bytes())
    assert (len(state.members), state.strategy, state.status) == (6, "sticky", "planned")


def test_a_group_becomes_a_scenario_that_runs(run, members, tmp_path):
    out = tmp_path / "group.yaml"
    default = "# assumed: the source does not tell which assignor the group uses; taken for 'range'"
    assert default in run("snapshot", members, "--as-scenario").stdout
    assert run("snapshot", members, "--as-scenario", "--assignor", "sticky", "--out", out).exit_code == 0
    assert out.read_text().startswith("# assumed: ")
    assert run("simulate", out).exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (["nowhere"], "nowhere: no such file"),
        (["plan:sticky"], "plan:sticky plans from the other side"),
        (["MEMBERS", "--group", "other"], "holds no group 'other'"),
        pytest.param(
            ["live:g", "-b", "localhost:1", "-X", "acsk=1"],
            "No such configuration property",
            marks=pytest.mark.live,
        ),
    ],
)
def test_trouble_is_2(run, members, arguments, fault):
    result = run("snapshot", *(members if argument == "MEMBERS" else argument for argument in arguments))
    assert result.exit_code == 2
    assert fault in result.stderr
