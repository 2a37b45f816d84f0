"""One table: which client hashes what, how the hash becomes a partition, what null and empty keys do."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Literal

from partitioning.errors import UnknownStrategyError

if TYPE_CHECKING:
    from partitioning.hashing.modulo import SignRule


@dataclass(frozen=True, slots=True)
class Profile:
    """How one client, in one configuration, places a keyed record.

    Attributes:
        name: what `profile=` takes.
        hash: name of the hash function in `hashing.HASHES`.
        sign: how the signed 32-bit hash meets the partition count: "mask" clears the sign bit first,
            "unsigned" reads it as unsigned, "absolute" drops the sign of the signed remainder.
        null: "unkeyed", or "empty": hashed as an empty key.
        empty: "hashed", or "unkeyed".
        unkeyed: where that client puts a record without a key.
        client: the client and its configuration.
        source: where the client has the rule.
        checked: whether that client's own answers are among our golden files.
    """

    name: str
    hash: str
    sign: SignRule
    null: Literal["unkeyed", "empty"]
    empty: Literal["hashed", "unkeyed"]
    unkeyed: str
    client: str
    source: str
    checked: bool = True


_STICKY_BYTES = "sticky by bytes, adaptive (KIP-794)"
_STICKY_TIME = "sticky by time (sticky.partitioning.linger.ms)"
_LIBRDKAFKA = "librdkafka, confluent-kafka-*, partitioner="

PROFILES = {
    profile.name: profile
    for profile in (
        Profile(
            "java", "murmur2", "mask", "unkeyed", "hashed", _STICKY_BYTES,
            "kafka-clients, default", "BuiltInPartitioner.partitionForKey, Utils.murmur2",
        ),
        Profile(
            "librdkafka", "crc32", "unsigned", "unkeyed", "unkeyed", _STICKY_TIME,
            _LIBRDKAFKA + "consistent_random, its default", "rd_kafka_msg_partitioner_consistent_random",
        ),
        Profile(
            "librdkafka-consistent", "crc32", "unsigned", "empty", "hashed", "hashed as an empty key",
            _LIBRDKAFKA + "consistent", "rd_kafka_msg_partitioner_consistent",
        ),
        Profile(
            "librdkafka-murmur2", "murmur2", "mask", "empty", "hashed", "hashed as an empty key",
            _LIBRDKAFKA + "murmur2", "rd_kafka_msg_partitioner_murmur2",
        ),
        Profile(
            "librdkafka-murmur2-random", "murmur2", "mask", "unkeyed", "hashed", _STICKY_TIME,
            _LIBRDKAFKA + "murmur2_random", "rd_kafka_msg_partitioner_murmur2_random",
        ),
        Profile(
            "librdkafka-fnv1a", "fnv1a", "absolute", "empty", "hashed", "hashed as an empty key",
            _LIBRDKAFKA + "fnv1a", "rd_kafka_msg_partitioner_fnv1a",
        ),
        Profile(
            "librdkafka-fnv1a-random", "fnv1a", "absolute", "unkeyed", "hashed", _STICKY_TIME,
            _LIBRDKAFKA + "fnv1a_random", "rd_kafka_msg_partitioner_fnv1a_random",
        ),
        Profile(
            "kafka-python", "murmur2", "mask", "unkeyed", "hashed", "random among the available",
            "kafka-python, default", "kafka.partitioner.default.murmur2",
        ),
        Profile(
            "aiokafka", "murmur2", "mask", "unkeyed", "hashed", "random among the available",
            "aiokafka, default; also Faust", "aiokafka.partitioner.DefaultPartitioner",
        ),
        Profile(
            "franz-go", "murmur2", "mask", "unkeyed", "hashed", "sticky by bytes, adaptive",
            "franz-go, default", "kgo.UniformBytesPartitioner, kgo.KafkaHasher",
        ),
        Profile(
            "sarama", "fnv1a", "absolute", "unkeyed", "hashed", "random",
            "sarama, NewHashPartitioner, its default", "sarama partitioner.go",
        ),
        Profile(
            "sarama-reference", "fnv1a", "mask", "unkeyed", "hashed", "random",
            "sarama, NewReferenceHashPartitioner", "sarama partitioner.go",
        ),
        Profile(
            "sarama-crc32", "crc32", "unsigned", "unkeyed", "hashed", "random",
            "sarama, NewConsistentCRCHashPartitioner", "sarama partitioner.go",
        ),
        Profile(
            "kafka-go-hash", "fnv1a", "absolute", "unkeyed", "hashed", "round robin",
            "segmentio/kafka-go, Hash", "kafka-go balancer.go",
        ),
        Profile(
            "kafka-go-reference", "fnv1a", "mask", "unkeyed", "hashed", "random",
            "segmentio/kafka-go, ReferenceHash", "kafka-go balancer.go",
        ),
        Profile(
            "kafka-go-crc32", "crc32", "unsigned", "unkeyed", "unkeyed", "random",
            "segmentio/kafka-go, CRC32Balancer", "kafka-go balancer.go",
        ),
        Profile(
            "kafka-go-murmur2", "murmur2", "mask", "unkeyed", "hashed", "random",
            "segmentio/kafka-go, Murmur2Balancer", "kafka-go balancer.go",
        ),
        Profile(
            "kafkajs", "murmur2", "mask", "unkeyed", "hashed",
            "round robin among the available, random start",
            "kafkajs 2, DefaultPartitioner", "kafkajs producer/partitioners/default",
        ),
        Profile(
            "kafkajs-legacy", "kafkajs-murmur2", "mask", "unkeyed", "hashed",
            "round robin among the available, random start",
            "kafkajs 1, and 2 with LegacyPartitioner", "kafkajs producer/partitioners/legacy",
        ),
        Profile(
            "platformatic", "murmur2", "unsigned", "unkeyed", "hashed", "round robin",
            "@platformatic/kafka, default", "@platformatic/kafka clients/producer",
        ),
        Profile(
            "ruby-kafka", "crc32", "unsigned", "unkeyed", "hashed", "random",
            "ruby-kafka, default", "ruby-kafka lib/kafka/partitioner.rb", checked=False,
        ),
        Profile(
            "pulsar-java", "java-string", "mask", "unkeyed", "hashed", "round robin a batch",
            "Apache Pulsar, Java client, JavaStringHash, its default",
            "org.apache.pulsar.client.impl.JavaStringHash",
        ),
        Profile(
            "pulsar-murmur3", "murmur3", "mask", "unkeyed", "hashed", "round robin a batch",
            "Apache Pulsar, HashingScheme.Murmur3_32Hash", "org.apache.pulsar.client.impl.Murmur3Hash32",
        ),
        Profile(
            "pulsar-cpp", "java-string-bytes", "mask", "unkeyed", "hashed", "round robin a batch",
            "Apache Pulsar, C++ client, JavaStringHash where char is signed (x86)",
            "pulsar-client-cpp lib/JavaStringHash.cc", checked=False,
        ),
        Profile(
            "clickhouse", "murmur2", "mask", "unkeyed", "hashed", "NULL",
            "ClickHouse, kafkaMurmurHash(key) % n", "ClickHouse kafkaMurmurHash",
        ),
        Profile(
            "quix", "murmur2", "mask", "empty", "hashed", "hashed as an empty key: one hot partition",
            "Quix Streams, default (librdkafka's murmur2)", "quixstreams.kafka.producer",
        ),
    )
}  # fmt: skip
"""Every profile by name."""


def find_profile(name: str) -> Profile:
    """The profile of this name.

    Raises:
        UnknownStrategyError: there is none.
    """
    try:
        return PROFILES[name]
    except KeyError:
        close = get_close_matches(name, PROFILES, n=3) or sorted(PROFILES)
        raise UnknownStrategyError(f"no profile {name!r}; did you mean {', '.join(close)}?") from None
