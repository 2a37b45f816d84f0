"""Share groups of a real broker: every command says what they are; a mistyped name gets those that exist."""

import uuid

import pytest

from copartition.groups import read_live
from copartition.groups.live.cluster import connect
from copartition.groups.live.reader import GroupReader
from partitioning.errors import GroupNotFoundError, OtherGroupKindError
from tests.copartition.groups.worker import settings
from tests.support.waiting import wait_until


@pytest.fixture
def shared(broker):
    """The name of a share group with one member."""
    # The lowest version of confluent-kafka has no consumer of share groups; no live test runs with it.
    from tests.copartition.groups.captures.make_kinds import Sharer

    group = f"shared-{uuid.uuid4()}"
    sharer = Sharer(broker.bootstrap_servers, "sharer", group, broker.create_topic(2))
    try:
        types = connect(group, settings(broker))
        wait_until(lambda: group in types.group_types())
        yield group
    finally:
        sharer.stop()


def test_a_share_group_is_called_what_it_is(broker, shared):
    for ask in (read_live, lambda group, config: GroupReader(group, config)()):
        with pytest.raises(OtherGroupKindError, match=f"{shared} is a share group"):
            ask(shared, settings(broker))


def test_why_leads_to_the_log(broker, shared, run):
    result = run("why", f"live:{shared}", "-b", broker.bootstrap_servers)
    assert result.exit_code == 2
    assert f"copartition why server.log --group {shared} reads its epochs" in result.stderr


def test_a_mistyped_group_gets_the_names_that_exist(broker, shared):
    with pytest.raises(GroupNotFoundError, match=f"no such group; there are .*{shared}"):
        read_live(shared[:-1], settings(broker))
