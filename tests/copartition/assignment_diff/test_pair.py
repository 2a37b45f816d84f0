"""Which sources make a pair."""

import io
from pathlib import Path

import pytest

from copartition.assignment_diff import WhatIf, diff, plan, read_pair
from copartition.groups import parse_capture, read_source, snapshot_bytes
from partitioning.errors import ScenarioError, SourceError

CAPTURES = Path(__file__).parents[1] / "groups" / "captures"
MEMBERS = str(CAPTURES / "members-4.4.0.txt")


@pytest.fixture
def scenario(tmp_path):
    path = tmp_path / "deploy.yaml"
    path.write_text("{topics: {t: 4}, consumers: 2, events: [{event: join, at_ms: 1, consumer: new}]}")
    return str(path)


@pytest.fixture
def snapshot(tmp_path):
    path = tmp_path / "group.json"
    path.write_bytes(snapshot_bytes(parse_capture(Path(MEMBERS).read_text())[0]))
    return str(path)


def test_a_capture_and_a_snapshot_of_one_group_are_the_same(snapshot):
    pair = read_pair(MEMBERS, snapshot)
    assert diff(pair.before, pair.after).same


def test_a_step_of_a_scenario_tells_who_subscribes_to_what(tmp_path):
    path = tmp_path / "three.yaml"
    path.write_text(
        "{topics: {ta: 2, tb: 2, u: 2}, "
        "consumers: [{name: all}, {name: one, topics: [u]}, {name: some, pattern: 't.*'}]}"
    )
    state = read_source(f"{path}#0").state
    assert {member.client_id: member.topics for member in state.members} == {
        "all": ("ta", "tb", "u"),
        "one": ("u",),
        "some": ("ta", "tb"),
    }
    assert plan(state, "sticky").assumed == ()


def test_a_group_on_its_way_is_taken_as_it_is_and_that_is_said(tmp_path):
    path = str(CAPTURES / "reconciling-4.4.0.txt")
    said = f"{path} is on its way to a target that differs in 3 partitions; taken as it is now"
    assert read_pair(path, path).before.assumed == (said,)
    assert read_pair(path).before.assumed == ()
    there, arrived = read_source(path).target, tmp_path / "arrived.json"
    arrived.write_bytes(snapshot_bytes(there, there))
    assert read_pair(path, str(arrived)).after.assumed == ()


def test_standard_input_is_a_source(monkeypatch, snapshot):
    for path in (MEMBERS, snapshot):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(Path(path).read_bytes())))
        assert len(read_source("-").state.members) == 5


def test_a_plan_stands_on_either_side():
    there, back = read_pair(MEMBERS, "plan:sticky"), read_pair("plan:sticky", MEMBERS)
    assert there.planned
    assert (there.after.status, back.before.status) == ("planned", "planned")


def test_members_that_a_plan_adds_join_though_idle_ones_are_not_shown():
    pair = read_pair(str(CAPTURES / "offsets-4.4.0.txt"), "plan:range", what_if=WhatIf(add_members=2))
    assert diff(pair.before, pair.after, match="member-id").summary.members_joined == 2


def test_one_source_with_two_states_is_enough(scenario):
    pair = read_pair(str(CAPTURES / "reconciling-4.4.0.txt"))
    assert diff(pair.before, pair.after).summary.moved == 3
    pair = read_pair(scenario)
    assert (len(pair.before.members), len(pair.after.members)) == (2, 3)


def test_one_source_with_one_state_stands_alone():
    pair = read_pair(MEMBERS)
    assert pair.alone
    assert pair.before is pair.after
    assert "partition counts are unknown" in pair.after.assumed[0]


def test_a_group_that_has_its_target_stands_alone(tmp_path):
    _, target = parse_capture((CAPTURES / "reconciling-4.4.0.txt").read_text())
    (path := tmp_path / "arrived.json").write_bytes(snapshot_bytes(target, target))
    assert read_pair(str(path)).alone


