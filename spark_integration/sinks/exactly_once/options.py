"""The options of an exactly-once write, and what it asks of librdkafka's settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from partitioning.clients.delivery import milliseconds
from spark_integration.errors import SinkConfigError

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
        app_id: the application; empty for a stream, whose query has an id.
        version: which version of its records; 0 for a stream, which has a micro-batch.
        first_version: the only version that may find no ledger.
        stream: whether application and version are the stream's own.
    """

    app_id: str
    version: int
    first_version: int
    stream: bool


def read_once(own: Mapping[str, str]) -> OnceOptions | None:
    """What the options say of exactly-once; None if nothing.

    Args:
        own: the sink's own options, by their names in lower case.

    Raises:
        SinkConfigError: one has no meaning, or needs another.
    """
    first_version = _version("txnFirstVersion", own.get("txnfirstversion", "0"))
    stream = own.get("exactlyonce", "false").lower()
    if stream not in {"true", "false"}:
        raise SinkConfigError(f"option 'exactlyOnce' is {stream[:40]!r}; give 'true' or 'false'")
    app_id, version = own.get("txnappid"), own.get("txnversion")
    if stream == "true":
        if app_id is not None or version is not None:
            raise SinkConfigError(
                "'exactlyOnce' takes id and version from the stream: leave out 'txnAppId' and 'txnVersion'"
            )
        return OnceOptions("", 0, first_version, stream=True)
    if app_id is None and version is None:
        if "txnfirstversion" in own:
            raise SinkConfigError("'txnFirstVersion' needs 'txnAppId' and 'txnVersion', or 'exactlyOnce'")
        return None
    if app_id is None or version is None:
        raise SinkConfigError("'txnAppId' and 'txnVersion' go together: give both, or neither")
    if not app_id.strip() or not app_id.isprintable() or len(app_id) > _LONGEST_ID:
        raise SinkConfigError(
            f"option 'txnAppId' is {app_id[:40]!r}; give a name of 1 to {_LONGEST_ID} printable characters"
        )
    return OnceOptions(app_id, _version("txnVersion", version), first_version, stream=False)


def check_transactional(config: Mapping[str, str]) -> None:
    """Raise unless a transactional producer can be had with these settings.

    Raises:
        SinkConfigError: one of them does not go with transactions.
    """
    for name, needed in _NEEDED.items():
        if config.get(name, needed[0]).lower() not in needed:
            raise SinkConfigError(f"'kafka.{name}' is {config[name]!r}, with which nothing is exactly once")
    delivery = "message.timeout.ms" if "message.timeout.ms" in config else "delivery.timeout.ms"
    try:
        longest = milliseconds(config, "transaction.timeout.ms", 60_000, 2**31 - 1, least=1000)
        patience = milliseconds(config, delivery, 300_000, 2**31 - 1)
    except ValueError as error:
        raise SinkConfigError(f"option {error}") from None
    if not 0 < patience <= longest:
        raise SinkConfigError(
            f"'kafka.{delivery}' is {patience} and 'kafka.transaction.timeout.ms' {longest}: a transaction "
            "must not end before its records are given up, so raise the second or lower the first"
        )


def _version(name: str, text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 20 and int(text) <= _HIGHEST):
        raise SinkConfigError(f"option {name!r} is {text[:40]!r}; give a whole number, 0 to {_HIGHEST}")
    return int(text)
