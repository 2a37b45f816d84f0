"""Asks a cluster for its metadata and offsets, and explains why it refuses a client.

Spark's drivers may get this module by value.
"""

from __future__ import annotations

import re
import socket
import ssl
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import confluent_kafka  # the module itself, because its classes cannot be pickled

from partitioning.clients.delivery import describe_errors
from partitioning.errors import BrokerUnreachableError, InvalidConfigError, MachineError

if TYPE_CHECKING:
    from confluent_kafka import KafkaError

PATIENCE_S = 1.5
"""The seconds that a command waits for brokers that are down or close the connection."""
Place: TypeAlias = tuple[str, int]
"""A topic and one of its partitions."""
QUIET = {"socket.connection.setup.timeout.ms": 5000, "log_level": 0}
"""Settings of a client whose errors go to a callback, not to a log."""

_CONNECT_WITHIN_S = 2.0
_MOMENT_S = 0.5
_ASKED = 3
_LOGIN = "sasl.mechanism, sasl.username and sasl.password say who we are"
_OTHER = {
    "PLAINTEXT": "SSL or SASL_SSL",
    "SASL_PLAINTEXT": "SASL_SSL",
    "SSL": "PLAINTEXT or SASL_PLAINTEXT",
    "SASL_SSL": "SASL_PLAINTEXT",
}
_NO_TLS = ("UNEXPECTED_EOF", "WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE")
"""Reasons of Python's `ssl` for a failed handshake with a server that does not speak TLS."""


@contextmanager
def machine_faults() -> Iterator[None]:
    """Raise MachineError if the machine lacks the resources for a client that the block makes.

    librdkafka starts threads for each client. If a thread cannot start, the settings are not the cause. Other
    errors of the block pass unchanged.
    """
    try:
        yield
    except confluent_kafka.KafkaException as error:
        if error.args[0].name() != "_CRIT_SYS_RESOURCE":
            raise
        raise MachineError(
            f"no Kafka client can be made here: {error.args[0].str()}: the process has no memory, or no "
            "threads, left; give it more (Spark: spark.executor.memoryOverhead), or let fewer run at a time"
        ) from error


def pause(seconds: float) -> None:
    """Sleep for some seconds.

    Raises:
        MachineError: the clock jumped while it slept, which the system reports as an invalid time.
    """
    try:
        time.sleep(seconds)
    except OSError as error:
        raise MachineError(
            f"the clock of this machine jumped while a Kafka client waited: {error.strerror}; set it, and "
            "write again: what was acknowledged is written, and nothing else is said to be"
        ) from error


def quiet_client(kind: Callable[[Any], Any], config: Mapping[str, Any], errors: list[KafkaError]) -> Any:
    """Return a client that appends its errors to `errors` and logs nothing.

    Args:
        kind: the class of the client.
        config: its settings.
        errors: the list to which errors are appended.

    Raises:
        InvalidConfigError: librdkafka refuses the settings.
        MachineError: a thread of the client cannot start.
    """
    try:
        with machine_faults():
            return kind({**QUIET, **config, "error_cb": errors.append})
    except (confluent_kafka.KafkaException, ValueError, TypeError) as error:
        fault = error.args[0].str() if isinstance(error, confluent_kafka.KafkaException) else error
        raise InvalidConfigError(
            f"librdkafka refuses the settings: {_without_secrets(str(fault), config)}"
        ) from None


_HARMLESS = re.compile(r"[a-z_.,-]{0,24}|[A-Z0-9_.,-]{0,24}")
"""Values that may be shown: short choices and numbers, whose letters are all small or all capital.

Most parts of passwords have both kinds, or small letters and digits. Two lines that were joined by mistake
have other characters, too, or are longer.
"""
_NAME = re.compile(r"[a-z_]+(?:[.-][a-z_]+)*")
"""Names that may be shown: names of settings have only small letters, unlike most parts of passwords."""


