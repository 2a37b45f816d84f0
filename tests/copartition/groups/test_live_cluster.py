"""What becomes of the answers of a coordinator."""

import pytest

from copartition.groups.live import cluster as module
from copartition.groups.live.cluster import Cluster
from copartition.kit.admin import ClusterMetadata
from copartition.kit.child import AdminError, ChildEndedError
from partitioning.errors import BrokerUnreachableError, GroupNotFoundError, SourceError

MOVES = AdminError("NOT_COORDINATOR", "Broker: Not coordinator")
FORBIDDEN = AdminError("GROUP_AUTHORIZATION_FAILED", "Broker: Group authorization failed")
DIED = ChildEndedError("the process that asks ended with signal 6: Assertion `eonce->refcnt > 0' failed.")


EMPTY = ClusterMetadata({}, {})


class Child:
    """Gives these answers in turn, and the last one for ever; `ended` counts how often it is made anew."""

    def __init__(self, answers):
        self.left, self.ended = [*answers], 0

    def ask(self, question):
        answer = self.left.pop(0) if len(self.left) > 1 else self.left[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def end(self):
        self.ended += 1


@pytest.fixture
def answering(monkeypatch):
    """Makes a cluster that nobody has connected to, and that gives these answers."""
    # A clock that only waiting moves on.
    now = [0.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(module.time, "sleep", lambda seconds: now.__setitem__(0, now[0] + seconds))

    def make(*answers, first=EMPTY):
        child = Child([first, *answers])
        monkeypatch.setattr(module, "Child", lambda *_: child)
        made = Cluster("live:g", {"bootstrap.servers": "h:1"})
        return lambda: made._answer("groups"), child

    return make


@pytest.mark.parametrize("error", [MOVES, DIED])
def test_a_coordinator_that_moves_and_a_process_that_died_are_asked_again(answering, error):
    ask, _ = answering(error, error, "found")
    assert ask() == "found"


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (MOVES, "live:g: h:1 answers: Broker: Not coordinator"),
        (DIED, "live:g: h:1 gives no answer: the process that asks ended with signal 6: Assertion"),
    ],
)
def test_they_are_said_if_they_go_on(answering, error, words):
    ask, _ = answering(error)
    with pytest.raises(SourceError, match=words):
        ask()


def test_a_refusal_is_not_asked_again(answering):
    ask, _ = answering(FORBIDDEN, "found")
    with pytest.raises(SourceError, match="this user needs DESCRIBE on the group"):
        ask()


def test_a_group_that_is_not_there_is_told_apart(answering):
    ask, _ = answering(AdminError("GROUP_ID_NOT_FOUND", "Broker: no"))
    with pytest.raises(GroupNotFoundError, match="live:g: the cluster has no such group"):
        ask()


def test_a_client_is_made_anew_after_a_coordinator_has_moved(answering):
    ask, child = answering(MOVES, "found")
    ask()
    assert child.ended == 1


@pytest.mark.parametrize(
    ("error", "anew"), [(AdminError("_TIMED_OUT", "Local: Timed out"), 1), (FORBIDDEN, 0)]
)
def test_a_client_is_made_anew_after_errors_that_no_broker_sent(answering, error, anew):
    ask, child = answering(error)
    with pytest.raises(SourceError):
        ask()
    assert child.ended == anew


def test_silence_is_no_answer(answering):
    ask, _ = answering(AdminError("_TIMED_OUT", "Local: Timed out"))
    with pytest.raises(SourceError, match="live:g: h:1 gives no answer: Local: Timed out"):
        ask()


UNREACHABLE = BrokerUnreachableError("Connection refused")


def test_who_never_came_in_is_asked_about_the_settings(answering):
    with pytest.raises(SourceError, match=r"no broker answers at h:1: Connection refused\. Are the address"):
        answering(first=UNREACHABLE)


def test_who_was_in_before_is_not_asked_about_the_settings(answering):
    ask, _ = answering(UNREACHABLE)
    with pytest.raises(SourceError, match=r"no broker answers at h:1: Connection refused$"):
        ask()
