"""Whether brokers are new enough to keep zombies out."""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING, Any

from confluent_kafka import Producer

from partitioning.clients.contact import cluster_metadata
from partitioning.errors import UnknownTopicError, UnsupportedBrokerError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from confluent_kafka import KafkaError

_KNOWS = re.compile(r"ApiKey \w+ \((\d+)\) Versions \d+\.\.(\d+)")
_TXN_OFFSET_COMMIT, _WITH_GENERATION = 28, 3


def refuse_old_brokers(config: Mapping[str, Any], within_s: float, dead_letters: str | None = None) -> None:
    """Ask a broker which requests it knows, with a client of its own that lives for this question.

    librdkafka leaves the group's generation out without a word where a broker does not know it. Nothing but
    its log says what brokers know; where that says nothing, nobody is refused.

    Raises:
        UnknownTopicError: the cluster has no topic `dead_letters`, or hides it from us.
        UnsupportedBrokerError: offsets in a transaction take no generation, so they fence nobody.
        BrokerUnreachableError: no broker answers, or none lets us in.
    """
    log_lines: list[str] = []
    logger = logging.Logger("versions")  # noqa: LOG001 - no other part of the program is to hear of it
    logger.addHandler(_Keeping(log_lines))
    errors: list[KafkaError] = []
    own = {name: value for name, value in config.items() if not name.startswith("transaction")}
    asking = Producer(own | {"debug": "feature", "logger": logger, "error_cb": errors.append})
    try:
        metadata = cluster_metadata(asking, config, errors, timeout_s=within_s)
        asking.poll(0)  # hands the log over
    finally:
        asking.close()
    if dead_letters is not None and dead_letters not in metadata.topics:
        raise UnknownTopicError(
            f"dead_letters is {dead_letters!r}: the cluster has no such topic, or hides it: create it first"
        )
    newest_versions = {int(request): int(newest) for request, newest in _KNOWS.findall("\n".join(log_lines))}
    if newest_versions and newest_versions.get(_TXN_OFFSET_COMMIT, -1) < _WITH_GENERATION:
        raise UnsupportedBrokerError(
            f"the brokers at {config.get('bootstrap.servers')} are older than 2.5: they take offsets in a "
            "transaction from members that the group has lost, so that records would be doubled. Upgrade them"
        )


class _Keeping(logging.Handler):
    def __init__(self, lines: list[str]) -> None:
        super().__init__()
        self._lines = lines

    def emit(self, record: logging.LogRecord) -> None:
        self._lines.append(record.getMessage())
