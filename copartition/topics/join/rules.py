"""When two clients' rules put every key into the same partition."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from partitioning.profiles import PROFILES, Profile, find_profile

if TYPE_CHECKING:
    from copartition.topics.audit.topic_audit import Writer


class Placement(NamedTuple):
    """A rule over a partition count, named so that equal ones place every key alike.

    Attributes:
        hash: the hash function; "any" for a single partition.
        sign: the sign rule; "any" where it makes no difference.
        num_partitions: the partition count; None where it is not known.
    """

    hash: str
    sign: str
    num_partitions: int | None

    def __str__(self) -> str:
        """The rule as people know it: by the first client that has it."""
        return f"{rule_name(self)} over {self.num_partitions}" if self.num_partitions else rule_name(self)


def placement(profile: Profile, num_partitions: int | None) -> Placement:
    """Where a profile puts keyed records of a topic."""
    if num_partitions == 1:
        return Placement("any", "any", 1)
    if num_partitions == 2:  # a remainder of 2 has no sign
        return Placement(profile.hash, "any", 2)
    # 2**31 is a multiple of such a count, so it does not matter whether the sign bit is counted.
    two_to_the = num_partitions is not None and num_partitions & (num_partitions - 1) == 0
    sign = "mask" if two_to_the and profile.sign == "unsigned" else profile.sign
    return Placement(profile.hash, sign, num_partitions)


def placement_of(writer: Writer) -> Placement:
    """Where a writer that an audit has found puts keyed records."""
    return placement(find_profile(writer.profile), writer.num_partitions)


def rule_name(rule: Placement) -> str:
    """The rule by the first profile that has it, and its hash."""
    profile = [*PROFILES.values()][seniority(rule)]
    return f"the rule of {profile.name} ({profile.hash})"


def seniority(rule: Placement) -> int:
    """The number of the first profile that has the rule; Java's is 0."""
    return next(
        number
        for number, profile in enumerate(PROFILES.values())
        if placement(profile, rule.num_partitions) == rule
    )
