"""Make cases of Kafka Connect and Kafka Streams: groups over some rebalances, with exact answers.

A task is a pair of a name (a connector or a subtopology) and a number from 0 on.
"""

import random
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import count, groupby
from typing import Any, TypeAlias

from assignors.connect import CONNECTOR, INSTANCE, ConnectEagerAssignor, ConnectIncrementalAssignor
from assignors.group import Group, Member, Topic
from assignors.streams.application import ProcessAssignment
from assignors.streams.classic_sticky import KAFKA_VERSIONS, StreamsClassicStickyAssignor
from assignors.streams.high_availability import StreamsHighAvailabilityAssignor
from assignors.streams.sticky import (
    StreamsAssignment,
    StreamsGroup,
    StreamsMember,
    StreamsStickyAssignor,
    Subtopology,
)
from partitioning.topic_partition import TopicPartition

Json: TypeAlias = dict[str, Any]
"""A JSON object as a Python dictionary."""

CONNECT = ("connect-eager", "connect-incremental")
"""The strategies of Kafka Connect that have cases."""
STREAMS = ("streams-sticky", "streams-high-availability", "streams-classic-sticky")
"""The strategies of Kafka Streams that have cases."""

_END_OFFSET = 1_000_000
"""The end offset of the changelog of every task."""


def read_runs(tasks: Iterable[tuple[str, int]]) -> list[list[str | int]]:
    """Return an ordered list of tasks or partitions: each run is a name followed by numbers.

    Args:
        tasks: pairs of a name and a number, in any order, which is kept.

    >>> read_runs([("orders", 0), ("orders", 2), ("clicks", 1)])
    [['orders', 0, 2], ['clicks', 1]]
    """
    return [[name, *(number for _, number in run)] for name, run in groupby(tasks, key=lambda task: task[0])]


def connect_cases(strategy: str, rng: random.Random, rebalances: int) -> Iterator[Json]:
    """Yield rebalances of clusters whose workers come, go, restart and miss an answer while time passes.

    Args:
        strategy: one of `CONNECT`.
        rng: draws the clusters and what happens to them.
        rebalances: number of rebalances of a cluster; after them another cluster begins, with a new leader.

    Yields:
        Cases without end. Times are ms on the leader's clock; delays are ms, too.
    """
    while True:
        # The delay is none, shorter or longer than most pauses between rebalances, or Connect's default of
        # five minutes.
        max_delay_ms = rng.choice((0, 30, 10_000, 300_000))
        leader = ConnectIncrementalAssignor(max_delay_ms)
        ids, now_ms = count(), 1_000
        connectors = {f"connector-{next(ids)}": rng.randrange(6) for _ in range(rng.randint(1, 5))}
        running: dict[str, list[TopicPartition]] = {
            f"worker-{next(ids)}": [] for _ in range(rng.randint(1, 4))
        }
        for generation in range(1, 1 + rebalances):
            # Before the first rebalance no generation was completed; -1 stands for that.
            completed = generation - 1 or -1
            group = Group(
                [Topic(*connector) for connector in connectors.items()],
                [Member(worker, (), owned=mine) for worker, mine in running.items()],
                generation=completed,
            )
            case: Json = {
                "new_leader": generation == 1,
                "connectors": dict(connectors),
                "members": [{"id": worker, "owned": _connect_runs(mine)} for worker, mine in running.items()],
            }
            if strategy == "connect-eager":
                assignment = ConnectEagerAssignor().assign(group)
                case["answer"] = {"assignment": _by_name(assignment)}
            else:
                assignment, revoked, delay_ms = leader.assign_at(group, now_ms, generation)
                case |= {"completed_generation": completed, "generation": generation}
                case |= {"now_ms": now_ms, "max_delay_ms": max_delay_ms}
                answer = {"assignment": _by_name(assignment), "revoked": _by_name(revoked)}
                case["answer"] = {**answer, "delay_ms": delay_ms}
            yield case
            # One worker in twenty misses its answer and keeps what it had, as after a lost response.
            running |= {worker: [*mine] for worker, mine in assignment.items() if rng.random() < 0.95}
            event = rng.choice(("join", "leave", "restart", "create", "resize", "delete", "none"))
            if event == "join":
                running[f"worker-{next(ids)}"] = []
            elif event == "leave" and len(running) > 1:
                del running[rng.choice(list(running))]
            elif event == "restart":
                running[rng.choice(list(running))] = []
            elif event == "create":
                connectors[f"connector-{next(ids)}"] = rng.randrange(6)
            elif event == "resize" and connectors:
                connectors[rng.choice(list(connectors))] = rng.randrange(6)
            elif event == "delete" and connectors:
                del connectors[rng.choice(list(connectors))]
            # With these pauses the next rebalance is before the end of a delay, just after it, or long after
            # it.
            now_ms += rng.choice((1, 40, 5_000, max_delay_ms + 1, 300_000))


