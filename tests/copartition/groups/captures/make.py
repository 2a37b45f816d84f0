"""Take the captures in this folder from a real broker with tools of three Kafka releases and rpk.

    KAFKA_BOOTSTRAP_SERVERS=localhost:9092 python -m tests.copartition.groups.captures.make [NAME...]

Only those that are named, or all. The broker must be 4.0 or newer and hold no group or topic of these names;
Maven fetches Kafka's tools, `rpk` must be on the path.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.copartition.groups.worker import Worker
from tests.support.jars import cache_folder, fetch

HERE = Path(__file__).parent
SERVERS = os.environ.get("KAFKA_BOOTSTRAP_SERVERS", "localhost:9092")
TOPICS = {"orders": 4, "clicks": 2, "legacy": 1}
TOOLS = {
    "3.7.2": "kafka.admin.ConsumerGroupCommand",
    "3.9.1": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
    "4.4.0": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
}
POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>copartition</groupId><artifactId>captures</artifactId><version>1</version>
  <dependencies>
    <dependency>
      <groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>{version}</version>
    </dependency>
    <dependency>
      <groupId>org.apache.kafka</groupId><artifactId>kafka-tools</artifactId><version>{version}</version>
      <exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>
    </dependency>
    <dependency>
      <groupId>net.sf.jopt-simple</groupId><artifactId>jopt-simple</artifactId><version>5.0.4</version>
    </dependency>
    <dependency>
      <groupId>org.slf4j</groupId><artifactId>slf4j-nop</artifactId><version>1.7.36</version>
    </dependency>
  </dependencies>
</project>
"""


def capture(name: str, version: str, *options: str) -> None:
    """Keep what the tool of that release prints; several tables stand below each other, as after `>>`."""
    if not is_chosen(name):
        return
    pom = cache_folder() / f"captures-{version}.xml"
    pom.parent.mkdir(parents=True, exist_ok=True)
    pom.write_text(POM.format(version=version))
    jars = fetch(pom)
    tool = ["java", "-cp", f"{jars}/*", TOOLS[version], "--bootstrap-server", SERVERS, "--describe"]
    tables = " ".join(options).split(" then ")
    keep(name, [[*tool, *table.split()] for table in tables])


def capture_rpk(name: str, *groups: str) -> None:
    if is_chosen(name):
        keep(name, [["rpk", "group", "describe", *groups, "-X", f"brokers={SERVERS}"]])


def is_chosen(name: str) -> bool:
    return name in sys.argv[1:] or not sys.argv[1:]


def keep(name: str, commands: list[list[str]]) -> None:
    runs = [
        subprocess.run(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            env={**os.environ, "BROKERS": SERVERS},
        )
        for command in commands
    ]
    (HERE / f"{name}.txt").write_text("".join(run.stdout for run in runs))


def member(group: str, client_id: str, **config: object) -> Worker:
    return Worker(SERVERS, group, ["orders", "clicks"], client_id, **config)


def main() -> None:
    admin = AdminClient({"bootstrap.servers": SERVERS})
    for topic in admin.create_topics([NewTopic(name, count) for name, count in TOPICS.items()]).values():
        topic.result()
    committed = [TopicPartition("legacy", 0, 0), TopicPartition("orders", 3, 0)]
    # As after a topic was deleted and made anew: the committed offset is beyond the end, the lag negative.
    beyond = [TopicPartition("clicks", 0, 0), TopicPartition("clicks", 1, 7)]
    for group, offsets in (("billing", committed), ("empty", committed), ("ahead", beyond)):
        asked = admin.alter_consumer_group_offsets([ConsumerGroupTopicPartitions(group, offsets)])
        asked[group].result()

    # Five members and four partitions of the larger topic: under range the last one is idle.
    workers = [member("billing", f"worker-{number}") for number in range(3)]
    workers += [
        member("billing", "slow worker"),
        member("billing", "worker-4", **{"group.instance.id": "pod-4"}),
    ]
    time.sleep(8)
    billing = "--group billing"
    for version in TOOLS:
        capture(f"offsets-{version}", version, billing)
        capture(f"members-{version}", version, billing, "--members --verbose")
        capture(f"state-{version}", version, billing, "--state")
        tables = ("", "--members --verbose", "--state")
        capture(f"tables-{version}", version, " then ".join(f"{billing} {table}" for table in tables))
        capture(f"groups-{version}", version, "--all-groups")
    capture("offsets-verbose-4.4.0", "4.4.0", billing, "--verbose")
    capture("members-short-4.4.0", "4.4.0", billing, "--members")
    capture("state-verbose-4.4.0", "4.4.0", billing, "--state --verbose")
    capture("member-groups-4.4.0", "4.4.0", "--all-groups --members --verbose")
    capture("empty-4.4.0", "4.4.0", "--group empty")
    capture("ahead-4.4.0", "4.4.0", "--group ahead")
    capture("unknown-3.9.1", "3.9.1", "--group no-such-group")
    capture("unknown-4.4.0", "4.4.0", "--group no-such-group")

    capture_rpk("rpk", "billing")
    capture_rpk("rpk-groups", "ahead", "billing", "empty")

    # The first member of a KIP-848 group stands still, so the target stays ahead of what members have.
    new = {"group.protocol": "consumer"}
    slow = member("shipping", "first", **new)
    time.sleep(8)
    slow.still.set()
    workers += [slow, member("shipping", "second", **new)]
    time.sleep(8)
    shipping = "--group shipping"
    capture("reconciling-4.4.0", "4.4.0", shipping, "--members --verbose")
    tables = (shipping, f"{shipping} --members --verbose", f"{shipping} --state --verbose")
    capture("tables-reconciling-4.4.0", "4.4.0", " then ".join(tables))
    slow.still.clear()

    # A member with the new protocol converts a classic group, in which the others stay as they are.
    workers += [member("moving", f"old-{number}") for number in range(2)]
    time.sleep(8)
    workers.append(member("moving", "new", **new))
    time.sleep(8)
    capture("tables-mixed-4.4.0", "4.4.0", "--group moving --members --verbose then --group moving --state")
    for worker in workers:
        worker.stop()


if __name__ == "__main__":
    main()
