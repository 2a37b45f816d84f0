"""`copartition migrate`."""

import json

import pytest
from click.testing import CliRunner

from copartition.cli.migrate import migrate


@pytest.fixture
def run():
    def invoke(*arguments):
        return CliRunner().invoke(migrate, [str(each) for each in arguments])

    return invoke


def test_eager_to_cooperative_takes_two_bounces(run):
    result = run("range", "cooperative-sticky")
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "2 rolling bounces, the next when all members have had the one before:",
        "1. to cooperative-sticky,range",
        (
            "   java: partition.assignment.strategy=org.apache.kafka.clients.consumer.CooperativeSticky"
            "Assignor,org.apache.kafka.clients.consumer.RangeAssignor"
        ),
        "   meanwhile range: all members have range; the coordinator chooses what all have",
        "2. to cooperative-sticky",
        "   java: partition.assignment.strategy=org.apache.kafka.clients.consumer.CooperativeStickyAssignor",
        (
            "   meanwhile cooperative-sticky: all members have cooperative-sticky; "
            "the coordinator chooses what all have"
        ),
    ]


def test_settings_to_remove_are_said_for_every_client(run):
    lines = run("range", "uniform", "--client", "java", "--client", "librdkafka").stdout.splitlines()
    assert lines[:2] == ["1 rolling bounce:", "1. to uniform"]
    assert lines[2:5] == [
        "   java: group.protocol=consumer",
        "   java: group.remote.assignor=uniform",
        "   java: remove partition.assignment.strategy",
    ]
    assert "   librdkafka: remove partition.assignment.strategy" in lines


def test_where_there_is_no_way_the_exit_code_is_1_and_the_group_has_to_stop(run):
    result = run("range", "cooperative-sticky", "--client", "librdkafka")
    assert result.exit_code == 1
    assert result.stdout.splitlines() == [
        (
            "No rolling bounce is safe: old and new members need a strategy in common, but librdkafka "
            "refuses eager and cooperative strategies in one list."
        ),
        "Stop all members, wait until the group is empty, and start them with the new settings.",
    ]


def test_the_same_strategies_need_nothing(run):
    result = run("range, roundrobin", "range,roundrobin")
    assert (result.exit_code, result.stdout) == (0, "Nothing has to change.\n")


def test_json_says_the_same(run):
    found = json.loads(run("range,roundrobin", "roundrobin", "--client", "librdkafka", "-o", "json").stdout)
    assert found == {
        "bounces": [
            {
                "strategies": ["roundrobin"],
                "settings": {"librdkafka": {"partition.assignment.strategy": "roundrobin"}},
                "meanwhile": ["roundrobin"],
                "why": "all members have roundrobin; the coordinator chooses what all have",
            }
        ],
        "obstacle": None,
    }
    refused = json.loads(run("range", "uniform", "--migration-policy", "disabled", "-o", "json").stdout)
    assert refused["bounces"] == []
    assert "group.consumer.migration.policy=disabled" in refused["obstacle"]


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (["range"], "Missing argument 'TO'"),
        (["range", ","], "name one or more"),
        (["range", "uniform,range"], "uniform is the broker's"),
        (["range", "rang"], "did you mean range"),
        (["range", "sticky", "--client", "sarama"], "'sarama' is not one of"),
    ],
)
def test_bad_input_is_2(run, arguments, fault):
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert fault in result.stderr
    assert "bug" not in result.stderr
