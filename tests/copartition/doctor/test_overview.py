"""All groups of a cluster in one report: the worst first, and what could not be read beside them."""

import json
from dataclasses import replace

import pytest
from click.testing import CliRunner

from copartition.doctor.checks import findings
from copartition.doctor.command import doctor
from copartition.doctor.observing import Limits
from copartition.doctor.overview import (
    ExaminedGroup,
    overview_exit_code,
    overview_json,
    print_overview,
    worst_first,
)
from copartition.doctor.report import doctor_metrics
from partitioning.errors import SourceError
from tests.copartition.doctor.test_page import group, live
from tests.support.drawing import drawn

UNREAD = {"sinks": SourceError("it is a group of Kafka Connect")}


def examined(name, owners, *, end=100):
    examination = live(replace(group(owners), name=name), end=end)
    return ExaminedGroup(name, examination, findings(examination, Limits(lag=50)))


HEALTHY = examined("healthy", [0, 1])
UNEVEN = examined("uneven", [0, 0])
BEHIND = examined("behind", [0, 0], end=1_000)
GROUPS = worst_first([HEALTHY, UNEVEN, BEHIND])


def test_the_worst_group_comes_first():
    assert [examined.name for examined in GROUPS] == ["behind", "uneven", "healthy"]


def test_the_table_has_a_row_for_each_group_and_the_reason_of_each_that_was_not_read():
    head, titles, behind, uneven, healthy, unread, *_ = drawn(
        lambda console: print_overview(GROUPS, UNREAD, console), width=150
    )
    assert head == "4 groups   2 with findings   1 not read"
    assert " ".join(titles.split()) == "GROUP PROTOCOL STRATEGY STATE MEMBERS FOUND UNKNOWN FINDINGS"
    assert " ".join(behind.split()[:5]) == "behind classic range Stable 2"
    assert "lag" in behind.split("  ")[-1]
    assert uneven.split()[0] == "uneven"
    assert healthy.split()[5] == "0"
    assert unread.strip() == "sinks: it is a group of Kafka Connect"


def test_json_has_the_whole_report_of_each_group():
    document = json.loads(overview_json(GROUPS, UNREAD))
    assert [report["group"] for report in document["groups"]] == ["behind", "uneven", "healthy"]
    assert document["groups"][0]["checks"][0]["check"] == "state"
    assert document["unread"] == [{"group": "sinks", "why": "it is a group of Kafka Connect"}]


@pytest.mark.parametrize(
    ("groups", "unread", "code"),
    [([HEALTHY, UNEVEN], UNREAD, 1), ([HEALTHY], UNREAD, 2), ([HEALTHY], {}, 0), ([], {}, 2)],
)
def test_the_exit_code_is_that_of_the_worst_group(groups, unread, code):
    assert overview_exit_code(groups, unread) == code


def test_a_group_that_could_not_be_read_has_a_metric():
    pairs = [(examined.examination, examined.findings) for examined in GROUPS]
    assert 'copartition_doctor_unread{group="sinks"} 1' in doctor_metrics(pairs, UNREAD)
    assert "copartition_doctor_unread" not in doctor_metrics(pairs)


@pytest.mark.parametrize("arguments", [[], ["billing", "--all-groups"], ["--all-groups", "--html", "x.html"]])
def test_one_group_or_all_of_a_cluster(arguments):
    result = CliRunner().invoke(doctor, [*arguments, "-b", "localhost:1"])
    assert (result.exit_code, "all-groups" in result.stderr) == (2, True)
