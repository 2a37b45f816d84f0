"""What a coordinator does that no roll of consumers shows: `python -m benchmarks.rebalances.coordinator`.

Four questions: by which epochs a member may commit (KIP-1251), whether a change of replicas' racks alone
rebalances a group (KIP-1101), how a consumer of Java that closes with an option is removed (KIP-1092), and
how long a commit takes under each `group.coordinator.append.linger.ms` (KAFKA-19791). The answers are
`coordinator.json`, which `benchmarks/rebalances.md` shows. Only the
last depends on how fast a machine is.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from statistics import median, quantiles
from typing import TYPE_CHECKING, Any

from confluent_kafka import Consumer
from kafka import TopicPartition
from kafka.admin import KafkaAdminClient
from kafka.protocol.consumer import OffsetCommitRequest

from benchmarks.consumers.clients import JAVA
from benchmarks.consumers.process import Member
from benchmarks.rebalances.besides import ANSWERS
from benchmarks.rebalances.broker_log import Decision, Request, read_log, recording_broker
from benchmarks.rebalances.measure import GROUP_APIS, as_row, decisions
from tests.support.broker import Broker, Kafka
from tests.support.raw_requests import ask, connect
from tests.support.waiting import GENEROUS_S

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

PARTITIONS = 4
COMMITS = 300
EPOCHS = range(1, 9)
SETTINGS = "group.consumer.heartbeat.interval.ms=500\ngroup.initial.rebalance.delay.ms=0\n"
CONSUMER_PROTOCOL = {"group.protocol": "consumer"}


def commit(broker: Any, group: str, topic: str, partition: int, member: str = "", epoch: int = -1) -> int:
    """Commit offset 0 of one partition, and return the error code of the answer."""
    topics = OffsetCommitRequest.OffsetCommitRequestTopic
    data = topics.OffsetCommitRequestPartition(
        partition_index=partition, committed_offset=0, committed_leader_epoch=-1, committed_metadata=""
    )
    request = OffsetCommitRequest(
        version=9,
        group_id=group,
        generation_id_or_member_epoch=epoch,
        member_id=member,
        group_instance_id=None,
        topics=[topics(name=topic, partitions=[data])],
    )
    return int(ask(broker, request).topics[0].partitions[0].error_code)


def polls_until(consumers: Collection[Consumer], done: Callable[[], bool]) -> None:
    """Poll all consumers until something holds; records are not looked at."""
    deadline = time.monotonic() + GENEROUS_S
    while not done():
        if time.monotonic() > deadline:
            raise TimeoutError(f"not so after {GENEROUS_S:.0f} s: {done}")
        for consumer in consumers:
            consumer.poll(0.05)
        if not consumers:
            time.sleep(0.2)


def member(kafka: Kafka, group: str, topic: str, **config: str) -> Consumer:
    """Return a consumer of librdkafka that has subscribed and not polled yet."""
    consumer = Consumer(
        {
            "bootstrap.servers": kafka.bootstrap_servers,
            "group.id": group,
            "enable.auto.commit": False,
            **config,
        }
    )
    consumer.subscribe([topic])
    return consumer


def epochs_that_may_commit(version: str) -> dict[str, Any]:
    """Ask by which epochs the first of two members may commit what it kept, and what it gave up."""
    with recording_broker(SETTINGS, version=version) as broker:
        kafka = Kafka(broker.bootstrap_servers)
        topic = kafka.create_topic(PARTITIONS)
        first = member(kafka, topic, topic, **CONSUMER_PROTOCOL)
        polls_until([first], lambda: len(first.assignment()) == PARTITIONS)
        second = member(kafka, topic, topic, **CONSUMER_PROTOCOL)
        both = (first, second)
        polls_until(both, lambda: [len(consumer.assignment()) for consumer in both] == [2, 2])
        kept, gave_up = ([part.partition for part in consumer.assignment()] for consumer in both)
        raised = [
            number for _, what, number in decisions(topic, read_log(broker.logs[0])) if what == "bumped"
        ]
        connection = connect(broker.bootstrap_servers)
        accepted = {
            name: [
                epoch
                for epoch in EPOCHS
                if commit(connection, topic, topic, partitions[0], first.memberid(), epoch) == 0
            ]
            for name, partitions in (("kept", kept), ("gave up", gave_up))
        }
        for consumer in both:
            consumer.close()
    return {"version": version, "group epochs": raised, "accepted": accepted}


def racks_alone(version: str, protocol: str) -> dict[str, Any]:
    """Move a topic's replicas to the other rack, and count the epochs or generations that follow."""
    config = CONSUMER_PROTOCOL if protocol == "consumer" else {"partition.assignment.strategy": "range"}
    config |= {"client.rack": "a", "topic.metadata.refresh.interval.ms": "1000"}
    with recording_broker(SETTINGS, ("a", "b"), version) as broker:
        kafka = Kafka(broker.bootstrap_servers)
        kafka.create_coordinators(1)
        topic = kafka.create_topic(PARTITIONS, node=1)
        consumers = [member(kafka, topic, topic, **config) for _ in range(2)]
        polls_until(consumers, lambda: [len(consumer.assignment()) for consumer in consumers] == [2, 2])
        before = time.monotonic()
        admin = KafkaAdminClient(bootstrap_servers=broker.bootstrap_servers)
        admin.alter_partition_reassignments(
            {TopicPartition(topic, number): [2] for number in range(PARTITIONS)}
        )
        polls_until(consumers, lambda: not admin.list_partition_reassignments())
        # Long enough for a refresh of metadata and for two heartbeats of each member.
        end = time.monotonic() + 10
        polls_until(consumers, lambda: time.monotonic() > end)
        admin.close()
        log = [entry for entry in read_log(broker.logs[0]) if isinstance(entry, Decision)]
        raised = [
            what for at, what, _ in decisions(topic, log) if at >= before and what in {"bumped", "prepares"}
        ]
        held = sorted(len(consumer.assignment()) for consumer in consumers)
        for consumer in consumers:
            consumer.close()
    return {"version": version, "protocol": protocol, "rebalances": len(raised), "held": held}


