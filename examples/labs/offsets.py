"""Committed offsets are records, too: where they are, what they say, and what a crash does to them.

An offset is the next to be read, not the last that was. A consumer that dies after processing and before its
commit leaves records to be read twice; one that commits first and then dies loses them.
"""

from __future__ import annotations

from confluent_kafka import Consumer, Message, Producer, TopicPartition

from assignors import Topic
from copartition import Scenario, simulate
from copartition.simulation import Consumer as Simulated
from copartition.simulation import Crash, Join, Load
from examples.labs.kit import Lab, Picture
from examples.labs.kit import segments as seg
from examples.labs.kit.loop import committed_offset
from partitioning import coordinator_partition

NODES = 3
RECORDS, FIRST = 10, 4
"""Records in the topic, and how many the first consumer takes before it dies."""
PATIENCE_S = 60.0


def run(lab: Lab) -> None:
    servers, topic = lab.cluster.kafka.bootstrap_servers, lab.topic()
    producer = Producer(lab.servers)
    for number in range(RECORDS):
        producer.produce(topic, str(number))
    producer.flush(PATIENCE_S)
    groups = [f"{topic}-{name}" for name in ("tidy", "late", "early")]
    for group in groups:
        seg.coordinator(servers, seg.GROUP, group)  # makes the inner topic where there is none yet
    count = seg.partitions(servers, "__consumer_offsets")
    home = {group: coordinator_partition(group, count) for group in groups}
    nodes = {group: seg.leader(servers, "__consumer_offsets", home[group])[0] for group in groups}
    kinds = {order: _kind(order) for order in ("after", "before")}
    lab.predict(
        {f"partition of {_short(group)}'s offsets, of {count}": home[group] for group in groups}
        | {f"node that coordinates {_short(group)}": nodes[group] for group in groups}
        | {
            f"offset after reading 0 to {FIRST - 1}": FIRST,
            "dies after processing, before the commit": kinds["after"],
            "dies after the commit, before processing": kinds["before"],
        }
    )
    done = {
        "tidy": [*life(lab, topic, groups[0], "process commit"), *life(lab, topic, groups[0], "rest")],
        "late": [*life(lab, topic, groups[1], "process"), *life(lab, topic, groups[1], "rest")],
        "early": [*life(lab, topic, groups[2], "commit"), *life(lab, topic, groups[2], "rest")],
    }
    rows = []
    for group in groups:
        found = {n: commits for n in range(count) if (commits := seg.commits(servers, group, number=n))}
        lab.saw(
            f"partition of {_short(group)}'s offsets, of {count}",
            next(iter(found)) if len(found) == 1 else -1,
        )
        node = seg.coordinator(servers, seg.GROUP, group)[0]
        lab.saw(f"node that coordinates {_short(group)}", node)
        written = [offset for commits in found.values() for offset in commits]
        rows.append((_short(group), next(iter(found)), node, written, done[_short(group)]))
        if group == groups[0]:
            lab.saw(f"offset after reading 0 to {FIRST - 1}", written[0])
    lab.saw("dies after processing, before the commit", _fate(done["late"]))
    lab.saw("dies after the commit, before processing", _fate(done["early"]))
    columns = ("group", "partition of __consumer_offsets", "coordinator", "offsets written", "processed")
    lab.table("What __consumer_offsets holds, and what was processed", columns, rows)
    lab.picture = Picture(f"Records 0 to {RECORDS - 1}, processed by a consumer that dies and its successor")
    for name, text in (
        ("tidy", "commits, then dies"),
        ("late", "dies before commit"),
        ("early", "commits first"),
    ):
        cells = [(str(n), 5 if done[name].count(n) > 1 else 0) for n in done[name]]
        lost = sorted({*range(RECORDS)} - {*done[name]})
        lab.picture.cells(text, cells, f"lost: {' '.join(map(str, lost))}" if lost else "")


def life(lab: Lab, topic: str, group: str, does: str) -> list[int]:
    """What a consumer processes that reads from the committed offset on, and dies; the rest: to the end."""
    settings = {"group.id": group, "enable.auto.commit": False, "auto.offset.reset": "earliest"}
    consumer = Consumer(lab.servers | settings)
    begins = committed_offset(consumer, topic)
    consumer.assign([TopicPartition(topic, 0, begins)])
    ends = RECORDS if does == "rest" else FIRST
    messages: list[Message] = []
    while len(messages) < ends - begins:
        message = consumer.poll(PATIENCE_S)
        assert message, "a record that is there"
        messages.append(message)
    if does != "process":
        consumer.commit(offsets=[TopicPartition(topic, 0, ends)], asynchronous=False)
    consumer.close()  # commits nothing by itself, so this is all that a death leaves
    return [] if does == "commit" else [int(message.value() or b"") for message in messages]


def _kind(commit: str) -> str:
    """What the simulation says of a crash amid the records of a poll, committed `after` or `before`."""
    scenario = Scenario(
        (Topic("t", 1),),
        (Simulated("first"),),
        events=[Crash(at_ms=12_000, consumer="first"), Join(at_ms=14_000, consumer=Simulated("second"))],
        load=Load(rate=100, capacity=90, commit=commit),  # type: ignore[arg-type]
        until_ms=120_000,
    )
    summary = simulate(scenario).summary
    return _words(twice=bool(summary.duplicates), lost=bool(summary.lost))


def _fate(processed: list[int]) -> str:
    return _words(twice=len(processed) > len({*processed}), lost={*processed} != {*range(RECORDS)})


def _words(*, twice: bool, lost: bool) -> str:
    return " and ".join(word for word, holds in (("read twice", twice), ("lost", lost)) if holds) or "once"


def _short(group: str) -> str:
    return group.rsplit("-", 1)[1]
