"""`copartition diff`, which is `assignment-diff`."""

import json
import re
import sys
from pathlib import Path

import pytest

from assignors import Assignment, RebalanceProtocol, register_assignor
from copartition.assignment_diff.report.json import diff_schema
from partitioning import TopicPartition
from tests.support.recording import MuteAssignor
from tests.support.tiers import sample


def test_a_difference_is_1_and_no_difference_is_0(run, members, reconciling):
    assert run("diff", members, members).exit_code == 0
    assert run("diff", reconciling).exit_code == 1


def test_checks_turn_differences_within_limits_into_0(run, reconciling):
    assert run("diff", reconciling, "--check", "moved_pct<=50", "--check", "conflicts==0").exit_code == 0
    result = run("diff", reconciling, "--check", "moved_pct<=49")
    assert result.exit_code == 1
    assert "check failed: moved_pct<=49, it is 50" in result.stderr


class ExitsInAssign(MuteAssignor):
    def assign(self, group):
        sys.exit(0)


class ExitsWhileItExplains(MuteAssignor):
    def assign_recorded(self, group, record):
        sys.exit(0)


@pytest.mark.usefixtures("strangers")
@pytest.mark.parametrize(
    ("plug_in", "method"), [(ExitsInAssign, "assign"), (ExitsWhileItExplains, "assign_recorded")]
)
def test_a_plug_in_that_ends_the_process_is_no_green_gate(run, members, plug_in, method):
    register_assignor("exits", plug_in)
    result = run("diff", members, "plan:exits", "--add-members", 2, "--check", "moved_pct<=100", "-o", "json")
    assert result.exit_code == 2
    assert f"ends the process in `{method}`: SystemExit(0)" in result.stderr


_THREE = (
    "GROUP  CONSUMER-ID  HOST       CLIENT-ID  #PARTITIONS  ASSIGNMENT\n"
    "g      a-1          /10.0.0.1  a          2            orders(0,1)\n"
    "g      b-1          /10.0.0.2  b          1            orders(2)\n"
    "g      c-1          /10.0.0.3  c          1            orders(3)\n"
)


def test_a_restart_that_ends_where_it_began_still_stops_consumption(run, tmp_path):
    (before := tmp_path / "before.txt").write_text(_THREE)
    result = run("diff", before, "plan:range", "--deploy", "rolling", "--width", "300")
    assert result.exit_code == 1
    assert "Nothing changed" not in result.stdout
    first, way, *_ = result.stdout.splitlines()
    assert re.fullmatch(
        r"The whole group stops reading 6 times, for up to \d\.\d s: \d\.\d to \d\d\.\d partition-seconds; "
        r"no partition has another owner in the end\.",
        first,
    )
    assert way.startswith("  Rolling (a member is restarted every 1 min, and is away for 10 s; nothing but ")
    found = json.loads(run("diff", before, "plan:range", "--deploy", "rolling", "-o", "json").stdout)
    assert found["stops"][0]["all_stopped"] == {"least": 6, "most": 6}
    assert run("diff", before, "plan:range", "-q").exit_code == 0


@pytest.mark.heavy
@pytest.mark.usefixtures("all_runs")
def test_all_runs_tell_for_how_long_a_restart_stops_consumption(run, tmp_path):
    (before := tmp_path / "before.txt").write_text(_THREE)
    first, *_ = run("diff", before, "plan:range", "--deploy", "rolling", "--width", "300").stdout.splitlines()
    assert first == (
        "The whole group stops reading 6 times, for up to 3.0 s: 1.5 to 13.3 partition-seconds; no partition "
        "has another owner in the end."
    )


def test_a_plan_with_another_strategy_says_who_can_get_there(run, tmp_path):
    (before := tmp_path / "range.json").write_text(
        '{"kind": "group-snapshot", "format_version": "1.2", "topics": {"t": 1}, "strategy": "range",'
        ' "members": [{"id": "a", "topics": ["t"], "partitions": {"t": [0]}}]}'
    )
    result = run("diff", before, "plan:cooperative-sticky", "--width", "1000")
    assert result.exit_code == 1
    assert "Nothing changed" not in result.stdout
    assert "range to cooperative-sticky: 2 rolling bounces if all clients are Java's." in result.stdout
    assert run("diff", before, "plan:range").exit_code == 0


