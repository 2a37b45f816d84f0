"""Reports for programs."""

import csv
import io
import json

from assignors.reports.data import diff_csv, diff_json, diff_lines, simulation_json


def test_json_begins_with_its_version_and_counts_what_the_diff_counts(grown):
    report = json.loads(diff_json(grown))
    assert next(iter(report)) == "format_version"
    assert report["format_version"] == "1.0"
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
    assert len(json.loads(diff_json(grown, every=True))["changes"]) == 120


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
    changes = json.loads(diff_json(planned, every=True))["changes"]
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


def test_runs_carry_their_summaries_and_rebalances(runs):
    report = json.loads(simulation_json(runs))
    assert [run["assignor"] for run in report["runs"]] == ["range", "sticky", "cooperative-sticky"]
    for run, result in zip(report["runs"], runs, strict=True):
        assert run["summary"]["rebalances"] == len(run["rebalances"]) == result.summary.rebalances
