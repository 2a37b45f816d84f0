"""Read the sink's options and the environment, and make librdkafka's configuration of them."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from partitioning.clients.delivery import time_setting
from partitioning.clients.java_settings import librdkafka_security
from partitioning.errors import InvalidConfigError
from partitioning.kit.limits import parse_number
from partitioning.topic_partition import MAX_PARTITIONS

OWN_OPTIONS = (
    "bootstrap.servers",
    "topic",
    "partitions",
    "tasks",
    "profile",
    "partition",
    "txnAppId",
    "txnVersion",
    "txnFirstVersion",
    "exactlyOnce",
)
SPARK_OPTIONS = frozenset({"path", "checkpointlocation", "queryname"})
"""Options of Spark's own that it may pass on to a data source, in lower case; they are ignored."""

ENVIRONMENT = ("KAFKA_BOOTSTRAP_SERVERS", "KAFKA_SECURITY_PROTOCOL", "KAFKA_SASL_", "KAFKA_SSL_")
"""Names, or prefixes of names, of environment variables that are settings.

KAFKA_SASL_USERNAME, for example, is the setting sasl.username.
"""

DEFAULTS = {
    # A record with a key and without a partition goes where the Java producer would put it.
    "partitioner": "murmur2_random",
    # As in Java: a record that no broker takes for two minutes is given up.
    "delivery.timeout.ms": "120000",
    # Batches wait up to 50 ms until they are full, which makes fewer requests. The flush at a task's end
    # sends all of them at once.
    "linger.ms": "50",
    # This limits the memory of a task: at most 64 MiB of records are queued.
    "queue.buffering.max.kbytes": "65536",
    # A topic that is deleted during a write must not be created anew with the broker's default count.
    "allow.auto.create.topics": "false",
    # A new client waits half of this (at least 11 ms) before it opens its second connection. In a small task
    # that is the longest wait.
    "reconnect.backoff.ms": "20",
}
# librdkafka refuses these settings for an idempotent producer. A user who sets one gets a producer that is
# not idempotent, as in Java.
NOT_IDEMPOTENT = frozenset(
    {
        "acks",
        "request.required.acks",
        "retries",
        "message.send.max.retries",
        "max.in.flight",
        "max.in.flight.requests.per.connection",
    }
)


@dataclass(frozen=True, slots=True)
class SinkOptions:
    """Holds the options of a write after they were parsed and checked; None stands for an option not given.

    Attributes:
        config: librdkafka's producer settings.
        topic: the topic of every row; None if each row names its own.
        partitions: the partition count for which the rows' partitions were computed.
        tasks: number of Spark partitions in which the rows are laid out, as given to `route`.
        profile: the profile with which the rows' partitions were computed.
        partition: `columns.AS_IT_IS` if rows are written to the partition in their column, without a check.
        once: the options of an exactly-once write; None for a write that is at least once.
    """

    config: Mapping[str, str] = field(repr=False)  # it may hold a password
    topic: str | None
    partitions: int | None
    tasks: int | None = None
    profile: str | None = None
    partition: str | None = None
    once: OnceOptions | None = None


def read_sink_options(options: Mapping[str, str], environment: Mapping[str, str]) -> SinkOptions:
    """Read a write's options; those with the prefix `kafka.` are settings of librdkafka.

    Args:
        options: the options that Spark passes, by name.
        environment: the driver's environment variables. An option wins over a variable.

    Raises:
        InvalidConfigError: an option is unknown, has no valid value or contradicts another one, or no brokers
            are given.
    """
    own = read_own(options, OWN_OPTIONS, "sink")
    config = sink_settings(options, environment)
    if "transactional.id" in config:
        raise InvalidConfigError(
            "leave out 'kafka.transactional.id': for transactions give 'txnAppId' and 'txnVersion', and the "
            "sink names them"
        )
    once = read_once(own)
    defaults = DEFAULTS | (TRANSACTIONAL if once is not None else {})
    if "message.timeout.ms" in config:
        del defaults["delivery.timeout.ms"]
    if not NOT_IDEMPOTENT & config.keys():
        defaults["enable.idempotence"] = "true"
    if once is not None:
        check_transactional(defaults | config)
    partitions = read_number(own, "partitions", 1, MAX_PARTITIONS)
    return SinkOptions(
        config=defaults | config,
        topic=own.get("topic"),
        partitions=partitions,
        tasks=read_number(own, "tasks", 1, MAX_PARTITIONS),
        profile=own.get("profile"),
        partition=own.get("partition"),
        once=once,
    )