def test_a_group_that_is_as_planned_says_so(run, tmp_path):
    (before := tmp_path / "before.txt").write_text(_THREE)
    assert run("diff", before, "plan:range", "--save", tmp_path / "plan.json").exit_code == 0
    result = run("diff", tmp_path / "plan.json", before)
    assert result.exit_code == 0
    assert result.stdout.startswith(
        "The group is as the plan says: 4 partitions have the planned owners.\n"
        "  This does not show whether the plan was carried out: the group may have been like this before.\n"
    )


def test_a_group_alone_is_balanced_or_not(run, tmp_path):
    (even := tmp_path / "even.txt").write_text(_THREE)
    (odd := tmp_path / "odd.txt").write_text(
        _THREE.replace("2            orders(0,1)", "3            orders(0,1,4)")
    )
    result = run("diff", even)
    balanced = (
        "Balanced: members have 1 to 2 partitions, and no assignment is more even.\n"
        "g   3 members   4 partitions\n"
    )
    assert (result.exit_code, result.stdout.startswith(balanced)) == (0, True)
    result = run("diff", odd)
    told = "Not balanced: members have 1 to 3 partitions, and 1 to 2 are possible.\n"
    assert (result.exit_code, result.stdout.startswith(told)) == (1, True)
    assert json.loads(run("diff", odd, "-o", "json").stdout)["verdict"].startswith(told.strip())
    assert run("diff", odd, "--check", "fullest<=3").exit_code == 0
    for form in ("stat", "markdown"):
        assert "Not balanced" in run("diff", odd, "-o", form).stdout


@pytest.mark.parametrize(("counted", "idle"), [("3", "1 of 3 members has"), ("5", "3 of 5 members have")])
def test_idle_members_of_a_balanced_group_are_counted(run, tmp_path, counted, idle):
    (capture := tmp_path / "counted.txt").write_text(
        "GROUP  COORDINATOR (ID)   ASSIGNMENT-STRATEGY  STATE   #MEMBERS\n"
        f"g      10.0.0.9:9092 (1)  range                Stable  {counted}\n\n"
        "GROUP  TOPIC  PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG  CONSUMER-ID  HOST  CLIENT-ID\n"
        "g      t      0          1               1               0    a-1          /h    a\n"
        "g      t      1          1               1               0    b-1          /h    b\n"
    )
    told = f"Balanced, but {idle} none: no assignment gives every member a partition."
    assert run("diff", capture).stdout.startswith(told)


def test_a_partition_of_a_topic_that_nobody_subscribes_to_has_no_two_owners(run, tmp_path):
    (odd := tmp_path / "odd.json").write_text(
        '{"kind": "group-snapshot", "format_version": "1.5", "topics": {"t": 1, "u": 1}, '
        '"members": [{"id": "a", "topics": ["t"], "partitions": {"t": [0], "u": [0]}}]}'
    )
    result = run("diff", odd)
    assert result.exit_code == 1
    told = "Not balanced: partitions have an owner that does not subscribe to their topic."
    assert result.stdout.startswith(told)


def test_partitions_that_nobody_reads_are_not_balanced(run):
    result = run("diff", Path(__file__).parents[1] / "groups" / "captures" / "empty-4.4.0.txt")
    assert result.exit_code == 1
    assert result.stdout.startswith("Nobody reads: the group has 5 partitions and no member")


@pytest.mark.parametrize("strict", [[], ["--strict"]])
def test_two_sides_without_a_partition_are_trouble(run, tmp_path, strict):
    (empty := tmp_path / "empty.json").write_text(
        '{"kind": "group-snapshot", "format_version": "1.2", "members": []}'
    )
    result = run("diff", empty, empty, *strict)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "nothing to compare" in result.stderr


def test_weighted_says_that_it_ignores_lag(run, tmp_path):
    (before := tmp_path / "lag.json").write_text(
        '{"kind": "group-snapshot", "format_version": "1.2", "topics": {"t": 2}, "lag": {"t": {"0": 9}},'
        ' "members": [{"id": "a", "topics": ["t"], "partitions": {"t": [0, 1]}}]}'
    )
    stdout = run("diff", before, "plan:weighted").stdout
    assert (
        "every partition weighs the same, whatever its lag; weights can be the lag, or come from a file"
        in stdout
    )


