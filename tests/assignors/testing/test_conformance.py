"""The rules every assignor keeps: ours do, and the error for one that breaks a rule names the rule."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from itertools import count, cycle
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pytest

from assignors import Assignment, Group, RebalanceProtocol, get_assignor, list_assignors
from assignors.testing import check_assignor, conformance
from partitioning import TopicPartition
from tests.support.hanging import Hanging
from tests.support.tiers import sample

if TYPE_CHECKING:
    from collections.abc import Callable

    from assignors import PartitionList

Lists = dict[str, list[TopicPartition]]

EAGER = frozenset({RebalanceProtocol.EAGER})


STORIES = len(sample(range(conformance.STORIES), 4, before_ci=4))
BUILT_IN = [info.name for info in list_assignors() if info.origin == "built-in"]
"""Strategies of clients crash over some groups, and raise there."""


@pytest.fixture(autouse=True)
def stories(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conformance, "STORIES", STORIES)


@pytest.mark.live
@pytest.mark.sampled
@pytest.mark.parametrize("name", sample(BUILT_IN, before_ci=8))
def test_ours_keep_the_rules(name: str) -> None:
    check_assignor(partial(get_assignor, name))


class InTurns:
    """A faultless strategy, to be broken one rule at a time."""

    name: ClassVar[str] = "in-turns"
    protocols: ClassVar[frozenset[RebalanceProtocol]] = EAGER

    def assign(self, group: Group) -> Assignment:
        return Assignment.for_group(group, self.lists(group))

    def lists(self, group: Group) -> Lists:
        lists: Lists = {member.id: [] for member in group.members}
        for topic in group.topics:
            readers = [member.id for member in group.members if topic.name in member.topics]
            for number, reader in zip(range(topic.partitions), cycle(readers), strict=False):
                lists[reader].append(TopicPartition(topic.name, number))
        return lists


@pytest.mark.slow
@pytest.mark.live
def test_a_faultless_strategy_passes() -> None:
    check_assignor(InTurns)


class GoesByASet(InTurns):
    def assign(self, group: Group) -> Assignment:
        by_id = {member.id: member for member in group.members}
        shuffled = super().lists(replace(group, members=[by_id[name] for name in set(by_id)]))
        return Assignment.for_group(group, {name: shuffled[name] for name in by_id})


class Exits(InTurns):
    def assign(self, group: Group) -> Assignment:
        sys.exit(0)


class RaisesUserData(InTurns):
    def user_data(self, owned: PartitionList, generation: int) -> bytes | None:
        if generation >= 0:
            raise LookupError(len(owned))
        return None


class TextUserData(InTurns):
    def user_data(self, owned: PartitionList, generation: int) -> bytes | None:
        return "text"  # type: ignore[return-value]


def test_a_strategy_that_hangs_is_named_with_the_place(monkeypatch: pytest.MonkeyPatch) -> None:
    hanging = Hanging(monkeypatch)

    class Hangs(InTurns):
        def assign(self, group: Group) -> Assignment:
            hanging.begin(None)
            hanging.for_ever()
            raise LookupError

    with pytest.raises(AssertionError, match=r"(?s)within 0\.1 s; it is here:.*in assign\n *hanging\."):
        check_assignor(Hangs, limit_s=0.1)
    hanging.end()


class Nameless(InTurns):
    name: ClassVar[str] = ""


class OddProtocols(InTurns):
    protocols: ClassVar[frozenset[RebalanceProtocol]] = frozenset({"eager"})  # type: ignore[arg-type]


class Plain(InTurns):
    def assign(self, group: Group) -> Assignment:
        return self.lists(group)  # type: ignore[return-value]


class ForgetsAMember(InTurns):
    def assign(self, group: Group) -> Assignment:
        lists = self.lists(group)
        lists.popitem()
        return Assignment.of(lists)


class InventsAMember(InTurns):
    def assign(self, group: Group) -> Assignment:
        return Assignment.of({**self.lists(group), "nobody": []})


class GivesTwice(InTurns):
    def lists(self, group: Group) -> Lists:
        lists = super().lists(group)
        readers = [member for member, given in lists.items() if given]
        if len(readers) > 1:
            lists[readers[0]].append(lists[readers[1]][0])
        return lists


class LeavesOne(InTurns):
    def lists(self, group: Group) -> Lists:
        lists = super().lists(group)
        next((given for given in lists.values() if given), [TopicPartition("", 0)]).pop()
        return lists


class GivesToOthers(InTurns):
    def lists(self, group: Group) -> Lists:
        return super().lists(replace(group, members=[replace(m, topics=_all(group)) for m in group.members]))


class GoesBeyond(InTurns):
    def lists(self, group: Group) -> Lists:
        return super().lists(replace(group, topics=[replace(group.topics[0], partitions=9, racks=None)]))


class WantsUserData(InTurns):
    def lists(self, group: Group) -> Lists:
        for member in group.members:
            if isinstance(member.user_data, bytes):
                raise KeyError(member.user_data)
        return super().lists(group)


class Draws(InTurns):
    turn = count()

    def lists(self, group: Group) -> Lists:
        members = list(group.members)
        np.random.default_rng(next(self.turn)).shuffle(members)  # type: ignore[arg-type]
        return super().lists(replace(group, members=members))


class Sorts(InTurns):
    def lists(self, group: Group) -> Lists:
        group.members.sort(key=lambda member: member.id, reverse=True)  # type: ignore[attr-defined]
        return super().lists(group)


class Shares(InTurns):
    """What one instance was asked about last changes what the next one answers."""

    seen: ClassVar[set[str]] = set()

    def lists(self, group: Group) -> Lists:
        ids = {member.id for member in group.members}
        strangers = bool(self.seen - ids) and group.generation == 3
        self.seen.clear()
        self.seen.update(ids)
        members = list(reversed(group.members)) if strangers else group.members
        return super().lists(replace(group, members=members))


class TakesAway(InTurns):
    protocols: ClassVar[frozenset[RebalanceProtocol]] = frozenset(RebalanceProtocol)


class HoldsForEver(InTurns):
    protocols: ClassVar[frozenset[RebalanceProtocol]] = frozenset(RebalanceProtocol)

    def assign(self, group: Group) -> Assignment:
        lists = self.lists(group)
        held = {partition: member for member, given in lists.items() for partition in given}
        return Assignment.for_group(group, {}, transferring=held)


def _all(group: Group) -> list[str]:
    return [topic.name for topic in group.topics]


@pytest.mark.parametrize(
    ("broken", "rule"),
    [
        pytest.param(lambda: InTurns, "is a class; give an instance", id="class"),
        pytest.param(object, "lacks `name`, `protocols` or `assign`", id="other"),
        pytest.param(Nameless, "has no name", id="nameless"),
        pytest.param(OddProtocols, "something else than RebalanceProtocol", id="protocols"),
        pytest.param(Plain, "it is a dict; make it with Assignment.for_group", id="plain"),
        pytest.param(ForgetsAMember, "member 'member-.' is not in it", id="forgets-member"),
        pytest.param(InventsAMember, "member 'nobody' is not in the group", id="invents-member"),
        pytest.param(GivesTwice, r"topic-\d-\d is given to 'member-\d' and to 'member-\d'", id="twice"),
        pytest.param(LeavesOne, r"topic-\d-\d is given to nobody", id="leaves"),
        pytest.param(GivesToOthers, r"gets topic-\d-\d, but does not subscribe to that", id="unsubscribed"),
        pytest.param(GoesBeyond, r"gets topic-\d-\d, but 'topic-\d' has \d partitions", id="beyond"),
        pytest.param(WantsUserData, r"when members send user data .*: raises KeyError", id="user-data"),
        pytest.param(Draws, "a new instance that hears the same answers otherwise", id="draws"),
        pytest.param(Sorts, "changes the group that it is asked about", id="sorts"),
        pytest.param(Shares, "another instance changes the answer", id="shares"),
        pytest.param(TakesAway, r"is given to '.*' while '.*' still owns it", id="takes-away"),
        pytest.param(Exits, "raises SystemExit", id="exits"),
        pytest.param(RaisesUserData, "`user_data` of .* raises LookupError", id="user_data raises"),
        pytest.param(TextUserData, "`user_data` of .* gives 'text'; give bytes", id="user_data is text"),
        pytest.param(GoesByASet, "another hash seed answers otherwise", marks=pytest.mark.live, id="set"),
        pytest.param(HoldsForEver, "still holds .* back 10 rebalances after", id="holds"),
    ],
)
def test_a_broken_rule_is_named(broken: Callable[[], InTurns], rule: str) -> None:
    with pytest.raises(AssertionError, match=rule):
        check_assignor(broken)
