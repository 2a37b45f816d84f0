"""Plan the assignment that a strategy would give to a group as it is, or after a change.

A plan starts from the given state, whose owners are the owners before. It adds members, topics and
rebalances, and lists in `assumed` everything that no source shows.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from random import Random
from typing import NamedTuple
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from assignors.answers import ask
from assignors.assignment import Assignment
from assignors.explanation import Explainer, settle
from assignors.group import Group, Topic
from assignors.interface import Assignor
from assignors.registry import check_for_consumers, get_assignor, is_built_in, name_in_group
from assignors.state import CONNECT, GroupState
from assignors.weighted.weights import GivenWeights
from copartition.assignment_diff.planned_topics import PlannedTopics, plan_topics
from copartition.groups.offers import with_strategy
from copartition.groups.planned_members import (
    EVERYBODY,
    PlannedSeats,
    Seat,
    WhatIf,
    as_complete,
    find_member,
    leaders_rule,
    names_of,
    placeholder,
    seat_members,
    unknown_places,
)
from partitioning.errors import AssignorError, SourceError, UnknownStrategyError
from partitioning.kit.limits import check_members

ROUNDS = 10
"""The most follow-up rebalances until a cooperative strategy has settled; Kafka's own tests allow four."""

CURRENT = "current"
"""The name that stands for the strategy that the group uses."""

_WEIGHED = {"weighted", "cooperative-weighted"}
"""Strategies to which weights can be given."""

_ON_ITS_WAY = {"Empty", "PreparingRebalance", "CompletingRebalance"}
"""States of a group in which its members do not own what the last assignment gave them."""


def plan(
    state: GroupState,
    assignor: str,
    what_if: WhatIf | None = None,
    *,
    weights: GivenWeights | None = None,
    settings: Mapping[str, object] | None = None,
) -> GroupState:
    """Return the group after this assignor has assigned it, follow-up rebalances included.

    Members claim what they own now, so sticky strategies keep what they can. If a KIP-848 group is on its way
    to a target, give its target as the state.

    `assumed` of the result lists every fact that no source shows. Its `explainer` repeats the decisions to
    tell why a partition has its owner. After a deploy, which is many decisions, there is no explainer.

    Args:
        state: the group.
        assignor: a strategy by name, or "current" for the one that the group uses.
        what_if: a change to the group before it is assigned.
        weights: the weights of partitions, for "weighted" and "cooperative-weighted"; other strategies do not
            get them.
        settings: settings of the assignor, by the names of its factory's parameters.

    Raises:
        InvalidConfigError: the weights are invalid, or the assignor has no such setting.
        SourceError: the change names an unknown member or topic or shrinks a topic, or the group has no
            members.
        UnknownStrategyError: there is no strategy of that name.
        AssignorError: the strategy cannot assign this group.
    """
    what_if = what_if or WhatIf()
    # 1. The group with nothing missing, and the name of the strategy.
    state, assignor = _group_to_plan(state, assignor, what_if)
    # 2. The members after the change, and the rule by which their leader decides.
    seated = seat_members(state, what_if)
    leader = leaders_rule(state, assignor, seated.all)
    # Only these two strategies have the setting "weights". If both are given, `settings` wins.
    weighed = {"weights": weights} if assignor in _WEIGHED and weights is not None else {}
    given = weighed | dict(settings or {})
    make = partial(get_assignor, leader.rule, **given)
    strategy = make()
    # Without this check a strategy would raise its own error, which says nothing of `add_members`.
    if not seated.all:
        raise SourceError(f"plan:{assignor}: the group has no members; add some with `add_members` N")
    # 3. The topics after the change.
    topics = plan_topics(state, what_if, seated.all, leader.rule)
    # 4. The decision, with the rebalances that follow it.
    group = _start(state, seated, seated.all, topics.all)
    outcome = _carry_out(strategy, group, seated.all, what_if)
    # 5. The range of moves, if the answer depends on ids that nobody knows yet.
    broker_side = not strategy.protocols
    unknown = unknown_places(outcome.seats, leader.rule, random_ids=broker_side)
    moves = None
    if unknown or topics.nameless:
        draw = _Draw(state, seated, topics, what_if, random_ids=broker_side)
        moves = draw.count_moves(make)
    # 6. The answer, with everything that it is based on.
    assignor = name_in_group(assignor)
    explainer: Explainer | None = None
    if what_if.deploy is None:
        # A strategy may remember its last decision, so the explainer asks one that has decided nothing yet.
        explainer = Explainer(group, outcome.assignment, assignor=make(), follow_ups=ROUNDS)
    return replace(
        _state(state, outcome.assignment, outcome.seats, topics.all),
        name=state.name,
        status="planned",
        strategy=assignor,
        protocol="consumer" if broker_side else "classic",
        warnings=(
            *state.warnings,
            *leader.warnings,
            *_own_decision(state, what_if, given if assignor == state.strategy else {}),
            *outcome.warnings,
        ),
        assumed=(
            *state.assumed,
            *seated.assumed,
            *topics.assumed,
            *leader.assumed,
            *_unknown_ids(unknown, topics.nameless, leader.rule, moves, broker_side=broker_side),
            *_switch(state, assignor, broker_side=broker_side),
            *_unknown_weights(state, assignor, weights, plug_in=not is_built_in(strategy)),
            # The simulator knows strategies by their names.
            *([f"what stops is simulated with {assignor} without its settings"] if settings else []),
        ),
        explainer=explainer,
        deploy=what_if.deploy,
        moves=moves and moves[:2],
    )