def _without_secrets(fault: str, config: Mapping[str, Any]) -> str:
    """Return librdkafka's message about settings, without names and values that may be parts of a password.

    If lines of a file were cut or wrongly joined, a part of a password can become a name or value, and
    librdkafka quotes the ones that it refuses.
    """
    texts = [str(value) for value in config.values() if not _HARMLESS.fullmatch(str(value))]
    texts += [name for name in config if not _NAME.fullmatch(name)]
    # The longest text is replaced first, because a shorter text may be a part of it.
    for text in sorted(texts, key=len, reverse=True):
        fault = fault.replace(text, "(not shown, it may hold a password)")
    return fault


def why_refused(faults: Iterable[KafkaError], config: Mapping[str, Any]) -> str:
    """Return the reasons why brokers refuse a client: librdkafka's errors, and the settings to check."""
    errors = [*faults]
    # Besides the error of each connection, librdkafka reports how many brokers are down ("0/1 brokers are
    # down"), which adds nothing to these errors.
    named = [error for error in errors if error.name() != "_ALL_BROKERS_DOWN"]
    reasons = [describe_errors(named) or "no connection to it stays open"]
    if any(error.name() == "_AUTHENTICATION" for error in errors):
        reasons.append(_LOGIN)
    elif "certificate verify failed" in reasons[0]:
        fault = _certificate_fault(config)
        reasons.append(f"{f'{fault}; ' if fault else ''}ssl.ca.location or ssl.ca.pem says whom we trust")
    elif fault := protocol_fault(errors, config):
        reasons.append(fault)
    return "; ".join(reasons)


def protocol_fault(faults: Iterable[KafkaError], config: Mapping[str, Any]) -> str | None:
    """Return what is wrong with `security.protocol` if brokers use TLS and it does not, or the reverse.

    In both cases the broker closes the connection, and librdkafka only reports that the broker is down. The
    result is None if the protocol is right, or if no broker answers.
    """
    if all(fault.name() != "_ALL_BROKERS_DOWN" for fault in faults):
        return None
    protocol = str(config.get("security.protocol", "PLAINTEXT")).upper()
    # SASL_SSL and SSL speak TLS; PLAINTEXT and SASL_PLAINTEXT do not.
    with_tls = protocol.endswith("SSL")
    # The first broker that answers decides. The generator is lazy, so the others are not asked.
    told_by = (_speaks_tls(*address) for address in _addresses(config))
    spoken = next((spoken for spoken in told_by if spoken is not None), None)
    if spoken is None or spoken == with_tls:
        return None
    which = f"and security.protocol is {protocol}: try {_OTHER.get(protocol, 'another')}"
    return f"the broker speaks {'TLS' if spoken else 'no TLS'}, {which}"


def _speaks_tls(host: str, port: int) -> bool | None:
    """Return whether a server at this address speaks TLS; None if no server answers.

    A broker that shuts down closes a connection just as one without TLS does. So a second try, a moment
    later, confirms that the server is still there.
    """
    spoken = _shakes_hands(host, port)
    if spoken is False:
        pause(_MOMENT_S)
        spoken = _shakes_hands(host, port)
    return spoken


