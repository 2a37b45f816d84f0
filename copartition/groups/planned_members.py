"""Decide who is in a planned group, what each subscribes to, whose rule decides, and which ids are unknown.

A classic coordinator makes a member's id of two parts: the member's instance id (its client id if it has
none), and a random UUID. Under the consumer protocol (KIP-848) the whole id is random. All clients call a
strategy by the same name, but the client that leads the group decides by its own rule.
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
    """Describes a member that joins.

    Attributes:
        client_id: the member's `client.id`.
        instance_id: the member's `group.instance.id`; None if it has none.
        topics: the topics that the member subscribes to; None: all topics that the group reads.
        rack: the member's `client.rack`; None if it has none or the rack is unknown.
    """

    client_id: str
    instance_id: str | None = None
    topics: tuple[str, ...] | None = None
    rack: str | None = None


@dataclass(frozen=True, slots=True)
class WhatIf:
    """Describes a change to a group, made before the group is assigned.

    Attributes:
        add_members: how many members join. They subscribe to every topic that the group reads. If the names
            of the present members end with numbers (pod-0, pod-1), new members get the next ones (pod-2).
        joining: members that join under names of their own.
        remove_members: the members that leave, each by its instance id, client id or member id.
        partitions: topic -> its new partition count. A topic that the group does not read yet may be named,
            too, if `subscribe` or `joining` names it.
        subscribe: member -> the topics that it subscribes to, if no source tells them, or to try others. A
            member is named by instance id, client id or member id; "*" is all members that are not named, new
            ones included.
        deploy: how all members are replaced, one after the other; None: they are not. "rolling": each member
            leaves before it joins again; a static member is back before its session ends. "surge": each new
            member joins before the old one leaves, as Kubernetes rolls a Deployment. A static member is
            replaced as under "rolling", because two members cannot have one instance id.
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
"""Strategies that depend on the order of member ids.

If members own partitions, Java's also depend on the order in which a HashMap of these ids iterates.
"""

_BY_INSTANCE = {"range", "roundrobin", "broker-range"}
"""Strategies that sort static members by instance id, and all other members after them by member id."""


def placeholder(prefix: str, names: Collection[str | None]) -> str:
    """Return an id for a new member, which begins with `prefix` and is none of `names`.

    A UUID follows the prefix in a real id. Here "?" follows, which sorts between digits and letters. So the
    id is in the middle of all ids that the member could get.
    """
    return next(name for number in count() if (name := f"{prefix}?{number or ''}") not in names)


def unknown_places(seats: Sequence[Seat], strategy: str, *, random_ids: bool) -> list[Seat]:
    """Return the new members whose place in the order of members is unknown, if the strategy depends on it.

    An assignor that is not Kafka's own is assumed to depend on the order.

    Args:
        seats: all members after the change.
        strategy: the name of the strategy.
        random_ids: whether ids are wholly random (KIP-848); otherwise they begin with `Seat.prefix`.
    """
    # aiokafka's assignors get no instance ids, so all of them sort by member id.
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
    """Return a value that is equal for two new members if changing their places makes no difference.

    A restarted member owns partitions, so it is like no other member.
    """
    return seat.identity.id if _is_restarted(seat) else seat.identity._replace(id="")


def _is_restarted(seat: Seat) -> bool:
    """Return True if a new member is an old one that was restarted and may own partitions by now."""
    return seat.identity.id != seat.member.id


EVERYBODY = "*"
"""The name that stands for all members in `WhatIf.subscribe`."""


class Seat(NamedTuple):
    """Holds a member of a planned group.

    Attributes:
        member: the member as the assignor sees it, without previous partitions.
        identity: the member as the diff sees it. After a restart it still has the id from before.
        prefix: the beginning of a new member's id, "" if unknown; None if the whole id is known.
    """

    member: Member
    identity: MemberIdentity
    prefix: str | None = None


