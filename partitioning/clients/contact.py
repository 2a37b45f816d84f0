"""The first question to a cluster, and why it sends a client away.

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

import confluent_kafka  # the module, since its classes cannot be pickled

from partitioning.clients.delivery import describe_errors
from partitioning.errors import BrokerUnreachableError, InvalidConfigError, MachineError

if TYPE_CHECKING:
    from confluent_kafka import KafkaError

PATIENCE_S = 1.5
"""Seconds that a command gives brokers that are down or hang up."""
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
"""librdkafka's words for a handshake with a server that does not speak TLS."""


@contextmanager
def machine_faults() -> Iterator[None]:
    """Turn what this machine cannot give a client that the block makes into a `MachineError`.

    librdkafka starts threads of its own for each client. Where one does not start, the settings are not to
    blame, which any other error of the block says.
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
        MachineError: the clock jumped meanwhile, which the system refuses as an invalid time.
    """
    try:
        time.sleep(seconds)
    except OSError as error:
        raise MachineError(
            f"the clock of this machine jumped while a Kafka client waited: {error.strerror}; set it, and "
            "write again: what was acknowledged is written, and nothing else is said to be"
        ) from error


def quiet_client(kind: Callable[[Any], Any], config: Mapping[str, Any], errors: list[KafkaError]) -> Any:
    """Return a client that adds its errors to `errors`.

    InvalidConfigError if librdkafka refuses its settings, MachineError if it gets no thread.
    """
    try:
        with machine_faults():
            return kind({**QUIET, **config, "error_cb": errors.append})
    except (confluent_kafka.KafkaException, ValueError, TypeError) as error:
        fault = error.args[0].str() if isinstance(error, confluent_kafka.KafkaException) else error
        raise InvalidConfigError(
            f"librdkafka refuses the settings: {_without_secrets(str(fault), config)}"
        ) from None


_HARMLESS = re.compile(r"[\w.,-]{0,40}")
"""Values that a setting with a choice, a number or a name may have; two lines that became one have a sign."""
_NAME = re.compile(r"[a-z_]+(?:[.-][a-z_]+)*")
"""Names of settings: small letters alone. A part of a password that stands for a name seldom looks so."""


def _without_secrets(fault: str, config: Mapping[str, Any]) -> str:
    """Return librdkafka's words on settings, without names and values that may be parts of a password.

    A file whose lines were cut or wrongly joined brings such parts, and librdkafka shows what it refuses.
    """
    texts = [str(value) for value in config.values() if not _HARMLESS.fullmatch(str(value))]
    texts += [name for name in config if not _NAME.fullmatch(name)]
    # The longest first: a shorter one may be a part of it.
    for text in sorted(texts, key=len, reverse=True):
        fault = fault.replace(text, "(not shown, it may hold a password)")
    return fault


def why_refused(faults: Iterable[KafkaError], config: Mapping[str, Any]) -> str:
    """Return what librdkafka says, each fault once, with what it leaves out and the settings to look at."""
    errors = [*faults]
    # Beside the fault of each connection librdkafka counts them ("0/1 brokers are down"): that says no more.
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
    """Return what `security.protocol` has to be where brokers expect TLS and we come without, or the reverse.

    librdkafka sees in both cases that the broker hangs up, and takes the broker for one that is down.
    """
    if all(fault.name() != "_ALL_BROKERS_DOWN" for fault in faults):
        return None
    protocol = str(config.get("security.protocol", "PLAINTEXT")).upper()
    # SASL_SSL and SSL speak TLS; PLAINTEXT and SASL_PLAINTEXT do not.
    with_tls = protocol.endswith("SSL")
    # A generator: the first broker that answers decides, and the others are not asked.
    told_by = (_speaks_tls(*address) for address in _addresses(config))
    spoken = next((spoken for spoken in told_by if spoken is not None), None)
    if spoken is None or spoken == with_tls:
        return None
    which = f"and security.protocol is {protocol}: try {_OTHER.get(protocol, 'another')}"
    return f"the broker speaks {'TLS' if spoken else 'no TLS'}, {which}"


def _speaks_tls(host: str, port: int) -> bool | None:
    """Return whether somebody there does; None if nobody is.

    A broker that is going away hangs up as one does that speaks no TLS; a moment later it is gone.
    """
    spoken = _shakes_hands(host, port)
    if spoken is False:
        pause(_MOMENT_S)
        spoken = _shakes_hands(host, port)
    return spoken


