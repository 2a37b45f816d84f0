"""What becomes of the answers of a coordinator."""

import pytest
from confluent_kafka import KafkaError, KafkaException

from copartition.groups.live.cluster import Cluster
from partitioning.errors import GroupNotFoundError, SourceError

MOVES = KafkaError(KafkaError.NOT_COORDINATOR)
FORBIDDEN = KafkaError(KafkaError.GROUP_AUTHORIZATION_FAILED)


@pytest.fixture
def cluster():
    """One that nobody has connected to."""
    made = object.__new__(Cluster)
    made._source, made._servers, made._error = "live:g", "h:1", KafkaException
    return made


def answering(*answers):
    left = list(answers)

    def ask():
        if isinstance(answer := left.pop(0), KafkaError):
            raise KafkaException(answer)
        return answer

    return ask


@pytest.mark.live
def test_a_coordinator_that_moves_is_waited_for(cluster):
    assert cluster._answer(answering(MOVES, MOVES, "found")) == "found"


@pytest.mark.live
def test_one_that_stays_away_is_said(cluster, monkeypatch):
    monkeypatch.setattr("copartition.groups.live.cluster.TIMEOUT_S", 0.3)
    with pytest.raises(SourceError, match=r"live:g: h:1 answers: .*[Nn]ot coordinator"):
        cluster._answer(answering(*[MOVES] * 9))


def test_a_refusal_is_not_asked_again(cluster):
    with pytest.raises(SourceError, match="this user needs DESCRIBE on the group"):
        cluster._answer(answering(FORBIDDEN, "found"))


def test_a_group_that_is_not_there_is_told_apart(cluster):
    with pytest.raises(GroupNotFoundError, match="live:g: the cluster has no such group"):
        cluster._answer(answering(KafkaError(KafkaError.GROUP_ID_NOT_FOUND)))


def test_silence_is_no_answer(cluster):
    with pytest.raises(SourceError, match="live:g: h:1 gives no answer: Local: Timed out"):
        cluster._answer(answering(KafkaError(KafkaError._TIMED_OUT)))
