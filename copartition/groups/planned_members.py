"""Decide who is in a planned group, what each subscribes to, whose rule decides, and which ids are unknown.

A classic coordinator makes the id of a member of its instance id, or of its client id if it has none, and a
random UUID. Under the consumer protocol (KIP-848) the whole id is random. Clients give a strategy the same
name, and the one that leads follows its own rule.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, repeat
from typing import Literal, NamedTuple

import numpy as np

from assignors.group import Member
from assignors.registry import clients_rule, name_in_group
from assignors.state import GroupState, MemberIdentity
from copartition.kit.words import count as counted
from copartition.kit.words import first_of
from partitioning.errors import SourceError


class Joiner(NamedTuple):
    """A member that joins.

    Attributes:
        client_id: its `client.id`.
        instance_id: its `group.instance.id`.
        topics: what it subscribes to; None for every topic that the group reads.
        rack: its `client.rack`; None if it has none, or nobody knows.
    """

    client_id: str
    instance_id: str | None = None
    topics: tuple[str, ...] | None = None
    rack: str | None = None


@dataclass(frozen=True, slots=True)
class WhatIf:
    """A change to the group before it is assigned.

    Attributes:
        add_members: how many members join; they subscribe to every topic that the group reads. Their names
            continue those of the members that are there (pod-0, pod-1, then pod-2) if these have a number.
        joining: members that join under names of their own.
        remove_members: who leaves, by instance id, client id or member id.
        partitions: new partition counts of topics; also of one that somebody newly subscribes to.
        subscribe: what members subscribe to, by instance id, client id or member id, or "*" for all others,
            new members included, where no source tells or to try another subscription.
        deploy: how every member is replaced, one after the other; None for no deploy. "rolling": each leaves
            before it joins again, a static one is back before its session ends. "surge": each joins before
            the one that it replaces leaves, as Kubernetes rolls a Deployment; a static one is replaced as
            under "rolling", since no two members share an instance id.
    """

    add_members: int = 0
    joining: tuple[Joiner, ...] = ()
    remove_members: tuple[str, ...] = ()
    partitions: Mapping[str, int] = field(default_factory=dict)
    subscribe: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    deploy: Literal["rolling", "surge"] | None = None

    def __bool__(self) -> bool:
        return self != WhatIf()


_BY_ID = {"sticky", "cooperative-sticky"}
"""Strategies that depend on the order of ids; Java's, where members own something, on that of a HashMap."""

_BY_INSTANCE = {"range", "roundrobin", "broker-range"}
"""Strategies that put static members first, by instance id, then the others by id."""


def placeholder(prefix: str, names: Collection[str | None]) -> str:
    """Return an id for a new member, which begins with `prefix` and is none of `names`.

    "?" sorts between the digits and the letters of UUIDs, so the id stands in the middle of those it could
    have.
    """
    return next(name for number in count() if (name := f"{prefix}?{number or ''}") not in names)


def unknown_places(seats: Sequence[Seat], strategy: str, *, random_ids: bool) -> list[Seat]:
    """Return the new members whose place among the others is unknown, if the strategy depends on that place.

    For an assignor that is not Kafka's own it is unknown whether it depends.

    Args:
        seats: all members after the change.
        strategy: its name.
        random_ids: ids are wholly random (KIP-848).
    """
    # aiokafka's assignors get no instance ids: all of them depend on member ids.
    strategy = "sticky" if strategy.startswith("aiokafka-") else name_in_group(strategy)
    if strategy in _BY_INSTANCE:
        seats = [seat for seat in seats if seat.identity.instance_id is None]
    new = [seat for seat in seats if seat.prefix is not None]
    if strategy not in _BY_INSTANCE | _BY_ID or (strategy in _BY_ID and any(map(_is_restarted, new))):
        return new
    prefixes = ["" if random_ids else seat.prefix or "" for seat in new]
    ids = [seat.member.id for seat in seats if seat.prefix is None]
    kinds = {*zip(prefixes, map(_kind, new), strict=True)}
    return [
        seat
        for seat, prefix in zip(new, prefixes, strict=True)
        if any(_may_pass(prefix, name) for name in ids)
        or any(
            kind != _kind(seat) and (other == prefix or _may_pass(prefix, other) or _may_pass(other, prefix))
            for other, kind in kinds
        )
    ]


def _may_pass(prefix: str, other: str) -> bool:
    """Return True if a UUID decides whether an id that begins with `prefix` comes before `other`."""
    return not prefix or (other.startswith(prefix) and "0" <= other[len(prefix) : len(prefix) + 1] <= "f")


