"""Why a planned side moves what it moves."""

from dataclasses import replace

import pytest

from assignors import Assignment, Explainer, Group, Member, Reason, RebalanceProtocol, Topic
from assignors.interface import record_nothing
from assignors.state import GroupState
from copartition.assignment_diff import Action, diff
from partitioning.topic_partition import TopicPartition

GROUP = Group([Topic("t", 4)], [Member("a", ["t"]), Member("b", ["t"])])
BEFORE = {"a": [TopicPartition("t", number) for number in range(4)], "b": []}


class Mover:
    """Moves three of four partitions from a to b, for two reasons."""

    name = "mover"
    protocols = frozenset({RebalanceProtocol.EAGER})

    def assign(self, group):
        return self.assign_recorded(group, record_nothing)

    def assign_recorded(self, group, record):
        record(TopicPartition("t", 0), Reason.KEPT, "a")
        for number, reason in enumerate((Reason.OVER_QUOTA, Reason.FAR, Reason.OVER_QUOTA), 1):
            record(TopicPartition("t", number), reason, "a")
            record(TopicPartition("t", number), Reason.FILLED, "b")
        return Assignment.for_group(group, {"a": [("t", 0)], "b": [("t", 1), ("t", 2), ("t", 3)]})


@pytest.fixture
def planned():
    assignment = Mover().assign(GROUP)
    return replace(GroupState.of(assignment), explainer=Explainer(GROUP, assignment, assignor=Mover()))


def test_rows_tell_what_set_them_in_motion(planned):
    assert [(change.action, change.reason) for change in diff(BEFORE, planned).changes(every=True)] == [
        (Action.KEEP, Reason.KEPT),
        (Action.MOVE, Reason.OVER_QUOTA),
        (Action.MOVE, Reason.FAR),
        (Action.MOVE, Reason.OVER_QUOTA),
    ]


def test_one_flow_can_have_several_reasons(planned):
    found = diff(BEFORE, planned)
    assert [flow.reason for flow in found.flows] == [None]
    assert [(flow.reason, flow.partitions.partitions.tolist()) for flow in found.flows_by_reason] == [
        (Reason.OVER_QUOTA, [1, 3]),
        (Reason.FAR, [2]),
    ]


def test_a_partition_that_the_plan_does_not_know_is_nobodys(planned):
    before = {"a": [TopicPartition("t", number) for number in range(5)], "b": []}
    removed = list(diff(before, planned).changes())[-1]
    assert (removed.action, removed.reason) == (Action.REMOVED, Reason.NOBODY)


def test_a_plan_does_not_tell_why_what_comes_after_it_differs(planned):
    found = diff(planned, BEFORE)
    assert {change.reason for change in found.changes()} == {None}
    assert [flow.reason for flow in found.flows_by_reason] == [None]
