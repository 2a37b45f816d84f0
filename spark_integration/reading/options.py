"""Reads the source's options: Spark's options and the environment in, librdkafka's configuration out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from partitioning.clients.contact import Place
from partitioning.errors import InvalidConfigError
from partitioning.kit.limits import MAX_PARTITION, parse_number
from spark_integration.sinks.options import client_settings, read_number, read_own, read_truth

OWN_OPTIONS = (
    "bootstrap.servers",
    "subscribe",
    "assign",
    "startingOffsets",
    "endingOffsets",
    "failOnDataLoss",
    "includeHeaders",
    "minPartitions",
    "maxOffsetsPerTrigger",
)
_MOST = 2**63 - 1
BATCH_ONLY, STREAM_ONLY = "endingOffsets", "maxOffsetsPerTrigger"

EARLIEST, LATEST = -2, -1
"""The numbers with which Spark's Kafka source writes both in JSON."""

# As the Java consumer reads, and so Spark's own source; librdkafka's own default is "read_committed". The
# group is never joined.
DEFAULTS = {"isolation.level": "read_uncommitted", "group.id": "copartition"}
FIXED = {
    "enable.auto.commit": "false",
    "enable.auto.offset.store": "false",
    "enable.partition.eof": "true",
    "auto.offset.reset": "error",
}


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Says what a read was asked to do.

    Attributes:
        config: librdkafka's consumer configuration.
        topics: names of the topics to read, sorted, each once.
        assigned: their partitions to read; None for all.
        starting: EARLIEST or LATEST, or an offset for each partition, either of the two among them.
        ending: as `starting`.
        fail_on_data_loss: whether offsets that are gone end the read, or are passed over.
        min_partitions: as many input partitions at least, where the records suffice; None for one for each
            Kafka partition.
        max_offsets: of a micro-batch; None for all there are.
        headers: whether the column `headers` is wanted.
    """

    config: Mapping[str, str] = field(repr=False)  # it may hold a password
    topics: tuple[str, ...]
    assigned: frozenset[Place] | None
    starting: int | Mapping[Place, int]
    ending: int | Mapping[Place, int]
    fail_on_data_loss: bool
    headers: bool
    min_partitions: int | None
    max_offsets: int | None


def read_options(
    options: Mapping[str, str], environment: Mapping[str, str], starting: int = LATEST
) -> ReadOptions:
    """Read a read's options, in which `kafka.` marks a setting of librdkafka.

    Reading begins at `starting` where no option says otherwise. An option wins over the driver's environment
    variables. InvalidConfigError where one is unknown or has no meaning, or the brokers or the topic are
    missing.
    """
    own = read_own(options, OWN_OPTIONS, "source")
    topics, assigned = _topics(own)
    config = client_settings(options, environment)
    # Refused, not overwritten: whoever sets one of these expects an effect that it cannot have here.
    for name in FIXED.keys() & config.keys():
        raise InvalidConfigError(
            f"leave out 'kafka.{name}': Spark knows where reading begins and how far it is, Kafka gets "
            "nothing ('startingOffsets' says where to begin)"
        )
    return ReadOptions(
        # In this order: own settings win over defaults, and nothing over what the source depends on.
        config=DEFAULTS | config | FIXED,
        topics=topics,
        assigned=assigned,
        starting=_offsets(own, "startingOffsets", starting),
        ending=_offsets(own, "endingOffsets", LATEST),
        fail_on_data_loss=read_truth(own, "failOnDataLoss", default=True),
        headers=read_truth(own, "includeHeaders"),
        min_partitions=read_number(own, "minPartitions", 1, _MOST),
        max_offsets=read_number(own, "maxOffsetsPerTrigger", 1, _MOST),
    )


def _topics(own: Mapping[str, str]) -> tuple[tuple[str, ...], frozenset[Place] | None]:
    """Return the topics to read, and which of their partitions; None for all."""
    topics = tuple(sorted({name.strip() for name in own.get("subscribe", "").split(",")} - {""}))
    text = own.get("assign")
    if (text is None) == (not topics):
        raise InvalidConfigError(
            "no topic: give the option 'subscribe', one name or several with commas between, or 'assign', "
            'such as {"orders": [0, 7]}, for some of their partitions'
            if text is None
            else "options 'subscribe' and 'assign' both name topics: give one of them"
        )
    if text is None:
        return topics, None
    assigned = _parse_assign(text)
    if not assigned:
        raise InvalidConfigError(
            f"option 'assign' is {text[:80]!r}; give the partitions to read of each topic, for example "
            '{"orders": [0, 7]}'
        )
    return tuple(sorted({topic for topic, _ in assigned})), assigned


def _parse_assign(text: str) -> frozenset[Place]:
    """`{"topic": [0, 7]}`, or nothing if it is something else."""
    try:
        named = [(topic, number) for topic, numbers in json.loads(text).items() for number in numbers]
    except (ValueError, TypeError, AttributeError, RecursionError):  # the last of thousands of brackets
        return frozenset()
    fit = all(type(number) is int and 0 <= number <= MAX_PARTITION for _, number in named)
    return frozenset(named if fit else ())


def _offsets(own: Mapping[str, str], name: str, default: int) -> int | Mapping[Place, int]:
    """Return an option that is "earliest", "latest" or JSON."""
    text = own.get(name.lower())
    if text is None:
        return default
    # To end at the beginning is a mistake; Spark's source refuses it, too.
    refused = EARLIEST if name == "endingOffsets" else None
    words = {"earliest": EARLIEST, "latest": LATEST}
    offsets: int | Mapping[Place, int] | None = words.get(text.strip().lower())
    if offsets is None:
        offsets = _places(text)
    if offsets is None or refused in ({offsets} if isinstance(offsets, int) else set(offsets.values())):
        raise InvalidConfigError(
            f"option {name!r} is {text[:80]!r}; give "
            + ("" if refused else "'earliest', ")
            + "'latest', or an offset for every partition, for example "
            + '{"orders": {"0": 23, "1": -1}}, where -1 is latest'
            + ("" if refused else " and -2 earliest")
        )
    return offsets


def _places(text: str) -> dict[Place, int] | None:
    """Return the offsets of `{"topic": {"0": 23}}` by topic and partition.

    None if the text is something else.
    """
    places: dict[Place, int] = {}
    try:
        for topic, offsets in json.loads(text).items():
            for partition, offset in offsets.items():
                number = parse_number(partition, MAX_PARTITION)
                if number is None or type(offset) is not int or offset < EARLIEST:
                    return None
                places[topic, number] = offset
    except (ValueError, AttributeError, RecursionError):  # the last of thousands of brackets
        return None
    return places or None
