"""One table: which client hashes what, how the hash becomes a partition, what null and empty keys do."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Literal

from partitioning.errors import UnknownStrategyError

if TYPE_CHECKING:
    from partitioning.hashing import HashName
    from partitioning.hashing.modulo import SignRule


# Without slots: PySpark 3.5 sends the table to executors by value, and loses what is in slots of a dataclass.
@dataclass(frozen=True)
class Profile:
    """How one client, in one configuration, places a keyed record.

    Attributes:
        name: what `profile=` takes.
        hash: name of the hash function in `hashing.HASHES`.
        sign: how the signed 32-bit hash meets the partition count: "mask" clears the sign bit first,
            "unsigned" reads it as unsigned, "absolute" drops the sign of the signed remainder.
        null: "unkeyed", "empty": hashed as an empty key, or "first": always partition 0.
        empty: "hashed", or "unkeyed".
        unkeyed: the strategy most like that client's for what it does not hash; a name of `get_partitioner`.
        client: the client and its configuration.
        source: where the client has the rule.
        checked: whether we asked that client itself; its answers are `tests/golden/clients/profiles`.
    """

    name: str
    hash: HashName
    sign: SignRule
    null: Literal["unkeyed", "empty", "first"]
    empty: Literal["hashed", "unkeyed"]
    unkeyed: Literal["sticky", "sticky-by-time", "random", "round-robin"]
    client: str
    source: str
    checked: bool = True


PROFILES = {
    profile.name: profile
    for profile in (
        Profile(
            "java", "murmur2", "mask", "unkeyed", "hashed", "sticky",
            "kafka-clients, default", "BuiltInPartitioner.partitionForKey, Utils.murmur2",
        ),
        Profile(
            "librdkafka", "crc32", "unsigned", "unkeyed", "unkeyed", "sticky-by-time",
            "librdkafka, confluent-kafka: consistent_random, its default",
            "rd_kafka_msg_partitioner_consistent_random",
        ),
        Profile(
            "librdkafka-consistent", "crc32", "unsigned", "empty", "hashed", "random",
            "librdkafka, confluent-kafka: consistent", "rd_kafka_msg_partitioner_consistent",
        ),
        Profile(
            "librdkafka-murmur2", "murmur2", "mask", "empty", "hashed", "random",
            "librdkafka, confluent-kafka: murmur2", "rd_kafka_msg_partitioner_murmur2",
        ),
        Profile(
            "librdkafka-murmur2-random", "murmur2", "mask", "unkeyed", "hashed", "sticky-by-time",
            "librdkafka, confluent-kafka: murmur2_random", "rd_kafka_msg_partitioner_murmur2_random",
        ),
        Profile(
            "librdkafka-fnv1a", "fnv1a", "absolute", "empty", "hashed", "random",
            "librdkafka, confluent-kafka: fnv1a", "rd_kafka_msg_partitioner_fnv1a",
        ),
        Profile(
            "librdkafka-fnv1a-random", "fnv1a", "absolute", "unkeyed", "hashed", "sticky-by-time",
            "librdkafka, confluent-kafka: fnv1a_random", "rd_kafka_msg_partitioner_fnv1a_random",
        ),
        Profile(
            "kafka-python", "murmur2", "mask", "unkeyed", "hashed", "random",
            "kafka-python, default", "kafka/partitioner/default.py",
        ),
        Profile(
            "aiokafka", "murmur2", "mask", "unkeyed", "hashed", "random",
            "aiokafka and Faust, default", "aiokafka/partitioner.py",
        ),
        Profile(
            "franz-go", "murmur2", "mask", "unkeyed", "hashed", "sticky",
            "franz-go, default", "pkg/kgo/partitioner.go",
        ),
        Profile(
            "sarama", "fnv1a", "absolute", "unkeyed", "hashed", "random",
            "sarama, NewHashPartitioner, its default", "partitioner.go",
        ),
        Profile(
            "sarama-reference", "fnv1a", "mask", "unkeyed", "hashed", "random",
            "sarama, NewReferenceHashPartitioner", "partitioner.go",
        ),
        Profile(
            "sarama-crc32", "crc32", "absolute", "unkeyed", "hashed", "random",
            "sarama, NewCustomHashPartitioner(crc32.NewIEEE)", "partitioner.go",
        ),
        Profile(
            "sarama-consistent-crc", "crc32", "unsigned", "unkeyed", "hashed", "random",
            "sarama, NewConsistentCRCHashPartitioner", "partitioner.go",
        ),
        Profile(
            "kafka-go-hash", "fnv1a", "absolute", "unkeyed", "hashed", "round-robin",
            "segmentio/kafka-go, Hash", "balancer.go",
        ),
        Profile(
            "kafka-go-reference", "fnv1a", "mask", "unkeyed", "hashed", "random",
            "segmentio/kafka-go, ReferenceHash", "balancer.go",
        ),
        Profile(
            "kafka-go-crc32", "crc32", "unsigned", "unkeyed", "unkeyed", "random",
            "segmentio/kafka-go, CRC32Balancer", "balancer.go",
        ),
        Profile(
            "kafka-go-crc32-consistent", "crc32", "unsigned", "empty", "hashed", "random",
            "segmentio/kafka-go, CRC32Balancer, Consistent", "balancer.go",
        ),
        Profile(
            "kafka-go-murmur2", "murmur2", "mask", "unkeyed", "hashed", "random",
            "segmentio/kafka-go, Murmur2Balancer", "balancer.go",
        ),
        Profile(
            "kafka-go-murmur2-consistent", "murmur2", "mask", "empty", "hashed", "random",
            "segmentio/kafka-go, Murmur2Balancer, Consistent", "balancer.go",
        ),
        Profile(
            "kafkajs", "murmur2", "mask", "unkeyed", "hashed", "round-robin",
            "kafkajs 2, DefaultPartitioner", "src/producer/partitioners/default",
        ),
        Profile(
            "kafkajs-legacy", "kafkajs-murmur2", "mask", "unkeyed", "hashed", "round-robin",
            "kafkajs 1, and 2 with LegacyPartitioner", "src/producer/partitioners/legacy",
        ),
        Profile(
            "platformatic", "murmur2", "unsigned", "unkeyed", "hashed", "round-robin",
            "@platformatic/kafka, default", "defaultPartitioner",
        ),
        Profile(
            "platformatic-compatible", "murmur2", "mask", "first", "hashed", "round-robin",
            "@platformatic/kafka, compatibilityPartitioner", "compatibilityPartitioner",
        ),
        Profile(
            "ruby-kafka", "crc32", "unsigned", "unkeyed", "hashed", "random",
            "ruby-kafka, default", "lib/kafka/partitioner.rb", checked=False,
        ),
        Profile(
            "pulsar-java", "java-string", "mask", "unkeyed", "hashed", "round-robin",
            "Apache Pulsar, Java client, JavaStringHash, its default", "client/impl/JavaStringHash.java",
        ),
        Profile(
            "pulsar-murmur3", "murmur3", "mask", "unkeyed", "hashed", "round-robin",
            "Apache Pulsar, Java client, Murmur3_32Hash", "client/impl/Murmur3Hash32.java",
        ),
        Profile(
            "pulsar-cpp", "boost", "mask", "unkeyed", "hashed", "round-robin",
            "Apache Pulsar, C++ and Python clients, BoostHash, their default", "lib/BoostHash.cc",
        ),
        Profile(
            "clickhouse", "murmur2", "mask", "unkeyed", "hashed", "random",
            "ClickHouse, kafkaMurmurHash(key) % n, NULL for null", "src/Functions/FunctionsHashing.h",
        ),
        Profile(
            "quix", "murmur2", "mask", "empty", "hashed", "random",
            "Quix Streams, default (librdkafka's murmur2)", "quixstreams/kafka/producer.py",
        ),
    )
}  # fmt: skip
"""Every profile by name."""


def find_profile(name: str) -> Profile:
    """The profile of this name; UnknownStrategyError where there is none."""
    try:
        return PROFILES[name]
    except KeyError:
        raise _no_profile(str(name)) from None


_MEANT = {
    "murmur2": ("java", "librdkafka-murmur2"),
    "murmur2_random": ("librdkafka-murmur2-random",),
    "consistent": ("librdkafka-consistent",),
    "consistent_random": ("librdkafka",),
    "fnv1a": ("librdkafka-fnv1a",),
    "fnv1a_random": ("librdkafka-fnv1a-random",),
    "confluent-kafka": ("librdkafka",),
    "kafka-clients": ("java",),
}
"""Names that people use: hashes, librdkafka's values of `partitioner`, and packages of clients."""


def _no_profile(name: str) -> UnknownStrategyError:
    from partitioning.partitioners import plug_in_names  # noqa: PLC0415 - profiles are partitioners, too

    plug_ins = plug_in_names()
    if name in plug_ins:
        return UnknownStrategyError(
            f"{name!r} is a plug-in, and this needs the hash of a client's own rule; plug-ins that place by "
            "key alone are taken by partition_for_key, partition_batch, grow, `keyed` of partitioners and "
            "`copartition partition` (docs/plugins.md)"
        )
    names = [*PROFILES, *plug_ins]
    close = _MEANT.get(name) or get_close_matches(name, names, n=3) or sorted(names)
    return UnknownStrategyError(f"no profile {name!r}; did you mean {', '.join(close)}?")
