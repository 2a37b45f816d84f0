"""`copartition doctor` on groups of a real broker: planted faults are found, healthy ones are healthy."""

from __future__ import annotations

import time
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AclOperation, AdminClient, ResourceType

from copartition.doctor.checks import doctor_exit_code, findings
from copartition.doctor.examination import examine_all, examine_live
from copartition.doctor.observing import Limits
from copartition.groups.live.cluster import Cluster
from copartition.kit.evidence import Missing
from partitioning.errors import SourceError
from tests.copartition.groups.worker import PythonWorker, read_or_nobody, settings, starting
from tests.support.broker import Broker, Kafka
from tests.support.encrypted import allowed
from tests.support.secured import settings as as_user
from tests.support.tiers import sample
from tests.support.waiting import GENEROUS_S, wait_for

LIMITS = Limits(lag=100)
AT_A_TIME = 5
"""So many faults are planted at the same time: each waits for its members."""
OFTEN = {"auto.commit.interval.ms": 200, "auto.offset.reset": "earliest"}


def a_while():
    """Longer than the members' auto.commit.interval.ms by far."""
    time.sleep(3)


def write(broker, topic, records, partitions):
    producer = Producer(settings(broker))
    for number in range(records):
        producer.produce(topic, b"record", partition=number % partitions)
    assert producer.flush(GENEROUS_S) == 0


def caught_up(broker, group):
    wait_for(
        lambda: read_or_nobody(group, broker)[0],
        lambda state: state.lag is not None and (state.lag == 0).all(),
    )


def commit(broker, group, topic, offset):
    consumer = Consumer({**settings(broker), "group.id": group})
    consumer.commit(offsets=[TopicPartition(topic, 0, offset)], asynchronous=False)
    consumer.close()


def settled(broker, group, members):
    wait_for(
        lambda: read_or_nobody(group, broker)[0],
        lambda state: (
            len(state.members) == members
            and state.status == "Stable"
            and {topic for member in state.members for topic in member.topics or ()}
            == {state.topics[topic] for topic in state.topic[state.member >= 0]}
        ),
    )


def nobody(broker, workers, group, topic):
    commit(broker, group, topic, 0)


def beyond(broker, workers, group, topic):
    commit(broker, group, topic, 900)


def idle(broker, workers, group, topic):
    for _ in range(3):
        workers(group, topic, "worker", **OFTEN)
    settled(broker, group, 3)


def differing(broker, workers, group, topic):
    workers(group, [topic, broker.create_topic(2)], "both", **OFTEN)
    workers(group, topic, "one", **OFTEN)
    settled(broker, group, 2)


def partly_static(broker, workers, group, topic):
    workers(group, topic, "static", **OFTEN, **{"group.instance.id": "s1"})
    workers(group, topic, "dynamic", **OFTEN)
    settled(broker, group, 2)


def uneven(broker, workers, group, topic):
    topics = [topic, *(broker.create_topic(3) for _ in range(4))]
    for _ in range(2):
        workers(group, topics, "worker", **OFTEN, **{"partition.assignment.strategy": "range"})
    settled(broker, group, 2)


def grown(broker, workers, group, topic):
    workers(group, topic, "worker", **OFTEN)
    settled(broker, group, 1)
    broker.grow_topic(topic, 3)


def left_over(broker, workers, group, topic):
    commit(broker, group, broker.create_topic(), 0)
    workers(group, topic, "worker", **OFTEN)
    settled(broker, group, 1)


def uncommitted(broker, workers, group, topic):
    write(broker, topic, 10, 2)
    workers(group, topic, "worker", **{"enable.auto.commit": False})
    settled(broker, group, 1)


def behind(broker, workers, group, topic):
    commit(broker, group, topic, 0)
    workers(group, topic, "worker", **{"enable.auto.commit": False})
    settled(broker, group, 1)
    write(broker, topic, 500, 2)


def twice_static(broker, workers, group, topic):
    first = workers(group, topic, "first", **OFTEN, **{"group.instance.id": "s1"})
    settled(broker, group, 1)
    [before] = read_or_nobody(group, broker)[0].members

    def start_another():
        workers(group, topic, "second", **OFTEN, **{"group.instance.id": "s1"})
        wait_for(
            lambda: read_or_nobody(group, broker)[0],
            lambda state: [member.id for member in state.members] not in ([], [before.id]),
        )
        first.still.set()

    return {"between": start_another}


def mixed(broker, workers, group, topic):
    ranged = {**OFTEN, "partition.assignment.strategy": "range"}
    workers(group, topic, "librdkafka", **ranged)
    workers(group, topic, "python", kind=PythonWorker)
    settled(broker, group, 2)


def uneven_topics(broker, workers, group, topic):
    topics = [broker.create_topic(4), broker.create_topic(4)]
    sticky = {**OFTEN, "partition.assignment.strategy": "cooperative-sticky"}
    both = [workers(group, one, f"of-{one}", **sticky) for one in topics]
    settled(broker, group, 2)
    for worker in both:
        worker.subscribe(topics)  # a sticky strategy keeps what each has
    wait_for(
        lambda: read_or_nobody(group, broker)[0],
        lambda state: (
            state.status == "Stable" and [len(member.topics or ()) for member in state.members] == [2, 2]
        ),
    )


