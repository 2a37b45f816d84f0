"""Commands on a cluster whose only broker is killed, and restarted."""

import json
import signal
from signal import SIGKILL, SIGTERM

import pytest
from confluent_kafka import Consumer

from copartition.groups import read_live
from copartition.groups.live.cluster import Cluster
from partitioning.errors import SourceError
from tests.copartition.conftest import start
from tests.copartition.groups.worker import settings
from tests.support.broker import Broker, Kafka
from tests.support.waiting import GENEROUS_S, wait_for

__all__ = ["start"]

pytestmark = pytest.mark.live


@pytest.fixture(scope="module")
def alone():
    """A broker that nobody else uses, so that it may die."""
    with Broker() as broker:
        yield broker


@pytest.mark.slow
@pytest.mark.parametrize(("by", "group"), [(SIGKILL, "killed"), (SIGTERM, "restarted")])
def test_a_watch_outlives_its_broker(alone, start, by, group):
    topic = Kafka(alone.bootstrap_servers).create_topic(1)
    options = ["--interval", "200ms", "-o", "json"]
    watch = start("copartition", "watch", group, "-b", alone.bootstrap_servers, *options)
    assert json.loads(watch.stdout.readline())["state"] == "Dead"
    alone.stop(by=by)
    away = watch.stderr.readline()
    assert f"live:{group}: " in away
    assert "; away since 20" in away
    alone.start()
    # Why it is away may change until it is back.
    words = wait_for(watch.stderr.readline, lambda line: "; away since" not in line)
    assert f"live:{group}: it answers again, after " in words
    member = Consumer(settings(alone) | {"group.id": group, "client.id": "pod-0"})
    member.subscribe([topic])
    wait_for(lambda: member.poll(0.1) or member.assignment(), bool)
    wait_for(lambda: json.loads(watch.stdout.readline())["name"], lambda name: name == "pod-0")
    member.close()
    watch.send_signal(signal.SIGINT)
    _, err = watch.communicate(timeout=GENEROUS_S)
    assert (watch.returncode, err.splitlines()[-1].partition(",")[0]) == (
        0,
        "what came and went between two looks",
    )


@pytest.mark.slow
def test_a_connection_made_before_a_restart_is_one_after_it(alone):
    cluster = Cluster("live:g", settings(alone))
    alone.stop(by=SIGKILL)
    with pytest.raises(SourceError, match=r"no answer|no broker answers"):
        cluster.groups()
    with pytest.raises(SourceError, match="no broker answers"):
        read_live("g", settings(alone))
    alone.start()
    assert isinstance(cluster.groups(), list)