def _kind(seat: Seat) -> Hashable:
    """Return a value that is equal for joining members that may change places without any difference.

    A restarted member has partitions of its own, so it is of its own kind.
    """
    return seat.identity.id if _is_restarted(seat) else seat.identity._replace(id="")


def _is_restarted(seat: Seat) -> bool:
    """Return True if a new member is an old one, which has had partitions under its new id since."""
    return seat.identity.id != seat.member.id


EVERYBODY = "*"
"""The name that stands for all members in `WhatIf.subscribe`."""


class Seat(NamedTuple):
    """A member as the assignor sees it, and as the diff does: the two ids differ after a restart."""

    member: Member  # without claims
    identity: MemberIdentity
    prefix: str | None = None  # how a new member's id begins, "" where unknown; None: the id is known


class PlannedSeats(NamedTuple):
    """The members of a planned group, before and after the change."""

    now: list[Member]  # before the change, with what they subscribe to after it
    all: list[Seat]  # after the change, new members last
    leaving: frozenset[str]  # ids
    assumed: tuple[str, ...]  # what no source shows of them


def seat_members(state: GroupState, what_if: WhatIf) -> PlannedSeats:
    """Return the members after the change.

    Raises:
        SourceError: a member is named that is not there, or one is added that is, or it is unknown what a
            member that joins would read.
    """
    everything = what_if.subscribe.get(EVERYBODY) or topics_read(state)
    subscribed = subscribed_members(state, what_if)
    leaving = {find_member(state, name, "`remove_members`") for name in what_if.remove_members}
    now = [
        _seat(state, identity._replace(topics=subscribed.get(number, identity.topics)), everything)
        for number, identity in enumerate(state.members)
    ]
    seats = [seat for number, seat in enumerate(now) if number not in leaving]
    # Members that leave do not count: their subscriptions decide nothing any more.
    unknown = [seat.identity for seat in seats if seat.identity.topics is None]
    assumed = []
    if unknown:
        whose = "" if len(unknown) == len(seats) else f" of {names_of(unknown)}"
        assumed.append(
            f"subscriptions{whose} are unknown; taken for everybody's: {', '.join(everything) or 'nothing'}"
        )
    joining = [*_joining(state, what_if, everything)]
    seats.extend(joining)
    if named := [seat.identity for seat in joining[len(what_if.joining) :] if seat.identity.client_id]:
        assumed.append(f"members that join are named as the others are: {names_of(named)}")
    return PlannedSeats(
        [seat.member for seat in now],
        seats,
        frozenset(state.members[number].id for number in leaving),
        tuple(assumed),
    )


def subscribed_members(state: GroupState, what_if: WhatIf) -> dict[int, tuple[str, ...]]:
    """Return the subscriptions that the user states, by the member's number.

    "*" stands for all members whom no other name matches.
    """
    named = {
        find_member(state, name, "`subscribe`"): topics
        for name, topics in what_if.subscribe.items()
        if name != EVERYBODY
    }
    if EVERYBODY not in what_if.subscribe:
        return named
    return dict.fromkeys(range(len(state.members)), what_if.subscribe[EVERYBODY]) | named


COUNTS_GUESSED = "partition counts are unknown; taken from the highest partition seen"
"""The assumption about a group of a capture, in which partitions below the highest may have no row."""


def as_complete(state: GroupState) -> GroupState:
    """Return the state as a plan has to take it: what it does not show is not there, which is assumed.

    Partitions go up to the highest one seen if counts are unknown; members are the ones that are shown.
    """
    if not state.complete:
        state = replace(
            state.with_every_partition(state.counts_by_topic), assumed=(*state.assumed, COUNTS_GUESSED)
        )
    if not state.members_complete:
        guess = "this source does not show members without partitions; taken for none"
        if state.unlisted:
            hidden = counted(state.unlisted, "member")
            guess = (
                f"the source counts {hidden} without partitions that it does not list; a plan has them not"
            )
        state = replace(state, members_complete=True, assumed=(*state.assumed, guess))
    return state


def topics_read(state: GroupState) -> tuple[str, ...]:
    """Return the topics that the group reads, sorted, as far as anything shows it.

    A topic that nobody subscribes to or has a partition of is a leftover of commits, unless all topics are.
    """
    # Partitions with an owner show that the owner subscribes to their topic.
    owned = {state.topics[number] for number in np.unique(state.topic[state.member >= 0])}
    subscribed = {topic for member in state.members for topic in member.topics or ()}
    return tuple(sorted(owned | subscribed or state.topics))


