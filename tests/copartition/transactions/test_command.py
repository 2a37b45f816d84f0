"""`copartition transactions` against real brokers."""

import json
import subprocess
import time
import uuid
from collections.abc import Iterator
from signal import SIGKILL
from typing import Any

import pytest
from click.testing import CliRunner
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AclOperation, AdminClient, ResourceType

from copartition.groups.live.cluster import Cluster
from copartition.transactions.command import transactions
from copartition.transactions.judging import transaction_faults
from copartition.transactions.looks import Look, Transaction, look_at, transactions_of
from tests.support import jars
from tests.support.broker import JAVA, POM, Broker, Kafka
from tests.support.encrypted import allowed
from tests.support.secured import Secured
from tests.support.secured import settings as as_user
from tests.support.waiting import GENEROUS_S, wait_until

pytestmark = pytest.mark.broker

Report = dict[str, Any]


def producer(servers: str, name: str) -> Producer:
    settings = {"bootstrap.servers": servers, "transactional.id": name, "transaction.timeout.ms": 60_000}
    made = Producer(settings, logger=None)
    made.init_transactions(60)
    return made


def report(servers: str, *arguments: str) -> tuple[int, Report]:
    answer = CliRunner().invoke(transactions, ["-b", servers, "-o", "json", *arguments])
    assert answer.stdout, answer.output
    return answer.exit_code, json.loads(answer.stdout)


def write(producer: Producer, topic: str, records: int, partition: int = 0) -> None:
    for _ in range(records):
        producer.produce(topic, b"record", partition=partition)
    assert producer.flush(GENEROUS_S) == 0


def named(told: Report, name: str) -> Report:
    [own] = [transaction for transaction in told["transactions"] if transaction["id"] == name]
    return own


def test_a_stalled_producer_holds_readers_back(broker: Kafka) -> None:
    topic, name, group = broker.create_topic(2), f"stalled-{uuid.uuid4().hex}", uuid.uuid4().hex
    settings = {"bootstrap.servers": broker.bootstrap_servers, "group.id": group}
    stalled = producer(broker.bootstrap_servers, name)
    stalled.begin_transaction()
    write(stalled, topic, 3)
    stalled.commit_transaction(60)
    with_commits = Consumer(settings)
    with_commits.commit(offsets=[TopicPartition(topic, 0, 1)], asynchronous=False)
    with_commits.close()
    stalled.begin_transaction()
    write(stalled, topic, 5)
    code, told = report(
        broker.bootstrap_servers, "--only-topic", topic, "--group", group, "--open-longer-than", "0ms"
    )
    assert code == 1
    own = named(told, name)
    assert (own["state"], own["partitions"], own["timeout_ms"]) == ("Ongoing", [f"{topic}-0"], 60_000)
    [place] = told["partitions"]
    # Three records and the marker of the first transaction are stable; five more are not.
    figures = ("committed", "last_stable_offset", "end", "held", "lag", "lag_read_committed")
    assert [place[figure] for figure in figures] == [1, 4, 9, 5, 8, 3]
    assert [(holder["id"], holder["first_offset"]) for holder in place["held_by"]] == [(name, 4)]
    # Other tests' transactions on the same broker may be open, too.
    [finding] = [finding for finding in told["findings"] if finding["id"] == name]
    assert finding["kind"] == "open long"
    assert "wait for 5 offsets behind it" in finding["what"]
    stalled.abort_transaction(60)
    code, told = report(broker.bootstrap_servers, "--only-topic", topic, "--group", group)
    assert [partition["held"] for partition in told["partitions"]] == [0]
    assert named(told, name)["state"] == "CompleteAbort"


def look(servers: str, topic: str) -> Look:
    return look_at(Cluster("transactions", {"bootstrap.servers": servers}), [topic], None)


