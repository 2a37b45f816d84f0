"""A real broker with TLS: listeners with a good and an expired certificate, and one for users with SCRAM."""

import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from tests.support.broker import Broker, Kafka, free_ports
from tests.support.waiting import GENEROUS_S

LISTENERS = """
listeners=PLAINTEXT://127.0.0.1:{{port}},CONTROLLER://127.0.0.1:{{controller_port}},\
VALID://127.0.0.1:{valid},EXPIRED://127.0.0.1:{expired},USERS://127.0.0.1:{users}
advertised.listeners=PLAINTEXT://127.0.0.1:{{port}},VALID://127.0.0.1:{valid},EXPIRED://127.0.0.1:{expired},\
USERS://127.0.0.1:{users}
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,VALID:SSL,EXPIRED:SSL,USERS:SASL_SSL
sasl.enabled.mechanisms=SCRAM-SHA-512
listener.name.users.scram-sha-512.sasl.jaas.config=\
org.apache.kafka.common.security.scram.ScramLoginModule required;
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS
"""
STORE = """
listener.name.{listener}.ssl.keystore.type=PKCS12
listener.name.{listener}.ssl.keystore.location={folder}/{name}.p12
listener.name.{listener}.ssl.keystore.password=changeit
"""
SECRETS = {
    "reader": "only-the-reader-knows",
    "writer": "only-the-writer-knows",
    "looper": "only-the-looper-knows",
}
"""The passwords of the users: words that nothing else says."""


class Encrypted(NamedTuple):
    """A broker with TLS.

    Attributes:
        listeners: what Java's clients set to come by each: "valid", "expired", "users", and "plain" without
            TLS; "users" wants a password too.
        topic: with two partitions and a record in each; "reader" may read it, "writer" write it.
        group: one that has committed offsets of it; "reader" may see it.
    """

    listeners: dict[str, dict[str, str]]
    topic: str
    group: str

    def user(self, name: str, password: str | None = None) -> dict[str, str]:
        """What a Java client sets to come as this user."""
        return as_user(self.listeners, name, SECRETS[name] if password is None else password)


def as_user(listeners: dict[str, dict[str, str]], name: str, password: str) -> dict[str, str]:
    """What a Java client sets to come as a user with a password."""
    jaas = "org.apache.kafka.common.security.scram.ScramLoginModule"
    return {
        **listeners["users"],
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.jaas.config": f'{jaas} required username="{name}" password="{password}";',
    }


@contextmanager
def encrypted_broker() -> Iterator[Encrypted]:
    """A broker with TLS, and its certificates in a folder of their own."""
    with listening_with_tls() as (own, listeners):
        kafka = Kafka(own.bootstrap_servers)
        topic, group = kafka.create_topic(2), "billing"
        admin = AdminClient({"bootstrap.servers": own.bootstrap_servers, "log_level": 0})
        _admit(admin, topic, group)
        _commit(admin, group, topic)
        filling = Producer({"bootstrap.servers": own.bootstrap_servers, "log_level": 0})
        for partition in range(2):
            filling.produce(topic, b"value", b"key", partition)
        filling.flush(GENEROUS_S)
        yield Encrypted(listeners, topic, group)


@contextmanager
def listening_with_tls() -> Iterator[tuple[Broker, dict[str, dict[str, str]]]]:
    """The broker and what Java's clients set to come by each of its listeners; no user has a password yet."""
    valid, expired, users = free_ports(3)
    ports = {"valid": valid, "expired": expired, "users": users}
    with tempfile.TemporaryDirectory(prefix="certificates-") as folder:
        for name, start in (("valid", "-1d"), ("expired", "-9d")):
            _certificate(Path(folder), name, start)
        stores = "".join(
            STORE.format(listener=listener, name=_certificate_of(listener), folder=folder)
            for listener in ports
        )
        with Broker(LISTENERS.format(**ports) + stores) as own:
            listeners = {
                name: {
                    "bootstrap.servers": f"127.0.0.1:{port}",
                    "security.protocol": "SASL_SSL" if name == "users" else "SSL",
                    "ssl.truststore.type": "PEM",
                    "ssl.truststore.location": f"{folder}/{_certificate_of(name)}.pem",
                }
                for name, port in ports.items()
            }
            yield own, {**listeners, "plain": {"bootstrap.servers": own.bootstrap_servers}}


def _certificate_of(listener: str) -> str:
    return "expired" if listener == "expired" else "valid"


def _certificate(folder: Path, name: str, start: str) -> None:
    def keytool(*arguments: str | Path) -> None:
        store = ["-keystore", folder / f"{name}.p12", "-storepass", "changeit", "-alias", name]
        subprocess.run(["keytool", *arguments, *store], check=True, capture_output=True)

    names = ["-dname", "CN=localhost", "-ext", "san=ip:127.0.0.1"]
    lasts = ["-startdate", start, "-validity", "5"]
    keytool("-genkeypair", "-keyalg", "EC", "-storetype", "PKCS12", *names, *lasts)
    keytool("-exportcert", "-rfc", "-file", folder / f"{name}.pem")


def _admit(admin: AdminClient, topic: str, group: str) -> None:
    """Give the users their passwords and their rights."""
    give_passwords(admin)
    rights = [
        allowed("reader", ResourceType.TOPIC, topic, AclOperation.READ),
        allowed("reader", ResourceType.GROUP, group, AclOperation.DESCRIBE),
        allowed("writer", ResourceType.TOPIC, topic, AclOperation.WRITE),
    ]
    for granted in admin.create_acls(rights).values():
        granted.result()


def give_passwords(admin: AdminClient) -> None:
    """Have each user of `SECRETS` come by SCRAM."""
    scram = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
    passwords = [UserScramCredentialUpsertion(name, scram, word.encode()) for name, word in SECRETS.items()]
    for done in admin.alter_user_scram_credentials(passwords).values():
        done.result()


def _commit(admin: AdminClient, group: str, topic: str) -> None:
    """Make a group of a committed offset; a coordinator that has just come up refuses for a while."""
    offsets = ConsumerGroupTopicPartitions(group, [TopicPartition(topic, 0, 0)])
    end = time.monotonic() + GENEROUS_S
    fault: object = "no answer"
    while fault is not None:
        assert time.monotonic() < end, fault
        try:
            [partition] = admin.alter_consumer_group_offsets([offsets])[group].result().topic_partitions
            fault = partition.error
        except KafkaException as error:
            fault = error


def allowed(user: str, kind: ResourceType, name: str, operation: AclOperation) -> AclBinding:
    """The right of a user to do something with one resource."""
    return AclBinding(
        kind, name, ResourcePatternType.LITERAL, f"User:{user}", "*", operation, AclPermissionType.ALLOW
    )