def test_a_step_of_a_scenario_is_a_source(scenario):
    first, last = read_source(f"{scenario}#0").state, read_source(f"{scenario}#-1").state
    assert [member.client_id for member in last.members] == ["worker-0", "worker-1", "new"]
    assert first.status == "generation 1"
    assert diff(first, last).summary.members_joined == 1


@pytest.mark.parametrize(
    ("sources", "what_if", "fault"),
    [
        (("nowhere.txt",), None, "nowhere.txt: no such file; a source is"),
        ((str(CAPTURES),), None, "Is a directory"),
        ((MEMBERS, MEMBERS), WhatIf(add_members=1), "add plan:ASSIGNOR"),
        (("plan:sticky", "plan:range"), None, "plans from the other side"),
        (("plan:sticky",), None, "plans from the other side"),
        (("live:g", MEMBERS), None, "live:g needs a cluster; name it with `bootstrap_servers`"),
        ((str(CAPTURES / "members-3.9.1.txt"), MEMBERS), None, "members-3.9.1.txt: line 3: "),
    ],
)
def test_what_makes_no_pair_is_refused(sources, what_if, fault):
    with pytest.raises(SourceError, match=fault):
        read_pair(*sources, what_if=what_if)


@pytest.mark.parametrize(
    ("step", "fault"), [("9", "the run has 3 steps, 0 to 2"), ("x", "a step is a number")]
)
def test_a_step_that_is_not_there_is_refused(scenario, step, fault):
    with pytest.raises(SourceError, match=fault):
        read_source(f"{scenario}#{step}")


def test_a_scenario_that_cannot_run_is_refused(tmp_path):
    path = tmp_path / "bad.yaml"
    path.write_text("{topics: {t: 4}}")
    with pytest.raises(ScenarioError, match="consumers"):
        read_source(str(path))


def test_a_group_on_its_way_is_planned_from_its_target():
    path = CAPTURES / "reconciling-4.4.0.txt"
    current, target = parse_capture(path.read_text())
    pair = read_pair(str(path), "plan:uniform", what_if=WhatIf(add_members=1))
    made = plan(target, "uniform", WhatIf(add_members=1))
    assert diff(pair.before, current, match="member-id").same
    assert diff(pair.after, made, match="member-id").same
    assert not diff(plan(current, "uniform", WhatIf(add_members=1)), made, match="member-id").same


def test_a_scenario_is_planned_from_where_it_begins(scenario):
    pair = read_pair(scenario, "plan:range")
    assert len(pair.after.members) == 2


def test_two_captures_are_told_what_everybody_reads():
    told = WhatIf(subscribe={"*": ("orders",)})
    pair = read_pair(MEMBERS, MEMBERS, what_if=told)
    assert {member.topics for side in (pair.before, pair.after) for member in side.members} == {("orders",)}
    assert diff(pair.before, pair.after).summary.needed_moves_exact


def test_what_is_kept_is_the_plan_else_the_later_side(snapshot):
    planned = read_pair(MEMBERS, "plan:sticky")
    assert planned.kept.state is planned.after
    turned = read_pair("plan:sticky", MEMBERS)
    assert turned.kept.state is turned.before
    pair = read_pair(MEMBERS, snapshot)
    assert pair.kept.state is pair.after


def test_what_is_kept_of_a_group_on_its_way_is_both_states():
    pair = read_pair(str(CAPTURES / "reconciling-4.4.0.txt"))
    assert (pair.kept.state, pair.kept.target) == (pair.before, pair.after)


def test_another_group_than_the_snapshot_holds_is_refused(snapshot):
    assert read_source(snapshot, group="billing").state.name == "billing"
    with pytest.raises(SourceError, match=r"group.json: the file holds the group 'billing', not 'other'"):
        read_pair(snapshot, "plan:range", group="other")