def few_heartbeats(broker, workers, group, topic):
    timeouts = {"heartbeat.interval.ms": 4_000, "session.timeout.ms": 6_000, "max.poll.interval.ms": 60_000}
    workers(group, topic, "worker", **OFTEN, **timeouts)
    settled(broker, group, 1)
    return {"settings_of_consumers": {name: str(value) for name, value in timeouts.items()}}


def falling_behind(broker, workers, group, topic):
    behind(broker, workers, group, topic)
    return {"between": lambda: write(broker, topic, 100, 2)}


def hot(broker, workers, group, topic):
    topic = broker.create_topic(4)
    write(broker, topic, 4, 4)
    workers(group, topic, "worker", **OFTEN)
    settled(broker, group, 1)
    caught_up(broker, group)

    def write_to_one():
        write(broker, topic, 1_200, 1)
        caught_up(broker, group)

    return {"between": write_to_one}


def apart(broker, workers, group, topic):
    topics = sorted([broker.create_topic(3), broker.create_topic(3)])
    for number in range(2):
        workers(group, topics, f"w{number}", **OFTEN, **{"partition.assignment.strategy": "roundrobin"})
    settled(broker, group, 2)
    return {"limits": LIMITS._replace(joined=tuple(topics))}


def deleted(broker, workers, group, topic):
    behind(broker, workers, group, topic)
    admin = AdminClient(settings(broker))
    for done in admin.delete_records([TopicPartition(topic, 0, 100)]).values():
        done.result()


def old(broker, workers, group, topic):
    commit(broker, group, topic, 0)
    workers(group, topic, "worker", **{"enable.auto.commit": False})
    settled(broker, group, 1)
    producer = Producer(settings(broker))
    producer.produce(topic, b"record", partition=0, timestamp=round(1000 * (time.time() - 7_200)))
    assert producer.flush(GENEROUS_S) == 0


def racked(broker, workers, group, topic):
    near = {"client.rack": "rack0", "partition.assignment.strategy": "roundrobin"}
    workers(group, topic, "worker", **OFTEN, **near)
    settled(broker, group, 1)


def half_converted(broker, workers, group, topic):
    workers(group, topic, "new", **OFTEN, **{"group.protocol": "consumer"})
    settled(broker, group, 1)
    workers(group, topic, "old", **OFTEN, **{"partition.assignment.strategy": "range"})
    settled(broker, group, 2)


FAULTS = [
    ("deleted", deleted),
    ("waiting", old),
    ("racks", racked),
    ("converted", half_converted),
    ("state", nobody),
    ("expiring", nobody),
    ("unread", grown),
    ("beyond the end", beyond),
    ("idle", idle),
    ("subscriptions", differing),
    ("static", partly_static),
    ("static", twice_static),
    ("load", uneven),
    ("left over", left_over),
    ("uncommitted", uncommitted),
    ("lag", behind),
    ("standstill", behind),
    ("clients", mixed),
    ("spread", uneven_topics),
    ("timeouts", few_heartbeats),
    ("trend", falling_behind),
    ("hot partition", hot),
    ("joined", apart),
]
SOME_FAULTS = sample(FAULTS, before_ci=3)


def results(broker, group, between=a_while, limits=LIMITS, settings_of_consumers=None):
    return findings(examine_live(group, settings(broker), between, settings_of_consumers or {}), limits)


def planted(broker, plant):
    """The results for a group of its own with this fault."""
    topic, group = broker.create_topic(2), f"doctor-{uuid.uuid4()}"
    with starting(broker) as workers:
        return results(broker, group, **(plant(broker, workers, group, topic) or {}))


@pytest.fixture(scope="module")
def at_once(broker):
    """What the doctor says of each fault; each is taken once: a second try plants it anew."""
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        yield {case: pool.submit(planted, broker, case[1]) for case in SOME_FAULTS}


@pytest.mark.sampled
@pytest.mark.parametrize(("name", "plant"), SOME_FAULTS)
def test_a_planted_fault_is_found(broker, at_once, name, plant):
    first = at_once.pop((name, plant), None)
    every = first.result() if first else planted(broker, plant)
    assert name in {result.check.name for result in every if result.status == "found"}
    assert doctor_exit_code(every) == 1


@pytest.mark.slow
@pytest.mark.live
def test_a_broker_that_coordinates_every_group_is_found():
    with Broker(racks=("a", "b", "c")) as running:
        kafka = Kafka(running.bootstrap_servers)
        topic = kafka.create_topic(1)
        for number in range(21):
            commit(kafka, f"group-{number}", topic, 0)
        every = results(kafka, "group-0", between=lambda: None)
    assert "coordinator" in {result.check.name for result in every if result.status == "found"}


