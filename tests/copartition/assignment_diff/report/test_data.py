"""Diffs for programs."""

import csv
import io
import json
import re
import typing

import fastjsonschema
import pytest

from copartition.assignment_diff import parse_check
from copartition.assignment_diff.report import json as document
from copartition.assignment_diff.report.json import diff_csv, diff_json, diff_lines
from copartition.assignment_diff.report.model import View


@pytest.fixture(scope="session")
def validate():
    return fastjsonschema.compile(document.diff_schema())


@pytest.fixture(params=["grown", "planned", "unchanged", "odd", "named", "empty_diff"])
def any_diff(request):
    return request.getfixturevalue(request.param)


def test_json_begins_with_its_version_and_counts_what_the_diff_counts(grown):
    report = json.loads(diff_json(grown))
    assert next(iter(report)) == "format_version"
    assert report["format_version"] == "3.0"
    assert report["summary"]["moved"] == 30
    assert report["matching"] == {"rule": "member-id", "renames": []}
    assert len(report["members"]) == 8
    assert {"from": "worker-0", "to": "worker-6", "partitions": 5} in report["flows"]


def test_changes_name_topic_and_partition_apart_and_null_for_nobody(odd):
    changes = json.loads(diff_json(odd))["changes"]
    assert {
        "topic": "orders",
        "partition": 3,
        "action": "unassign",
        "from": "<b>|*",
        "to": None,
        "lag": None,
        "reason": None,
    } in changes
    assert [change["partition"] for change in changes] == sorted(change["partition"] for change in changes)


def test_kept_partitions_are_listed_when_asked_for(grown):
    assert len(json.loads(diff_json(grown))["changes"]) == 30
    assert len(json.loads(diff_json(grown, View(every=True)))["changes"]) == 120


def test_conflicts_and_renames_are_in_the_json(odd):
    report = json.loads(diff_json(odd))
    assert report["conflicts"] == [
        {"topic": "orders", "partition": 0, "before": ["<b>|*", "zombie"], "after": ["<b>|*"]}
    ]
    assert report["matching"]["renames"] == [{"before": "old", "after": "new", "score": 100}]


def test_lines_and_csv_hold_the_changes_of_the_json(grown):
    changes = json.loads(diff_json(grown))["changes"]
    assert [json.loads(line) for line in diff_lines(grown)] == changes
    rows = list(csv.DictReader(io.StringIO(diff_csv(grown))))
    read = [
        {
            **row,
            "partition": int(row["partition"]),
            "lag": row["lag"] or None,
            "reason": row["reason"] or None,
        }
        for row in rows
    ]
    assert read == changes


def test_a_plan_tells_what_set_each_partition_in_motion(planned):
    changes = json.loads(diff_json(planned, View(every=True)))["changes"]
    assert [(change["action"], change["to"], change["reason"]) for change in changes] == [
        *[("keep", "a", "kept")] * 4,
        *[("move", "new-0", "over quota")] * 2,
        ("move", "new-0", "filled"),
        ("added", "new-0", "filled"),
    ]
    assert [json.loads(line)["reason"] for line in diff_lines(planned)] == ["over quota"] * 2 + ["filled"] * 2
    reasons = [row["reason"] for row in csv.DictReader(io.StringIO(diff_csv(planned)))]
    assert reasons == ["over quota"] * 2 + ["filled"] * 2


def test_nothing_depends_on_the_moment(grown):
    assert diff_json(grown) == diff_json(grown)


def test_every_report_is_as_the_schema_says(any_diff, validate):
    validate(json.loads(diff_json(any_diff, View(every=True), [parse_check("moved<=1")])))


@pytest.mark.parametrize(
    ("type_", "place"),
    [
        (document.DiffDocument, lambda report: report),
        (document.Statuses, lambda report: report["statuses"]),
        (document.MatchingData, lambda report: report["matching"]),
        (document.Filters, lambda report: report["filters"]),
        *(
            (type_, lambda report, key=key: report[key][0])
            for key, type_ in {
                "checks": document.CheckResult,
                "members": document.MemberChange,
                "topics": document.TopicChange,
                "flows": document.Flow,
                "changes": document.Change,
                "conflicts": document.Conflict,
            }.items()
        ),
    ],
)
def test_an_object_has_the_keys_of_its_definition_and_no_others(odd, type_, place):
    report = json.loads(diff_json(odd, checks=[parse_check("moved<=1")]))
    assert list(place(report)) == list(typing.get_type_hints(type_))


