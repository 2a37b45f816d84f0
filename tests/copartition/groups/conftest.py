"""Members of real groups."""

import pytest

from tests.copartition.groups.worker import Worker


@pytest.fixture
def workers(broker):
    """Starts members of a group, of one topic or several; all leave in the end."""
    started = []

    def start(group, topic, client_id, kind=Worker, **config):
        topics = [topic] if isinstance(topic, str) else topic
        started.append(kind(broker.bootstrap_servers, group, topics, client_id, **config))
        return started[-1]

    yield start
    for worker in started:
        worker.still.clear()
        worker.stop()
