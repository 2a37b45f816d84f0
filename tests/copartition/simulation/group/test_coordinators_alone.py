"""Each coordinator without its clients: give it requests, look at its answers."""

from dataclasses import dataclass

import numpy as np
import pytest

from assignors.group import Topic
from copartition.simulation import Consumer, Scenario
from copartition.simulation.group.classic_group import ClassicGroup
from copartition.simulation.group.classic_states import ClassicGroupState
from copartition.simulation.group.clients import BEHAVIOURS
from copartition.simulation.group.consumer_group import NOTHING, Answer, Error
from copartition.simulation.group.group_coordinator import GroupCoordinator
from copartition.simulation.group.leader import Decisions
from copartition.simulation.group.members import Members, RebalanceNotifier
from copartition.simulation.group.timers import Timers
from copartition.simulation.group.world import World


@dataclass
class Silent:
    """A client that only has what a coordinator must know of it; what it is told is listed."""

    consumer: int
    configured: Consumer
    member: int
    told: list
    classic = False
    every_ms = 5_000.0
    session_ms = 45_000.0
    owned = assigned = NOTHING
    gone = leaving = False

    def begin_as_member(self, partitions):
        self.owned = self.assigned = partitions

    def expects_news(self):
        self.told.append("news")

    def beat(self):
        self.told.append("beat")

    def on_expelled(self):
        self.told.append("expelled")


class ConsumerGroup:
    """The coordinator of a group of the consumer protocol, with requests at chosen times."""

    def __init__(self, partitions):
        self.world = World(Scenario((Topic("orders", partitions),), (), assignor="uniform"))
        self.timers = Timers()
        self.downgrades = []
        self.coordinator = GroupCoordinator(
            self.world, Decisions(shared=False), self.timers, self.downgrades.append
        )

    def client(self, name, **about):
        consumer = Consumer(name, **about)
        number = self.world.start_process(consumer)
        return Silent(number, consumer, self.world.memberships.add(number, consumer), [])

    def at(self, now_ms):
        """Let the timers up to then go off, and move the clock."""
        while self.timers.next_ms() <= now_ms:
            self.world.now_ms = self.timers.next_ms()
            self.timers.run()
        self.world.now_ms = now_ms
        return self.coordinator


def test_the_first_member_gets_all_partitions_in_the_answer_to_its_join():
    group = ConsumerGroup(3)
    assert group.at(0.0).join(group.client("a"), NOTHING) == Answer(2, frozenset({0, 1, 2}))


def test_a_second_member_gets_nothing_until_the_first_says_that_it_gave_partitions_up():
    group = ConsumerGroup(4)
    first, second = group.client("a"), group.client("b")
    everything = group.at(0.0).join(first, NOTHING).partitions
    # The target of the first epoch is too young to be replaced for a second.
    assert group.at(100.0).join(second, NOTHING).partitions == NOTHING
    kept = group.at(1_100.0).heartbeat(first, None).partitions
    assert len(kept) == 2
    assert group.at(1_200.0).heartbeat(second, None).partitions is None
    assert group.at(1_300.0).heartbeat(first, kept).epoch == 3
    assert group.at(1_400.0).heartbeat(second, None).partitions == everything - kept


def test_a_member_that_is_silent_for_its_session_is_dropped_and_told_at_its_next_request():
    group = ConsumerGroup(2)
    client = group.client("a")
    group.at(0.0).join(client, NOTHING)
    absence = group.world.ledger.cause("session of a timed out")
    group.at(1_000.0).fall_silent(client.member, 0.0, absence)
    group.at(44_999.0)
    assert client.told.count("expelled") == 0
    assert group.at(45_000.0).heartbeat(client, None) is Error.UNKNOWN_MEMBER_ID
    assert client.told.count("expelled") == 1


def test_a_second_process_with_a_static_members_instance_id_is_refused():
    group = ConsumerGroup(2)
    group.at(0.0).join(group.client("a", static=True), NOTHING)
    assert group.at(10.0).join(group.client("a", static=True), NOTHING) is Error.UNRELEASED_INSTANCE_ID


class Classic:
    """The coordinator of a classic group, with members that answer a barrier at chosen times."""

    def __init__(self, partitions, assignor="range"):
        self.world = World(Scenario((Topic("orders", partitions),), (), assignor=assignor))
        self.members, self.timers, self.expelled = Members(self.world.scenario.settings), Timers(), []
        notifier = RebalanceNotifier(self.world, self.members, lambda *_: None)
        self.group = ClassicGroup(
            self.world,
            Decisions(shared=False),
            self.members,
            self.timers,
            notifier,
            lambda member, _: self.expelled.append(member),
        )

    def member(self, name):
        consumer = Consumer(name)
        member = self.world.memberships.add(self.world.start_process(consumer), consumer)
        self.members.make(member, 0.0, eager=True, behaviour=BEHAVIOURS["java"])
        return member

    def owned(self, member):
        return self.world.ledger.owned_partitions(member).tolist()

    def pass_barrier(self):
        self.world.now_ms = self.group.barrier_ms()
        self.group.pass_barrier()


@pytest.fixture
def classic():
    """A stable group of two members, "a" and "b", of four partitions."""
    classic = Classic(4)
    for name in ("a", "b"):
        classic.group.join(classic.member(name), 0.0)
    classic.pass_barrier()
    assert (
        classic.group.state is ClassicGroupState.PREPARING_REBALANCE
    )  # the second one made the initial delay longer
    classic.pass_barrier()
    return classic


def test_an_empty_group_is_empty_and_has_no_barrier():
    classic = Classic(4)
    assert classic.group.state is ClassicGroupState.EMPTY
    assert classic.group.barrier_ms() == np.inf


def test_members_of_the_initial_delay_share_the_partitions(classic):
    assert classic.group.state is ClassicGroupState.STABLE
    assert [classic.owned(member) for member in classic.members.rows] == [[0, 1], [2, 3]]
    assert classic.group.leader.generation == 1


def test_the_barrier_waits_for_the_last_heartbeat_and_no_longer_than_the_poll_interval(classic):
    now_ms = classic.world.now_ms
    classic.group.join(classic.member("c"), now_ms)
    assert classic.group.state is ClassicGroupState.PREPARING_REBALANCE
    assert now_ms < classic.group.barrier_ms() <= now_ms + 3_000  # heartbeat.interval.ms
    classic.group.arrives(0, np.inf, np.inf)  # its application does not poll
    assert classic.group.barrier_ms() == now_ms + 300_000  # max.poll.interval.ms
    classic.pass_barrier()
    assert classic.expelled == [0]
    assert [classic.owned(member) for member in classic.members.rows] == [[0, 1], [2, 3]]


def test_a_group_whose_last_member_is_dropped_is_empty(classic):
    for member in (0, 1):
        classic.group.drop(member, "left", classic.world.ledger.cause("left"))
    assert classic.group.state is ClassicGroupState.EMPTY


def test_a_member_whose_session_ends_is_dropped_and_the_others_rebalance(classic):
    now_ms = classic.world.now_ms
    classic.members.alive[1] = False
    classic.group.fall_silent(1, now_ms, classic.world.ledger.cause("session of b timed out"))
    assert classic.group.state is ClassicGroupState.STABLE
    assert classic.timers.next_ms() == now_ms + 45_000
    classic.world.now_ms = classic.timers.next_ms()
    classic.timers.run()
    assert classic.group.state is ClassicGroupState.PREPARING_REBALANCE
    classic.pass_barrier()
    assert [classic.owned(member) for member in (0, 1)] == [[0, 1, 2, 3], []]
