"""The table of profiles: a client's hash, its way to a partition, and what null and empty keys do."""

from __future__ import annotations

import json
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from partitioning.errors import UnknownStrategyError
from partitioning.kit.packages import read_data

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from partitioning.hashing import HashName
    from partitioning.hashing.modulo import SignRule


class Rule(NamedTuple):
    """Names the hash of a keyed record, and how the hash and a partition count give a partition."""

    hash: HashName
    sign: SignRule


def placing_of(rule: Rule, num_partitions: int | None) -> tuple[str, str]:
    """Return hash and sign of a rule; either is "any" if it makes no difference for this count.

    Rules that place every key alike have the same result.

    Args:
        rule: the rule.
        num_partitions: the count; None if it is unknown, so that rules are kept apart that may be the same.
    """
    if num_partitions == 1:
        return "any", "any"
    if num_partitions == 2:  # a remainder of 2 has no sign
        return rule.hash, "any"
    # 2**31 is a multiple of such a count, so the sign bit does not change the remainder.
    two_to_the = num_partitions is not None and num_partitions & (num_partitions - 1) == 0
    return rule.hash, "mask" if two_to_the and rule.sign == "unsigned" else rule.sign


# `Profile` has no slots: PySpark 3.5 sends the table to executors by value, and loses the slots of a
# dataclass.
@dataclass(frozen=True)
class Profile:
    """Describes how one client, in one configuration, places a keyed record.

    Attributes:
        name: the name for `profile=`.
        hash: the name of the hash function in `hashing.HASHES`.
        sign: how the signed 32-bit hash is reduced modulo the partition count. "mask" clears the sign bit
            first, "unsigned" reads the hash as unsigned, and "absolute" drops the sign of the remainder.
        null: the rule for a null key: "unkeyed"; "empty", hashed as an empty key; or "first", partition 0.
        empty: the rule for an empty key: "hashed" or "unkeyed".
        unkeyed: the name, for `get_partitioner`, of the strategy that is most like the client's for unkeyed
            records.
        client: the client and its configuration.
        source: the place of the rule in the client's source.
        checked: True if the client itself was asked; its answers are in `tests/golden/clients/profiles`.
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
    def summary(self) -> str:
        """The client and, if it was not asked itself, a note about that."""
        return self.client if self.checked else f"{self.client}; ported from its source, not checked"

    @property
    def rule(self) -> Rule:
        """The rule for keys that the client hashes."""
        return Rule(self.hash, self.sign)


HashesEveryKey: TypeAlias = Literal[
    "librdkafka-consistent",
    "librdkafka-murmur2",
    "librdkafka-fnv1a",
    "kafka-go-crc32-consistent",
    "kafka-go-murmur2-consistent",
    "platformatic-compatible",
    "cockroachdb",
    "cockroachdb-murmur2",
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
    "dekaf",
    "dekaf-unsigned",
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


class Way(NamedTuple):
    """One way in which a client places keyed records.

    Attributes:
        settings: names and values; none for the client's default.
        profile: how it places keyed records; None if it does not look at keys.
    """

    settings: Mapping[str, str]
    profile: Profile | None


class ClientName(NamedTuple):
    """Describes what a name of a client or tool stands for.

    Attributes:
        name: the name, as its project spells it.
        client: the client whose settings it has, as `copartition check --writer` calls it; None if its rule
            is not known here.
        profile: the name of the profile of its default; None if that does not look at keys, or is not known.
        source: where that is said.
        ways: how the client can be set, its default first; names of one client share this tuple. Empty if
            `client` is None.
    """

    name: str
    client: str | None
    profile: str | None
    source: str
    ways: tuple[Way, ...]


def letters_of(name: str) -> str:
    """Return the name without case and punctuation: people write kafka_js, KafkaJS and kafka-js."""
    return "".join(filter(str.isalnum, name.lower()))


def _clients() -> dict[str, ClientName]:
    """Return the names of clients and tools from clients.json, by their letters."""
    clients = {}
    for row in json.loads(read_data(__package__, "clients.json")):
        # A client's own name belongs to its row, too. A tool with a rule of its own has no client.
        names = [row["client"], *row["names"]] if row["client"] else row["names"]
        rules = [{"settings": {}, "profile": row["profile"]}, *row["ways"]] if row["client"] else []
        ways = tuple(Way(rule["settings"], rule["profile"] and PROFILES[rule["profile"]]) for rule in rules)
        for name in names:
            clients[letters_of(name)] = ClientName(name, row["client"], row["profile"], row["source"], ways)
    return clients


CLIENT_NAMES = _clients()
"""What each name of a client or tool stands for, by its letters and digits in small letters.

