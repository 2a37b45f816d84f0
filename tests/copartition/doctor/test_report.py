"""The doctor's report as JSON, as text and as metrics, of findings of every kind."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from assignors.state import GroupState, MemberIdentity
from copartition.doctor.checks import findings
from copartition.doctor.examination import Examination, Offsets
from copartition.doctor.observing import Advice, Check, Finding, Limits, Observation, first_names
from copartition.doctor.report import doctor_html, doctor_json, doctor_metrics, print_doctor
from copartition.kit.evidence import Evidence, Missing
from tests.support.drawing import drawn
from tests.support.pages import Page

PLACES = [("orders", 0), ("orders", 10), ("orders", 2)]
STATE = GroupState(
    tuple(MemberIdentity(f"m{number}", client_id=f"c{number}", topics=("orders",)) for number in range(3)),
    ("orders",),
    np.array([0, 1, 2], np.int32),
    np.zeros(3, np.int32),
    np.array([0, 10, 2], np.int32),
    complete=True,
    name="billing",
    status="Stable",
    strategy="range",
    protocol="classic",
    warnings=("it may not last",),
    assumed=("the cluster has no other connector",),
)
LOOKS = [
    Offsets(dict.fromkeys(PLACES, 90 + more), dict(zip(PLACES, (100, 97, 80), strict=True)))
    for more in (0, 1)
]
SEEN = Examination(STATE, *LOOKS, elapsed_ms=2_000.4)
ASK = Missing("no settings", "ask the cluster")


def check(name: str) -> Check:
    advice = {"": Advice(f"{name} matters", f"mend {name}"), "worse": Advice("it is worse", "mend it now")}
    return Check(name, lambda *_: Observation(False, "", Evidence(())), "problem", advice)


RESULTS = [
    Finding(
        check("lag"),
        Evidence(("ends", "commits"), ("time passes",)),
        "9 records wait",
        found=True,
        case="worse",
    ),
    Finding(check("load"), Evidence(("owners",), ("time passes",)), "all are even"),
    Finding(check("joined"), ASK, "no settings"),
    Finding(check("limits"), ASK, "no settings"),
]


def test_json_tells_all_that_was_seen() -> None:
    told = json.loads(doctor_json(SEEN, RESULTS))
    assert told.pop("checks") == [
        {
            "check": "lag",
            "status": "found",
            "severity": "problem",
            "seen": "9 records wait",
            "evidence": ["ends", "commits"],
            "assumed": ["time passes"],
            "missing": None,
            "why": "it is worse",
            "next": "mend it now",
        },
        {
            "check": "load",
            "status": "ok",
            "severity": None,
            "seen": "all are even",
            "evidence": ["owners"],
            "assumed": ["time passes"],
            "missing": None,
            "why": "load matters",
            "next": "mend load",
        },
        *(
            {
                "check": name,
                "status": "unknown",
                "severity": None,
                "seen": "no settings",
                "evidence": [],
                "assumed": [],
                "missing": {"what": "no settings", "remedy": "ask the cluster"},
                "why": f"{name} matters",
                "next": f"mend {name}",
            }
            for name in ("joined", "limits")
        ),
    ]
    assert [*told.pop("lag").items()] == [("orders-0", 9), ("orders-2", -11), ("orders-10", 6)]
    assert told == {
        "format_version": "1.0",
        "kind": "doctor",
        "group": "billing",
        "state": "Stable",
        "protocol": "classic",
        "strategy": "range",
        "elapsed_ms": 2_000,
        "warnings": ["it may not last"],
        "assumed": ["the cluster has no other connector"],
    }


def test_one_look_has_no_time_between_two_and_no_lag_that_nobody_told() -> None:
    told = json.loads(doctor_json(Examination(STATE), RESULTS))
    assert (told["elapsed_ms"], told["lag"]) == (None, None)


def test_text_tells_what_is_found_what_is_unknown_and_what_is_assumed() -> None:
    lines = drawn(lambda console: print_doctor(SEEN, RESULTS, console), width=120)
    assert [" ".join(line.split()) for line in lines] == [
        "billing 1 finding 2 unknown",
        "CHECK RESULT SEEN READ FROM",
        "lag problem 9 records wait ends; commits",
        "load ok all are even owners",
        "joined unknown no settings",
        "limits unknown no settings",
        "",
        "lag: 9 records wait",
        "why: it is worse",
        "next: mend it now",
        "",
        "to know joined and limits: ask the cluster",
        "it may not last",
        "assumed: the cluster has no other connector",
        "assumed: time passes (lag, load)",
    ]


def test_text_of_a_group_without_a_name_or_a_fault_is_a_table() -> None:
    plain = replace(STATE, name=None, warnings=(), assumed=())
    fine = [replace(RESULTS[1], ground=Evidence(("owners",)))]
    lines = drawn(lambda console: print_doctor(Examination(plain), fine, console), width=120)
    assert [" ".join(line.split()) for line in lines] == [
        "group 0 findings 0 unknown",
        "CHECK RESULT SEEN READ FROM",
        "load ok all are even owners",
    ]


def test_metrics_have_no_sample_for_what_is_unknown() -> None:
    unnamed = Examination(replace(STATE, name=None))
    text = doctor_metrics([(SEEN, RESULTS), (unnamed, RESULTS[1:3])], ["sinks"])
    assert text.splitlines() == [
        "# HELP copartition_doctor_found 1 where the check found something, 0 where not; none if unknown.",
        "# TYPE copartition_doctor_found gauge",
        'copartition_doctor_found{group="billing",check="lag"} 1',
        'copartition_doctor_found{group="billing",check="load"} 0',
        'copartition_doctor_found{group="",check="load"} 0',
        "# HELP copartition_doctor_unknown 1 where the source does not tell what the check needs.",
        "# TYPE copartition_doctor_unknown gauge",
        'copartition_doctor_unknown{group="billing",check="lag"} 0',
        'copartition_doctor_unknown{group="billing",check="load"} 0',
        'copartition_doctor_unknown{group="billing",check="joined"} 1',
        'copartition_doctor_unknown{group="billing",check="limits"} 1',
        'copartition_doctor_unknown{group="",check="load"} 0',
        'copartition_doctor_unknown{group="",check="joined"} 1',
        "# HELP copartition_doctor_lag Records between the committed offset and the end.",
        "# TYPE copartition_doctor_lag gauge",
        'copartition_doctor_lag{group="billing",topic="orders",partition="0"} 9',
        'copartition_doctor_lag{group="billing",topic="orders",partition="2"} -11',
        'copartition_doctor_lag{group="billing",topic="orders",partition="10"} 6',
        "# HELP copartition_doctor_unread 1 for a group that could not be read.",
        "# TYPE copartition_doctor_unread gauge",
        'copartition_doctor_unread{group="sinks"} 1',
    ]
    assert text.endswith("\n")


def test_of_members_with_equal_loads_the_page_lists_first_for_whom_more_waits_then_by_name() -> None:
    names = ("c1", "c0", "c3", "c2")
    members = tuple(MemberIdentity(name, client_id=name) for name in names)
    owners, numbers = np.arange(4, dtype=np.int32), np.arange(4, dtype=np.int32)
    topic = np.zeros(4, np.int32)
    state = replace(STATE, members=members, member=owners, topic=topic, partition=numbers)
    # Nothing is known of what waits for "c0".
    ends = {("orders", number): 10 for number in range(4)}
    look = Offsets({("orders", 0): 10, ("orders", 2): 3, ("orders", 3): 10}, ends)
    page = Page(doctor_html(Examination(state, look, look, elapsed_ms=1_000), RESULTS))
    assert page.cells("")[1:5] == [
        ["c3", "", "1", "7"],
        ["c0", "", "1", "unknown"],
        ["c1", "", "1", "0"],
        ["c2", "", "1", "0"],
    ]


@pytest.mark.parametrize(
    ("status", "looks", "told", "remedy"),
    [
        ("Empty", [], "the group has no member", "start a member, and run it again"),
        ("Stable", LOOKS, "the group has no member", "start a member, and run it again"),
        ("Stable", [], "the source shows no member", "ask the cluster: copartition doctor GROUP -b"),
        (None, [], "the source shows no member", "ask the cluster: copartition doctor GROUP -b"),
    ],
)
def test_no_member_is_that_of_an_empty_group_or_of_a_source_that_shows_none(
    status: str | None, looks: list[Offsets], told: str, remedy: str
) -> None:
    nobody = replace(STATE, members=(), member=np.full(3, -1, np.int32), status=status)
    results = findings(Examination(nobody, *looks, elapsed_ms=1_000), Limits())
    unknown = [finding.ground for finding in results if finding.text == told]
    assert unknown
    assert all(isinstance(ground, Missing) and remedy in ground.remedy for ground in unknown)


def test_partitions_are_named_by_topic_and_number() -> None:
    places = [("pay", 0), ("orders", 10), ("orders", 2)]
    assert first_names(places) == "orders-2, orders-10 and pay-0"