def _shakes_hands(host: str, port: int) -> bool | None:
    """Return whether a TLS handshake succeeds, or fails although the server speaks TLS.

    None if no server answers.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE  # nothing is sent, so the server need not be trusted
    try:
        raw = socket.create_connection((host, port), _CONNECT_WITHIN_S)
    except OSError:
        return None
    with raw:
        try:
            context.wrap_socket(raw).close()
        except ssl.SSLError as error:
            return not str(error.reason).startswith(_NO_TLS)  # e.g. the server requires a client certificate
        except TimeoutError:
            return None
        except OSError:
            # The server closed the connection at the first message, so it speaks another protocol.
            return False
    return True


def _certificate_fault(config: Mapping[str, Any]) -> str | None:
    """Return the fault of the first broker's certificate by librdkafka's settings; None if there is none.

    The result is also None if the certificate cannot be checked.
    """
    for host, port in _addresses(config):
        with suppress(OSError, ValueError):
            context = ssl.create_default_context(
                cafile=config.get("ssl.ca.location"), cadata=config.get("ssl.ca.pem")
            )
            # "https" is librdkafka's own default.
            context.check_hostname = config.get("ssl.endpoint.identification.algorithm", "https") == "https"
            with socket.create_connection((host, port), _CONNECT_WITHIN_S) as raw:
                try:
                    context.wrap_socket(raw, server_hostname=host).close()
                except ssl.SSLCertVerificationError as error:
                    return error.verify_message
        return None
    return None


def _addresses(config: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """Yield the addresses of the first few brokers in the settings.

    They are few because a broker that does not answer takes time.
    """
    for server in str(config.get("bootstrap.servers", "")).split(",")[:_ASKED]:
        host, _, port = server.strip().rpartition("://")[2].rpartition(":")
        if host and port.isdigit():
            yield host.strip("[]"), int(port)


def connected_metadata(ask: Callable[..., Any], *question: Any) -> Any:
    """Return the answer of a client's `list_topics`, and leave the client with a lasting connection.

    librdkafka closes its first connection once it knows the broker's name. An idempotent or transactional
    producer gets its id when an answer arrives over another connection; otherwise librdkafka tries only every
    500 ms. So if the first connection answered, the question is asked once more.
    """
    metadata = ask(*question)
    if metadata.orig_broker_id < 0:
        with suppress(confluent_kafka.KafkaException):
            return ask(*question)
    return metadata


_FIRST_WAIT_S = 0.25
_FINAL = {"_AUTHENTICATION", "_SSL", "_RESOLVE"}
"""Errors that another try cannot change: a wrong password, a certificate, an unknown host name."""


def cluster_metadata(
    client: Any,
    config: Mapping[str, Any],
    errors: Sequence[KafkaError],
    *,
    timeout_s: float,
    patience_s: float | None = None,
    topic: str | None = None,
    tell: Callable[[str], object] | None = None,
) -> Any:
    """Return the brokers and topics that this client may see; raise early if the cluster refuses the client.

    librdkafka tries until the timeout, whatever the error. This function checks the client's errors between
    tries, and stops at one that another try cannot change.

    Args:
        client: a client that has not been used yet.
        config: its settings.
        errors: the list to which the client's `error_cb` appends errors.
        timeout_s: the seconds to wait for a cluster that does not answer.
        patience_s: the seconds to wait if brokers are down or close the connection; None for `timeout_s`.
        topic: the only topic to ask for, which brokers may create (`allow.auto.create.topics`); None for all.
        tell: called once, after `PATIENCE_S`, with the reason why no broker has answered yet, so that a user
            sees a wrong address before the timeout.

    Raises:
        BrokerUnreachableError: no broker answers. The message has the reason, and the settings to check.
    """
    begun = time.monotonic()
    wait_s = _FIRST_WAIT_S
    while True:
        left_s = timeout_s - (time.monotonic() - begun)
        try:
            return client.list_topics(topic, timeout=max(min(wait_s, left_s), 0.001))
        except confluent_kafka.KafkaException as error:
            # `error_cb` is called only by `poll`. Without this call `errors` would stay empty.
            with suppress(confluent_kafka.KafkaException, SystemError):  # fatal only to a producer
                client.poll(0)
            # A wrong password or certificate ends the wait at once, because waiting cannot change the answer.
            final = [error for error in errors if error.name() in _FINAL]
            passed_s = time.monotonic() - begun
            impatient = patience_s is not None and errors and passed_s >= patience_s
            if final or impatient or passed_s >= timeout_s or protocol_fault(errors, config):
                why = why_refused(final or errors or [error.args[0]], config)
                raise BrokerUnreachableError(why) from error
            if tell is not None and passed_s >= PATIENCE_S:
                tell(why_refused(errors or [error.args[0]], config))
                tell = None
            # Without this pause, a call that fails at once would make this a busy loop.
            pause(min(0.05, max(timeout_s - passed_s, 0)))
            wait_s *= 2


_LEADER_MOVES = {
    "FENCED_LEADER_EPOCH",
    "LEADER_NOT_AVAILABLE",
    "NOT_LEADER_FOR_PARTITION",
    "OFFSET_NOT_AVAILABLE",
    "UNKNOWN_LEADER_EPOCH",
}


def list_offsets(
    admin: Any,
    places: Iterable[Place],
    which: Literal["earliest", "latest"] | int,
    *,
    committed: bool,
    within_s: float,
) -> tuple[dict[Place, int], dict[Place, confluent_kafka.KafkaException]]:
    """Return an offset of each of these partitions, and the errors of the partitions without an offset.

    While a partition's leader changes, brokers refuse the question. This function then asks again until the
    time is over, as Java's admin client does; librdkafka's admin client does not.

    Args:
        admin: an `AdminClient`.
        places: the partitions.
        which: the offset to return. A number is a time in milliseconds since 1970, and stands for the first
            record at or after it; its offset is -1 if there is none.
        committed: True if the latest offset is the one before open transactions, for readers with
            `read_committed`.
        within_s: the seconds after which brokers are not asked again.
    """
    from confluent_kafka.admin import OffsetSpec  # type: ignore[attr-defined]  # noqa: PLC0415 - few need it

    spec = OffsetSpec.for_timestamp(which) if isinstance(which, int) else getattr(OffsetSpec, which)()
    levels = confluent_kafka.IsolationLevel
    level = levels.READ_COMMITTED if committed else levels.READ_UNCOMMITTED
    deadline = time.monotonic() + within_s
    offsets: dict[Place, int] = {}
    errors: dict[Place, confluent_kafka.KafkaException] = {}
    left = {*places}
    while left:
        specs = {confluent_kafka.TopicPartition(*place): spec for place in sorted(left)}
        # Even if the deadline is over, brokers are asked at least once and get some time to answer.
        left_s = max(deadline - time.monotonic(), 0.1)
        errors = {}
        for partition, answer in admin.list_offsets(
            specs, isolation_level=level, request_timeout=left_s
        ).items():
            place = partition.topic, partition.partition
            try:
                offsets[place] = answer.result().offset
            except confluent_kafka.KafkaException as error:
                errors[place] = error
        left = {*errors}
        # If at least one error passes by itself, all failed partitions are asked for again.
        passing = any(error.args[0].name() in _LEADER_MOVES for error in errors.values())
        if not passing or time.monotonic() >= deadline:
            break
        pause(0.1)
    return offsets, errors


def committed_offsets(
    admin: Any, group: str, places: Iterable[Place] | None = None, *, stable: bool = False, within_s: float
) -> list[confluent_kafka.TopicPartition]:
    """Return the offsets that a group has committed for these partitions, or for all of them (None).

    The group is described first. While the group's coordinator is unavailable or moves, librdkafka crashes
    the process if it is asked for offsets (issue 5040 of confluentinc/librdkafka), but not if it is asked for
    a description.

    Args:
        admin: an `AdminClient`.
        group: the group id.
        places: the partitions; None for all.
        stable: True if a partition gets an error while an open transaction may change its offset.
        within_s: the seconds that each question may take.

    Raises:
        KafkaException: the cluster refuses a question.
    """
    try:
        admin.describe_consumer_groups([group], request_timeout=within_s)[group].result()
    except confluent_kafka.KafkaException as error:
        if error.args[0].name() != "GROUP_ID_NOT_FOUND":  # such a group may still have offsets
            raise
    partitions = None if places is None else [confluent_kafka.TopicPartition(*place) for place in places]
    question = confluent_kafka.ConsumerGroupTopicPartitions(group, partitions)
    answers = admin.list_consumer_group_offsets([question], require_stable=stable, request_timeout=within_s)
    offsets: list[confluent_kafka.TopicPartition] = answers[group].result().topic_partitions
    return offsets