def _group_to_plan(state: GroupState, assignor: str, what_if: WhatIf) -> tuple[GroupState, str]:
    """Return the group as a plan takes it, and the name of the strategy that decides.

    Raises:
        SourceError: too many members would join, or no consumer's strategy serves such a group.
    """
    joining = what_if.add_members + len(what_if.joining)
    check_members(len(state.members) + joining, SourceError, f"with {joining} joining members the group")
    state = as_complete(state)
    if assignor == CURRENT:
        state = with_strategy(state)
        assignor = state.strategy or "range"
    check_for_consumers([assignor], SourceError)
    if state.protocol == CONNECT:
        raise SourceError(
            f"plan:{assignor}: these are workers of Kafka Connect, whom no consumer's strategy serves"
        )
    return state, assignor


def _start(state: GroupState, seated: PlannedSeats, seats: Sequence[Seat], topics: Sequence[Topic]) -> Group:
    """Return the group as its leader sees it when the new members of `seats` have joined.

    Args:
        state: the group before, with its owners.
        seated: its members before the change, and those that leave.
        seats: the members after the change; the ids of new ones may be drawn.
        topics: the topics after the change.
    """
    # Only new members have a prefix; all others are in the group already.
    join = [seat.member for seat in seats if seat.prefix is not None]
    return Group((), seated.now).next(state.assignment, leave=seated.leaving, join=join, topics=topics)


MOST_STEPS = 2**24
"""The greatest product of replaced members and partitions that a deploy may have.

Each replaced member costs two rebalances of the whole group, and each of these takes time per partition.
"""


class GroupAfterDeploy(NamedTuple):
    """A group after its members were replaced, or after it has settled if there was no deploy."""

    seats: list[Seat]  # all members; those that were replaced have their new ids
    assignment: Assignment
    warnings: tuple[str, ...]  # what moved on the way


def _carry_out(
    strategy: Assignor,
    group: Group,
    seats: list[Seat],
    what_if: WhatIf,
    name: Callable[[str, Collection[str]], str] = placeholder,
) -> GroupAfterDeploy:
    """Return the group after it has settled, and after the deploy if there is one.

    Args:
        strategy: the assignor that decides.
        group: the members with the partitions that they claim.
        seats: the same members as seats.
        what_if: its `deploy` says whether and how members are replaced.
        name: returns a new member id, given the beginning of the id and the ids that are taken.
    """
    decide = partial(ask, strategy)
    group, assignment = settle(decide, group, ROUNDS)
    if what_if.deploy is None:
        return GroupAfterDeploy(seats, assignment, ())
    return deploy(decide, group, assignment, seats, ROUNDS, surge=what_if.deploy == "surge", name=name)


_DRAWS = 40
"""The most draws; in each, the plan is made with other ids in place of the unknown ones."""
_FEWEST_DRAWS = 5
"""The fewest draws; a range over fewer says too little."""
_DRAWN_ROWS = 2**17
"""The most members and partitions, summed over the rebalances of all draws; they take about half a second."""
_LEAST_ROWS = 250
"""The least number that a rebalance adds to this sum; a smaller group takes hardly less time."""