def test_lag_can_be_what_partitions_weigh(run, tmp_path, members):
    (before := tmp_path / "lag.json").write_text(
        '{"kind": "group-snapshot", "format_version": "1.2", "topics": {"t": 3},'
        ' "lag": {"t": {"0": 8, "1": 1, "2": 7}},'
        ' "members": [{"id": "a", "topics": ["t"], "partitions": {"t": [0, 1]}},'
        ' {"id": "b", "topics": ["t"], "partitions": {"t": [2]}}]}'
    )
    result = run("diff", before, "plan:weighted", "--weights", "lag", "-o", "json")
    found = json.loads(result.stdout)
    assert found["summary"]["moved"] == 1
    assert found["summary"]["peak"] == pytest.approx(1)
    assert not any("every partition weighs the same" in text for text in found["assumed"])
    assert (
        json.loads(run("diff", before, before, "--weights", "lag", "-o", "json").stdout)["summary"]["peak"]
        > 1
    )
    assert (
        "--weights lag: the source shows no lag"
        in run("diff", members, "plan:weighted", "--weights", "lag").stderr
    )


def test_weights_tell_the_peak_and_can_be_checked(run, members, tmp_path):
    (weights := tmp_path / "weights.csv").write_text("topic,partition,weight\norders,0,9\norders,,1\n")
    planned = ["diff", members, "plan:weighted", "--weights", str(weights)]
    found = json.loads(run(*planned, "-o", "json").stdout)["summary"]
    assert found["peak"] >= found["needed_peak"] > 1
    assert f"peak {found['peak']:.2f} (at least {found['needed_peak']:.2f} needed)" in run(*planned).stdout
    assert run(*planned, "--check", "peak<=9").exit_code == 0
    assert "check peak<=9: peak is unknown" in run("diff", members, "plan:range", "--check", "peak<=9").stderr


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (["nowhere", "nowhere"], "nowhere: no such file"),
        (["MEMBERS", "plan:coperative"], "did you mean cooperative-sticky"),
        (["MEMBERS", "MEMBERS", "--add-members", "1"], "add plan:ASSIGNOR"),
        (["MEMBERS", "plan:sticky", "--remove-member", "x"], "--remove-member x"),
        (["MEMBERS", "plan:sticky", "--grow", "orders"], "'orders' is not TOPIC=N"),
        (["MEMBERS", "MEMBERS", "--check", "x"], "check 'x' is not of the form"),
        (["MEMBERS", "MEMBERS", "--match", "instance-id"], "cannot match by instance-id"),
        (["MEMBERS", "MEMBERS", "--match", "nonsense"], "'nonsense' is not one of"),
        (["MEMBERS", "MEMBERS", "--reasons"], "name plan:ASSIGNOR as AFTER"),
        (["plan:sticky", "MEMBERS", "--reasons"], "name plan:ASSIGNOR as AFTER"),
        (["MEMBERS", "live:g"], "name it with -b HOST:PORT"),
        (["MEMBERS", "live:g", "-X", "acks"], "-X: number 1 is not KEY=VALUE"),
        pytest.param(
            ["MEMBERS", "live:g", "-b", "h:1", "-X", "acsk=1"],
            "No such configuration property",
            marks=pytest.mark.live,
        ),
        (["MEMBERS", "MEMBERS", "--out", "/nowhere/x"], "/nowhere/x"),
        (["MEMBERS", "MEMBERS", "--out", "/dev/full"], "cannot write /dev/full: No space left"),
        (["MEMBERS", "MEMBERS", "--width", "10001"], "10001 is not in the range 40<=x<=10000"),
        (["MEMBERS", "plan:sticky", "--add-members", "1048577"], "not in the range 0<=x<=1048576"),
        (["MEMBERS", "plan:sticky", "--add-members", "1048576"], "has 1,048,581 members; 1,048,576 are"),
        (["MEMBERS", "plan:sticky", "--grow", "orders=16777217"], "with N up to 16777216"),
        (["MEMBERS", "plan:sticky", "--grow", "orders=" + "9" * 5000], "with N up to 16777216"),
        (["MEMBERS", "x.yaml#" + "9" * 5000], "a step is a number"),
        (["MEMBERS", "plan:sticky", "--grow", "orders=99999999999999999999"], "with N up to 16777216"),
        (["MEMBERS", "plan:sticky", "--add-members", "100000000"], "not in the range 0<=x<=1048576"),
        (["MEMBERS", "plan:sticky", "--add-members", "9" * 30], "not in the range 0<=x<=1048576"),
        (["MEMBERS", "plan:sticky", "--add-member", ":pod"], "':pod' is not CLIENT[:INSTANCE][@TOPIC,..]"),
        (["MEMBERS", "plan:sticky", "--add-member", "new:"], "'new:' is not CLIENT[:INSTANCE][@TOPIC,..]"),
        (["MEMBERS", "plan:sticky", "--add-member", "new@a,,b"], "'new@a,,b' has an empty name"),
        (["MEMBERS", "plan:sticky", "--subscribe", "orders"], "'orders' is not MEMBER=TOPIC,.."),
        (["MEMBERS", "plan:sticky", "--subscribe", "a="], "'a=' has an empty name among its topics"),
        (["MEMBERS", "MEMBERS", "--deploy", "rolling"], "add plan:ASSIGNOR"),
        (["MEMBERS", "MEMBERS", "--set", "session.timeout.ms"], "is not KEY=VALUE"),
        (["MEMBERS", "MEMBERS", "--set", "sesion.timeout.ms=1"], "session.timeout.ms"),
        (["MEMBERS", "MEMBERS", "--set", "session.timeout.ms=-1"], "session.timeout.ms"),
        (["MEMBERS", "MEMBERS", "--only-topic", "("], "'(' is no regular expression"),
        (["MEMBERS", "MEMBERS", "--only-member", "a{99999999999}"], "is no regular expression"),
        (["MEMBERS", "MEMBERS", "--group", "other"], "the capture holds no group 'other' but: billing"),
        (["MEMBERS", "MEMBERS", "-o", "json", "--by", "topic"], "leave --by out"),
        (["MEMBERS", "MEMBERS", "-o", "stat", "--by", "partition"], "--by is member or topic"),
        (["MEMBERS", "MEMBERS", "--check", "lag_moved<=1"], "lag_moved is unknown"),
        (["MEMBERS", "plan:range", "--strict"], "--strict: assumed: partition counts are unknown"),
    ],
)
def test_trouble_is_2_and_said_on_stderr_only(run, members, arguments, fault):
    result = run("diff", *(members if argument == "MEMBERS" else argument for argument in arguments))
    assert result.exit_code == 2
    assert fault in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""


