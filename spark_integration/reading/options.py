"""Read the source's options and the environment, and make librdkafka's configuration of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from partitioning.clients.contact import Place
from partitioning.errors import InvalidConfigError
from partitioning.kit.limits import MAX_PARTITION, parse_number
from spark_integration.sinks.options import read_number, read_own, read_truth, sink_settings

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
"""The option that only a batch has, and the one that only a stream has."""

EARLIEST, LATEST = -2, -1
"""The numbers that stand for "earliest" and "latest" in offsets given as JSON, as in Spark's Kafka source."""

# "read_uncommitted" is the default of the Java consumer, and so of Spark's own source; librdkafka's is
# "read_committed". librdkafka requires a group id, but the group is never joined.
DEFAULTS = {"isolation.level": "read_uncommitted", "group.id": "copartition"}
# Nothing is committed to Kafka, because Spark keeps the position. The end of a partition must be reported,
# because a task would otherwise wait for a record at offsets there that have none. An offset that is gone
# must be an error: with another value of `auto.offset.reset` the consumer would silently read on elsewhere.
FIXED = {
    "enable.auto.commit": "false",
    "enable.auto.offset.store": "false",
    "enable.partition.eof": "true",
    "auto.offset.reset": "error",
}


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Holds the options of a read after they were parsed and checked.

    Attributes:
        config: librdkafka's consumer settings.
        topics: names of the topics to read, sorted, each once.
        assigned: the partitions to read; None for every partition of the topics.
        starting: where to begin: EARLIEST, LATEST, or partition -> offset, which may be EARLIEST or LATEST.
        ending: where a batch ends, in the same form; never EARLIEST.
        fail_on_data_loss: whether the read fails if offsets are gone; if False they are skipped.
        min_partitions: the fewest Spark partitions that there should be, if there are as many records. None
            for about one for each Kafka partition.
        max_offsets: the most offsets that a micro-batch may have; None for no limit.
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
    """Read a read's options; those with the prefix `kafka.` are settings of librdkafka.

    Args:
        options: the options that Spark passes, by name.
        environment: the driver's environment variables. An option wins over a variable.
        starting: where reading begins if no option says so, EARLIEST or LATEST.

    Raises:
        InvalidConfigError: an option is unknown or has no valid value, or the brokers or topics are missing.
    """
    own = read_own(options, OWN_OPTIONS, "source")
    topics, assigned = _topics(own)
    config = sink_settings(options, environment)
    # These settings are refused, not silently overwritten: a user who sets one expects an effect that it
    # cannot have.
    for name in FIXED.keys() & config.keys():
        raise InvalidConfigError(
            f"leave out 'kafka.{name}': Spark knows where reading begins and how far it is, Kafka gets "
            "nothing ('startingOffsets' says where to begin)"
        )
    return ReadOptions(
        # The order matters: the user's settings win over defaults, but not over what the source depends on.
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
    """Return the topics to read, and which of their partitions to read; None for all of them.

    Raises InvalidConfigError if not exactly one of `subscribe` and `assign` is given, or if the value of
    `assign` cannot be read.
    """
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
    """Return the partitions of `{"topic": [0, 7]}`; an empty set if the text is anything else."""
    try:
        named = [(topic, number) for topic, numbers in json.loads(text).items() for number in numbers]
    # JSON that is nested thousands of levels deep raises RecursionError.
    except (ValueError, TypeError, AttributeError, RecursionError):
        return frozenset()
    fit = all(type(number) is int and 0 <= number <= MAX_PARTITION for _, number in named)
    return frozenset(named if fit else ())


def _offsets(own: Mapping[str, str], name: str, default: int) -> int | Mapping[Place, int]:
    """Return the value of an option for offsets: EARLIEST, LATEST, or partition -> offset.

    Args:
        own: the options by names in lower case.
        name: the option's name, as users write it.
        default: EARLIEST or LATEST, if the option is not given.

    Raises:
        InvalidConfigError: the value is not "earliest", "latest" or the JSON of offsets, or `endingOffsets`
            would end at the beginning.
    """
    text = own.get(name.lower())
    if text is None:
        return default
    # A read that ends at the beginning reads nothing. Spark's own source refuses that, too.
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
    """Return (topic, partition) -> offset of `{"topic": {"0": 23}}`; None if the text is anything else."""
    places: dict[Place, int] = {}
    try:
        for topic, offsets in json.loads(text).items():
            for partition, offset in offsets.items():
                number = parse_number(partition, MAX_PARTITION)
                if number is None or type(offset) is not int or offset < EARLIEST:
                    return None
                places[topic, number] = offset
    # JSON that is nested thousands of levels deep raises RecursionError.
    except (ValueError, AttributeError, RecursionError):
        return None
    return places or None
