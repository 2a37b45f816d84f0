"""Reads the sink's options: Spark's options and the environment in, librdkafka's configuration out."""

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
"""Options that Spark itself may pass along."""

ENVIRONMENT = ("KAFKA_BOOTSTRAP_SERVERS", "KAFKA_SECURITY_PROTOCOL", "KAFKA_SASL_", "KAFKA_SSL_")
"""Variables, and prefixes of variables, that stand in for options: KAFKA_SASL_USERNAME is sasl.username."""

# As the Java producer, so that a record without partition lands where that client puts it, a retry neither
# duplicates nor reorders, a dead broker is noticed after two minutes, and a task holds little memory. A batch
# may wait until it is full, which spares the broker; at the end of a task none waits. A topic that goes away
# during a write does not come back with as many partitions as the broker likes. A new client opens its second
# connection after half of the backoff (11 ms at least), for which a small task else waits longest.
DEFAULTS = {
    "partitioner": "murmur2_random",
    "delivery.timeout.ms": "120000",
    "linger.ms": "50",
    "queue.buffering.max.kbytes": "65536",
    "allow.auto.create.topics": "false",
    "reconnect.backoff.ms": "20",
}
# librdkafka refuses these beside an idempotent producer; who sets one wants the plain producer, as in Java.
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
    """Says what a write was asked to do.

    Attributes:
        config: librdkafka's producer settings.
        topic: that of every row; None if the rows name theirs.
        partitions: the count by which the rows' partitions were computed; None if it is not said.
        tasks: in how many Spark partitions they are laid out, as given to `route`; None if it is not said.
        profile: the profile by which they were; None if it is not said.
        partition: `columns.AS_IT_IS` if rows are written by their column 'partition' unchecked; else None.
        once: None for a write that is at least once.
    """

    config: Mapping[str, str] = field(repr=False)  # it may hold a password
    topic: str | None
    partitions: int | None
    tasks: int | None = None
    profile: str | None = None
    partition: str | None = None
    once: OnceOptions | None = None


def read_options(options: Mapping[str, str], environment: Mapping[str, str]) -> SinkOptions:
    """Read a write's options, in which `kafka.` marks a setting of librdkafka.

    An option wins over the driver's environment variables. InvalidConfigError where one is unknown or has no
    meaning, or the brokers are missing.
    """
    own = read_own(options, OWN_OPTIONS, "sink")
    config = client_settings(options, environment)
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
    """Return the settings; InvalidConfigError if one is named as the options of a reader or writer are."""
    for name in config:
        if name.lower().startswith("kafka."):
            raise InvalidConfigError(
                f"config has {name!r}: its names are those of librdkafka, without the 'kafka.' with which "
                f"options of format('copartition') begin: write {name[6:]!r}"
            )
    return config


def read_own(options: Mapping[str, str], names: Iterable[str], what: str) -> dict[str, str]:
    """Return the options that are not librdkafka's or Spark's, by their names in lower case.

    InvalidConfigError if this sink or source, as which `what` goes, has no option of that name.
    """
    # Spark passes options with their case lost or kept, by how they were given.
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
    """Return a number among the own options.

    None if it is not given, InvalidConfigError if it is none.

    Args:
        own: the options by names in lower case.
        name: of the option, as people write it.
        least: the smallest value that it may have.
        most: the largest.
    """
    text = own.get(name.lower())
    number = None if text is None else parse_number(text, most)
    if text is not None and (number is None or number < least):
        raise InvalidConfigError(
            f"option {name!r} is {text[:40]!r}; give a whole number from {least} to {most}"
        )
    return number


def read_truth(own: Mapping[str, str], name: str, *, default: bool = False) -> bool:
    """Return whether one of the own options is true.

    InvalidConfigError if it is neither true nor false.
    """
    text = own.get(name.lower(), str(default)).strip().lower()
    if text not in {"true", "false"}:
        raise InvalidConfigError(f"option {name!r} is {text[:40]!r}; give 'true' or 'false'")
    return text == "true"


def client_settings(options: Mapping[str, str], environment: Mapping[str, str]) -> dict[str, str]:
    """Return settings of librdkafka, which environment variables and the options stand for; the latter win.

    InvalidConfigError if a setting of Java's has no counterpart, or the brokers are missing.
    """
    settings = {name.lower(): value for name, value in options.items()}
    surrounding = {
        name.removeprefix("KAFKA_").replace("_", ".").lower(): value
        for name, value in environment.items()
        if name.startswith(ENVIRONMENT)
    }
    chosen = {name[6:]: value for name, value in settings.items() if name.startswith("kafka.")}
    # Translated apart: an option may set `sasl.username` while the environment has a whole
    # `sasl.jaas.config`.
    config = librdkafka_security(surrounding) | librdkafka_security(chosen)
    if "bootstrap.servers" in settings:
        config["bootstrap.servers"] = settings["bootstrap.servers"]
    if not config.get("bootstrap.servers"):
        raise InvalidConfigError(
            "no brokers: give the option 'kafka.bootstrap.servers', for example 'localhost:9092', "
            "or set KAFKA_BOOTSTRAP_SERVERS where the driver runs"
        )
    return config


# A transaction that nobody ends, as after the driver was killed, holds up readers of committed records until
# it times out. librdkafka lets no record outlive it, and so lets no more of them queue than go in that time.
# Without its last connection it would begin anew with the bootstrap servers, forget the group's coordinator,
# and then wait for that without end (confluentinc/librdkafka issue 5511).
TRANSACTIONAL = {
    "transaction.timeout.ms": "9000",
    "delivery.timeout.ms": "9000",
    "queue.buffering.max.kbytes": "16384",
    "metadata.recovery.strategy": "none",
    "reconnect.backoff.max.ms": "1000",
}

_NEEDED = {
    "enable.idempotence": ("true",),
    "acks": ("all", "-1"),
    "request.required.acks": ("all", "-1"),
}
_HIGHEST = 2**63 - 1
_LONGEST_ID = 200


@dataclass(frozen=True, slots=True)
class OnceOptions:
    """Names an exactly-once write.

    Attributes:
        version: which version of its records; 0 for a stream, which has a micro-batch.
        first_version: the version that begins a ledger, whatever records there are; None if none is said
            to, so that version 0 begins one in partitions without records.
        stream: whether versions are the stream's micro-batches.
        app_id: who writes; part of every transactional id and of the ledger's group.
    """

    app_id: str
    version: int
    first_version: int | None
    stream: bool


def read_once(own: Mapping[str, str]) -> OnceOptions | None:
    """Return what the sink's own options, by names in lower case, say of exactly-once; None if nothing.

    InvalidConfigError where one has no meaning, or needs another.
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
    """Raise InvalidConfigError unless a transactional producer can be had with these settings."""
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
    """Return the application's id; InvalidConfigError unless it can be part of a group's name."""
    if not text.strip() or not text.isascii() or not text.isprintable() or len(text) > _LONGEST_ID:
        raise InvalidConfigError(
            f"option 'txnAppId' is {text[:40]!r}; give 1 to {_LONGEST_ID} printable ASCII characters"
        )
    return text
