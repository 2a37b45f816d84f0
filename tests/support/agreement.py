"""Whether our answers are the recorded ones of the JVM or of a real client; a failure is a screen.

A recorded group is one leader's life: a name and steps, each with what the leader was told and its answer.
"""

from __future__ import annotations

from itertools import islice, takewhile
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import pytest

from assignors import get_assignor
from partitioning.errors import AssignorError
from tests.support.golden import Json, group_of, lists_of, recorded
from tests.support.rules import RuleLeader

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from assignors.assignment import Assignment
    from assignors.group import Group

MOST_GROUPS = 10
"""A failing test ends after this many differing groups: the first ones show what they have in common."""
MOST_TOLD, MOST_ANSWERS = 8, 3
"""How much is shown of the first group: lines about its topics and members, and answers that differ."""
WIDTH = 110
"""Characters of an answer or of what a step says of a member; what is longer is cut and says so."""

_TOLD = {
    "topic": "topics",
    "connector": "connectors",
    "subtopology": "subtopologies",
    "process": "processes",
    "member": "members",
}
"""What a recorded step says of its group, and under which name."""


class Leader(Protocol):
    """Whatever answers for a group: an assignor, or the rule it equals."""

    def assign(self, group: Group) -> Assignment: ...


class Difference(NamedTuple):
    """The first step of a recorded group in which our answer is another one.

    Attributes:
        group: the assignor and the recorded group's name, such as "sticky, tangled-12".
        step: the number of the rebalance in the group's life, from 0.
        told: what the leader was told of the group, one line for each topic and member.
        answers: what differs, by member or by what else an answer has: their answer, ours. None: no answer.
    """

    group: str
    step: int
    told: list[str]
    answers: dict[str, tuple[Any, Any]]


def assert_agree(differences: Iterable[Difference | None], judge: str = "JVM") -> None:
    """Fail with a screen of text as soon as ten groups differ; None is a group that agrees.

    Raises:
        pytest.fail.Exception: some group differs, or no group was looked at. No traceback is shown: its
            lines are those of this module, which is not at fault.
    """
    looked_at, found = 0, list[Difference]()
    for difference in differences:
        looked_at += 1
        if difference is not None:
            found.append(difference)
            if len(found) == MOST_GROUPS:
                break
    if found or not looked_at:
        pytest.fail("\n".join(screen(found, looked_at, judge)), pytrace=False)


def assert_rule_agrees(assignor: str, takes_part: Callable[[Json], bool] = lambda _: True) -> None:
    """The rule of a strategy answers as the JVM did; fails with a screen of text.

    Args:
        assignor: name of the strategy.
        takes_part: whether a recorded group is one that the rule under test decides.
    """
    groups = filter(takes_part, recorded(assignor, every_quirk=2))
    assert_agree(first_difference(assignor, scenario, RuleLeader) for scenario in groups)


def assert_columns_agree(assignor: str, takes_part: Callable[[Json], bool] = lambda _: True) -> None:
    """The strategy as users get it, which asks its columns first, answers as the JVM did.

    Args:
        assignor: name of the strategy.
        takes_part: whether a recorded group is one that the columns under test decide.
    """
    # That the columns answer as the rule, the tests of the twins find as well.
    groups = filter(takes_part, recorded(assignor, every_quirk=3))
    assert_agree(first_difference(assignor, scenario) for scenario in groups)


def reads_alike(scenario: Json) -> bool:
    """Whether all members subscribe to the same topics in every step; strategies decide such groups apart."""
    return all(
        len({frozenset(member["topics"]) for member in step["members"]}) <= 1 for step in scenario["steps"]
    )


def reads_differently(scenario: Json) -> bool:
    """Whether members of some step subscribe to different topics."""
    return not reads_alike(scenario)


