"""What a consumer tells of its past, whichever of its assignors the group chooses."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, ClassVar

import pytest
from aiokafka.coordinator.protocol import ConsumerProtocolMemberAssignment
from kafka.coordinator.assignors.abstract import RebalanceProtocol as TheirProtocol
from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment

from assignors import Assignment, Group, RebalanceProtocol, get_assignor
from assignors.clients.aiokafka import aiokafka_assignor, aiokafka_assignors
from assignors.clients.kafka_python import KafkaPythonAssignor, finish_rejoin, kafka_python_assignors
from assignors.protocol import encode_cooperative_user_data, encode_sticky_user_data
from partitioning.errors import BrokenPluginError

if TYPE_CHECKING:
    from assignors import PartitionList

GIVEN = [("t", [0, 2])]
CLAIM = encode_sticky_user_data([("t", 0), ("t", 2)], 7)


class FailsToTell:
    name: ClassVar[str] = "fails-to-tell"
    protocols: ClassVar[frozenset[RebalanceProtocol]] = frozenset({RebalanceProtocol.EAGER})

    def user_data(self, owned: PartitionList, generation: int) -> bytes | None:
        return "text"  # type: ignore[return-value]

    def assign(self, group: Group) -> Assignment:
        return get_assignor("range").assign(group)


def test_user_data_that_is_no_bytes_names_the_strategy() -> None:
    with pytest.raises(BrokenPluginError, match=r"FailsToTell.* gives 'text'; give bytes, or None"):
        KafkaPythonAssignor(FailsToTell()).metadata(["t"])


class Counts:
    """A stranger's assignor whose members tell how many partitions they have."""

    name: ClassVar[str] = "counts"
    protocols: ClassVar[frozenset[RebalanceProtocol]] = frozenset({RebalanceProtocol.EAGER})

    def __init__(self) -> None:
        self.told: dict[str, object] = {}

    def user_data(self, owned: PartitionList, generation: int) -> bytes | None:
        return b"%d in %d" % (len(owned), generation)

    def assign(self, group: Group) -> Assignment:
        self.told = {member.id: member.user_data for member in group.members}
        return get_assignor("range").assign(group)


def test_a_kafka_python_consumer_claims_the_same_by_each_of_its_assignors() -> None:
    chosen, other = kafka_python_assignors("range", "sticky")
    chosen.on_assignment(ConsumerProtocolAssignment(0, GIVEN, b""), 7)
    assert other.metadata(["t"]).user_data == CLAIM


def test_kafka_python_assignors_that_share_nothing_do_not() -> None:
    one, other = KafkaPythonAssignor("range"), KafkaPythonAssignor("sticky")
    one.on_assignment(ConsumerProtocolAssignment(0, GIVEN, b""), 7)
    assert other.metadata(["t"]).user_data is None


def test_an_aiokafka_consumer_claims_the_same_by_each_of_its_assignors() -> None:
    chosen, other = aiokafka_assignors("range", "sticky")
    chosen.on_assignment(ConsumerProtocolMemberAssignment(0, GIVEN, (7).to_bytes(4)))
    assert other.metadata(["t"]).user_data == CLAIM


@pytest.mark.parametrize(
    ("name", "sent"),
    [("range", None), ("sticky", None), ("cooperative-sticky", encode_cooperative_user_data(-1))],
)
def test_before_its_first_assignment_a_consumer_sends_what_java_does(name: str, sent: bytes | None) -> None:
    assert KafkaPythonAssignor(name).metadata(["t"]).user_data == sent


@pytest.mark.parametrize(
    ("ours", "of_the_jvm"), [("optimal", "sticky"), ("cooperative-optimal", "cooperative-sticky")]
)
def test_ours_remember_in_the_form_of_the_jvm(ours: str, of_the_jvm: str) -> None:
    members = kafka_python_assignors(ours, of_the_jvm)
    members[0].on_assignment(ConsumerProtocolAssignment(0, GIVEN, b""), 7)
    sent = [member.metadata(["t"]).user_data for member in members]
    assert sent[0] == sent[1] is not None


class Cluster:
    def partitions_for_topic(self, topic: str) -> set[int]:
        return {0, 1, 2}


def test_a_strangers_user_data_reaches_its_leader_through_kafka_python() -> None:
    strategy = Counts()
    member = KafkaPythonAssignor(strategy)
    member.on_assignment(ConsumerProtocolAssignment(0, GIVEN, b""), 7)
    joined = SimpleNamespace(member_id="a", group_instance_id=None, metadata=member.metadata(["t"]))
    member.assign(Cluster(), [joined])
    assert strategy.told == {"a": b"2 in 7"}


def test_a_strangers_user_data_reaches_its_leader_through_aiokafka() -> None:
    strategy = Counts()
    member = aiokafka_assignor(strategy)
    member.on_assignment(ConsumerProtocolMemberAssignment(0, GIVEN, b""))
    member.assign(Cluster(), {"a": member.metadata(["t"])})
    assert strategy.told == {"a": b"2 in 0"}