The one table of clients that write, for all commands.

>>> CLIENT_NAMES["kcat"].profile, CLIENT_NAMES["filebeat"].profile
('librdkafka', 'sarama-reference')
"""


def known_client(name: str) -> ClientName | None:
    """Return what is known of a client or tool, however its name is spelled; None if nothing is.

    >>> known_client("Confluent Kafka Python").client
    'librdkafka'
    """
    return CLIENT_NAMES.get(letters_of(name))


def known_profile(name: str) -> Profile | None:
    """Return the profile of this name, or that of the client or tool; None if neither is known.

    >>> known_profile("confluent-kafka-python") is PROFILES["librdkafka"]
    True
    """
    if name in PROFILES:
        return PROFILES[name]
    known = known_client(str(name))
    return None if known is None or known.profile is None else PROFILES[known.profile]


def find_profile(name: str) -> Profile:
    """Return the profile of this name, or that of the client or tool.

    Raises:
        UnknownStrategyError: there is none; the message says what is known of the name.
    """
    profile = known_profile(name)
    if profile is None:
        raise _no_profile(str(name))
    return profile


def near_names(name: str, names: Collection[str]) -> list[str]:
    """Return the names of which this one may be a misspelling; [] if none is similar enough.

    Only one or two letters may differ, because another client with a similar name has another rule.
    """
    # A name that differs in case or punctuation only is the same one.
    same = [other for other in names if letters_of(other) == letters_of(name)]
    # A short name with two letters more or less is the name of something else.
    letters = 1 if len(name) < 8 else 2
    alike = [
        other
        for other in names
        if abs(len(other) - len(name)) <= letters
        # confluent-kafka-rust is no slip for confluent-kafka-go: the last words must be alike, too.
        and get_close_matches(name.rpartition("-")[2], [other.rpartition("-")[2]], cutoff=0.6)
    ]
    return same or get_close_matches(name, alike, n=1, cutoff=0.75)


def about_client(name: str) -> str | None:
    """Return what is known of a client that has no profile, as the end of a sentence; None if nothing is."""
    known = known_client(name)
    if known is None or known.profile is not None:
        return None
    if known.client is not None:
        return f"{known.name}'s default does not look at keys ({known.source}); name the one that is set"
    return (
        f"{known.name} places keys by {known.source}, a rule that no profile has; copartition audit TOPIC "
        "shows whether another one fits"
    )


_MEANT = {
    "murmur2": ("java", "librdkafka-murmur2"),
    "murmur2_random": ("librdkafka-murmur2-random",),
    "consistent": ("librdkafka-consistent",),
    "consistent_random": ("librdkafka",),
    "fnv1a": ("librdkafka-fnv1a",),
    "fnv1a_random": ("librdkafka-fnv1a-random",),
}
"""Names of hashes, and of librdkafka's values of `partitioner`, that people give in place of a profile."""


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
    if about := about_client(name):
        # A client whose default does not look at keys may have settings that do, with profiles under its
        # name.
        own = [profile for profile in PROFILES if profile.startswith(f"{name}-")]
        return UnknownStrategyError(f"no profile {name!r}: {about}{': ' * bool(own)}{', '.join(own)}")
    names = [*PROFILES, *plug_ins, *(known.name for known in CLIENT_NAMES.values())]
    if close := _MEANT.get(name) or near_names(name, names):
        return UnknownStrategyError(f"no profile {name!r}; did you mean {', '.join(close)}?")
    every = ", ".join(sorted({*PROFILES, *plug_ins}))
    return UnknownStrategyError(f"no profile {name!r}; names are {every}, and those of clients and tools")
