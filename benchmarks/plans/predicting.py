"""What a plan says of a change that was measured, from nothing but the snapshot taken before it."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, replace
from itertools import pairwise
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

from assignors.state import MemberIdentity
from benchmarks.plans.cells import CLASSIC, RACKS, REPLICAS
from copartition.assignment_diff import Joiner, WhatIf, plan
from copartition.groups import parse_snapshot

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from assignors.state import GroupState

DRAWS = 10
"""Draws of what a change brings, to see whether it decides."""
Json = dict[str, Any]
Owners = dict[str, list[tuple[str, int]]]
"""The partitions of each member, by its client id."""


@dataclass(frozen=True, slots=True)
class Change:
    """A measured change.

    Attributes:
        assignor: which one decided.
        static: whether members have instance ids.
        shape: of the group.
        event: what happened.
        names: the short name of each topic.
        before: who had what.
        predicted: who was to have what.
        assumed: what the plan says that it took for granted.
        real: who had what in the end, in the consumers' own words.
        hindsight: who was to have what, had all been known that the change itself brought.
        drawn: how many of `DRAWS` other things that it might have brought lead to `hindsight`.
    """

    assignor: str
    static: bool
    shape: str
    event: str
    names: dict[str, str]
    before: Owners
    predicted: Owners
    assumed: tuple[str, ...]
    real: Owners
    hindsight: Owners
    drawn: int

    @property
    def is_known(self) -> bool:
        """Whether all that decides was known beforehand: whatever the change may bring, owners are these."""
        return self.drawn == DRAWS

    @property
    def equal(self) -> bool:
        """Whether every partition has the owner that was predicted."""
        return self.predicted == self.real


class Brought(NamedTuple):
    """What a change brings that nobody knows before.

    Attributes:
        member_ids: of those that join, by client id.
        racks: of the replicas of each topic's partitions, once it has grown.
    """

    member_ids: Mapping[str, str]
    racks: Mapping[str, Sequence[Sequence[str]]]


def changes(runs: Iterable[Json]) -> Iterator[Change]:
    """The changes of these runs, each planned."""
    for run in runs:
        for before, after in pairwise(run["steps"]):
            yield _change(run, before, after)


def what_if(after: Json) -> WhatIf:
    """A change in the words of a plan."""
    what = after["what"]
    match after["event"]:
        case "join":
            joiner = Joiner(what["client_id"], what["instance_id"], tuple(what["topics"]), what["rack"])
            return WhatIf(joining=(joiner,))
        case "growth":
            return WhatIf(partitions=what["partitions"])
        case "restart":
            return WhatIf(deploy="rolling")
        case _:
            return WhatIf(remove_members=(what["client_id"],))


def _change(run: Json, before: Json, after: Json) -> Change:
    current, target = parse_snapshot(json.dumps(before["snapshot"]))
    state = current if target is None else target
    predicted = _plan_change(run, state, what_if(after))
    hindsight = _owners_in_hindsight(run, state, after, _brought(after))
    random = Random(f"{run['assignor']}/{run['static']}/{run['shape']}")
    drawn = (
        _owners_in_hindsight(run, state, after, _drawn(run, before, after, random)) for _ in range(DRAWS)
    )
    return Change(
        run["assignor"],
        run["static"],
        run["shape"],
        after["event"],
        {name: short for short, name in run["topics"].items()},
        _real(before),
        _owners(predicted),
        predicted.assumed,
        _real(after),
        hindsight,
        sum(owners == hindsight for owners in drawn),
    )


def _plan_change(run: Json, state: GroupState, change: WhatIf) -> GroupState:
    """The plan of a change, with what members subscribe to where the snapshot does not say."""
    unknown = {member.client_id for member in state.members if member.topics is None}
    subscribed = {name: tuple(topics) for name, topics in run["subscriptions"].items() if name in unknown}
    return plan(state, "current", replace(change, subscribe=subscribed))


def _owners_in_hindsight(run: Json, state: GroupState, after: Json, brought: Brought) -> Owners:
    """The plan's owners, had this been known: what comes is there already, and nothing of it is assigned."""
    what, change = after["what"], what_if(after)

    def with_member(state: GroupState, identity: MemberIdentity) -> GroupState:
        known = identity._replace(id=brought.member_ids[str(identity.client_id)])
        return _plan_change(run, replace(state, members=(*state.members, known)), WhatIf())

    match after["event"]:
        case "join":
            (joiner,) = change.joining
            identity = MemberIdentity(
                "", joiner.instance_id, joiner.client_id, None, joiner.topics, joiner.rack
            )
            return _owners(with_member(state, identity))
        case "restart" if not run["static"]:
            for identity in state.members:
                left = _plan_change(run, state, WhatIf(remove_members=(identity.id,)))
                state = with_member(left, identity)
            return _owners(state)
        case "growth":
            racks = (tuple(map(tuple, brought.racks[topic])) for topic in state.topics if state.racks)
            grown = replace(state.with_every_partition(what["partitions"]), racks=tuple(racks))
            return _owners(_plan_change(run, grown, WhatIf()))
        case _:
            return _owners(_plan_change(run, state, change))


def _brought(after: Json) -> Brought:
    """What the change did bring."""
    ids = {said["client_id"]: member_id for member_id, said in after["owners"].items()}
    return Brought(ids, {name: topic["racks"] for name, topic in after["described"]["topics"].items()})


def _drawn(run: Json, before: Json, after: Json, random: Random) -> Brought:
    """What it might have brought: a classic member's id begins with its instance or client id."""

    def member_id(client_id: str) -> str:
        uuid = UUID(int=random.getrandbits(128), version=4)
        if run["assignor"] in CLASSIC:
            return f"{after['what'].get('instance_id') or client_id}-{uuid}"
        return base64.urlsafe_b64encode(uuid.bytes).decode().rstrip("=")

    racks = {
        name: [
            *before["described"]["topics"][name]["racks"],
            *(sorted(random.sample(RACKS, REPLICAS)) for _ in topic["racks"]),
        ][: len(topic["racks"])]
        for name, topic in after["described"]["topics"].items()
    }
    return Brought(
        {said["client_id"]: member_id(said["client_id"]) for said in after["owners"].values()}, racks
    )


def _owners(state: GroupState) -> Owners:
    """Who has what in a state."""
    found: dict[int, list[tuple[str, int]]] = {number: [] for number in range(len(state.members))}
    columns = (state.member.tolist(), state.topic.tolist(), state.partition.tolist())
    for member, topic, partition in zip(*columns, strict=True):
        found.get(member, []).append((state.topics[topic], partition))
    return {str(state.members[number].client_id): sorted(partitions) for number, partitions in found.items()}


def _real(step: Json) -> Owners:
    """Who has what in the consumers' own words."""
    return {
        said["client_id"]: sorted(
            (topic, number) for topic, numbers in said["partitions"].items() for number in numbers
        )
        for said in step["owners"].values()
    }
