"""Who is in a planned group, and what each subscribes to."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from assignors.group import Member
from assignors.state import MemberIdentity
from copartition.groups.plan.new_ids import placeholder
from partitioning.errors import SourceError
from partitioning.kit.words import first_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from assignors.state import GroupState
    from copartition.groups.plan.what_if import WhatIf


EVERYBODY = "*"
"""What stands for all members in `WhatIf.subscribe`."""


class Seat(NamedTuple):
    """A member as the assignor sees it, and as the diff does.

    Attributes:
        member: what the assignor gets, without claims.
        identity: what is known of it.
        prefix: where the member is new, what its id begins with, "" where even that is unknown; None where
            the id is known.
    """

    member: Member
    identity: MemberIdentity
    prefix: str | None = None


class Seats(NamedTuple):
    """The members of a planned group.

    Attributes:
        now: who is in it before the change, with what they subscribe to after it.
        all: who is in it after the change, those that join last.
        leaving: ids of those that leave.
        assumed: what no source tells of them.
    """

    now: list[Member]
    all: list[Seat]
    leaving: frozenset[str]
    assumed: tuple[str, ...]


def seat_members(state: GroupState, what_if: WhatIf) -> Seats:
    """The members after the change.

    Raises:
        SourceError: the change names a member that is not there, or adds one that is.
    """
    everything = read_topics(state)
    subscribed = subscribed_members(state, what_if)
    leaving = {find_member(state, name, "--remove-member") for name in what_if.remove_members}
    now = [
        _seat(identity._replace(topics=subscribed.get(number, identity.topics)), everything)
        for number, identity in enumerate(state.members)
    ]
    seats = [seat for number, seat in enumerate(now) if number not in leaving]
    unknown = [seat.identity for seat in seats if seat.identity.topics is None]
    assumed = []
    if unknown:
        whose = "" if len(unknown) == len(seats) else f" of {names_of(unknown)}"
        assumed.append(
            f"subscriptions{whose} are unknown; taken for everybody's: {', '.join(everything) or 'nothing'}"
        )
    seats.extend(_joining(state, what_if, everything))
    return Seats(
        [seat.member for seat in now],
        seats,
        frozenset(state.members[number].id for number in leaving),
        tuple(assumed),
    )


def subscribed_members(state: GroupState, what_if: WhatIf) -> dict[int, tuple[str, ...]]:
    """What members are said to subscribe to; "*" says it of all that no other name does.

    Raises:
        SourceError: a name that no member has, or several.
    """
    named = {
        find_member(state, name, "--subscribe"): topics
        for name, topics in what_if.subscribe.items()
        if name != EVERYBODY
    }
    if EVERYBODY not in what_if.subscribe:
        return named
    return dict.fromkeys(range(len(state.members)), what_if.subscribe[EVERYBODY]) | named


def read_topics(state: GroupState) -> tuple[str, ...]:
    """Topics that the group reads, as far as anything tells.

    One that nobody subscribes to or has a partition of is a leftover of commits, unless all are.
    """
    owned = {state.topics[number] for number in np.unique(state.topic[state.member >= 0])}
    subscribed = {topic for member in state.members for topic in member.topics or ()}
    return tuple(sorted(owned | subscribed or state.topics))


def names_of(members: Sequence[MemberIdentity], most: int = 5) -> str:
    """The first of these members, by what people call them, and how many more there are."""
    return first_of([member.instance_id or member.client_id or member.id for member in members], most)


def _joining(state: GroupState, what_if: WhatIf, everything: tuple[str, ...]) -> Iterator[Seat]:
    """Those that join, by name first."""
    taken = {name for member in state.members for name in member[:3]}
    instances = {member.instance_id for member in state.members if member.instance_id is not None}
    for joiner in what_if.joining:
        if joiner.instance_id in instances:
            raise SourceError(
                f"--add-member {joiner.client_id}:{joiner.instance_id}: the group has a member with this "
                "instance id; give another one"
            )
        prefix = f"{joiner.client_id if joiner.instance_id is None else joiner.instance_id}-"
        identity = MemberIdentity(
            placeholder(prefix, taken),
            joiner.instance_id,
            joiner.client_id,
            topics=_read_by(f"--add-member {joiner.client_id}", everything)
            if joiner.topics is None
            else joiner.topics,
            rack=joiner.rack,
        )
        taken.update(identity[:3])
        instances.update(filter(None, [joiner.instance_id]))
        yield _seat(identity, everything, prefix)
    free = (name for number in count() if (name := f"new-{number}") not in taken)
    for _ in range(what_if.add_members):
        topics = _read_by("--add-members", everything)
        yield _seat(MemberIdentity(next(free), topics=topics), everything, "")


def _read_by(option: str, everything: tuple[str, ...]) -> tuple[str, ...]:
    """What a member reads that joins without a word about it: every topic that the group reads."""
    if not everything:
        raise SourceError(
            f"{option}: nothing tells what the group reads; "
            "name it: --add-member CLIENT@TOPIC and --partitions TOPIC=N"
        )
    return everything


def _seat(identity: MemberIdentity, everything: tuple[str, ...], prefix: str | None = None) -> Seat:
    topics = everything if identity.topics is None else identity.topics
    member = Member(identity.id, topics, instance_id=identity.instance_id, rack=identity.rack)
    return Seat(member, identity, prefix)


def find_member(state: GroupState, name: str, option: str) -> int:
    """Which member has this instance id, else client id, else member id."""
    for known in ("instance_id", "client_id", "id"):
        found = [number for number, member in enumerate(state.members) if getattr(member, known) == name]
        if len(found) == 1:
            return found[0]
        if found:
            raise SourceError(f"{option} {name}: {len(found)} members have it as {known}; give a member id")
    raise SourceError(f"{option} {name}: the group has no such instance id, client id or member id")
