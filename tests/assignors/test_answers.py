"""A stranger's answer is looked at wherever it is used; one of ours is not."""

from __future__ import annotations

import re
import sys
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest

from assignors import Assignment, Group, Member, PartitionList, RebalanceProtocol, Topic, get_assignor
from assignors.answers import ask
from assignors.clients.aiokafka import aiokafka_assignor
from assignors.clients.kafka_python import KafkaPythonAssignor
from assignors.registry import register_assignor
from copartition.simulation import Consumer, Scenario, simulate
from partitioning import TopicPartition
from partitioning.errors import AssignorError, BrokenPluginError, InvalidGroupError
from tests.support.recording import strangers

__all__ = ["strangers"]

GROUP = Group([Topic("t", 2)], [Member("a", ["t"]), Member("b", ["t"])])


class Doubles:
    """Gives every partition to every member."""

    name: ClassVar[str] = "doubles"
    protocols: ClassVar[frozenset[RebalanceProtocol]] = frozenset({RebalanceProtocol.EAGER})

    def assign(self, group: Group) -> Assignment:
        every = [(topic.name, number) for topic in group.topics for number in range(topic.partitions)]
        return Assignment.for_group(group, {member.id: every for member in group.members})


class Fails(Doubles):
    def assign(self, group: Group) -> Assignment:
        raise LookupError(group.generation)


def test_a_wrong_answer_names_strategy_partition_and_members() -> None:
    with pytest.raises(AssignorError, match="'doubles' is wrong: t-0 is given to 'a' and to 'b'"):
        ask(Doubles(), GROUP)


def test_a_strategy_that_fails_is_named() -> None:
    with pytest.raises(AssignorError, match=r"'doubles' cannot assign this group: LookupError\(0\)"):
        ask(Fails(), GROUP)


def test_a_strategy_that_ends_the_process_is_named() -> None:
    class Exits(Doubles):
        def assign(self, group: Group) -> Assignment:
            sys.exit(0)

    with pytest.raises(BrokenPluginError, match="'doubles' ends the process in `assign`"):
        ask(Exits(), GROUP)


def test_an_answer_is_checked_against_the_group_that_was_asked_about() -> None:
    class Hides(Doubles):
        def assign(self, group: Group) -> Assignment:
            group.topics.clear()  # type: ignore[attr-defined] # what no type checker sees at a stranger's
            return Assignment.for_group(group, {})

    with pytest.raises(AssignorError, match="t-0 is given to nobody, though it has subscribers"):
        ask(Hides(), Group([Topic("t", 2)], [Member("a", ["t"])]))


@pytest.mark.parametrize("number", [0.4, 1.9, "0", None, True, np.bool_(True)])
def test_a_partition_number_that_is_no_int_is_refused(number: object) -> None:
    class Cuts(Doubles):
        def assign(self, group: Group) -> Assignment:
            return Assignment.for_group(group, {"a": [("t", number)]})  # type: ignore[list-item]

    with pytest.raises(InvalidGroupError, match=re.escape(f"('t', {number!r}) is no partition: give")):
        ask(Cuts(), GROUP)


@pytest.mark.parametrize("number", [0.4, 1.9, "0"])
def test_columns_of_no_integers_are_refused(number: object) -> None:
    class Cuts(Doubles):
        def assign(self, group: Group) -> Assignment:
            given = PartitionList(("t",), np.zeros(1, np.int32), np.array([number]))  # type: ignore[arg-type]
            return Assignment.for_group(group, {"a": given, "b": [("t", 1)]})

    with pytest.raises(AssignorError, match=r"'doubles' is wrong: its columns are of int.* give int32"):
        ask(Cuts(), GROUP)


def test_a_partition_that_is_held_back_is_not_given_as_well() -> None:
    class Hesitates(Doubles):
        protocols: ClassVar[frozenset[RebalanceProtocol]] = frozenset(RebalanceProtocol)

        def assign(self, group: Group) -> Assignment:
            every = [TopicPartition("t", 0), TopicPartition("t", 1)]
            return Assignment.for_group(group, {"a": every}, transferring={every[0]: "b"})

    with pytest.raises(AssignorError, match="t-0 is held back, but it is given"):
        ask(Hesitates(), GROUP)


def test_a_partition_is_held_back_for_a_subscriber() -> None:
    class Promises(Doubles):
        protocols: ClassVar[frozenset[RebalanceProtocol]] = frozenset(RebalanceProtocol)

        def assign(self, group: Group) -> Assignment:
            return Assignment.for_group(group, {}, transferring={TopicPartition("t", 0): "c"})

    group = Group([Topic("t", 1)], [Member("a", ["t"]), Member("c", ["u"])])
    with pytest.raises(AssignorError, match="t-0 is held back for 'c', which does not subscribe to it"):
        ask(Promises(), group)


def test_an_answer_of_ours_is_not_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assignors.answers.check_answer", lambda *_: pytest.fail("it was checked"))
    assert len(ask(get_assignor("range"), GROUP)["a"]) == 1


def test_one_made_from_ours_is_checked() -> None:
    class Range(type(get_assignor("range"))):  # type: ignore[misc]
        def assign(self, group: Group) -> Assignment:
            return Assignment.for_group(group, {"a": [("t", 0)]})

    with pytest.raises(AssignorError, match="t-1 is given to nobody, though it has subscribers"):
        ask(Range(), GROUP)


@pytest.mark.usefixtures("strangers")
def test_a_simulation_refuses_a_wrong_answer() -> None:
    register_assignor("doubles", Doubles)
    scenario = Scenario((Topic("t", 2),), (Consumer("a"), Consumer("b")), assignor="doubles")
    with pytest.raises(AssignorError, match="'doubles' is wrong: t-0 is given to 'a#1' and to 'b#1'"):
        simulate(scenario)


class Cluster:
    """What a client tells an assignor of the cluster."""

    def partitions_for_topic(self, topic: str) -> set[int]:
        return {0, 1}


def test_an_aiokafka_leader_sends_no_wrong_answer() -> None:
    member = aiokafka_assignor(Doubles())
    said = {name: member.metadata(["t"]) for name in ("a", "b")}
    with pytest.raises(AssignorError, match="t-0 is given to 'a' and to 'b'"):
        member.assign(Cluster(), said)


def test_a_kafka_python_leader_sends_no_wrong_answer() -> None:
    member = KafkaPythonAssignor(Doubles())
    said = [
        SimpleNamespace(member_id=name, group_instance_id=None, metadata=member.metadata(["t"]))
        for name in ("a", "b")
    ]
    with pytest.raises(AssignorError, match="t-0 is given to 'a' and to 'b'"):
        member.assign(Cluster(), said)
