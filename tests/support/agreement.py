"""Whether our assignors answer as the JVM did, and if not, where and how they differ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from assignors import get_assignor
from partitioning.errors import AssignorError
from tests.support.golden import Json, group_of, lists_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from assignors.group import Assignment, Group


class Leader(Protocol):
    """Whatever answers for a group: an assignor, or the rule it equals."""

    def assign(self, group: Group) -> Assignment: ...


def first_difference(
    assignor: str, scenario: Json, make_leader: Callable[[str], Leader] = get_assignor
) -> str | None:
    """Where a leader of ours first answers differently from the JVM's; None where it never does.

    Args:
        assignor: name of the assignor.
        scenario: one leader's lifetime.
        make_leader: makes the leader of that name.
    """
    leader = make_leader(assignor)
    for number, step in enumerate(scenario["steps"]):
        difference = difference_at(leader, step)
        if difference is not None:
            return f"{assignor} differs in {scenario['name']}, step {number}:\n{describe(step)}\n{difference}"
    return None


def difference_at(leader: Leader, step: Json) -> str | None:
    """How the leader's answer to one step differs from the JVM's."""
    group = group_of(step)
    if "error" in step:
        expected = step["error"]["exception"]
        try:
            answer = leader.assign(group)
        except AssignorError as error:
            if error.jvm_exception == expected:
                return None
            return f"the JVM threw {expected}, we stand for {error.jvm_exception}: {error}"
        return f"the JVM threw {expected}, we answered {answer}"
    answer = leader.assign(group)
    lists = {member: list(partitions) for member, partitions in answer.items()}
    expected_lists = lists_of(step)
    if lists != expected_lists:
        return "\n".join(
            f"  {member!r}\n    JVM  {_text(expected_lists.get(member))}\n    ours {_text(lists.get(member))}"
            for member in sorted(expected_lists.keys() | lists.keys())
            if expected_lists.get(member) != lists.get(member)
        )
    held_back = {(topic, partition): member for topic, partition, member in step.get("transferring", ())}
    if dict(answer.transferring) != held_back:
        return f"held back\n    JVM  {held_back}\n    ours {dict(answer.transferring)}"
    return None


def describe(step: Json) -> str:
    """The group of a step, readably."""
    lines = [f"  topic {about}" for about in step["topics"]]
    return "\n".join(lines + [f"  member {about}" for about in step["members"]])


def _text(partitions: Any) -> str:
    return "nothing known" if partitions is None else " ".join(map(str, partitions)) or "-"
