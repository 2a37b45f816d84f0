"""What a plan says of a change that was measured, from nothing but the snapshot taken before it."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, replace
from itertools import pairwise
from random import Random
from typing import TYPE_CHECKING, Any
from uuid import UUID

from assignors.diff import MemberIdentity
from assignors.sources import Joiner, WhatIf, parse_snapshot, plan
from benchmarks.plans.cells import CLASSIC

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from assignors.diff import GroupState

DRAWS = 30
"""Ids drawn for a joiner, to see whether its id matters."""
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
        real: who had what in the end, in the consumers' own words.
        drawn: how many of `DRAWS` ids that a joiner may draw give these owners; None for other events.
        told: who was to have what, had the joiner's id been known.
    """

    assignor: str
    static: bool
    shape: str
    event: str
    names: dict[str, str]
    before: Owners
    predicted: Owners
    real: Owners
    drawn: int | None
    told: Owners

    @property
    def known(self) -> bool:
        """Whether all that decides was known beforehand: any id that a joiner may draw gives these owners."""
        return self.drawn in {None, DRAWS}

    @property
    def equal(self) -> bool:
        """Whether every partition has the owner that was predicted."""
        return self.predicted == self.real


def changes(runs: Iterable[dict[str, Any]]) -> Iterator[Change]:
    """The changes of these runs, each planned."""
    for run in runs:
        for before, after in pairwise(run["steps"]):
            yield _change(run, before, after)


def _change(run: dict[str, Any], before: dict[str, Any], after: dict[str, Any]) -> Change:
    state = parse_snapshot(json.dumps(before["snapshot"]))
    predicted = planned(run, state, what_if(after))
    drawn, told = None, predicted
    if after["event"] == "join":
        drawn, told = _by_id(run, state, after)
    return Change(
        run["assignor"],
        run["static"],
        run["shape"],
        after["event"],
        {name: short for short, name in run["topics"].items()},
        _real(before),
        predicted,
        _real(after),
        drawn,
        told,
    )


def what_if(after: dict[str, Any]) -> WhatIf:
    """A change in the words of a plan."""
    what = after["what"]
    match after["event"]:
        case "join":
            return WhatIf(
                joining=(Joiner(what["client_id"], what["instance_id"], tuple(what["topics"]), what["rack"]),)
            )
        case "growth":
            return WhatIf(partitions=what["partitions"])
        case _:
            return WhatIf(remove_members=(what["client_id"],))


def planned(run: dict[str, Any], state: GroupState, change: WhatIf) -> Owners:
    """Who has what by the plan."""
    there = {member.client_id for member in state.members if member.topics is None}
    subscribed = {name: tuple(topics) for name, topics in run["subscriptions"].items() if name in there}
    after = plan(state, run["assignor"], replace(change, subscribe=subscribed))
    return owners(after)


def owners(state: GroupState) -> Owners:
    """Who has what in a state."""
    found: Owners = {str(member.client_id): [] for member in state.members}
    names = list(found)
    for member, topic, partition in zip(
        state.member.tolist(), state.topic.tolist(), state.partition.tolist(), strict=True
    ):
        if member >= 0:
            found[names[member]].append((state.topics[topic], partition))
    return {name: sorted(partitions) for name, partitions in found.items()}


def _real(step: dict[str, Any]) -> Owners:
    return {
        said["client_id"]: sorted(
            (topic, number) for topic, numbers in said["partitions"].items() for number in numbers
        )
        for said in step["owners"].values()
    }


def _by_id(run: dict[str, Any], state: GroupState, after: dict[str, Any]) -> tuple[int, Owners]:
    """How many drawn ids of a joiner give the owners that its real id gives, and these."""
    what = after["what"]
    topics, prefix = tuple(what["topics"]), what["instance_id"] or what["client_id"]

    def with_id(member_id: str) -> Owners:
        """The plan with the joiner there already, and without a partition."""
        joiner = MemberIdentity(
            member_id, what["instance_id"], what["client_id"], topics=topics, rack=what["rack"]
        )
        return planned(run, replace(state, members=(*state.members, joiner)), WhatIf())

    def drawn(random: Random) -> str:
        """As a joiner draws it: a classic member's begins with its instance or client id."""
        uuid = UUID(int=random.getrandbits(128), version=4)
        if run["assignor"] in CLASSIC:
            return f"{prefix}-{uuid}"
        return base64.urlsafe_b64encode(uuid.bytes).decode().rstrip("=")

    (real,) = (each for each, said in after["owners"].items() if said["client_id"] == what["client_id"])
    random, told = Random(real), with_id(real)
    return sum(with_id(drawn(random)) == told for _ in range(DRAWS)), told
