"""What a Java client's settings become for librdkafka."""

import click
import pytest
from confluent_kafka.admin import AdminClient

from copartition.shell.client_options import librdkafka_settings

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
OAUTH = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
OIDC = 'clientId="c" clientSecret="s" scope="x" extension_a="b"'
HANDLER = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler"


@pytest.mark.parametrize(
    ("java", "expected"),
    [
        ({"security.protocol": "SASL_SSL"}, {"security.protocol": "SASL_SSL"}),
        (
            {"sasl.jaas.config": f'{PLAIN} required username="ann" password="a \\"b\\"; c=d";'},
            {"sasl.username": "ann", "sasl.password": 'a "b"; c=d'},
        ),
        (
            {"sasl.jaas.config": f"{SCRAM}  required\n  username=ann\n  password='x y' ;  "},
            {"sasl.username": "ann", "sasl.password": "x y"},
        ),
        (
            {"sasl.jaas.config": f'{PLAIN} required username="ann" password="a";', "sasl.username": "bob"},
            {"sasl.username": "bob", "sasl.password": "a"},
        ),
        (
            {
                "sasl.jaas.config": f"{OAUTH} required {OIDC};",
                "sasl.login.callback.handler.class": HANDLER,
                "sasl.oauthbearer.token.endpoint.url": "https://t",
            },
            {
                "sasl.oauthbearer.method": "oidc",
                "sasl.oauthbearer.client.id": "c",
                "sasl.oauthbearer.client.secret": "s",
                "sasl.oauthbearer.scope": "x",
                "sasl.oauthbearer.extensions": "a=b",
                "sasl.oauthbearer.token.endpoint.url": "https://t",
            },
        ),
        ({"ssl.truststore.type": "pem", "ssl.truststore.location": "ca.pem"}, {"ssl.ca.location": "ca.pem"}),
        ({"ssl.truststore.certificates": "PEM"}, {"ssl.ca.pem": "PEM"}),
        (
            {
                "ssl.keystore.type": "PEM",
                "ssl.keystore.location": "us.pem",
                "ssl.key.password": "k",
                "ssl.keystore.password": "unused",
            },
            {"ssl.certificate.location": "us.pem", "ssl.key.location": "us.pem", "ssl.key.password": "k"},
        ),
        (
            {"ssl.keystore.key": "KEY", "ssl.keystore.certificate.chain": "CHAIN"},
            {"ssl.key.pem": "KEY", "ssl.certificate.pem": "CHAIN"},
        ),
        (
            {"ssl.keystore.type": "PKCS12", "ssl.keystore.location": "a", "ssl.keystore.password": "p"},
            {"ssl.keystore.location": "a", "ssl.keystore.password": "p"},
        ),
        ({"ssl.endpoint.identification.algorithm": ""}, {"ssl.endpoint.identification.algorithm": "none"}),
        ({"key.deserializer": "x.Y", "max.block.ms": "1", "acks": "1"}, {"acks": "1"}),
    ],
)
def test_a_setting_of_java_becomes_what_librdkafka_has(java, expected):
    assert librdkafka_settings(java) == expected


@pytest.mark.parametrize(
    ("java", "fault"),
    [
        ({"ssl.truststore.location": "t.jks"}, "ssl.truststore.location cannot .* type JKS; export"),
        (
            {"ssl.truststore.type": "PKCS12", "ssl.truststore.location": "t"},
            "ssl.truststore.location cannot .* type PKCS12",
        ),
        ({"ssl.keystore.type": "JKS", "ssl.keystore.location": "t"}, "ssl.keystore.location cannot"),
        ({"sasl.jaas.config": 'x.Krb5LoginModule required keyTab="hunter2";'}, "'Krb5LoginModule'"),
        ({"sasl.jaas.config": f'{PLAIN} required username="hunter2";'}, "PlainLoginModule has no password"),
        (
            {"sasl.jaas.config": f'{PLAIN} required username="hunter2"'},
            "sasl.jaas.config cannot .* one MODULE",
        ),
        ({"sasl.jaas.config": f'{PLAIN} required username "hunter2" x;'}, "one MODULE required"),
        ({"sasl.jaas.config": f'{PLAIN} required username="hunter2'}, "one MODULE required"),
        ({"sasl.login.callback.handler.class": "my.Handler"}, "sasl.login.callback.handler.class"),
        ({"sasl.client.callback.handler.class": "my.Handler"}, "sasl.client.callback.handler.class"),
        ({"ssl.engine.factory.class": "my.Factory"}, "ssl.engine.factory.class"),
        ({"security.providers": "my.Provider"}, "security.providers"),
    ],
)
def test_a_setting_that_cannot_be_translated_is_named_and_its_value_is_not(java, fault):
    with pytest.raises(click.BadParameter, match=fault) as caught:
        librdkafka_settings(java)
    assert "hunter2" not in caught.value.format_message()


@pytest.mark.live
@pytest.mark.parametrize(
    "java",
    [
        {"sasl.jaas.config": f'{PLAIN} required username="a" password="b";', "sasl.mechanism": "PLAIN"},
        {
            "sasl.jaas.config": f'{SCRAM} required username="a" password="b";',
            "sasl.mechanism": "SCRAM-SHA-512",
        },
        {
            "sasl.jaas.config": f"{OAUTH} required {OIDC};",
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.oauthbearer.token.endpoint.url": "https://localhost:1/t",
        },
    ],
)
def test_librdkafka_takes_what_comes_of_it(java):
    assert_taken(librdkafka_settings(java))


def assert_taken(settings):
    """A client is made with these settings, which raises where librdkafka does not know one."""
    AdminClient(
        {"bootstrap.servers": "localhost:1", "security.protocol": "SASL_PLAINTEXT", "log_level": 0} | settings
    )
