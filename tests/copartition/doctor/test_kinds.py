"""Share groups and Streams groups as a broker described them: faults are found, nothing in healthy ones."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from copartition.doctor.checks import CHECKS_OF, doctor_exit_code, findings
from copartition.doctor.command import doctor
from copartition.doctor.facts import find_clamped, judge_kept
from copartition.doctor.kind_examination import KindExamination
from copartition.doctor.observing import Finding, Limits
from copartition.doctor.overview import ExaminedGroup, print_overview
from copartition.doctor.report import doctor_html, doctor_json, doctor_metrics
from copartition.groups import OtherSource, read_any_source
from tests.copartition.doctor.kinds.cases import CASES, Case
from tests.copartition.doctor.kinds.limits import LIMITS
from tests.support.commands import invoker
from tests.support.tiers import sample

HERE = Path(__file__).parent / "kinds"
CAPTURES = Path(__file__).parents[1] / "groups" / "captures"
FAULTS = [case for case in CASES if case.check]
HEALTHY = [case for case in CASES if not case.check]
run = invoker(doctor)


def path_of(case: Case) -> Path:
    return HERE / case.kind / f"{case.name}.ndjson"


def recorded(case: Case) -> KindExamination[Any]:
    read = read_any_source(str(path_of(case)))
    assert isinstance(read, OtherSource)
    return KindExamination(*read)


def one(kind: str, name: str) -> KindExamination[Any]:
    [case] = [case for case in CASES if (case.kind, case.name) == (kind, name)]
    return recorded(case)


def changed(kind: str, name: str, **fields: Any) -> KindExamination[Any]:
    """A recorded group with other facts at the last look."""
    seen = one(kind, name)
    return KindExamination(msgspec.structs.replace(seen.state, **fields), seen.first)


def finding_of(name: str, seen: KindExamination[Any], limits: Limits = LIMITS) -> Finding:
    [finding] = [finding for finding in findings(seen, limits) if finding.check.name == name]
    return finding


def test_there_are_twenty_faults_and_ten_healthy_groups_of_each_kind() -> None:
    for kind in ("share", "streams"):
        assert sum(case.kind == kind for case in FAULTS) >= 20
        assert sum(case.kind == kind for case in HEALTHY) == 10


@pytest.mark.parametrize("case", FAULTS, ids=lambda case: f"{case.kind}-{case.name}")
def test_a_made_fault_is_found(case: Case) -> None:
    results = findings(recorded(case), LIMITS)
    assert case.check in {finding.check.name for finding in results if finding.status == "found"}
    assert doctor_exit_code(results) == 1


@pytest.mark.parametrize("case", HEALTHY, ids=lambda case: f"{case.kind}-{case.name}")
def test_nothing_is_found_in_a_healthy_group(case: Case) -> None:
    results = findings(recorded(case), LIMITS)
    assert [(finding.check.name, finding.text) for finding in results if finding.status == "found"] == []
    assert doctor_exit_code(results) == 0


@pytest.mark.parametrize("case", sample(CASES, 3), ids=lambda case: f"{case.kind}-{case.name}")
def test_every_answer_names_its_evidence_or_the_way_to_it(case: Case) -> None:
    seen = recorded(case)
    for row in json.loads(doctor_json(seen, findings(seen, LIMITS)))["checks"]:
        assert row["missing"]["remedy"] if row["status"] == "unknown" else row["evidence"]


TOLD = [
    ("share", "held-up", "held up", "the first record of share-held-up-orders-0 is not done, and "),
    ("share", "full-window", "held up", "of 100 that may be in delivery"),
    ("share", "waiting", "waiting", "waits for 2 h"),
    ("share", "new-partitions", "unread", "nobody reads 2 partitions: share-new-partitions-orders-2"),
    ("share", "clamped", "settings", "share.record.lock.duration.ms=60000 counts as 45000"),
    ("share", "growing", "trend", "of 1,600 written"),
    ("share", "nearly-deleted", "deleted", "are being deleted"),
    ("streams", "source-missing", "topology", "source topics are missing: streams-source-missing-typo"),
    ("streams", "counts-differ", "topology", "streams-counts-differ-payments 3"),
    ("streams", "source-grew", "internal topics", "(2 partitions for 4 tasks)"),
    ("streams", "waiting-task", "unassigned", "1 task runs nowhere: 0_1"),
    ("streams", "no-standby", "standby", "the group has 1 instance"),
    ("streams", "deleted", "deleted", "280 records of streams-deleted-orders-0 and"),
    ("streams", "standstill", "standstill", "of copartition on 127.0.0.1"),
    ("streams", "clamped", "settings", "streams.num.standby.replicas=2 counts as 1"),
]


@pytest.mark.parametrize(("kind", "name", "check", "told"), TOLD)
def test_a_finding_says_what_is_seen(kind: str, name: str, check: str, told: str) -> None:
    assert told in finding_of(check, one(kind, name)).text


def _members(seen: KindExamination[Any], **fields: Any) -> tuple[Any, ...]:
    """The members with the first one changed."""
    first, *others = seen.state.members
    return (msgspec.structs.replace(first, **fields), *others)


STREAMS = one("streams", "healthy-2-of-4")
STATEFUL = one("streams", "healthy-standby")
SHARE = one("share", "healthy-3-of-4")
FEW_HEARTBEATS = {
    kind: {**state.settings, f"{kind}.session.timeout.ms": "10000"}
    for kind, state in (("share", SHARE.state), ("streams", STREAMS.state))
}
OTHERS = [
    # What no broker of 4.4 does by itself, or not so that it could be recorded.
    (changed("share", "healthy-3-of-4", status="Assigning"), "state", "the group is Assigning"),
    (
        changed("share", "healthy-3-of-4", settings=FEW_HEARTBEATS["share"], limits={}),
        "settings",
        "fewer than 3 heartbeats",
    ),
    (
        changed("streams", "healthy-2-of-4", settings=FEW_HEARTBEATS["streams"], limits={}),
        "settings",
        "fewer than 3",
    ),
    (changed("streams", "healthy-2-of-4", subtopologies=None), "topology", "has no topology"),
    (
        changed("streams", "healthy-2-of-4", members=_members(STREAMS, topology_epoch=1)),
        "topology",
        "run another topology than epoch 0",
    ),
    (changed("streams", "healthy-2-of-4", members=_members(STREAMS, classic=True)), "converted", "classic"),
    (
        changed("streams", "healthy-2-of-4", members=_members(STREAMS, active={"0": [0, 1, 2, 3]})),
        "doubled",
        "two members run 0_",
    ),
    (
        changed(
            "streams", "healthy-2-of-4", members=_members(STREAMS, active={"0": []}, target_active={"0": []})
        ),
        "unassigned",
        "2 tasks run nowhere",
    ),
    (
        changed("streams", "healthy-2-of-4", members=_members(STREAMS, warmup={"0": [9]})),
        "moving",
        "1 warm-up task reads state: 0_9",
    ),
    (
        changed("streams", "healthy-2-of-4", members=_members(STREAMS, active={"0": [0, 1, 2]})),
        "load",
        "where 2 can be had",
    ),
    (
        changed(
            "streams", "healthy-standby", members=_members(STATEFUL, standby=STATEFUL.state.members[0].active)
        ),
        "doubled",
        "is on the instance that runs it",
    ),
]


@pytest.mark.parametrize(("seen", "check", "told"), OTHERS)
def test_a_fault_that_cannot_be_made_is_found(seen: KindExamination[Any], check: str, told: str) -> None:
    finding = finding_of(check, seen)
    assert finding.status == "found"
    assert told in finding.text


@pytest.mark.parametrize("check", ["uncommitted", "standstill"])
def test_a_task_of_a_subtopology_that_is_not_listed_leaves_it_open(check: str) -> None:
    seen = changed("streams", "healthy-2-of-4", members=_members(STREAMS, active={"7": [0]}))
    finding = finding_of(check, seen)
    assert (finding.status, "does not list: 7" in finding.text) == ("unknown", True)


def test_every_check_and_every_advice_has_a_fault() -> None:
    given = {
        (seen.state.protocol, finding.check.name, finding.case)
        for seen in (*map(recorded, FAULTS), *(seen for seen, _, _ in OTHERS))
        for finding in findings(seen, LIMITS)
        if finding.status == "found"
    }
    assert given == {
        (kind, check.name, case)
        for kind, checks in CHECKS_OF.items()
        for check in checks
        for case in check.advice
    }


def test_records_that_were_done_before_they_were_deleted_are_not_lost() -> None:
    """A start offset is kept one acknowledgement late: what lies behind it may be done already."""
    seen = one("share", "deleted")
    topic = "share-deleted-orders"
    # One record of 301 is done, the oldest that is kept is 200: of 0 to 199 one was read.
    assert seen.state.lag == {topic: {0: 300}}
    assert "199 records of" in finding_of("deleted", seen).text
    done = changed("share", "deleted", lag={topic: {0: 100}})
    assert finding_of("deleted", done).status == "ok"


def test_a_file_of_one_look_says_what_takes_two() -> None:
    seen = KindExamination(one("share", "held-up").state)
    told = {finding.check.name: finding.status for finding in findings(seen, LIMITS)}
    assert (told["held up"], told["trend"], told["lag"]) == ("unknown", "unknown", "ok")


@pytest.mark.parametrize(
    ("kind", "name", "check"),
    [("share", "healthy-3-of-4", "held up"), ("streams", "healthy-2-of-4", "standstill")],
)
def test_nothing_stands_still_only_if_every_lag_is_known(kind: str, name: str, check: str) -> None:
    assert finding_of(check, one(kind, name)).status == "ok"
    assert finding_of(check, changed(kind, name, lag={})).status == "unknown"


CAPTURED = {
    "share": ({"state", "idle", "unread"}, "shared"),
    "streams": (
        {"state", "topology", "unassigned", "doubled", "moving", "idle", "load", "converted"},
        "words",
    ),
}


@pytest.mark.parametrize("kind", CAPTURED)
def test_a_capture_is_examined_as_far_as_it_shows(tmp_path: Path, kind: str) -> None:
    names = ("members-verbose", "state-verbose", "offsets" if kind == "share" else "offsets-verbose")
    tables = [(CAPTURES / f"{kind}-{name}-4.4.0.txt").read_text() for name in names]
    (path := tmp_path / "group.txt").write_text("".join(tables))
    read = read_any_source(str(path))
    assert isinstance(read, OtherSource)
    told = findings(KindExamination(*read), LIMITS)
    may_be_ok, name = CAPTURED[kind]
    assert read.state.name == name
    assert {finding.check.name for finding in told if finding.status == "ok"} <= may_be_ok | {"lag"}
    assert [finding.text for finding in told if finding.status == "found"] == []


def test_the_command_reads_captures_and_records_of_both_kinds() -> None:
    answer = run(path_of(FAULTS[0]))
    assert answer.exit_code == 1, answer.output
    assert "nobody reads while" in answer.stdout.lower()
    captured = run(CAPTURES / "share-members-4.4.0.txt")
    assert captured.exit_code == 2
    assert "kafka-share-groups.sh --describe --group GROUP --state" in " ".join(captured.stdout.split())


def test_the_page_and_the_metrics_are_of_any_kind() -> None:
    for seen in (SHARE, STREAMS):
        results = findings(seen, LIMITS)
        assert seen.state.name in doctor_html(seen, results)
        assert 'check="lag"} 0' in doctor_metrics([(seen, results)])


def test_all_kinds_stand_in_one_table(capsys: pytest.CaptureFixture[str]) -> None:
    from rich.console import Console

    groups = [ExaminedGroup(str(seen.state.name), seen, findings(seen, LIMITS)) for seen in (SHARE, STREAMS)]
    print_overview(groups, {}, Console(width=200))
    text = capsys.readouterr().out
    assert re.search(r"share-healthy-3-of-4 +share +simple +Stable", text)
    assert re.search(r"streams-healthy-2-of-4 +streams +sticky +Stable", text)


def test_settings_are_clamped_by_the_limit_of_their_name() -> None:
    limits = {
        "group.streams.max.warmup.replicas": "20",
        "group.consumer.min.session.timeout.ms": "45000",
        "group.share.max.record.lock.duration.ms": "60000",
    }
    settings = {
        "streams.num.warmup.replicas": "30",
        "consumer.session.timeout.ms": "10000",
        "share.record.lock.duration.ms": "60000",
        "share.auto.offset.reset": "latest",
    }
    assert [(found.name, found.used) for found in find_clamped(settings, limits)] == [
        ("streams.num.warmup.replicas", "20"),
        ("consumer.session.timeout.ms", "45000"),
    ]


@pytest.mark.parametrize(
    ("position", "start", "end", "lost", "near"),
    [
        (50, 60, 5_000, 10, False),
        (60, 60, 5_000, 0, True),
        (4_000, 60, 5_000, 0, False),
        (0, 0, 5_000, 0, False),  # nothing was ever deleted
        (60, 60, 500, 0, False),  # too few wait to say so
        (-1, 60, 5_000, 0, False),
    ],
)
def test_what_retention_took_and_is_about_to_take(
    position: int, start: int, end: int, lost: int, near: bool
) -> None:
    place = ("orders", 0)
    kept = judge_kept({place: position}, {place: start}, {place: end}, 1_000)
    assert kept.lost == ({place: lost} if lost else {})
    assert bool(kept.near) == near


def test_the_page_lists_the_checks() -> None:
    page = (Path(__file__).parents[3] / "docs" / "doctor.md").read_text(encoding="utf-8")
    for kind, heading in (("share", "## Share groups"), ("streams", "## Streams groups")):
        section = page.partition(heading)[2].partition("\n## ")[0]
        listed = re.findall(r"^\| (?!check)([a-z ]+) \|", section, re.MULTILINE)
        assert listed == [check.name for check in CHECKS_OF[kind]]
