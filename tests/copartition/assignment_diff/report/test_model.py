"""What is shown of a diff."""

import re
from collections import Counter

import pytest

from copartition.assignment_diff import diff
from copartition.assignment_diff.report.model import SHOWN, Shown, View
from partitioning.topic_partition import TopicPartition
from tests.copartition.reported import a_crowd, orders


@pytest.fixture(scope="module")
def crowd():
    return a_crowd(30, 30, shuffled=True)


def test_of_many_flows_the_largest_are_shown_and_the_others_counted(crowd):
    flows, more, partitions = Shown(crowd).largest_flows()
    sizes = sorted((len(flow.partitions) for flow in crowd.flows), reverse=True)
    assert [len(flow.partitions) for flow in flows] == sizes[:SHOWN]
    assert (more, partitions) == (len(sizes) - SHOWN, sum(sizes[SHOWN:]))


def test_all_flows_are_shown_when_asked_for(crowd):
    flows, more, partitions = Shown(crowd, View(every=True)).largest_flows()
    assert ([flow[:2] for flow in flows], more, partitions) == ([flow[:2] for flow in crowd.flows], 0, 0)


def test_reasons_are_asked_for_what_is_shown_only(planned):
    asked = Counter()
    explain = planned.after.explainer.explain

    def counted(partition):
        asked[partition] += 1
        return explain(partition)

    planned.after.explainer.explain = counted
    (change,) = Shown(planned, View(reasons=True)).first_changes(1)
    assert (change.partition, sum(asked.values())) == (4, 1)


def test_a_member_filter_keeps_partitions_that_come_or_go(crowd):
    part = Shown(crowd, View(member=re.compile("0003$"))).part
    owners = [(change.source, change.target) for change in crowd.changes(every=True)]
    expected = [pair for pair in owners if any(name.endswith("0003") for name in pair)]
    assert [(change.source, change.target) for change in part.changes(every=True)] == expected


def test_conflicts_are_filtered_too(odd):
    assert len(Shown(odd, View(topic=re.compile("orders"))).part.conflicts) == 1
    assert Shown(odd, View(topic=re.compile("payments"))).part.conflicts == ()


def test_a_topic_whose_partitions_are_kept_is_not_listed_unless_asked_for():
    both = diff(
        {"a": [*orders([0]), TopicPartition("p", 0)], "b": []},
        {"a": [TopicPartition("p", 0)], "b": orders([0])},
    )
    assert [topic.name for topic in Shown(both).topics] == ["orders"]
    assert [topic.name for topic in Shown(both, View(every=True)).topics] == ["orders", "p"]


def test_nothing_is_shown_of_a_group_without_topics(empty_diff):
    shown = Shown(empty_diff, View(topic=re.compile("x"), member=re.compile("y")))
    assert (shown.members, shown.topics, shown.first_changes(), shown.largest_flows()) == (
        [],
        [],
        [],
        ([], 0, 0),
    )
