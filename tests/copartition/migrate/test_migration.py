"""Rolling bounces from one strategy to another: each is run by the simulator."""

import pytest

from assignors.group import Topic
from copartition.kit.evidence import Evidence
from copartition.migrate.clients import CLIENTS
from copartition.migrate.migration import migration_verdict, plan_migration
from copartition.migrate.walks import walk_table
from copartition.simulation import Consumer, Join, Leave, Scenario, simulate
from partitioning.errors import MigrationError
from tests.support.tiers import sample


def steps(before, after, **options):
    found = plan_migration(before.split(), after.split(), **options)
    assert isinstance(found.ground, Evidence)
    assert all(bounce.ground.sources for bounce in found.bounces)
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
        log, assignment = roll(tuple(before.split()), [tuple(step.split(",")) for step in expected])
        assert "refused" not in log
        assert {partition.partition for mine in assignment.values() for partition in mine} == set(range(7))


@pytest.mark.parametrize("client", ["java", "librdkafka", "kafka-python"])
@pytest.mark.parametrize(
    ("before", "after"), [("range", "cooperative-sticky"), ("roundrobin", "range"), ("range", "uniform")]
)
def test_there_is_a_way_where_the_simulator_refuses_nobody(client, before, after):
    found = plan_migration([before], [after], clients=[client])
    lists = [bounce.strategies for bounce in found.bounces]
    if found.obstacle is not None:
        lists = [(after,)] if after == "uniform" else [(after, before)]
    log, _ = roll((before,), lists, client)
    assert ("refused" in log) == (found.obstacle is not None)


NO_STRATEGY = "Stay with range, or move to a client that has"


@pytest.mark.parametrize(
    ("before", "after", "options", "obstacle", "instead"),
    [
        ("range", "sticky", {"clients": ["librdkafka"]}, "librdkafka has no strategy sticky", NO_STRATEGY),
        ("range", "optimal", {}, "java has no strategy optimal but a class of your own", NO_STRATEGY),
        (
            "range",
            "cooperative-sticky",
            {"clients": ["aiokafka"]},
            "aiokafka knows eager rebalances only",
            NO_STRATEGY,
        ),
        (
            "range",
            "uniform",
            {"clients": ["java", "kafka-python"]},
            "kafka-python does not speak the consumer",
            NO_STRATEGY,
        ),
        (
            "range",
            "uniform",
            {"group_version": 0},
            "the brokers do not know the consumer protocol (KIP-848)",
            "There is no way until the brokers are upgraded.",
        ),
        (
            "cooperative-sticky",
            "uniform",
            {"group_version": 0, "clients": ["librdkafka"]},
            "the brokers do not know the consumer protocol (KIP-848)",
            "There is no way until the brokers are upgraded.",
        ),
        (
            "range",
            "uniform",
            {"policy": "disabled"},
            "policy=disabled lets no group be converted",
            "Set it to upgrade or bidirectional on all brokers first.",
        ),
        ("range", "uniform", {"policy": "downgrade"}, "policy=downgrade", "Set it to upgrade"),
        ("uniform", "range", {"policy": "upgrade"}, "policy=upgrade", "Set it to downgrade"),
    ],
)
def test_where_a_stop_does_not_help_none_is_ordered(before, after, options, obstacle, instead):
    found = plan_migration(before.split(), after.split(), **options)
    assert (found.bounces, found.stop, found.warning) == ((), None, None)
    assert obstacle in found.obstacle
    assert found.instead.startswith(instead)


@pytest.mark.parametrize(
    ("before", "after", "options", "obstacle"),
    [
        ("cooperative-sticky", "uniform", {"clients": ["librdkafka"]}, "refuse to convert librdkafka groups"),
        ("cooperative-sticky", "broker-range", {"clients": ["java", "librdkafka"]}, "refuse to convert"),
        ("cooperative-sticky", "range", {"clients": ["librdkafka"]}, "librdkafka refuses eager and cooperat"),
        (
            "range",
            "cooperative-sticky",
            {"clients": ["librdkafka"], "group_version": 0},
            "librdkafka refuses eager and cooperative strategies in one list",
        ),
        ("range", "cooperative-sticky", {"clients": ["java", "kafka-python"]}, "kafka-python refuses eager"),
    ],
)
def test_a_stop_is_named_where_walks_show_that_nothing_milder_works(before, after, options, obstacle):
    found = plan_migration([before], [after], **options)
    assert (found.bounces, found.instead) == ((), None)
    assert obstacle in found.obstacle
    assert found.stop.strategies == (after,)
    assert found.stop.meanwhile == ()
    assert any("all members stopped" in text and "0 of" not in text for text in found.stop.ground.sources)
    assert {*options["clients"]} == {*found.stop.settings}


