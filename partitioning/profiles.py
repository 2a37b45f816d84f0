"""The table of profiles: how a client hashes a key, reduces the hash, and treats null and empty keys."""

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

    Two rules that place every key in the same partition have the same result.

    Args:
        rule: the rule.
        num_partitions: the partition count; None if it is unknown. Then rules that agree only for some counts
            have different results.
    """
    if num_partitions == 1:
        return "any", "any"
    if num_partitions == 2:  # a remainder of 2 has no sign
        return rule.hash, "any"
    # If the count is a power of two, 2**31 is a multiple of it, so the sign bit does not change the
    # remainder.
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
        """The client, and a note if the rule was not checked with the client itself."""
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
        settings: the client's settings, name -> value; empty for the client's default.
        profile: the profile by which keyed records are placed with these settings; None if their keys are
            ignored.
    """

    settings: Mapping[str, str]
    profile: Profile | None


class ClientName(NamedTuple):
    """Describes what a name of a client or tool stands for.

    Attributes:
        name: the name, as its project spells it.
        client: the name, for `copartition check --writer`, of the client whose settings apply; None if the
            client or tool has a rule of its own, which no profile has.
        profile: the name of the profile by which keyed records are placed by default; None if the default
            ignores keys, or if `client` is None.
        source: the place where the default is documented, or a description of the rule that no profile has.
        ways: the ways in which the client can be configured, the default first. All names of one client share
            this tuple. Empty if `client` is None.
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
    """Return the clients and tools of clients.json, by the letters of their names (`letters_of`)."""
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
"""The client or tool of each name; the names are reduced to letters and digits in lower case.

All commands use this one table of clients that write.

>>> CLIENT_NAMES["kcat"].profile, CLIENT_NAMES["filebeat"].profile
('librdkafka', 'sarama-reference')
"""


def known_client(name: str) -> ClientName | None:
    """Return the entry of a client or tool, in any spelling of its name; None if the name is unknown.

    >>> known_client("Confluent Kafka Python").client
    'librdkafka'
    """
    return CLIENT_NAMES.get(letters_of(name))


def known_profile(name: str) -> Profile | None:
    """Return the profile of this name, or that of the client or tool of this name; None if there is none.

    >>> known_profile("confluent-kafka-python") is PROFILES["librdkafka"]
    True
    """
    if name in PROFILES:
        return PROFILES[name]
    known = known_client(str(name))
    return None if known is None or known.profile is None else PROFILES[known.profile]


def find_profile(name: str) -> Profile:
    """Return the profile of this name, or that of the client or tool of this name.

    Raises:
        UnknownStrategyError: there is no such profile; the message says what is known of the name.
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
    # If a short name differs by two letters, it is more likely the name of something else than a misspelling.
    letters = 1 if len(name) < 8 else 2
    alike = [
        other
        for other in names
        if abs(len(other) - len(name)) <= letters
        # confluent-kafka-rust is not a misspelling of confluent-kafka-go, so the last words must be similar,
        # too.
        and get_close_matches(name.rpartition("-")[2], [other.rpartition("-")[2]], cutoff=0.6)
    ]
    return same or get_close_matches(name, alike, n=1, cutoff=0.75)


def about_client(name: str) -> str | None:
    """Return the end of a sentence about a known client that has no profile; None for any other name."""
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
"""Name -> the profiles that it may mean: names of hashes, and values of librdkafka's `partitioner`.

People give these names in place of a profile's.
"""


def _no_profile(name: str) -> UnknownStrategyError:
    """Return the error for an unknown profile; it says if a plug-in has the name, or lists similar names."""
    from partitioning.plug_ins import PARTITIONERS  # noqa: PLC0415 - executors place keys without plug-ins

    plug_ins = PARTITIONERS.names()
    if name in plug_ins:
        return UnknownStrategyError(
            f"{name!r} is a plug-in, and this needs the hash of a client's own rule; plug-ins that place by "
            "key alone are taken by partition_for_key, partition_batch, grow, `keyed` of partitioners and "
            "`copartition partition` (docs/plugins.md)"
        )
    if about := about_client(name):
        # A client whose default ignores keys may have settings that do not; the names of their profiles begin
        # with the client's name.
        own = [profile for profile in PROFILES if profile.startswith(f"{name}-")]
        return UnknownStrategyError(f"no profile {name!r}: {about}{': ' * bool(own)}{', '.join(own)}")
    names = [*PROFILES, *plug_ins, *(known.name for known in CLIENT_NAMES.values())]
    if close := _MEANT.get(name) or near_names(name, names):
        return UnknownStrategyError(f"no profile {name!r}; did you mean {', '.join(close)}?")
    every = ", ".join(sorted({*PROFILES, *plug_ins}))
    return UnknownStrategyError(f"no profile {name!r}; names are {every}, and those of clients and tools")