def _shakes_hands(host: str, port: int) -> bool | None:
    """Return whether a TLS handshake succeeds there or fails for another reason than that no TLS is spoken.

    None if nobody answers.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE  # nothing is sent, and whom to trust is not the question
    try:
        raw = socket.create_connection((host, port), _CONNECT_WITHIN_S)
    except OSError:
        return None
    with raw:
        try:
            context.wrap_socket(raw).close()
        except ssl.SSLError as error:
            return not str(error.reason).startswith(_NO_TLS)  # it may well want a certificate of ours
        except TimeoutError:
            return None
        except OSError:
            # The peer hung up on our first message: it speaks another protocol.
            return False
    return True


def _certificate_fault(config: Mapping[str, Any]) -> str | None:
    """Return what is wrong with the first broker's certificate, under librdkafka's settings.

    None for nothing.
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
    """Yield the addresses of a few brokers that the settings name.

    Asking one that does not answer takes time.
    """
    for server in str(config.get("bootstrap.servers", "")).split(",")[:_ASKED]:
        host, _, port = server.strip().rpartition("://")[2].rpartition(":")
        if host and port.isdigit():
            yield host.strip("[]"), int(port)


def connected_metadata(ask: Callable[..., Any], *question: Any) -> Any:
    """Return what a client's `list_topics` answers to a question, over a connection that stays.

    librdkafka gives up its first connection once it knows the broker's name, and asks for the id of an
    idempotent or transactional producer when an answer comes while it has another, else every 500 ms only.
    """
    metadata = ask(*question)
    if metadata.orig_broker_id < 0:
        with suppress(confluent_kafka.KafkaException):
            return ask(*question)
    return metadata


_FIRST_WAIT_S = 0.25
_FINAL = {"_AUTHENTICATION", "_SSL", "_RESOLVE"}
"""Errors that another try does not mend: a wrong password, a certificate, an unknown host name."""


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
    """Return the brokers and the topics that this client may see, or at once why it may not come in.

    librdkafka tries again and again until the time is up, whatever the error; this listens in between.
    `errors` has what the `error_cb` of the client, as yet unused, was and is called with. `timeout_s` is for
    a cluster that says nothing, `patience_s` for one whose brokers are down or hang up (None: as long). Of a
    `topic` only that one is asked for, which brokers may create (`allow.auto.create.topics`). Where nobody
    answers, BrokerUnreachableError says why, and which settings to look at; `tell` is called with the same
    words once, after `PATIENCE_S`, so that nobody has to wait for the end to see that an address is wrong.
    """
    begun = time.monotonic()
    wait_s = _FIRST_WAIT_S
    while True:
        left_s = timeout_s - (time.monotonic() - begun)
        try:
            return client.list_topics(topic, timeout=max(min(wait_s, left_s), 0.001))
        except confluent_kafka.KafkaException as error:
            # Serves `error_cb`, which is called from `poll` only; without it `errors` would stay empty.
            with suppress(confluent_kafka.KafkaException, SystemError):  # fatal to a writer only
                client.poll(0)
            # A wrong password or certificate ends the wait at once: waiting longer cannot change the answer.
            final = [error for error in errors if error.name() in _FINAL]
            passed_s = time.monotonic() - begun
            impatient = patience_s is not None and errors and passed_s >= patience_s
            if final or impatient or passed_s >= timeout_s or protocol_fault(errors, config):
                why = why_refused(final or errors or [error.args[0]], config)
                raise BrokerUnreachableError(why) from error
            if tell is not None and passed_s >= PATIENCE_S:
                tell(why_refused(errors or [error.args[0]], config))
                tell = None
            # A call that fails at once would turn this into a busy loop.
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
    """Return an offset of each of these partitions, and the errors of the partitions that have none.

    A number is a time in milliseconds since 1970: the first offset from then on, -1 if nothing came since.
    If `committed`, open transactions are beyond the latest. Where a partition's leader is new or moves,
    brokers refuse for a moment; they are asked again for `within_s`, as Java's admin client does and
    librdkafka's does not.
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
        # Asked at least once with some time to answer, also if the deadline is over.
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
        # All that failed are asked again if at least one of the errors passes by itself.
        passing = any(error.args[0].name() in _LEADER_MOVES for error in errors.values())
        if not passing or time.monotonic() >= deadline:
            break
        pause(0.1)
    return offsets, errors


def committed_offsets(
    admin: Any, group: str, places: Iterable[Place] | None = None, *, stable: bool = False, within_s: float
) -> list[confluent_kafka.TopicPartition]:
    """Return the offsets that a group has committed for these partitions, or for all (None).

    Refusals are raised.

    With `stable` a partition where an open transaction would change the offset has an error instead. The
    group is described first: where its coordinator is not there yet or moves, librdkafka ends the process at
    a question for offsets (issue 5040 of confluentinc/librdkafka), and answers this one.
    """
    try:
        admin.describe_consumer_groups([group], request_timeout=within_s)[group].result()
    except confluent_kafka.KafkaException as error:
        if error.args[0].name() != "GROUP_ID_NOT_FOUND":  # it may have offsets all the same
            raise
    partitions = None if places is None else [confluent_kafka.TopicPartition(*place) for place in places]
    question = confluent_kafka.ConsumerGroupTopicPartitions(group, partitions)
    answers = admin.list_consumer_group_offsets([question], require_stable=stable, request_timeout=within_s)
    offsets: list[confluent_kafka.TopicPartition] = answers[group].result().topic_partitions
    return offsets
