"""`copartition migrate`."""

import json
from itertools import product

import pytest

from copartition.migrate.clients import CLIENTS
from copartition.migrate.command import migrate
from tests.support.commands import invoker


@pytest.fixture(scope="module")
def run():
    return invoker(migrate)


RULE = (
    "evidence: the coordinator's rule: it accepts no member without a strategy that all others have, too "
    "(KIP-429)"
)


def test_eager_to_cooperative_takes_two_bounces(run):
    result = run("range", "cooperative-sticky")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[:8] == [
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
        RULE,
    ]
    assert [line.partition(":")[0] for line in lines[8:]] == ["evidence", "assumed", "warning"]


def test_javas_default_list_needs_one_bounce(run):
    result = run("range,cooperative-sticky", "cooperative-sticky")
    assert result.stdout.startswith(
        "1 rolling bounce leads to cooperative-sticky:\n1. to cooperative-sticky\n"
    )


@pytest.mark.parametrize(
    ("before", "after", "keeps"),
    [
        ("range", "uniform", "broker-range does"),
        ("range", "broker-range", None),
        ("roundrobin", "uniform", None),
        ("broker-range", "sticky", "range does"),
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
    assert found.exit_code == 0
    assert found.stdout.startswith("1 rolling bounce leads to uniform:\n1. to uniform\n")
    assert (
        "warning: Co-partitioned reading of orders and payments ends; broker-range keeps it." in found.stdout
    )
    assert (
        "evidence: librdkafka, range to uniform on Kafka 4.3.1 and 4.4.0: 4 of 4 groups lived" in found.stdout
    )
    found = run(a_group(tmp_path, clients=["java"], group_version=1), "broker-range", "-o", "json")
    policy, lists = json.loads(found.stdout)["ground"]["assumed"]
    assert policy == "group.consumer.migration.policy of the brokers is bidirectional"
    assert lists.startswith("no member offers more than range, which no source shows")


@pytest.mark.parametrize("topics", [{"orders": 3}, {"orders": 12, "payments": 3}])
def test_topics_that_nobody_can_join_by_number_are_no_warning(run, tmp_path, topics):
    members = [
        {
            "id": name,
            "topics": [*topics],
            "partitions": {topic: [*range(number, count, 2)] for topic, count in topics.items()},
        }
        for number, name in enumerate("ab")
    ]
    found = run(a_group(tmp_path, topics=topics, members=members), "cooperative-sticky")
    assert found.exit_code == 0
    assert "warning" not in found.stdout


def test_without_bytes_java_is_assumed(run, tmp_path):
    found = run(a_group(tmp_path), "cooperative-sticky")
    assert found.exit_code == 0
    java = "assumed: all members are Java clients: the source does not show it; set others with --client"
    assert java in found.stdout
    assert java not in run(a_group(tmp_path), "cooperative-sticky", "--client", "java").stdout


def test_a_cluster_that_does_not_know_the_protocol_is_no_way(run, tmp_path):
    found = run(a_group(tmp_path, group_version=0), "uniform")
    assert found.exit_code == 1
    assert found.stdout.splitlines() == [
        "No rolling bounce leads to uniform: the brokers do not know the consumer protocol (KIP-848).",
        "There is no way until the brokers are upgraded.",
        "evidence: the cluster's feature group.version is 0",
        "assumed: all members are Java clients: the source does not show it; set others with --client",
    ]


def test_a_source_that_tells_no_strategy_has_the_default_which_is_assumed(run, tmp_path):
    found = run(a_group(tmp_path, strategy=None), "cooperative-sticky")
    told = run(a_group(tmp_path, strategy="range"), "cooperative-sticky")
    assert (found.exit_code, found.stdout.splitlines()[0]) == (0, told.stdout.splitlines()[0])
    assert "does not tell which assignor the group uses; taken for 'range'" in found.stdout


def members_that_speak(*protocols):
    return [
        {
            "id": f"m{number}",
            "client_id": f"pod-{number}",
            "topics": ["orders"],
            "partitions": {"orders": [number]},
        }
        | ({} if protocol is None else {"protocol": protocol})
        for number, protocol in enumerate(protocols)
    ]


def a_group_that_speaks(tmp_path, strategy, *protocols, **more):
    members = members_that_speak(*protocols)
    kind = "consumer" if strategy in {"uniform", "broker-range"} else "classic"
    topics = {"orders": len(members)}
    return a_group(tmp_path, strategy=strategy, protocol=kind, members=members, topics=topics, **more)


def test_a_group_whose_lists_nobody_sees_is_unknown(run, tmp_path):
    found = run(
        a_group_that_speaks(tmp_path, "cooperative-sticky", "cooperative", None, None), "cooperative-sticky"
    )
    assert found.exit_code == 2
    what, remedy = found.stdout.splitlines()
    assert what == (
        "Unknown: the list of strategies of each member; the coordinator tells only that all have "
        "cooperative-sticky."
    )
    assert remedy == (
        "look at partition.assignment.strategy in the configuration of each member; if a list has more than "
        "cooperative-sticky, name it: copartition migrate cooperative-sticky,OTHER cooperative-sticky."
    )
    missing = json.loads(run(tmp_path / "group.json", "cooperative-sticky", "-o", "json").stdout)["ground"]
    assert missing.keys() == {"what", "remedy"}


def test_members_that_kept_partitions_when_they_joined_again_have_no_eager_strategy(run, tmp_path):
    kept = ["cooperative"] * 3
    found = run(a_group_that_speaks(tmp_path, "cooperative-sticky", *kept), "cooperative-sticky")
    assert (found.exit_code, found.stdout.splitlines()) == (
        0,
        [
            "Nothing has to change.",
            "evidence: 3 members kept partitions when joining again: no list has an eager strategy",
        ],
    )


def test_clients_that_take_no_mixed_list_have_none(run, tmp_path):
    group = a_group_that_speaks(tmp_path, "cooperative-sticky", None, None, clients=["librdkafka"])
    found = run(group, "cooperative-sticky")
    assert (found.exit_code, "librdkafka's, which refuse eager" in found.stdout) == (0, True)


def test_classic_members_that_are_left_in_a_converted_group_are_counted(run, tmp_path):
    group = a_group_that_speaks(tmp_path, "uniform", "classic", "consumer", "classic")
    found = run(group, "uniform")
    assert found.exit_code == 0
    lines = found.stdout.splitlines()
    assert (
        lines[0]
        == "If all members are Java clients, 1 rolling bounce leads to uniform, of pod-0 and pod-2 only:"
    )
    assert lines[1] == "1. to uniform"
    assert "   java: remove session.timeout.ms" in lines
    assert "evidence: 2 of 3 members speak the classic protocol, by their member type" in lines
    assert json.loads(run(group, "uniform", "-o", "json").stdout)["remaining"] == ["pod-0", "pod-2"]


def test_another_assignor_of_a_half_converted_group_is_for_all_members(run, tmp_path):
    group = a_group_that_speaks(tmp_path, "uniform", "classic", "consumer")
    found = json.loads(run(group, "broker-range", "-o", "json").stdout)
    assert found["remaining"] == []
    assert found["bounces"][0]["settings"]["java"]["partition.assignment.strategy"] is None


def test_a_converted_group_has_nothing_to_change(run, tmp_path):
    found = run(a_group_that_speaks(tmp_path, "uniform", *["consumer"] * 3), "uniform")
    assert (found.exit_code, found.stdout.splitlines()) == (
        0,
        [
            "Nothing has to change.",
            "evidence: the member type of 3 members: all speak the consumer protocol (KIP-848)",
            "assumed: every member asks the brokers for this assignor or for none, which no source shows",
        ],
    )


@pytest.mark.parametrize(
    ("protocols", "after", "what"),
    [
        ([None, None], "uniform", "Unknown: whether all members speak the consumer protocol."),
        (["classic", "consumer"], "range", "Unknown: which strategies 1 of 2 members offer"),
    ],
)
def test_a_converted_group_that_hides_what_matters_is_unknown(run, tmp_path, protocols, after, what):
    found = run(a_group_that_speaks(tmp_path, "uniform", *protocols), after)
    assert (found.exit_code, found.stdout.startswith(what)) == (2, True)


def test_shells_complete_the_clients():
    (option,) = (parameter for parameter in migrate.params if parameter.name == "clients")
    assert [item.value for item in option.shell_complete(None, "")] == list(CLIENTS)
    assert [item.value for item in option.shell_complete(None, "li")] == ["librdkafka"]


def test_settings_to_remove_are_said(run):
    lines = run("range", "uniform", "--client", "librdkafka").stdout.splitlines()
    assert lines[:2] == ["1 rolling bounce leads to uniform:", "1. to uniform"]
    assert lines[4:10] == [
        "   librdkafka: group.protocol=consumer",
        "   librdkafka: group.remote.assignor=uniform",
        *(
            f"   librdkafka: remove {name}"
            for name in (
                "partition.assignment.strategy",
                "session.timeout.ms",
                "heartbeat.interval.ms",
                "group.protocol.type",
            )
        ),
    ]


def test_a_stop_is_the_last_resort_and_says_what_it_stops(run):
    result = run("cooperative-sticky", "uniform", "--client", "librdkafka")
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert lines[0] == (
        "No rolling bounce leads to uniform: brokers of Kafka 4.3.1 and 4.4.0 refuse to convert librdkafka "
        "groups of cooperative-sticky."
    )
    assert lines[1:3] == [
        "Only a stop of the whole group does: let all members leave, then start all of them.",
        "to uniform",
    ]
    assert "   meanwhile nobody reads: no partition is read from when the last member leaves" in result.stdout


def test_settings_to_remove_are_said_for_every_client(run):
    lines = run("uniform", "range", "--client", "java", "--client", "librdkafka").stdout.splitlines()
    assert {f"   {client}: remove group.remote.assignor" for client in ("java", "librdkafka")} <= {*lines}


@pytest.mark.parametrize("name", ["confluent-kafka", "karafka", "confluent-kafka-dotnet"])
def test_a_tool_leads_to_its_client(run, name):
    told = run("range", "cooperative-sticky", "--client", "librdkafka").stdout
    assert run("range", "cooperative-sticky", "--client", name).stdout == told


@pytest.mark.parametrize(("arguments", "hint"), [(["range", "consumer"], "did you mean uniform")])
def test_names_that_people_use_lead_to_the_right_one(run, arguments, hint):
    result = run(*arguments)
    assert result.exit_code == 2
    assert hint in result.stderr


def test_the_same_strategies_need_nothing(run):
    result = run("range, roundrobin", "range,roundrobin")
    assert (result.exit_code, result.stdout.splitlines()) == (
        0,
        [
            "Nothing has to change.",
            "evidence: the strategies named for now and then are the same: range,roundrobin",
        ],
    )


def test_json_says_the_same(run):
    found = json.loads(run("range,roundrobin", "roundrobin", "--client", "librdkafka", "-o", "json").stdout)
    ground = {"sources": [RULE.removeprefix("evidence: ")], "assumed": []}
    assert found == {
        "bounces": [
            {
                "strategies": ["roundrobin"],
                "settings": {"librdkafka": {"partition.assignment.strategy": "roundrobin"}},
                "commands": [],
                "meanwhile": ["roundrobin"],
                "why": "all members have roundrobin; the coordinator chooses what all have",
                "ground": ground,
            }
        ],
        "ground": ground,
        "obstacle": None,
        "instead": None,
        "stop": None,
        "remaining": [],
        "warning": "if the application joins topics of equal partition counts by partition, that ends: "
        "roundrobin does not give equal numbers to one member, range does",
        "stops": None,
        "stops_missing": None,
    }
    refused = json.loads(run("range", "uniform", "--migration-policy", "disabled", "-o", "json").stdout)
    assert refused["bounces"] == []
    assert "group.consumer.migration.policy=disabled" in refused["obstacle"]


@pytest.mark.parametrize("client", CLIENTS)
def test_no_headline_takes_more_than_160_characters(run, client):
    for before, after in product(("range", "cooperative-sticky", "uniform"), repeat=2):
        result = run(before, after, "--client", client)
        assert all(len(line) < 160 for line in result.stdout.splitlines()[:1])


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
