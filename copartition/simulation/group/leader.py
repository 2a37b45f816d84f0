"""Model the leader of a classic group: its knowledge, its decisions, and the generations made from them.

Runs of one scenario differ in time, but seldom in who joins and leaves between two rebalances. An assignor
gives the same answer to the same history. So it is called once, and its decisions are kept for other runs.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assignors.answers import ask
from assignors.assignment import Assignment
from assignors.group import Group, Member, Topic
from assignors.interface import Assignor, RebalanceProtocol
from assignors.registry import clients_rule, get_assignor
from assignors.weighted.assignor import CooperativeWeightedAssignor, WeightedAssignor
from assignors.weighted.weights import Weights
from copartition.simulation.group.clients import BEHAVIOURS
from copartition.simulation.group.members import Members, RebalanceNotifier
from copartition.simulation.group.world import World
from copartition.simulation.inputs.events import Consumer
from copartition.simulation.ledger import JOINING
from copartition.simulation.outcome.history import AssignmentDelta, HistoryStep, Rebalance
from copartition.simulation.outcome.timeline import Phase
from partitioning.errors import ScenarioError
from partitioning.java.hash_map import HashSet
from partitioning.topic_partition import TopicPartition

LIMIT = 2**26
"""The most bytes of decisions that are kept at a time; if there would be more, all are dropped."""

# Estimated sizes of one decision, its group and its assignment together, to compare with `LIMIT`.
_BYTES_PER_MEMBER = 600
_BYTES_PER_PARTITION = 40


@dataclass(slots=True, eq=False)
class Decision:
    """A rebalance and everything that led to it: a node of the tree that `Decisions` keeps.

    `assignor` is the leader's assignor, with its memory after this decision. A shared decision must not be
    changed, so the next decision works on a copy of the assignor.

    The keys of `next` hold everything in which the next group can differ: the change, the strategy, and
    whether its leader is new. Two runs that reach a node have had the same history up to it, though perhaps
    at other times.
    """

    group: Group | None = None  # the members and topics that the leader got; None before the first rebalance
    assignment: Assignment | None = None  # the leader's answer
    assignor: Assignor | None = None  # the leader's assignor after this decision
    next: dict[Hashable, Decision] = field(default_factory=dict)  # the change -> the decision that followed


class Decisions:
    """The decisions for one scenario, as a tree of histories; none are kept in the tree unless `shared`."""

    def __init__(self, *, shared: bool) -> None:
        self.start = Decision()
        self._shared = shared
        # The estimated bytes of all decisions in the tree.
        self._kept = 0

    def decide(
        self,
        before: Decision,
        change: Hashable,
        name: str,
        group: Callable[[], Group],
        *,
        new_leader: bool,
        weighing: Callable[[Assignor], Assignor] = lambda assignor: assignor,
    ) -> Decision:
        """Return the decision that follows `before`, by this strategy, for the group that `group` returns.

        Args:
            before: the decision before; its `next` keeps the new one if runs share decisions.
            change: everything in which the next group can differ from another one after the same history.
            name: the strategy.
            group: returns the group; it is called only if the decision is not known already.
            new_leader: True if the leader starts without a memory, with a new assignor.
            weighing: returns the assignor with the loads and capacities that it must weigh.
        """
        key = (change, name, new_leader)
        earlier = before.next.get(key)
        if earlier is not None:
            return earlier
        if new_leader or before.assignor is None:
            assignor = get_assignor(name)
        else:
            # An assignor remembers its last answer. If runs share decisions, another run may also continue
            # from `before`, and must find that memory unchanged.
            assignor = deepcopy(before.assignor) if self._shared else before.assignor
        new = group()
        decision = Decision(new, ask(weighing(assignor), new), assignor)
        if self._shared:
            partitions = sum(topic.partitions for topic in new.topics)
            size = _BYTES_PER_MEMBER * len(new.members) + _BYTES_PER_PARTITION * partitions
            if self._kept + size > LIMIT:
                # Without the root's children no new run finds an old decision again. Runs that are under way
                # continue from the decisions that they hold.
                self.start.next.clear()
                self._kept = 0
            before.next[key] = decision
            self._kept += size
        return decision


FORGETFUL = frozenset({"range", "roundrobin"})
"""Strategies whose answers do not depend on previous owners."""


class LeaderAnswer(NamedTuple):
    """The decision of a leader, on its way to the members.

    `counts` is by topic number. If the answer is held, `assignment` is the last assignment without the
    members that are gone and with nothing for new members, and `decision` is the last decision.
    """

    assignment: Assignment
    took_ms: float  # how long its assignor was at work, in milliseconds
    strategy: str
    counts: list[int]  # the number of partitions of each topic, as the leader knew it
    decision: Decision  # the node of the tree from which the next decision continues
    held: bool = False  # the decision is put off, and members keep their partitions meanwhile (KIP-415)


class Leader:
    """The leader of a classic group: its membership, its knowledge and its memory of the last decision.

    Members are numbers of `World.memberships`. `_decision` is the last decision that all members have.
    `decide` computes the next decision, and `apply` puts it in the place of the last one. `gone` collects the
    ids of members lost since the last decision.
    """

    def __init__(
        self, world: World, decisions: Decisions, members: Members, notifier: RebalanceNotifier
    ) -> None:
        self.member: int | None = None  # the membership that leads; None until one is elected
        # The membership that the coordinator named when the last leader left; None if it named no member.
        self._successor: int | None = None
        self.generation = 0  # the number of the last generation
        self.strategy = ""  # the strategy of the last decision; empty before the first
        # The number of partitions of each topic at the last decision.
        self.counts: list[int] = list(world.partitions.counts)
        self.new = True  # whether the next decision is made by a leader that remembers nothing
        self.over = True  # whether the group starts without any previous decision
        self.gone: set[str] = set()  # ids of members that are gone since the last decision
        self.holds_ms: float | None = None  # decisions are put off until then (KIP-415); None: they are not
        # Members that must give partitions up after the last generation, and then rejoin.
        self.revoking = np.empty(0, np.int32)
        self._world = world
        self._members = members
        self._notifier = notifier
        self._decisions = decisions
        self._decision = decisions.start

    def elect(self) -> None:
        """Choose the leader among the members that have joined.

        The present leader stays if it has joined. Otherwise the member that `lose` named leads, or else the
        first in order.

        A member has joined if its `joins_ms` is now or earlier; at least one must have. A new leader decides
        without a memory.
        """
        members, now_ms = self._members, self._world.now_ms
        if self.member is None or members.joins_ms[self.member] > now_ms:
            joined = members.rows[members.joins_ms[members.rows] <= now_ms].tolist()
            self.member = self._successor if self._successor in joined else joined[0]
            self.new = True

    def lose(self) -> None:
        """Record that the leader is no member any more; the coordinator names another member at once.

        The named member is the first of the remaining ones in the coordinator's `HashMap` of ids
        (`ClassicGroup.remove`), so the ids, which are drawn at random, decide who leads. If ids are unknown
        and the members are workers of Connect, the seed chooses one of them: there the choice matters,
        because a new leader forgets a delay (KIP-415). In all other groups no member is named here, and
        `elect` chooses.
        """
        memberships = self._world.memberships
        members = self._members.rows.tolist()
        self.member = self._successor = None
        if members and all(memberships.consumers[member].member_id is not None for member in members):
            first = next(iter(HashSet([memberships.ids[member] for member in members])))
            self._successor = memberships.serials[first]
        elif members and BEHAVIOURS[memberships.consumers[members[0]].client].keeps_lost:
            self._successor = members[int(self._world.random.integers(len(members)))]

    def adopt(self, owned: Sequence[Sequence[TopicPartition]], generation: int) -> None:
        """Take over the members that exist, which come from another kind of group, with their partitions.

        Args:
            owned: the partitions of each member, in the order of `Members.rows`.
            generation: the generation of that group.
        """
        memberships, counts = self._world.memberships, self._world.partitions.counts
        members = self._members.rows.tolist()
        ids = [memberships.ids[member] for member in members]
        group = Group(
            topics_with(self._world, counts), self._newcomers(members, counts), generation=generation
        )
        self._decision = Decision(group, Assignment.of(dict(zip(ids, owned, strict=True))))
        self.strategy, self.counts, self.over = self.choose(self._members.rows), list(counts), False

    def decide(self, counts: list[int]) -> LeaderAnswer:
        """Return the leader's decision for a new generation, from the topics that its client knows.

        `counts` has the number of partitions of each topic, by topic number.
        """
        members, memberships = self._members, self._world.memberships
        # There are three groups of members: members without the last assignment are joining, members that
        # gave it up are bare, and all others carry it.
        rows, ids = members.rows, memberships.ids
        carries = members.carries[rows]
        joining = rows[~carries].tolist()  # members without the last assignment
        # Members that gave everything up, under a strategy that lets others keep their partitions.
        bare = rows[members.eager[rows] & carries].tolist() if self._world.varied else ()
        strategy = self.choose(rows)
        # Another strategy is another assignor, which has no memory of earlier answers.
        fresh = self.new or strategy != self.strategy
        generation = self.generation
        # A generation is counted even if the decision is held, because all members join and get an answer.
        self.generation += 1
        # A lost worker of Connect may return soon. Until then all members keep their tasks, and new members
        # get nothing (KIP-415).
        if self._holds(memberships.consumers[rows[0]], strategy, fresh=fresh):
            last = self._decision.assignment
            assert last is not None
            group = self._group(strategy, joining, self.counts, generation, ())
            kept = {member.id: last[member.id] for member in group.members if member.id in last}
            return LeaderAnswer(
                Assignment.for_group(group, kept), 0.0, strategy, self.counts, self._decision, held=True
            )
        # `change` has everything in which the next group can differ from another group with the same history.
        change = (
            generation if self.over else None,
            tuple(ids[member] for member in joining),
            frozenset(self.gone),
            tuple(counts),
            tuple(self._world.partitions.racks.items()),
            tuple(ids[member] for member in bare),
        )
        assert self.member is not None
        began = time.perf_counter()
        decision = self._decisions.decide(
            self._decision,
            change,
            clients_rule(memberships.consumers[self.member].client, strategy),
            lambda: self._group(strategy, joining, counts, generation, {ids[member] for member in bare}),
            new_leader=fresh,
            weighing=self._weighing,
        )
        took_ms = assignor_ms(self._world, began)
        assert decision.assignment is not None
        return LeaderAnswer(decision.assignment, took_ms, strategy, counts, decision)

    def apply(
        self,
        answer: LeaderAnswer,
        cause: int,
        started_ms: float,
        causes: tuple[str, ...],
        absence: Mapping[int, int],
        *,
        at_rest: bool = False,
    ) -> Rebalance:
        """Give all members their assignment: lost partitions stop for this cause, new ones are opened.

        Args:
            answer: the leader's decision.
            cause: the number of the cause of the pauses.
            started_ms: the time at which the rebalance began.
            causes: the causes of the rebalance in words, in order.
            absence: silent member -> the number of the cause of its partitions' pauses.
            at_rest: True if all partitions were opened long ago, as in the group at time 0.
        """
        world, members, ledger = self._world, self._members, self._world.ledger
        now_ms, rows = world.now_ms, members.rows
        if not answer.held:  # else the next decision is still to come
            self._decision, self.strategy, self.counts = answer.decision, answer.strategy, answer.counts
            self.new = self.over = False
            self.gone.clear()
        owner, position = world.history.places(answer.assignment, rows)
        living = members.living()
        cooperative = living[~members.eager[living]]
        before = ledger.now.owner
        losing = members.mask(before[before != owner])
        # A new process of a static member owns nothing yet, so it has nothing to give up.
        self.revoking = cooperative[losing[cooperative] & members.carries[cooperative]]
        kept = members.staying(before, owner, now_ms)
        change = AssignmentDelta.between(before, ledger.now.position, owner, position)
        ledger.own(*change, now_ms, cause)
        moved = world.history.count_moves(change)
        # The owners of these partitions stood still for the barrier and were given them again. So they go on
        # at once, without callbacks.
        ledger.read(kept, now_ms, JOINING)
        # A silent member will not read the partitions that it was just given. The cause of this pause is the
        # member's absence.
        for member, why in absence.items():
            for phase in (Phase.PAUSED, Phase.COMPUTING):
                ledger.settle_all(phase, now_ms, Phase.UNNOTICED, why, member=member)
        if at_rest:
            ledger.begin(now_ms)
        else:
            self.open(living, cause)
        self._count_pauses(living, owner)
        # A held decision gives new members nothing, so they must count as new again in the next decision.
        members.carries[rows] |= not answer.held
        step = HistoryStep(
            rows, change, tuple(answer.counts), self.topics(), dict(answer.assignment.transferring)
        )
        return world.note_rebalance(self.generation, started_ms, causes, moved, step)

    def open(self, members: NDArray[np.int32], cause: int) -> None:
        """Let these members open the partitions that they were given and do not read yet.

        If opening takes time, a member opens its partitions one after another, in the order of its list.
        """
        now_ms = self._world.now_ms
        self._world.ledger.open_all(members, now_ms, self._notifier.begins(members, now_ms, cause), cause)

    def topics(self) -> frozenset[str]:
        """Return the topics that at least one member subscribes to.

        If all consumers of the run have the same subscription, the members need not be looked at.
        """
        world, counts = self._world, self._world.partitions.counts
        kinds = world.subscriptions
        if len(kinds) > 1:
            consumers = world.memberships.consumers
            kinds = {
                (consumers[row].topics, consumers[row].pattern): consumers[row]
                for row in self._members.rows.tolist()
            }
        return frozenset().union(*(subscription(kind, world, counts) for kind in kinds.values()))

    def choose(self, rows: NDArray[np.int32]) -> str:
        """Return the strategy with the most votes.

        Each member votes for the first strategy in its own list that all members have. All members must have
        at least one strategy in common, which `share_strategy` checks when a member joins. If several
        strategies have the same number of votes, the one that got its first vote first wins, in the order of
        `rows`.
        """
        if not self._world.varied:
            return self._world.scenario.assignor
        lists = Counter(
            strategies_of(self._world.memberships.consumers[member], self._world) for member in rows.tolist()
        )
        common = set.intersection(*(set(strategies) for strategies in lists))
        votes: Counter[str] = Counter()
        for strategies, count in lists.items():
            votes[next(name for name in strategies if name in common)] += count
        return max(votes, key=lambda name: votes[name])

    def _count_pauses(self, living: NDArray[np.int32], owner: NDArray[np.int32]) -> None:
        """Add to the run's sum the time for which running members stood still.

        A member without partitions still waits if a follow-up rebalance is to bring it some.
        """
        members = self._members
        standing = living[~np.isnan(members.stands_ms[living])]
        if len(self.revoking):
            standing = standing[members.mask(owner)[standing]]
        self._world.member_pause_ms += float((self._world.now_ms - members.stands_ms[standing]).sum())
        members.stands_ms[standing] = np.nan

    def _holds(self, consumer: Consumer, strategy: str, *, fresh: bool) -> bool:
        """Return whether lost members' partitions are kept for now, since workers of Connect may return soon.

        A worker that joins meanwhile waits, too. A new leader remembers no lost member, so it keeps nothing.
        """
        now_ms = self._world.now_ms
        delay_ms = self._world.scenario.settings.scheduled_rebalance_max_delay_ms
        if self.holds_ms is None and delay_ms and BEHAVIOURS[consumer.client].keeps_lost:
            last = self._decision.assignment
            lost = last is not None and any(len(last.get(member, ())) for member in self.gone)
            if lost and RebalanceProtocol.COOPERATIVE in self._world.protocols(strategy):
                self.holds_ms = now_ms + delay_ms
        if self.holds_ms is not None and (fresh or self.over or now_ms >= self.holds_ms):
            self.holds_ms = None
        return self.holds_ms is not None

    def _group(
        self,
        strategy: str,
        joining: Sequence[int],
        counts: Sequence[int],
        generation: int,
        bare: Collection[str],
    ) -> Group:
        """Return the group that the assignor gets: the last one, after the joins and leaves since then.

        Args:
            strategy: the strategy that will assign.
            joining: members that do not have the last assignment.
            counts: the number of partitions of each topic, by topic number.
            generation: the generation before the new one.
            bare: ids of members that gave everything up, under a strategy that lets others keep their
                partitions.
        """
        names = self._world.partitions.topics
        topics = topics_with(self._world, counts)
        memberships = self._world.memberships
        newcomers = self._newcomers(joining, counts)
        group, assignment = self._decision.group, self._decision.assignment
        if self.over or group is None or assignment is None:
            return Group(topics, newcomers, generation=generation)
        # A strategy of `FORGETFUL` does not look at owned partitions, so they are not passed on.
        if strategy in FORGETFUL:
            staying = [member for member in group.members if member.id not in self.gone]
            following = Group(topics, [*staying, *newcomers], generation=group.generation + 1)
        else:
            following = group.next(assignment, join=newcomers, leave=self.gone, topics=topics)
        if not bare and len(names) == len(self._world.scenario.topics):
            return following
        consumers = dict(zip(memberships.ids, memberships.consumers, strict=True))
        return replace(
            following,
            members=[
                replace(
                    member,
                    topics=subscription(consumers[member.id], self._world, counts),
                    owned=() if member.id in bare else member.owned,
                )
                for member in following.members
            ],
        )

    @cached_property
    def _weights(self) -> Weights:
        """The rates of the load as weights, computed once."""
        return Weights(self._world.scenario.rates)

    def _weighing(self, assignor: Assignor) -> Assignor:
        """Return a weighing assignor with the load's rates and capacities, or any other assignor as it is.

        A weighing assignor is made anew for each decision, since the capacities are those of the present
        members. It has no memory of its own.
        """
        scenario, memberships = self._world.scenario, self._world.memberships
        if scenario.load is None or not isinstance(assignor, WeightedAssignor | CooperativeWeightedAssignor):
            return assignor
        if scenario.load.capacity == math.inf:
            return type(assignor)(weights=self._weights)
        capacities = {
            memberships.ids[member]: scenario.capacity_of(memberships.consumers[member])
            for member in self._members.rows.tolist()
        }
        return type(assignor)(weights=self._weights, capacities=capacities)

    def _newcomers(self, members: Sequence[int], counts: Sequence[int]) -> list[Member]:
        """Return these members as the assignor gets them, with the topics they subscribe to."""
        memberships = self._world.memberships
        return [
            memberships.describe(member, subscription(memberships.consumers[member], self._world, counts))
            for member in members
        ]


def assignor_ms(world: World, began: float) -> float:
    """Return the milliseconds for which an assignor is at work, by the scenario's costs.

    `began` is the value of `time.perf_counter` at the call of the assignor; it matters only if the scenario
    measures.
    """
    cost = world.scenario.costs.assignor_ms
    return (time.perf_counter() - began) * 1000 if cost == "measured" else cost


def speaks_consumer_protocol(consumer: Consumer, world: World) -> bool:
    """Return whether a consumer's strategy is one of the broker's, so that it speaks KIP-848.

    Strategies of the broker have no client-side rebalance protocol, and a consumer cannot name both kinds.
    """
    return not world.protocols(strategies_of(consumer, world)[0])


def topics_with(world: World, counts: Sequence[int]) -> list[Topic]:
    """Return the topics that exist, with `counts` partitions each, by topic number.

    If a topic has grown, its racks are unknown until its replicas move. A topic with 0 partitions does not
    exist yet.
    """
    by_name = {topic.name: topic for topic in world.scenario.topics}
    topics = []
    for name, count in zip(world.partitions.topics, counts, strict=True):
        topic = by_name.get(name)
        if topic is None or topic.partitions != count:
            topic = Topic(name, count, id=None if topic is None else topic.id)
        racks = world.partitions.racks.get(name, ())
        if racks and len(racks) == count:
            topic = Topic(name, count, racks, topic.id)
        if count:
            topics.append(topic)
    return topics


def strategies_of(consumer: Consumer, world: World) -> tuple[str, ...]:
    """Return a consumer's strategies, the preferred one first."""
    return consumer.assignors or (world.scenario.assignor,)


