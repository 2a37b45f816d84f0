"""What a cluster that does not let us in is told to be, at once."""

import subprocess
import time
from contextlib import contextmanager

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaException, TopicPartition
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from assignors.cli.client_settings import client_settings
from assignors.errors import SourceError
from assignors.sources import read_live
from tests.support.broker import Broker, Kafka, free_ports
from tests.support.secured import settings

pytestmark = pytest.mark.broker

LISTENERS = """
listeners=PLAINTEXT://127.0.0.1:{{port}},CONTROLLER://127.0.0.1:{{controller_port}},\
VALID://127.0.0.1:{valid},EXPIRED://127.0.0.1:{expired}
advertised.listeners=PLAINTEXT://127.0.0.1:{{port}},VALID://127.0.0.1:{valid},EXPIRED://127.0.0.1:{expired}
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,VALID:SSL,EXPIRED:SSL
"""
STORE = """
listener.name.{name}.ssl.keystore.type=PKCS12
listener.name.{name}.ssl.keystore.location={folder}/{name}.p12
listener.name.{name}.ssl.keystore.password=changeit
"""


@contextmanager
def told_within(seconds, fault):
    """The error, and soon."""
    begun = time.monotonic()
    with pytest.raises(SourceError, match=fault):
        yield
    assert time.monotonic() - begun < seconds


def keytool(folder, name, *arguments):
    store = ["-keystore", folder / f"{name}.p12", "-storepass", "changeit", "-alias", name]
    subprocess.run(["keytool", *arguments, *store], check=True, capture_output=True)


@pytest.fixture(scope="module")
def encrypted(tmp_path_factory):
    """Settings for a listener by name, each with a certificate of its own; "plain" has none."""
    folder = tmp_path_factory.mktemp("certificates")
    for name, start in (("valid", "-1d"), ("expired", "-9d")):
        names = ["-dname", "CN=localhost", "-ext", "san=ip:127.0.0.1"]
        lasts = ["-startdate", start, "-validity", "5"]
        keytool(folder, name, "-genkeypair", "-keyalg", "EC", "-storetype", "PKCS12", *names, *lasts)
        keytool(folder, name, "-exportcert", "-rfc", "-file", folder / f"{name}.pem")
    valid, expired = free_ports(2)
    stores = "".join(STORE.format(name=name, folder=folder) for name in ("valid", "expired"))
    with Broker(LISTENERS.format(valid=valid, expired=expired) + stores) as own:
        topic = Kafka(own.bootstrap_servers).create_topic(2)
        commit(AdminClient({"bootstrap.servers": own.bootstrap_servers}), "billing", topic)
        trusts = {
            name: {
                "bootstrap.servers": f"127.0.0.1:{port}",
                "security.protocol": "SSL",
                "ssl.truststore.type": "PEM",
                "ssl.truststore.location": str(folder / f"{name}.pem"),
            }
            for name, port in (("valid", valid), ("expired", expired))
        }
        yield trusts | {"plain": {"bootstrap.servers": own.bootstrap_servers}}


def commit(admin, group, topic):
    """Make a group of a committed offset; a coordinator that has just come up refuses for a while."""
    offsets = ConsumerGroupTopicPartitions(group, [TopicPartition(topic, 0, 0)])
    deadline = time.monotonic() + 30
    fault = "no answer"
    while fault is not None:
        assert time.monotonic() < deadline, fault
        try:
            [partition] = admin.alter_consumer_group_offsets([offsets])[group].result().topic_partitions
            fault = partition.error
        except KafkaException as error:
            fault = error


def read(folder, config):
    """The group "billing", with settings that come as a file for Java's clients."""
    path = folder / "client.properties"
    path.write_text("\n".join(f"{name}={value}" for name, value in config.items()))
    return read_live("billing", client_settings(None, (), str(path)))


def test_a_store_in_pem_is_trusted(encrypted, tmp_path):
    assert read(tmp_path, encrypted["valid"])[0].status == "Empty"


@pytest.mark.parametrize(
    ("listener", "change", "fault"),
    [
        ("expired", {}, "certificate has expired"),
        ("valid", {"ssl.truststore.location": "OTHER"}, "self-signed certificate"),
        (
            "valid",
            {"security.protocol": "PLAINTEXT"},
            "do the security settings fit, security.protocol first",
        ),
        ("plain", {"security.protocol": "SSL"}, "connecting to a PLAINTEXT broker listener"),
    ],
)
def test_what_does_not_fit_in_tls_is_named_at_once(encrypted, tmp_path, listener, change, fault):
    other = encrypted["expired"]["ssl.truststore.location"]
    config = encrypted[listener] | {
        name: other if value == "OTHER" else value for name, value in change.items()
    }
    with told_within(3, fault):
        read(tmp_path, config)


def test_a_wrong_password_is_named_at_once(secured):
    with told_within(3, "Invalid username or password"):
        read_live("billing", settings(secured, password="hunter2"))


def test_a_mechanism_that_the_cluster_does_not_have_is_named_at_once(secured):
    with told_within(3, "Unsupported SASL mechanism"):
        read_live("billing", settings(secured) | {"sasl.mechanism": "SCRAM-SHA-256"})


def test_a_group_that_the_user_may_not_see_is_said_with_the_right_that_is_missing(secured):
    with told_within(3, "Group authorization failed; this user needs DESCRIBE on the group"):
        read_live("billing", settings(secured))


def test_the_partitions_of_a_topic_that_the_user_may_not_see_are_unknown(secured):
    """A group that reads it all the same; nobody says how many partitions the topic has."""
    admin = AdminClient({"bootstrap.servers": secured.admin_servers})
    group = AclBinding(
        ResourceType.GROUP,
        "mixed",
        ResourcePatternType.LITERAL,
        "User:guest",
        "*",
        AclOperation.DESCRIBE,
        AclPermissionType.ALLOW,
    )
    for done in admin.create_acls([group]).values():
        done.result(30)
    consumer = Consumer({"bootstrap.servers": secured.admin_servers, "group.id": "mixed", "client.id": "c"})
    consumer.subscribe([secured.closed, secured.hidden])
    deadline = time.monotonic() + 30
    while len(consumer.assignment()) < 4:
        assert time.monotonic() < deadline
        consumer.poll(0.1)
    try:
        state, _ = read_live("mixed", settings(secured, "guest"))
    finally:
        consumer.close()
    assert (state.complete, (state.member == 0).sum()) == (False, 4)
    assert any(f"shows this user no topic {secured.hidden}" in each for each in state.warnings)
