"""`copartition ledger` against a real broker."""

import json
import time
import uuid
from collections.abc import Callable

import pytest
from click.testing import CliRunner, Result
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, TopicPartition
from confluent_kafka.admin import AdminClient

from copartition.shell.verbs.ledger import ledger
from partitioning.clients.ledger import Entry, ledger_group
from tests.support.broker import Kafka
from tests.support.waiting import GENEROUS_S, wait_until

DONE = Entry(7, 30, "0123456789abcdef", True, partitions=2, before=2, topic_id="id")
Run = Callable[..., Result]


@pytest.fixture
def run(broker: Kafka) -> Run:
    def invoke(*arguments: str) -> Result:
        return CliRunner().invoke(ledger, [*arguments, "-b", broker.bootstrap_servers])

    return invoke


@pytest.fixture
def note(broker: Kafka) -> Callable[..., tuple[str, str]]:
    """Write a ledger by hand; gives the application and the topic."""

    def commit(*noted: str) -> tuple[str, str]:
        app_id, topic = f"app-{uuid.uuid4().hex}", broker.create_topic(len(noted))
        group = ledger_group(app_id)
        places = [TopicPartition(topic, number, 7, metadata=text) for number, text in enumerate(noted)]
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
        request = [ConsumerGroupTopicPartitions(group, places)]
        deadline = time.monotonic() + GENEROUS_S
        while time.monotonic() < deadline:  # the first group of a broker waits for its coordinator
            answer = admin.alter_consumer_group_offsets(request)[group].result()
            if not any(place.error for place in answer.topic_partitions):
                return app_id, topic
            time.sleep(0.1)
        raise AssertionError(f"the broker keeps no ledger: {answer.topic_partitions}")

    return commit


HALF = Entry(7, 10, "fedcba", False, partitions=2, before=2, topic_id="id")


def test_applications_are_listed_with_what_they_write(run: Run, note: Callable[..., tuple[str, str]]) -> None:
    whole, half = note(DONE.metadata(), DONE.metadata()), note(DONE.metadata(), HALF.metadata())
    rows = json.loads(run("list", "-o", "json").stdout)
    for (app_id, topic), said in ((whole, True), (half, False)):
        expected = {"app": app_id, "topic": topic, "partitions": 2, "version": 7, "whole": said}
        assert expected in rows


def test_a_group_without_entries_hides_no_other(
    run: Run, broker: Kafka, note: Callable[..., tuple[str, str]]
) -> None:
    app_id, topic = note(DONE.metadata(), DONE.metadata())
    new = f"app-{uuid.uuid4().hex}"
    settings = {"bootstrap.servers": broker.bootstrap_servers, "group.id": ledger_group(new)}
    consumer = Consumer(settings)
    try:
        consumer.subscribe([topic])
        wait_until(consumer.memberid, lambda: consumer.poll(0.1))
        answer = run("list", "-o", "json")
    finally:
        consumer.close()
    assert answer.exit_code == 0, answer.stderr
    listed = {row["app"] for row in json.loads(answer.stdout)}
    assert app_id in listed
    assert new not in listed


@pytest.mark.parametrize(
    ("second", "shown", "code"),
    [
        (DONE.metadata(), {"version": 7, "records": 30, "whole": True, "digest": DONE.digest}, 0),
        (HALF.metadata(), {"version": 7, "records": 10, "whole": False, "digest": "fedcba"}, 1),
        ("somebody else's", {"version": None, "records": None, "whole": None, "digest": None}, 1),
    ],
    ids=["whole", "half", "not ours"],
)
def test_an_application_is_shown_by_partition(
    run: Run, note: Callable[..., tuple[str, str]], second: str, shown: dict[str, object], code: int
) -> None:
    app_id, topic = note(DONE.metadata(), second)
    answer = run("show", app_id, "-o", "json")
    assert json.loads(answer.stdout)[1] == {"topic": topic, "partition": 1, **shown}
    assert answer.exit_code == code


def test_a_topic_that_lacks_a_partition_is_not_whole(run: Run, note: Callable[..., tuple[str, str]]) -> None:
    app_id, _ = note(DONE.metadata())
    answer = run("show", app_id)
    assert answer.exit_code == 1
    assert "not all partitions hold the newest version whole" in answer.stderr


def test_an_application_is_a_table(run: Run, note: Callable[..., tuple[str, str]]) -> None:
    app_id, topic = note(DONE.metadata(), HALF.metadata())
    assert [line.split() for line in run("show", app_id, "--only-topic", topic).stdout.splitlines()] == [
        ["TOPIC", "PARTITION", "VERSION", "RECORDS", "WHOLE"],
        [topic, "0", "7", "30", "yes"],
        [topic, "1", "7", "10", "no"],
    ]


def test_a_ledger_is_forgotten_on_request_only(run: Run, note: Callable[..., tuple[str, str]]) -> None:
    app_id, topic = note(DONE.metadata(), DONE.metadata())
    refused = run("forget", app_id)
    assert refused.exit_code == 2
    assert "say --yes" in refused.stderr
    assert run("show", app_id).exit_code == 0
    assert run("forget", app_id, "--yes").stdout == f"Forgot what {app_id} has written to {topic}.\n"
    gone = run("show", app_id)
    assert gone.exit_code == 2
    assert f"application '{app_id}' has none that this user may see" in gone.stderr


def test_a_topic_that_is_not_written_is_named(run: Run, note: Callable[..., tuple[str, str]]) -> None:
    app_id, _ = note(DONE.metadata())
    answer = run("show", app_id, "--only-topic", "other")
    assert (answer.exit_code, answer.stdout) == (2, "")
    assert "has no entry for topic other" in answer.stderr


def test_a_ledger_needs_a_cluster() -> None:
    answer = CliRunner().invoke(ledger, ["list"])
    assert answer.exit_code == 2
    assert "name it with -b HOST:PORT" in answer.stderr
