"""`copartition migrate`."""

import json

import pytest

from copartition.migrate.command import migrate
from copartition.migrate.migration import CLIENTS
from tests.support.commands import invoker


@pytest.fixture
def run():
    return invoker(migrate)


def test_eager_to_cooperative_takes_two_bounces(run):
    result = run("range", "cooperative-sticky")
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "2 rolling bounces lead to cooperative-sticky, the next when all members have had the one before:",
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
        (
            "warning: co-partitioned reading ends: range gives equal numbers of equally large topics to one "
            "member, cooperative-sticky does not; range keeps it"
        ),
    ]


@pytest.mark.parametrize(
    ("before", "after", "keeps"),
    [
        ("range", "uniform", "broker-range keeps it"),
        ("range", "broker-range", None),
        ("roundrobin", "uniform", None),
        ("broker-range", "sticky", "range keeps it"),
    ],
)
def test_what_ends_reading_by_number_is_said(run, before, after, keeps):
    warning = json.loads(run(before, after, "-o", "json").stdout)["warning"]
    assert (warning is None) == (keeps is None)
    assert warning is None or warning.endswith(keeps)


def a_group(tmp_path, **more):
    (path := tmp_path / "group.json").write_text(
        json.dumps(
            {
                "kind": "group-snapshot",
                "format_version": "1.3",
                "topics": {"orders": 3, "payments": 3},
                "strategy": "range",
                "members": [
                    {
                        "id": name,
                        "topics": ["orders", "payments"],
                        "partitions": {"orders": mine, "payments": mine},
                    }
                    for name, mine in (("a", [0, 1]), ("b", [2]))
                ],
            }
            | more
        )
    )
    return path


def test_a_group_tells_its_strategy_its_clients_and_its_topics(run, tmp_path):
    found = run(a_group(tmp_path, clients=["java", "librdkafka"]), "uniform")
    assert found.exit_code == 1
    assert found.stdout.startswith("No rolling bounce is safe: where a librdkafka member leads")
    assert (
        "warning: Co-partitioned reading of orders and payments ends; broker-range keeps it." in found.stdout
    )
    found = run(a_group(tmp_path, clients=["java"]), "broker-range", "-o", "json")
    assert (found.exit_code, json.loads(found.stdout)["assumed"]) == (0, [])


def test_without_bytes_java_is_assumed(run, tmp_path):
    found = run(a_group(tmp_path), "cooperative-sticky")
    assert found.exit_code == 0
    assert (
        "assumed: all members are Java clients: the source does not show it; set others with --client"
        in found.stdout
    )
    assert "assumed" not in run(a_group(tmp_path), "cooperative-sticky", "--client", "java").stdout


def test_a_cluster_that_does_not_know_the_protocol_is_no_way(run, tmp_path):
    found = run(a_group(tmp_path, group_version=0), "uniform")
    assert (found.exit_code, "group.version is 0" in found.stdout) == (1, True)


def test_a_source_that_tells_no_strategy_is_trouble(run, tmp_path):
    found = run(a_group(tmp_path, strategy=None), "uniform")
    assert (found.exit_code, found.stdout) == (2, "")
    assert "capture --describe --state, too" in found.stderr


def test_shells_complete_the_clients():
    (option,) = (each for each in migrate.params if each.name == "clients")
    assert [item.value for item in option.shell_complete(None, "")] == list(CLIENTS)
    assert [item.value for item in option.shell_complete(None, "li")] == ["librdkafka"]


def test_settings_to_remove_are_said(run):
    assert run("range", "uniform").stdout.splitlines()[:5] == [
        "1 rolling bounce leads to uniform:",
        "1. to uniform",
        "   java: group.protocol=consumer",
        "   java: group.remote.assignor=uniform",
        "   java: remove partition.assignment.strategy",
    ]


def test_no_bounce_of_a_librdkafka_group_to_the_consumer_protocol_is_called_safe(run):
    result = run("cooperative-sticky", "uniform", "--client", "librdkafka")
    assert result.exit_code == 1
    assert result.stdout.startswith("No rolling bounce is safe: where a librdkafka member leads")


def test_settings_to_remove_are_said_for_every_client(run):
    lines = run("uniform", "range", "--client", "java", "--client", "librdkafka").stdout.splitlines()
    assert {f"   {client}: remove group.remote.assignor" for client in ("java", "librdkafka")} <= {*lines}


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["range", "uniform", "--client", "confluent-kafka"], "did you mean librdkafka?"),
        (["range", "consumer"], "did you mean uniform"),
    ],
)
def test_names_that_people_use_lead_to_the_right_one(run, arguments, hint):
    result = run(*arguments)
    assert result.exit_code == 2
    assert hint in result.stderr


def test_where_there_is_no_way_the_exit_code_is_1_and_the_group_has_to_stop(run):
    result = run("range", "cooperative-sticky", "--client", "librdkafka")
    assert result.exit_code == 1
    assert result.stdout.splitlines() == [
        (
            "No rolling bounce is safe: old and new members need a strategy in common, but librdkafka "
            "refuses eager and cooperative strategies in one list."
        ),
        "Stop all members, wait until the group is empty, and start them with the new settings.",
        (
            "warning: co-partitioned reading ends: range gives equal numbers of equally large topics to one "
            "member, cooperative-sticky does not; range keeps it"
        ),
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
        "assumed": [],
        "warning": "co-partitioned reading ends: range gives equal numbers of equally large topics to one "
        "member, roundrobin does not; range keeps it",
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
        (["range", "sticky", "--client", "sarama"], "'sarama' is none of"),
    ],
)
def test_bad_input_is_2(run, arguments, fault):
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert fault in result.stderr
    assert "bug" not in result.stderr