def librdkafka_names(config: Mapping[str, str]) -> Mapping[str, str]:
    """Return the settings unchanged; InvalidConfigError if a name has the prefix `kafka.` of options."""
    for name in config:
        if name.lower().startswith("kafka."):
            raise InvalidConfigError(
                f"config has {name!r}: its names are those of librdkafka, without the 'kafka.' with which "
                f"options of format('copartition') begin: write {name[6:]!r}"
            )
    return config


def read_own(options: Mapping[str, str], names: Iterable[str], what: str) -> dict[str, str]:
    """Return the options without the prefix `kafka.`, by their names in lower case.

    Args:
        options: the options that Spark passes.
        names: the options that this sink or source has.
        what: "sink" or "source", for the message.

    Raises:
        InvalidConfigError: there is no option of that name.
    """
    # Spark keeps or loses the case of an option's name, depending on how the option was given.
    own = {name.lower(): value for name, value in options.items() if not name.lower().startswith("kafka.")}
    lowered = {name.lower(): name for name in names}
    for name in own.keys() - lowered.keys() - SPARK_OPTIONS:
        close = difflib.get_close_matches(name, lowered, n=1)
        hint = f"write 'kafka.{name}' for a setting of librdkafka"
        if close:
            hint = f"did you mean {lowered[close[0]]!r}?"
        raise InvalidConfigError(f"the copartition {what} has no option {name!r}; {hint}")
    return own


def read_number(own: Mapping[str, str], name: str, least: int, most: int) -> int | None:
    """Return the value of an option that is a whole number; None if the option is not given.

    Args:
        own: the options by names in lower case.
        name: the option's name, as users write it.
        least: the lowest value that it may have.
        most: the highest value that it may have.

    Raises:
        InvalidConfigError: the value is not a whole number from `least` to `most`.
    """
    text = own.get(name.lower())
    number = None if text is None else parse_number(text, most)
    if text is not None and (number is None or number < least):
        raise InvalidConfigError(
            f"option {name!r} is {text[:40]!r}; give a whole number from {least} to {most}"
        )
    return number


def read_truth(own: Mapping[str, str], name: str, *, default: bool = False) -> bool:
    """Return whether an option is "true", in any case; `default` if it is not given.

    Raises InvalidConfigError if its value is neither "true" nor "false".
    """
    text = own.get(name.lower(), str(default)).strip().lower()
    if text not in {"true", "false"}:
        raise InvalidConfigError(f"option {name!r} is {text[:40]!r}; give 'true' or 'false'")
    return text == "true"


