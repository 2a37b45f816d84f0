"""One table: which client hashes what, how the hash becomes a partition, what null and empty keys do."""

from __future__ import annotations

import json
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from partitioning.errors import UnknownStrategyError
from partitioning.kit.packages import read_data

if TYPE_CHECKING:
    from partitioning.hashing import HashName
    from partitioning.hashing.modulo import SignRule


class Rule(NamedTuple):
    """Places a keyed record, but for the partition count."""

    hash: HashName
    sign: SignRule


# Without slots: PySpark 3.5 sends the table to executors by value, and loses what is in slots of a dataclass.
@dataclass(frozen=True)
class Profile:
    """Describes how one client, in one configuration, places a keyed record.

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

    @property
    def rule(self) -> Rule:
        """Its rule for keys that it hashes."""
        return Rule(self.hash, self.sign)


HashesEveryKey: TypeAlias = Literal[
    "librdkafka-consistent",
    "librdkafka-murmur2",
    "librdkafka-fnv1a",
    "kafka-go-crc32-consistent",
    "kafka-go-murmur2-consistent",
    "platformatic-compatible",
    "quix",
]
"""Profiles that have a partition for every key, the null key included."""
HashesBytes: TypeAlias = Literal[
    "java",
    "librdkafka-murmur2-random",
    "librdkafka-fnv1a-random",
    "kafka-python",
    "aiokafka",
    "franz-go",
    "sarama",
    "sarama-reference",
    "sarama-crc32",
    "sarama-consistent-crc",
    "sarama-murmur2",
    "kafka-go-hash",
    "kafka-go-reference",
    "kafka-go-murmur2",
    "kafkajs",
    "kafkajs-legacy",
    "platformatic",
    "ruby-kafka",
    "pulsar-java",
    "pulsar-murmur3",
    "pulsar-cpp",
    "clickhouse",
]
"""Profiles that have a partition for every key but the null key."""
HashesSomeKeys: TypeAlias = Literal[
    "librdkafka",
    "kafka-go-crc32",
]
"""Profiles that hash neither null nor empty keys."""
ProfileName: TypeAlias = HashesEveryKey | HashesBytes | HashesSomeKeys
"""Every name in `PROFILES`, for type checkers and editors."""

_ROWS = json.loads(read_data(__package__, "profiles.json"))
PROFILES = {profile.name: profile for profile in (Profile(**row) for row in _ROWS)}
"""Every profile by name.

>>> PROFILES["librdkafka"].client, PROFILES["librdkafka"].hash
('librdkafka, confluent-kafka: consistent_random, its default', 'crc32')
"""


def find_profile(name: str) -> Profile:
    """Return the profile of this name; UnknownStrategyError if there is none."""
    try:
        return PROFILES[name]
    except KeyError:
        raise _no_profile(str(name)) from None


# These come before names of a close spelling: "murmur2" may mean Java's client or librdkafka's, so both are
# named.
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
    """Return the error for an unknown profile: that it is a plug-in's name, or which names are close."""
    from partitioning.plug_ins import PARTITIONERS  # noqa: PLC0415 - executors place keys without plug-ins

    plug_ins = PARTITIONERS.names()
    if name in plug_ins:
        return UnknownStrategyError(
            f"{name!r} is a plug-in, and this needs the hash of a client's own rule; plug-ins that place by "
            "key alone are taken by partition_for_key, partition_batch, grow, `keyed` of partitioners and "
            "`copartition partition` (docs/plugins.md)"
        )
    names = [*PROFILES, *plug_ins]
    lower = name.lower()  # all names are
    close = [lower] if lower in names else _MEANT.get(lower) or get_close_matches(lower, names, n=3)
    close = close or sorted(names)
    return UnknownStrategyError(f"no profile {name!r}; did you mean {', '.join(close)}?")
