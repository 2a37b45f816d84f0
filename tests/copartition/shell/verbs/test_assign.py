"""`copartition assign`."""

import json

import pytest

from assignors import Group, Member, Topic, get_assignor, list_assignors
from copartition.shell.verbs.assign import assign
from partitioning.kit.limits import MAX_GROUP_PARTITIONS as MANY
from tests.support.commands import invoker

TWO = ("--topic", "pay=3", "--topic", "orders=4", "--member", "a@orders", "--member", "b")


@pytest.fixture(scope="module")
def run():
    return invoker(assign)


def test_every_member_has_a_row_with_its_partitions(run):
    result = run("range", *TWO)
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "MEMBER  N  PARTITIONS",
        "a       2  orders:0-1",
        "b       5  orders:2-3 pay:0-2",
        "7 partitions for 2 members, 2 to 5 each",
    ]


def test_weights_are_taken(run, tmp_path):
    (weights := tmp_path / "weights.csv").write_text("topic,partition,weight\nt,0,9\nt,,1\n")
    arguments = ["weighted", "--topic", "t=4", "--member", "a", "--member", "b"]
    loads = [line.split()[1] for line in run(*arguments, "--weights", weights).stdout.splitlines()[1:3]]
    assert sorted(loads) == ["1", "3"]
    assert "--weights lag" in run(*arguments, "--weights", "lag").stderr


@pytest.mark.parametrize("name", ["bad topic", "..", "t" * 250, "a/b"])
def test_what_no_topic_can_be_called_is_refused(run, name):
    result = run("range", "--topic", f"{name}=3", "--member", "a")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "no topic can be called" in result.stderr


def test_what_nobody_subscribes_to_is_nobodys(run):
    lines = run("range", *TWO[:-2], "--member", "idle@orders").stdout.splitlines()
    assert lines[3].split() == ["nobody", "3", "pay:0-2"]
    assert lines[4] == "4 partitions for 2 members, 2 to 2 each"


@pytest.mark.parametrize("name", [info.name for info in list_assignors() if info.origin == "built-in"])
def test_it_is_what_the_assignor_decides(run, name):
    found = json.loads(run(name, *TWO, "-o", "json").stdout)
    group = Group(
        [Topic("pay", 3), Topic("orders", 4)], [Member("a", ["orders"]), Member("b", ["pay", "orders"])]
    )
    expected = get_assignor(name).assign(group)
    assert {
        (member["id"], topic, number)
        for member in found["members"]
        for topic, numbers in member["partitions"].items()
        for number in numbers
    } == {(member, *partition) for member, mine in expected.items() for partition in mine}


def test_json_is_a_snapshot_that_the_next_assignment_begins_with(run, tmp_path):
    first = run("sticky", "--topic", "t=4", "--member", "a", "--member", "b:pod-1", "-o", "json").stdout
    file = tmp_path / "group.json"
    file.write_text(first)
    assert json.loads(first)["members"][1]["instance_id"] == "pod-1"
    assert json.loads(run("sticky", "--from", file, "-o", "json").stdout) == json.loads(first)
    assert json.loads(run("sticky", "--from", "-", "-o", "json", input=first).stdout) == json.loads(first)


def test_a_capture_is_assigned_and_what_is_not_known_is_said(run, members):
    lines = run("sticky", "--from", members).stdout.splitlines()
    assert "6 partitions for 5 members, 1 to 2 each" in lines
    assert any("subscriptions are unknown" in line for line in lines)


def test_a_group_on_its_way_is_assigned_from_its_target(run, reconciling, tmp_path):
    """The target is balanced, so uniform keeps it, whatever members have got of it."""
    found = json.loads(run("uniform", "--from", reconciling, "-o", "json").stdout)
    target = tmp_path / "target.json"
    target.write_text(json.dumps(found))
    again = json.loads(run("uniform", "--from", target, "-o", "json").stdout)
    assert [member["partitions"] for member in again["members"]] == [
        member["partitions"] for member in found["members"]
    ]


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ([], "name an assignor; --list names them all"),
        (["rang", *TWO], "did you mean range"),
        (["simple", *TWO], "; for share and Streams groups share, streams, "),
        (["range"], "give topics and members with --topic and --member"),
        (["range", "--topic", "t=3"], "give topics and members"),
        (["range", "--topic", "t", "--member", "a"], "'t' is not TOPIC=N"),
        (["range", "--topic", "t=1", "--topic", "t=2", "--member", "a"], "topic 't' is given twice"),
        (["range", "--topic", "t=1", "--member", "a", "--member", "a"], "member 'a' is given twice"),
        (
            ["range", "--topic", "t=1", "--member", "a@u"],
            "subscribes to 'u', whose partitions no --topic gives",
        ),
        (["range", "--topic", "t=1", "--member", "a:"], "'a:' is not CLIENT[:INSTANCE][@TOPIC,..]"),
        (["range", "--topic", f"t={MANY}", "--topic", "u=1", "--member", "a"], "the group with topic 't'"),
        (["range", "--from", __file__], "test_assign.py"),
        (["range", "--from", __file__, "--member", "a"], "leave --topic and --member out"),
    ],
)
def test_bad_input_is_2(run, arguments, fault):
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert fault in result.stderr
    assert "bug" not in result.stderr


def test_an_instance_id_is_one_members(run):
    result = run("range", "--topic", "t=2", "--member", "a:x", "--member", "b:x")
    assert result.exit_code == 2
    assert "instance id 'x' is given twice" in result.stderr


@pytest.mark.parametrize(
    ("assignor", "lists"),
    [
        ("share", {"a": ["orders-0", "orders-1"], "b": ["orders-0", "orders-1"], "c": ["orders-0"]}),
        ("streams", {"a": ["0_0"], "b": ["0_1"], "c": []}),
        ("streams-high-availability", {"a": ["0_0"], "b": ["0_1"], "c": []}),
        ("streams-classic-sticky", {"a": ["0_0"], "b": ["0_1"], "c": []}),
    ],
)
def test_groups_of_other_kinds_are_assigned_by_their_own_strategies(run, assignor, lists):
    """Each as many as another has, give or take one; a share group's partitions have several readers."""
    members = [argument for name in lists for argument in ("--member", name)]
    found = json.loads(run(assignor, "--topic", "orders=2", *members, "-o", "json").stdout)
    counts = sorted(len(mine) for mine in found["members"].values())
    assert found["members"].keys() == lists.keys()
    if assignor == "share":
        assert sum(counts) >= 3
        assert {*found["members"]["a"], *found["members"]["b"]} == {"orders-0", "orders-1"}
    else:
        assert counts == [0, 1, 1]
    assert found["assumed"]
    assert "MEMBER" in run(assignor, "--topic", "orders=2", *members).stdout


def test_strategies_of_other_kinds_are_listed_and_take_no_file(run):
    assert "of share groups" in run("--list").stdout
    refused = run("share", "--from", __file__)
    assert (refused.exit_code, "takes --topic and --member alone" in refused.stderr) == (2, True)
