"""Share groups and Streams groups of a real broker, as its coordinator describes them."""

from __future__ import annotations

import uuid

import pytest

from copartition.doctor.checks import findings
from copartition.doctor.examination import examine_all
from copartition.doctor.observing import Limits
from copartition.groups import OtherSource, read_any_source
from copartition.groups.kinds.live import read_other_live
from copartition.groups.kinds.wire import ask_share_group
from copartition.groups.live.wire import read_group_types
from copartition.watch.reader import AnyGroupReader
from partitioning.errors import GroupNotFoundError, SourceError
from tests.copartition.groups.kinds.members import ShareMember, StreamsMember
from tests.copartition.groups.worker import settings
from tests.support.waiting import wait_for


@pytest.fixture
def config(broker):
    return settings(broker)


@pytest.fixture
def share(broker):
    """(group, topic) of a share group with one member."""
    group, topic = f"share-{uuid.uuid4()}", broker.create_topic(2)
    member = ShareMember(broker.bootstrap_servers, group, [topic], "sharer", rack="r1").settle()
    yield group, topic
    member.leave()


@pytest.fixture
def streams(broker):
    """(group, topic) of a Streams group with one member, which has committed."""
    group, topic = f"streams-{uuid.uuid4()}", broker.create_topic(2)
    topology = {"0": ([topic], [f"{group}-counts-changelog"])}
    member = StreamsMember(
        broker.bootstrap_servers, group, topology, "words", process="p1", instance="i1"
    ).settle()
    member.commit(topic, {0: 0, 1: 0})
    yield group, topic
    member.leave()


@pytest.mark.slow
def test_a_share_group_is_read_with_members_offsets_and_settings(share, config):
    group, topic = share
    read = read_other_live(group, config, "share")
    [member] = read.members
    assert (read.status, read.strategy, member.rack, member.topics) == ("Stable", "simple", "r1", (topic,))
    assert member.partitions == {topic: [0, 1]}
    assert read.topics == {topic: 2}
    assert read.settings["share.delivery.count.limit"] == "5"
    assert read.limits["group.share.max.delivery.count.limit"] == "10"
    assert ask_share_group(group, config)[1].starts.keys() == {(topic, 0), (topic, 1)}
    look = AnyGroupReader(group, config)
    assert look()[0].members[0].partitions == member.partitions


@pytest.mark.slow
def test_a_streams_group_is_read_with_tasks_topology_and_commits(streams, config):
    group, topic = streams
    read = read_any_source(f"live:{group}", config)
    assert isinstance(read, OtherSource)
    [member] = read.state.members
    assert (member.instance_id, member.process, member.active) == ("i1", "p1", {"0": [0, 1]})
    assert read.state.subtopologies["0"].changelogs == (f"{group}-counts-changelog",)
    assert read.state.positions == {topic: {0: 0, 1: 0}}
    look = AnyGroupReader(group, config)
    assert look()[0].topology_epoch == 0
    # A look that shows nothing new gives the object of before, so that `watch` prints nothing.
    assert look() is look()


def test_all_kinds_of_groups_are_examined_together(share, streams, config):
    examined = examine_all(config, lambda: None, {})
    for group, kind in ((share[0], "share"), (streams[0], "streams")):
        assert examined[group].state.protocol == kind
        told = {finding.check.name: finding.status for finding in findings(examined[group], Limits())}
        assert (told["state"], told["unread" if kind == "share" else "unassigned"]) == ("ok", "ok")


def test_a_group_that_is_gone_is_not_found(config, share):
    with pytest.raises((GroupNotFoundError, SourceError)):
        read_other_live(f"{share[0]}-typo", config, "share")
    host, port = config["bootstrap.servers"].split(",")[0].split(":")
    types = wait_for(lambda: read_group_types([(host, int(port))], config), lambda found: share[0] in found)
    assert types[share[0]] == "share"
