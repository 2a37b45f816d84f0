"""Requests to a group coordinator, sent to our own group of the consumer protocol (KIP-848)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from assignors.group import Member, Topic
from copartition.simulation.group.consumer_group import AWAY, Answer, ConsumerGroup, Error, GroupMember
from copartition.simulation.group.leader import Decisions
from copartition.simulation.group.targets import GroupTargets
from partitioning.java import TimelineKeys, string_hash

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

Json = dict[str, Any]

SESSION_MS = 45_000
NAMES = ("a", "ab", "b", "bc")
LARGEST = 200


class Replay:
    """Sends the requests of a scenario to our group, and knows what its members would know."""

    def __init__(self, case: Json) -> None:
        named = any("assignor" in step for step in case["steps"])
        self.instances: dict[str, int] = {}
        self.instance_of = {
            int(step["member"][1:]): step["instance"] for step in case["steps"] if "instance" in step
        }
        self.known: dict[int, tuple[int, int]] = {}
        self.given: dict[int, frozenset[int]] = {}
        self.expires: dict[int, float] = {}
        self.topics: list[Topic] = []
        self.first = {name: LARGEST * turn for turn, name in enumerate(NAMES)}
        self.group = ConsumerGroup(
            LARGEST * len(NAMES),
            float(case["settings"]["group.consumer.assignment.interval.ms"]),
            GroupTargets(
                Decisions(shared=False),
                lambda: "broker-range" if named else "uniform",
                lambda: self.topics,
                np.arange(len(NAMES) + 1) * LARGEST,
                NAMES,
                {},
                self.describe,
            ),
            self.matching,
            TimelineKeys(lambda number: string_hash(f"m{number}")),
        )

    def describe(self, number: int) -> Member:
        return Member(f"m{number}", (), instance_id=self.instance_of.get(number))

    def matching(self, pattern: str) -> frozenset[str]:
        prefix = pattern.removesuffix(".*")
        return frozenset(topic.name for topic in self.topics if topic.name.startswith(prefix))

    def take(self, step: Json) -> tuple[Json, ...]:
        """What our group answers, as the coordinator's answers are written down."""
        self.expire(step["at"])
        if self.group.only_classic:
            return ()
        if step["op"] == "topics":
            self.change_topics(step["topics"])
            return ()
        answers = {
            "heartbeat": self.heartbeat,
            "join": self.join_classic,
            "sync": self.sync,
            "beat": self.beat,
            "leave": self.leave_classic,
        }
        return (answers[step["op"]](step, int(step["member"][1:])),)

    def expire(self, at: float) -> None:
        """Expels members that were silent for too long, or still have what they should have given up."""
        while due := [
            (deadline, number)
            for number, member in self.group.members.items()
            if (deadline := min(self.expires[number], member.deadline_ms, member.join_by_ms)) <= at
        ]:
            self.group.leave(min(due)[1])
            if self.group.only_classic:
                return

    def change_topics(self, topics: list[Json]) -> None:
        before = {topic.name: topic.partitions for topic in self.topics}
        self.topics = [Topic(topic["name"], topic["partitions"]) for topic in topics]
        for topic in self.topics:
            if before.get(topic.name) != topic.partitions:
                self.group.topic_changed(topic.name, created=topic.name not in before)

    def heartbeat(self, step: Json, number: int) -> Json:
        epoch = step["epoch"]
        if isinstance(epoch, str):
            epoch = self.known.get(number, (1, 1))[epoch == "known"]
        instance = step.get("instance")
        if instance is not None:
            instance = self.instances.setdefault(instance, len(self.instances))
            if fault := self.fencing_fault(number, instance, joins=epoch == 0):
                return {"error": fault}
        elif epoch != 0 and number not in self.group.members:
            return {"error": "UNKNOWN_MEMBER_ID"}
        if epoch == -1:
            self.group.leave(number)
            return {"epoch": -1}
        if epoch == AWAY:
            self.group.leave_for_a_while(number)
            return {"epoch": AWAY}
        owned = self.owned(step, number)
        if epoch == 0:
            topics = step.get("regex") or tuple(step["topics"])
            member = GroupMember(
                number, topics, instance, step["rebalance_timeout"], names="assignor" in step
            )
            answer = self.group.join(member, step["at"], owned or frozenset())
        else:
            answer = self.group.heartbeat(number, epoch, owned, step["at"])
        if isinstance(answer, Error):
            return {"error": answer.name}
        self.expires[number] = step["at"] + SESSION_MS
        self.learn(number, answer)
        return {"epoch": answer.epoch, "partitions": answer.partitions}

    def fencing_fault(self, number: int, instance: int, *, joins: bool) -> str | None:
        holder = self.group.static.get(instance)
        if joins or holder == number:
            return None
        return "UNKNOWN_MEMBER_ID" if holder is None else "FENCED_INSTANCE_ID"

    def join_classic(self, step: Json, number: int) -> Json:
        member = GroupMember(number, tuple(step["topics"]), None, step["rebalance_timeout"], classic=True)
        answer = self.group.join(member, step["at"], self.owned(step, number) or ())
        assert isinstance(answer, Answer)
        self.expires[number] = step["at"] + SESSION_MS
        self.known[number] = (self.known.get(number, (0, answer.epoch))[1], answer.epoch)
        return {"error": "NONE", "generation": answer.epoch}

    def sync(self, step: Json, number: int) -> Json:
        answer = self.group.sync(number, self.known.get(number, (1, 1))[1], step["at"])
        if isinstance(answer, Error):
            return {"error": answer.name}
        self.expires[number] = step["at"] + SESSION_MS
        self.given[number] = answer
        return {"error": "NONE", "partitions": answer}

    def beat(self, step: Json, number: int) -> Json:
        answer = self.group.classic_heartbeat(number, self.known.get(number, (1, 1))[1], step["at"])
        if answer in (None, Error.REBALANCE_IN_PROGRESS):
            self.expires[number] = step["at"] + SESSION_MS
        return {"error": "NONE" if answer is None else answer.name}

    def leave_classic(self, _: Json, number: int) -> Json:
        if number in self.group.members:
            self.group.leave(number)
        return {"error": "NONE"}

    def owned(self, step: Json, number: int) -> Collection[int] | None:
        owned = step.get("owned")
        return self.given.get(number, frozenset()) if owned == "given" else owned

    def learn(self, number: int, answer: Answer) -> None:
        self.known[number] = (self.known.get(number, (0, answer.epoch))[1], answer.epoch)
        if answer.partitions is not None:
            self.given[number] = answer.partitions

    def partitions(self, runs: list[list[Any]]) -> frozenset[int]:
        return frozenset(self.first[topic] + number for topic, *numbers in runs for number in numbers)


