"""An aiokafka group one of whose members says odd things."""

import pytest
from aiokafka.coordinator.protocol import ConsumerProtocolMemberAssignment, ConsumerProtocolMemberMetadata

from assignors.clients.aiokafka import aiokafka_assignor
from assignors.protocol import encode_sticky_user_data

LAST_GENERATION = 2**31 - 1


class Cluster:
    def partitions_for_topic(self, topic):
        return set(range(6))


class Stranger:
    """A member that claims partition 0 in a generation of its own making."""

    def __init__(self, generation):
        self.claim = encode_sticky_user_data([("t", 0)], generation)

    def metadata(self, topics):
        return ConsumerProtocolMemberMetadata(0, topics, self.claim)

    def on_assignment(self, assignment):
        pass


def rebalanced(members):
    """What each member has after a rebalance that the first one leads."""
    said = {id_: member.metadata(["t"]) for id_, member in members.items()}
    made = members["a"].assign(Cluster(), said)
    for id_, member in members.items():
        member.on_assignment(ConsumerProtocolMemberAssignment.decode(made[id_].encode()))
    return {id_: sorted(number for _, number in made[id_].partitions()) for id_ in members}


@pytest.mark.parametrize("generation", [LAST_GENERATION, LAST_GENERATION - 1, 0, -1, -2, -(2**31)])
def test_a_stranger_in_any_generation_leaves_the_others_what_they_have(generation):
    members = {"a": aiokafka_assignor(), "b": aiokafka_assignor(), "c": Stranger(generation)}
    first = rebalanced(members)
    assert sorted(map(len, first.values())) == [2, 2, 2]
    assert [rebalanced(members) for _ in range(3)] == [first] * 3


def test_a_group_of_strangers_in_negative_generations_begins_at_0():
    told = aiokafka_assignor().assign(Cluster(), {"c": Stranger(-7).metadata(["t"])})
    assert told["c"].user_data == bytes(4)


def test_the_last_generation_is_followed_by_itself_where_a_leader_of_another_client_sends_none():
    member = aiokafka_assignor()
    for user_data in (LAST_GENERATION.to_bytes(4), b""):
        member.on_assignment(ConsumerProtocolMemberAssignment(0, [("t", [0])], user_data))
    assert member.metadata(["t"]).user_data == encode_sticky_user_data([("t", 0)], LAST_GENERATION)
