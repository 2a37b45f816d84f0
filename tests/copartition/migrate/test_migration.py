"""Rolling bounces from one strategy to another: each is run by the simulator."""

import pytest

from assignors.group import Topic
from copartition.migrate.migration import plan_migration
from copartition.simulation import Consumer, Join, Leave, Scenario, simulate
from partitioning.errors import MigrationError


def steps(before, after, **options):
    found = plan_migration(before.split(), after.split(), **options)
    assert found.obstacle is None
    return [",".join(bounce.strategies) for bounce in found.bounces]


def roll(before, lists, client="java"):
    """The log and the last assignment of a group that goes through bounces to these lists."""
    consumers = [Consumer(f"c{number}-0", client=client, assignors=before) for number in range(3)]
    events, at_ms = [], 0
    for turn, strategies in enumerate(lists):
        for number in range(3):
            at_ms += 60_000
            again = Consumer(f"c{number}-{turn + 1}", client=client, assignors=strategies)
            events += [Leave(at_ms, f"c{number}-{turn}"), Join(at_ms + 1_000, again)]
    result = simulate(Scenario((Topic("t", 7),), consumers, events, before[0]))
    return {entry.what for entry in result.log}, result.steps[-1].assignment


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("range", "range", []),
        ("range", "cooperative-sticky", ["cooperative-sticky,range", "cooperative-sticky"]),
        ("cooperative-sticky", "range", ["range,cooperative-sticky", "range"]),
        ("sticky", "roundrobin", ["roundrobin,sticky", "roundrobin"]),
        ("range roundrobin", "roundrobin", ["roundrobin"]),
        ("range cooperative-sticky", "cooperative-sticky", ["cooperative-sticky"]),
        ("range", "uniform", ["uniform"]),
        ("cooperative-sticky range", "broker-range", ["broker-range"]),
        ("uniform", "cooperative-sticky", ["cooperative-sticky"]),
        ("uniform", "broker-range", ["broker-range"]),
    ],
)
def test_java_has_a_way_that_the_simulator_lets_pass(before, after, expected):
    assert steps(before, after) == expected
    if expected:
        log, assignment = roll(tuple(before.split()), [tuple(each.split(",")) for each in expected])
        assert "refused" not in log
        assert {each.partition for mine in assignment.values() for each in mine} == set(range(7))


@pytest.mark.parametrize("client", ["java", "librdkafka", "kafka-python"])
@pytest.mark.parametrize(
    ("before", "after"), [("range", "cooperative-sticky"), ("roundrobin", "range"), ("range", "uniform")]
)
def test_there_is_a_way_where_the_simulator_refuses_nobody(client, before, after):
    found = plan_migration([before], [after], clients=[client])
    if (client, after) == ("librdkafka", "uniform"):
        assert "user data" in found.obstacle  # a broker refuses it by bytes that the simulator does not have
        return
    lists = [bounce.strategies for bounce in found.bounces]
    if found.obstacle is not None:
        lists = [(after,)] if after == "uniform" else [(after, before)]
    log, _ = roll((before,), lists, client)
    assert ("refused" in log) == (found.obstacle is not None)


@pytest.mark.parametrize(
    ("before", "after", "options", "obstacle"),
    [
        (
            "range",
            "cooperative-sticky",
            {"clients": ["librdkafka"]},
            "librdkafka refuses eager and cooperative",
        ),
        ("range", "cooperative-sticky", {"clients": ["java", "kafka-python"]}, "kafka-python refuses eager"),
        ("range", "sticky", {"clients": ["librdkafka"]}, "librdkafka has no strategy sticky"),
        ("range", "optimal", {}, "java has no strategy optimal but a class of your own"),
        ("range", "cooperative-sticky", {"clients": ["aiokafka"]}, "aiokafka knows eager rebalances only"),
        ("range", "uniform", {"group_version": 0}, "its feature group.version is 0"),
        (
            "range",
            "uniform",
            {"clients": ["java", "kafka-python"]},
            "kafka-python does not speak the consumer",
        ),
        (
            "range",
            "uniform",
            {"clients": ["librdkafka"]},
            "where a librdkafka member leads, assignments carry user data",
        ),
        ("range", "broker-range", {"clients": ["java", "librdkafka"]}, "the broker converts no such group"),
        ("range", "uniform", {"policy": "disabled"}, "policy=disabled lets no group be converted"),
        ("range", "uniform", {"policy": "downgrade"}, "upgrade or bidirectional does"),
        ("uniform", "range", {"policy": "upgrade"}, "downgrade or bidirectional does"),
    ],
)
def test_why_there_is_no_way(before, after, options, obstacle):
    found = plan_migration([before], [after], **options)
    assert found.bounces == ()
    assert obstacle in found.obstacle


