"""One of each server a run, whoever asks first."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from tests.support.servers import Servers, ask

pytestmark = pytest.mark.live


@pytest.fixture
def started():
    return []


@pytest.fixture
def starters():
    return []


@pytest.fixture
def servers(started, starters):
    @contextmanager
    def server():
        starters.append(threading.current_thread())
        started.append("up")
        yield "its address"
        started.append("down")

    @contextmanager
    def broken():
        raise ValueError("no java here")
        yield

    own = Servers({"server": server, "broken": broken})
    yield own
    own.close()


def test_a_server_starts_when_it_is_asked_for(servers, started):
    assert started == []
    assert ask(servers.address, "server") == "its address"
    assert started == ["up"]


def test_it_starts_once_for_all_who_ask_at_the_same_time(servers, started):
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: ask(servers.address, "server"), range(24)))
    assert answers == ["its address"] * 24
    assert started == ["up"]


def test_the_thread_that_started_it_stays(servers, starters):
    """Linux ends a broker with the thread that started its process."""
    ask(servers.address, "server")
    assert starters[0].is_alive()


def test_it_stops_with_the_run(servers, started):
    assert servers.get("server") == "its address"
    servers.close()
    assert started == ["up", "down"]


def test_one_that_does_not_start_says_why_to_whoever_asks(servers):
    for _ in range(2):
        with pytest.raises(ValueError, match="no java here"):
            ask(servers.address, "broken")