def test_strict_names_everything_that_is_assumed_in_one_line(run, members):
    result = run("diff", members, "plan:range", "--strict")
    assert (result.exit_code, result.stdout) == (2, "")
    [line] = result.stderr.splitlines()
    told = "partition counts are unknown; taken from the highest partition seen; subscriptions are"
    assert f"--strict: assumed: {told}" in line


def test_strict_has_nothing_against_what_is_known(run, reconciling):
    assert run("diff", reconciling, "--strict").exit_code == 1


def test_filters_change_what_is_shown_and_not_the_exit_code(run, reconciling):
    result = run("diff", reconciling, "--only-topic", "^clicks$", "-o", "csv")
    assert (result.exit_code, result.stdout.count("\n")) == (1, 3)


def test_rows_are_topics_when_asked_for(run, reconciling):
    assert (
        run("diff", reconciling, "--by", "topic", "-o", "csv").stdout.splitlines()[1]
        == "clicks,2,0,2,0,0,0,0,0,"
    )


def test_a_named_group_is_the_one_of_the_file(run, reconciling):
    assert run("diff", reconciling, "--group", "shipping").exit_code == 1


def test_a_member_joins_under_its_own_names(run, members):
    arguments = ["--add-member", "worker-9:pod-9@orders", "--add-member", "late"]
    report = json.loads(run("diff", members, "plan:range", *arguments, "-o", "json").stdout)
    joined = {member["name"] for member in report["members"] if member["presence"] == "joined"}
    assert joined == {"pod-9", "late"}
    assert {change["topic"] for change in report["changes"] if change["to"] == "pod-9"} == {"orders"}


def test_a_subscription_can_be_told(run, members):
    arguments = ["--subscribe", "worker-2=orders", "--subscribe", "pod-4=clicks", "--all", "-o", "json"]
    report = json.loads(run("diff", members, "plan:roundrobin", *arguments).stdout)
    assert {change["topic"] for change in report["changes"] if change["to"] == "pod-4"} <= {"clicks"}


def test_timeouts_are_those_of_the_predicted_stop(run, members):
    asked = ("diff", members, "plan:range", "--add-members", "1", "-o", "json")
    slow, fast = (
        [
            way["partition_seconds"]["most"]
            for way in json.loads(run(*asked, "--set", setting).stdout)["stops"]
        ]
        for setting in ("heartbeat.interval.ms=9000", "heartbeat.interval.ms=10 ms")
    )
    assert sum(slow) > sum(fast)


