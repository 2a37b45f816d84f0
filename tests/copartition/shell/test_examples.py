"""Every example of every --help runs as it stands, on the files that `copartition examples` writes."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from copartition.shell.main import copartition
from partitioning.clients.ledger import Entry, ledger_group
from tests.support.broker import Broker, Kafka
from tests.support.tiers import sample
from tests.support.waiting import GENEROUS_S, wait_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CLUSTER = "localhost:9092"


def commands(command: click.Command, path: str = "copartition") -> Iterator[tuple[str, click.Command]]:
    """Every command with its name, those of groups too; click says which there are."""
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command, info_name=path)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from commands(found, f"{path} {name}")


ALL = dict(commands(copartition))
EXAMPLES = [
    pytest.param(line.strip(), id=f"{name}: {line.strip()[:60]}")
    for name, command in ALL.items()
    for line in (command.epilog or "").partition("Examples:")[2].splitlines()
    if re.match(r" +(copartition|assignment-diff|cat) ", line)
]
ALONE = [example for example in EXAMPLES if CLUSTER not in example.values[0]]
ASKING = [example for example in EXAMPLES if CLUSTER in example.values[0]]


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files of `copartition examples`."""
    folder = tmp_path_factory.mktemp("examples")
    done = run("copartition examples", folder)
    assert done.returncode == 0, done.stderr
    return folder


def run(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command line as a shell does, with the commands of this environment."""
    home = Path(sys.executable).parent
    env = {name: text for name, text in os.environ.items() if name != "KAFKA_BOOTSTRAP_SERVERS"}
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", line],
        cwd=folder,
        env=env | {"PATH": f"{home}:{env['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
        timeout=GENEROUS_S,
    )


@pytest.mark.live
@pytest.mark.sampled
@pytest.mark.parametrize("line", sample(ALONE, before_ci=12))
def test_an_example_runs_as_it_stands(line: str, folder: Path) -> None:
    done = run(line, folder)
    assert done.returncode in {0, 1} or (done.returncode == 2 and done.stdout), (done.stdout, done.stderr)


@pytest.mark.parametrize(
    "name", [name for name, command in ALL.items() if not isinstance(command, click.Group)]
)
def test_every_help_says_what_its_exit_codes_mean(name: str) -> None:
    command = ALL[name]
    told = re.sub(r"\s+", " ", f"{command.help} {command.epilog}")
    assert "Exit code: 0 " in told
    assert len(re.findall("Exit code", told)) == 1


@pytest.fixture(scope="module")
def cluster() -> Iterator[Kafka]:
    """A broker with what the examples name: topics, a group that reads them, and a ledger."""
    with Broker() as own:
        kafka = Kafka(own.bootstrap_servers)
        for topic in ("orders", "payments"):
            kafka.create_topic(12, name=topic)
        producer = Producer({"bootstrap.servers": own.bootstrap_servers, "partitioner": "murmur2_random"})
        for number in range(2_000):
            for topic in ("orders", "payments"):
                producer.produce(topic, key=f"order-{number % 200}".encode(), value=b"x")
        producer.flush()
        member = Consumer({"bootstrap.servers": own.bootstrap_servers, "group.id": "billing"})
        ended, assigned = threading.Event(), threading.Event()
        # Told by the thread that polls: `assignment()` of another thread waits for ever while it does.
        member.subscribe(["orders", "payments"], on_assign=lambda *_: assigned.set())
        reader = threading.Thread(target=lambda: [member.poll(0.2) for _ in iter(ended.is_set, True)])
        reader.start()
        admin = AdminClient({"bootstrap.servers": own.bootstrap_servers})
        entry = Entry(7, 30, "0123456789abcdef", True, partitions=1, before=1, topic_id="id").metadata()
        noted = [TopicPartition("orders", number, 7, metadata=entry) for number in range(12)]
        group = ledger_group("backfill")
        wait_for(
            lambda: (
                admin.alter_consumer_group_offsets([ConsumerGroupTopicPartitions(group, noted)])[group]
                .result()
                .topic_partitions
            ),
            lambda places: not any(place.error for place in places),
        )
        assert assigned.wait(GENEROUS_S)
        try:
            yield kafka
        finally:
            ended.set()
            reader.join()
            member.close()


@pytest.mark.slow
@pytest.mark.broker
@pytest.mark.parametrize(
    "line", [example for example in ASKING if "copartition watch" not in example.values[0]]
)
def test_an_example_that_asks_a_cluster_runs(line: str, folder: Path, cluster: Kafka) -> None:
    done = run(line.replace(CLUSTER, cluster.bootstrap_servers), folder)
    assert done.returncode in {0, 1} or (done.returncode == 2 and done.stdout), (done.stdout, done.stderr)


@pytest.mark.slow
@pytest.mark.broker
@pytest.mark.parametrize("line", [example for example in ASKING if "copartition watch" in example.values[0]])
def test_a_watch_runs_until_it_is_interrupted(
    line: str, folder: Path, cluster: Kafka, start: Callable[..., subprocess.Popen[str]]
) -> None:
    program, *arguments = line.replace(CLUSTER, cluster.bootstrap_servers).split()
    process = start(program, *arguments, cwd=folder)
    assert process.stdout is not None
    assert "24 partitions" in process.stdout.readline()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=GENEROUS_S)
    assert process.returncode == 0
