import pytest

from partitioning.errors import InvalidConfigError
from spark_integration.sinks.options import DEFAULTS, read_sink_options

BROKER = {"kafka.bootstrap.servers": "a:9092"}


def test_settings_of_librdkafka_lose_their_prefix_and_win_over_the_defaults() -> None:
    read = read_sink_options(
        {**BROKER, "kafka.compression.type": "zstd", "kafka.delivery.timeout.ms": "9"}, {}
    )
    assert read.config == {
        **DEFAULTS,
        "bootstrap.servers": "a:9092",
        "compression.type": "zstd",
        "delivery.timeout.ms": "9",
        "enable.idempotence": "true",
    }


def test_names_may_be_written_in_any_case() -> None:
    read = read_sink_options({"Kafka.Bootstrap.Servers": "a:1", "Topic": "Flights"}, {})
    assert (read.config["bootstrap.servers"], read.topic) == ("a:1", "Flights")


@pytest.mark.parametrize("name", ["acks", "retries", "max.in.flight"])
def test_what_an_idempotent_producer_refuses_makes_a_plain_one(name: str) -> None:
    assert "enable.idempotence" not in read_sink_options({**BROKER, f"kafka.{name}": "1"}, {}).config


def test_the_old_name_of_the_delivery_timeout_replaces_the_new_one() -> None:
    assert (
        "delivery.timeout.ms" not in read_sink_options({**BROKER, "kafka.message.timeout.ms": "5"}, {}).config
    )


def test_what_spark_adds_is_no_setting() -> None:
    options = {**BROKER, "topic": "t", "checkpointLocation": "/c", "queryName": "q", "path": "p"}
    assert read_sink_options(options, {}) == read_sink_options({**BROKER, "topic": "t"}, {})


def test_the_environment_gives_brokers_and_security_and_nothing_else() -> None:
    environment = {
        "KAFKA_BOOTSTRAP_SERVERS": "env:9092",
        "KAFKA_SECURITY_PROTOCOL": "SASL_SSL",
        "KAFKA_SASL_USERNAME": "me",
        "KAFKA_SSL_CA_LOCATION": "/ca.pem",
        "KAFKA_HEAP_OPTS": "-Xmx1g",
        "HOME": "/root",
    }
    config = read_sink_options({}, environment).config
    assert {name: value for name, value in config.items() if name not in DEFAULTS} == {
        "bootstrap.servers": "env:9092",
        "security.protocol": "SASL_SSL",
        "sasl.username": "me",
        "ssl.ca.location": "/ca.pem",
        "enable.idempotence": "true",
    }


@pytest.mark.parametrize("name", ["bootstrap.servers", "kafka.bootstrap.servers"])
def test_an_option_wins_over_the_environment(name: str) -> None:
    read = read_sink_options({name: "option:1"}, {"KAFKA_BOOTSTRAP_SERVERS": "env:1"})
    assert read.config["bootstrap.servers"] == "option:1"


JAAS = {"kafka.sasl.jaas.config": 'a.ScramLoginModule required username="ann" password="hunter2";'}


def test_what_sparks_own_sink_logs_in_with_is_what_librdkafka_does() -> None:
    environment = {"KAFKA_SASL_USERNAME": "bob", "KAFKA_SASL_PASSWORD": "bobs"}
    config = read_sink_options(BROKER | JAAS, environment).config
    assert (config["sasl.username"], config["sasl.password"]) == ("ann", "hunter2")
    assert "sasl.jaas.config" not in config


def test_a_login_that_librdkafka_does_not_have_is_named_and_not_shown() -> None:
    kerberos = {"kafka.sasl.jaas.config": 'a.Krb5LoginModule required keyTab="hunter2";'}
    with pytest.raises(InvalidConfigError, match=r"sasl\.jaas\.config cannot .*'Krb5LoginModule'") as caught:
        read_sink_options(BROKER | kerberos, {})
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "no brokers"),
        ({"kafka.bootstrap.servers": ""}, "no brokers"),
        ({**BROKER, "topics": "t"}, "no option 'topics'; did you mean 'topic'"),
        ({**BROKER, "linger.ms": "5"}, "write 'kafka.linger.ms'"),
        ({**BROKER, "kafka.transactional.id": "x"}, "leave out 'kafka.transactional.id'"),
        ({**BROKER, "partitions": "0"}, "'partitions' is '0'"),
        ({**BROKER, "partitions": "twelve"}, "'partitions' is 'twelve'"),
        ({**BROKER, "partitions": str(2**31)}, "'partitions' is '2147483648'; give .* 1 to 2147483647"),
        ({**BROKER, "partitions": str(2**64)}, "'partitions' is '18446744073709551616'"),
        ({**BROKER, "partitions": "9" * 5000}, "'partitions' is '9{40}';"),
    ],
)
def test_a_meaningless_option_is_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidConfigError, match=message):
        read_sink_options(options, {})


def test_the_expected_count_is_read() -> None:
    assert read_sink_options({**BROKER, "partitions": "12"}, {}).partitions == 12


def test_no_password_is_shown() -> None:
    assert "hunter2" not in repr(read_sink_options({**BROKER, "kafka.sasl.password": "hunter2"}, {}))
