"""A chain of rebalances carried on by `Group.next` goes where the JVM's own consumers took it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from assignors import get_assignor
from partitioning.errors import AssignorError
from tests.support.agreement import Difference, assert_agree, differing, told_of
from tests.support.golden import ASSIGNORS, Json, golden_files, golden_lines, group_of, lists_of
from tests.support.tiers import tier

pytestmark = pytest.mark.sampled

if TYPE_CHECKING:
    from assignors import Assignment, Group, Member

FAMILIES = (
    "quirks",
    "chains_equal",
    "chains_unequal",
    "crowded",
    "racks_equal",
    "racks_unequal",
    "settles_equal",
    "settles_unequal",
    "strided",
    "wide_topics",
)


def carried_on(before: Group, step: Json) -> tuple[list[str], list[Member]] | None:
    """Who leaves and who joins on the way to this step; None where it takes more than `Group.next` does."""
    after = group_of(step)
    carried = [about for about in step["members"] if "carry" in about]
    known = {member.id: member for member in before.members}
    same = all(
        about["carry"] == about["id"]
        and about["id"] in known
        and about["topics"] == list(known[about["id"]].topics)
        and about.get("rack") == known[about["id"]].rack
        for about in carried
    )
    staying = [about["id"] for about in carried]
    in_order = staying == [member.id for member in before.members if member.id in set(staying)]
    joins_follow = [about["id"] for about in step["members"]][: len(staying)] == staying
    if not (carried and same and in_order and joins_follow):
        return None
    return [name for name in known if name not in set(staying)], list(after.members[len(staying) :])


def next_group(before: Group, answer: Assignment, step: Json) -> Group | None:
    """The group that `Group.next` gives after the one before, if it is that of this step."""
    change = carried_on(before, step)
    if change is None:
        return None
    leave, join = change
    group = before.next(answer, join=join, leave=leave, topics=group_of(step).topics)
    generations = {about.get("generation") for about in step["members"] if "carry" in about}
    return group if generations in ({group.generation}, {None}) else None


def follow(assignor: str, scenario: Json) -> tuple[int, Difference | None]:
    """How many rebalances were carried on, and where the answer was another than the JVM's."""
    leader = get_assignor(assignor)
    group: Group | None = None
    answer: Assignment | None = None
    count = 0
    for number, step in enumerate(scenario["steps"]):
        carried = None if group is None or answer is None else next_group(group, answer, step)
        group = group_of(step) if carried is None else carried
        count += carried is not None
        try:
            answer = leader.assign(group)
        except AssignorError:
            answer = None
        lists = {} if answer is None else {name: list(partitions) for name, partitions in answer.items()}
        if answers := differing({} if "error" in step else lists_of(step), lists):
            return count, Difference(f"{assignor}, {scenario['name']}", number, told_of(step), answers)
    return count, None


@pytest.mark.parametrize("assignor", ASSIGNORS)
def test_chains_go_where_the_jvms_consumers_went(assignor: str) -> None:
    carried: list[int] = []

    def followed(scenario: Json) -> Difference | None:
        count, difference = follow(assignor, scenario)
        carried.append(count)
        return difference

    families = [f"{assignor}/{family}" for family in FAMILIES]
    recorded = [name for name in families if name in golden_files(assignor)]
    assert_agree(followed(scenario) for name in recorded for scenario in golden_lines(name, every=40))
    assert sum(carried) > {"quick": 10, "test": 50, "ci": 200}[tier()]