def test_the_schema_is_that_of_the_report(run, reconciling, validate):
    result = run("diff", "--schema")
    assert (result.exit_code, result.stderr) == (0, "")
    assert json.loads(result.stdout) == diff_schema()
    validate(json.loads(run("diff", reconciling, "-o", "json").stdout))


def test_verbose_shows_where_an_error_comes_from(run, without_topics):
    result = run("diff", without_topics, without_topics, "-v")
    assert result.exit_code == 2
    assert "Traceback" in result.stderr
    assert "capture --describe without --members" in result.stderr


def test_a_plan_with_what_ifs(run, members):
    result = run("diff", members, "plan:sticky", "--add-members", 2, "--remove-member", "pod-4", "-o", "json")
    report = json.loads(result.stdout)
    assert report["summary"]["members_joined"] == 2
    assert report["summary"]["members_left"] == 1
    assert report["matching"]["rule"] == "member-id"


@pytest.mark.usefixtures("strangers")
@pytest.mark.parametrize(("assignor", "reason"), sample([("even", "over quota"), ("mute", "not told")], 2))
def test_a_plan_tells_why(run, members, assignor, reason):
    arguments = ["diff", members, f"plan:{assignor}", "--add-members", 2]
    rows = run(*arguments, "-o", "ndjson").stdout.splitlines()
    assert {json.loads(row)["reason"] for row in rows if '"move"' in row} == {reason}
    for form, column in sample((("text", "BECAUSE"), ("markdown", "| because |")), 2):
        assert column not in run(*arguments, "-o", form).stdout
        told = run(*arguments, "-o", form, "--reasons").stdout
        assert column in told
        assert reason in told


class LagRack:
    """Gives each partition to the member that the file `lag` names for it."""

    name = "lag-rack"
    protocols = frozenset({RebalanceProtocol.EAGER})

    def __init__(self, lag: str | None = None) -> None:
        self._owners = json.loads(Path(lag).read_text("utf-8")) if lag else ["c-1", "b-1", "a-1", "a-1"]

    def assign(self, group):
        lists = {member.id: [] for member in group.members}
        for number, owner in enumerate(self._owners):
            lists[owner].append(TopicPartition("orders", number))
        return Assignment.for_group(group, lists)


def plan_by_file(run, tmp_path, setting, owners=()):
    """Return what a diff prints of a group of three, whose strategy is "lag-rack", planned with a setting."""
    register_assignor("lag-rack", LagRack)
    (group := tmp_path / "group.txt").write_text(
        "GROUP  COORDINATOR (ID)  ASSIGNMENT-STRATEGY  STATE   #MEMBERS\n"
        f"g      k:9092 (1)        lag-rack             Stable  3\n\n{_THREE}"
    )
    (file := tmp_path / "lag.json").write_text(json.dumps(owners))
    return run("diff", group, "plan:current", "--config", setting.format(file=file), "--width", 300).output


@pytest.mark.usefixtures("strangers")
@pytest.mark.parametrize("first", ["a-1", "c-1"])
def test_a_plan_by_a_plug_in_has_its_settings_and_the_simulator_has_not(run, tmp_path, first):
    text = plan_by_file(run, tmp_path, "lag={file}", [first, "a-1", "b-1", "c-1"])
    assert text.startswith("Nothing would change" if first == "a-1" else "1 of 4 partitions moves.")
    # The group's own assignor, asked with the setting, answers as the plan does.
    assert ("asked again with nothing changed" in text) is (first != "a-1")
    assert "assumed: what stops is simulated with lag-rack without its settings" in text


@pytest.mark.usefixtures("strangers")
@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ("leg={file}", "got an unexpected keyword argument 'leg'; its settings are lag"),
        ("lag={file}.old", "cannot be made: FileNotFoundError: [Errno 2] No such file or directory: '"),
    ],
)
def test_a_setting_that_a_plug_in_cannot_use_is_named(run, tmp_path, setting, says):
    assert says in plan_by_file(run, tmp_path, setting)


@pytest.mark.usefixtures("strangers")
def test_a_page_tells_why(run, tmp_path):
    (before := tmp_path / "before.txt").write_text(_THREE)
    page = tmp_path / "plan.html"
    arguments = ["--html", page, "--reasons"]
    assert run("diff", before, "plan:even", "--add-members", 2, *arguments).exit_code == 1
    assert "over quota" in page.read_text()


def test_a_topic_that_grows(run, members):
    result = run("diff", members, "plan:range", "--grow", "orders=9", "-o", "json")
    assert json.loads(result.stdout)["summary"]["added"] == 5


