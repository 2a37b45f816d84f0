"""Why a transaction failed, asked of librdkafka."""

import ctypes
from collections.abc import Iterator

import pytest
from confluent_kafka import KafkaError, Producer

from partitioning.clients.delivery import why_failed
from partitioning.testing.mock_cluster import MockCluster
from tests.support.waiting import GENEROUS_S, wait_until

pytestmark = pytest.mark.live

ADD_PARTITIONS_TO_TXN = 24
STATE = KafkaError(KafkaError._STATE, "Erroneous state")


@pytest.fixture
def failed() -> Iterator[Producer]:
    """A producer whose transaction the brokers have refused a topic."""
    with MockCluster() as cluster:
        cluster.create_topic("orders", 1)
        push = cluster._library.rd_kafka_mock_push_request_errors_array
        push.argtypes = [ctypes.c_void_p, ctypes.c_int16, ctypes.c_size_t, ctypes.POINTER(ctypes.c_int)]
        push.restype = None
        push(
            cluster._cluster,
            ADD_PARTITIONS_TO_TXN,
            1,
            ctypes.byref(ctypes.c_int(KafkaError.TOPIC_AUTHORIZATION_FAILED)),
        )
        servers = {"bootstrap.servers": cluster.bootstrap_servers, "log_level": 0}
        producer = Producer({**servers, "transactional.id": "id"})
        producer.init_transactions(GENEROUS_S)
        producer.begin_transaction()
        producer.produce("orders", b"value")
        wait_until(lambda: not len(producer), lambda: producer.poll(0.1))  # a failed transaction is purged
        yield producer


def test_a_failed_transaction_tells_for_what_it_failed_where_a_call_told_of_its_state(
    failed: Producer,
) -> None:
    reason = why_failed(failed, STATE)
    assert reason.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED
    assert reason.txn_requires_abort()


def test_asking_leaves_the_transaction_to_be_aborted(failed: Producer) -> None:
    why_failed(failed, STATE)
    failed.abort_transaction(GENEROUS_S)
    failed.begin_transaction()
    failed.abort_transaction(GENEROUS_S)
    assert len(failed) == 0


def test_what_a_call_told_itself_stands(failed: Producer) -> None:
    told = KafkaError(KafkaError.UNKNOWN_MEMBER_ID, "Unknown member")
    assert why_failed(failed, told) is told