class Sees:
    """A stranger's cooperative assignor that keeps the group it was asked for."""

    name: ClassVar[str] = "sees"
    protocols: ClassVar[frozenset[RebalanceProtocol]] = frozenset({RebalanceProtocol.COOPERATIVE})

    def assign(self, group: Group) -> Assignment:
        self.group = group
        return get_assignor("cooperative-sticky").assign(group)


@pytest.mark.parametrize(("rack", "seen"), [("r1", "r1"), ("", None), (None, None)])
@pytest.mark.parametrize(("instance", "named"), [("i-1", "i-1"), ("", None), (None, None)])
def test_a_leader_of_kafka_python_hears_all_that_a_member_says(
    rack: str | None, seen: str | None, instance: str | None, named: str | None
) -> None:
    leader = Sees()
    member = KafkaPythonAssignor(leader, rack=rack)
    member.on_assignment(ConsumerProtocolAssignment(0, GIVEN, b""), 7)
    joined = SimpleNamespace(member_id="a", group_instance_id=instance, metadata=member.metadata(["u", "t"]))
    given = member.assign(Cluster(), [joined])
    (heard,) = leader.group.members
    assert (heard.id, heard.topics, heard.rack, heard.instance_id) == ("a", ("t", "u"), seen, named)
    assert ([*heard.owned], heard.generation) == ([("t", 0), ("t", 2)], 7)
    assert [(topic.name, topic.partitions) for topic in leader.group.topics] == [("t", 3), ("u", 3)]
    assert (given["a"].version, given["a"].user_data) == (3, b"")
    assert sorted(given["a"].partitions()) == sorted((topic, number) for topic in "tu" for number in range(3))


def test_who_was_never_assigned_anything_has_no_generation() -> None:
    leader = Sees()
    member = KafkaPythonAssignor(leader)
    joined = SimpleNamespace(member_id="a", group_instance_id=None, metadata=member.metadata(["t"]))
    member.assign(Cluster(), [joined])
    (heard,) = leader.group.members
    assert (heard.generation, [*heard.owned]) == (None, [])


def test_generation_0_is_one() -> None:
    leader = Sees()
    member = KafkaPythonAssignor(leader)
    member.on_assignment(ConsumerProtocolAssignment(0, GIVEN, b""), 0)
    joined = SimpleNamespace(member_id="a", group_instance_id=None, metadata=member.metadata(["t"]))
    member.assign(Cluster(), [joined])
    assert leader.group.members[0].generation == 0


def test_a_topic_that_the_cluster_does_not_have_has_no_partitions() -> None:
    leader = Sees()
    member = KafkaPythonAssignor(leader)
    joined = SimpleNamespace(member_id="a", group_instance_id=None, metadata=member.metadata(["gone"]))
    given = member.assign(SimpleNamespace(partitions_for_topic=lambda _: None), [joined])
    assert [*given["a"].partitions()] == []
    assert leader.group.topics[0].partitions == 0


def test_an_eager_member_claims_nothing_in_the_protocols_own_field() -> None:
    member = KafkaPythonAssignor("range", rack="r1")
    member.on_assignment(ConsumerProtocolAssignment(0, GIVEN, b""), 7)
    sent = member.metadata(["t"])
    assert (sent.owned_partitions, sent.generation_id, sent.rack_id, sent.version) == ([], 7, "r1", 3)


def test_each_assignor_of_a_kafka_python_consumer_tells_its_rack() -> None:
    members = kafka_python_assignors("range", "sticky", rack="r1")
    assert [member.metadata(["t"]).rack_id for member in members] == ["r1", "r1"]


def test_a_kafka_python_consumer_is_cooperative_unless_told_otherwise() -> None:
    assert KafkaPythonAssignor().name == "cooperative-sticky"


@pytest.mark.parametrize(
    ("name", "protocol"), [("range", TheirProtocol.EAGER), ("cooperative-sticky", TheirProtocol.COOPERATIVE)]
)
def test_kafka_python_hears_which_protocol_an_assignor_speaks(name: str, protocol: object) -> None:
    assert KafkaPythonAssignor(name).supported_protocols() == [protocol]
    assert KafkaPythonAssignor(name).name == name


@pytest.mark.parametrize(("state", "asked"), [({"rejoining": True}, 1), ({"rejoining": False}, 0), ({}, 0)])
def test_only_a_rejoin_that_is_under_way_is_asked_for_again(state: dict[str, bool], asked: int) -> None:
    requests: list[None] = []
    coordinator = SimpleNamespace(request_rejoin=lambda: requests.append(None), **state)
    finish_rejoin(SimpleNamespace(_coordinator=coordinator))
    assert len(requests) == asked


def test_a_consumer_without_a_group_has_no_rejoin() -> None:
    consumer = SimpleNamespace()
    finish_rejoin(consumer)
    assert vars(consumer) == {}
