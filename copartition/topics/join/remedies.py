"""Ways out: what would settle an open question, and which topic to place anew by which count and rule."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from copartition.topics.join.verdict import Remedy
from copartition.topics.join.writers import (
    Placement,
    clients_of,
    placement,
    rule_name,
    seniority,
    setting_for,
)
from copartition.words import count, list_names
from partitioning.profiles import PROFILES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from copartition.topics.join.facts import Topic
    from copartition.topics.join.verdict import KeyProof, Reason

_PLACING = {"counts", "rules", "changed-rule", "keys-apart", "scattered", "epochs", "strays", "mixed"}
"""Reasons that go away once records are placed anew."""

_BY_HAND = ("java", "librdkafka")
"""Clients whose settings are listed where the writer is unknown."""


class _Target(NamedTuple):
    """How all topics are to be placed, and the records that must be written anew for it."""

    rule: Placement
    partitions: int
    anew: tuple[Topic, ...]

    @property
    def records(self) -> int:
        return sum(topic.records for topic in self.anew)


def remedies(
    topics: Sequence[Topic], reasons: Sequence[Reason], proof: KeyProof | None
) -> tuple[Remedy, ...]:
    """Ways out of what speaks against a join or leaves it open, the cheapest first."""
    codes = {reason.code for reason in reasons if reason.weight != "for"}
    ways: list[Remedy] = []
    if codes & _PLACING:
        target = _cheapest(topics, proof)
        ways += [remedy for topic in target.anew for remedy in _settings(topic, target)]
        ways += [_anew(topic, target) for topic in sorted(target.anew, key=lambda topic: topic.records)]
    elif "sample" in codes:
        ways += _read(topics)
    if codes & {"forms", "respelled"}:
        ids = {schema_id for topic in topics for form in topic.audit.forms for schema_id in form.schema_ids}
        text = "write the keys of all topics with one serializer and one schema id, and the old records anew"
        command = "auto.register.schemas=false use.schema.id=N" if len(ids) > 1 else None
        ways.append(Remedy(topics[-1].name, text, command))
    for topic in topics:
        if topic.rows and not topic.keyed:
            ways.append(Remedy(topic.name, f"write {topic.name} anew with the keys to join by", None))
    return tuple(ways)


def _read(topics: Sequence[Topic]) -> Iterator[Remedy]:
    """To read everything, which settles what a sample leaves open."""
    partial = [topic for topic in topics if not topic.full]
    if partial:
        records = sum(topic.records for topic in topics)
        names = [topic.name for topic in topics]
        text = f"read every record of {list_names(names)}, {count(records, 'record')} at most"
        yield Remedy(partial[0].name, text, f"copartition check {' '.join(names)} --full")


def _cheapest(topics: Sequence[Topic], proof: KeyProof | None) -> _Target:
    """The placement for which the fewest records are written anew; of equal ones, over more partitions."""
    scattered = dict.fromkeys((topic.name for topic in topics), 0)
    if proof is not None:
        scattered = dict(zip(scattered, proof.scattered, strict=True))
    most = max(topic.count for topic in topics)
    wanted = {(rule, topic.count) for topic in topics for rule in topic.today}
    wanted = wanted or {(placement(PROFILES["java"], most), most)}
    targets = [
        _Target(
            rule,
            count,
            tuple(
                topic
                for topic in topics
                if not topic.trusted
                or topic.rules != {rule}
                or topic.missed
                or scattered[topic.name]
                or topic.count != count
            ),
        )
        for rule, count in wanted
    ]
    return min(targets, key=lambda target: (target.records, -target.partitions, seniority(target.rule)))


def _anew(topic: Topic, target: _Target) -> Remedy:
    """To copy a topic into one that is placed as wanted."""
    name = f"{topic.name}-by-{target.partitions}"
    text = (
        f"write {topic.name} anew into a topic with {count(target.partitions, 'partition')}, placed by "
        f"{rule_name(target.rule)}: {count(topic.records, 'record')} at most"
    )
    if topic.count < target.partitions:
        text += f"; to let {topic.name} grow is not enough, its records stay where they are"
    return Remedy(
        topic.name, text, f"kafka-topics.sh --create --topic {name} --partitions {target.partitions}"
    )


def _settings(topic: Topic, target: _Target) -> Iterator[Remedy]:
    """To set the topic's writers so that records to come are placed as wanted."""
    wanted = target.rule
    placed = {placement(PROFILES[name], target.partitions) for name in topic.profiles}
    if topic.trusted and placed == {wanted}:
        return
    settings = [
        f"{client}: {setting}"
        for client in clients_of(topic.profiles) or _BY_HAND
        if (setting := setting_for(client, wanted)) is not None
    ]
    if settings:
        text = f"set the writers of {topic.name} to {rule_name(wanted)}, for the records to come"
        yield Remedy(topic.name, text, "; ".join(settings))
