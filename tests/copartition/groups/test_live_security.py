"""The error that names a cluster which does not let us in, at once."""

import time
from contextlib import contextmanager

import pytest
from confluent_kafka import Consumer
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from copartition.groups import read_live
from copartition.groups.live import cluster
from copartition.shell.client_options import client_settings
from partitioning.errors import SourceError
from tests.support.secured import settings
from tests.support.waiting import GENEROUS_S, SOON_S, wait_until

pytestmark = pytest.mark.broker


@contextmanager
def assert_fails_soon(fault):
    """Expect the error long before the time is over that a question may take."""
    begun = time.monotonic()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cluster, "TIMEOUT_S", GENEROUS_S)
        with pytest.raises(SourceError, match=fault):
            yield
    assert time.monotonic() - begun < SOON_S


def read(folder, config):
    """The group "billing", with settings that come as a file for Java's clients."""
    path = folder / "client.properties"
    path.write_text("\n".join(f"{name}={value}" for name, value in config.items()))
    return read_live("billing", client_settings(None, (), str(path)))


def test_a_store_in_pem_is_trusted(encrypted, tmp_path):
    assert read(tmp_path, encrypted.listeners["valid"])[0].status == "Empty"


@pytest.mark.parametrize(
    ("listener", "change", "fault"),
    [
        ("expired", {}, "certificate has expired"),
        ("valid", {"ssl.truststore.location": "OTHER"}, "self-signed certificate"),
        ("valid", {"security.protocol": "PLAINTEXT"}, "security.protocol is PLAINTEXT: try SSL"),
        ("plain", {"security.protocol": "SSL"}, "connecting to a PLAINTEXT broker listener"),
    ],
)
def test_what_does_not_fit_in_tls_is_named_at_once(encrypted, tmp_path, listener, change, fault):
    other = encrypted.listeners["expired"]["ssl.truststore.location"]
    config = encrypted.listeners[listener] | {
        name: other if value == "OTHER" else value for name, value in change.items()
    }
    with assert_fails_soon(fault):
        read(tmp_path, config)


def test_a_wrong_password_is_named_at_once(secured):
    with assert_fails_soon("Invalid username or password"):
        read_live("billing", settings(secured, password="hunter2"))


def test_a_mechanism_that_the_cluster_does_not_have_is_named_at_once(secured):
    with assert_fails_soon("Unsupported SASL mechanism"):
        read_live("billing", settings(secured) | {"sasl.mechanism": "SCRAM-SHA-256"})


def test_a_group_that_the_user_may_not_see_is_said_with_the_right_that_is_missing(secured):
    with assert_fails_soon("Group authorization failed; this user needs DESCRIBE on the group"):
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
        done.result()
    consumer = Consumer({"bootstrap.servers": secured.admin_servers, "group.id": "mixed", "client.id": "c"})
    consumer.subscribe([secured.closed, secured.hidden])
    wait_until(lambda: len(consumer.assignment()) == 4, lambda: consumer.poll(0.1))
    try:
        state, _ = read_live("mixed", settings(secured, "guest"))
    finally:
        consumer.close()
    assert (state.complete, (state.member == 0).sum()) == (False, 4)
    assert any(f"shows this user no topic {secured.hidden}" in warning for warning in state.warnings)