@pytest.mark.parametrize(
    ("form", "begins"),
    [
        ("text", "3 of 6 partitions moved.\nshipping   rebalancing"),
        ("stat", "3 of 6 partitions moved.\n  first   |  3  ---\n  second  |  3  +++"),
        ("json", '{\n  "format_version": "3.0"'),
        ("ndjson", '{"topic": "clicks", "partition": 0, "action": "move"'),
        ("csv", "topic,partition,action,from,to,lag,reason\nclicks,0,move,first,second,"),
        ("markdown", "**3 of 6 partitions moved.**"),
    ],
)
def test_every_format(run, reconciling, form, begins):
    assert run("diff", reconciling, "-o", form).stdout.startswith(begins)


@pytest.mark.parametrize("form", sample(["text", "stat", "json", "ndjson", "csv", "markdown"], 3))
def test_every_format_goes_to_a_file(run, reconciling, tmp_path, form):
    out = tmp_path / "report"
    result = run("diff", reconciling, "-o", form, "--out", out)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "second" in out.read_text()


def test_all_lists_what_is_kept(run, reconciling):
    assert len(run("diff", reconciling, "-o", "ndjson", "--all").stdout.splitlines()) == 6


def test_quiet_says_nothing(run, reconciling):
    result = run("diff", reconciling, "-q")
    assert (result.exit_code, result.output) == (1, "")


def test_standard_input_is_a_source(run, members):
    assert run("diff", "-", members, input=members.read_text()).exit_code == 0


def test_a_conflict_is_on_stderr_if_the_report_does_not_name_it(run, tmp_path):
    group = {
        "kind": "group-snapshot",
        "format_version": "1.0",
        "members": [{"id": name, "partitions": {"orders": [0]}} for name in "ab"],
    }
    path = tmp_path / "conflict.json"
    path.write_text(json.dumps(group))
    result = run("diff", path, path, "-o", "csv")
    assert result.exit_code == 1
    assert "orders-0 has two owners" in result.stderr
    result = run("diff", path)
    assert (result.exit_code, result.stderr) == (1, "")
    assert result.stdout.splitlines()[:3] == [
        "1 partition has two owners.",
        "group   2 members   1 partition",
        "! orders-0 has two owners: a, b",
    ]


@pytest.mark.live
def test_settings_come_from_a_file(run, members, tmp_path):
    path = tmp_path / "client.properties"
    path.write_text("# ours\n\nbootstrap.servers = localhost:9\nacsk=1\n")
    assert "line 4 names no setting" in run("diff", members, "live:g", "--command-config", path).stderr


def test_the_first_and_the_last_step_of_a_scenario(run, scenario):
    assert "matched by client-id" in run("diff", scenario).stdout


def test_a_live_group_can_be_kept(run, broker, tmp_path):
    import uuid

    from confluent_kafka import Consumer, TopicPartition

    topic, group = broker.create_topic(3), f"cli-{uuid.uuid4()}"
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": group})
    consumer.commit(offsets=[TopicPartition(topic, 0, 0)], asynchronous=False)
    consumer.close()
    kept = tmp_path / "kept.json"
    options = ["-b", broker.bootstrap_servers]
    saved = run("diff", f"live:{group}", f"live:{group}", *options, "--save", kept)
    assert (saved.exit_code, saved.stderr) == (0, "")
    assert run("diff", kept, f"live:{group}", *options).exit_code == 0


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"# note\nhunter2\n", "client.properties: line 2 is not KEY=VALUE"),
        (b"sasl.password=hunter2\xff", "client.properties: the file is not UTF-8 text"),
        (b"\x1f\x8bhunter2", "client.properties: the file is compressed (gzip); unpack it first"),
    ],
)
def test_a_file_of_settings_is_refused_without_what_is_in_it(run, members, tmp_path, content, fault):
    path = tmp_path / "client.properties"
    path.write_bytes(content)
    result = run("diff", members, members, "--command-config", path)
    assert (result.exit_code, result.stdout) == (2, "")
    assert fault in result.stderr
    assert "hunter2" not in result.stderr


@pytest.mark.live
def test_a_file_of_settings_may_have_a_byte_order_mark(run, members, tmp_path):
    path = tmp_path / "client.properties"
    path.write_bytes(b"\xef\xbb\xbfbootstrap.servers=localhost:9\nacsk.s=1")
    assert "No such configuration property" in run("diff", members, "live:g", "--command-config", path).stderr