def test_a_second_producer_with_one_id_fences_the_first(broker: Kafka) -> None:
    topic, name, servers = broker.create_topic(), f"twice-{uuid.uuid4().hex}", broker.bootstrap_servers
    first = producer(servers, name)
    first.begin_transaction()
    write(first, topic, 1)
    before = look(servers, topic)
    producer(servers, name)
    after = look(servers, topic)
    own = [
        fault
        for fault in transaction_faults(before, after, open_ms=60_000, servers=servers, transaction_version=2)
        if fault.id == name
    ]
    assert [fault.kind for fault in own] == ["fenced"]
    with pytest.raises(KafkaException):
        first.commit_transaction(60)


@pytest.mark.slow
def test_what_it_lists_is_what_kafkas_own_tool_lists(broker: Kafka) -> None:
    topic, name = broker.create_topic(), f"listed-{uuid.uuid4().hex}"
    own = producer(broker.bootstrap_servers, name)
    own.begin_transaction()
    write(own, topic, 1)
    listing = kafkas_tool(broker.bootstrap_servers, "list")
    [row] = [line.split() for line in listing.splitlines() if line.startswith(name)]
    _, told = report(broker.bootstrap_servers, "--only-topic", topic)
    mine = named(told, name)
    assert row[:4] == [name, str(mine["coordinator"]), str(mine["producer"]), mine["state"]]
    described = kafkas_tool(
        broker.bootstrap_servers, "describe-producers", "--topic", topic, "--partition", "0"
    )
    [row] = [line.split() for line in described.splitlines() if line.startswith(f"{mine['producer']} ")]
    [holder] = told["partitions"][0]["held_by"]
    assert (int(row[1]), int(row[-1])) == (holder["epoch"], holder["first_offset"])


def kafkas_tool(servers: str, *arguments: str) -> str:
    """What kafka-transactions.sh prints."""
    main = ["org.apache.kafka.tools.TransactionsCommand", "--bootstrap-server", servers]
    command = [*JAVA, "-cp", f"{jars.fetch(POM)}/*", *main, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=GENEROUS_S).stdout


@pytest.fixture(scope="module")
def nodes() -> Iterator[Broker]:
    """Two nodes, of which the second may fall silent for long before the first takes it for lost."""
    with Broker("broker.session.timeout.ms=9000\n", racks=("a", "b")) as running:
        Kafka(running.bootstrap_servers).create_coordinators(1)
        yield running


def coordinated(nodes: Broker) -> tuple[Transaction, ...]:
    """What the first node knows, which coordinates all transactions."""
    cluster = Cluster("transactions", {"bootstrap.servers": nodes.bootstrap_servers.split(",")[0]})
    return tuple(transactions_of(cluster.brokers[1], cluster.config))


def state_of(nodes: Broker, name: str) -> str:
    [own] = [transaction for transaction in coordinated(nodes) if transaction.id == name]
    return own.state


@pytest.mark.slow
def test_a_decided_transaction_without_a_marker_is_named(nodes: Broker) -> None:
    """The leader of its partition stands still when the coordinator wants to write the marker."""
    kafka = Kafka(nodes.bootstrap_servers)
    topic = kafka.create_topic(node=2)
    decided = producer(nodes.bootstrap_servers, "decided")
    decided.begin_transaction()
    write(decided, topic, 2)
    nodes.pause(2)
    try:
        decided.commit_transaction(60)  # answered once it is decided
        looks = [Look(time.time() * 1000, coordinated(nodes), (), ("ids of a broker",)) for _ in range(2)]
    finally:
        nodes.resume(2)
    problems = transaction_faults(
        *looks, open_ms=60_000, servers=nodes.bootstrap_servers, transaction_version=2
    )
    assert [(problem.kind, problem.id, problem.partitions) for problem in problems] == [
        ("marker missing", "decided", ((topic, 0),))
    ]
    assert "is decided (PrepareCommit)" in problems[0].what