def test_the_policy_concerns_conversions_only():
    for policy in ("disabled", "upgrade", "downgrade", "bidirectional"):
        assert steps("uniform", "broker-range", policy=policy) == ["broker-range"]
        assert len(steps("range", "sticky", policy=policy)) == 2


@pytest.mark.parametrize(
    ("before", "after", "client", "settings"),
    [
        (
            "range",
            "uniform",
            "java",
            [
                {
                    "group.protocol": "consumer",
                    "group.remote.assignor": "uniform",
                    "partition.assignment.strategy": None,
                }
            ],
        ),
        (
            "broker-range",
            "roundrobin",
            "librdkafka",
            [
                {
                    "partition.assignment.strategy": "roundrobin",
                    "group.protocol": "classic",
                    "group.remote.assignor": None,
                }
            ],
        ),
        (
            "uniform",
            "broker-range",
            "java",
            [{"group.protocol": "consumer", "group.remote.assignor": "range"}],
        ),
        (
            "range",
            "sticky",
            "kafka-python",
            [
                {"partition_assignment_strategy": "[StickyPartitionAssignor, RangePartitionAssignor]"},
                {"partition_assignment_strategy": "[StickyPartitionAssignor]"},
            ],
        ),
        (
            "range roundrobin",
            "roundrobin",
            "java",
            [
                {
                    "partition.assignment.strategy": "org.apache.kafka.clients.consumer.RoundRobinAssignor",
                }
            ],
        ),
    ],
)
def test_every_client_is_told_its_own_settings(before, after, client, settings):
    found = plan_migration(before.split(), after.split(), clients=[client])
    assert [bounce.settings for bounce in found.bounces] == [{client: each} for each in settings]


@pytest.mark.parametrize(
    ("before", "after", "clients", "fault"),
    [
        ([], ["range"], ["java"], "name one or more"),
        (["range", "range"], ["sticky"], ["java"], "each once"),
        (["range"], ["uniform", "range"], ["java"], "uniform is the broker's"),
        (["sticky"], ["range"], ["librdkafka"], "no member can have sticky now"),
    ],
)
def test_what_cannot_be_configured_is_refused(before, after, clients, fault):
    with pytest.raises(MigrationError, match=fault):
        plan_migration(before, after, clients=clients)


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"clients": ["sarama"]}, "'sarama' is none of java, librdkafka, kafka-python, aiokafka"),
        ({"policy": "always"}, "'always' is none of disabled, upgrade, downgrade, bidirectional"),
    ],
)
def test_a_client_or_policy_that_is_not_known_is_refused(options, fault):
    with pytest.raises(MigrationError, match=fault):
        plan_migration(["range"], ["sticky"], **options)


@pytest.mark.parametrize(
    ("client", "setting", "expected"),
    [
        (
            "kafka-python",
            "partition_assignment_strategy",
            '[KafkaPythonAssignor("optimal"), RangePartitionAssignor]',
        ),
        (
            "aiokafka",
            "partition_assignment_strategy",
            '[aiokafka_assignor("optimal"), RangePartitionAssignor]',
        ),
    ],
)
def test_a_strategy_that_a_client_does_not_come_with_is_no_setting_by_its_name(client, setting, expected):
    first, _ = plan_migration(["range"], ["optimal"], clients=[client]).bounces
    assert first.settings[client][setting] == expected