def _by_name(lists: Mapping[str, Iterable[TopicPartition]]) -> dict[str, list[list[str | int]]]:
    """Return for each worker its connectors and tasks in the form of Connect's protocol."""
    return {worker: _connect_runs(mine) for worker, mine in lists.items()}


def _connect_runs(tasks: Iterable[TopicPartition]) -> list[list[str | int]]:
    """Return tasks as Connect's protocol has them: task -1 is the connector itself."""
    return read_runs(
        (name.removeprefix(CONNECTOR), INSTANCE) if name.startswith(CONNECTOR) else (name, number)
        for name, number in tasks
    )


def streams_cases(strategy: str, rng: random.Random, rebalances: int) -> Iterator[Json]:
    """Yield rebalances of applications whose processes come and go; their state on disk is complete or late.

    Args:
        strategy: one of `STREAMS`.
        rng: draws the applications and what happens to them.
        rebalances: number of rebalances of an application; after them another application begins.

    Yields:
        Cases without end; lists of tasks have the form of `read_runs`, offsets are [subtopology, number,
        offset].
    """
    while True:
        is_classic = strategy != "streams-sticky"
        settings: Json = _rack_settings(rng) if is_classic else {}
        application = _Application(rng, is_classic=is_classic, has_racks=bool(settings))
        if strategy == "streams-high-availability":
            settings |= {
                "max_warmup_replicas": rng.choice((1, 2, 5)),
                "acceptable_recovery_lag": rng.choice((0, 10_000)),
                "rack_aware_assignment_tags": rng.choice(([], ["zone"])),
            }
        for _ in range(rebalances):
            group = application.group()
            case = {**_streams_group(group), **settings}
            answer: StreamsAssignment | ProcessAssignment
            if strategy == "streams-classic-sticky":
                case["kafka_version"] = settings["kafka_version"] = rng.choice(KAFKA_VERSIONS)
                answer = StreamsClassicStickyAssignor(**settings).assign(group)
            elif application.is_classic:
                answer = StreamsHighAvailabilityAssignor(**settings).assign(group)
                case["end_offsets"] = [[*task, end] for task, end in group.end_offsets.items()]
            else:
                answer = StreamsStickyAssignor().assign(group)
            lists = {"active": answer.active, "standby": answer.standby}
            shown = {
                kind: {name: read_runs(tasks) for name, tasks in by_member.items()}
                for kind, by_member in lists.items()
            }
            rest = {name: value for name, value in answer._asdict().items() if name not in lists}
            yield {**case, "answer": {**shown, **rest}}
            application.live_on(answer)


def _rack_settings(rng: random.Random) -> Json:
    """Return a drawn `rack.aware.assignment.strategy` with its costs; an empty dict if "none" was drawn."""
    strategy = rng.choice(("none", "min_traffic", "balance_subtopology"))
    costs = {
        f"rack_aware_assignment_{name}_cost": rng.choice((0, 1, 10)) for name in ("traffic", "non_overlap")
    }
    return {} if strategy == "none" else {"rack_aware_assignment_strategy": strategy, **costs}


def _streams_group(group: StreamsGroup) -> Json:
    """Return an application as plain values of JSON.

    Empty values of a member, and empty lists of a subtopology, are left out.
    """
    members = [
        {
            "id": member.id,
            "process_id": member.process_id,
            "active": read_runs(member.active),
            "standby": read_runs(member.standby),
            "offsets": [[*task, offset] for task, offset in member.offsets.items()],
            "tags": dict(member.tags),
            "rack": member.rack,
        }
        for member in group.members
    ]
    subtopologies = [
        {
            "id": subtopology.id,
            "tasks": subtopology.tasks,
            "stateful": subtopology.stateful,
            "source_topics": [_topic(topic) for topic in subtopology.source_topics],
            "changelog_topics": [_topic(topic) for topic in subtopology.changelog_topics],
        }
        for subtopology in group.subtopologies
    ]
    return {
        "subtopologies": [
            {key: value for key, value in subtopology.items() if value != []} for subtopology in subtopologies
        ],
        "standby_replicas": group.standby_replicas,
        "members": [{key: value for key, value in member.items() if value} for member in members],
    }