@pytest.mark.slow
def test_a_transaction_that_no_coordinator_knows_is_ended_as_advised(nodes: Broker) -> None:
    """Kafka 4.3 drops the marker of a partition whose leader it does not know, so the partition waits."""
    servers = nodes.bootstrap_servers
    topic = Kafka(servers).create_topic(node=2)
    lost = producer(servers, "lost")
    lost.begin_transaction()
    write(lost, topic, 2)
    nodes.stop(2, SIGKILL)
    lost.commit_transaction(60)
    wait_until(lambda: state_of(nodes, "lost") == "CompleteCommit")
    nodes.start(2)
    Kafka(servers).wait_for_leaders(topic, 1)
    first, last = (look(servers, topic) for _ in range(2))
    assert last.partitions[0].behind == 2
    settings = {"open_ms": 60_000, "servers": servers, "transaction_version": 2}
    [unknown] = transaction_faults(first, last, **settings)
    assert unknown.kind == "unknown owner"
    # Were it as old as no transaction may be, it would hang for certain.
    [hanging] = transaction_faults(first, last._replace(at_ms=last.at_ms + 1e6), **settings)
    assert hanging.kind == "hanging"
    kafkas_tool(servers, *hanging.action.split()[3:])
    wait_until(lambda: not look(servers, topic).partitions)


def test_a_topic_that_does_not_exist_is_named(broker: Kafka) -> None:
    answer = CliRunner().invoke(transactions, ["-b", broker.bootstrap_servers, "--only-topic", "none-such"])
    assert answer.exit_code == 2
    assert "no topic none-such" in answer.output


def test_a_user_without_rights_is_told_what_is_hidden_from_it(secured: Secured) -> None:
    """A broker answers this user with no transaction and no error: that is no evidence of none."""
    hidden = producer(secured.admin_servers, f"hidden-{uuid.uuid4().hex}")
    hidden.begin_transaction()
    write(hidden, secured.hidden, 1)
    options = [
        argument
        for name, value in as_user(secured, "guest").items()
        for argument in ("-X", f"{name}={value}")
    ]
    answer = CliRunner().invoke(transactions, [*options, "-o", "json"])
    told = json.loads(answer.stdout)
    assert (answer.exit_code, told["transactions"], told["findings"]) == (2, [], [])
    by_id, by_topic = (missing["remedy"] for missing in told["missing"])
    right = f"kafka-acls.sh --bootstrap-server {secured.servers} --add --allow-principal User:guest"
    assert by_id == f"{right} --operation Describe --transactional-id '*'"
    assert by_topic == f"name the topics with --only-topic, or {right} --operation Describe --topic '*'"
    _, seen = report(secured.admin_servers)
    assert seen["missing"] == []
    hidden.abort_transaction(60)


def test_the_rights_that_it_names_show_the_rest(secured: Secured) -> None:
    """What the command tells to give is given, through the Admin API; then nothing is missing."""
    kinds = (ResourceType.TRANSACTIONAL_ID, ResourceType.TOPIC)
    rights = [allowed("auditor", kind, "*", AclOperation.DESCRIBE) for kind in kinds]
    admin = AdminClient({"bootstrap.servers": secured.admin_servers})
    for done in admin.create_acls(rights).values():
        done.result(30)
    cluster = Cluster("transactions", as_user(secured, "auditor"))
    wait_until(lambda: not look_at(cluster, None, None).missing_ids)
    wait_until(lambda: not look_at(cluster, None, None).missing)
    assert not look_at(cluster, None, None).missing_ids


def test_text_says_what_is_open_and_what_ends_it(broker: Kafka) -> None:
    topic, name = broker.create_topic(), f"shown-{uuid.uuid4().hex}"
    own = producer(broker.bootstrap_servers, name)
    own.begin_transaction()
    write(own, topic, 1)
    arguments = ["-b", broker.bootstrap_servers, "--only-topic", topic, "--open-longer-than", "0ms"]
    answer = CliRunner().invoke(transactions, [*arguments, "--width", "200"])
    assert answer.exit_code == 1
    assert f"forceTerminateTransaction --transactionalId {name}" in answer.output
    assert "aborts it in" in answer.output