def expected(replay: Replay, answers: list[Json]) -> tuple[Json, ...]:
    told = []
    for answer in answers:
        made = {key: answer[key] for key in ("epoch", "error", "generation") if key in answer}
        if "epoch" in answer and answer["epoch"] >= 0:
            made["partitions"] = replay.partitions(answer["assignment"]) if "assignment" in answer else None
        elif "assignment" in answer:
            made["partitions"] = replay.partitions(answer["assignment"])
        told.append(made)
    return tuple(told)


def state_of(replay: Replay) -> Json:
    group = replay.group
    return {
        "epoch": group.epoch,
        "assignment_epoch": group.target_epoch,
        "members": {
            f"m{number}": (member.epoch, member.assigned | member.revoking, group.targets[number])
            for number, member in group.members.items()
        },
    }


def told_state(replay: Replay, group: Json) -> Json:
    return {
        "epoch": group["epoch"],
        "assignment_epoch": group["assignment_epoch"],
        "members": {
            member: (epoch, replay.partitions(assigned), replay.partitions(target))
            for member, epoch, assigned, target in group["members"]
        },
    }


def differences(case: Json) -> Iterator[str]:
    """Where our group does not do what the coordinator did, step by step, up to a downgrade."""
    replay = Replay(case)
    for step, told in zip(case["steps"], case["told"], strict=True):
        answers = replay.take(step)
        if replay.group.only_classic:
            return  # the group was made a classic one, and may be what it was by now
        if told["group"]["type"] == "consumer":
            for ours, theirs in (
                (answers, expected(replay, told["answers"])),
                (state_of(replay), told_state(replay, told["group"])),
            ):
                if ours != theirs:
                    yield f"{case['name']}: {step}: {ours} instead of {theirs}"
