"""Each check of the doctor, without a cluster: what it finds, what is healthy, and what it cannot know."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from assignors.state import GroupState, MemberIdentity
from copartition.doctor.command import doctor
from copartition.doctor.examination import (
    CHECKS,
    Coordinator,
    Examination,
    Limits,
    Offsets,
    exit_code,
    findings,
)
from copartition.doctor.report import doctor_metrics
from copartition.groups import snapshot_bytes

NAMES = ("orders", "payments")
PLACES = [(name, number) for name in NAMES for number in range(2)]


def group(owners: tuple[int, ...] = (0, 1, 0, 1)) -> GroupState:
    """Two members, two topics of two partitions; `owners` has an owner a partition."""
    return GroupState(
        tuple(MemberIdentity(f"m{number}", client_id=f"c{number}", topics=NAMES) for number in range(2)),
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


def offsets(committed: int, end: int, places: list[tuple[str, int]] = PLACES) -> Offsets:
    return Offsets(dict.fromkeys(places, committed), dict.fromkeys(places, end))


SETTINGS = {"heartbeat.interval.ms": "3000", "session.timeout.ms": "45000", "max.poll.interval.ms": "300000"}
HEALTHY = Examination(
    group(), offsets(90, 100), offsets(195, 200), 10_000, {}, 604_800_000, Coordinator(1, 3, 4, 2), SETTINGS
)
JOINED = Limits(lag=1_000, joined=NAMES)


def members(**changes: Any) -> GroupState:
    """The group with the second member changed."""
    state = group()
    return replace(state, members=(state.members[0], state.members[1]._replace(**changes)))


def with_state(state: GroupState) -> Examination:
    return replace(HEALTHY, state=state)


HOT = Offsets(dict.fromkeys(PLACES, 195), {**dict.fromkeys(PLACES, 200), PLACES[0]: 5_000})
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
FAULTS = [
    ("state", with_state(replace(group(), status="PreparingRebalance"))),
    ("clients", with_state(replace(group(), clients=("java", "librdkafka")))),
    ("idle", with_state(group((0, 0, 0, 0)))),
    ("load", with_state(group((0, 0, 0, 1)))),
    ("spread", with_state(EIGHT)),
    ("subscriptions", with_state(members(topics=("orders",)))),
    ("static", with_state(members(instance_id="s1"))),
    (
        "static",
        replace(
            HEALTHY,
            state=replace(
                group(), members=tuple(each._replace(instance_id=f"s-{each.id}") for each in group().members)
            ),
            static={"s-m0": "m0", "s-m1": "before"},
        ),
    ),
    ("timeouts", replace(HEALTHY, settings={**SETTINGS, "heartbeat.interval.ms": "20000"})),
    ("timeouts", replace(HEALTHY, settings={**SETTINGS, "max.poll.interval.ms": "30000"})),
    ("unread", with_state(group((0, 1, 0, -1)))),
    ("left over", replace(HEALTHY, last=offsets(195, 200, [*PLACES, ("old", 0)]))),
    ("lag", replace(HEALTHY, last=offsets(95, 2_000))),
    ("beyond the end", replace(HEALTHY, last=offsets(300, 200))),
    ("trend", replace(HEALTHY, last=offsets(95, 2_000))),
    ("standstill", replace(HEALTHY, last=offsets(90, 200))),
    ("hot partition", replace(HEALTHY, last=HOT)),
    ("uncommitted", replace(HEALTHY, last=replace(offsets(195, 200), committed={PLACES[0]: 195}))),
    ("expiring", with_state(EMPTY)),
    ("joined", with_state(group((0, 1, 1, 0)))),
    ("coordinator", replace(HEALTHY, coordinator=Coordinator(1, 40, 10, 3))),
]


def statuses(seen: Examination, limits: Limits = JOINED) -> dict[str, str]:
    return {each.check.name: each.status for each in findings(seen, limits)}


def test_a_healthy_group_is_healthy() -> None:
    assert set(statuses(HEALTHY).values()) == {"ok"}
    assert exit_code(findings(HEALTHY, JOINED)) == 0


@pytest.mark.parametrize(("name", "seen"), FAULTS)
def test_a_fault_is_found(name: str, seen: Examination) -> None:
    assert statuses(seen)[name] == "found"
    assert exit_code(findings(seen, JOINED)) == 1


def test_every_check_has_a_fault() -> None:
    assert {name for name, _ in FAULTS} == {check.name for check in CHECKS}


def test_what_the_source_does_not_tell_is_unknown() -> None:
    capture = replace(GroupState.of({"m0": []}), members_complete=False)
    seen = Examination(capture)
    # Offsets do not expire while a member is there, and one is.
    assert {name for name, status in statuses(seen, Limits()).items() if status != "unknown"} == {"expiring"}
    assert exit_code(findings(seen, Limits())) == 2


def test_the_page_lists_the_checks() -> None:
    page = (Path(__file__).parents[2] / "docs" / "doctor.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| (?!check)([a-z ]+) \|", page, re.MULTILINE) == [check.name for check in CHECKS]


def test_labels_of_metrics_are_escaped() -> None:
    seen = with_state(replace(group(), name='a"b\\c\nd'))
    metrics = doctor_metrics(seen, findings(seen, JOINED))
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
