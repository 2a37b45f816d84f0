"""Each check of the doctor, without a cluster: what it finds, what is healthy, and what it cannot know."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from assignors.state import UNKNOWN_LAG, GroupState, MemberIdentity
from copartition.assignment_diff import diff
from copartition.assignment_diff.report.headline import headline
from copartition.doctor.checks import CHECKS, doctor_exit_code, findings
from copartition.doctor.command import doctor
from copartition.doctor.examination import Coordinator, Examination, Offsets
from copartition.doctor.observing import Finding, Limits
from copartition.doctor.report import doctor_json, doctor_metrics
from copartition.groups import snapshot_bytes
from copartition.kit.evidence import Evidence, Missing
from tests.support.tiers import sample

NAMES = ("orders", "payments")
PLACES = [(name, number) for name in NAMES for number in range(2)]


def group(owners: tuple[int, ...] = (0, 1, 0, 1)) -> GroupState:
    """Two members, two topics of two partitions; `owners` has an owner a partition."""
    return GroupState(
        tuple(
            MemberIdentity(f"m{number}", client_id=f"c{number}", host="10.0.0.7", topics=NAMES)
            for number in range(2)
        ),
        NAMES,
        np.array(owners, np.int32),
        np.array([0, 0, 1, 1], np.int32),
        np.array([0, 1, 0, 1], np.int32),
        complete=True,
        name="billing",
        status="Stable",
        strategy="range",
        protocol="classic",
        clients=("java",),
    )


def offsets(committed: int, end: int, places: list[tuple[str, int]] = PLACES, start: int = 0) -> Offsets:
    return Offsets(*(dict.fromkeys(places, offset) for offset in (committed, end, start)))


SETTINGS = {"heartbeat.interval.ms": "3000", "session.timeout.ms": "45000", "max.poll.interval.ms": "300000"}
HEALTHY = Examination(
    group(),
    offsets(90, 100),
    offsets(595, 600),
    10_000,
    group().members,
    604_800_000,
    Coordinator(1, 3, 4, 2),
    SETTINGS,
    waiting_ms=dict.fromkeys(PLACES, 5),
)
JOINED = Limits(lag=1_000, joined=NAMES)


def members(**changes: Any) -> GroupState:
    """The group with the second member changed."""
    state = group()
    return replace(state, members=(state.members[0], state.members[1]._replace(**changes)))


def with_state(state: GroupState, **changes: Any) -> Examination:
    """The healthy group in another state, in which it was at both looks."""
    return replace(HEALTHY, **{"state": state, "members_before": state.members, **changes})


HOT = Offsets(dict.fromkeys(PLACES, 195), {**dict.fromkeys(PLACES, 200), PLACES[0]: 5_000})
STATIC = replace(
    group(), members=tuple(member._replace(instance_id=f"s-{member.id}") for member in group().members)
)
ONE_OWNED = group((0, -1, 1, -1))
TWICE = replace(
    group((0, 1, 0, 1, 1)),
    topic=np.array([0, 0, 1, 1, 0], np.int32),
    partition=np.array([0, 1, 0, 1, 0], np.int32),
)
THREE = replace(group(), members=(*group().members, MemberIdentity("m2", client_id="c2", topics=NAMES)))
FIVE = replace(THREE, members=(*THREE.members, *(MemberIdentity(f"m{n}", topics=NAMES) for n in (3, 4))))
SEVEN = replace(
    THREE,
    topics=("orders",),
    members=tuple(member._replace(topics=("orders",)) for member in THREE.members),
    member=np.array([0, 0, 0, 1, 1, 1, 2], np.int32),
    topic=np.zeros(7, np.int32),
    partition=np.arange(7, dtype=np.int32),
)
EMPTY = replace(group((-1,) * 4), members=(), status="Empty")
EIGHT = GroupState(
    group().members,
    NAMES,
    np.array([0] * 4 + [1] * 4, np.int32),
    np.array([0] * 4 + [1] * 4, np.int32),
    np.array([*range(4)] * 2, np.int32),
    complete=True,
    status="Stable",
    protocol="consumer",
)
CONSUMER = replace(group(), protocol="consumer", strategy="uniform")
FEW_HEARTBEATS = {**SETTINGS, "heartbeat.interval.ms": "20000"}
BY_RACK = replace(
    members(rack="a"), topics=NAMES, racks=((("a",), ("b",)), (("a",), ("b",))), strategy="roundrobin"
)
HALF = replace(members(protocol="classic"), protocol="consumer", strategy="uniform")
OWN = {"consumer.session.timeout.ms": "90000"}
FAULTS = [
    ("converted", with_state(HALF), "1 of 2 members still speak the classic protocol"),
    (
        "limits",
        with_state(CONSUMER, own_settings=OWN, limits={"group.consumer.max.session.timeout.ms": "60000"}),
        "consumer.session.timeout.ms=90000 counts as 60000",
    ),
    ("racks", with_state(replace(BY_RACK, racks=(((), ()), ((), ())))), "no broker has a broker.rack"),
    ("racks", with_state(BY_RACK, limits={}), "roundrobin ignores racks"),
    ("deleted", replace(HEALTHY, last=offsets(50, 600, start=60)), "40 records of orders-0"),
    ("deleted", replace(HEALTHY, last=offsets(100, 5_000, start=50)), "99% of the records"),
    ("waiting", replace(HEALTHY, waiting_ms={PLACES[1]: 7_200_000}), "waits for 2 h"),
    (
        "trend",
        replace(HEALTHY, first=offsets(90, 100), last=offsets(200, 1_000)),
        "of 3,600 written; orders-0 passes 1,000 in 2.5 s",
    ),
    ("state", with_state(replace(group(), status="PreparingRebalance")), "copartition why LOG"),
    ("state", with_state(EMPTY), "Start its members"),
    ("state", with_state(replace(group(), status=None)), "assigning or reconciling with 2 members"),
    ("state", with_state(group(), members_before=THREE.members), "1 member came or went in 10.0 s"),
    ("clients", with_state(replace(group(), clients=("java", "librdkafka"))), "java and librdkafka"),
    ("owners", with_state(TWICE), "two members have orders-0"),
    ("idle", with_state(FIVE), "run fewer"),
    ("idle", with_state(FIVE, members_before=THREE.members), "Keep the number of members"),
    ("idle", with_state(group((0, 0, 0, 0))), "There are partitions for every member"),
    (
        "idle",
        with_state(replace(group(), members_complete=False, unlisted=1)),
        "1 that the source counts and does not list",
    ),
    ("load", with_state(group((0, 0, 0, 1))), "1 to 3 partitions a member; 2 partitions a member can be had"),
    ("load", with_state(replace(group((0, 0, 0, 1)), protocol="consumer")), "plan:uniform"),
    ("load", with_state(SEVEN), "1 to 3 partitions a member; 2 to 3 partitions a member can be had"),
    ("load", with_state(ONE_OWNED), "See unread first"),
    ("spread", with_state(EIGHT), "group.remote.assignor=range"),
    ("spread", with_state(replace(EIGHT, protocol="classic")), "copartition migrate live:GROUP range"),
    ("load", with_state(replace(group((0, 0, 0, 1)), strategy="stream")), "the next probing rebalance"),
    ("spread", with_state(replace(EIGHT, protocol="classic", strategy="stream")), "Tasks are spread"),
    ("subscriptions", with_state(members(topics=("orders",))), "payments"),
    ("static", with_state(members(instance_id="s1")), "1 of 2 members"),
    (
        "static",
        with_state(STATIC, members_before=(STATIC.members[0], STATIC.members[1]._replace(id="before"))),
        "s-m1 got another member id",
    ),
    ("timeouts", replace(HEALTHY, settings=FEW_HEARTBEATS), "a third of session.timeout.ms"),
    ("timeouts", with_state(CONSUMER, settings=FEW_HEARTBEATS), "kafka-configs.sh --alter"),
    ("timeouts", replace(HEALTHY, settings={**SETTINGS, "max.poll.interval.ms": "30000"}), "is above"),
    ("unread", with_state(group((0, 1, -1, 1))), "nobody reads 1 partition: payments-0"),
    ("unread", with_state(EMPTY), "Start members that subscribe"),
    ("left over", replace(HEALTHY, last=offsets(600, 600, [*PLACES, ("old", 0)])), "delete them"),
    (
        "left over",
        replace(HEALTHY, last=offsets(595, 600, [*PLACES, ("old", 0)])),
        "Start a member that subscribes to it",
    ),
    ("lag", replace(HEALTHY, last=offsets(95, 2_000)), "else add members"),
    ("lag", with_state(FIVE, last=offsets(95, 2_000)), "as many members as partitions"),
    (
        "lag",
        with_state(ONE_OWNED, last=Offsets(dict.fromkeys(PLACES, 95), {PLACES[0]: 95, PLACES[1]: 9_000})),
        "more members of the others change nothing",
    ),
    ("beyond the end", replace(HEALTHY, last=offsets(300, 200)), "beyond the end of orders-0"),
    ("trend", replace(HEALTHY, last=offsets(95, 2_000)), "Add members"),
    ("trend", with_state(EMPTY, last=offsets(95, 2_000)), "no member is there to read"),
    ("standstill", replace(HEALTHY, last=offsets(90, 200)), "orders-0 and payments-0 of c0 (m0) on 10.0.0.7"),
    ("hot partition", replace(HEALTHY, last=HOT), "orders-0 got"),
    (
        "uncommitted",
        replace(HEALTHY, last=replace(offsets(195, 200), committed={PLACES[0]: 195})),
        "orders-1",
    ),
    ("expiring", with_state(EMPTY), "after the last one left, and when"),
    ("expiring", with_state(replace(EMPTY, protocol="consumer")), "after each was committed, and when"),
    (
        "expiring",
        with_state(replace(EMPTY, protocol=None)),
        "after the last one left or, under the consumer protocol, each was committed",
    ),
    ("joined", with_state(group((0, 1, 1, 0))), "2 partition numbers"),
    ("coordinator", replace(HEALTHY, coordinator=Coordinator(1, 40, 10, 3)), "40 of 50 groups"),
]


def statuses(seen: Examination, limits: Limits = JOINED) -> dict[str, str]:
    return {finding.check.name: finding.status for finding in findings(seen, limits)}


def finding_of(name: str, seen: Examination, limits: Limits = JOINED) -> Finding:
    [finding] = [finding for finding in findings(seen, limits) if finding.check.name == name]
    return finding


def test_a_healthy_group_is_healthy() -> None:
    assert set(statuses(HEALTHY).values()) == {"ok"}
    assert doctor_exit_code(findings(HEALTHY, JOINED)) == 0


@cache
def findings_of_fault(row: int) -> list[Finding]:
    """What is found in a row of `FAULTS`."""
    return findings(FAULTS[row][1], JOINED)


@pytest.mark.parametrize("row", range(len(FAULTS)), ids=[name for name, _, _ in FAULTS])
def test_a_fault_is_found_with_advice_that_fits(row: int) -> None:
    name, _, told = FAULTS[row]
    results = findings_of_fault(row)
    [finding] = [finding for finding in results if finding.check.name == name]
    assert finding.status == "found"
    assert told in f"{finding.text} {finding.advice.why} {finding.advice.action}"
    assert doctor_exit_code(results) == 1


GROWN = with_state(
    ONE_OWNED,
    last=Offsets({PLACES[0]: 600, PLACES[2]: 600}, {**dict.fromkeys(PLACES, 600), PLACES[1]: 1_742}),
)


def test_every_check_and_every_advice_has_a_fault() -> None:
    given = {
        (finding.check.name, finding.case)
        for results in (findings(GROWN, JOINED), *map(findings_of_fault, range(len(FAULTS))))
        for finding in results
        if finding.status == "found"
    }
    assert given == {(check.name, case) for check in CHECKS for case in check.advice}


def test_new_partitions_say_what_is_skipped_and_how_fast_more_comes() -> None:
    unread = finding_of("unread", GROWN)
    # 1,742 and 600 records are there; 2,142 of them came in the 10 s between the looks.
    assert unread.text.endswith("orders-1 and payments-1; 2,342 records in them, 214 more each second")
    assert "auto.offset.reset=latest" in unread.advice.why
    assert isinstance(unread.ground, Evidence)
    assert unread.ground.assumed


@pytest.mark.parametrize(
    "seen",
    [
        with_state(ONE_OWNED),  # the partitions without an owner have commits
        with_state(group((-1, 0, -1, 1)), last=Offsets({}, dict.fromkeys(PLACES, 600))),  # not the highest
        with_state(group((-1, -1, 0, 1)), last=Offsets({}, dict.fromkeys(PLACES, 600))),  # all of a topic
    ],
)
def test_other_partitions_without_an_owner_are_not_called_new(seen: Examination) -> None:
    unread = finding_of("unread", seen)
    assert (unread.status, unread.case) == ("found", "")


CAPTURE = Examination(replace(GroupState.of({"m0": []}), members_complete=False))
TABLE = replace(
    group(),
    members=tuple(member._replace(topics=None) for member in group().members),
    complete=False,
    members_complete=False,
    status=None,
    protocol=None,
    clients=(),
    lag=np.zeros(4, np.int64),
)
HIDDEN = with_state(
    replace(group(), complete=False),
    first=Offsets({}, {}),
    last=Offsets({}, {}),
    coordinator=None,
    retention_ms=None,
    hidden=Missing("the cluster shows this user no topic orders", "give this user DESCRIBE on it"),
)
OF_BOTH = {
    "state",
    "clients",
    "converted",
    "owners",
    "idle",
    "load",
    "spread",
    "subscriptions",
    "limits",
    "expiring",
}
OF_STATE = OF_BOTH | {"unread"}
OF_MEMBERS = OF_BOTH | {"static", "racks"}
ALL = {check.name for check in CHECKS}
REDUCED = {
    # What the source shows, the checks that may be "ok", and the exit code.
    "nothing but a member": (CAPTURE, set(), 2),
    "a planned state": (Examination(group()), OF_STATE | {"joined"}, 2),
    "a table without state, subscriptions and idle members": (
        Examination(TABLE),
        {"owners", "left over", "lag", "beyond the end", "expiring"},
        2,
    ),
    "a table of one topic": (
        Examination(
            replace(
                TABLE, topics=("orders",), topic=np.zeros(4, np.int32), partition=np.arange(4, dtype=np.int32)
            )
        ),
        {"owners", "left over", "lag", "beyond the end", "expiring"},
        2,
    ),
    "a table without owners": (
        Examination(replace(TABLE, members=(), member=np.full(4, -1, np.int32))),
        {"lag", "beyond the end"},
        2,
    ),
    "a partition without a lag": (
        Examination(replace(group(), lag=np.array([0, 0, 0, UNKNOWN_LAG]))),
        OF_STATE | {"joined", "left over"},
        2,
    ),
    "no lag": (Examination(replace(group(), lag=None)), OF_STATE | {"joined"}, 2),
    "two owners": (with_state(TWICE), ALL - {"owners", "load", "spread", "joined"}, 1),
    "an empty group": (
        with_state(EMPTY),
        {
            "timeouts",
            "limits",
            "lag",
            "beyond the end",
            "trend",
            "deleted",
            "waiting",
            "hot partition",
            "coordinator",
        },
        1,
    ),
    "an empty group without commits": (
        with_state(EMPTY, first=Offsets({}, {}), last=Offsets({}, {})),
        {"timeouts", "limits", "coordinator"},
        1,
    ),
    "a group in a rebalance": (
        with_state(replace(group((-1,) * 4), status="PreparingRebalance")),
        ALL - {"state", "owners", "idle", "load", "spread", "unread", "joined", "uncommitted"},
        1,
    ),
    "a group that nobody writes to": (
        replace(HEALTHY, first=HEALTHY.last),
        ALL - {"hot partition", "standstill"},
        1,
    ),
    "a group that is reconciling": (
        with_state(replace(CONSUMER, status="Reconciling")),
        ALL - {"state", "unread", "converted", "limits"},
        1,
    ),
    "no DESCRIBE on the topic": (HIDDEN, OF_MEMBERS | {"timeouts"}, 2),
    "leaders that do not answer": (
        replace(HEALTHY, last=Offsets(dict.fromkeys(PLACES, 595), {PLACES[0]: 600})),
        OF_STATE | {"static", "racks", "timeouts", "left over", "joined", "coordinator"},
        2,
    ),
    "no commit where records are": (
        replace(HEALTHY, last=Offsets({PLACES[0]: 595}, dict.fromkeys(PLACES, 600))),
        ALL - {"uncommitted", "lag", "trend", "deleted", "waiting", "standstill"},
        1,
    ),
    "no commit in empty partitions": (
        replace(
            HEALTHY, first=Offsets({}, dict.fromkeys(PLACES, 0)), last=Offsets({}, dict.fromkeys(PLACES, 0))
        ),
        ALL - {"trend", "deleted", "hot partition"},
        0,
    ),
}


@pytest.mark.parametrize("source", REDUCED)
def test_ok_is_said_only_of_what_the_source_shows(source: str) -> None:
    seen, may_be_ok, code = REDUCED[source]
    results = findings(seen, JOINED)
    assert {finding.check.name for finding in results if finding.status == "ok"} == may_be_ok
    assert doctor_exit_code(results) == code


@pytest.mark.parametrize(
    "seen",
    sample([HEALTHY, GROWN, *(seen for _, seen, _ in FAULTS), *(seen for seen, _, _ in REDUCED.values())], 3),
)
def test_every_answer_names_its_evidence_or_the_way_to_it(seen: Examination) -> None:
    results = findings(seen, JOINED)
    told = json.loads(doctor_json(seen, results))["checks"]
    for finding, row in zip(results, told, strict=True):
        if finding.status == "unknown":
            assert row["missing"]["what"] == finding.text
            assert row["missing"]["remedy"]
        else:
            assert row["evidence"]
            assert row["missing"] is None


def test_a_finding_cannot_be_made_without_evidence() -> None:
    with pytest.raises(ValueError, match="without evidence"):
        Finding(CHECKS[0], Missing("nothing was seen", "look"), "it is bad", found=True)


def test_each_evidence_of_offsets_is_of_some_or_says_that_there_are_none() -> None:
    seen, _, _ = REDUCED["no commit in empty partitions"]
    told = {finding.check.name: finding.ground for finding in findings(seen, JOINED)}
    assert told["left over"] == Evidence(("the offsets of the group: none is committed",))
    standstill = told["standstill"]
    assert isinstance(standstill, Evidence)
    assert standstill.sources == ("commits and ends of 4 partitions, in two looks 10.0 s apart",)


def test_idle_members_of_one_client_id_are_counted() -> None:
    ghosts = tuple(member._replace(client_id="pod-2") for member in FIVE.members)
    idle = finding_of("idle", with_state(replace(FIVE, members=ghosts)))
    assert idle.text == "3 members without a partition: pod-2 (3 members)"


def test_the_table_stays_narrow_in_a_pipe(tmp_path: Path) -> None:
    members = tuple(member._replace(client_id=f"{member.id}-{'x' * 90}") for member in FIVE.members)
    (path := tmp_path / "wide.json").write_bytes(snapshot_bytes(replace(FIVE, members=members)))
    text = CliRunner().invoke(doctor, [str(path)], env={"KAFKA_BOOTSTRAP_SERVERS": ""}).stdout
    assert max(map(len, text.partition("\n\n")[0].splitlines())) < 140


@pytest.mark.parametrize("owners", [(0, 1, 0, 1), (0, 0, 0, 1), (0, 0, 0, 0), (0, 1, 0, -1), (0, 0, 1, 1)])
def test_doctor_and_assignment_diff_judge_balance_alike(owners: tuple[int, ...]) -> None:
    alone = diff(group(owners), group(owners))
    balanced = headline(replace(alone, alone=True)).startswith("Balanced")
    assert (statuses(with_state(group(owners)))["load"] == "ok") == balanced


def test_the_topics_of_a_single_topic_group_are_known() -> None:
    members = tuple(member._replace(topics=None) for member in group().members)
    one = replace(
        group((0, 1)),
        members=members,
        topics=("orders",),
        topic=np.zeros(2, np.int32),
        partition=np.arange(2, dtype=np.int32),
    )
    load = finding_of("load", with_state(one))
    assert isinstance(load.ground, Evidence)
    assert load.ground.assumed == ("every member subscribes to orders, the only topic shown",)


def test_limits_of_the_library_are_those_of_the_command() -> None:
    defaults = {option.name: option.default for option in doctor.params}
    assert (Limits().lag, Limits().hot) == (defaults["lag"], defaults["hot"])
    assert (Limits().waiting_ms, defaults["waiting"]) == (600_000, "10min")


@pytest.mark.parametrize(("written", "status"), [(999, "unknown"), (1_000, "found")])
def test_few_new_records_say_nothing_of_a_hot_partition(written: int, status: str) -> None:
    grown = Offsets(dict.fromkeys(PLACES, 100), {**dict.fromkeys(PLACES, 100), PLACES[0]: 100 + written})
    assert statuses(replace(HEALTHY, last=grown))["hot partition"] == status


def test_the_page_lists_the_checks() -> None:
    page = (Path(__file__).parents[3] / "docs" / "doctor.md").read_text(encoding="utf-8")
    page = page.partition("\n## ")[0]
    assert re.findall(r"^\| (?!check)([a-z ]+) \|", page, re.MULTILINE) == [check.name for check in CHECKS]


def test_labels_of_metrics_are_escaped() -> None:
    seen = with_state(replace(group(), name='a"b\\c\nd'))
    metrics = doctor_metrics([(seen, findings(seen, JOINED))])
    assert 'copartition_doctor_found{group="a\\"b\\\\c\\nd",check="lag"} 0\n' in metrics
    assert 'copartition_doctor_lag{group="a\\"b\\\\c\\nd",topic="orders",partition="0"} 5\n' in metrics


@pytest.mark.parametrize(
    ("owners", "lag", "code"), [((0, 1, 0, 1), 5, 0), ((0, 1, 0, 1), 20_000, 1), ((0, 0, 0, 0), 5, 1)]
)
def test_a_file_is_examined(owners: tuple[int, ...], lag: int, code: int, tmp_path: Path) -> None:
    path = tmp_path / "billing.json"
    path.write_bytes(snapshot_bytes(replace(group(owners), lag=np.full(4, lag, np.int64))))
    answer = CliRunner().invoke(doctor, [str(path), "-o", "json"], env={"KAFKA_BOOTSTRAP_SERVERS": ""})
    assert answer.exit_code == code, answer.output
    told = json.loads(answer.stdout)
    assert told["lag"]["orders-0"] == lag
    text = CliRunner().invoke(doctor, [str(path)], env={"KAFKA_BOOTSTRAP_SERVERS": ""})
    assert "it takes two looks at a cluster" in text.stdout