def test_healthy_groups_are_healthy(broker, workers):
    kinds = [
        *({"partition.assignment.strategy": name} for name in ("range", "roundrobin", "cooperative-sticky")),
        {"group.protocol": "consumer"},
        {"group.protocol": "consumer", "group.remote.assignor": "range"},
    ]
    groups = []
    for config in kinds:
        for static in (False, True):
            topic, group = broker.create_topic(4), f"doctor-{uuid.uuid4()}"
            write(broker, topic, 400, 4)
            for number in range(2):
                own = {"group.instance.id": f"s{number}"} if static else {}
                workers(group, topic, f"worker-{number}", **OFTEN, **config, **own)
            groups.append(group)
    for group in groups:
        settled(broker, group, 2)
    for group in groups:
        caught_up(broker, group)
    with ThreadPoolExecutor(len(groups)) as pool:
        every = dict(zip(groups, pool.map(lambda group: results(broker, group), groups), strict=True))
    assert {
        group: [result.text for result in of if result.status == "found"] for group, of in every.items()
    } == {group: [] for group in groups}
    assert {doctor_exit_code(of) for of in every.values()} == {0}


def test_records_in_new_partitions_are_counted(broker, workers):
    topic, group = broker.create_topic(2), f"doctor-{uuid.uuid4()}"
    grown(broker, workers, group, topic)
    write(broker, topic, 30, 3)
    [unread] = [
        finding
        for finding in results(broker, group, between=lambda: write(broker, topic, 60, 3))
        if finding.check.name == "unread"
    ]
    assert (unread.status, unread.case) == ("found", "new")
    assert f"{topic}-2; 30 records in them" in unread.text
    assert "auto.offset.reset=latest" in unread.advice.why


def test_timeouts_of_a_consumer_group_are_those_of_its_coordinator(broker, workers):
    topic, group = broker.create_topic(2), f"doctor-{uuid.uuid4()}"
    workers(group, topic, "worker", **OFTEN, **{"group.protocol": "consumer"})
    settled(broker, group, 1)
    [timeouts] = [finding for finding in results(broker, group) if finding.check.name == "timeouts"]
    asked = Cluster("doctor", settings(broker)).settings("GROUP", group) or {}
    assert timeouts.status == "ok"
    session = int(asked["consumer.session.timeout.ms"])
    assert f"session {session / 1000:.1f} s" in timeouts.text


def test_lag_of_a_topic_that_the_user_may_not_see_is_unknown(secured):
    """With DESCRIBE on the group alone, a broker shows members and owners, and neither commits nor ends."""
    kafka, group = Kafka(secured.admin_servers), f"doctor-{uuid.uuid4()}"
    admin = AdminClient({"bootstrap.servers": secured.admin_servers})
    right = allowed("guest", ResourceType.GROUP, group, AclOperation.DESCRIBE)
    for done in admin.create_acls([right]).values():
        done.result(30)
    with starting(kafka) as workers:
        commit(kafka, group, secured.hidden, 0)
        workers(group, secured.hidden, "worker", **{"enable.auto.commit": False})
        settled(kafka, group, 1)
        write(kafka, secured.hidden, 6_000, 2)
        told = findings(examine_live(group, as_user(secured, "guest"), lambda: None, {}), LIMITS)
        seen = findings(examine_live(group, settings(kafka), lambda: None, {}), LIMITS)
    of_guest, of_admin = ({finding.check.name: finding for finding in every} for every in (told, seen))
    assert of_admin["lag"].status == "found"
    assert {name for name, finding in of_guest.items() if finding.status == "ok"} <= {
        *("state", "clients", "converted", "owners", "idle", "load", "spread", "subscriptions", "static"),
        *("limits", "racks", "expiring"),
    }
    assert isinstance(of_guest["lag"].ground, Missing)
    assert f"--allow-principal User:guest --operation Describe --topic {secured.hidden}" in (
        of_guest["lag"].ground.remedy
    )
    assert doctor_exit_code(told) == 2


def test_a_broker_tells_its_retention_and_its_groups(broker, workers):
    topic, group = broker.create_topic(2), f"doctor-{uuid.uuid4()}"
    nobody(broker, workers, group, topic)
    seen = examine_live(group, settings(broker), lambda: None, {})
    assert seen.retention_ms == 7 * 24 * 3_600_000
    assert seen.coordinator.groups >= 1


def test_all_groups_of_a_cluster_are_examined_beside_those_that_cannot_be(broker, workers):
    topic, group, gone = broker.create_topic(2), f"doctor-{uuid.uuid4()}", f"doctor-{uuid.uuid4()}"
    nobody(broker, workers, group, topic)
    nobody(broker, workers, gone, topic)
    admin = AdminClient(settings(broker))

    def delete_one():
        admin.delete_consumer_groups([gone])[gone].result()

    examined = examine_all(settings(broker), delete_one, {})
    assert examined[group].state.status == "Empty"
    assert isinstance(examined[gone], SourceError)
    assert [*examined] == sorted(examined)