def close_consumer(version: str, protocol: str, option: str, *, static: bool) -> dict[str, Any]:
    """Close one of two consumers of Java with an option; return what it sent, and how it was removed."""
    config: dict[str, str | int] = {"session.timeout.ms": 8_000} if protocol == "classic" else {}
    config |= {"group.protocol": protocol, "auto.offset.reset": "earliest"}
    with (
        tempfile.TemporaryDirectory(prefix="closed-") as folder,
        recording_broker(SETTINGS, version=version) as broker,
    ):
        kafka = Kafka(broker.bootstrap_servers)
        kafka.create_coordinators(1)
        topic = kafka.create_topic(PARTITIONS)
        config |= {"bootstrap.servers": kafka.bootstrap_servers, "group.id": topic}
        members = []
        for name in ("a", "b"):
            own = {"client.id": f"{topic}/{name}"} | ({"group.instance.id": name} if static else {})
            settings = {"config": {**config, **own}, "topics": [topic], "close": option}
            members.append(Member(name, settings, Path(folder), JAVA.command()))
        try:
            for process in members:
                process.wait_until_ready()
                process.tell("start")
            stays, closes = members
            wait_for(lambda: len(stays.ask("owned")["partitions"].get(topic, ())) == PARTITIONS / 2)
            wait_for(lambda: len(closes.ask("owned")["partitions"].get(topic, ())) == PARTITIONS / 2)
            closes.tell("close")
            closes.wait_until_over()
            wait_for(lambda: len(stays.ask("owned")["partitions"].get(topic, ())) == PARTITIONS)
            began = next(event["t"] for event in closes.output() if event["event"] == "close")
            log = list(read_log(broker.logs[0], GROUP_APIS))
        finally:
            for process in members:
                process.events()
    sent = [
        as_row(entry)[:2]
        for entry in log
        if isinstance(entry, Request) and entry.client.endswith("/b") and entry.at > began
    ]
    leaves = [row for row in sent if row[0] == "LEAVE_GROUP" or row == ["CONSUMER_GROUP_HEARTBEAT", -1]]
    expired = any(what == "expired" for at, what, _ in decisions(topic, log) if at > began)
    return {
        "version": version,
        "protocol": protocol,
        "static": static,
        "close": option,
        "said that it leaves": bool(leaves),
        "session expired": expired,
    }


def wait_for(done: Callable[[], bool]) -> None:
    """Wait until something holds."""
    polls_until((), done)


def commit_times(version: str, linger: str) -> dict[str, Any]:
    """Time commits one after the other, as a group with a quiet coordinator sends them."""
    settings = f"group.coordinator.append.linger.ms={linger}\n" if linger else ""
    with Broker(settings, version=version) as broker:
        kafka = Kafka(broker.bootstrap_servers)
        kafka.create_coordinators(1)
        topic = kafka.create_topic(1)
        connection, times = connect(broker.bootstrap_servers), []
        while commit(connection, topic, topic, 0):
            time.sleep(0.1)  # the coordinator is still loading
        for _ in range(COMMITS):
            began = time.perf_counter()
            if error := commit(connection, topic, topic, 0):
                raise RuntimeError(f"a commit failed with error {error}")
            times.append(1_000 * (time.perf_counter() - began))
    # The fastest tenth tells more than the median does while other processes want the machine, too.
    fastest = quantiles(times, n=10)[0]
    return {
        "version": version,
        "linger": linger or "default",
        "fastest_tenth_ms": round(fastest, 2),
        "median_ms": round(median(times), 2),
    }


VERSIONS = ("4.4.0", "4.3.1")
QUESTIONS: dict[str, Callable[[], list[dict[str, Any]]]] = {
    "epochs": lambda: [epochs_that_may_commit(version) for version in VERSIONS],
    "racks": lambda: [racks_alone(VERSIONS[0], protocol) for protocol in ("consumer", "classic")],
    "close": lambda: [
        close_consumer(VERSIONS[0], protocol, option, static=static)
        for protocol in ("classic", "consumer")
        for option, static in (("REMAIN_IN_GROUP", False), ("LEAVE_GROUP", True), ("DEFAULT", False))
        for _ in range(3 if option == "REMAIN_IN_GROUP" else 1)
    ],
    "linger": lambda: [
        *(commit_times(version, "") for version in VERSIONS),
        *(commit_times(VERSIONS[0], linger) for linger in ("0", "5", "10")),
    ],
}
"""What is asked, and what asks it."""


def main() -> None:
    """Ask what is named, or all, and write the answers beside those that were there."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.rebalances.coordinator", description=__doc__)
    options.add_argument("--only", action="append", choices=QUESTIONS, help="a question; several are allowed")
    answers = json.loads(ANSWERS.read_text()) if ANSWERS.exists() else {}
    for name in options.parse_args().only or QUESTIONS:
        answers[name] = QUESTIONS[name]()
        ANSWERS.write_text(json.dumps(answers, indent=1) + "\n")
        print(name, *answers[name], sep="\n", flush=True)


if __name__ == "__main__":
    main()
