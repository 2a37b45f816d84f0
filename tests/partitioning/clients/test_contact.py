"""The first question to a cluster."""

import socket
import time
from concurrent.futures import Future
from types import SimpleNamespace

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer, TopicPartition

from partitioning.clients.contact import (
    cluster_metadata,
    committed_offsets,
    connected_metadata,
    list_offsets,
    pause,
    quiet_client,
    why_refused,
)
from partitioning.clients.delivery import describe_errors
from partitioning.errors import BrokerUnreachableError, InvalidConfigError, MachineError
from tests.support.waiting import GENEROUS_S, SOON_S


def ask(servers, heard, **limits):
    config = {"bootstrap.servers": servers, "log_level": 0}
    with Producer({**config, "error_cb": heard.append}) as client:
        return cluster_metadata(client, config, heard, **limits)


@pytest.fixture
def port_in_use():
    """A port at which nobody else is."""
    with socket.socket() as own:
        own.bind(("127.0.0.1", 0))
        yield own


def server(own):
    return f"127.0.0.1:{own.getsockname()[1]}"


def test_a_cluster_that_answers_tells_its_brokers(mock_cluster):
    assert ask(mock_cluster.bootstrap_servers, [], timeout_s=GENEROUS_S).brokers


@pytest.mark.live
def test_a_name_that_nobody_knows_is_told_at_once():
    begun = time.monotonic()
    with pytest.raises(BrokerUnreachableError, match=r"Failed to resolve 'nowhere.invalid:9092'"):
        ask("nowhere.invalid:9092", [], timeout_s=GENEROUS_S)
    assert time.monotonic() - begun < SOON_S


@pytest.mark.live
@pytest.mark.parametrize(("timeout_s", "patience_s", "least_s"), [(GENEROUS_S, 0.5, 0.5), (3, None, 3)])
def test_brokers_that_are_down_are_given_the_patience(port_in_use, timeout_s, patience_s, least_s):
    begun = time.monotonic()
    with pytest.raises(BrokerUnreachableError, match="Connection refused"):
        ask(server(port_in_use), [], timeout_s=timeout_s, patience_s=patience_s)
    assert least_s <= time.monotonic() - begun < SOON_S


@pytest.mark.live
def test_a_server_that_says_nothing_is_given_the_whole_time(port_in_use):
    port_in_use.listen()
    begun = time.monotonic()
    with pytest.raises(BrokerUnreachableError, match="Failed to get metadata"):
        ask(server(port_in_use), [], timeout_s=1.5, patience_s=0.1)
    assert 1.5 <= time.monotonic() - begun < SOON_S


class Fault:
    def __init__(self, text):
        self.text = text

    def str(self):
        return self.text


def test_a_fault_is_told_once_however_long_each_try_took():
    tries = [
        "no (after 3ms in state AUTH_REQ)",
        "no (after 28ms in state X, 1 identical error(s) suppressed)",
    ]
    assert describe_errors(map(Fault, [*tries, "never (again)"])) == "no; never (again)"


@pytest.mark.parametrize(
    ("brokers", "kept"),
    [
        pytest.param([1], 1, id="a broker: asked once"),
        pytest.param([-1, 1], 1, id="a bootstrap address, then a broker"),
        pytest.param([-1, -1], -1, id="a bootstrap address twice: not asked for ever"),
        pytest.param([-1, None], -1, id="a bootstrap address, then nobody: the first answer counts"),
    ],
)
def test_a_bootstrap_address_that_answers_is_asked_again(brokers, kept):
    left = [*brokers]

    def ask(*question):
        assert question == ("t", 5)
        if (broker := left.pop(0)) is None:
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
        return SimpleNamespace(orig_broker_id=broker)

    assert connected_metadata(ask, "t", 5).orig_broker_id == kept
    assert not left


def answer(error=None, **attributes):
    future = Future()
    if error is None:
        future.set_result(SimpleNamespace(**attributes))
    else:
        future.set_exception(KafkaException(KafkaError(error)))
    return future