def test_librdkafka_goes_from_eager_to_cooperative_over_the_consumer_protocol():
    options = {"clients": ["librdkafka"]}
    assert steps("range", "cooperative-sticky", **options) == ["uniform", "cooperative-sticky"]
    assert steps("roundrobin", "cooperative-sticky", **options) == ["uniform", "cooperative-sticky"]


@pytest.mark.parametrize("client", ["java", "librdkafka"])
def test_every_conversion_was_walked(client):
    classic = {
        strategy
        for walk in walk_table()
        for strategy in (*walk.way[0], *walk.way[-1])
        if walk.clients == (client,) and strategy not in {"uniform", "broker-range"}
    }
    walked = {(walk.way, kafka) for walk in walk_table() for kafka in walk.kafka if walk.clients == (client,)}
    for strategy in classic:
        for remote in ("uniform", "broker-range"):
            for way in (((strategy,), (remote,)), ((remote,), (strategy,))):
                assert {(way, "4.3.1"), (way, "4.4.0")} <= walked


@pytest.mark.parametrize("walk", sample([walk for walk in walk_table() if walk.how == "rolling"], 3), ids=str)
def test_no_way_is_called_safe_that_a_group_did_not_survive(walk):
    try:
        found = plan_migration(walk.way[0], walk.way[-1], clients=walk.clients)
    except MigrationError:
        pytest.skip("these clients cannot have this")
    said = tuple(bounce.strategies for bounce in found.bounces)
    assert (said == walk.way[1:]) <= (walk.lived == walk.groups)


@pytest.mark.parametrize(
    ("before", "after", "clients", "sentence"),
    [
        ("range", "sticky", (), "range to sticky: 2 rolling bounces if all clients are Java's."),
        ("range", "uniform", ("java",), "range to uniform: 1 rolling bounce."),
        (
            "range",
            "cooperative-sticky",
            ("kafka-python",),
            "range to cooperative-sticky: no rolling bounce, as kafka-python refuses eager and cooperative",
        ),
        ("range", "in-turns", (), "range to in-turns: no way is known here."),
    ],
)
def test_the_verdict_is_one_short_sentence(before, after, clients, sentence):
    found = migration_verdict(before, after, clients)
    assert found.startswith(sentence)
    assert found.count(". ") == 0


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("after", sample(["uniform", "range", "cooperative-sticky", "sticky"], 2))
@pytest.mark.parametrize("before", ["range", "cooperative-sticky", "broker-range"])
def test_no_verdict_takes_more_than_160_characters(client, before, after):
    assert len(migration_verdict(before, after, (client,), 1)) < 160


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
                    "session.timeout.ms": None,
                    "heartbeat.interval.ms": None,
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
            [{"partition.assignment.strategy": "org.apache.kafka.clients.consumer.RoundRobinAssignor"}],
        ),
    ],
)
def test_every_client_is_told_its_own_settings(before, after, client, settings):
    found = plan_migration(before.split(), after.split(), clients=[client])
    assert [bounce.settings for bounce in found.bounces] == [{client: wanted} for wanted in settings]


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


def test_timeouts_move_to_the_group_when_its_members_lose_them():
    (bounce,) = plan_migration(["range"], ["uniform"], group="my group").bounces
    (command,) = bounce.commands
    assert command == (
        "kafka-configs.sh --bootstrap-server HOST:PORT --alter --entity-type groups --entity-name 'my group' "
        "--add-config consumer.session.timeout.ms=45000,consumer.heartbeat.interval.ms=5000"
    )
    assert [bounce.commands for bounce in plan_migration(["uniform"], ["broker-range"]).bounces] == [()]
    assert [bounce.commands for bounce in plan_migration(["uniform"], ["range"]).bounces] == [()]


def test_what_nothing_shows_of_the_brokers_is_assumed():
    known = plan_migration(["range"], ["uniform"], group_version=1).ground
    assert known.assumed == ("group.consumer.migration.policy of the brokers is bidirectional",)
    assert (
        "the brokers know the consumer protocol" in plan_migration(["range"], ["uniform"]).ground.assumed[1]
    )
    assert plan_migration(["range"], ["sticky"]).ground.assumed == ()


def test_javas_default_list_is_told_from_range_alone():
    (text,) = plan_migration(["range"], ["cooperative-sticky"]).ground.assumed
    assert text.endswith(
        "without this setting have range,cooperative-sticky, and if all do, the last bounce is enough"
    )
    assert plan_migration(["range", "cooperative-sticky"], ["cooperative-sticky"]).ground.assumed == ()
