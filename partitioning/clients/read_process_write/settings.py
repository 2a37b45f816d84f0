"""Settings that exactly once rests on: set where nobody set them, and refused where they say otherwise."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from partitioning.clients.delivery import milliseconds
from partitioning.clients.java_settings import librdkafka_security
from partitioning.errors import InvalidConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_MOST_MS = 2**31 - 1
_TRANSACTION_MS = 10_000
_POLL_MS = 300_000
_STRATEGY = "partition.assignment.strategy"

_CONSUMER_MUST = {
    "enable.auto.commit": ("false f 0", "offsets are committed in transactions only"),
    "auto.commit.enable": ("false f 0", "offsets are committed in transactions only"),
    "isolation.level": (
        "read_committed",
        "without it a new owner of a partition may begin before the last one's offsets are settled",
    ),
}
_PRODUCER_MUST = {
    "enable.idempotence": ("true t 1", "a transaction's producer is idempotent"),
    "acks": ("all -1", "what only a leader has can be lost after the commit"),
    "request.required.acks": ("all -1", "what only a leader has can be lost after the commit"),
}


@dataclass(frozen=True)
class LoopSettings:
    """The settings of one process of a loop.

    Attributes:
        topics: to read.
        consumer: of librdkafka, whole.
        producer: likewise.
        batch: records of a transaction, at most.
    """

    topics: tuple[str, ...]
    consumer: Mapping[str, Any] = field(repr=False)  # passwords are in both
    producer: Mapping[str, Any] = field(repr=False)
    batch: int

    @classmethod
    def of(
        cls, topics: Sequence[str], consumer: Mapping[str, Any], producer: Mapping[str, Any], batch: int
    ) -> LoopSettings:
        """The settings, completed by what the guarantee rests on.

        Raises:
            InvalidConfigError: one is missing, has no meaning, or contradicts them.
        """
        names: Iterable[object] = () if isinstance(topics, str) else topics
        if not names or not all(isinstance(each, str) and each for each in names):
            raise InvalidConfigError(f"topics is {topics!r}: give a list of names of topics to read")
        size: object = batch
        if not isinstance(size, int) or isinstance(size, bool) or size < 1:
            raise InvalidConfigError(f"batch is {batch!r}: give a whole number of records, at least 1")
        _demand("consumer_config", consumer, "group.id", _CONSUMER_MUST)
        _demand("producer_config", producer, "transactional.id", _PRODUCER_MUST)
        defaults = {} if consumer.get("group.protocol") == "consumer" else {_STRATEGY: "cooperative-sticky"}
        return cls(
            tuple(topics),
            {
                "auto.offset.reset": "earliest",
                **defaults,
                **librdkafka_security(consumer),
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
            },
            {
                "transaction.timeout.ms": _TRANSACTION_MS,
                "metadata.recovery.strategy": "none",
                "reconnect.backoff.max.ms": 1000,
                # A transaction does not commit where a record was not delivered: nobody else needs to hear.
                "on_delivery": lambda *_: None,
                **librdkafka_security(producer),
            },
            batch,
        )

    def __post_init__(self) -> None:
        _ = self.turn_s, self.poll_s  # refuses what has no meaning

    @property
    def turn_s(self) -> float:
        """How long the calls of one turn may take together: after that a transaction is over."""
        return _seconds(self.producer, "transaction.timeout.ms", _TRANSACTION_MS)

    @property
    def poll_s(self) -> float:
        """How long a batch may be processed: others have its partitions after that."""
        return _seconds(self.consumer, "max.poll.interval.ms", _POLL_MS)

    @property
    def group(self) -> str:
        """The consumer group."""
        return str(self.consumer["group.id"])

    @property
    def transactional_id(self) -> str:
        """The producer's."""
        return str(self.producer["transactional.id"])


def _demand(which: str, config: Mapping[str, Any], needed: str, must: Mapping[str, tuple[str, str]]) -> None:
    if not config.get(needed):
        raise InvalidConfigError(f"{which} has no {needed!r}: exactly once rests on it")
    for name, (allowed, why) in must.items():
        if name in config and str(config[name]).lower() not in allowed.split():
            raise InvalidConfigError(
                f"{which} has {name!r} {config[name]!r}, and {allowed.split()[0]!r} is needed: {why}. "
                "Leave it out"
            )


def _seconds(config: Mapping[str, Any], name: str, default: int) -> float:
    try:
        return milliseconds(config, name, default, _MOST_MS, 1) / 1000
    except ValueError as error:
        raise InvalidConfigError(str(error)) from error
