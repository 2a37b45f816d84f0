"""The steps of `copartition migrate`, taken by real clients."""

import json
import uuid

from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource

from copartition.groups.offers import offered_lists
from copartition.kit.evidence import Evidence, Missing
from copartition.migrate.command import migrate
from copartition.migrate.migration import migrate_group, plan_migration
from tests.copartition.groups.worker import read_or_nobody
from tests.support.commands import invoker
from tests.support.waiting import GENEROUS_S, wait_for

CLASSIC = {
    "partition.assignment.strategy": "range",
    "session.timeout.ms": 45_000,
    "heartbeat.interval.ms": 1_000,
    "group.protocol.type": "consumer",
}
"""What people set, all of which librdkafka refuses under the consumer protocol."""


def settled(group, broker, members):
    """The group, once it has so many members and is stable."""
    return wait_for(
        lambda: read_or_nobody(group, broker)[0],
        lambda state: state.status == "Stable" and len(state.members) == members and state.strategy,
    )


def settings_after(config, bounce):
    """A client's settings after those of a bounce."""
    new = config | bounce.settings["librdkafka"]
    return {name: value for name, value in new.items() if value is not None}


def test_a_member_starts_with_the_printed_settings_and_the_rest_is_known_to_be_left(broker, workers):
    group, topic = f"migrate-{uuid.uuid4()}", broker.create_topic(4)
    old = workers(group, topic, "old", **CLASSIC)
    (bounce,) = migrate_group(settled(group, broker, 1), ["uniform"], clients=["librdkafka"]).bounces

    workers(group, topic, "new", **settings_after(CLASSIC, bounce))
    state = settled(group, broker, 2)
    assert {member.client_id: member.protocol for member in state.members} == {
        "old": "classic",
        "new": "consumer",
    }
    assert isinstance(offered_lists(state), Missing)
    left = migrate_group(state, ["uniform"], clients=["librdkafka"])
    assert left.remaining == ("old",)

    old.stop()
    workers(group, topic, "last", **settings_after(CLASSIC, left.bounces[0]))
    state = settled(group, broker, 2)
    assert isinstance(migrate_group(state, ["uniform"]).ground, Evidence)
    assert migrate_group(state, ["uniform"]).bounces == ()


def test_the_printed_command_gives_the_group_its_timeouts(broker):
    """Its arguments are given to the brokers as kafka-configs.sh does, which takes a JVM to start."""
    name = f"migrate-{uuid.uuid4()}"
    (bounce,) = plan_migration(["range"], ["uniform"], group=name).bounces
    words = bounce.commands[0].split()
    kind, group, added = (
        words[words.index(option) + 1] for option in ("--entity-type", "--entity-name", "--add-config")
    )
    assert (kind, group) == ("groups", name)
    given = dict(pair.split("=") for pair in added.split(","))
    entries = [ConfigEntry(*pair, incremental_operation=AlterConfigOpType.SET) for pair in given.items()]
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    changed = ConfigResource(ConfigResource.Type.GROUP, group, incremental_configs=entries)
    admin.incremental_alter_configs([changed], request_timeout=GENEROUS_S)[changed].result()
    asked = ConfigResource(ConfigResource.Type.GROUP, group)

    def timeouts():
        described = admin.describe_configs([asked], request_timeout=GENEROUS_S)[asked].result()
        return {name: described[name].value for name in given}

    # The answer comes before the broker that is asked has taken over the change.
    wait_for(timeouts, lambda found: found == given)


def test_all_groups_of_a_cluster_are_read_for_one_table(broker, workers):
    name = f"migrate-{uuid.uuid4()}"
    workers(name, broker.create_topic(2), "pod", **CLASSIC)
    settled(name, broker, 1)
    asked = invoker(migrate)("--all-groups", "uniform", "-b", broker.bootstrap_servers, "-o", "json")
    document = json.loads(asked.stdout)
    [group] = [group for group in document["groups"] if group["group"] == name]
    assert (group["way"], group["members"]) == ("1 bounce", 1)