def _topic(topic: Topic) -> Json:
    """Return a topic as plain values; `racks` has the racks of each partition's replicas, by partition."""
    return {"name": topic.name, "partitions": topic.partitions, "racks": topic.racks}


class _Application:
    """One application of Kafka Streams between rebalances; it owns its members and subtopologies.

    Members of one process are neighbours and share its `process_id`. An application always has at least one
    member. The racks of a topic's partitions stay the same while it grows, because `_topics` draws them from
    a seed of their own.
    """

    def __init__(self, rng: random.Random, *, is_classic: bool, has_racks: bool) -> None:
        self.is_classic, self._has_racks = is_classic, has_racks
        self._rng, self._seed = rng, rng.random()
        # Ids are never used twice, as in a real cluster.
        self._ids = count()
        self._subtopologies = [
            self._grow(Subtopology(str(number), 0, stateful=rng.random() < 0.7), rng.randrange(1, 6))
            for number in range(rng.randint(1, 3))
        ]
        self._standby_replicas = rng.randrange(3)
        self._members: list[StreamsMember] = []
        for _ in range(rng.randint(1, 3)):
            self._join()

    def group(self) -> StreamsGroup:
        """Return the group as it asks for an assignment now."""
        ends = dict.fromkeys(self._stateful(), _END_OFFSET) if self.is_classic else {}
        return StreamsGroup(
            self._subtopologies,
            self._members,
            standby_replicas=self._standby_replicas,
            end_offsets=ends,
        )

    def live_on(self, answer: StreamsAssignment | ProcessAssignment) -> None:
        """Start what was assigned, let some state arrive, and let one event happen to the application.

        Args:
            answer: active and standby tasks, by member id, or by process id in a classic group.
        """
        rng, stateful = self._rng, set(self._stateful())
        members, assigned = [], set()
        for member in self._members:
            # In a classic group the answer is by process; here the process's first thread runs all its tasks.
            key = member.process_id if self.is_classic else member.id
            active, standby = (
                [] if key in assigned else list(lists[key]) for lists in (answer.active, answer.standby)
            )
            assigned.add(key)
            # The state of an active task is complete, so only other tasks on disk have an offset.
            on_disk = {*standby, *member.active, *member.offsets} & stateful - {*active}
            offsets = {
                task: rng.choice((0, _END_OFFSET // 2, _END_OFFSET - 10_000, _END_OFFSET))
                for task in sorted(on_disk)
                if task in standby or rng.random() < 0.7
            }
            members.append(replace(member, active=active, standby=standby, offsets=offsets))
        self._members = members
        event = rng.choice(("join", "leave", "grow", "none"))
        if event == "join":
            self._join()
        elif event == "leave":
            # All threads of a process leave at the same time.
            gone = rng.choice(members).process_id
            self._members = [member for member in members if member.process_id != gone] or members
        elif event == "grow":
            self._subtopologies = [
                self._grow(subtopology, rng.randrange(2)) for subtopology in self._subtopologies
            ]

    def _grow(self, subtopology: Subtopology, more: int) -> Subtopology:
        """Return the subtopology with `more` additional tasks, and topics with a partition for each task."""
        tasks = subtopology.tasks + more
        return replace(
            subtopology,
            tasks=tasks,
            source_topics=self._topics(f"source-{subtopology.id}", tasks),
            changelog_topics=self._topics(f"changelog-{subtopology.id}", tasks)
            if subtopology.stateful
            else (),
        )

    def _topics(self, name: str, partitions: int) -> list[Topic]:
        """Return one topic if racks matter, else none.

        The racks of the first partitions stay the same when the topic grows, because the seed depends only on
        the name.
        """
        rng = random.Random(f"{self._seed}/{name}")  # noqa: S311 - test data
        racks = [rng.sample("abc", 2) for _ in range(partitions)]
        return [Topic(name, partitions, racks)] if self._has_racks else []

    def _join(self) -> None:
        """Add one process with one or two members; its tags and its rack are in the same zone."""
        process = str(uuid.UUID(int=self._rng.getrandbits(128)))
        zone = self._rng.choice("abc")
        tags, rack = {"zone": zone} if self.is_classic else {}, zone if self._has_racks else None
        self._members += [
            StreamsMember(f"member-{next(self._ids)}", process, tags=tags, rack=rack)
            for _ in range(self._rng.choice((1, 1, 2)))
        ]

    def _stateful(self) -> Iterator[TopicPartition]:
        """Return the tasks that have state, by subtopology and number."""
        return (
            TopicPartition(subtopology.id, number)
            for subtopology in self._subtopologies
            if subtopology.stateful
            for number in range(subtopology.tasks)
        )
