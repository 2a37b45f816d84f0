"""Bounds on input: Kafka's own limits, and limits that spare the machine's memory.

Numbers and texts come from files, captures and command lines, so each is bounded before anything is made of
it. The bounds are far above what a cluster can hold: no real group meets them.
"""

from collections.abc import Callable

from partitioning.topic_partition import MAX_PARTITIONS

# Limits of Kafka first; then those that are ours.
MAX_PARTITION = MAX_PARTITIONS - 1
"""The highest partition number: numbers start at 0 and counts are 32-bit integers."""

MAX_TOPIC_NAME = 249
"""Characters of a topic name; a broker creates none that is longer."""

MAX_ID = 32_767
"""Bytes of a member, instance or client id: a string's length travels as a 16-bit integer."""

MAX_OFFSET = 2**63 - 1
"""The highest offset, and so the highest lag."""

MAX_GROUP_PARTITIONS = 2**24
"""Partitions of all topics of a group: eight times what a KRaft cluster is built for. An assignor takes up to
100 bytes for each, so this is some 2 GB."""

MAX_GROUP_MEMBERS = 2**20
"""Members of a group. An assignor takes up to 1,200 bytes for each; a coordinator gives up far earlier."""

MAX_SCENARIO_EVENTS = 2**20
"""Events of a scenario; an event that concerns every consumer counts once for each."""

MAX_SCENARIO_LOOKS = 2**20
"""Bound on the looks at the group of a scenario's conditions, or of one autoscaler: a look a second for
twelve days."""

MAX_RUNS = 100_000
"""Seeds of one scenario, whose figures are held at once."""

MAX_REPORT_WIDTH = 10_000
"""Columns of a text report."""

MAX_FILE_BYTES = 2**28
"""Bytes of a file that is read as a whole; a snapshot of the largest group is smaller."""


def check_partitions(count: int, error: Callable[[str], Exception], where: str) -> None:
    """Raise an `error` for more partitions than a group may have."""
    if count > MAX_GROUP_PARTITIONS:
        raise error(
            f"{where} has {count:,} partitions; {MAX_GROUP_PARTITIONS:,} are the most that are worked on"
        )


def check_members(count: int, error: Callable[[str], Exception], where: str) -> None:
    """Raise an `error` for more members than a group may have."""
    if count > MAX_GROUP_MEMBERS:
        raise error(f"{where} has {count:,} members; {MAX_GROUP_MEMBERS:,} are the most that are worked on")


def parse_number(text: str, most: int) -> int | None:
    """Return the number that decimal digits say, None if they are none or it is above `most`."""
    # Python refuses to read thousands of digits; no number of Kafka's has more than 19.
    if len(text) > 19 or not (text.isascii() and text.isdecimal()) or int(text) > most:
        return None
    return int(text)