def names_of(members: Sequence[MemberIdentity], most: int = 5) -> str:
    """Return the first of these members, by what people call them, and how many more there are."""
    return first_of([member.instance_id or member.client_id or member.id for member in members], most)


def _joining(state: GroupState, what_if: WhatIf, everything: tuple[str, ...]) -> Iterator[Seat]:
    """Yield the members that join, named ones first."""
    # Ids of any kind: a new name must not look like an old member by another field.
    names = {name for member in state.members for name in member[:3]}
    instances = {member.instance_id for member in state.members if member.instance_id is not None}
    continued = continue_names(state) if what_if.add_members else None
    for joiner in what_if.joining:
        if joiner.instance_id in instances:
            raise SourceError(
                f"`joining` {joiner.client_id}:{joiner.instance_id}: the group has a member with this "
                "instance id; give another one"
            )
        prefix = f"{joiner.client_id if joiner.instance_id is None else joiner.instance_id}-"
        identity = MemberIdentity(
            placeholder(prefix, names),
            joiner.instance_id,
            joiner.client_id,
            topics=_topics_read_by(f"`joining` {joiner.client_id}", everything)
            if joiner.topics is None
            else joiner.topics,
            rack=joiner.rack,
        )
        names.update(identity[:3])
        instances.update(filter(None, [joiner.instance_id]))
        yield _seat(state, identity, everything, prefix)
    for _ in range(what_if.add_members):
        topics = _topics_read_by("`add_members`", everything)
        if continued is None:
            name = next(name for number in count() if (name := f"new-{number}") not in names)
            identity, prefix = MemberIdentity(name, topics=topics), ""
        else:
            instance_id, client_id = next(continued)
            prefix = f"{client_id if instance_id is None else instance_id}-"
            identity = MemberIdentity(placeholder(prefix, names), instance_id, client_id, topics=topics)
        names.update(identity[:3])
        yield _seat(state, identity, everything, prefix)


def continue_names(state: GroupState) -> Iterator[tuple[str | None, str]] | None:
    """Return (instance id, client id) of members that join, named as the others are, without end.

    The instance id is None if members are dynamic. None instead of names if the names of the members have
    no next
    one: members have no client id, only some have an instance id, or the names are not alike but for a
    number at
    the end.
    """
    clients = _next_names([member.client_id for member in state.members])
    instance_ids = [member.instance_id for member in state.members]
    if clients is None:
        return None
    if not any(instance_ids):
        return ((None, name) for name in clients)
    # Instance ids that two members share name neither of them, and have no next one.
    instances = _next_names(instance_ids) if len({*instance_ids}) == len(instance_ids) else None
    return None if instances is None else zip(instances, clients, strict=False)


def _next_names(names: Sequence[str | None]) -> Iterator[str] | None:
    """Return the names after these, without end: the one that all share again, else the next numbers.

    None if they have no next name.
    """
    if not names or None in names:
        return None
    if len(names) > 1 and len({*names}) == 1:
        return repeat(str(names[0]))
    parts = [_NUMBERED.fullmatch(str(name)) for name in names]
    if len({part and part[1] for part in parts}) > 1 or parts[0] is None:
        return None
    # A lone pod-7f9-x2k5 ends with a digit by chance: only a number that stands apart is counted on.
    if len(parts) == 1 and parts[0][1][-1:].isalnum():
        return None
    digits = [part[2] for part in parts if part is not None]
    # Names with zeros in front keep their width: worker-09 is followed by worker-10.
    width = len(digits[0]) if any(number.startswith("0") and number != "0" for number in digits) else 0
    return (f"{parts[0][1]}{number:0{width}}" for number in count(max(map(int, digits)) + 1))


_NUMBERED = re.compile(r"(.*?)([0-9]{1,9})")
"""A name with a number at its end; a longer number is an id, which no other name continues."""


def _topics_read_by(option: str, everything: tuple[str, ...]) -> tuple[str, ...]:
    """Return the topics of a member that joins without a word about them: all that the group reads.

    Raises:
        SourceError: the source does not show which topics that is; the message names `option`.
    """
    if not everything:
        raise SourceError(
            f"{option}: the source does not show which topics the group reads; "
            "name them: `joining` CLIENT@TOPIC and `partitions` TOPIC=N"
        )
    return everything


