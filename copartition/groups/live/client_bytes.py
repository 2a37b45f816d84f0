"""Which client libraries a classic group has: told by the bytes that members leave with the coordinator.

Read off real groups of each client. An assignment is the leader's work:

- Java and what follows its protocol classes: version 1 to 3, user data null;
- kafka-python under "cooperative-sticky": version 1 to 3, user data there and empty;
- librdkafka, kafka-python otherwise, aiokafka: version 0, user data there.

A subscription is the member's own:

- librdkafka: version 1 to 3, user data empty, under "cooperative-sticky" a list of 8 bytes or more;
- Java, and kafka-python where it assigns with this project's assignors: user data null, under
  "cooperative-sticky" the 4 bytes of a generation; which of the two, only the leader's assignment tells;
- kafka-python: version 0, under "cooperative-sticky" 1 and user data empty; aiokafka: version 0. These two
  are not told apart, and are called kafka-python.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from assignors.protocol import decode_assignment, decode_subscription
from partitioning.errors import ProtocolError

if TYPE_CHECKING:
    from collections.abc import Iterable

_GENERATION = 4
"""Bytes of a generation, which is all that Java's "cooperative-sticky" says as user data."""


class Clients(NamedTuple):
    """The client libraries of a group, by the names that `copartition migrate --client` takes.

    Attributes:
        leader: of the member that made the assignments; None where the bytes do not tell.
        members: of all members that the bytes tell, each once.
    """

    leader: str | None
    members: tuple[str, ...]


def find_clients(
    subscriptions: Iterable[bytes], assignments: Iterable[bytes], strategy: str | None
) -> Clients:
    """The libraries whose bytes these are.

    Args:
        subscriptions: the ConsumerProtocol bytes that each member joined with.
        assignments: those that the leader gave each member.
        strategy: the group's assignor.
    """
    kinds = {kind for data in subscriptions if data and (kind := _member(data, strategy)) is not None}
    leaders = {kind for data in assignments if data and (kind := _leader(data)) is not None}
    old = leaders.pop() if len(leaders) == 1 else None
    if old == "version 0":
        # Of the two that write version 0 it is the one that is there.
        there = kinds & {"librdkafka", "kafka-python"}
        old = there.pop() if len(there) == 1 else None
    if "java or kafka-python" in kinds:
        kinds.remove("java or kafka-python")
        kinds.add(old if old in {"java", "kafka-python"} else "java")
    if old is not None:
        kinds.add(old)
    return Clients(old, tuple(sorted(kinds)))


def _leader(assignment: bytes) -> str | None:
    version = int.from_bytes(assignment[:2], "big")
    try:
        user_data = decode_assignment(assignment)[1]
    except ProtocolError:
        return None
    if version == 0:
        return None if user_data is None else "version 0"
    if user_data is None:
        return "java"
    return None if user_data else "kafka-python"


def _member(subscription: bytes, strategy: str | None) -> str | None:
    version = int.from_bytes(subscription[:2], "big")
    try:
        user_data = decode_subscription(subscription).user_data
    except ProtocolError:
        return None
    if version == 0 or (version == 1 and strategy == "cooperative-sticky" and user_data == b""):
        return "kafka-python"
    if strategy == "cooperative-sticky" and user_data:
        return "java or kafka-python" if len(user_data) == _GENERATION else "librdkafka"
    if user_data is None:
        return "java or kafka-python"
    return None if user_data else "librdkafka"