@dataclass(frozen=True, slots=True)
class _Draw:
    """A plan that is made again and again with ids that clients and brokers could have drawn.

    Attributes:
        state: the group before the plan.
        seated: its members after the change.
        topics: its topics after the change.
        what_if: the change.
        random_ids: True if member ids are wholly random (KIP-848); False if they begin with `Seat.prefix`.
    """

    state: GroupState
    seated: PlannedSeats
    topics: PlannedTopics
    what_if: WhatIf
    random_ids: bool

    def count_moves(self, make: Callable[[], Assignor]) -> tuple[int, int, int] | None:
        """Return the fewest and the most partitions that move over all draws, and the number of draws.

        None if the group is so large that fewer than `_FEWEST_DRAWS` can be made. `make` returns a new
        assignor, which remembers nothing of the draw before.
        """
        # To replace a member takes two rebalances: one when it leaves and one when it joins.
        rebalances = 1 + 2 * len(self.seated.all) * (self.what_if.deploy is not None)
        rows = len(self.seated.all) + sum(topic.partitions for topic in self.topics.all)
        draws = min(_DRAWS, _DRAWN_ROWS // (max(rows, _LEAST_ROWS) * rebalances))
        if draws < _FEWEST_DRAWS:
            return None
        rng = Random(0)  # noqa: S311 - the same plan says the same each time
        moves = [self._moves(make(), rng) for _ in range(draws)]
        return min(moves), max(moves), draws

    def _moves(self, strategy: Assignor, rng: Random) -> int:
        """Return the number of partitions that have another owner at the end of one draw."""
        known = sorted(member.id for member in self.state.members)
        seats = [
            seat
            if seat.prefix is None
            else seat._replace(member=replace(seat.member, id=self._name(seat, known, rng)))
            for seat in self.seated.all
        ]
        topics = [
            replace(topic, id=_uuid(rng)) if topic.name in self.topics.nameless else topic
            for topic in self.topics.all
        ]

        def name(prefix: str, _: Collection[str]) -> str:
            return f"{'' if self.random_ids else prefix}{_uuid(rng)}"

        group = _start(self.state, self.seated, seats, topics)
        outcome = _carry_out(strategy, group, seats, self.what_if, name)
        place = {member.id: number for number, member in enumerate(self.state.members)}
        before = owners(topics, self.state.assignment, place)
        for seat in outcome.seats:
            # A replaced member keeps its place, so that its partitions do not count as moved.
            place[seat.member.id] = place.setdefault(seat.identity.id, len(place))
        now = owners(topics, outcome.assignment, place)
        return int(np.count_nonzero((before >= 0) & (now >= 0) & (before != now)))

    def _name(self, seat: Seat, known: Sequence[str], rng: Random) -> str:
        """Return an id that this new member might get.

        The assignors compare ids by their order. If the start of the id is unknown, the id is drawn so that
        it may come between any two known ids.
        """
        if self.random_ids or seat.identity.client_id is not None or not known:
            return f"{'' if self.random_ids else seat.prefix}{_uuid(rng)}"
        after = rng.randrange(len(known) + 1)
        return f"{known[after - 1]}~{_uuid(rng)}" if after else f"!{_uuid(rng)}"


def _uuid(rng: Random) -> UUID:
    """Return a random UUID of version 4, as Kafka's clients and brokers draw them."""
    return UUID(int=rng.getrandbits(128), version=4)


_BY_SUBSCRIPTION = {"range", "roundrobin"}
"""Strategies whose answer depends on subscriptions alone. If it differs, guessed subscriptions are wrong."""


def _own_decision(state: GroupState, what_if: WhatIf, settings: Mapping[str, object]) -> list[str]:
    """Return a warning if the group's own strategy, with these settings, would not give the present owners.

    The strategy assigns the group once more with nothing changed. If the result differs from the present
    owners, something is not as the source tells it.

    Raises:
        SourceError: the present owners show that the members do not all subscribe to the same topics.
    """
    own = state.strategy
    # During a rebalance the owners are not a result of the strategy, so a difference would prove nothing.
    if own is None or state.status in _ON_ITS_WAY or not (state.member >= 0).any():
        return []
    subscribed = {
        name: topics
        for name, topics in what_if.subscribe.items()
        if name == EVERYBODY or state.members[find_member(state, name, "`subscribe`")].topics is None
    }
    seats = seat_members(state, WhatIf(subscribe=subscribed)).all
    rule = leaders_rule(state, own, seats).rule
    try:
        strategy = get_assignor(rule, **settings)
    except UnknownStrategyError:
        return [f"nothing is known here of the group's own assignor, {own!r}"]
    topics = plan_topics(state, WhatIf(), seats, rule).all
    now = state.assignment
    group = Group((), [seat.member for seat in seats]).next(now, topics=topics)
    try:
        group, again = settle(partial(ask, strategy), group, ROUNDS)
    except AssignorError as error:
        return [f"the group's own assignor, {own!r}, cannot assign it as it is: {error}"]
    places = {seat.member.id: number for number, seat in enumerate(seats)}
    moved = int(np.count_nonzero(owners(topics, now, places) != owners(topics, again, places)))
    guessed = {topic for seat in seats if seat.identity.topics is None for topic in seat.member.topics}
    # If all guessed subscriptions are to one topic, no other guess is possible. So something else is the
    # cause, and the user gets the warning below, not this error.
    if moved and own in _BY_SUBSCRIPTION and len(guessed) > 1:
        raise SourceError(
            "the subscriptions of the members are not known, and what they have does not fit one list for "
            f"all: {own!r} would have put {moved} partitions elsewhere; name the topics of each member with "
            "`subscribe` MEMBER=TOPIC,.. (and the assignor, plan:NAME, if the source does not tell it), or "
            "ask live:GROUP"
        )
    disagrees = (
        f"asked again with nothing changed, {own!r} would move {moved} partitions: another client or "
        "assignor decided here, or its members see or subscribe to something else than is known"
    )
    return [disagrees] if moved else []


def _unknown_weights(
    state: GroupState, assignor: str, weights: GivenWeights | None, *, plug_in: bool
) -> list[str]:
    """Return the assumptions about weights and about the capacity of members.

    Args:
        state: the group.
        assignor: name of the strategy.
        weights: what partitions weigh; None if the user gave no weights.
        plug_in: True if the strategy is not built in.
    """
    if assignor not in _WEIGHED:
        # Built-in strategies count partitions, as the help of --weights says. A plug-in may weigh partitions
        # by a setting with a name of its own. Without this sentence the user of a plug-in would believe that
        # the weights had an effect.
        unheard = f"the weights do not reach {assignor}: a plug-in weighs by settings of its own, if at all"
        return [unheard] if plug_in and weights is not None else []
    lag = "" if state.lag is None else ", whatever its lag"
    alike = f"every partition weighs the same{lag}; weights can be the lag, or come from a file"
    return [*([alike] if weights is None else []), "every member can carry the same"]


def _unknown_ids(
    unknown: Sequence[Seat],
    nameless: Collection[str],
    rule: str,
    moves: tuple[int, int, int] | None,
    *,
    broker_side: bool,
) -> list[str]:
    """Return at most one assumption: that the answer depends on ids that nobody knows.

    Args:
        unknown: the new members whose place in the order of members depends on their unknown ids.
        nameless: the topics whose ids matter to the strategy and are unknown.
        rule: the strategy.
        moves: (fewest moves, most moves, number of draws); None if no draws were made.
        broker_side: True if the coordinator runs the assignor, False if the group's leader does.
    """
    what = []
    if unknown:
        random = " (clients draw them at random)" if broker_side else ""
        what.append(f"the new member ids of {names_of([seat.identity for seat in unknown])}{random}")
    if nameless:
        what.append(f"the topic ids of {', '.join(sorted(nameless))}")
    if not what:
        return []
    if moves is None:
        found = "the group is too large to try others, so how many partitions move may differ, too"
    else:
        least, most, draws = moves
        span = f"{least:,}" if least == most else f"{least:,} to {most:,}"
        found = f"in {draws} draws of ids {span} partitions move"
    unknown_ids = f"{' and '.join(what)} are not known, and {rule!r} depends on them"
    return [f"{unknown_ids}: {found}; who gets which partition may differ"]


def _switch(state: GroupState, assignor: str, *, broker_side: bool) -> list[str]:
    """Return at most one assumption: that the plan has another strategy or protocol than the group."""
    if state.strategy not in {None, assignor}:
        how = f"all members go over to {assignor!r} at once, under the ids that they have"
        return [f"the group uses {state.strategy!r}; {how}"]
    if state.protocol is not None and (state.protocol == "consumer") is not broker_side:
        other = "consumer" if broker_side else "classic"
        return [f"members keep their ids; to go over to the {other} protocol they restart under new ones"]
    return []


def _state(
    before: GroupState, assignment: Assignment, seats: Sequence[Seat], topics: Sequence[Topic]
) -> GroupState:
    """Return the assignment as a state, with the identities, topic ids and racks that are known."""
    counts = {topic.name: topic.partitions for topic in topics}
    planned = GroupState.of(assignment).with_every_partition(counts)
    of_id = {seat.member.id: seat.identity for seat in seats}
    # The ids with which the plan was made. A topic whose id is unknown has None.
    ids = {topic.name: topic.id for topic in topics}
    racks = {
        name: racks
        for name, racks in zip(before.topics, before.racks or [None] * len(before.topics), strict=True)
        # Racks of a topic that grew are dropped: those of its new partitions are unknown.
        if racks is not None and len(racks) == counts[name]
    }
    return replace(
        planned,
        members=tuple(of_id[member.id] for member in planned.members),
        topic_ids=tuple(ids.get(name) for name in planned.topics) if any(ids.values()) else (),
        racks=tuple(racks.get(name) for name in planned.topics) if racks else (),
    )


def owners(topics: Sequence[Topic], assignment: Assignment, places: Mapping[str, int]) -> NDArray[np.int64]:
    """Return the place of the owner of each partition of these topics, -1 for nobody.

    Args:
        topics: the topics, in the order in which their partitions are in the result.
        assignment: the owners.
        places: member id -> place of that member.
    """
    # The first row of each topic. The row of a partition is the first row plus the partition's number.
    start = np.cumsum([0, *(topic.partitions for topic in topics)])
    row = {topic.name: number for number, topic in enumerate(topics)}
    members, names, member, topic, partition = assignment.to_arrays()
    column = np.full(int(start[-1]), -1, np.int64)
    place = np.array([places[name] for name in members], np.int64)
    column[start[np.array([row[name] for name in names], np.int64)[topic]] + partition] = place[member]
    return column


def deploy(
    decide: Callable[[Group], Assignment],
    group: Group,
    assignment: Assignment,
    seats: list[Seat],
    follow_ups: int,
    *,
    surge: bool = False,
    name: Callable[[str, Collection[str]], str] = placeholder,
) -> GroupAfterDeploy:
    """Return the group after its members were replaced one by one.

    A static member is back before its session ends, so its restart causes no rebalance (KIP-345). Any other
    member leaves, the group settles, the member joins under a new id, and the group settles again. In a surge
    the new member joins first, and then the old one leaves.

    Args:
        decide: returns the assignment of a group.
        group: the members with the partitions that they claim.
        assignment: the owners now.
        seats: the same members as seats; new members are not replaced.
        follow_ups: the most rebalances that may follow each change until the group has settled.
        surge: True if each new member joins before the old one leaves.
        name: returns a new member id, given the beginning of the id and the ids that are taken.

    Raises:
        SourceError: the number of replaced members times that of partitions is greater than `MOST_STEPS`.
    """
    restarting = [seat for seat in seats if seat.identity.instance_id is None and seat.prefix is None]
    partitions = sum(topic.partitions for topic in group.topics)
    # This is checked before the first step, because a deploy of a huge group would take minutes.
    if len(restarting) * max(partitions, len(seats)) > MOST_STEPS:
        raise SourceError(
            f"a deploy of {len(restarting)} members without an instance id and {partitions} "
            f"partitions are too many to go through one by one; their product may be {MOST_STEPS:,}"
        )
    seated = {seat.identity.id: seat for seat in seats}
    places = {seat.member.id: number for number, seat in enumerate(seats)}
    ids = {seat.member.id for seat in seats}
    moved: list[int] = []
    before = owners(group.topics, assignment, places)
    for seat in restarting:
        prefix = f"{seat.identity.client_id}-" if seat.identity.client_id else ""
        again = replace(seat.member, id=name(prefix, ids))
        ids.add(again.id)
        place = places[seat.member.id]
        # In a surge both members run for a while, so the new one counts as another owner. Otherwise it takes
        # the place of the old one.
        places[again.id] = len(places) if surge else place
        seated[seat.identity.id] = seat._replace(member=again, prefix=prefix)
        leave, join = {"leave": [seat.member.id]}, {"join": [again]}
        for change in (join, leave) if surge else (leave, join):
            group = group.next(assignment, **change)
            assignment = Assignment.of({})
            if group.members:
                group, assignment = settle(decide, group, follow_ups)
            now = owners(group.topics, assignment, places)
            moved.append(int(np.count_nonzero((now != before) & (now >= 0))))
            before = now
    order = "joins before the one that it replaces leaves" if surge else "is gone before it is back"
    moves = (
        f"each member {order}; on the way partitions are handed over {sum(moved)} times in "
        f"{len(moved)} rebalances, {max(moved, default=0)} at most in one"
    )
    return GroupAfterDeploy([*seated.values()], assignment, (moves,) if restarting else ())