def share_strategy(consumer: Consumer, others: Iterable[Consumer], world: World) -> bool:
    """Return whether a consumer has a strategy that all others have.

    It is True if there are no others. Lists are compared as sets: the order in a member's list only matters
    for its vote.
    """
    if not world.varied:
        return True
    lists = {strategies_of(other, world) for other in others}
    return bool(set(strategies_of(consumer, world)).intersection(*lists))


def require_shared_strategy(consumers: Sequence[Consumer], world: World) -> None:
    """Check that the consumers of the classic protocol at time 0 have a strategy in common.

    Raises:
        ScenarioError: they have none, so they cannot be in one group.
    """
    classic = [consumer for consumer in consumers if not speaks_consumer_protocol(consumer, world)]
    if classic and not share_strategy(classic[0], classic, world):
        raise ScenarioError(
            "the consumers at the start have no assignor in common; give them one, such as 'range'"
        )


def speaks_eager(consumer: Consumer, world: World) -> list[bool]:
    """Return for each strategy of a consumer whether it is eager, in the consumer's order.

    With the Java client, one eager strategy in the list makes the client give everything up before it
    rejoins. librdkafka does not start with both kinds.
    """
    names = strategies_of(consumer, world)
    return [RebalanceProtocol.COOPERATIVE not in world.protocols(name) for name in names]


def subscription(consumer: Consumer, world: World, counts: Sequence[int]) -> tuple[str, ...]:
    """Return the topics that a consumer subscribes to.

    A pattern is matched against existing topics.
    """
    if consumer.pattern is not None:
        return world.partitions.matching(consumer.pattern, counts)
    if consumer.topics is not None:
        return consumer.topics
    return world.topics