def first_difference(
    assignor: str, scenario: Json, make_leader: Callable[[str], Leader] = get_assignor
) -> Difference | None:
    """Where a leader of ours first answers differently from the JVM's; None if it never does.

    Args:
        assignor: name of the assignor.
        scenario: one leader's lifetime.
        make_leader: makes the leader of that name.
    """
    leader = make_leader(assignor)
    for number, step in enumerate(scenario["steps"]):
        theirs, ours = recorded_answer(step), answer_of(leader, group_of(step))
        if answers := differing(theirs, ours):
            return Difference(f"{assignor}, {scenario['name']}", number, told_of(step), answers)
    return None


def recorded_answer(step: Json) -> dict[str, Any]:
    """The JVM's answer to one step: each member's list, what is held back for whom, or what it throws."""
    if "error" in step:
        return {"throws": str(step["error"]["exception"])}
    waiting = {f"{topic}-{number} waits for": to for topic, number, to in step.get("transferring", ())}
    return {**lists_of(step), **waiting}


def answer_of(leader: Leader, group: Group) -> dict[str, Any]:
    """Our answer in the same form."""
    try:
        answer = leader.assign(group)
    except AssignorError as error:
        return {"throws": str(error.jvm_exception)}
    # A share group's answer holds nothing back and has no such attribute.
    waiting = {f"{partition} waits for": to for partition, to in getattr(answer, "transferring", {}).items()}
    return {**{member: list(partitions) for member, partitions in answer.items()}, **waiting}


def differing(theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """What differs between two answers, in the order of theirs; None stands for what one of them lacks."""
    return {
        name: (theirs.get(name), ours.get(name))
        for name in {**theirs, **ours}
        if theirs.get(name) != ours.get(name)
    }


def told_of(step: Json) -> list[str]:
    """What a recorded step says of the group: a line for each topic, member, connector or process."""
    lists = {kind: step[many] for kind, many in _TOLD.items() if many in step}
    return [
        f"{kind} {about}"
        for kind, every in lists.items()
        for about in (every.items() if isinstance(every, dict) else every)
    ]


def screen(found: list[Difference], looked_at: int, judge: str) -> Iterator[str]:
    """The lines of a failure: of the first group what it was told, and of each group what differs."""
    end = " The test ends here." if len(found) == MOST_GROUPS else ""
    yield f"{len(found)} of the first {looked_at} groups differ from the {judge}.{end}"
    for place, difference in enumerate(found):
        most = MOST_ANSWERS if place == 0 else 1
        left = len(difference.answers) - most
        rest = f", and {left} more of its answers" if left > 0 else ""
        yield f"{difference.group}, step {difference.step}{rest}"
        if place == 0:
            yield from (f"    {_cut(line)}" for line in difference.told[:MOST_TOLD])
            if len(difference.told) > MOST_TOLD:
                yield f"    and {len(difference.told) - MOST_TOLD} more topics and members"
        for name, answers in islice(difference.answers.items(), most):
            theirs, ours = _side_by_side(*answers)
            yield f"    {name}"
            yield f"        {judge:5} {theirs}"
            yield f"        {'ours':5} {ours}"


def _side_by_side(theirs: Any, ours: Any) -> tuple[str, str]:
    """Both answers as text; of long lists what comes shortly before the first difference, and then."""
    if not isinstance(theirs, list) or not isinstance(ours, list):
        return _text(theirs), _text(ours)
    alike = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(theirs, ours, strict=False)))
    first = max(0, alike - 2) if max(len(_text(theirs)), len(_text(ours))) > WIDTH else 0
    before = f"({first} alike) " if first else ""
    return _cut(before + _text(theirs[first:])), _cut(before + _text(ours[first:]))


def _text(answer: Any) -> str:
    if answer is None:
        return "no answer"
    return " ".join(map(str, answer)) or "nothing" if isinstance(answer, list) else str(answer)


def _cut(text: str) -> str:
    return text if len(text) <= WIDTH else f"{text[:WIDTH]} ... ({len(text)} characters)"