def sink_settings(options: Mapping[str, str], environment: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of librdkafka that the environment and the options give; an option wins.

    Settings of security may have the Java client's names.

    Args:
        options: all options that Spark passes, by name in any case.
        environment: the driver's environment variables.

    Raises:
        InvalidConfigError: a Java setting has no counterpart in librdkafka, or no brokers are given.
    """
    settings = {name.lower(): value for name, value in options.items()}
    surrounding = {
        name.removeprefix("KAFKA_").replace("_", ".").lower(): value
        for name, value in environment.items()
        if name.startswith(ENVIRONMENT)
    }
    chosen = {name[6:]: value for name, value in settings.items() if name.startswith("kafka.")}
    # The environment and the options are translated separately and then merged. An option may set
    # `sasl.username` while the environment has a whole `sasl.jaas.config`, which contains a user name, too.
    config = librdkafka_security(surrounding) | librdkafka_security(chosen)
    if "bootstrap.servers" in settings:
        config["bootstrap.servers"] = settings["bootstrap.servers"]
    if not config.get("bootstrap.servers"):
        raise InvalidConfigError(
            "no brokers: give the option 'kafka.bootstrap.servers', for example 'localhost:9092', "
            "or set KAFKA_BOOTSTRAP_SERVERS where the driver runs"
        )
    return config


TRANSACTIONAL = {
    # After the driver was killed nobody ends its transaction. Readers of committed records then wait for this
    # timeout, so it is short.
    "transaction.timeout.ms": "9000",
    # librdkafka requires that a record is given up no later than its transaction times out.
    "delivery.timeout.ms": "9000",
    # No more records may be queued than can be sent in that time, so the queue is smaller than by default.
    "queue.buffering.max.kbytes": "16384",
    # With "rebootstrap", a client that loses its last connection begins anew with the bootstrap servers. It
    # forgets the group's coordinator and waits for it for ever (confluentinc/librdkafka issue 5511).
    "metadata.recovery.strategy": "none",
    "reconnect.backoff.max.ms": "1000",
}
"""Defaults of an exactly-once write; they replace those of `DEFAULTS` with the same names."""

# Setting -> the values that a transactional producer may have; the first one is librdkafka's default.
_NEEDED = {
    "enable.idempotence": ("true",),
    "acks": ("all", "-1"),
    "request.required.acks": ("all", "-1"),
}
_HIGHEST = 2**63 - 1
_LONGEST_ID = 200


@dataclass(frozen=True, slots=True)
class OnceOptions:
    """Holds the options of an exactly-once write.

    Attributes:
        app_id: the application's id, part of every transactional id and of the ledger's group.
        version: number of the version to write; 0 for a stream, whose versions are its micro-batches.
        first_version: the version that may begin a ledger, whatever records the topic has. None if the user
            named none: then version 0 may begin one, in partitions without records.
        stream: whether a stream is written.
    """

    app_id: str
    version: int
    first_version: int | None
    stream: bool


def read_once(own: Mapping[str, str]) -> OnceOptions | None:
    """Return the options of an exactly-once write; None if no option asks for one.

    Args:
        own: the sink's own options, by names in lower case.

    Raises:
        InvalidConfigError: an option has no valid value, or lacks another one that it needs.
    """
    first_version = read_number(own, "txnFirstVersion", 0, _HIGHEST)
    app_id, version = own.get("txnappid"), read_number(own, "txnVersion", 0, _HIGHEST)
    if read_truth(own, "exactlyOnce"):
        if version is not None:
            raise InvalidConfigError(
                "'exactlyOnce' takes the version from the micro-batch: leave out 'txnVersion'"
            )
        if app_id is None:
            raise InvalidConfigError(
                "'exactlyOnce' needs 'txnAppId': a name of this stream that stays the same when its "
                "checkpoint is lost, so that what it wrote before is found"
            )
        return OnceOptions(_app_id(app_id), 0, first_version, stream=True)
    if app_id is None and version is None:
        if first_version is not None:
            raise InvalidConfigError("'txnFirstVersion' needs 'txnAppId' and 'txnVersion', or 'exactlyOnce'")
        return None
    if app_id is None or version is None:
        raise InvalidConfigError(
            "'txnAppId' and 'txnVersion' go together: give both, or neither; in writeStream 'txnAppId' goes "
            "with 'exactlyOnce'"
        )
    return OnceOptions(_app_id(app_id), version, first_version, stream=False)


def check_transactional(config: Mapping[str, str]) -> None:
    """Raise InvalidConfigError if librdkafka would not make a transactional producer with these settings."""
    for name, needed in _NEEDED.items():
        if config.get(name, needed[0]).lower() not in needed:
            raise InvalidConfigError(
                f"'kafka.{name}' is {config[name]!r}, with which a write cannot be exactly once"
            )
    delivery = "message.timeout.ms" if "message.timeout.ms" in config else "delivery.timeout.ms"
    try:
        longest = time_setting(config, "transaction.timeout.ms", 60_000, 2**31 - 1, least=1000)
        patience = time_setting(config, delivery, 300_000, 2**31 - 1)
    except ValueError as error:
        raise InvalidConfigError(f"option {error}") from None
    if not 0 < patience <= longest:
        raise InvalidConfigError(
            f"'kafka.{delivery}' is {patience} and 'kafka.transaction.timeout.ms' {longest}: a transaction "
            "must not end before its records are given up, so raise the second or lower the first"
        )


def _app_id(text: str) -> str:
    """Return an application's id unchanged; InvalidConfigError if it cannot be part of a group's name."""
    if not text.strip() or not text.isascii() or not text.isprintable() or len(text) > _LONGEST_ID:
        raise InvalidConfigError(
            f"option 'txnAppId' is {text[:40]!r}; give 1 to {_LONGEST_ID} printable ASCII characters"
        )
    return text