@pytest.mark.parametrize("field", ["summary", "members", "stops"])
def test_a_report_without_a_field_is_not_as_the_schema_says(grown, validate, field):
    report = json.loads(diff_json(grown))
    del report[field]
    with pytest.raises(fastjsonschema.JsonSchemaValueException):
        validate(report)


def test_the_schema_describes_every_field_of_its_objects():
    defs = document.diff_schema()["$defs"]
    bare = {
        (name, key)
        for name, of in defs.items()
        for key, said in of.get("properties", {}).items()  # an enumeration has values instead
        if "description" not in said
    }
    assert bare == set()


def test_statuses_of_both_sides_are_told(named):
    assert json.loads(diff_json(named))["statuses"] == {"before": "Stable", "after": "Stable"}


def test_a_check_is_told_with_its_limit_and_value(grown):
    checks = [parse_check("moved<=29"), parse_check("members_joined==2")]
    assert json.loads(diff_json(grown, checks=checks))["checks"] == [
        {"name": "moved", "comparison": "<=", "limit": 29.0, "value": 30.0, "passed": False},
        {"name": "members_joined", "comparison": "==", "limit": 2.0, "value": 2.0, "passed": True},
    ]


def test_a_stop_without_end_is_null(with_stops):
    stops = json.loads(diff_json(with_stops))["stops"]
    assert [(way["happens"], way["longest_pause_ms"]["most"]) for way in stops] == [
        ("crash w", 46_500.0),
        ("leave w", None),
    ]


def test_a_stop_has_the_keys_of_its_definition_and_no_others(with_stops, validate):
    report = json.loads(diff_json(with_stops))
    validate(report)
    assert list(report["stops"][0]) == list(typing.get_type_hints(document.StopsJson))
    assert list(report["stops"][0]["rebalances"]) == ["least", "most"]


def test_what_is_assumed_is_told(assuming):
    report = json.loads(diff_json(assuming))
    assert report["assumed"] == ["everybody subscribes to orders"]
    assert report["verdict"] == "Nothing changed: 2 partitions kept."


def test_reasons_are_counted(planned):
    assert json.loads(diff_json(planned))["reasons"] == {"over quota": 2, "filled": 2}


def test_topics_are_counted(odd):
    (topic,) = json.loads(diff_json(odd))["topics"]
    assert (topic["partitions"], topic["kept"], topic["conflicts"], topic["lag_moved"]) == (8, 4, 1, None)


def test_filters_narrow_what_is_listed_and_nothing_else(grown):
    view = View(member=re.compile("worker-[06]"), topic=re.compile("^ord"))
    report, whole = (json.loads(diff_json(grown, shown)) for shown in (view, None))
    assert [member["name"] for member in report["members"]] == ["worker-0", "worker-6"]
    assert len(report["changes"]) == 15
    assert {"from": "worker-1", "to": "worker-6", "partitions": 5} in report["flows"]
    assert report["filters"] == {"topic": "^ord", "member": "worker-[06]"}
    assert (report["summary"], report["verdict"]) == (whole["summary"], whole["verdict"])


@pytest.mark.parametrize(
    ("by", "key"), [("member", "members"), ("topic", "topics"), ("partition", "changes")]
)
def test_a_row_is_what_it_is_asked_to_be(grown, by, key):
    rows = json.loads(diff_json(grown))[key]
    assert [json.loads(line) for line in diff_lines(grown, View(by=by))] == rows
    read = csv.DictReader(io.StringIO(diff_csv(grown, View(by=by))))
    assert [list(row.values()) for row in read] == [
        ["" if value is None else str(value) for value in row.values()] for row in rows
    ]


def test_a_table_without_rows_has_its_header(unchanged):
    assert diff_csv(unchanged, View(by="topic")).startswith("name,partitions,kept,moved,")
