"""A real broker with users, some of whom may write."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from confluent_kafka.admin import AclOperation, AdminClient, ResourceType

from tests.support.broker import Broker, Kafka, free_ports
from tests.support.encrypted import allowed

# One more listener, for users with a password; who comes without one by the other may do everything.
USERS = """
listeners=PLAINTEXT://127.0.0.1:{{port}},CONTROLLER://127.0.0.1:{{controller_port}},USERS://127.0.0.1:{users_port}
advertised.listeners=PLAINTEXT://127.0.0.1:{{port}},USERS://127.0.0.1:{users_port}
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,USERS:SASL_PLAINTEXT
sasl.enabled.mechanisms=PLAIN
listener.name.users.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required \
user_writer="writers" user_guest="guests" user_auditor="auditors";
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS
"""


class Secured(NamedTuple):
    """A broker with users.

    Attributes:
        admin_servers: its address for who may do everything.
        servers: its address for users.
        open: a topic that "writer" may write to.
        closed: a topic that "writer" and "guest" may see, and not write to.
        hidden: a topic that nobody may see.
    """

    admin_servers: str
    servers: str
    open: str
    closed: str
    hidden: str


@contextmanager
def secured_broker() -> Iterator[Secured]:
    """A broker whose users are "writer", "guest" and "auditor", with the plural as the password.

    "auditor" has no right until a test gives it some.
    """
    [users_port] = free_ports(1)
    with Broker(USERS.format(users_port=users_port)) as own:
        kafka = Kafka(own.bootstrap_servers)
        topics = [kafka.create_topic(2) for _ in range(3)]
        admin = AdminClient({"bootstrap.servers": own.bootstrap_servers, "log_level": 0})
        rights = [
            allowed("writer", ResourceType.TOPIC, topics[0], AclOperation.WRITE),
            allowed("writer", ResourceType.TOPIC, topics[1], AclOperation.DESCRIBE),
            allowed("guest", ResourceType.TOPIC, topics[1], AclOperation.DESCRIBE),
        ]
        for done in admin.create_acls(rights).values():
            done.result()
        yield Secured(own.bootstrap_servers, f"127.0.0.1:{users_port}", *topics)


def settings(secured: Secured, user: str = "writer", password: str | None = None) -> dict[str, str]:
    """What librdkafka needs to come as this user."""
    return {
        "bootstrap.servers": secured.servers,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": user,
        "sasl.password": password or f"{user}s",
    }