def _seat(
    state: GroupState, identity: MemberIdentity, everything: tuple[str, ...], prefix: str | None = None
) -> Seat:
    """Return a member as assignor and diff see it.

    Args:
        state: its group, whose clients decide what a missing rack is.
        identity: the member.
        everything: the topics of a member whose subscription is unknown.
        prefix: the start of a new member's id; None for a known id.
    """
    topics = everything if identity.topics is None else identity.topics
    no_rack = "" if state.clients == ("librdkafka",) else None  # what its clients send
    rack = identity.rack or no_rack
    member = Member(identity.id, topics, instance_id=identity.instance_id, rack=rack)
    return Seat(member, identity, prefix)


def find_member(state: GroupState, name: str, option: str) -> int:
    """Return the number of the member that has this instance id, else client id, else member id.

    Raises:
        SourceError: no member or several have it; the message names `option`.
    """
    for text in ("instance_id", "client_id", "id"):
        numbers = [number for number, member in enumerate(state.members) if getattr(member, text) == name]
        if len(numbers) == 1:
            return numbers[0]
        # A name of several members is refused: the plan would remove, or change, any one of them.
        if numbers:
            raise SourceError(f"{option} {name}: {len(numbers)} members have it as {text}; give a member id")
    raise SourceError(f"{option} {name}: the group has no such instance id, client id or member id")


class LeadersRule(NamedTuple):
    """The rule by which the leader of a planned group decides."""

    rule: str  # the strategy by the name that `get_assignor` knows
    warnings: tuple[str, ...] = ()  # that the rule is not Java's
    assumed: tuple[str, ...] = ()  # which client leads, or what it does, where nothing shows that


def leaders_rule(state: GroupState, strategy: str, seats: Sequence[Seat]) -> LeadersRule:
    """Return the rule of the client that leads after the change, as far as bytes show which one that is.

    Args:
        state: the group before, with the client libraries that its bytes show.
        strategy: the name that the group agrees on.
        seats: the members after the change.
    """
    clients = {*state.clients, *filter(None, [state.leading_client])}
    # With several libraries in the group any of them may lead; then no single rule is known.
    client = next(iter(clients)) if len(clients) == 1 else ""
    if (own := clients_rule(client, strategy)) != strategy:
        text = f"{client} leads, so its own {strategy!r} decides, {own!r} here"
        return LeadersRule(own, (text,), _looks_alike(client, strategy, seats))
    if strategy in {"range", "roundrobin"}:
        return LeadersRule(strategy, assumed=_other_order(strategy, clients, seats))
    if clients == {"java"} or not (strategy == "cooperative-sticky" or (strategy == "sticky" and clients)):
        return LeadersRule(strategy)
    if strategy == "sticky" and "librdkafka" in clients:
        return LeadersRule(strategy, assumed=("a Java client leads: librdkafka has no 'sticky'",))
    own = clients_rule("librdkafka", strategy)
    differs = "how many partitions move and who gets which may differ"
    if "librdkafka" not in clients and clients:
        whose = " or ".join(sorted(clients - {"java"}))
        return LeadersRule(strategy, assumed=(f"{whose} decides as Java's {strategy!r} does: {differs}",))
    why = "java or librdkafka may" if clients else "the source does not tell which client does"
    return LeadersRule(
        strategy, assumed=(f"a Java client leads: {why}; clients on librdkafka do as plan:{own} says",)
    )


def _looks_alike(client: str, strategy: str, seats: Sequence[Seat]) -> tuple[str, ...]:
    """Return an assumption if aiokafka, whose members leave kafka-python's bytes, may decide otherwise."""
    if client != "kafka-python" or strategy == "cooperative-sticky":  # which aiokafka does not have
        return ()
    static = any(seat.identity.instance_id for seat in seats)
    # aiokafka's "range" and "roundrobin" differ only for members that are not alike.
    if strategy != "sticky" and not static and len({seat.member.topics for seat in seats}) == 1:
        return ()
    return (f"the clients are kafka-python's; aiokafka's look the same, plan:aiokafka-{strategy} is theirs",)


def _other_order(strategy: str, clients: set[str], seats: Sequence[Seat]) -> tuple[str, ...]:
    """Return an assumption if clients other than Java's order members, or see racks, in another way."""
    others = " and ".join(sorted(clients - {"java"}))
    static = {seat.identity.instance_id is not None for seat in seats}
    if others and len(static) > 1:
        return (f"members with and without an instance id are in Java's order; {others} has another one",)
    if others and strategy == "range" and any(seat.member.rack for seat in seats):
        return (f"racks count as for Java's {strategy!r}; for {others} they do otherwise",)
    return ()