class Leaders:
    """Partition 1 has a new leader at the first question; partition 2 nobody lets us see."""

    def __init__(self):
        self.questions = []

    def list_offsets(self, specs, **_):
        self.questions.append([place.partition for place in specs])
        new = {0: answer(offset=7), 1: answer(error=KafkaError.UNKNOWN_LEADER_EPOCH), 2: answer(error=29)}
        if len(self.questions) > 1:
            new[1] = answer(offset=9)
        return {place: new[place.partition] for place in specs}


PLACES = [("t", partition) for partition in range(3)]
LATEST = {"which": "latest", "committed": False}


def test_a_leader_that_is_new_is_asked_for_offsets_again(monkeypatch):
    monkeypatch.setattr("partitioning.clients.contact.time.sleep", lambda _: None)
    leaders = Leaders()
    offsets, errors = list_offsets(leaders, PLACES, **LATEST, within_s=60)
    assert offsets == {("t", 0): 7, ("t", 1): 9}
    assert [(place, error.args[0].name()) for place, error in errors.items()] == [
        (("t", 2), "TOPIC_AUTHORIZATION_FAILED")
    ]
    assert leaders.questions == [[0, 1, 2], [1, 2]]


def test_a_leader_that_stays_away_is_asked_no_longer_than_the_limit():
    leaders = Leaders()
    offsets, errors = list_offsets(leaders, PLACES[1:2], **LATEST, within_s=0)
    assert (offsets, [*errors], leaders.questions) == ({}, [("t", 1)], [[1]])


def test_nobody_is_asked_for_the_offsets_of_no_partition():
    leaders = Leaders()
    assert list_offsets(leaders, [], **LATEST, within_s=60) == ({}, {})
    assert not leaders.questions


class Coordinator:
    """A group's coordinator, which answers once it was asked to describe the group, with an error or not."""

    def __init__(self, error=None):
        self.error = error
        self.described = False

    def describe_consumer_groups(self, groups, **_):
        self.described = True
        return {groups[0]: answer(self.error)}

    def list_consumer_group_offsets(self, questions, **_):
        assert self.described, "librdkafka would end the process"
        assert questions[0].topic_partitions == [TopicPartition("t", 0)]
        return {questions[0].group_id: answer(topic_partitions="offsets")}


@pytest.mark.parametrize("error", [None, KafkaError.GROUP_ID_NOT_FOUND])
def test_a_group_is_described_before_its_offsets_are_read(error):
    assert committed_offsets(Coordinator(error), "g", PLACES[:1], within_s=1) == "offsets"


def test_a_coordinator_that_is_not_there_is_not_asked_for_offsets():
    with pytest.raises(KafkaException, match="COORDINATOR_NOT_AVAILABLE"):
        committed_offsets(Coordinator(KafkaError.COORDINATOR_NOT_AVAILABLE), "g", within_s=1)


def test_connections_that_are_counted_are_no_reason_beside_the_fault_of_each():
    refused = KafkaError(KafkaError._TRANSPORT, "kafka-1:9092/bootstrap: Connection refused")
    down = KafkaError(KafkaError._ALL_BROKERS_DOWN, "0/2 brokers are down")
    assert why_refused([down, refused], {}) == "kafka-1:9092/bootstrap: Connection refused"
    assert why_refused([down], {}) == "no connection to it stays open"


def no_thread(settings):
    """A client as librdkafka makes it where the process has no memory left for a thread."""
    raise KafkaException(KafkaError(KafkaError._CRIT_SYS_RESOURCE, "Failed to create background thread"))


def test_a_client_without_memory_for_its_threads_is_no_fault_of_the_settings():
    with pytest.raises(MachineError, match=r"Failed to create background thread: the process has no memory"):
        quiet_client(no_thread, {}, [])


def test_other_faults_of_a_new_client_stay_those_of_the_settings():
    with pytest.raises(InvalidConfigError, match=r"no\.such\.setting"):
        quiet_client(Producer, {"no.such.setting": 1}, [])


def test_a_clock_that_jumps_while_a_client_waits_is_named(monkeypatch):
    def jump(_):
        raise OSError(22, "Invalid argument")

    monkeypatch.setattr("partitioning.clients.contact.time.sleep", jump)
    with pytest.raises(MachineError, match=r"the clock of this machine jumped .*: Invalid argument"):
        pause(0.1)
