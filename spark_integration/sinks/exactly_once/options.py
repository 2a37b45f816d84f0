"""The options of an exactly-once write, and what it asks of librdkafka's settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from partitioning.clients.delivery import milliseconds
from partitioning.errors import InvalidConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

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
    """What an exactly-once write is called.

    Attributes:
        app_id: the application.
        version: which version of its records; 0 for a stream, which has a micro-batch.
        first_version: the version that begins a ledger, whatever records there are; None where none is said
            to, so that version 0 begins one in partitions without records.
        stream: whether versions are the stream's micro-batches.
    """

    app_id: str
    version: int
    first_version: int | None
    stream: bool


def read_once(own: Mapping[str, str]) -> OnceOptions | None:
    """What the options say of exactly-once; None if nothing.

    Args:
        own: the sink's own options, by their names in lower case.

    Raises:
        InvalidConfigError: one has no meaning, or needs another.
    """
    first = own.get("txnfirstversion")
    first_version = None if first is None else _version("txnFirstVersion", first)
    stream = own.get("exactlyonce", "false").lower()
    if stream not in {"true", "false"}:
        raise InvalidConfigError(f"option 'exactlyOnce' is {stream[:40]!r}; give 'true' or 'false'")
    app_id, version = own.get("txnappid"), own.get("txnversion")
    if stream == "true":
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
        if first is not None:
            raise InvalidConfigError("'txnFirstVersion' needs 'txnAppId' and 'txnVersion', or 'exactlyOnce'")
        return None
    if app_id is None or version is None:
        raise InvalidConfigError(
            "'txnAppId' and 'txnVersion' go together: give both, or neither; in writeStream 'txnAppId' goes "
            "with 'exactlyOnce'"
        )
    return OnceOptions(_app_id(app_id), _version("txnVersion", version), first_version, stream=False)


def check_transactional(config: Mapping[str, str]) -> None:
    """Raise unless a transactional producer can be had with these settings.

    Raises:
        InvalidConfigError: one of them does not go with transactions.
    """
    for name, needed in _NEEDED.items():
        if config.get(name, needed[0]).lower() not in needed:
            raise InvalidConfigError(
                f"'kafka.{name}' is {config[name]!r}, with which nothing is exactly once"
            )
    delivery = "message.timeout.ms" if "message.timeout.ms" in config else "delivery.timeout.ms"
    try:
        longest = milliseconds(config, "transaction.timeout.ms", 60_000, 2**31 - 1, least=1000)
        patience = milliseconds(config, delivery, 300_000, 2**31 - 1)
    except ValueError as error:
        raise InvalidConfigError(f"option {error}") from None
    if not 0 < patience <= longest:
        raise InvalidConfigError(
            f"'kafka.{delivery}' is {patience} and 'kafka.transaction.timeout.ms' {longest}: a transaction "
            "must not end before its records are given up, so raise the second or lower the first"
        )


def _app_id(text: str) -> str:
    if not text.strip() or not text.isascii() or not text.isprintable() or len(text) > _LONGEST_ID:
        raise InvalidConfigError(
            f"option 'txnAppId' is {text[:40]!r}; give 1 to {_LONGEST_ID} printable ASCII characters"
        )
    return text


def _version(name: str, text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 20 and int(text) <= _HIGHEST):
        raise InvalidConfigError(f"option {name!r} is {text[:40]!r}; give a whole number, 0 to {_HIGHEST}")
    return int(text)
