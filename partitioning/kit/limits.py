"""Bounds and checks of numbers in input: Kafka's own limits, and limits that protect the machine's memory.

Numbers and texts come from files, captures and command lines, so each is checked before memory is allocated
for it. Our own bounds are far above what a cluster can hold: no real group reaches them.
"""

from collections.abc import Callable
from numbers import Integral
from typing import TypeGuard

from partitioning.topic_partition import MAX_PARTITIONS

# Kafka's limits come first, our own from `MAX_GROUP_PARTITIONS` on.
MAX_PARTITION = MAX_PARTITIONS - 1
"""The highest partition number: numbers start at 0 and counts are 32-bit integers."""

MAX_TOPIC_NAME = 249
"""The most characters of a topic name; a broker refuses to create a topic with a longer one."""

MAX_ID = 32_767
"""The most bytes of a member, instance or client id: Kafka has a string's length in a signed 16-bit field."""

MAX_OFFSET = 2**63 - 1
"""The highest offset, and so the highest lag."""

MAX_GROUP_PARTITIONS = 2**24
"""The most partitions of all topics of a group together: eight times what a KRaft cluster is built for.

An assignor takes up to 100 bytes for each partition, so this many take some 2 GB.
"""

MAX_GROUP_MEMBERS = 2**20
"""The most members of a group, for each of which an assignor takes up to 1,200 bytes.

A coordinator fails at far fewer members.
"""

MAX_SCENARIO_EVENTS = 2**20
"""The most events of a scenario; an event that concerns every consumer counts once for each of them."""

MAX_SCENARIO_LOOKS = 2**20
"""The most times that a scenario's conditions or one autoscaler look at the group.

One look in each second reaches this bound after 12 days.
"""

MAX_RUNS = 100_000
"""The most runs (seeds) of one scenario, whose figures are all held in memory."""

MAX_REPORT_WIDTH = 10_000
"""The most columns of characters of a text report."""

MAX_FILE_BYTES = 2**28
"""The most bytes of a file that is read as a whole; a snapshot of the largest group is smaller."""


def check_partitions(count: int, error: Callable[[str], Exception], where: str) -> None:
    """Raise an error if a group has more than `MAX_GROUP_PARTITIONS` partitions.

    Args:
        count: the number of partitions.
        error: makes the exception from its message.
        where: the name of the thing that has the partitions; the message begins with it.
    """
    if count > MAX_GROUP_PARTITIONS:
        raise error(
            f"{where} has {count:,} partitions; {MAX_GROUP_PARTITIONS:,} are the most that are worked on"
        )


def check_members(count: int, error: Callable[[str], Exception], where: str) -> None:
    """Raise an error if a group has more than `MAX_GROUP_MEMBERS` members; see `check_partitions`."""
    if count > MAX_GROUP_MEMBERS:
        raise error(f"{where} has {count:,} members; {MAX_GROUP_MEMBERS:,} are the most that are worked on")


def is_integer(value: object) -> TypeGuard[int]:
    """Return whether a value is an integer of Python or NumPy; True and False do not count."""
    return type(value) is int or (isinstance(value, Integral) and not isinstance(value, bool))


def parse_number(text: str, most: int) -> int | None:
    """Return the number of a text of ASCII digits; None for another text or a number above `most`."""
    # The length is checked first: Python refuses to convert thousands of digits, and no number of Kafka has
    # more than 19.
    if len(text) > 19 or not (text.isascii() and text.isdecimal()) or int(text) > most:
        return None
    return int(text)