class PlannedSeats(NamedTuple):
    """Holds the members of a planned group, before and after the change.

    Attributes:
        now: the members before the change, but with the subscriptions that they have after it.
        all: the members after the change, new ones last.
        leaving: the ids of the members that leave.
        assumed: the assumptions about members, one sentence each.
    """

    now: list[Member]
    all: list[Seat]
    leaving: frozenset[str]
    assumed: tuple[str, ...]


def seat_members(state: GroupState, what_if: WhatIf) -> PlannedSeats:
    """Return the members before and after the change.

    Raises:
        SourceError: the change names a member that the group does not have, adds an instance id that it has,
            or it is unknown which topics a new member would read.
    """
    everything = what_if.subscribe.get(EVERYBODY) or topics_read(state)
    subscribed = subscribed_members(state, what_if)
    leaving = {find_member(state, name, "`remove_members`") for name in what_if.remove_members}
    now = [
        _seat(state, identity._replace(topics=subscribed.get(number, identity.topics)), everything)
        for number, identity in enumerate(state.members)
    ]
    seats = [seat for number, seat in enumerate(now) if number not in leaving]
    # Subscriptions of members that leave have no effect, so only the remaining members are looked at.
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
    """Return the topics of the members whose subscriptions the user gives, by number of the member.

    In `WhatIf.subscribe`, "*" is all members that no other name matches.
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
    """Return the state as complete: members and partitions that it does not show are taken not to exist.

    If partition counts are unknown, a topic has the partitions up to the highest one seen. `assumed` of the
    result says so.
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
    """Return the topics that the group reads, sorted, as far as the state shows them.

    A topic without a subscriber and without an owner is only there because of old commits, so it is left out.
    If all topics of the state are like that, none is left out.
    """
    # Partitions with an owner show that the owner subscribes to their topic.
    owned = {state.topics[number] for number in np.unique(state.topic[state.member >= 0])}
    subscribed = {topic for member in state.members for topic in member.topics or ()}
    return tuple(sorted(owned | subscribed or state.topics))


def names_of(members: Sequence[MemberIdentity], most: int = 5) -> str:
    """Return the names of the first `most` members, as people call them, and how many more there are."""
    return first_of([member.instance_id or member.client_id or member.id for member in members], most)


def _joining(state: GroupState, what_if: WhatIf, everything: tuple[str, ...]) -> Iterator[Seat]:
    """Yield the members that join, named ones first."""
    # These are member ids, instance ids and client ids: no id that is made up here may be one of them.
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
    """Return an endless iterator over (instance id, client id) for new members, which continues the names.

    The instance id is None if the present members are dynamic.

    Returns:
        None if the names have no next one: a member has no client id, only some members have an instance id,
        or the names differ in more than a number at the end.
    """
    clients = _next_names([member.client_id for member in state.members])
    instance_ids = [member.instance_id for member in state.members]
    if clients is None:
        return None
    if not any(instance_ids):
        return ((None, name) for name in clients)
    # If two members have the same instance id, there is no next instance id.
    instances = _next_names(instance_ids) if len({*instance_ids}) == len(instance_ids) else None
    return None if instances is None else zip(instances, clients, strict=False)


def _next_names(names: Sequence[str | None]) -> Iterator[str] | None:
    """Return an endless iterator over the names that follow these; None if they have no next name.

    If all members have one name, the next ones have it, too. Otherwise the number at the end goes up.
    """
    if not names or None in names:
        return None
    if len(names) > 1 and len({*names}) == 1:
        return repeat(str(names[0]))
    parts = [_NUMBERED.fullmatch(str(name)) for name in names]
    if len({part and part[1] for part in parts}) > 1 or parts[0] is None:
        return None
    # A single name, such as pod-7f9-x2k5, may end with a digit by chance. So it has a next name only if no
    # letter or digit is right before the number at its end.
    if len(parts) == 1 and parts[0][1][-1:].isalnum():
        return None
    digits = [part[2] for part in parts if part is not None]
    # Names with zeros in front keep their width: worker-09 is followed by worker-10.
    width = len(digits[0]) if any(number.startswith("0") and number != "0" for number in digits) else 0
    return (f"{parts[0][1]}{number:0{width}}" for number in count(max(map(int, digits)) + 1))


