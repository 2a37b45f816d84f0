"""A captured group as a scenario."""

from dataclasses import replace

import pytest

from assignors.state import MemberIdentity
from copartition.groups.scenario import scenario_of
from copartition.simulation import Crash, Deployment, Grow, RollingRestart, simulate
from copartition.simulation.inputs.file import scenario_from_dict, scenario_to_dict
from partitioning.errors import SourceError
from tests.copartition.groups.plan.states import group

MEMBERS = [
    MemberIdentity("pod-0-1", None, "pod-0", topics=("orders",)),
    MemberIdentity("pod-1-1", "static-1", "pod-1", topics=("orders", "clicks"), rack="r1"),
    MemberIdentity("same-1", None, "same", topics=("orders",)),
    MemberIdentity("same-2", None, "same", topics=("orders",)),
]


def captured(**known):
    return replace(
        group(MEMBERS, {"pod-0-1": [("orders", 0)]}, {"orders": 4, "clicks": 2}), strategy="range", **known
    )


def test_members_topics_and_strategy_are_those_of_the_group():
    scenario, assumed = scenario_of(captured(clients=("librdkafka",)))
    assert {topic.name: topic.partitions for topic in scenario.topics} == {"orders": 4, "clicks": 2}
    told = [(each.name, each.static, each.topics, each.rack, each.client) for each in scenario.consumers]
    assert told == [
        ("pod-0", False, ("orders",), None, "librdkafka"),
        ("static-1", True, ("orders", "clicks"), "r1", "librdkafka"),
        ("same-1", False, ("orders",), None, "librdkafka"),
        ("same-2", False, ("orders",), None, "librdkafka"),
    ]
    assert (scenario.assignor, scenario.events) == ("range", ())
    assert assumed == ("the group begins as 'range' assigns it anew, and has been quiet for an hour",)
    assert scenario_from_dict(scenario_to_dict(scenario), scenario.name) == scenario


@pytest.mark.parametrize(
    ("deploy", "event", "assumed"),
    [
        (
            "rolling",
            RollingRestart(at_ms=60_000, every_ms=60_000, down_ms=10_000),
            "one member a minute is restarted, and is away for 10 s",
        ),
        (
            "surge",
            Deployment(at_ms=60_000, start_ms=10_000, ready_ms=10_000),
            "one new member at a time, up in 10 s and ready 10 s later",
        ),
        ("crash pod-1", Crash(60_000, "static-1"), None),
        ("grow orders=9", Grow(60_000, "orders", 9), None),
    ],
)
def test_what_happens_is_an_event_that_runs(deploy, event, assumed):
    scenario, told = scenario_of(captured(), deploy)
    assert (scenario.events, scenario.name) == ((event,), f"group, {deploy}")
    assert assumed is None or told[-1] == assumed
    assert simulate(scenario).log


def test_a_topic_that_no_member_reads_is_left_out():
    members = [member._replace(topics=("orders",)) for member in MEMBERS]
    scenario, assumed = scenario_of(replace(captured(), members=tuple(members)))
    assert [topic.name for topic in scenario.topics] == ["orders"]
    assert assumed[0] == "no member reads clicks, so the scenario goes without"


@pytest.mark.parametrize(
    ("state", "deploy", "fault"),
    [
        (replace(captured(), strategy=None), None, "does not tell which assignor .* --assignor range"),
        (replace(group([], {}, {"t": 1}), strategy="range"), None, "the group has no members"),
        (captured(), "crash", "'crash' is none of rolling, surge, crash MEMBER, grow TOPIC=N; quote"),
        (captured(), "crash nobody", "--deploy crash nobody: the group has no such instance id"),
        (captured(), "grow other=9", "a topic that the group reads: clicks, orders"),
        (captured(), "grow orders", "is not grow TOPIC=N"),
        (captured(), "blue", "'blue' is none of"),
    ],
)
def test_what_makes_no_scenario_is_refused(state, deploy, fault):
    with pytest.raises(SourceError, match=fault):
        scenario_of(state, deploy)