_NUMBERED = re.compile(r"(.*?)([0-9]{1,9})")
"""A name that ends with a number. A longer number is an id, which has no next one."""


def _topics_read_by(option: str, everything: tuple[str, ...]) -> tuple[str, ...]:
    """Return the topics of a new member for which the user names none: all topics that the group reads.

    Raises:
        SourceError: the source does not show which topics the group reads; the message names `option`.
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
    """Return the seat of a member.

    Args:
        state: the member's group. Its client libraries decide whether a missing rack is "" or None.
        identity: the member.
        everything: the topics of a member whose subscription is unknown.
        prefix: see `Seat.prefix`.
    """
    topics = everything if identity.topics is None else identity.topics
    no_rack = "" if state.clients == ("librdkafka",) else None  # librdkafka sends "" for no rack
    rack = identity.rack or no_rack
    member = Member(identity.id, topics, instance_id=identity.instance_id, rack=rack)
    return Seat(member, identity, prefix)


def find_member(state: GroupState, name: str, option: str) -> int:
    """Return the number of the member with this instance id, or else this client id or member id.

    Raises:
        SourceError: no member has this name, or several have it; the message names `option`.
    """
    for text in ("instance_id", "client_id", "id"):
        numbers = [number for number, member in enumerate(state.members) if getattr(member, text) == name]
        if len(numbers) == 1:
            return numbers[0]
        # If several members have the name, it is unknown which one the user means.
        if numbers:
            raise SourceError(f"{option} {name}: {len(numbers)} members have it as {text}; give a member id")
    raise SourceError(f"{option} {name}: the group has no such instance id, client id or member id")


class LeadersRule(NamedTuple):
    """Holds the rule by which the leader of a planned group decides.

    Attributes:
        rule: the strategy's name for `get_assignor`.
        warnings: if the rule is not Java's, a sentence on whose rule decides; otherwise empty.
        assumed: assumptions about which client leads, or how it decides, one sentence each.
    """

    rule: str
    warnings: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()


def leaders_rule(state: GroupState, strategy: str, seats: Sequence[Seat]) -> LeadersRule:
    """Return the rule of the client that leads after the change, as far as it is known which client leads.

    Args:
        state: the group before the change. The bytes of its members may show the client libraries.
        strategy: the name of the strategy that the group uses.
        seats: the members after the change.
    """
    clients = {*state.clients, *filter(None, [state.leading_client])}
    # If members run several libraries, any of them may lead, so it is unknown whose rule decides.
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
    """Return an assumption if the clients may be aiokafka, which leaves the same bytes as kafka-python."""
    if client != "kafka-python" or strategy == "cooperative-sticky":  # aiokafka does not have this strategy
        return ()
    static = any(seat.identity.instance_id for seat in seats)
    # aiokafka's "range" and "roundrobin" decide as kafka-python's if no member is static and all subscribe to
    # the same topics.
    if strategy != "sticky" and not static and len({seat.member.topics for seat in seats}) == 1:
        return ()
    return (f"the clients are kafka-python's; aiokafka's look the same, plan:aiokafka-{strategy} is theirs",)


def _other_order(strategy: str, clients: set[str], seats: Sequence[Seat]) -> tuple[str, ...]:
    """Return an assumption if another client than Java may sort members, or use racks, in another way."""
    others = " and ".join(sorted(clients - {"java"}))
    static = {seat.identity.instance_id is not None for seat in seats}
    if others and len(static) > 1:
        return (f"members with and without an instance id are in Java's order; {others} has another one",)
    if others and strategy == "range" and any(seat.member.rack for seat in seats):
        return (f"racks count as for Java's {strategy!r}; for {others} they do otherwise",)
    return ()
